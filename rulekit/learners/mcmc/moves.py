"""RuleMoves over rule sets: add, drop or replace a literal or a clause, or change a strength.

Each is a kernel of its own with its own ratio log(q(back) / q(there)), so that each leaves the posterior as it is, and
so does a walk that draws one of them at every step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass

from rulekit.learners.mcmc.posterior import Clauses, WalkedRules
from rulekit.sampling import Below, Drawn

_LONGEST = 3
"""Literals of a clause that is drawn as a whole."""
_WAYS = (-20, -5, -1, 1, 5, 20)


@dataclass(frozen=True, slots=True, eq=False)
class RuleMoves:
    """What is drawn at a step.

    siblings: by literal those of its column; grid: how many strengths there are; known: clauses that are drawn half
    the time where a whole clause is, since chance alone hardly finds them.
    """

    siblings: tuple[tuple[int, ...], ...]
    grid: int = 1
    known: Clauses = ()

    def __call__(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """One of the moves, each as often; None where there is nothing to move."""
        kinds = KINDS if self.grid > 1 else KINDS[:-1]
        return kinds[below(len(kinds))](self, state, below)

    def literal(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Add a literal to a clause or as a clause of its own, or drop one."""
        n, m, size = len(state.parts), len(self.siblings), state.size
        if below(2):
            place = below(n + 1)
            clause = {*(state.parts[place][0] if place < n else ()), below(m)}
            return self._with(state, place, clause, math.log((n + 1) * m / (size + 1)), below)
        if not size:
            return None
        place, _, left = _without_one(state, below)
        return self._with(state, place, left, math.log(size / ((n + bool(left)) * m)), below)

    def other_literal(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Put another literal in the place of one, half the time of the same column."""
        if not state.parts:
            return None
        place, old, left = _without_one(state, below)
        near = self.siblings[old]
        new = near[below(len(near))] if below(2) else below(len(self.siblings))
        return None if new in left else self._with(state, place, {*left, new}, 0.0, below)

    def clause(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Add a clause, or drop one."""
        n = len(state.parts)
        if below(2):
            clause = self._drawn(below)
            return self._with(state, n, clause, -self._chance(clause) - math.log(n + 1), below)
        if not n:
            return None
        place = below(n)
        return self._with(state, place, (), self._chance(state.parts[place][0]) + math.log(n), below)

    def other_clause(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Put another clause in the place of one."""
        if not state.parts:
            return None
        place, clause = below(len(state.parts)), self._drawn(below)
        return self._with(state, place, clause, self._chance(state.parts[place][0]) - self._chance(clause), below)

    def strength(self, state: WalkedRules, below: Below) -> Drawn[WalkedRules]:
        """Change the strength of a clause, or the leak."""
        levels = [*(level for _, level in state.parts), state.leak]
        place = below(len(levels))
        levels[place] += _WAYS[below(len(_WAYS))]
        if not 0 <= levels[place] < self.grid:
            return None
        return WalkedRules(tuple(zip(state.clauses, levels[:-1], strict=True)), levels[-1]), 0.0

    def _with(
        self, state: WalkedRules, place: int, literals: Collection[int], ratio: float, below: Below
    ) -> Drawn[WalkedRules]:
        """The rule set with a clause in the place of another, one more, or, of no literals, one less.

        None where the clause stands there already. A new clause draws its strength.
        """
        clause, parts = tuple(sorted(literals)), list(state.parts)
        if any(clause == other for other, _ in parts):
            return None
        if place == len(parts):
            parts.append((clause, below(self.grid)))
        elif clause:
            parts[place] = clause, parts[place][1]
        else:
            del parts[place]
        ratio += (len(parts) - len(state.parts)) * math.log(self.grid)
        return WalkedRules(tuple(sorted(parts)), state.leak), ratio

    def _drawn(self, below: Below) -> Collection[int]:
        """A known clause, or one of 1 to 3 literals, each number of them as often."""
        if self.known and below(2):
            return self.known[below(len(self.known))]
        left = list(range(len(self.siblings)))
        return [left.pop(below(len(left))) for _ in range(1 + below(min(_LONGEST, len(left))))]

    def _chance(self, literals: Collection[int]) -> float:
        """The log of the probability of drawing a clause."""
        m, size = len(self.siblings), len(literals)
        chance = 1.0 / (min(_LONGEST, m) * math.comb(m, size)) if size <= _LONGEST else 0.0
        if self.known:
            chance = (chance + (tuple(sorted(literals)) in self.known) / len(self.known)) / 2.0
        return math.log(chance) if chance > 0.0 else -math.inf


def _without_one(state: WalkedRules, below: Below) -> tuple[int, int, list[int]]:
    """One of all literals: the place of its clause, the literal, and what is left of the clause."""
    every = [(place, literal) for place, (clause, _) in enumerate(state.parts) for literal in clause]
    place, literal = every[below(len(every))]
    return place, literal, [other for other in state.parts[place][0] if other != literal]


KINDS: tuple[Callable[[RuleMoves, WalkedRules, Below], Drawn[WalkedRules]], ...] = (
    *(RuleMoves.literal, RuleMoves.other_literal) * 2,
    *(RuleMoves.clause, RuleMoves.other_clause),
    RuleMoves.strength,
)
