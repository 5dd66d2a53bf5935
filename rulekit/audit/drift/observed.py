"""What the rows of today hold, counted as the model file counted the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.shown.distributions import bin_codes, bin_counts
from rulekit.shown.table_figures import KnownColumn, KnownLevels, KnownNumbers, KnownTexts
from rulekit.tables.table import Table, absent

MOST_VALUES = 1 << 15
"""Of so many values, evenly taken, changes are named."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfToday:
    """Rows to be compared: all of them, those of which distributions are counted, and the weights [n] of the latter.

    size: how many rows of equal weight say as much as those that are counted. labels, y: the classes that the model
    decides and that the counted rows have, by index, or None. new: levels that training never saw, by name, or None
    where names are not known.
    """

    every: Table
    counted: Table
    weight: Floats | None
    size: float
    labels: Array
    y: Array | None = None
    new: Mapping[str, Mapping[str, int]] | None = None

    def sums(self, codes: Array, n_codes: int) -> Floats:
        """The rows of each code [n] below n_codes, in rows of equal weight."""
        found = np.bincount(codes, self.weight, n_codes).astype(np.float64)
        total = found.sum()
        return found * (self.size / total) if total > 0.0 else found


def rows_of(
    table: Table,
    labels: Array | None,
    decide: Any,
    *,
    weight: Array | None = None,
    y: Array | None = None,
    new: Mapping[str, Mapping[str, int]] | None = None,
    most: int | None = None,
    together: float = 1.0,
) -> RowsOfToday:
    """Rows of which about `most`, evenly taken, are counted; decide(table) labels them where `labels` is None.

    together: how many rows say as much as one, as equal ones came together.
    """
    stride = 1 if most is None else max(1, table.n_rows // most)
    counted = table
    if stride > 1:
        picked = np.arange(0, table.n_rows, stride)
        counted = table.take(picked)
        weight, y, labels = (None if part is None else part[picked] for part in (weight, y, labels))
    weights = None if weight is None or (weight == weight[:1]).all() else np.asarray(weight, dtype=np.float64)
    scaled = None if weights is None else weights / weights.max()
    size = float(counted.n_rows) if scaled is None else float(scaled.sum() ** 2 / (scaled**2).sum())
    return RowsOfToday(table, counted, scaled, size / together, decide(counted) if labels is None else labels, y, new)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnOfToday:
    """A column of today, in rows of equal weight: the missing cells, and of the known ones each bin, level or word [m].

    Of all rows, by number: below and above the range of training, with the lowest and the highest value, and far_below
    and far_above, the sum of the logarithms of how many widths of the range they lie beyond it; new: the levels that
    training never saw, unseen: their rows. values: some known numbers, for names. n: the known cells. wordless: the
    texts without a word of the model.
    """

    missing: float
    counts: Floats
    n: float
    below: int = 0
    above: int = 0
    lowest: float = 0.0
    highest: float = 0.0
    far_below: float = 0.0
    far_above: float = 0.0
    unseen: int = 0
    unseen_share: float = 0.0
    new: Mapping[str, int] = field(default_factory=dict)
    values: Floats = field(default_factory=lambda: np.zeros(0))
    wordless: float = 0.0


def seen(rows: RowsOfToday, feature: Feature, known: KnownColumn) -> ColumnOfToday:
    """Count a column."""
    if isinstance(known, KnownNumbers):
        return _numbers(rows, feature, known)
    return _levels(rows, feature, known) if isinstance(known, KnownLevels) else _words(rows, feature, known)


def _numbers(rows: RowsOfToday, feature: Feature, known: KnownNumbers) -> ColumnOfToday:
    every, values = rows.every.array(feature.name), rows.counted.array(feature.name)
    gone = absent(values)
    missing = float(rows.sums(gone.astype(np.int64), 2)[1])
    if rows.weight is None:
        counts = bin_counts(values, known.cuts).astype(np.float64)
    else:
        codes = np.where(gone, len(known.shares), bin_codes(values, known.cuts))
        counts = rows.sums(codes, len(known.shares) + 1)[:-1]
    there = values[~gone]
    some = there[:: max(1, len(there) // MOST_VALUES)].astype(np.float64)
    found = ColumnOfToday(missing, counts, float(counts.sum()), values=some[np.isfinite(some)])
    if not len(there) and bool(absent(every).all()):
        return found
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    below = every[every < known.low] if low < known.low else every[:0]
    above = every[every > known.high] if high > known.high else every[:0]
    width = known.high - known.low
    return replace(
        found,
        below=len(below),
        above=len(above),
        lowest=low,
        highest=high,
        far_below=_far(known.low - below.astype(np.float64), width),
        far_above=_far(above.astype(np.float64) - known.high, width),
    )


def _far(beyond: Floats, width: float) -> float:
    """The sum of the logarithms of distances [k] beyond a range in widths of it, each at least one."""
    return float(np.log(np.maximum(beyond / width, 1.0)).sum()) if width > 0.0 and len(beyond) else 0.0


def _levels(rows: RowsOfToday, feature: Feature, known: KnownLevels) -> ColumnOfToday:
    codes = rows.counted.array(feature.name)
    sums = rows.sums(codes, FIRST_LEVEL_CODE + len(known.levels))
    new = dict((rows.new or {}).get(feature.name, {}))
    every = rows.every.array(feature.name)
    unseen = sum(new.values()) or int((every == UNSEEN_CODE).sum())
    share = unseen / max(1, rows.every.n_rows)
    missing = float(sums[MISSING_CODE])
    if feature.unseen == "missing":  # encoded as missing, and told apart by their names
        missing = max(0.0, missing - share * rows.size)
    known_cells = sums[FIRST_LEVEL_CODE:]
    return ColumnOfToday(missing, known_cells, float(rows.size - missing), unseen=unseen, unseen_share=share, new=new)


def _words(rows: RowsOfToday, feature: Feature, known: KnownTexts) -> ColumnOfToday:
    sets: Any = rows.counted.array(feature.name)
    own = next(other for other in rows.counted.features if other.name == feature.name)
    numbers = [own.levels.index(word) for word in known.words]
    missing = float(rows.sums(sets.missing.astype(np.int64), 2)[1])
    some = sets.contains(numbers) | sets.missing
    wordless = float(rows.sums((~some).astype(np.int64), 2)[1])
    counts = [float(rows.sums(sets.contains([number]).astype(np.int64), 2)[1]) for number in numbers]
    return ColumnOfToday(missing, np.array(counts), rows.size, wordless=wordless)
