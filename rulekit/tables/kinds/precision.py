"""Precision: the width in which a numeric column is compared, chosen from its values (docs/numbers.md)."""

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


def width_of(
    integral: bool, declared: str | None, merged_values: Callable[[], int], fixed_decimal: Callable[[], bool]
) -> Width:
    """float64 only if the values are integers or fixed decimals that collide in float32.

    integral: all finite values are integers of at most 2^53. merged_values: how many distinct values fewer there are
    in float32; fixed_decimal: whether all are decimals of few places; both are costly, and asked for where they count.
    """
    if declared == "float64":
        return Width("float64", integral)
    merged = merged_values()
    if merged and declared is None and (integral or fixed_decimal()):
        return Width("float64", integral)
    return Width("float32", integral, merged)


def has_decimals(finite: Floats, places: int) -> bool:
    """Whether all values are the doubles nearest decimals of so many places."""
    scale = 10.0**places
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(finite * scale)
        fits = (np.abs(scaled) <= LARGEST_EXACT_INTEGER) & (scaled / scale == finite)
    return bool(fits.all())
