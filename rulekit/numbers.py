"""Numbers that decide the same everywhere: float32 thresholds, exact crossings, strengths.

Everything here is pure Python on scalars, deterministic on every platform (no libm: logarithms and exponentials go
through `decimal`, which is correctly rounded), so a constant that is computed twice is the same bits twice.
"""

from __future__ import annotations

import math
import struct
from decimal import Context, Decimal
from functools import lru_cache

_CONTEXT = Context(prec=60, Emin=-999999, Emax=999999)


def float32(value: float) -> float:
    """The float32 nearest to `value` (ties to even; overflow to infinity), as a double."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


def next_float32(value: float) -> float:
    """The smallest float32 above the float32 `value`, as a double."""
    if value == 0:
        return float(struct.unpack("<f", struct.pack("<I", 1))[0])
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    bits = bits + 1 if value > 0 else bits - 1
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])


@lru_cache(maxsize=65536)
def double_crossing(threshold: float) -> float:
    """The double T with `x > T` iff `float32(x) > float32(threshold)`, for every double x.

    The mid-point of t and its float32 successor, one double lower where the tie rounds up
    (findings/onnx.md, section 4.3). Past the largest float32 the successor is infinity, reached by rounding at
    2^128 - 2^103.
    """
    t = float32(threshold)
    above = next_float32(t)
    middle = 2.0**128 - 2.0**103 if math.isinf(above) else t + (above - t) / 2
    return middle if not float32(middle) > t else math.nextafter(middle, -math.inf)


def canonical_threshold(value: float, precision: str) -> float:
    """The shortest decimal that means the same threshold in that precision, as a double; -0.0 becomes 0.0."""
    if precision == "float64":
        return value + 0.0
    t = float32(value)
    if not math.isfinite(t):
        return t
    for digits in range(1, 10):
        text = f"{t:.{digits}g}"
        if float32(float(text)) == t:
            return float(text) + 0.0
    return t + 0.0  # pragma: no cover - nine digits always suffice


@lru_cache(maxsize=65536)
def strength_of(probability: float) -> float:
    """The strength -log(1 - p) of a probability, correctly rounded; p = 1 gives infinity."""
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"a probability lies between 0 and 1, not {probability!r}")
    if probability == 1.0:
        return math.inf
    return float(-_CONTEXT.ln(_CONTEXT.subtract(Decimal(1), Decimal(probability)))) + 0.0


@lru_cache(maxsize=65536)
def probability_of(strength: float) -> float:
    """The probability 1 - exp(-s) of a strength, correctly rounded; infinity gives 1."""
    if not strength >= 0.0:
        raise ValueError(f"a strength is not negative, unlike {strength!r}")
    if math.isinf(strength):
        return 1.0
    return float(_CONTEXT.subtract(Decimal(1), _CONTEXT.exp(-Decimal(strength)))) + 0.0


@lru_cache(maxsize=65536)
def shortest_probability(strength: float) -> str:
    """The shortest decimal p with strength_of(p) == strength, or `s` followed by the strength where there is none."""
    if math.isinf(strength):
        return "1"
    p = probability_of(strength)
    for candidate in (p, math.nextafter(p, 0.0), math.nextafter(p, 1.0)):
        if 0.0 <= candidate < 1.0 and strength_of(candidate) == strength:
            return _shortest_with(candidate, strength)
    return f"s{strength!r}"


def _shortest_with(p: float, strength: float) -> str:
    for digits in range(1, 18):
        text = f"{p:.{digits}g}"
        value = float(text)
        if 0.0 <= value < 1.0 and strength_of(value) == strength:
            return repr(value)
    return repr(p)  # pragma: no cover - seventeen digits always suffice


def is_power_of_two(value: float) -> bool:
    """Whether `value` is 2^k for an integer k."""
    return value > 0 and math.isfinite(value) and math.frexp(value)[0] == 0.5


def threshold_between(low: float, high: float, precision: str = "float32", integer: bool = False) -> float:
    """The most readable threshold t that keeps `low` at or below it and `high` above it.

    low < high are neighbouring training values, different in `precision`. Integers that are neighbours get the
    half-integer; otherwise the shortest decimal in the middle half of the gap, then anywhere in it (design, section
    4), nearest to the middle among equally short ones. In float32, float32(low) <= float32(t) < float32(high).
    """
    if integer and high - low == 1:
        return low + 0.5
    if math.isinf(low) or math.isinf(high):
        low, high = max(low, -3e38), min(high, 3e38)
    quarter = high / 4 - low / 4
    for bottom, top in ((low + quarter, high - quarter), (low, high)):
        found = _shortest_within(bottom, top, low, high, precision)
        if found is not None:
            return found
    return low + 0.0


def _shortest_within(bottom: float, top: float, low: float, high: float, precision: str) -> float | None:
    """The shortest decimal in [bottom, top] that separates low from high, or None."""
    middle = Decimal(low) / 2 + Decimal(high) / 2
    span = Decimal(top) - Decimal(bottom)
    if span <= 0:
        return None
    if bottom < 0 < top:
        return 0.0
    exponent = max(Decimal(abs(bottom)), Decimal(abs(top))).adjusted()
    for places in range(-exponent, -exponent + 19):
        unit = Decimal(1).scaleb(-places)
        nearest = float((middle / unit).to_integral_value() * unit)
        if bottom <= nearest <= top and _separates(nearest, low, high, precision):
            return nearest + 0.0
    return None


def _separates(value: float, low: float, high: float, precision: str) -> bool:
    if precision == "float64":
        return low <= value < high
    return float32(low) <= float32(value) < float32(high)
