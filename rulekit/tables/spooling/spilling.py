"""Labelled tables larger than memory: a file is read in blocks, and its encoded columns are kept on disk.

The table, its labels, weights, groups and notes are those that `rulekit.tables.labels.read_labelled` makes of the same
file in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.kinds.choice import Decided
from rulekit.tables.kinds.classes import classes_of_keys
from rulekit.tables.kinds.column_builder import ColumnBuilder, KindChanged
from rulekit.tables.kinds.conversion import numeric_values
from rulekit.tables.kinds.dictionary import Dictionary, TextAllowance
from rulekit.tables.kinds.inference import assembled
from rulekit.tables.labels import (
    LabelledTable,
    check_weight,
    label_column,
    parse_cost,
    unlabelled_note,
)
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import Column, column_place, place, take_column
from rulekit.tables.raw.delimited import ReadAgain
from rulekit.tables.reading import TableFile, open_table
from rulekit.tables.spooling.budget import Budget
from rulekit.tables.storage import Array, HeldColumn, Store, StoredColumn, Writer, arrays_of

Reading = Callable[[float], object]
"""Told of the share of the file that was read."""


def read_labelled_blocks(
    path: str | os.PathLike[str],
    options: ReadingOptions,
    budget: Budget,
    *,
    reading: Reading | None = None,
) -> LabelledTable:
    """`read_labelled` within a memory budget; raises InputError as that does, and where the budget is too small."""
    store = Store()
    source = open_table(path, options, store, budget)
    target = label_column(options, source.source)
    options.check(source.names, source.source)
    labels = options.label_columns()
    names = [n for n in source.names if n not in options.dropped() or n in labels]
    features = [n for n in names if n not in labels]
    if not features:
        raise InputError("no column is left beside the target", where=source.source or "table", fix="give features")
    if source.n_rows is not None:
        budget.require_rows(source.n_rows, source.source)
        store.require(source.n_rows * (5 * len(features) + 8))
    while True:
        spill = Spill(source, store, budget, options, target, tuple(names), tuple(features), reading)
        try:
            spill.read()
        except ReadAgain:
            continue
        budget.require_rows(spill.kept_rows, source.source)
        return spill.labelled()


@dataclass(slots=True, eq=False)
class Spill:
    """One reading of a file, column by column or block by block."""

    source: TableFile
    store: Store
    budget: Budget
    options: ReadingOptions
    label: str
    names: tuple[str, ...]
    features: tuple[str, ...]
    reading: Reading | None = None
    n_rows: int = 0
    target: Dictionary = field(init=False)
    group: Dictionary | None = None
    weight: Writer | None = None
    builders: dict[str, ColumnBuilder] = field(default_factory=dict)
    _dropped: list[Array] = field(default_factory=list)
    _allowance: TextAllowance = field(init=False)
    _tokens: dict[str, tuple[str, ...]] = field(init=False)

    def __post_init__(self) -> None:
        self._allowance = TextAllowance(self.budget.text_bytes)
        self._tokens = self.options.missing_tokens(self.source.names)
        where = self.source.source
        self.target = Dictionary(self.label, self.store, self._allowance, where)
        if self.options.group is not None:
            self.group = Dictionary(self.options.group, self.store, self._allowance, where)
        if self.options.weight is not None:
            self.weight = self.store.writer(np.float64)

    @property
    def kept_rows(self) -> int:
        return self.n_rows - sum(map(len, self._dropped))

    def read(self) -> None:
        """All blocks; raises ReadAgain where the source must be read in another way."""
        kept = ({*self.options.label_columns()} | self.options.categories()) - {self.options.weight or ""}
        features = self.options.features(self.source.names)
        self.builders = {name: self._spool(features[name], reread=True) for name in self.features}
        again: set[str] = set()
        passes: list[tuple[str, ...]] = [self.names]
        if self.source.by_column:
            first = [n for n in (self.label, self.options.weight, self.options.group) if n is not None]
            passes = [(name,) for name in (*first, *self.features)]
        for number, names in enumerate(passes):
            self._pass(names, kept, again, number / len(passes), 1 / len(passes))
            if number == 0 and self.source.by_column:
                self._note_dropped()
        if again:
            # a column that is no numbers after all: its cells as they are written
            for name in again:
                self.builders[name] = self._spool(features[name], reread=False)
            wanted = (*sorted(again), self.label) if self._dropped else tuple(sorted(again))
            self._again(wanted, kept | again)

    def _spool(self, feature: Feature, *, reread: bool) -> ColumnBuilder:
        return ColumnBuilder(feature, self.options, self.source.source, self.store, self._allowance, reread)

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
        missing = self.target.add(columns[self.label], self._tokens.get(self.label, ()))
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
        if column.name == self.options.group and self.group is not None:
            first_row = self.group.rows
            missing = self.group.add(column)
            if missing.any():
                where = place(self.source.source, first_row + int(np.argmax(missing)), column.name)
                raise InputError("the row has no group", where=where, fix="fill it in")
        elif column.name == self.options.weight and self.weight is not None:
            column = replace(column, first_row=self.weight.rows)
            feature = Feature(column.name, missing_tokens=self._tokens.get(column.name, ()))
            self.weight.add(numeric_values(column, feature, self.source.source))
        else:
            self.builders[column.name].add(column)

    def _note_dropped(self) -> tuple[str, ...]:
        count = sum(map(len, self._dropped))
        if not count:
            return ()
        first = np.concatenate(self._dropped[:6])[:6]
        where = column_place(self.source.source, self.label)
        return (unlabelled_note(first, count, self.n_rows, where, self.options.missing_target),)

    # The whole table -----------------------------------------------------------------------------------------------

    def labelled(self) -> LabelledTable:
        """The table on disk beside its labels."""
        where, target = self.source.source, self.label
        if self.n_rows == 0:
            raise InputError("there is a header but no row", where=where, fix="give at least one row")
        dropped = self._note_dropped()
        keys, counts, place_of = self.target.ordered()
        class_of, classes, told = classes_of_keys(
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
        y = _mapped(self.target.numbers(), class_of[place_of], self.kept_rows)
        weight = None
        if self.weight is not None and self.options.weight is not None:
            weight = check_weight(self.weight.column().read(), column_place(where, self.options.weight))
        group = None
        if self.group is not None:
            order = self.group.ordered()[2]
            group = _mapped(self.group.numbers(), order, self.kept_rows)
        decided, columns = zip(*(self._encoded(name) for name in self.features), strict=True)
        table = assembled(decided, arrays_of(columns), self.kept_rows, where, self.source.notes())
        notes = (*dropped, *told)
        return LabelledTable(table, y, classes, weight, group, cost, target, bool(self.options.ordered), notes)

    def _encoded(self, name: str) -> tuple[Decided, StoredColumn | HeldColumn]:
        return self.builders.pop(name).encoded()


def _mapped(numbers: StoredColumn | HeldColumn, lookup: npt.NDArray[np.int64], n_rows: int) -> Array:
    """The number [n] that each row's key stands for, as small as can be; rows without a key are left out."""
    mapped = np.empty(n_rows, dtype=np.min_scalar_type(int(lookup.max(initial=0))))
    done = 0
    for part in numbers.parts():
        part = part[part >= 0]
        mapped[done : done + len(part)] = lookup[part]
        done += len(part)
    return mapped
