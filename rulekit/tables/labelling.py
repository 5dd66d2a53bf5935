"""Rows to learn from: a table with its labels, weights and groups, in memory or, within a budget, on disk.

A file comes whole, as one block, or in blocks of rows or columns; what is in memory already is one block. The table,
its labels, weights, groups and notes are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.budget import Budget
from rulekit.tables.kinds.builders import Dictionary, TextAllowance
from rulekit.tables.kinds.classes import alike_notes, class_key, classes_of_keys
from rulekit.tables.kinds.inference import ColumnBuilder, KindChanged, assembled
from rulekit.tables.labels import (
    LabelledTable,
    Times,
    check_weight,
    checked_times,
    one_label,
    parse_cost,
    plain_values,
    unlabelled_note,
    without_label,
)
from rulekit.tables.options import ROW_ORDER, ReadingOptions
from rulekit.tables.raw.columns import Column, NumberColumn, column_place, place, take_column
from rulekit.tables.raw.delimited import ReadAgain
from rulekit.tables.reading import TableFile, open_table
from rulekit.tables.row_notes import near_label_notes
from rulekit.tables.table import Array, HeldColumn, Memory, Store, StoredColumn, Writer, arrays_of

Reading = Callable[[float], object]
"""Called with the share of the file that was read."""


def read_labelled(
    path: str | os.PathLike[str],
    options: ReadingOptions,
    budget: Budget | None = None,
    *,
    reading: Reading | None = None,
) -> LabelledTable:
    """A labelled table from a file; with a budget its columns are kept on disk.

    Raises InputError for a wrong column name, a single class, a weight that is negative, missing or sums to nothing, a
    row without a group, as `rulekit.tables.reading.read_table` does, and where the budget is too small.
    """
    store = Store()
    source = open_table(path, options, store, budget)
    if options.target is None:
        raise InputError("no label column is named", where=source.source or "table", fix="name it as the target")
    options.check(source.names, source.source)
    if options.label_separator is not None and options.positive is None:
        why = "cells hold several labels, and none of them is asked for"
        raise InputError(why, where=column_place(source.source, options.target), fix="name it as the positive one")
    labels = options.label_columns()
    names = [n for n in source.names if n not in options.dropped() or n in labels]
    features = [n for n in names if n not in labels]
    if not features:
        raise InputError("no column is left beside the target", where=source.source or "table", fix="give features")
    if budget is not None and source.n_rows is not None:
        budget.require_rows(source.n_rows, source.source)
        store.require(source.n_rows * (5 * len(features) + 8))
    kept: Store | Memory = Memory() if budget is None else store
    allowed = TextAllowance() if budget is None else TextAllowance(budget.text_bytes)
    while True:
        rows = _LabelledReading(source, kept, options, options.target, tuple(names), tuple(features), allowed, reading)
        try:
            rows.read()
        except ReadAgain:
            continue
        if budget is not None:
            budget.require_rows(rows.kept_rows, source.source)
        return rows.labelled()


@dataclass(slots=True, eq=False)
class _LabelledReading:
    """One reading of a file, column by column or block by block."""

    source: TableFile
    store: Store | Memory
    options: ReadingOptions
    label: str
    names: tuple[str, ...]
    features: tuple[str, ...]
    allowance: TextAllowance
    reading: Reading | None = None
    n_rows: int = 0
    target: Dictionary = field(init=False)
    group: Dictionary | None = None
    weight: Writer | HeldColumn | None = None
    builders: dict[str, ColumnBuilder] = field(default_factory=dict)
    _dropped: list[Array] = field(default_factory=list)
    _tokens: dict[str, tuple[str, ...]] = field(init=False)
    _features: dict[str, Feature] = field(init=False)

    def __post_init__(self) -> None:
        self._tokens = self.options.missing_tokens(self.source.names)
        self._features = self.options.features(self.source.names)
        where = self.source.source
        self.target = Dictionary(self.label, self.store, self.allowance, where)
        if self.options.group is not None:
            self.group = Dictionary(self.options.group, self.store, self.allowance, where)
        if self.options.weight is not None:
            self.weight = self.store.writer(np.float64)

    @property
    def _asked(self) -> str:
        """The label that is asked for, of cells that hold several."""
        return "" if self.options.positive is None else class_key(self.options.positive)

    @property
    def kept_rows(self) -> int:
        return self.n_rows - sum(map(len, self._dropped))

    def read(self) -> None:
        """All blocks; raises ReadAgain where the source must be read in another way."""
        kept = {*self.options.label_columns()} | self.options.kept_texts()
        kept -= {self.options.weight or "", *self._timed}
        features = self._features
        self.builders = {name: self._builder(features[name], reread=True) for name in (*self.features, *self._timed)}
        again: set[str] = set()
        passes: list[tuple[str, ...]] = [self.names]
        if self.source.by_column:
            first = [n for n in (self.label, self.options.weight, self.options.group, *self._timed) if n is not None]
            passes = [(name,) for name in (*first, *self.features)]
        for number, names in enumerate(passes):
            self._pass(names, kept, again, number / len(passes), 1 / len(passes))
            if number == 0 and self.source.by_column:
                self._note_dropped()
        if again:
            # a column that is no numbers after all: its cells as they are written
            for name in again:
                self.builders[name] = self._builder(features[name], reread=False)
            wanted = (*sorted(again), self.label) if self._dropped else tuple(sorted(again))
            self._again(wanted, kept | again)

    @property
    def _timed(self) -> tuple[str, ...]:
        return () if self.options.time in (None, ROW_ORDER) else (str(self.options.time),)

    def _builder(self, feature: Feature, *, reread: bool) -> ColumnBuilder:
        options = self.options
        if feature.name in self._timed:
            options = replace(options, precision={**options.precision, feature.name: "float64"})
        return ColumnBuilder(feature, options, self.source.source, self.store, self.allowance, reread)

    def _pass(self, names: tuple[str, ...], kept: set[str], again: set[str], base: float, share: float) -> None:
        start = 0
        for raw in self.source.blocks(names, kept):
            columns = {column.name: column for column in raw.columns}
            mask = self._mask(columns, start, raw.n_rows)
            for name, column in columns.items():
                if name == self.label or name in again:
                    continue
                try:
                    self._take(column if mask is None else take_column(column, mask))
                except KindChanged:
                    again.add(name)
            start += raw.n_rows
            if self.reading is not None:
                self.reading(base + share * self.source.share)
        self.n_rows = start

    def _again(self, names: tuple[str, ...], kept: set[str]) -> None:
        start = 0
        for raw in self.source.blocks(names, kept):
            mask = self._dropped_mask(start, raw.n_rows)
            for column in raw.columns:
                if column.name in self.builders and column.name in names:
                    self.builders[column.name].add(column if mask is None else take_column(column, mask))
            start += raw.n_rows

    def _mask(self, columns: Mapping[str, Column], start: int, n_rows: int) -> npt.NDArray[np.bool_] | None:
        """Which rows of a block have a label; None if all have."""
        if self.label not in columns:
            return self._dropped_mask(start, n_rows)
        labels, tokens = columns[self.label], self._tokens.get(self.label, ())
        separator = self.options.label_separator
        if separator is not None:
            labels = one_label(labels, self._asked, separator, tokens)
        missing = self.target.add(labels, tokens)
        if not missing.any():
            return None
        self._dropped.append(np.flatnonzero(missing) + start)
        return ~missing

    def _dropped_mask(self, start: int, n_rows: int) -> npt.NDArray[np.bool_] | None:
        if not self._dropped:
            return None
        mask = np.ones(n_rows, dtype=bool)
        for rows in self._dropped:
            if rows[0] < start + n_rows and rows[-1] >= start:
                mask[rows[(rows >= start) & (rows < start + n_rows)] - start] = False
        return None if mask.all() else mask

    def _take(self, column: Column) -> None:
        feature = self._features[column.name]
        if column.name == self.options.group and self.group is not None:
            first_row = self.group.rows
            if feature.form:
                values = plain_values(replace(column, first_row=first_row), feature, self.source.source)
                column = NumberColumn(column.name, values)
            missing = self.group.add(column)
            if missing.any():
                where = place(self.source.source, first_row + int(np.argmax(missing)), column.name)
                raise InputError("the row has no group", where=where, fix="fill it in")
        elif column.name == self.options.weight and self.weight is not None:
            self.weight.add(plain_values(replace(column, first_row=self.weight.rows), feature, self.source.source))
        else:
            self.builders[column.name].add(column)

    def _note_dropped(self) -> tuple[str, ...]:
        count = sum(map(len, self._dropped))
        if not count:
            return ()
        first = np.concatenate(self._dropped[:6])[:6]
        where = column_place(self.source.source, self.label)
        return (unlabelled_note(first, count, self.n_rows, where, self.options.missing_target),)

    def _refuse_constant(self, rows: Mapping[str, int]) -> None:
        """Raise InputError where the one label that is asked for is that of no row, or of all."""
        label = self._asked
        if self.options.label_separator is None or (rows.get(label) and rows.get(without_label(label))):
            return
        which = "every" if rows.get(label) else "no"
        where = column_place(self.source.source, self.label)
        raise InputError(f"{which} row has the label {label!r}", where=where, fix="name another label")

    def _integers(self, n: int) -> npt.DTypeLike:
        """What holds numbers below n; beside columns on disk in as few bytes as can be."""
        return np.int64 if isinstance(self.store, Memory) else np.min_scalar_type(max(0, n - 1))

    # The whole table -----------------------------------------------------------------------------------------------

    def labelled(self) -> LabelledTable:
        """The table on disk beside its labels."""
        where, target = self.source.source, self.label
        if self.n_rows == 0:
            raise InputError("there is a header but no row", where=where, fix="give at least one row")
        dropped = self._note_dropped()
        keys, counts, place_of = self.target.ordered()
        self._refuse_constant(dict(zip(keys, counts.tolist(), strict=True)))
        class_of, classes, found_notes = classes_of_keys(
            keys,
            counts,
            self.target.kind(),
            target,
            where,
            as_text=target in self.options.categories(),
            positive=self.options.positive,
            ordered=self.options.ordered,
        )
        cost = parse_cost(self.options.cost, len(classes))
        y = _mapped(self.target.numbers(), class_of[place_of], self._integers(len(classes)), self.kept_rows)
        weight = None
        if self.weight is not None and self.options.weight is not None:
            weight = check_weight(self.weight.column().read(), column_place(where, self.options.weight))
        group = None
        if self.group is not None:
            groups, _, order = self.group.ordered()
            found_notes = (*found_notes, *alike_notes(groups, "groups"))
            group = _mapped(self.group.numbers(), order, self._integers(len(order)), self.kept_rows)
        time = self._times()
        decided, columns = zip(*(self.builders.pop(name).encoded() for name in self.features), strict=True)
        table = assembled(decided, arrays_of(columns), self.kept_rows, where, self.source.notes())
        notes = (*dropped, *near_label_notes(table.features, table.arrays, y), *found_notes)
        return LabelledTable(table, y, classes, weight, group, cost, target, bool(self.options.ordered), notes, *time)

    def _times(self) -> Times:
        if not self._timed:
            return None if self.options.time is None else np.arange(self.kept_rows, dtype=np.float64), "plain"
        decided, encoded = self.builders.pop(self._timed[0]).encoded()
        return checked_times(decided.feature, np.asarray(encoded.read()), self.source.source)


def _mapped(
    numbers: StoredColumn | HeldColumn, lookup: npt.NDArray[np.int64], dtype: npt.DTypeLike, n_rows: int
) -> Array:
    """The number [n] that each row's key stands for; rows without a key are left out."""
    mapped = np.empty(n_rows, dtype=dtype)
    done = 0
    for part in numbers.parts():
        part = part[part >= 0]
        mapped[done : done + len(part)] = lookup[part]
        done += len(part)
    return mapped
