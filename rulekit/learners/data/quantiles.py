"""The bins of numeric columns by capped quantiles, of rows in parts: sums of integers over the parts decide them.

Floats become whole numbers of the same order, and each pass cuts ranges of them: the whole at first, then each in which
two bins can meet, or a value heavier than the cap, or one of few can still lie. The parts tell, too, which bits differ
in a range at all: a value is known once no other is left beside it, and one of few digits has few bits. Of a range in
one bin alone that begins or ends it the last pass asks the least and the largest value.

A pass asks a column for at most 2^14 weights, in one range or in the 260 or so that 255 bins leave open, and for up to
50 marks of each range: 128 KB at first, then at most 240 KB. All columns are asked together, in 1 to 11 passes (as
measured on 13 kinds of columns of up to 10,000,000 rows; normal ones of 4 bytes take 6).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Hashes, Ints

_BITS, _MARK = 14, 32
_BELOW = np.array([(1 << bits) - 1 for bits in range(65)], dtype=np.uint64)
_CAPPINGS = 8
_TOGETHER = 1 << 18  # values that are looked at as they are


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Ranges of ordered numbers [k], ascending, that a pass cuts into 2^bits equal shares (0: it asks their ends).

    In a range the bits from `high` on are those of its start. shift: the bits that are not looked at yet.
    """

    starts: Hashes
    high: Ints
    shift: Ints
    bits: int

    @property
    def least(self) -> Hashes:
        """The least number [k] of each."""
        return self.starts & ~_BELOW[self.high]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """The least and the largest number [k] of ranges; the sum with those of other parts is that of all together."""

    least: Hashes
    largest: Hashes

    def __add__(self, other: Ends) -> Ends:
        return Ends(np.minimum(self.least, other.least), np.maximum(self.largest, other.largest))


Asking = Callable[[Mapping[int, Ranges]], Mapping[int, Any]]
"""The sum of what all parts answer, by column."""


# On a part ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class SortedPart:
    """The ordered numbers [m] of some rows of a column, ascending, and the weight of each: one for all, or [m]."""

    numbers: Array
    weights: Array

    @classmethod
    def of(cls, array: Array, weights: Array) -> SortedPart:
        """Of floats [n], NaN for missing, and weights [n] above 0: whole numbers, where there are several parts."""
        known = ~np.isnan(array)
        numbers = _ordered(array[known])
        if weights.strides == (0,) or not len(weights):
            numbers.sort()
            return cls(numbers, np.append(weights[:1], 1)[:1])
        numbers, place = np.unique(numbers, return_inverse=True)
        return cls(numbers, np.bincount(place, weights[known], len(numbers)))

    def answer(self, ranges: Ranges) -> Ints | Ends:
        """The weight [k, 2^bits] of each share, and for each bit below it a mark if some number of the range has it.

        Marks of numbers that lack it are 2^32 times as large; the answers of all parts are added up. Or the ends.
        """
        numbers, high, shift = self.numbers, ranges.high[:, None], ranges.shift[:, None]
        shares = np.minimum(np.arange(1 << ranges.bits, dtype=np.uint64), _BELOW[high - shift])
        ends = ranges.least[:, None] + (shares << shift.astype(np.uint64)) + _BELOW[shift]
        first = np.searchsorted(numbers, ranges.least.astype(numbers.dtype))
        places = np.column_stack([first, np.searchsorted(numbers, ends.astype(numbers.dtype), side="right")])
        marks = np.zeros((len(first), max(1, int(shift.max()))), dtype=np.int64)
        held = places[:, -1] > first
        if not ranges.bits:
            found = Ends(np.full(len(first), _BELOW[64]), np.zeros(len(first), dtype=np.uint64))
            found.least[held], found.largest[held] = numbers[first[held]], numbers[places[held, -1] - 1]
            return found
        if held.any():
            cuts = places[held][:, [0, -1]].ravel()
            cuts = cuts[:-1] if cuts[-1] == len(numbers) else cuts
            bit, one = np.arange(marks.shape[1], dtype=numbers.dtype), numbers.dtype.type(1)
            some, each = (gather.reduceat(numbers, cuts)[::2, None] for gather in (np.bitwise_or, np.bitwise_and))
            marks[held] = (some >> bit & one).astype(np.int64) + ((~each >> bit & one).astype(np.int64) << _MARK)
        return np.concatenate([np.diff(self._before(places), axis=1).ravel(), marks.ravel()])

    def _before(self, places: Ints) -> Ints:
        """The weight before each place."""
        if len(self.weights) == 1:
            return places * int(self.weights[0])
        return np.append(0, np.cumsum(self.weights)).astype(np.int64)[places]

    def values(self) -> tuple[Array, Array]:
        """Its different numbers [m], and the weight of each."""
        if len(self.weights) == len(self.numbers):
            return self.numbers, self.weights
        first = np.flatnonzero(self.differs())
        return self.numbers[first], np.diff(first, append=len(self.numbers)) * self.weights

    def differs(self) -> Bools:
        """Which of the numbers [m] differ from the one before."""
        return np.append(self.numbers[:1] == self.numbers[:1], self.numbers[1:] != self.numbers[:-1])


def _ordered(values: Array) -> Array:
    """Unsigned whole numbers [n] in the order of floats [n], which are of use no more; minus zero is zero."""
    values += values.dtype.type(0)
    signs = values.view(f"i{values.itemsize}") >> (8 * values.itemsize - 1)
    bits = values.view(f"u{values.itemsize}")
    bits ^= signs.view(bits.dtype) | bits.dtype.type(1 << (8 * values.itemsize - 1))
    return bits


def _floats(numbers: Hashes, dtype: np.dtype[Any]) -> Array:
    bits = numbers.astype(f"u{dtype.itemsize}")
    sign = bits.dtype.type(1 << (8 * dtype.itemsize - 1))
    return np.where(bits & sign, bits ^ sign, ~bits).view(dtype)


# Where the sums come together --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """What is known of a column: ranges [m], ascending, which hold something, and their weights.

    The numbers of a range are like its start but for bits from `low` to below `high`; 0 and 0: it is one value.
    """

    starts: Hashes
    low: Ints
    high: Ints
    weights: Ints

    def asked(self, opened: Bools, ends: bool) -> Ranges:
        """The question about some ranges [m], or about their ends."""
        bits = 0 if ends else max(1, _BITS - (int(np.count_nonzero(opened)) - 1).bit_length())
        low, high = self.low[opened], self.high[opened]
        return Ranges(self.starts[opened], high, np.maximum(low, high - bits), bits)

    def refined(self, opened: Bools, ranges: Ranges, sums: Ints) -> _Known:
        """With what all parts together answer."""
        k = len(ranges.starts)
        weights, marks = sums[: k << ranges.bits].reshape(k, -1), sums[k << ranges.bits :].reshape(k, -1)
        bit = np.arange(marks.shape[1])
        below = bit < ranges.shift[:, None]
        is_set, is_not = below & (marks & ((1 << _MARK) - 1) > 0), below & (marks >> _MARK > 0)
        constant = ((is_set & ~is_not) * (_BELOW[bit] + np.uint64(1))).sum(axis=1, dtype=np.uint64)
        high = ((is_set & is_not) * (bit + 1)).max(axis=1)
        low = np.where(high > 0, (is_set & is_not).argmax(axis=1), 0)
        row, share = np.nonzero(weights)
        starts = (ranges.least + constant)[row] + (share.astype(np.uint64) << ranges.shift.astype(np.uint64)[row])
        own, others = (starts, low[row], high[row], weights[row, share]), ~opened
        kept = (self.starts[others], self.low[others], self.high[others], self.weights[others])
        order = np.argsort(np.concatenate([kept[0], own[0]]))
        return _Known(*(np.concatenate(both)[order] for both in zip(kept, own, strict=True)))


def bins_of_parts(dtypes: Mapping[int, np.dtype[Any]], ask: Asking, max_bins: int) -> dict[int, tuple[Array, Array]]:
    """Find the first and the last value of each bin of numeric columns; `ask` asks all parts of the rows.

    Where a column has few values, each is a bin. The weights of all rows are less than 2^52.
    """
    nothing = np.zeros(1, dtype=np.int64)
    known = {
        j: _Known(nothing.astype(np.uint64), nothing, nothing + 8 * t.itemsize, nothing) for j, t in dtypes.items()
    }
    opened, begins, ends = {j: np.ones(1, dtype=bool) for j in dtypes}, dict[int, Bools](), dict[int, Ends]()
    while opened:
        asked = {j: known[j].asked(which, j in ends) for j, which in opened.items()}
        sums = ask(asked)
        for j, ranges in asked.items():
            if j in ends:
                ends[j].least[opened[j]], ends[j].largest[opened[j]] = sums[j].least, sums[j].largest
                del opened[j]
                continue
            known[j] = own = known[j].refined(opened[j], ranges, sums[j])
            opened[j], begins[j] = _decided(own.weights, own.high == 0, max_bins)
            if not opened[j].any():
                ends[j] = Ends(own.starts.copy(), own.starts.copy())
                opened[j] = (own.high > 0) & (begins[j] | _ends(begins[j]))
            if not opened[j].any():
                del opened[j]
    return {j: _bins(own.least, own.largest, begins[j], dtypes[j]) for j, own in ends.items()}


def bins_of_column(parts: Sequence[SortedPart], dtype: np.dtype[Any], max_bins: int | None) -> tuple[Array, Array]:
    """The same of one column, whose parts are here; without max_bins each value is a bin."""
    if max_bins is not None and sum(np.count_nonzero(part.differs()) for part in parts) > _TOGETHER:

        def ask(asked: Mapping[int, Ranges]) -> dict[int, Any]:
            return {0: reduce(add, (part.answer(asked[0]) for part in parts))}

        return bins_of_parts({0: dtype}, ask, max_bins)[0]
    found = [part.values() for part in parts]
    values, weights = (np.concatenate(each) for each in zip(*found, strict=True)) if len(found) > 1 else found[0]
    if len(found) > 1:
        values, place = np.unique(values, return_inverse=True)
        weights = np.bincount(place, weights, len(values))
    alone = np.ones(len(values), dtype=bool)
    return _bins(values, values, alone if max_bins is None else _decided(weights, alone, max_bins)[1], dtype)


def _ends(begins: Bools) -> Bools:
    return np.append(begins[1:], True)[: len(begins)]


def _bins(least: Array, largest: Array, begins: Bools, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    return _floats(least[begins], dtype), _floats(largest[_ends(begins)], dtype)


def _decided(weights: Array, alone: Bools, most: int) -> tuple[Bools, Bools]:
    """Which ranges [m] must be known better, and with which of them a bin begins once there are none.

    alone: those of one value. What is computed is what would be of all values, one after the other, to the last bit.
    """
    if len(weights) <= most:
        return ~alone, np.ones(len(weights), dtype=bool)
    weights = weights.astype(np.float64)
    cap, least, total = np.inf, np.inf, float(weights.sum())
    for _ in range(_CAPPINGS):
        # Capping lowers the total and so the cap; a heavy value ends up with a single bin.
        cap = total / most
        least, heavy = min(least, cap), weights > cap
        if not heavy.any():
            break  # nothing is heavier than the cap, and so it stays
        total = float(weights[~heavy].sum()) + int(np.count_nonzero(heavy)) * cap
    # A range below the cap has no heavy value; once every other is a value, the caps are those of all values.
    opened = ~alone & (weights > least)
    if opened.any():
        return opened, opened
    # Sums have a fraction from the first cap on, and no range is heavier: it leads over one power of two at most, where
    # its weight is rounded as its values are, one after the other (below 2^52 a whole number is an even count of ulps).
    capped = np.minimum(weights, cap)
    reached = np.cumsum(capped)
    before = np.append(0.0, reached[:-1])
    places = np.where(alone, reached - capped / 2, [before, reached]) / total * most
    first, last = np.minimum(places, most - 1).astype(np.int64)
    return ~alone & (first < last), np.append(True, first[1:] > last[:-1])
