"""Boolean functions of cells in a normal form: literals, conjunctions with complement edges, comparisons of sums.

An edge is an integer: twice the number of a form, plus one for its contrary; 0 is true and 1 is false. A literal is a
set of cells of one column; a conjunction holds at most one literal of each column and no conjunction; a comparison
`sum > 0` of few partial sums becomes logic. Equal edges are equal functions; whether unequal edges are equal functions
takes a search (`rulekit.logic.satisfying`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from rulekit.cells.sums import CellSum, add, number, primitive, range_of
from rulekit.errors import BudgetError
from rulekit.graph.nodes import topological
from rulekit.limits import NO_LIMIT, Deadline

# Edges of one column or truth value, of which one holds, and what each adds.
Branches = list[tuple[int, Fraction | int]]

TRUE = 0
FALSE = 1
MOST_FORMS = 400_000
MOST_SUMS = 100_000  # additions that a comparison may take which becomes logic
_CHECKED_EVERY = 256  # forms


class Forms:
    """The forms that were built so far; `sizes` [axes] are the numbers of cells. Raises BudgetError beyond a bound.

    deadline: of all that is built of these forms, and asked of them.
    """

    def __init__(self, sizes: Sequence[int], deadline: Deadline = NO_LIMIT) -> None:
        self.deadline = deadline
        self.full = [(1 << size) - 1 for size in sizes]
        self.kinds: list[tuple[Any, ...]] = [("true",)]
        self._numbers: dict[tuple[Any, ...], int] = {("true",): 0}
        self._parities: dict[int, frozenset[int]] = {}  # of a form that is one: the forms of which an odd number hold

    def kind(self, edge: int) -> tuple[Any, ...]:
        """What an edge's form is: ("cells", axis, mask), ("and", edges), ("above", sum), (relation, sum, sum)
        or ("true",).
        """
        return self.kinds[edge >> 1]

    def _edge(self, key: tuple[Any, ...]) -> int:
        index = self._numbers.setdefault(key, len(self.kinds))
        if index == len(self.kinds):
            if index >= MOST_FORMS:
                raise BudgetError(f"a formula of more than {MOST_FORMS} parts")
            if index % _CHECKED_EVERY == 0:
                self.deadline.check()
            self.kinds.append(key)
        return 2 * index

    def literal(self, axis: int, mask: int) -> int:
        """The cell of a column is one of a set, given as bits."""
        full = self.full[axis]
        if mask in (0, full):
            return TRUE if mask else FALSE
        # the form itself never holds the first cell
        return self._edge(("cells", axis, full ^ mask)) ^ 1 if mask & 1 else self._edge(("cells", axis, mask))

    def mask(self, edge: int) -> tuple[int, int] | None:
        """Axis and set of cells of a literal, None for another edge."""
        kind = self.kind(edge)
        if kind[0] != "cells":
            return None
        return kind[1], kind[2] ^ self.full[kind[1]] if edge & 1 else kind[2]

    def conjunction(self, edges: Iterable[int]) -> int:
        """All of the edges."""
        masks: dict[int, int] = {}
        parts: set[int] = set()
        stack = list(edges)
        while stack:
            edge = stack.pop()
            if edge == FALSE:
                return FALSE
            kind = self.kinds[edge >> 1]
            if kind[0] == "and" and not edge & 1:
                stack.extend(kind[1])
                continue
            literal = self.mask(edge)
            if literal is not None:
                axis, mask = literal
                masks[axis] = masks.get(axis, self.full[axis]) & mask
            elif edge != TRUE:
                parts.add(edge)
        literals = [self.literal(axis, mask) for axis, mask in masks.items()]
        if FALSE in literals or any(edge ^ 1 in parts for edge in parts):
            return FALSE
        parts.update(edge for edge in literals if edge != TRUE)
        if self._absorb(parts):
            return FALSE
        if len(parts) < 2:
            return parts.pop() if parts else TRUE
        return self._edge(("and", tuple(sorted(parts))))

    def _absorb(self, parts: set[int]) -> bool:
        """Leave out `not (a and b)` where the conjunction holds `not a`; says whether one of them has `a` and `b`."""
        for edge in list(parts):
            if edge & 1 and self.kinds[edge >> 1][0] == "and":
                own = self.kinds[edge >> 1][1]
                if all(e in parts for e in own):
                    return True
                if any(e ^ 1 in parts for e in own):
                    parts.discard(edge)
        return False

    def disjunction(self, edges: Iterable[int]) -> int:
        """At least one of the edges."""
        return self.conjunction([edge ^ 1 for edge in edges]) ^ 1

    def odd(self, edges: Iterable[int]) -> int:
        """An odd number of the edges.

        A parity within it is taken apart, literals of one column are one, and the parts stand in an order of their
        own: so that parities of the same parts are one form, however they are nested.
        """
        parts: frozenset[int] = frozenset()
        turned = False
        for edge in edges:
            turned ^= bool(edge & 1)
            parts ^= self._parities.get(edge >> 1, frozenset((edge >> 1,)))
        masks: dict[int, int] = {}
        others: list[int] = []
        for index in parts:
            kind = self.kinds[index]
            if kind[0] == "cells":
                masks[kind[1]] = masks.get(kind[1], 0) ^ kind[2]
            elif index:
                others.append(index)
            else:
                turned = not turned
        for axis, mask in masks.items():
            edge = self.literal(axis, mask)
            turned ^= bool(edge & 1)
            others += [edge >> 1] if edge >> 1 else []
            turned ^= edge >> 1 == 0
        parity, joined = FALSE, frozenset[int]()
        for index in sorted(others):
            joined |= {index}
            parity = self.choice(2 * index, parity ^ 1, parity)
            if len(joined) > 1:
                self._parities.setdefault(parity >> 1, joined ^ {0} if parity & 1 else joined)
        return parity ^ turned

    def opaque(self, relation: str, left: CellSum, right: CellSum) -> int:
        """A comparison that is known by its making only."""
        return self._edge((relation, left, right))

    def choice(self, condition: int, high: int, low: int) -> int:
        """High where the condition holds, else low."""
        if high == low:
            return high
        if high in (TRUE, FALSE):
            return self.disjunction((condition, low)) if high == TRUE else self.conjunction((condition ^ 1, low))
        if low in (TRUE, FALSE):
            return self.disjunction((condition ^ 1, high)) if low == TRUE else self.conjunction((condition, high))
        return self.disjunction((self.conjunction((condition, high)), self.conjunction((condition ^ 1, low))))

    def above_zero(self, value: CellSum) -> int:
        """The sum is above zero, strictly."""
        limits = range_of(value)
        value = primitive(value)
        if limits is not None:
            if limits[0] > 0 or limits[1] <= 0:
                return TRUE if limits[0] > 0 else FALSE
            first = (part for part in value.tables[0][1] if part) if value.tables else (w for _, w in value.edges)
            if next(first) < 0:  # s > 0 is the contrary of 1 - s > 0 for an integer s
                return self.above_zero(add(number(1), value, -1)) ^ 1
            logic = self.function(value, lambda total: total > 0, monotone=True)
            if logic is not None:
                return logic
        if not (*value.tables, *value.edges, *value.atoms):
            return TRUE if value.constant > 0 else FALSE
        return self._edge(("above", value))

    def function(self, value: CellSum, holds: Callable[[Fraction | int], bool], monotone: bool = False) -> int | None:
        """A property of the sum's value as logic, None where it has atoms or too many partial sums.

        monotone: the property never turns from true to false as the value grows.
        """
        if value.atoms:
            return None
        terms: list[Branches] = []
        for axis, values in value.tables:
            masks: dict[Fraction, int] = {}
            for cell, number_of_cell in enumerate(values):
                masks[number_of_cell] = masks.get(number_of_cell, 0) | 1 << cell
            terms.append([(self.literal(axis, mask), weight) for weight, mask in masks.items()])
        terms += [[(edge, weight), (edge ^ 1, Fraction(0))] for edge, weight in value.edges]
        start: Fraction | int = value.constant
        if start.denominator == 1 and all(weight.denominator == 1 for term in terms for _, weight in term):
            start = int(start)  # many times as fast
            terms = [[(edge, int(weight)) for edge, weight in term] for term in terms]
        terms.sort(key=lambda branches: -max(abs(Fraction(weight)) for _, weight in branches))
        least: list[Fraction | int] = [0]
        most: list[Fraction | int] = [0]
        for branches in reversed(terms):
            least.append(least[-1] + min(weight for _, weight in branches))
            most.append(most[-1] + max(weight for _, weight in branches))
        layers: list[dict[Fraction | int, int | None]] = [{start: None}]
        work = 0
        for depth, branches in enumerate(terms):
            rest = len(terms) - depth
            reached: dict[Fraction | int, int | None] = {}
            work += len(layers[-1]) * len(branches)
            if work > MOST_SUMS:
                return None
            for total, decided in layers[-1].items():
                if monotone and decided is None:
                    if holds(total + least[rest]):
                        decided = TRUE
                    elif not holds(total + most[rest]):
                        decided = FALSE
                    layers[-1][total] = decided
                if decided is None:
                    for _, weight in branches:
                        reached[total + weight] = None
            layers.append(reached)
        below = {total: TRUE if holds(total) else FALSE for total in layers[-1]}
        for depth in range(len(terms) - 1, -1, -1):
            here: dict[Fraction | int, int] = {}
            for total, decided in layers[depth].items():
                if decided is None:
                    decided = self.branch([(edge, below[total + weight]) for edge, weight in terms[depth]])
                here[total] = decided
            below = here
        return below[start]

    def branch(self, branches: Iterable[tuple[int, int]]) -> int:
        """Of edges of which exactly one holds, each with the edge that it leads to: where that one holds too."""
        leads: dict[int, list[int]] = {}
        for edge, target in branches:
            leads.setdefault(target, []).append(edge)
        if len(leads) == 1:
            return next(iter(leads))
        found = {target: self.disjunction(edges) for target, edges in leads.items()}
        if len(found) == 2:
            (high, condition), (low, _) = sorted(found.items())
            return self.choice(condition, high, low)
        return self.disjunction([self.conjunction((edge, target)) for target, edge in found.items()])

    def on_box(self, root: int, box: Sequence[int]) -> bool | None:
        """Whether an edge holds on all cells of a box (True) or on none (False); None where that is not seen.

        box: by axis a set of cells, as bits. A form is worked out in three values, from below: a literal by its cells,
        a conjunction by its parts, a comparison by the smallest and largest number of its sum.
        """
        known: dict[int, bool | None] = {}

        def of(edge: int) -> bool | None:
            if edge >> 1 not in known:  # an edge inside a sum
                known[edge >> 1] = self.on_box(edge & ~1, box)
            value = known[edge >> 1]
            return value if value is None else value ^ bool(edge & 1)

        for index in self.below(root):
            kind = self.kinds[index]
            known[index] = None
            if kind[0] == "true":
                known[index] = True
            elif kind[0] == "cells":
                inside = kind[2] & box[kind[1]]
                known[index] = True if inside == box[kind[1]] else None if inside else False
            elif kind[0] == "and":
                parts = [of(edge) for edge in kind[1]]
                known[index] = False if False in parts else None if None in parts else True
            elif kind[0] == "above" and (limits := range_of(kind[1], box, of)) is not None:
                known[index] = True if limits[0] > 0 else False if limits[1] <= 0 else None
        return of(root)

    def below(self, root: int) -> list[int]:
        """The numbers of all forms under an edge, each after those that it is made of."""

        def parts(index: int) -> list[int]:
            kind = self.kinds[index]
            return [edge >> 1 for edge in reversed(kind[1])] if kind[0] == "and" else []

        return topological([root >> 1], parts)
