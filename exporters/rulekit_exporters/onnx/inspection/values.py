"""What one element of a tensor is for a row, as far as it can be told without running the model.

An element is a Python number, text or truth value that is the same for all rows, or

    Node      a truth value (Boolean family) or a double (Real family) in the vocabulary of proofs
    Exact     an integer-like sum of truth values and cleaned columns that no order of additions rounds
    GivenNumber  a number of the row as the model is given it, perhaps rounded to float32 or negated
    Cleaned   such a number on its way to a `Column`: clipped, scaled, rounded, not yet free of NaN
    Category  a number, text or truth value for each code of a category
    Winner    a value for each place of an arg-max
    Picked    a value for each integer that an Exact takes

Whatever else is computed from nodes is an `Opaque` node of its own; whatever else is computed from a number of the row
is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Any

from rulekit.cells.axis import inferred_feature
from rulekit.cells.space import axis_of
from rulekit.exactness import NO_SPAN, Span, span_of_term, total
from rulekit.graph.leaves import leaf_of_codes
from rulekit.graph.nodes import (
    FALSE,
    LEAVES,
    TRUE,
    And,
    Column,
    Compare,
    Constant,
    Family,
    IsTrue,
    LevelPoints,
    Linear,
    Missing,
    Node,
    Not,
)
from rulekit.numbers import crossing, float32, next_float32
from rulekit.program.nodes import Greater, Lookup, Number, Opaque, RawCompare
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature

BITS = {"f4": 24, "f8": 53, "i8": 53}
SMALLEST, LARGEST = 2.0**-60, 2.0**100  # of factors, and of numbers in either width, far from the ends of their range

_COUNT = count()


class UnreadableError(Exception):
    """Why an element or an operator cannot be read."""


@dataclass(frozen=True, slots=True)
class Exact:
    """constant + sum of weight * node, over Boolean nodes and columns with a step."""

    constant: Fraction
    terms: tuple[tuple[Node, Fraction], ...] = ()

    @property
    def span(self) -> Span:
        """The span of every partial sum."""
        parts = [Span.of(weight).times(span_of_term(node) or NO_SPAN) for node, weight in self.terms]
        return total([Span.of(self.constant), *parts])

    @property
    def limits(self) -> tuple[Fraction, Fraction] | None:
        """The least and largest integer that it may be; None where it may be no integer."""
        low = high = self.constant
        for node, weight in self.terms:
            if node.family is not Family.BOOLEAN:
                return None
            low, high = low + min(weight, Fraction(0)), high + max(weight, Fraction(0))
        return (low, high) if self.span.grid >= 0 else None

    @property
    def close_limits(self) -> tuple[Fraction, Fraction] | None:
        """As `limits`, but without what no row shows: leaves of one column that exclude or imply each other."""
        by_column: dict[str, list[tuple[Node, Fraction]]] = {}
        rest = []
        for node, weight in self.terms:
            if isinstance(node, LEAVES):
                by_column.setdefault(node.feature, []).append((node, weight))
            else:
                rest.append((node, weight))
        limits = Exact(self.constant, tuple(rest)).limits
        if limits is None or self.span.grid < 0:
            return None
        low, high = limits
        for name, terms in by_column.items():
            leaves = [node for node, _ in terms]
            readings = axis_of(inferred_feature(name, leaves), leaves).readings
            cells = zip(*(readings[node].tolist() for node in leaves), strict=True)
            sums = [sum(weight for (_, weight), held in zip(terms, cell, strict=True) if held) for cell in cells]
            low, high = low + min(sums), high + max(sums)
        return low, high


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


@dataclass(frozen=True, slots=True)
class Cleaned:
    """factor * round(scale * clip(x, low, high)), rounded half-even where it is rounded; NaN for missing."""

    given: GivenNumber
    low: float
    high: float
    scale: float = 1.0
    rounded: bool = False
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Code:
    """The code of a category as the model is given it: any integer, in whatever type."""

    feature: Feature


@dataclass(frozen=True, slots=True)
class Category:
    """values by code: missing, unseen, the levels; after a `Code` those of lower and of higher codes too."""

    feature: Feature
    values: tuple[Any, ...]

    @property
    def known(self) -> tuple[Any, ...]:
        """The values of the codes that there are; raises UnreadableError where another code is not like unseen."""
        size = FIRST_LEVEL_CODE + len(self.feature.levels)
        if any(value != self.values[UNSEEN_CODE] for value in self.values[size:]):
            raise UnreadableError(f"a code of {self.feature.name!r} out of range is not read as unseen")
        return self.values[:size]


@dataclass(frozen=True, slots=True)
class Winner:
    """values[j] where the j-th score is the first of the largest ones."""

    scores: tuple[Node, ...]
    values: tuple[Any, ...]

    def wins(self, place: int) -> Node:
        beats: list[Node] = []
        for other, score in enumerate(self.scores):
            if other < place:
                beats.append(Greater(self.scores[place], score))
            elif other > place:
                beats.append(Not(Greater(score, self.scores[place])))
        return And(beats)


@dataclass(frozen=True, slots=True)
class Picked:
    """values[index]."""

    values: tuple[Any, ...]
    index: Exact


Element = Any


def is_constant(element: Element) -> bool:
    return isinstance(element, bool | int | float | str)


def exact(element: Element) -> Exact | None:
    """An element as a sum that nothing rounds; None for another kind."""
    if isinstance(element, Exact):
        return element
    if isinstance(element, bool | int) or (isinstance(element, float) and math.isfinite(element)):
        return Exact(Fraction(element))
    if isinstance(element, Node) and element.family is Family.BOOLEAN:
        if isinstance(element, Constant):
            return Exact(Fraction(int(element.value)))
        return Exact(Fraction(0), ((element, Fraction(1)),))
    if isinstance(element, Category):
        return _sum_of_levels(element)
    return None


def added(first: Exact, second: Exact, factor: Fraction = Fraction(1)) -> Exact:
    """First + factor * second."""
    weights = dict(first.terms)
    for node, weight in second.terms:
        weights[node] = weights.get(node, Fraction(0)) + factor * weight
    kept = tuple((node, weight) for node, weight in weights.items() if weight)
    return Exact(first.constant + factor * second.constant, kept)


def to_node(element: Element) -> Node:
    """An element as a node of the Real or Boolean family; raises UnreadableError for a number of the row."""
    if isinstance(element, Node):
        return element
    if isinstance(element, bool):
        return TRUE if element else FALSE
    if isinstance(element, int | float):
        return Number(float(element))
    if isinstance(element, Winner):
        return opaque("winner", *element.scores)
    if isinstance(element, Picked):
        return _lookup(element)
    known = exact(element)
    if known is None and isinstance(element, Category):
        return _points(element)
    if known is None:
        raise UnreadableError(refusal(element))
    if not known.terms:
        return Number(_double(known.constant))
    if known.constant == 0 and len(known.terms) == 1 and known.terms[0][1] == 1:
        return known.terms[0][0]
    return Linear([(_double(weight), node) for node, weight in known.terms], _double(known.constant))


def _double(value: Fraction) -> float:
    """The double that a number is; raises UnreadableError where it is none."""
    if Fraction(float(value)) != value:
        raise UnreadableError("a sum beyond the bits of a double")
    return float(value)


def _lookup(picked: Picked) -> Node:
    """A table over an integer as a node."""
    values, index = picked.values, picked.index
    if not all(isinstance(value, bool | int | float) for value in values):
        return opaque("picked", index)
    if isinstance(values[0], bool):
        return Greater(Lookup(values, to_node(index)), Number(0.5))
    return Lookup(values, to_node(index))


def truth(element: Element) -> Node:
    """An element of Boolean type as a node."""
    if isinstance(element, Category):
        return leaf_of_codes(element.feature, element.known)
    node = to_node(element)
    if node.family is not Family.BOOLEAN:
        raise UnreadableError("a number stands where a truth value should")
    return node


def refusal(element: Element) -> str:
    """Why an element cannot be computed with."""
    if isinstance(element, GivenNumber):
        return f"the numbers of {element.feature.name!r} are computed with"
    if isinstance(element, Cleaned):
        return f"the numbers of {element.given.feature.name!r} are added up without a value for missing"
    if isinstance(element, Unused):
        return element.reason
    if isinstance(element, Category | Code):
        return f"the texts of {element.feature.name!r} are computed with"
    return "texts are computed with"


def opaque(kind: str, *elements: Element) -> Node:
    """A number that the elements determine: one of its own, so that no two are ever taken for the same."""
    return Opaque(f"{kind} {next(_COUNT)}", tuple(to_node(element) for element in elements))


# Leaves --------------------------------------------------------------------------------------------------------------


def above(given: GivenNumber, bound: float, or_equal: bool = False) -> Node:
    """X > bound, or x >= bound; false for NaN."""
    if bound != bound:
        return FALSE
    if given.sign < 0:
        return _not_missing(given, _above(given, -bound, not or_equal))
    return _above(given, bound, or_equal)


def _not_missing(given: GivenNumber, contrary: Node) -> Node:
    """The contrary of a leaf where x is there, false where it is missing."""
    if isinstance(contrary, RawCompare):
        return RawCompare(contrary.feature, "<=", contrary.value)
    if isinstance(contrary, Compare):
        return Compare(contrary.feature, "<=", contrary.value)
    return And((Not(contrary), Not(Missing(given.feature.name))))


def _above(given: GivenNumber, bound: float, or_equal: bool) -> Node:
    feature = given.feature
    name = feature.name
    if feature.kind == "boolean":
        passes = [value >= bound if or_equal else value > bound for value in (0.0, 1.0)]
        if passes[0]:
            return Not(Missing(name))
        return IsTrue(name) if passes[1] else FALSE
    if or_equal and bound == -math.inf:
        return Not(Missing(name))
    if given.single:
        bound = _next_below(bound, or_equal)
    elif or_equal:
        bound = math.nextafter(bound, -math.inf)
    rounds = feature.precision == "float32"
    if rounds == given.single and math.isfinite(bound):
        return Compare(name, ">", bound)
    return RawCompare(name, ">", crossing(bound) if given.single else bound)


def _next_below(bound: float, strictly: bool) -> float:
    """The largest float32 number that is no larger than a double, or smaller: x > it is what x > bound is of them."""
    nearest = float32(bound)
    return -next_float32(-nearest) if nearest > bound or (strictly and nearest == bound) else nearest


def _sum_of_levels(category: Category) -> Exact | None:
    """A number for each code as a sum of memberships."""
    values = category.known
    if not all(isinstance(value, bool | int | float) and math.isfinite(value) for value in values):
        return None
    base = values[UNSEEN_CODE]
    terms = []
    for value in dict.fromkeys(values):
        if value != base:
            held = tuple(v == value for v in values)
            terms.append((leaf_of_codes(category.feature, held), Fraction(value) - Fraction(base)))
    found = Exact(Fraction(base), tuple(terms))
    return found if found.span.fits(BITS["f8"]) else None


def _points(category: Category) -> LevelPoints:
    """Numbers for each code whose sum with others may be rounded."""
    values, feature = category.known, category.feature
    if not all(isinstance(value, int | float) and math.isfinite(value) for value in values):
        raise UnreadableError(refusal(category))
    points = zip(feature.levels, map(float, values[FIRST_LEVEL_CODE:]), strict=True)
    return LevelPoints(feature.name, tuple(points), float(values[MISSING_CODE]), float(values[UNSEEN_CODE]))


def column_of(cleaned: Cleaned, when_missing: float) -> Exact | Node:
    """A cleaned number whose missing value is stated: a multiple of a `Column`."""
    given, feature = cleaned.given, cleaned.given.feature
    if not (math.isfinite(cleaned.low) and math.isfinite(cleaned.high) and cleaned.low <= cleaned.high):
        raise UnreadableError(f"the numbers of {feature.name!r} are added up without bounds")
    largest = (max(abs(Fraction(cleaned.low)), abs(Fraction(cleaned.high))) * Fraction(cleaned.scale) + 1) * Fraction(
        abs(cleaned.factor)
    )
    if largest > LARGEST:
        raise UnreadableError(f"the numbers of {feature.name!r} may leave their range")
    if given.sign < 0 or (feature.kind == "numeric" and given.single != (feature.precision == "float32")):
        raise UnreadableError(f"the numbers of {feature.name!r} are not those that the model adds up")
    if not cleaned.rounded:
        if cleaned.scale != 1.0 or cleaned.factor != 1.0:
            raise UnreadableError(f"the numbers of {feature.name!r} are scaled")
        return Column(feature.name, when_missing, cleaned.low, cleaned.high)
    multiple = cleaned.scale * cleaned.factor  # of the column, whose step is 1 / scale
    column = Column(feature.name, when_missing / multiple, cleaned.low, cleaned.high, 1.0 / cleaned.scale)
    if column.missing * multiple != when_missing:
        raise UnreadableError(f"the value of {feature.name!r} for missing is too small or large")
    return Exact(Fraction(0), ((column, Fraction(multiple)),))
