"""Numbers that decide the same everywhere: float32 thresholds, exact crossings, strengths.

Everything here is pure Python on scalars, deterministic on every platform (no libm: logarithms and exponentials go
through `decimal`, which is correctly rounded), so a constant that is computed twice is the same bits twice.
"""

from __future__ import annotations

import math
import struct
import sys
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

OVERFLOW = 2.0**128 - 2.0**103  # doubles from here on round to the infinity of float32
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
    (docs/numbers.md). Past the largest float32 the successor is infinity, reached by rounding at
    2^128 - 2^103.
    """
    t = float32(threshold)
    above = next_float32(t)
    middle = OVERFLOW if math.isinf(above) else t + (above - t) / 2
    return middle if not float32(middle) > t else math.nextafter(middle, -math.inf)


def crossing(threshold: float, precision: str = "float32") -> float:
    """The double T with `x > T` iff x, in the precision of its column, is above the threshold; for every double x.

    A threshold past the largest float32 is infinite there: nothing lies above it, or all but what rounds to -infinity.
    """
    if precision == "float64":
        return threshold
    t = float32(threshold)
    if math.isinf(t):
        return math.inf if t > 0 else -OVERFLOW
    return double_crossing(threshold)


@lru_cache(maxsize=65536)
def canonical_threshold(value: float, precision: str) -> float:
    """The shortest decimal that means the same threshold in that precision, as a double; -0.0 becomes 0.0."""
    if precision == "float64":
        return value + 0.0
    t = float32(value)
    if not math.isfinite(t):
        return t
    shorter = (float(f"{t:.{digits}g}") for digits in range(1, 10))
    return next(value for value in shorter if float32(value) == t) + 0.0  # nine digits always suffice


@lru_cache(maxsize=65536)
def strength_of(probability: float) -> float:
    """The strength -log(1 - p) of a probability, correctly rounded; p = 1 gives infinity."""
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"a probability lies between 0 and 1, not {probability!r}")
    if probability == 1.0:
        return math.inf
    return float(-_CONTEXT.ln(_CONTEXT.subtract(Decimal(1), Decimal(probability)))) + 0.0


def short_probability(probability: float) -> float:
    """The probability with four significant digits, as a model states it, on the same side of 1/2.

    What is not 0, 1/2 or 1 does not become it: at most 0.9999, at least 0.5001 above 1/2.
    """
    short = float(f"{probability:.4g}")
    if short == probability or short not in (0.5, 1.0):
        return short
    return 0.5001 if probability > 0.5 == short else short - 0.0001


def log_odds(probability: float) -> float:
    """log(p / (1 - p)) of a probability between 0 and 1, correctly rounded."""
    if not 0.0 < probability < 1.0:
        raise ValueError(f"log-odds are of a probability between 0 and 1, not {probability!r}")
    p = Decimal(probability)
    return float(_CONTEXT.ln(_CONTEXT.divide(p, _CONTEXT.subtract(Decimal(1), p)))) + 0.0


@lru_cache(maxsize=65536)
def probability_of(strength: float) -> float:
    """The probability 1 - exp(-s) of a strength, correctly rounded; infinity gives 1."""
    if not strength >= 0.0:
        raise ValueError(f"a strength is not negative, unlike {strength!r}")
    if math.isinf(strength):
        return 1.0
    return float(_CONTEXT.subtract(Decimal(1), _CONTEXT.exp(-Decimal(strength)))) + 0.0


@lru_cache(maxsize=65536)
def contrary_strength(strength: float) -> float:
    """The strength -log(1 - exp(-s)) of the contrary: of a bit that fires where one of strength s does not."""
    if not strength >= 0.0:
        raise ValueError(f"a strength is not negative, unlike {strength!r}")
    if strength == 0.0 or math.isinf(strength):
        return 0.0 if strength else math.inf
    s = Decimal(strength)
    if strength < 1e-20:  # 1 - exp(-s) is s (1 - s / 2 + ...)
        return float(_CONTEXT.subtract(s / 2, _CONTEXT.ln(s)))
    if strength > 40.0:  # -log(1 - x) is x (1 + x / 2 + ...)
        x = _CONTEXT.exp(-s)
        return float(_CONTEXT.fma(x, x / 2, x))
    return float(-_CONTEXT.ln(_CONTEXT.subtract(Decimal(1), _CONTEXT.exp(-s)))) + 0.0


def log_of(probability: float) -> float:
    """log(p) of a probability above 0, correctly rounded."""
    if not 0.0 < probability <= 1.0:
        raise ValueError(f"a logarithm is of a probability above 0, not {probability!r}")
    return float(_CONTEXT.ln(Decimal(probability))) + 0.0


@lru_cache(maxsize=65536)
def shortest_probability(strength: float) -> str:
    """The shortest decimal p with strength_of(p) == strength, or `s` followed by the strength where there is none."""
    if math.isinf(strength):
        return "1"
    p = probability_of(strength)
    for near in (p, math.nextafter(p, 0.0), math.nextafter(p, 1.0)):
        if 0.0 <= near < 1.0 and strength_of(near) == strength:
            shorter = (float(f"{near:.{digits}g}") for digits in range(1, 18))  # seventeen always suffice
            return repr(next(value for value in shorter if 0.0 <= value < 1.0 and strength_of(value) == strength))
    return f"s{strength!r}"


def is_power_of_two(value: float) -> bool:
    """Whether `value` is 2^k for an integer k."""
    return value > 0 and math.isfinite(value) and math.frexp(value)[0] == 0.5


@lru_cache(maxsize=4096)
def threshold_between(low: float, high: float, precision: str = "float32") -> float:
    """The shortest decimal t with low <= t < high in `precision`, so that neither of two neighbouring values moves.

    Shortest: the fewest significant digits (0 has none), and no more decimal places than `low` or `high`; so there is
    a whole number between whole numbers, and a threshold is never finer than the data. Of equally short ones the
    nearest to the middle, the lower of two. In float32 the values are those nearest to the decimals: float32(low) <=
    float32(t) < float32(high). Beside an infinity it lies near the finite value. Raises ValueError where no finite
    number lies there (above minus infinity, up to the lowest number).
    """
    if separates(0.0, low, high, precision):
        return 0.0
    largest = _LARGEST[precision]
    bottom, top = max(low, -largest), min(high, largest)
    if math.isinf(high):
        top = min(top, bottom + max(1.0, abs(bottom)))
    if math.isinf(low):
        bottom = max(bottom, top - max(1.0, abs(top)))
    middle = (Fraction(bottom) + Fraction(top)) / 2
    finest = -max(_places(bottom, precision), _places(top, precision))
    exponent = _CONTEXT.divide(Decimal(middle.numerator), Decimal(middle.denominator)).adjusted()
    for place in range(exponent, max(exponent - _MOST_DIGITS, finest - 1), -1) or (finest,):
        for t in _multiples(middle, place):
            if abs(t) <= largest and separates(t, low, high, precision):
                return t + 0.0
    raise ValueError(f"no finite {precision} number lies between {low!r} and {high!r}")


def _multiples(middle: Fraction, place: int) -> tuple[float, float, float]:
    """The doubles nearest to the multiples of 10^place around `middle`, nearest first.

    The third counts only where the multiple that is the middle itself rounds to the wrong side.
    """
    up, down = 10 ** max(place, 0), 10 ** max(-place, 0)
    below, rest = divmod(middle.numerator * down, middle.denominator * up)
    nearer = (below, below + 1) if 2 * rest <= middle.denominator * up else (below + 1, below)
    first, second, third = (_quotient(multiple * up, down) for multiple in (*nearer, below - 1))
    return first, second, third


def _quotient(a: int, b: int) -> float:
    try:
        return a / b  # correctly rounded
    except OverflowError:
        return math.inf if a > 0 else -math.inf


def separates(value: float, low: float, high: float, precision: str) -> bool:
    """Whether low <= value < high after rounding to the precision."""
    if precision == "float64":
        return low <= value < high
    return float32(low) <= float32(value) < float32(high)


_LARGEST = {"float32": float32(3.4028235e38), "float64": sys.float_info.max}
_MOST_DIGITS = 18  # seventeen suffice, but the exponent of a number just below a power of ten may be one too large


def _places(value: float, precision: str) -> int:
    """Decimal places of the shortest decimal that is the value in the precision."""
    exponent = Decimal(repr(canonical_threshold(value, precision))).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def finest_unit(values: Iterable[float], bits: int) -> float:
    """The finest power of two of which no sum of some of these values, rounded to it, has more than so many bits."""
    total = math.fsum(map(abs, values))
    return float(2.0 ** (math.frexp(total)[1] + 1 - bits)) if total > 0.0 else 1.0
