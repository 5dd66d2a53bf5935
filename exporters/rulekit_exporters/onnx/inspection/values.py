"""What one element of a tensor is for a row, as far as it can be told without running the model.

An element is a Python number, text or truth value that is the same for all rows, or

    Node      a truth value (Boolean family) or a double (Real family) in the vocabulary of proofs
    Exact     an integer-like sum of truth values and cleaned columns that no order of additions rounds
    GivenNumber  a number of the row as the model is given it, perhaps rounded to float32 or negated
    Cleaned   such a number on its way to a `Column`: clipped, scaled, rounded, not yet free of NaN
    Code      a category as an integer; Text: as text
    Cases     a number, text or truth value for each case: each code of a category, each place of an arg-max, each
              integer that an Exact takes, each outcome of a tree

Whatever else is computed from nodes is an `Opaque` node of its own; whatever else is computed from a number of the row
is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import count
from operator import eq
from typing import Any, Self

from rulekit.cells.axis import inferred_feature
from rulekit.cells.space import axis_of
from rulekit.exactness import NO_SPAN, Span, span_of_term, total
from rulekit.graph import nodes as rg
from rulekit.graph.leaves import leaf_of_codes
from rulekit.numbers import crossing, float32, next_float32
from rulekit.program.nodes import Greater, Lookup, Number, Opaque, RawCompare
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature

BITS = {"f4": 24, "f8": 53, "i8": 53}
MOST_LABELS = 10_000
LARGEST = 2.0**100  # of numbers in either width, far from the ends of their range

Element = Any
ZERO = Fraction(0)
_COUNT = count()


class UnreadableError(Exception):
    """Why an element or an operator cannot be read."""


def require(holds: object, reason: str) -> None:
    """Raises UnreadableError for that reason unless something holds."""
    if not holds:
        raise UnreadableError(reason)


@dataclass(frozen=True, slots=True)
class Exact:
    """constant + sum of weight * node, over Boolean nodes and columns with a step."""

    constant: Fraction
    terms: tuple[tuple[rg.Node, Fraction], ...] = ()

    @property
    def span(self) -> Span:
        """The span of every partial sum."""
        parts = [Span.of(weight).times(span_of_term(node) or NO_SPAN) for node, weight in self.terms]
        return total([Span.of(self.constant), *parts])

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and largest integer that it may be; None where it may be no integer.

        What no row shows does not count: leaves of one column exclude or imply each other.
        """
        if self.span.grid < 0 or any(node.family is not rg.Family.BOOLEAN for node, _ in self.terms):
            return None
        low = high = self.constant
        by_column: dict[str, list[tuple[rg.Node, Fraction]]] = {}
        for node, weight in self.terms:
            if isinstance(node, rg.LEAVES):
                by_column.setdefault(node.feature, []).append((node, weight))
            else:
                low, high = low + min(weight, ZERO), high + max(weight, ZERO)
        for name, terms in by_column.items():
            leaves = [node for node, _ in terms]
            readings = axis_of(inferred_feature(name, leaves), leaves).readings
            cells = zip(*(readings[node].tolist() for node in leaves), strict=True)
            sums = [sum(weight for (_, weight), held in zip(terms, cell, strict=True) if held) for cell in cells]
            low, high = low + min(sums), high + max(sums)
        return int(low), int(high)

    def plus(self, other: Exact, factor: Fraction | int = 1) -> Exact:
        """The sum of this and factor times the other."""
        weights = dict(self.terms)
        for node, weight in other.terms:
            weights[node] = weights.get(node, ZERO) + factor * weight
        kept = tuple((node, weight) for node, weight in weights.items() if weight)
        return Exact(self.constant + factor * other.constant, kept)


NOTHING = Exact(ZERO)


@dataclass(frozen=True, slots=True)
class Unused:
    """A number that may be anything, for a reason: nothing may be computed with it."""

    reason: str


@dataclass(frozen=True, slots=True)
class GivenNumber:
    """A numeric or Boolean column: in double as it is given, or rounded to float32; sign is 1 or -1."""

    feature: Feature
    single: bool
    sign: int = 1

    def above(self, bound: float, or_equal: bool = False) -> rg.Node:
        """Whether it is > bound, or >= bound; false for NaN."""
        if bound != bound:
            return rg.FALSE
        if self.sign > 0:
            return self._above(bound, or_equal)
        contrary = self._above(-bound, not or_equal)
        if isinstance(contrary, RawCompare | rg.Compare):
            return type(contrary)(contrary.feature, "<=", contrary.value)
        return rg.And((rg.Not(contrary), rg.Not(rg.Missing(self.feature.name))))

    def _above(self, bound: float, or_equal: bool) -> rg.Node:
        name = self.feature.name
        if self.feature.kind == "boolean":
            passes = [value >= bound if or_equal else value > bound for value in (0.0, 1.0)]
            return rg.Not(rg.Missing(name)) if passes[0] else rg.IsTrue(name) if passes[1] else rg.FALSE
        if or_equal and bound == -math.inf:
            return rg.Not(rg.Missing(name))
        if self.single:  # the largest float32 number that is no larger than the bound, or smaller
            nearest = float32(bound)
            lower = nearest > bound or (or_equal and nearest == bound)
            bound = -next_float32(-nearest) if lower else nearest
        elif or_equal:
            bound = math.nextafter(bound, -math.inf)
        if self.single is (self.feature.precision == "float32") and math.isfinite(bound):
            return rg.Compare(name, ">", bound)
        return RawCompare(name, ">", crossing(bound) if self.single else bound)


@dataclass(frozen=True, slots=True)
class Cleaned:
    """factor * round(scale * clip(x, low, high)), rounded half-even where it is rounded; NaN for missing."""

    given: GivenNumber
    low: float = -math.inf
    high: float = math.inf
    scale: float = 1.0
    rounded: bool = False
    factor: float = 1.0

    def column(self, when_missing: float) -> Exact | rg.Node:
        """The number with its value for missing: a multiple of a `Column`."""
        feature, low, high = self.given.feature, self.low, self.high
        what = f"the numbers of {feature.name!r}"
        bounded = math.isfinite(low) and math.isfinite(high) and low <= high
        require(bounded, f"{what} are added up without bounds")
        steps = max(abs(Fraction(low)), abs(Fraction(high))) * Fraction(self.scale) + 1
        require(steps * Fraction(abs(self.factor)) <= LARGEST, f"{what} may leave their range")
        own_width = feature.kind != "numeric" or self.given.single == (feature.precision == "float32")
        require(self.given.sign > 0 and own_width, f"{what} are not those that the model adds up")
        if not self.rounded:
            require(self.scale == self.factor == 1.0, f"{what} are scaled")
            return rg.Column(feature.name, when_missing, low, high)
        multiple = self.scale * self.factor  # of the column, whose step is 1 / scale
        column = rg.Column(feature.name, when_missing / multiple, low, high, 1.0 / self.scale)
        too_far = f"the value of {feature.name!r} for missing is too small or large"
        require(column.missing * multiple == when_missing, too_far)
        return Exact(ZERO, ((column, Fraction(multiple)),))


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a category as the model is given it: any integer, in whatever type."""

    feature: Feature


@dataclass(frozen=True, slots=True)
class Text:
    """A category as text."""

    feature: Feature


@dataclass(frozen=True, slots=True)
class Cases:
    """A value for each of some cases, of which in every row one is there."""

    values: tuple[Any, ...]

    def mapped(self, function: Callable[[Any], Any]) -> Self:
        """The same cases with other values."""
        return replace(self, values=tuple(map(function, self.values)))

    def holds(self) -> rg.Node:
        """When the value, one of truth values, is true; of an arg-max only where no score is NaN."""
        return self.number()

    def number(self) -> rg.Node:
        """The number as a node."""
        raise UnreadableError(refusal(self))


@dataclass(frozen=True, slots=True)
class Category(Cases):
    """By code: missing, unseen, the levels; after a `Code` also those of lower and of higher codes."""

    feature: Feature

    @property
    def known(self) -> tuple[Any, ...]:
        """The values of the codes that there are; raises UnreadableError where another code is not like unseen."""
        size = FIRST_LEVEL_CODE + len(self.feature.levels)
        if any(value != self.values[UNSEEN_CODE] for value in self.values[size:]):
            raise UnreadableError(f"a code of {self.feature.name!r} out of range is not read as unseen")
        return self.values[:size]

    def holds(self) -> rg.Node:
        return leaf_of_codes(self.feature, self.known)

    def number(self) -> rg.Node:
        """Numbers whose sum with others may be rounded."""
        values, feature = self.known, self.feature
        finite = all(isinstance(value, int | float) and math.isfinite(value) for value in values)
        require(finite, refusal(self))
        points = zip(feature.levels, map(float, values[FIRST_LEVEL_CODE:]), strict=True)
        return rg.LevelPoints(feature.name, tuple(points), float(values[MISSING_CODE]), float(values[UNSEEN_CODE]))

    def exact(self) -> Exact | None:
        """The number as a sum of memberships."""
        values = self.known
        if not all(isinstance(value, bool | int | float) and math.isfinite(value) for value in values):
            return None
        base = values[UNSEEN_CODE]
        terms = [
            (leaf_of_codes(self.feature, tuple(v == value for v in values)), Fraction(value) - Fraction(base))
            for value in dict.fromkeys(values)
            if value != base
        ]
        found = Exact(Fraction(base), tuple(terms))
        return found if found.span.fits(BITS["f8"]) else None


@dataclass(frozen=True, slots=True)
class Winner(Cases):
    """By place of the first of the largest scores."""

    scores: tuple[rg.Node, ...]

    def wins(self, place: int) -> rg.Node:
        """When a place is that of the winner."""
        own, others = self.scores[place], enumerate(self.scores)
        beats = (Greater(own, s) if i < place else rg.Not(Greater(s, own)) for i, s in others if i != place)
        return rg.And(tuple(beats))

    def holds(self) -> rg.Node:
        return _any(self.wins(place) for place, value in enumerate(self.values) if value)

    def number(self) -> rg.Node:
        return opaque("winner", *self.scores)


@dataclass(frozen=True, slots=True)
class Picked(Cases):
    """By integer from 0 on."""

    index: Exact

    def number(self) -> rg.Node:
        if not all(isinstance(value, bool | int | float) for value in self.values):
            return opaque("picked", self.index)
        found = Lookup(self.values, to_node(self.index))
        return Greater(found, Number(0.5)) if isinstance(self.values[0], bool) else found


@dataclass(frozen=True, slots=True)
class Outcome(Cases):
    """By formula, of which exactly one holds."""

    formulas: tuple[rg.Node, ...]

    def holds(self) -> rg.Node:
        return _any(formula for formula, value in zip(self.formulas, self.values, strict=True) if value)


def _any(formulas: Iterable[rg.Node]) -> rg.Node:
    found = tuple(formulas)
    return found[0] if len(found) == 1 else rg.Or(found)


def is_constant(element: Element) -> bool:
    return isinstance(element, bool | int | float | str)


def exact(element: Element) -> Exact | None:
    """An element as a sum that nothing rounds; None for another kind."""
    if isinstance(element, Exact):
        return element
    if isinstance(element, bool | int) or (isinstance(element, float) and math.isfinite(element)):
        return Exact(Fraction(element))
    if isinstance(element, rg.Node) and element.family is rg.Family.BOOLEAN:
        if isinstance(element, rg.Constant):
            return Exact(Fraction(int(element.value)))
        return Exact(ZERO, ((element, Fraction(1)),))
    return element.exact() if isinstance(element, Category) else None


def to_node(element: Element) -> rg.Node:
    """An element as a node of the Real or Boolean family; raises UnreadableError for a number of the row."""
    if isinstance(element, rg.Node):
        return element
    if isinstance(element, bool):
        return rg.TRUE if element else rg.FALSE
    if isinstance(element, int | float):
        return Number(float(element))
    known = exact(element)
    if known is None and isinstance(element, Cases):
        return element.number()
    if known is None:
        raise UnreadableError(refusal(element))
    if not known.terms:
        return Number(_double(known.constant))
    if known.constant == 0 and len(known.terms) == 1 and known.terms[0][1] == 1:
        return known.terms[0][0]
    return rg.Linear([(_double(weight), node) for node, weight in known.terms], _double(known.constant))


def _double(value: Fraction) -> float:
    require(Fraction(float(value)) == value, "a sum beyond the bits of a double")
    return float(value)


def truth(element: Element) -> rg.Node:
    """An element of Boolean type as a node."""
    node = element.holds() if isinstance(element, Category) else to_node(element)
    require(node.family is rg.Family.BOOLEAN, "a number stands where a truth value should")
    return node


def refusal(element: Element) -> str:
    """Why an element cannot be computed with."""
    if isinstance(element, GivenNumber):
        return f"the numbers of {element.feature.name!r} are computed with"
    if isinstance(element, Cleaned):
        return f"the numbers of {element.given.feature.name!r} are added up without a value for missing"
    if isinstance(element, Unused):
        return element.reason
    if isinstance(element, Category | Code | Text):
        return f"the texts of {element.feature.name!r} are computed with"
    return "texts are computed with"


def opaque(kind: str, *elements: Element) -> rg.Node:
    """A number that the elements determine: one of its own, so that no two are ever taken for the same."""
    return Opaque(f"{kind} {next(_COUNT)}", tuple(to_node(element) for element in elements))


# Outputs -------------------------------------------------------------------------------------------------------------


def labels_of(element: Element, labels: Sequence[Any]) -> tuple[rg.Node, ...] | None:
    """For each label when it is the element; None where that is not known."""
    if is_constant(element):
        return tuple(rg.TRUE if element == label else rg.FALSE for label in labels)
    if isinstance(element, Cases):
        return tuple(element.mapped(partial(eq, label)).holds() for label in labels)
    index = exact(element)
    limits = None if index is None else index.limits
    if limits is None or limits[1] - limits[0] > MOST_LABELS:
        return None
    return tuple(_equal(to_node(index), label, *limits) for label in labels)


def _equal(node: rg.Node, value: Any, first: int, last: int) -> rg.Node:
    """When a node that is one of some integers is that label."""
    if value not in range(first, last + 1):
        return rg.FALSE
    above = [Greater(node, Number(value - 0.5))] if value > first else []
    below = [rg.Not(Greater(node, Number(value + 0.5)))] if value < last else []
    parts: list[rg.Node] = [*above, *below]
    return parts[0] if len(parts) == 1 else rg.And(parts)


def share_of(element: Element) -> rg.Node | None:
    """A probability as a node, as it was before the last cast to float32; None where it is none."""
    if isinstance(element, Outcome | str):
        return None
    if isinstance(element, Winner):
        return rg.Linear([(float(value), element.wins(j)) for j, value in enumerate(element.values)], 0.0)
    node = to_node(element)
    return node.children[0] if isinstance(node, Opaque) and node.name.startswith("cast f4") else node
