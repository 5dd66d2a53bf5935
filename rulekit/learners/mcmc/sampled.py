"""Walks over the rule sets of a question, and what they say of rule sets, clauses and literals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import TRUE, Hidden, Or
from rulekit.learners.contract import Frame, Question, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.mcmc.literals import Literals, RowBits
from rulekit.learners.mcmc.moves import RuleMoves
from rulekit.learners.mcmc.posterior import GRID, Clauses, Posterior, WalkedRules
from rulekit.learners.models.rule_sets import Clause, covered_by_some, rule_of
from rulekit.numbers import short_probability, strength_of
from rulekit.sampling import Chain, along, kept

_TOGETHER = 500
"""Steps of a walk before the next one has its turn."""
_FLAT, _FEW = 0.3, 500.0
"""The least power of a walk beside another one: this, or that of which so many rows are left."""

Part = TypeVar("Part", tuple[int, ...], int, Clauses)
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, eq=False)
class NoisyRules:
    """Each group of clauses of which one holds makes a yes with its strength, and so does the leak."""

    groups: tuple[tuple[Clause, ...], ...]
    strengths: tuple[float, ...]
    leak: float

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose probability of yes is above 1/2."""
        stays = np.full(n_rows, 1.0 - self.leak)
        for clauses, strength in zip(self.groups, self.strengths, strict=True):
            stays[covered_by_some(clauses, codes, n_rows)] *= 1.0 - strength
        return np.asarray(stays < 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        """A hidden bit for each group, and one for the leak; of one group its rule decides where it can."""
        causes = [rule_of(clauses, frame.columns) for clauses in self.groups]
        named = enumerate(zip([*causes, TRUE], [*self.strengths, self.leak], strict=True), start=1)
        bits = [Hidden(f"{prefix}{k}", cause, strength_of(strength)) for k, (cause, strength) in named]
        alone = len(causes) == 1 and self.leak <= 0.5 < 1.0 - (1.0 - self.leak) * (1.0 - self.strengths[0])
        return Score(Or(bits), causes[0] if alone else None, largest=True)


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Walks of one question, and the log probability that they walk by."""

    posterior: Posterior
    chains: tuple[Chain[WalkedRules], ...]

    def walk(self, steps: int, tell: Callable[[float], object]) -> None:
        """Walk on; tell: is called with the share that is done, and ends the walks where it returns true."""
        for done in range(0, steps, _TOGETHER):
            if done and tell(done / steps):
                return
            for chain in self.chains:
                chain.walk(min(_TOGETHER, steps - done))

    def trace(self) -> Floats:
        """The log probability [walks, steps] along the walks."""
        places = zip(self.chains, kept(self.chains), strict=True)
        return np.stack([np.array(chain.scores)[own] for chain, own in places])

    def along(self, function: Callable[[WalkedRules], float]) -> Floats:
        """A function of the rule set [walks, steps] along the walks; `mean_of` it is the expected value."""
        return along(self.chains, function)

    def parts(self, of: Callable[[WalkedRules], Collection[Part]], most: int) -> list[tuple[Part, list[float]]]:
        """The most probable parts of rule sets, with the share of the steps of each walk in which they stand."""
        counts = [Counter[Part]() for _ in self.chains]
        for chain, places, own in zip(self.chains, kept(self.chains), counts, strict=True):
            for state, count in zip(chain.visited, np.bincount(places).tolist(), strict=False):
                for part in of(state):
                    own[part] += count
        every = sum(counts, Counter[Part]())
        found = sorted(every, key=lambda part: (-every[part], part))[:most]
        steps = len(kept(self.chains)[0])
        return [(part, [own[part] / steps for own in counts]) for part in found]

    def best(self, of: Callable[[WalkedRules], Kind]) -> dict[Kind, tuple[float, WalkedRules]]:
        """The most probable state of each kind behind its log probability; of: says which kind a state is."""
        best: dict[Kind, tuple[float, WalkedRules]] = {}
        for chain in self.chains:
            for found in zip(chain.scores, chain.visited, strict=True):
                kind = of(found[1])
                best[kind] = max(best.get(kind, found), found)
        return best

    def model(self, state: WalkedRules) -> NoisyRules:
        """A state as a model; of two rates those that are expected."""
        own, grid = [self.posterior.literals.clause(clause) for clause in state.clauses], self.posterior.grid
        if len(grid) > 1:
            strengths = tuple(grid[place] for _, place in state.parts)
            return NoisyRules(tuple((clause,) for clause in own), strengths, grid[state.leak])
        yes, no, other_yes, other_no = self.posterior.counts(state)
        outside = short_probability((other_yes + 1.0) / (other_yes + other_no + 2.0))
        inside = max(outside, (yes + 1.0) / (yes + no + 2.0))
        return NoisyRules((tuple(own),), (short_probability(1.0 - (1.0 - inside) / (1.0 - outside)),), outside)


def walks_of(question: Question) -> Sampled:
    """The walks of a question before their first step.

    Its plan: the conditions of rules, by clause, with which the first walk begins. The next begins with no rule, others
    with a few by chance.
    """
    problem, settings = question.problem, question.settings
    literals, grid = Literals.of(problem), GRID if settings.likelihood == "noisy-logical" else (0.0,)
    count, random, chains = len(literals.rows), Random(question.seed), list[Chain[WalkedRules]]()
    price = math.log(4 * max(1, count)) if settings.price is None else settings.price  # docs/sampling.md
    posterior = Posterior(literals, RowBits.of(problem), price, settings.n_literals, grid)
    flattest = min(_FLAT, _FEW / max(problem.total, 1.0))
    beside = math.ceil(-2.0 * math.log(flattest))
    powers = tuple(flattest ** ((k / beside) ** 1.3) for k in range(1, beside + 1))
    given = literals.numbers(problem, question.plan or ())
    given = given if sum(map(len, given)) <= settings.n_literals else ()
    moves = RuleMoves(literals.siblings, len(grid), given)
    for number in range(settings.n_chains if count else 0):
        few = random.sample(range(count), min(3, settings.n_literals, count))
        clauses = [given, (), *[tuple((each,) for each in sorted(few))] * number][number]
        start = WalkedRules(tuple((clause, len(grid) // 2) for clause in clauses), 0)
        chains.append(Chain(start, posterior, moves, random.randrange(1 << 62), powers))
    return Sampled(posterior, tuple(chains))
