"""Arithmetic on single elements: exact sums, cleaned columns, rounded operations of doubles."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from rulekit.numbers import is_power_of_two
from rulekit.program.nodes import Arithmetic, Operator
from rulekit_exporters.onnx.inspection.values import (
    BITS,
    LARGEST,
    SMALLEST,
    Cleaned,
    Element,
    Exact,
    GivenNumber,
    UnreadableError,
    added,
    exact,
    is_constant,
    opaque,
    refusal,
    to_node,
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
