"""How time depends on size: the exponent over the upper decade, and the line of a fixed part and a part for each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Line:
    """Seconds = fixed + each * size; furthest: the largest relative distance of a size's time from it."""

    fixed: float
    each: float
    furthest: float

    def without_fixed(self, times: Mapping[int, float]) -> dict[int, float]:
        """The times less the fixed part; what the fixed part explains wholly is left out."""
        return {size: seconds - self.fixed for size, seconds in times.items() if seconds > self.fixed}


def upper_decade(times: Mapping[int, float]) -> dict[int, float]:
    """The sizes from a tenth of the largest on."""
    return {size: seconds for size, seconds in times.items() if 10 * size >= max(times)}


def exponent(times: Mapping[int, float]) -> float:
    """The slope of log time over log size, by least squares over the upper decade; NaN of fewer than two sizes."""
    upper = upper_decade(times)
    if len(upper) < 2:
        return math.nan
    return float(np.polyfit(np.log(list(upper)), np.log(list(upper.values())), 1)[0])


def line_through(times: Mapping[int, float]) -> Line:
    """The line of the least squared relative distances, its fixed part not below 0."""
    size, seconds = np.array(list(times), dtype=float), np.array(list(times.values()))
    fixed, each = np.linalg.lstsq(np.column_stack([1.0 / seconds, size / seconds]), np.ones(len(size)), rcond=None)[0]
    if fixed < 0.0:
        share = size / seconds
        fixed, each = 0.0, float(share.sum() / (share**2).sum())
    return Line(float(fixed), float(each), float(np.max(np.abs((fixed + each * size) / seconds - 1.0))))
