"""Arithmetic on single elements: exact sums, cleaned columns, rounded operations of doubles."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Literal

from rulekit.numbers import is_power_of_two
from rulekit.program.nodes import Arithmetic, Greater, Number, Operator
from rulekit_exporters.onnx.inspection.values import (
    BITS,
    LARGEST,
    SMALLEST,
    Cleaned,
    Element,
    Exact,
    Given,
    UnreadableError,
    Unused,
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
        if isinstance(one, Given):
            if other in (1, -1):
                return replace(one, sign=one.sign * int(other))
            raise UnreadableError(refusal(one))
        if isinstance(one, Cleaned):
            return _scaled(one, float(other))
        if isinstance(one, Unused) and is_power_of_two(abs(float(other))):
            return _stretched(one, float(other))
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


def _stretched(unused: Unused, factor: float) -> Unused:
    """A number that may be anything times a power of two; what may leave the range of its type may be infinite."""
    ends = (unused.low * factor, unused.high * factor)
    low, high = (end if abs(end) <= LARGEST else math.copysign(math.inf, end) for end in (min(ends), max(ends)))
    return replace(unused, low=low, high=high)


def negative(a: Element, width: str) -> Element:
    known = exact(a)
    if known is not None:
        return added(Exact(Fraction(0)), known, Fraction(-1))
    return opaque("-", a)


def bounded(a: Element, b: Element, upper: bool) -> Element:
    """The smaller (upper) or larger of two numbers."""
    for one, other in ((a, b), (b, a)):
        if is_constant(other) and isinstance(one, Unused):
            limit = float(other)
            if upper:
                return replace(one, low=min(one.low, limit), high=min(one.high, limit))
            return replace(one, low=max(one.low, limit), high=max(one.high, limit))
        if is_constant(other) and isinstance(one, Given | Cleaned):
            return _clipped(one, float(other), upper)
        known = exact(one)
        if known is not None and known.limits is not None and is_constant(other) and float(other).is_integer():
            return _bounded_sum(known, int(other), upper)
    return opaque("bounded", a, b)


def _bounded_sum(value: Exact, limit: int, upper: bool) -> Element:
    """An integer cut off at a limit: a truth value where only the limit and its neighbour remain."""
    assert value.limits is not None
    low, high = value.limits
    if high <= limit or low >= limit:
        return value if (high <= limit) == upper else limit
    if upper and low == limit - 1:
        return added(Exact(Fraction(limit - 1)), _indicator(value, limit - 1))
    if not upper and high == limit + 1:
        return added(Exact(Fraction(limit)), _indicator(value, limit))
    return opaque("bounded", value)


def sign_of(element: Element, limit: int) -> Exact | None:
    """A whole number cut off to a limit and one more: whether it is above the limit; None for another element.

    A number and the contrary of the same number, as -u and u or 1 - u and u are, give a truth value and its contrary.
    """
    value = exact(element)
    if value is None or value.span.grid < 0 or not value.span.fits():
        return None
    if not value.terms:
        return Exact(min(max(value.constant, Fraction(limit)), Fraction(limit + 1)))
    if value.terms[0][1] > 0:
        return added(Exact(Fraction(limit)), _indicator(value, limit))
    turned = added(Exact(Fraction(2 * limit + 1)), value, Fraction(-1))  # above the limit where the number is not
    return added(Exact(Fraction(limit + 1)), _indicator(turned, limit), Fraction(-1))


def _indicator(value: Exact, limit: int) -> Exact:
    """1 where an integer is above a limit."""
    return Exact(Fraction(0), ((Greater(to_node(value), Number(float(limit))), Fraction(1)),))


def _clipped(value: Given | Cleaned, limit: float, upper: bool) -> Cleaned:
    cleaned = value if isinstance(value, Cleaned) else Cleaned(value, -math.inf, math.inf)
    if cleaned.rounded or cleaned.scale != 1.0 or cleaned.given.sign < 0:
        raise UnreadableError(refusal(cleaned))
    # clipping to [low, high]: the upper bound counts last
    if upper:
        return replace(cleaned, low=min(cleaned.low, limit), high=min(cleaned.high, limit))
    return replace(cleaned, low=max(cleaned.low, limit), high=max(cleaned.high, limit))


def rectified(a: Element, width: str) -> Element:
    if exact(a) is None:
        raise UnreadableError(refusal(a))
    return bounded(a, 0, upper=False)


def rounded(a: Element, width: str) -> Element:
    if isinstance(a, Cleaned) and not a.rounded:
        return replace(a, rounded=True)
    if isinstance(a, Unused):
        return replace(a, low=a.low - 1.0, high=a.high + 1.0)
    raise UnreadableError(refusal(a))
