"""The distribution of each column of a training table, as JSON values for the statistics of a model.

Numbers are counted in at most 20 bins of about equal numbers of rows, a frequent value in one of its own. The cuts
between them come from every k-th row, at most 262,144 in all, whatever the blocks in which a table is read; the shares
are of all rows, added up exactly. A cut lies half-way between two values, so that no rounding moves a row across it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.dates import is_dated
from rulekit.numbers import separates, threshold_between
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import PART, StoredArrays, Table, absent
from rulekit.tables.token_sets import TokenSets

MOST_BINS = 20
UNITS_OF_GRIDS = (1000.0, 100.0, 10.0, 1.0, 0.1, 0.01, 0.001)
_CUT_ROWS = 1 << 18
_GRID_ROWS = 1 << 12


class Distributions:
    """What is said of the columns of a table with weights [n] (None: each is 1), each column looked at once.

    bins: whether numbers are counted in bins, and words; else only what is missing, levels and ranges are told.
    """

    def __init__(self, table: Table, weight: Array | None = None, *, bins: bool = True) -> None:
        self.table, self.weight, self.bins = table, weight, bins
        self._known: dict[tuple[str, tuple[str, ...]], dict[str, Any]] = {}
        self._total: int | None = None

    def of(self, feature: Feature) -> dict[str, Any]:
        """The entry of a column as a model knows it: of a text the words that the model names."""
        key = (feature.name, feature.levels)
        if key not in self._known:
            describe = {"categorical": self._levels, "text": self._words}.get(feature.kind, self._numbers)
            self._known[key] = describe(feature)
        return self._known[key]

    @property
    def total(self) -> int:
        """The weight of all rows, in units of 2^-1074."""
        if self._total is None:
            self._total = self._weights(slice(0, self.table.n_rows)).total()
        return self._total

    def _weights(self, rows: slice) -> ExactWeights:
        n_rows = rows.stop - rows.start
        return ExactWeights(None if self.weight is None else self.weight[rows], n_rows)

    def _parts(self, name: str) -> Iterator[tuple[Any, ExactWeights]]:
        """The cells of a column with the weights of their rows, part by part."""
        where = self.table.names.index(name)
        arrays = self.table.arrays
        column: Any = arrays.columns[where] if isinstance(arrays, StoredArrays) else arrays[where]
        for start in range(0, self.table.n_rows, PART):
            stop = min(start + PART, self.table.n_rows)
            part = column.read(start, stop) if isinstance(arrays, StoredArrays) else column[start:stop]
            one_piece = part if isinstance(part, TokenSets) else np.ascontiguousarray(part)
            yield one_piece, self._weights(slice(start, stop))

    def _levels(self, feature: Feature) -> dict[str, Any]:
        sums = [0] * (FIRST_LEVEL_CODE + len(feature.levels))
        for codes, weights in self._parts(feature.name):
            sums = [a + b for a, b in zip(sums, weights.by(codes, len(sums)), strict=True)]
        shares = [share_of(part, self.total) or 0.0 for part in sums]
        levels = dict(zip(feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
        return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}

    def _words(self, feature: Feature) -> dict[str, Any]:
        known = next(other for other in self.table.features if other.name == feature.name)
        numbers = [known.levels.index(word) for word in feature.levels if self.bins]
        sums = [0] * (2 + len(numbers))
        for sets, weights in self._parts(feature.name):
            for k, rows in enumerate(_rows_of_words(sets, numbers)):
                sums[k] += weights.of(rows)
        wordless, *words = (round(share_of(part, self.total) or 0.0, 6) for part in sums[1:])
        missing = share_of(sums[0], self.total)
        if not self.bins:
            return {"missing": missing}
        return {"missing": missing, "words": dict(zip(feature.levels, words, strict=True)), "wordless": wordless}

    def _numbers(self, feature: Feature) -> dict[str, Any]:
        stride = -(-self.table.n_rows // _CUT_ROWS) or 1
        sampled, before = [], 0
        missing, low, high = 0, np.inf, -np.inf
        for values, weights in self._parts(feature.name):
            missing += weights.of(absent(values))
            finite = values[np.isfinite(values)]
            if len(finite):
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
            every = values[-before % stride :: stride]
            sampled.append(every[np.isfinite(every)])
            before += len(values)
        share = share_of(missing, self.total)
        if low > high or not self.bins:
            return {"missing": share, "low": low if low <= high else None, "high": high if low <= high else None}
        ordered = np.sort(np.concatenate(sampled)) if sampled else np.zeros(0)
        cuts = cuts_of(ordered, feature)
        found = {"missing": share, "low": low, "high": high, **_spread(ordered, low, high), "cuts": cuts}
        found["shares"] = [round(share_of(part, self.total) or 0.0, 6) for part in self._bins(feature.name, cuts)]
        some = ordered[:: -(-len(ordered) // _GRID_ROWS) or 1]
        grid = {} if feature.kind == "boolean" or is_dated(feature) else grid_of(some)
        return found | ({"grid": grid} if grid else {})

    def _bins(self, name: str, cuts: list[float]) -> list[int]:
        """The weight of the rows of each bin."""
        sums = [0] * (len(cuts) + 1)
        for values, weights in self._parts(name):
            if self.weight is None:
                found = [count * UNIT for count in bin_counts(values, np.asarray(cuts)).tolist()]
            else:
                codes = bin_codes(values, np.asarray(cuts))
                found = weights.by(np.where(np.isnan(values), len(sums), codes), len(sums) + 1)[: len(sums)]
            sums = [a + b for a, b in zip(sums, found, strict=True)]
        return sums


def _rows_of_words(sets: TokenSets, numbers: list[int]) -> Iterator[Array]:
    """Which rows [n] are missing, have none of the words, and have each word."""
    yield sets.missing
    yield ~(sets.contains(numbers) | sets.missing)
    for number in numbers:
        yield sets.contains([number])


def _spread(ordered: Array, low: float, high: float) -> dict[str, float]:
    """The interquartile range of sorted values where it is positive, else the range; nothing where neither is."""
    m = len(ordered)
    quartiles = float(ordered[(3 * m) // 4]) - float(ordered[m // 4]) if m else 0.0
    width = quartiles if 0.0 < quartiles < np.inf else high - low
    return {"spread": width} if 0.0 < width < np.inf else {}


def cuts_of(ordered: Array, feature: Feature) -> list[float]:
    """The cuts between at most MOST_BINS bins of sorted values [m]."""
    if feature.kind == "boolean":
        return [0.5]
    values, counts = np.unique(ordered, return_counts=True)
    until = np.cumsum(counts)
    cuts: list[float] = []
    first = 0
    while first < len(values) - 1 and len(cuts) < MOST_BINS - 1:
        done = int(until[first - 1]) if first else 0
        wanted = (len(ordered) - done) / (MOST_BINS - len(cuts))
        last = int(np.searchsorted(until, done + wanted))
        if last > first and counts[last] > wanted:
            last -= 1  # a frequent value has a bin of its own
        if last >= len(values) - 1:
            break
        cuts.append(_half_way(float(values[last]), float(values[last + 1]), feature.precision))
        first = last + 1
    return cuts


def _half_way(low: float, high: float, precision: str) -> float:
    """A short number about half-way between two values of a column, with low <= it < high."""
    middle = float(f"{low / 2 + high / 2:.6g}")
    return middle if separates(middle, low, high, precision) else threshold_between(low, high, precision)


def bin_counts(values: Array, cuts: Array) -> Ints:
    """How many values lie up to the first cut, between it and the second, ..., above the last one; NaN in none."""
    edges = cuts.astype(values.dtype)
    above = [int(np.count_nonzero(truth)) for truth in (~np.isnan(values), *(values > edge for edge in edges))]
    return -np.diff([*above, 0])


def bin_codes(values: Array, cuts: Array) -> Ints:
    """The bin [n] of each value, 0 of NaN too."""
    codes = np.zeros(len(values), dtype=np.int64)
    for edge in cuts.astype(values.dtype):
        codes += values > edge
    return codes


def grid_of(values: Array) -> dict[str, float]:
    """By unit (1000, 100, ... 0.001) the share of the values that are multiples of it, up to the first that all are."""
    found: dict[str, float] = {}
    for unit in UNITS_OF_GRIDS if len(values) else ():
        share = round(float(on_grid(values, unit).mean()), 3)
        if share:
            found[f"{unit:g}"] = share
        if share >= 0.999:
            break
    return found


def on_grid(values: Array, unit: float) -> Bools:
    """Which values [n] are multiples of a unit, but for the roundings of float32."""
    multiples = np.asarray(values, dtype=np.float64) / unit
    return np.asarray(np.abs(multiples - np.rint(multiples)) <= 2e-7 * np.abs(multiples) + 1e-9)


# Exact sums ----------------------------------------------------------------------------------------------------------

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
