"""Thresholds between two neighbouring values: neither moves, and no shorter decimal would do."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rulekit.numbers import (
    canonical_threshold,
    float32,
    next_float32,
    separates,
    short_probability,
    shortest_probability,
    strength_of,
    threshold_between,
)

LARGEST_FLOAT32 = 3.4028234663852886e38
TINY_FLOAT32 = 1.401298464324817e-45
INF = math.inf


@st.composite
def gaps(draw: Any) -> tuple[float, float, str]:
    """Two different values of a precision: any at all, neighbours to the last bit, decimals, integers, infinities."""
    precision = draw(st.sampled_from(("float32", "float64")))
    width = 32 if precision == "float32" else 64
    anything = st.floats(allow_nan=False, width=width)
    decimals = st.builds(lambda n, k: n / 10**k, st.integers(-(10**6), 10**6), st.integers(0, 4))
    low = draw(st.one_of(anything, decimals, st.integers(-1000, 1000).map(float)))
    low = float32(low) if precision == "float32" else low
    step = draw(st.sampled_from(("ulp", "small", "any")))
    if step == "ulp":
        above = next_float32 if precision == "float32" else (lambda x: math.nextafter(x, INF))
        high = above(low) if low < INF else low
    elif step == "small":
        high = low + draw(st.sampled_from((0.1, 0.25, 1.0, 3.0, 1e-3)))
    else:
        high = draw(anything)
    high = float32(high) if precision == "float32" else high
    low, high = min(low, high), max(low, high)
    assume(low < high and not math.isnan(high))
    assume(not (low == -INF and high == (-LARGEST_FLOAT32 if width == 32 else -1.7976931348623157e308)))
    return low, high, precision


def decimal_of(value: float) -> Decimal:
    return Decimal(repr(value)).normalize()


def digits(value: float) -> int:
    """Significant digits of the shortest decimal that is the double; 0 has none."""
    return len(decimal_of(value).as_tuple().digits) if value else 0


def places(value: float) -> int:
    return max(0, -int(decimal_of(value).as_tuple().exponent))


@settings(max_examples=120, deadline=None)
@given(gaps())
@example((-INF, INF, "float32"))
@example((LARGEST_FLOAT32, INF, "float32"))
@example((1.7976931348623157e308, INF, "float64"))
@example((-TINY_FLOAT32, 0.0, "float32"))
@example((-5e-324, 0.0, "float64"))
@example((9.999999999999999e22, 1.0000000000000001e23, "float64"))
@example((16777216.0, 16777218.0, "float32"))
@example((24846.0, 24853.0, "float32"))
@example((0.30000000000000004, 0.4, "float64"))
@example((99.0, 1050.0, "float32"))
@example((float32(0.1), float32(0.2), "float32"))
def test_no_value_moves_and_no_shorter_or_nearer_decimal_lies_between(gap: tuple[float, float, str]) -> None:
    """A whole number lies between whole numbers, since no threshold has more places than the values."""
    low, high, precision = gap
    t = threshold_between(low, high, precision)
    assert math.isfinite(t)
    if precision == "float64":
        assert low <= t < high
    else:
        assert float32(low) <= float32(t) < float32(high)
    if t == 0:
        return
    assert not separates(0.0, low, high, precision)
    allowed = max(places(canonical_threshold(x, precision)) for x in (low, high) if math.isfinite(x))
    assert places(t) <= allowed or digits(t) > 15
    assert not any(decimals_between(low, high, precision, n, allowed) for n in range(1, digits(t)))
    if math.isfinite(low) and math.isfinite(high) and digits(t) <= 15 and abs(t) > 1e-300:
        middle, exact = (Fraction(low) + Fraction(high)) / 2, Fraction(decimal_of(t))
        unit = Fraction(10) ** int(decimal_of(t).as_tuple().exponent)
        others = [float(exact + step * unit) for step in (-1, 1)]
        nearer = [x for x in others if abs(Fraction(x) - middle) < abs(exact - middle) - unit / 10**6]
        assert not any(separates(x, low, high, precision) for x in nearer)


def decimals_between(low: float, high: float, precision: str, n: int, allowed: int) -> list[float]:
    """The first decimals of n digits at or above `low` in each decade up to `high` that separate the two."""
    ends = [Fraction(max(min(x, 1.7976931348623157e308), -1.7976931348623157e308)) for x in (low, high)]
    decades = [decimal_of(float(x)).adjusted() for x in ends if x]
    found = []
    for decade in range(min(decades) - 1, max(decades) + 2):
        unit = Fraction(10) ** (decade - n + 1)
        if decade - n + 1 < -allowed:
            continue
        first = math.ceil(ends[0] / unit)
        for multiple in (first - 1, first, first + 1):
            try:
                value = float(multiple * unit)
            except OverflowError:
                continue
            if 10 ** (n - 1) <= abs(multiple) < 10**n and separates(value, low, high, precision):
                found.append(value)
    return found


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (28, 31, 30),
        (9, 10, 9),  # 10 itself would move a row
        (-1, 0, -1),
        (0, 114, 0),
        (24846, 24853, 24850),
        (95, 1050, 600),
        (0.125, 0.25, 0.2),
        (1e30, 3e30, 2e30),
        (5, INF, 7),
        (2995, INF, 4000),  # it was 2e+38, the middle of all numbers above
        (0.5, INF, 1),
        (-INF, 5, 0),
        (-INF, -7, -10),
    ],
)
def test_what_a_reader_would_choose(low: float, high: float, expected: float) -> None:
    assert threshold_between(float32(low), float32(high)) == threshold_between(low, high, "float64") == expected


def test_nothing_finite_lies_below_the_lowest_number() -> None:
    with pytest.raises(ValueError, match="no finite float32 number"):
        threshold_between(-INF, -LARGEST_FLOAT32)


@given(p=st.floats(0.0, 1.0))
def test_a_short_probability_has_four_digits_and_keeps_its_side(p: float) -> None:
    short = short_probability(p)
    assert short == float(f"{short:.4g}") == short_probability(short)
    assert abs(short - p) <= 5.01e-4 * p
    assert (short > 0.5, short < 0.5, short == 1.0, short == 0.0) == (p > 0.5, p < 0.5, p == 1.0, p == 0.0)
    assert p < 1e-15 or float(shortest_probability(strength_of(short))) == short  # what is smaller is lost in 1 - p
