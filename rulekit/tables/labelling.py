"""Rows to learn from: a table with its labels, weights and groups, in memory or, within a budget, on disk.

A file comes whole, as one block, or in blocks of rows or columns; what is in memory already is one block. The table,
its labels, weights, groups and notes are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.kinds.builders import Dictionary, TextAllowance
from rulekit.tables.kinds.classes import alike_notes, class_key, classes_of_keys
from rulekit.tables.kinds.inference import ColumnBuilder, KindChanged, assembled
from rulekit.tables.labels import (
    LabelledTable,
    check_weight,
    one_label,
    parse_cost,
    plain_values,
    times_of,
    unlabelled_note,
    with_exact_times,
    without_label,
)
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import Column, NumberColumn, place, take_column
from rulekit.tables.raw.delimited import ReadAgain
from rulekit.tables.raw.files import TableFile
from rulekit.tables.reading import open_table
from rulekit.tables.row_notes import near_label_notes
from rulekit.tables.table import Array, Budget, EncodedColumn, Memory, Store

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
    where = source.source or "table"
    if options.target is None:
        raise InputError("no label column is named", where=where, fix="name it as the target")
    options.check(source.names, source.source)
    if options.label_separator is not None and options.positive is None:
        why = "cells hold several labels, and none of them is asked for"
        raise InputError(why, where=place(source.source, options.target), fix="name it as the positive one")
    labels = options.label_columns()
    features = tuple(n for n in source.names if n not in options.dropped() and n not in labels)
    if not features:
        raise InputError("no column is left beside the target", where=where, fix="give features")
    if budget is not None and source.n_rows is not None:
        budget.require_rows(source.n_rows, source.source)
        store.require(source.n_rows * (5 * len(features) + 8))
    kept: Store | Memory = Memory() if budget is None else store
    allowed = TextAllowance() if budget is None else TextAllowance(budget.text_bytes)
    target, options = options.target, with_exact_times(options)
    while True:
        rows = _LabelledReading(source, kept, options, target, features, allowed, reading)
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
    features: tuple[str, ...]
    allowance: TextAllowance
    reading: Reading | None = None
    n_rows: int = 0
    target: Dictionary = field(init=False)
    group: Dictionary = field(init=False)
    weight: EncodedColumn = field(init=False)
    builders: dict[str, ColumnBuilder] = field(default_factory=dict)
    _dropped: list[Array] = field(default_factory=list)
    _tokens: tuple[str, ...] = field(init=False)
    _declared: dict[str, Feature] = field(init=False)

    def __post_init__(self) -> None:
        where, options = self.source.source, self.options
        self._tokens = options.missing_tokens(self.source.names).get(self.label, ())
        self._declared = options.features(self.source.names)
        self.target = Dictionary(self.label, self.store, self.allowance, where)
        self.group = Dictionary(options.group or "", self.store, self.allowance, where)
        self.weight = self.store.writer(np.float64)

    @property
    def kept_rows(self) -> int:
        return self.n_rows - sum(map(len, self._dropped))

    def read(self) -> None:
        """All blocks; raises ReadAgain where the source must be read in another way."""
        options, time = self.options, self.options.time_column
        kept = ({*options.label_columns()} | options.kept_texts()) - {options.weight or "", time or ""}
        timed = () if time is None else (time,)
        self.builders = {name: self._builder(name, reread=True) for name in (*self.features, *timed)}
        wanted = [n for n in (self.label, options.weight, options.group, *timed, *self.features) if n is not None]
        names = tuple(n for n in self.source.names if n in frozenset(wanted))
        passes = [(name,) for name in wanted] if self.source.by_column else [names]
        again: set[str] = set()
        for number, own in enumerate(passes):
            self._pass(own, kept, again, number / len(passes), 1 / len(passes))
            if number == 0 and self.source.by_column:
                self._note_dropped()
        if again:  # columns that are no numbers after all: their cells as they are written
            self.builders |= {name: self._builder(name, reread=False) for name in again}
            self._pass(tuple(sorted(again)), kept | again, set(), 1.0, 0.0)

    def _builder(self, name: str, *, reread: bool) -> ColumnBuilder:
        where = self.source.source
        return ColumnBuilder(self._declared[name], self.options, where, self.store, self.allowance, reread)

    def _pass(self, names: tuple[str, ...], kept: Collection[str], again: set[str], base: float, share: float) -> None:
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

    def _mask(self, columns: Mapping[str, Column], start: int, n_rows: int) -> Bools | None:
        """Which rows of a block have a label; None if all have."""
        if self.label in columns:
            labels, options = columns[self.label], self.options
            if options.label_separator is not None and options.positive is not None:
                labels = one_label(labels, class_key(options.positive), options.label_separator, self._tokens)
            missing = self.target.add(labels, self._tokens)
            self._dropped += [np.flatnonzero(missing) + start] if missing.any() else []
            return ~missing if missing.any() else None
        mask = np.ones(n_rows, dtype=bool)
        for rows in self._dropped:
            if rows[0] < start + n_rows and rows[-1] >= start:
                mask[rows[(rows >= start) & (rows < start + n_rows)] - start] = False
        return None if mask.all() else mask

    def _take(self, column: Column) -> None:
        where, feature = self.source.source, self._declared[column.name]
        if column.name == self.options.group:
            first_row = self.group.rows
            if feature.form:
                values = plain_values(replace(column, first_row=first_row), feature, where)
                column = NumberColumn(column.name, values)
            missing = self.group.add(column)
            if missing.any():
                at = place(where, column.name, first_row + int(np.argmax(missing)))
                raise InputError("the row has no group", where=at, fix="fill it in")
        elif column.name == self.options.weight:
            self.weight.add(plain_values(replace(column, first_row=self.weight.rows), feature, where))
        else:
            self.builders[column.name].add(column)

    def _note_dropped(self) -> tuple[str, ...]:
        count = sum(map(len, self._dropped))
        if not count:
            return ()
        first = np.concatenate(self._dropped[:6])[:6]
        where = place(self.source.source, self.label)
        return (unlabelled_note(first, count, self.n_rows, where, self.options.missing_target),)

    def labelled(self) -> LabelledTable:
        """The whole table beside its labels."""
        source, target, options = self.source.source, self.label, self.options
        if self.n_rows == 0:
            raise InputError("there is a header but no row", where=source, fix="give at least one row")
        dropped = self._note_dropped()
        keys, counts, place_of = self.target.ordered()
        if options.label_separator is not None:
            label = class_key(options.positive) if options.positive is not None else ""
            rows = dict(zip(keys, counts.tolist(), strict=True))
            if not (rows.get(label) and rows.get(without_label(label))):
                what = f"{'every' if rows.get(label) else 'no'} row has the label {label!r}"
                raise InputError(what, where=place(source, target), fix="name another label")
        class_of, classes, found_notes = classes_of_keys(
            keys,
            counts,
            target,
            source,
            as_text=target in options.categories() or self.target.listed,
            positive=options.positive,
            ordered=options.ordered,
        )
        cost = parse_cost(options.cost, len(classes))
        y = self._mapped(self.target, class_of[place_of], len(classes))
        weight = group = None
        if options.weight is not None:
            weight = check_weight(self.weight.read(), place(source, options.weight))
        if options.group is not None:
            groups, _, order = self.group.ordered()
            found_notes = (*found_notes, *alike_notes(groups, "groups"))
            group = self._mapped(self.group, order, len(order))
        time = times_of(self.builders.get(options.time_column or ""), options, self.kept_rows, source)
        decided = [self.builders.pop(name).encoded() for name in self.features]
        table = assembled(decided, self.kept_rows, source, self.source.notes())
        notes = (*dropped, *near_label_notes(table.features, table.arrays, y), *found_notes)
        return LabelledTable(table, y, classes, weight, group, cost, target, bool(options.ordered), notes, *time)

    def _mapped(self, keys: Dictionary, lookup: Ints, n: int) -> Array:
        """The number [n] below n of each row's key; beside columns on disk in as few bytes as can be."""
        dtype = np.int64 if isinstance(self.store, Memory) else np.min_scalar_type(max(0, n - 1))
        mapped = np.empty(self.kept_rows, dtype=dtype)
        done = 0
        for part in keys.numbers.parts():
            part = part[part >= 0]
            mapped[done : done + len(part)] = lookup[part]
            done += len(part)
        return mapped
