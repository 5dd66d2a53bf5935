"""What the rows of today hold, counted as the model file counted the training rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.shown.statistics import bin_codes, bin_counts
from rulekit.shown.table_figures import KnownColumn, KnownTable
from rulekit.tables.raw.columns import RawTable, factorize, take_column
from rulekit.tables.table import Table, absent

MOST_VALUES = 1 << 15
"""Of so many values, evenly taken, changes are named."""


NewLevels = Mapping[str, Mapping[str, int]]
"""By column how many rows have each level that training never saw, the most frequent first."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfToday:
    """Rows beside those of training: all of them, and those of which distributions are counted, with their weights [n].

    size: how many rows of equal weight say as much as those that are counted. new: levels that training never saw, by
    name.
    """

    known: KnownTable
    every: Table
    counted: Table
    weight: Floats | None
    size: float
    new: NewLevels

    def sums(self, codes: Array, n_codes: int) -> Floats:
        """The rows of each code [n] below n_codes, in rows of equal weight."""
        found = np.bincount(codes, self.weight, n_codes).astype(np.float64)
        total = found.sum()
        return found * (self.size / total) if total > 0.0 else found


@dataclass(frozen=True, slots=True)
class Beyond:
    """How many of all rows lie on one side of the range of training, the value that lies farthest that way, and the
    sum of the logarithms of how many widths of the range they lie beyond it, each at least one.
    """

    rows: int = 0
    extreme: float = 0.0
    far: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class ColumnOfToday:
    """A column of today, in rows of equal weight: the missing cells, and of the known ones each bin, level or word [m].

    then: the column in training. n: the known cells. below, above, unseen (rows of levels that training never saw) and
    new (these levels): of all rows, by number. values: some known numbers, for names. wordless: the texts without a
    word of the model.
    """

    feature: Feature
    then: KnownColumn
    rows: RowsOfToday
    missing: float
    counts: Floats
    n: float
    below: Beyond = Beyond()
    above: Beyond = Beyond()
    unseen: int = 0
    new: Mapping[str, int] = field(default_factory=dict)
    values: Floats = field(default_factory=lambda: np.zeros(0))
    wordless: float = 0.0

    @property
    def name(self) -> str:
        return self.feature.name

    @property
    def unseen_share(self) -> float:
        return self.unseen / max(1, self.rows.every.n_rows)

    @property
    def before(self) -> Floats:
        """The known cells of training by bin or level [m]."""
        return self.then.shares * (self.rows.known.size * (1.0 - self.then.missing))


def seen(rows: RowsOfToday, feature: Feature) -> ColumnOfToday:
    """Count a column."""
    count = {"categorical": _levels, "text": _words}.get(feature.kind, _numbers)
    return count(rows, feature, rows.known.columns[feature.name])


def _numbers(rows: RowsOfToday, feature: Feature, then: KnownColumn) -> ColumnOfToday:
    every, values = rows.every.array(feature.name), rows.counted.array(feature.name)
    gone = absent(values)
    missing = float(rows.sums(gone.astype(np.int64), 2)[1])
    if rows.weight is None:
        counts = bin_counts(values, then.cuts).astype(np.float64)
    else:
        codes = np.where(gone, len(then.shares), bin_codes(values, then.cuts))
        counts = rows.sums(codes, len(then.shares) + 1)[:-1]
    there = values[~gone]
    some = there[:: max(1, len(there) // MOST_VALUES)].astype(np.float64)
    below = _beyond(every[every < then.low], float(np.fmin.reduce(every)), then.low, then)
    above = _beyond(every[every > then.high], float(np.fmax.reduce(every)), then.high, then)
    values = some[np.isfinite(some)]
    return ColumnOfToday(feature, then, rows, missing, counts, float(counts.sum()), below, above, values=values)


def _beyond(outside: Array, extreme: float, bound: float, then: KnownColumn) -> Beyond:
    width, distances = then.high - then.low, np.abs(outside.astype(np.float64) - bound)
    far = float(np.log(np.maximum(distances / width, 1.0)).sum()) if width > 0.0 else 0.0
    return Beyond(len(outside), extreme, far)


def _levels(rows: RowsOfToday, feature: Feature, then: KnownColumn) -> ColumnOfToday:
    sums = rows.sums(rows.counted.array(feature.name), FIRST_LEVEL_CODE + len(then.names))
    new = dict(rows.new.get(feature.name, {}))
    unseen = sum(new.values()) or int((rows.every.array(feature.name) == UNSEEN_CODE).sum())
    missing = float(sums[MISSING_CODE])
    if feature.unseen == "missing":  # encoded as missing, and told apart by their names
        missing = max(0.0, missing - unseen / max(1, rows.every.n_rows) * rows.size)
    counts = sums[FIRST_LEVEL_CODE:]
    return ColumnOfToday(feature, then, rows, missing, counts, float(rows.size - missing), unseen=unseen, new=new)


def _words(rows: RowsOfToday, feature: Feature, then: KnownColumn) -> ColumnOfToday:
    sets: Any = rows.counted.array(feature.name)
    own = next(other for other in rows.counted.features if other.name == feature.name)
    numbers = [own.levels.index(word) for word in then.names]
    wordless = ~(sets.contains(numbers) | sets.missing)
    marks = (sets.missing, wordless, *(sets.contains([number]) for number in numbers))
    missing, without, *counts = (float(rows.sums(mark.astype(np.int64), 2)[1]) for mark in marks)
    return ColumnOfToday(feature, then, rows, missing, np.array(counts), rows.size, wordless=without)


def new_levels(raw: RawTable, table: Table, schema: Schema, used: tuple[str, ...]) -> NewLevels:
    """What the rows of a raw table that was encoded as `table` hold beside the levels of the schema."""
    found = {}
    by_name = {column.name: column for column in raw.columns}
    for name in used:
        feature = schema[name]
        code = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
        rows = np.flatnonzero(table.array(name) == code) if feature.kind == "categorical" else np.array([], dtype=int)
        if len(rows):
            column = raw.columns[schema.positions[name]] if raw.positional else by_name[name]
            keys, index = factorize(take_column(column, rows), feature.missing_tokens)
            counts = np.bincount(index[index >= 0], minlength=len(keys)).tolist()
            named = sorted(zip(keys, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
            found[name] = {key: count for key, count in named if count}
    return {name: levels for name, levels in found.items() if levels}
