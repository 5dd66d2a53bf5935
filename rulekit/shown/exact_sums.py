"""Sums of the weights of rows that are exact, so that they do not depend on the blocks in which the rows come."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats

UNIT = 1 << 1074
"""How many units of 2^-1074, in which sums are counted, are 1."""

_LOW_BITS = 26
_MOST = 1 << 25


class ExactWeights:
    """Weights [n] >= 0 of some rows, or None where each is 1, that can be added up exactly.

    A double is an integer times a power of two. Its halves are added per exponent as doubles, in which sums of so few
    small integers are exact, and the rest is arithmetic of Python's integers, in units of the smallest double.
    """

    def __init__(self, weights: Floats | None, n_rows: int) -> None:
        self.n_rows = n_rows
        self._parts: list[tuple[slice, Any, Any, Any]] | None = None
        if weights is None:
            return
        self._parts = []
        for start in range(0, n_rows, _MOST):
            rows = slice(start, min(start + _MOST, n_rows))
            mantissa, exponent = np.frexp(weights[rows])
            whole = np.ldexp(mantissa, 53).astype(np.int64)
            high, low = whole >> _LOW_BITS, whole & ((1 << _LOW_BITS) - 1)
            self._parts.append((rows, exponent.astype(np.int64), high.astype(np.float64), low.astype(np.float64)))

    def by(self, codes: Array, n_codes: int) -> list[int]:
        """The sum of the weights of the rows of each code [n] below n_codes, in units of 2^-1074."""
        if self._parts is None:
            return [int(count) * UNIT for count in np.bincount(codes, minlength=n_codes)]
        sums = [0] * n_codes
        for rows, exponent, high, low in self._parts:
            first = int(exponent.min())
            width = int(exponent.max()) - first + 1
            where = codes[rows].astype(np.int64) * width + (exponent - first)
            for values, shift in ((high, _LOW_BITS), (low, 0)):
                found = np.bincount(where, values, n_codes * width)
                for at in np.flatnonzero(found).tolist():
                    # The smallest doubles have fewer bits, so that the shift is never to the right of the unit.
                    power = at % width + first - 53 + shift + 1074
                    whole = int(found[at])
                    sums[at // width] += whole << power if power >= 0 else whole >> -power
        return sums

    def of(self, truth: Bools) -> int:
        """The sum of the weights of the rows where `truth` [n] holds, in units of 2^-1074."""
        return int(np.count_nonzero(truth)) * UNIT if self._parts is None else self.by(truth, 2)[1]

    def total(self) -> int:
        """The sum of all weights, in units of 2^-1074."""
        if self._parts is None:
            return self.n_rows * UNIT
        return self.by(np.zeros(self.n_rows, dtype=np.uint8), 1)[0]


def rounded(total: int) -> float:
    """A sum in units of 2^-1074 as the nearest double."""
    try:
        return float(Fraction(total, UNIT))
    except OverflowError:
        return math.inf


def share_of(part: int, total: int) -> float | None:
    """The share of a sum, both in units of 2^-1074; None of nothing."""
    return rounded(part) / rounded(total) if total else None
