"""Counting kernels: the one place that may use numba, each with a numpy twin that gives the same bits.

Goals: every statistic of a learner is an integer sum over rows (row weights are quantised once to int64 multiples of
a power of two), so it is additive over blocks of rows and the same for any number of threads and without numba.
Whatever is computed from the sums in floating point is computed one operation at a time in one fixed order.

Shapes: n rows; `codes` [n] of one binned column (0 is missing); `keys` [n] = 2 * cell + label; a histogram is a list
of entries (code, key, weight), sorted by code and then by key.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_DENSE_LIMIT = 1 << 23
_TOTAL_BITS = 40
_FACTOR_BITS = 16
_MOST_EXPONENT = 300


def moderate(values: Floats) -> Floats:
    """Numbers >= 0 times the power of two that takes the largest away from the ends of the doubles (1, but there).

    So that no sum, product or quotient of weights over- or underflows.
    """
    exponent = int(np.frexp(values.max(initial=0.0))[1])
    return np.ldexp(values, int(np.clip(exponent, -_MOST_EXPONENT, _MOST_EXPONENT)) - exponent)


def quantise(weights: npt.ArrayLike) -> tuple[Ints, float]:
    """Weights [n] >= 0 as int64 multiples of a power of two, and that power.

    The power depends on the total alone, so weights that are small integers stay exact and a row of weight 2 counts
    like two rows.
    """
    values = np.asarray(weights, dtype=np.float64)
    unit = _unit_of(math.fsum(values.tolist()))
    return np.rint(values / unit).astype(np.int64), unit


def quantise_by_class(weights: Floats, labels: Ints, factors: Floats) -> tuple[Ints, float]:
    """Row weights [n] > 0 times the factor of their label, quantised; `factors` [K].

    Where that is fewer than there are rows, all are scaled up: weights that were scaled down must not make fewer rows
    of them, where a limit or a ridge is stated in rows. The factors are rounded before they are multiplied, so that
    with them, too, a row of weight 2 counts like two rows; the sums do not depend on the order of the rows.
    """
    totals = np.array([math.fsum(weights[labels == k].tolist()) for k in range(len(factors))])
    factors = moderate(factors)
    total = math.fsum((totals * factors).tolist())
    factors = factors * max(1.0, max(float(len(weights)), math.fsum(totals.tolist())) / total)
    unit = _unit_of(math.fsum((totals * factors).tolist()))
    steps = np.minimum(unit, np.ldexp(1.0, np.frexp(factors)[1] - _FACTOR_BITS))
    factors = np.rint(factors / steps) * steps
    return np.rint(weights * factors[labels] / unit).astype(np.int64), unit


def _unit_of(total: float) -> float:
    """The power of two of which a total has about 2^40."""
    return math.ldexp(1.0, math.frexp(total)[1] - _TOTAL_BITS) if total > 0 else 1.0


@dataclass(frozen=True, slots=True)
class Histogram:
    """Weights by (code, key): entries sorted by code, then key; `starts` [n_codes + 1] delimits the codes."""

    keys: Ints
    weights: Ints
    starts: Ints


def count(codes: npt.NDArray[Any], keys: Ints, weights: Ints, n_codes: int, n_keys: int) -> Histogram:
    """The histogram of one column over the keys."""
    if n_codes * n_keys <= _DENSE_LIMIT:
        dense = compiled(_count_dense)
        flat = (
            dense(codes, keys, weights, n_codes, n_keys)
            if dense
            else _count_with_numpy(codes, keys, weights, n_codes, n_keys)
        )
        where = np.flatnonzero(flat)
        values = flat[where]
    else:
        where, position = np.unique(codes.astype(np.int64) * n_keys + keys, return_inverse=True)
        values = np.bincount(position, weights=weights).astype(np.int64)
    code, key = np.divmod(where, n_keys)
    return Histogram(key, values, np.searchsorted(code, np.arange(n_codes + 1)).astype(np.int64))


def _count_with_numpy(codes: npt.NDArray[Any], keys: Ints, weights: Ints, n_codes: int, n_keys: int) -> Ints:
    # bincount adds doubles; the total of all weights is below 2^53, so that the sums are exact.
    where = codes.astype(np.int64) * n_keys + keys
    return np.bincount(where, weights=weights, minlength=n_codes * n_keys).astype(np.int64)


def _count_dense(codes: Any, keys: Any, weights: Any, n_codes: int, n_keys: int) -> Any:
    counts = np.zeros(n_codes * n_keys, dtype=np.int64)
    for i in range(len(codes)):
        counts[np.int64(codes[i]) * n_keys + keys[i]] += weights[i]
    return counts


# numba ---------------------------------------------------------------------------------------------------------------

_DISABLE = "RULEKIT_NO_NUMBA"


def compiled(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    """The compiled form of a kernel, or None where numba is absent or switched off (RULEKIT_NO_NUMBA=1)."""
    return None if os.environ.get(_DISABLE, "") not in ("", "0") else _compile(kernel)


@cache
def _compile(kernel: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
        from numba.core import config
    except ImportError:
        return None
    # The cache must never land beside the installed files, which may be read-only or shared.
    chosen = config.CACHE_DIR
    try:
        folder = Path(chosen or cache_folder() / "numba")
        folder.mkdir(parents=True, exist_ok=True)
        config.CACHE_DIR = str(folder)
        return numba.njit(cache=True, nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
    except (OSError, RuntimeError):
        return numba.njit(nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
    finally:
        config.CACHE_DIR = chosen


def cache_folder() -> Path:
    """The folder of this user for compiled code."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "rulekit" if base else Path.home() / "AppData" / "Local" / "rulekit"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rulekit"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "rulekit" if base else Path.home() / ".cache" / "rulekit"
