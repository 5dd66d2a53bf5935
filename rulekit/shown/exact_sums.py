"""Exact sums of weights: those of parts of the rows add up, in any order, to the one of all rows."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from rulekit.arrays import Array, Bools, Floats

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
