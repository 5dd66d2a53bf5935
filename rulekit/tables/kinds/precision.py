"""Precision: the width in which a numeric column is compared, chosen from its values (design: numbers, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.schema import Precision
from rulekit.tables.raw.columns import LARGEST_EXACT_INTEGER, Floats

FIXED_DECIMALS = range(1, 7)


@dataclass(frozen=True, slots=True)
class Width:
    """The chosen precision, whether all finite values are integers, and how many distinct values were merged."""

    precision: Precision
    integral: bool
    merged: int = 0


def choose_width(values: Floats, declared: str | None = None) -> Width:
    """float64 only if the values (NaN is missing) are integers or fixed decimals that collide in float32."""
    return width_of(is_integral(values), declared, lambda: merged_by_float32(values), lambda: is_fixed_decimal(values))


def width_of(
    integral: bool, declared: str | None, merged_values: Callable[[], int], fixed_decimal: Callable[[], bool]
) -> Width:
    """The choice from what is known of the values; what is costly to know is asked for only where it counts."""
    if declared == "float64":
        return Width("float64", integral)
    merged = merged_values()
    if merged and declared is None and (integral or fixed_decimal()):
        return Width("float64", integral)
    return Width("float32", integral, merged)


def is_integral(values: Floats) -> bool:
    """Whether there are finite values and all of them are integers of at most 2^53."""
    with np.errstate(invalid="ignore"):
        head = values[:64]
        if np.any(np.isfinite(head) & (np.rint(head) != head)):
            return False
        finite = np.isfinite(values)
        whole = (np.rint(values) == values) & (np.abs(values) <= LARGEST_EXACT_INTEGER)
    return bool(finite.any() and not np.any(finite & ~whole))


def is_fixed_decimal(values: Floats) -> bool:
    """Whether every finite value is the double nearest a decimal of at most six places (and 15 digits or so)."""
    finite = values[np.isfinite(values)]
    return any(has_decimals(finite, places) for places in FIXED_DECIMALS)


def has_decimals(finite: Floats, places: int) -> bool:
    """Whether all values are the doubles nearest decimals of so many places."""
    scale = 10.0**places
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(finite * scale)
        fits = (np.abs(scaled) <= LARGEST_EXACT_INTEGER) & (scaled / scale == finite)
    return bool(fits.all())


def merged_by_float32(values: Floats) -> int:
    """How many distinct values fewer there are after rounding to float32."""
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = values.astype(np.float32)
        changed = (rounded != values) & ~np.isnan(values)
    if not changed.any():
        return 0
    ordered = np.sort(values[~np.isnan(values)])
    with np.errstate(over="ignore"):
        narrow = ordered.astype(np.float32)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1]) - np.count_nonzero(narrow[1:] != narrow[:-1]))
