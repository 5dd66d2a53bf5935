"""The types of arrays, their distinct rows, which numpy finds slowly, exact sums, and polars, imported when used.

Exact sums of weights of parts of the rows add up, in any order, to the one of all rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import polars as pl
else:

    class _Polars:
        """Much of rulekit, such as a prediction for an array, works without polars, which takes long to import."""

        def __getattr__(self, name: str) -> Any:
            import polars

            return getattr(polars, name)

    pl = _Polars()

__all__ = [
    "UNIT",
    "Array",
    "Bools",
    "ExactWeights",
    "Floats",
    "Hashes",
    "Ints",
    "Places",
    "distinct_rows",
    "ends_of",
    "exponent_of",
    "mixed",
    "pl",
    "rounded",
    "share_of",
]

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

_WORD = 8


def distinct_rows(matrix: npt.NDArray[np.bool_] | npt.NDArray[np.uint8]) -> tuple[Places, Places]:
    """The first row of each kind [kinds], in the order of the kinds, and the kind of each row [n].

    matrix [n, k]: truth values, or bytes. Rows are compared as whole words: np.unique with an axis takes twelve times
    as long.
    """
    packed = np.packbits(matrix, axis=1) if matrix.dtype == bool else matrix
    width = max(1, -(-packed.shape[1] // _WORD)) * _WORD
    padded = np.zeros((len(packed), width), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    # The first byte has the most weight, in a number as in the order of rows.
    words = padded.view(">u8").astype(np.uint64) if width == _WORD else padded.view(np.dtype((np.void, width)))
    _, first, kind = np.unique(words.ravel(), return_index=True, return_inverse=True)
    return first, kind


def mixed(values: Hashes) -> Hashes:
    """The finalizer of SplitMix64 (G. Steele et al., Fast splittable pseudorandom number generators, 2014)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values ^= values >> np.uint64(30)  # in place, where the numbers are in the processor's cache
    values *= np.uint64(0xBF58476D1CE4E5B9)
    values ^= values >> np.uint64(27)
    values *= np.uint64(0x94D049BB133111EB)
    values ^= values >> np.uint64(31)
    return np.asarray(values)


# Exact sums ----------------------------------------------------------------------------------------------------------

UNIT = 1 << 1074
"""How many units of 2^-1074, in which sums are counted, are 1."""

_LOW_BITS = 26


class ExactWeights:
    """Weights [n] >= 0 of at most 2^25 rows, or None where each is 1, that can be added up exactly.

    A double is an integer times a power of two. Its halves are added per exponent as doubles, in which sums of so few
    small integers are exact, and the rest is arithmetic of Python's integers, in units of the smallest double.
    """

    def __init__(self, weights: Floats | None, n_rows: int) -> None:
        self.n_rows, self.weighted = n_rows, weights is not None
        if weights is not None:
            mantissa, exponent = np.frexp(weights)
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            self._exponent = exponent.astype(np.int64)
            self._high, self._low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)

    def by(self, codes: Array, n_codes: int) -> list[int]:
        """The sum of the weights of the rows of each code [n] below n_codes, in units of 2^-1074."""
        if not self.weighted or not self.n_rows:
            return [int(count) * UNIT for count in np.bincount(codes, minlength=n_codes)]
        sums, first = [0] * n_codes, int(self._exponent.min())
        width = int(self._exponent.max()) - first + 1
        where = codes.astype(np.int64) * width + (self._exponent - first)
        for values, shift in ((self._high, _LOW_BITS), (self._low, 0)):
            found = np.bincount(where, values, n_codes * width)
            for at in np.flatnonzero(found).tolist():
                # The smallest doubles have fewer bits, so that the shift is never to the right of the unit.
                power = at % width + first - 53 + shift + 1074
                whole = int(found[at])
                sums[at // width] += whole << power if power >= 0 else whole >> -power
        return sums

    def of(self, truth: Bools) -> int:
        """The sum of the weights of the rows where `truth` [n] holds, in units of 2^-1074."""
        return self.by(truth, 2)[1] if self.weighted else int(np.count_nonzero(truth)) * UNIT

    def total(self) -> int:
        """The sum of all weights, in units of 2^-1074."""
        return self.by(np.zeros(self.n_rows, dtype=np.uint8), 1)[0] if self.weighted else self.n_rows * UNIT


def rounded(total: int) -> float:
    """A sum in units of 2^-1074 as the nearest double."""
    try:
        return float(Fraction(total, UNIT))
    except OverflowError:
        return math.inf


def share_of(part: int, total: int) -> float | None:
    """The share of a sum, both in units of 2^-1074; None of nothing."""
    return rounded(part) / rounded(total) if total else None


def ends_of(weight: Floats) -> tuple[float, float]:
    """The least and the largest weight of some rows: of parts the least and the largest of theirs."""
    return float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))


def exponent_of(least: float, largest: float) -> int | None:
    """That of the power of two by which weights are divided before they are squared; None where each is 1."""
    return int(np.frexp(largest)[1]) if least < 1.0 or largest > 1.0 else None
