"""A unit may be multiplied by any positive number: weights and thresholds of few digits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from rulekit.exactness import ZERO_GRID, grid_of


def readable(weights: Sequence[float]) -> list[float]:
    """The weights times one positive number: whole numbers without a common divisor, or dyadic ones of fewer digits."""
    grid = min((grid_of(weight) for weight in weights), default=ZERO_GRID)
    if grid == ZERO_GRID:
        return list(weights)
    whole = [int(math.ldexp(weight, -grid)) for weight in weights]
    divisor = math.gcd(*whole)
    whole = [number // divisor for number in whole]
    sizes = Counter(map(abs, whole))  # of hundreds of weights most are equal

    def digits(places: int) -> int:
        return sum(times * len(repr(math.ldexp(size, -places)).removesuffix(".0")) for size, times in sizes.items())

    places = min(range(max(sizes).bit_length() + 1), key=digits)
    return [math.ldexp(number, -places) for number in whole]


def between(low: float, high: float) -> float:
    """A number of few bits in the middle half between two finite ones."""
    middle, quarter = (low + high) / 2.0, (high - low) / 4.0
    if low < 0.0 < high and abs(middle) <= quarter:
        return 0.0
    exponent = math.frexp(quarter)[1] + 1  # the coarsest multiple near the middle, if there is one so near
    while True:
        found = math.ldexp(round(math.ldexp(middle, -exponent)), exponent)
        if abs(found - middle) <= quarter:
            return found
        exponent -= 1
