"""Operators of ONNX on single elements (`rulekit_exporters.onnx.inspection.values`).

An operation takes elements and the width of its result and returns an element. What it cannot tell of nodes is an
`Opaque` node, which the nodes determine alone; numbers of a row are taken only by comparisons, by IsNaN and on the way
to a `Column`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from rulekit.graph.nodes import FALSE, TRUE, And, Family, LinearThreshold, Missing, Node, Not, Odd, Or
from rulekit.numbers import float32, is_power_of_two
from rulekit.program.nodes import Arithmetic, Choice, Greater, Number, Operator
from rulekit_exporters.onnx.builder import CASTS
from rulekit_exporters.onnx.inspection.values import (
    BITS,
    LARGEST,
    SMALLEST,
    Category,
    Cleaned,
    Code,
    Element,
    Exact,
    GivenNumber,
    Picked,
    UnreadableError,
    Unused,
    Winner,
    above,
    added,
    column_of,
    exact,
    is_constant,
    opaque,
    refusal,
    to_node,
    truth,
)


def linear(operator: Literal["+", "-"], a: Element, b: Element, width: str) -> Element:
    """A sum or difference."""
    one, other = exact(a), exact(b)
    if one is not None and other is not None and (one.span + other.span).fits(BITS[width]):
        return added(one, other, Fraction(1 if operator == "+" else -1))
    return _rounded(operator, a, b, width)


def times(a: Element, b: Element, width: str) -> Element:
    for one, other in ((a, b), (b, a)):
        if not is_constant(other):
            continue
        if isinstance(one, GivenNumber):
            if other in (1, -1):
                return replace(one, sign=one.sign * int(other))
            raise UnreadableError(refusal(one))
        if isinstance(one, Cleaned):
            return _scaled(one, float(other))
        known = exact(one)
        if known is not None and math.isfinite(other):
            product = added(Exact(Fraction(0)), known, Fraction(other))
            if product.span.fits(BITS[width]):
                return product
    return _rounded("*", a, b, width)


def over(a: Element, b: Element, width: str) -> Element:
    if isinstance(a, Cleaned) and is_constant(b) and is_power_of_two(abs(float(b))):
        return _scaled(a, 1.0 / float(b))
    if is_constant(b) and is_power_of_two(abs(float(b))):
        return times(a, 1.0 / float(b), width)
    return opaque("/", a, b)


def _rounded(operator: Operator, a: Element, b: Element, width: str) -> Element:
    """One operation of doubles; in another width only the operands are known."""
    return Arithmetic(operator, to_node(a), to_node(b)) if width == "f8" else opaque(operator, a, b)


def _scaled(cleaned: Cleaned, factor: float) -> Cleaned:
    """Scaled once before the rounding and once behind it, by what no number within the bounds runs out of bits for."""
    plain = is_power_of_two(factor) and SMALLEST <= factor <= LARGEST
    scaled = cleaned.factor if cleaned.rounded else cleaned.scale
    if not plain or scaled != 1.0 or not max(abs(cleaned.low), abs(cleaned.high)) * cleaned.scale <= LARGEST:
        raise UnreadableError(refusal(cleaned))
    return replace(cleaned, factor=factor) if cleaned.rounded else replace(cleaned, scale=factor)


def negative(a: Element, width: str) -> Element:
    known = exact(a)
    if known is not None:
        return added(Exact(Fraction(0)), known, Fraction(-1))
    return opaque("-", a)


def bounded(a: Element, b: Element, upper: bool) -> Element:
    """The smaller (upper) or larger of two numbers."""
    for one, other in ((a, b), (b, a)):
        if is_constant(other) and isinstance(one, GivenNumber | Cleaned):
            return _clipped(one, float(other), upper)
    return opaque("bounded", a, b)


def _clipped(value: GivenNumber | Cleaned, limit: float, upper: bool) -> Cleaned:
    cleaned = value if isinstance(value, Cleaned) else Cleaned(value, -math.inf, math.inf)
    if cleaned.rounded or cleaned.scale != 1.0 or cleaned.given.sign < 0:
        raise UnreadableError(refusal(cleaned))
    # clipping to [low, high]: the upper bound counts last
    if upper:
        return replace(cleaned, low=min(cleaned.low, limit), high=min(cleaned.high, limit))
    return replace(cleaned, low=max(cleaned.low, limit), high=max(cleaned.high, limit))


def rounded(a: Element, width: str) -> Element:
    if isinstance(a, Cleaned) and not a.rounded:
        return replace(a, rounded=True)
    raise UnreadableError(refusal(a))


# Logic ---------------------------------------------------------------------------------------------------------------


def logical_not(a: Element, width: str) -> Element:
    node = truth(a)
    return node.children[0] if isinstance(node, Not) else Not(node)


def logical_and(a: Element, b: Element, width: str = "bool") -> Node:
    one, other = truth(a), truth(b)
    if FALSE in (one, other):
        return FALSE
    return other if one == TRUE else one if other == TRUE else And((one, other))


def logical_or(a: Element, b: Element, width: str = "bool") -> Node:
    one, other = truth(a), truth(b)
    if TRUE in (one, other):
        return TRUE
    return other if one == FALSE else one if other == FALSE else Or((one, other))


def logical_xor(a: Element, b: Element, width: str) -> Element:
    one, other = truth(a), truth(b)
    for first, second in ((one, other), (other, one)):
        if first in (TRUE, FALSE):
            return second if first == FALSE else logical_not(second, width)
    return Odd((one, other))


# Comparisons ---------------------------------------------------------------------------------------------------------


def greater(a: Element, b: Element, width: str) -> Element:
    return _compare(a, b, or_equal=False)


def greater_or_equal(a: Element, b: Element, width: str) -> Element:
    return _compare(a, b, or_equal=True)


def equal(a: Element, b: Element, width: str) -> Element:
    at_least, at_most = greater_or_equal(a, b, width), greater_or_equal(b, a, width)
    return logical_and(at_least, at_most, width)


def _compare(a: Element, b: Element, or_equal: bool) -> Element:
    if isinstance(a, GivenNumber) and is_constant(b):
        return above(a, float(b), or_equal)
    if isinstance(b, GivenNumber) and is_constant(a):  # a > b is -b > -a
        return above(replace(b, sign=-b.sign), -float(a), or_equal)
    if isinstance(a, Category) and is_constant(b):
        return _by_code(a, lambda value: value >= b if or_equal else value > b)
    if isinstance(a, Picked) and is_constant(b):
        return Picked(tuple(bool(value >= b if or_equal else value > b) for value in a.values), a.index)
    one, other = exact(a), exact(b)
    if not or_equal:
        return Greater(to_node(a), to_node(b))
    if one is not None and other is not None:  # no NaN
        return Not(Greater(to_node(b), to_node(a)))
    if other is not None and not other.terms and other.constant == 0:
        return LinearThreshold(((1.0, to_node(a)),), 0.0)
    return Greater(opaque("at least", a, b), Number(0.5))


def _by_code(category: Category, holds: Callable[[Any], bool]) -> Category:
    return Category(category.feature, tuple(bool(holds(value)) for value in category.values))


def is_nan(a: Element, width: str) -> Element:
    if isinstance(a, GivenNumber):
        return Missing(a.feature.name)
    raise UnreadableError(refusal(a))


# Choices and types ----------------------------------------------------------------------------------------------------


def chosen(condition: Element, a: Element, b: Element, width: str) -> Element:
    """A where the condition holds, else b."""
    if condition in (True, False) and isinstance(condition, bool):
        return a if condition else b
    node = truth(condition)
    if node in (TRUE, FALSE):
        return a if node == TRUE else b
    if isinstance(b, Cleaned) and isinstance(node, Missing) and is_constant(a):
        if node.feature != b.given.feature.name:
            raise UnreadableError(refusal(b))
        return column_of(b, float(a))
    return Choice(node, to_node(a), to_node(b))


def cast(a: Element, width: str, origin: str) -> Element:
    """The element in another type."""
    if (origin, width) not in CASTS:
        raise UnreadableError(f"a cast from {origin} to {width}")
    if isinstance(a, Code | Unused):
        return a
    if isinstance(a, GivenNumber):
        if width == "i8":
            raise UnreadableError(refusal(a))
        return replace(a, single=a.single or width == "f4")
    if isinstance(a, Cleaned):
        if (origin, width) != ("f4", "f8"):
            raise UnreadableError(refusal(a))
        return a
    if isinstance(a, Category):
        return Category(a.feature, tuple(_cast_constant(value, width) for value in a.values))
    if is_constant(a):
        return _cast_constant(a, width)
    if isinstance(a, Picked) and origin != "bool":
        return Picked(tuple(_cast_constant(value, width) for value in a.values), a.index)
    known = exact(truth(a) if origin == "bool" else a)
    if known is not None and (known.span.grid >= 0 or width[0] == "f") and known.span.fits(BITS[width]):
        return known
    if origin == "f4" and width == "f8":
        return a
    return opaque(f"cast {width}", a)


def _cast_constant(value: Any, width: str) -> Any:
    if width == "i8":
        if int(value) != value or abs(value) >= 2**53:
            raise UnreadableError("a number that is no index")
        return int(value)
    return float32(float(value)) if width == "f4" else float(value)


# Tables --------------------------------------------------------------------------------------------------------------


def looked_up(values: list[Any], index: Element) -> Element:
    """values[index]; a negative code of a category counts from the end."""
    size = len(values)

    def at(place: Any) -> Any:
        if isinstance(place, bool | int | float) and float(place).is_integer() and -size <= place < size:
            return values[int(place)]
        raise UnreadableError("an index may leave its table")

    if isinstance(index, Category):
        return Category(index.feature, tuple(map(at, index.values)))
    if isinstance(index, Winner):
        return Winner(index.scores, tuple(map(at, index.values)))
    if isinstance(index, Picked):
        return Picked(tuple(map(at, index.values)), index.index)
    if is_constant(index):
        return at(index)
    known = exact(index)
    limits = None if known is None else known.limits
    if known is not None and limits is not None and (limits[0] < 0 or limits[1] >= size):
        limits = known.close_limits
    if known is None or limits is None or limits[0] < 0 or limits[1] >= size:
        raise UnreadableError("an index may leave its table")
    first, last = int(limits[0]), int(limits[1])
    if len(set(map(repr, values[first : last + 1]))) == 1:
        return values[first]
    return Picked(tuple(values[first : last + 1]), added(known, Exact(Fraction(-first))))


def as_truth(element: Element) -> Node:
    """A truth value as 0 and 1 as a node; raises UnreadableError for another number."""
    known = exact(element)
    if known is not None and not known.terms and known.constant in (0, 1):
        return TRUE if known.constant else FALSE
    if known is not None and len(known.terms) == 1 and known.terms[0][0].family is Family.BOOLEAN:
        (node, weight), constant = known.terms[0], known.constant
        if constant == 0 and weight == 1:
            return node
        if constant == 1 and weight == -1:
            return Not(node)
    raise UnreadableError("a number stands where a truth value as 0 or 1 should")


def winner(scores: list[Element]) -> Element:
    """The place of the first largest score."""
    nodes = [to_node(score) for score in scores]
    if len(nodes) == 2:  # a place that may be added to and looked up
        one, other = exact(scores[0]), exact(scores[1])
        if one is not None and other is not None:
            more = added(other, one, Fraction(-1))
            if more.span.fits(BITS["f8"]):
                return Exact(Fraction(0), ((Greater(to_node(more), Number(0.0)), Fraction(1)),))
    return Winner(tuple(nodes), tuple(range(len(nodes))))


UNARY: dict[str, Callable[[Element, str], Element]] = {
    "Not": logical_not,
    "IsNaN": is_nan,
    "Neg": negative,
    "Round": rounded,
    "Identity": lambda a, width: a,
    "Exp": lambda a, width: opaque("Exp", a),
    "Tanh": lambda a, width: opaque("Tanh", a),
}
BINARY: dict[str, Callable[[Element, Element, str], Element]] = {
    "And": logical_and,
    "Or": logical_or,
    "Xor": logical_xor,
    "Greater": greater,
    "Less": lambda a, b, width: greater(b, a, width),
    "GreaterOrEqual": greater_or_equal,
    "Equal": equal,
    "Add": partial(linear, "+"),
    "Sub": partial(linear, "-"),
    "Mul": times,
    "Div": over,
    "Min": lambda a, b, width: bounded(a, b, upper=True),
    "Max": lambda a, b, width: bounded(a, b, upper=False),
}
COMPARING = frozenset(("Greater", "Less", "GreaterOrEqual", "Equal", "IsNaN", "Not", "And", "Or", "Xor"))
