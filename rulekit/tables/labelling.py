"""Rows to learn from: a table with its labels, weights and groups, in memory or, within a budget, on disk.

A file comes whole, as one block, or in blocks of rows or columns; what is in memory already is one block. The table,
its labels, weights, groups and notes are the same either way.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Ints
from rulekit.errors import InputError
from rulekit.names import column_title
from rulekit.schema import FIRST_LEVEL_CODE, Feature, Label
from rulekit.tables.kinds.builders import Dictionary
from rulekit.tables.kinds.dress import quoted_word
from rulekit.tables.kinds.inference import ColumnBuilder, KindChanged, assembled
from rulekit.tables.labels import (
    LabelledTable,
    alike_notes,
    check_weight,
    class_key,
    classes_of_keys,
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
from rulekit.tables.table import Array, Budget, EncodedColumn, Store, held_columns

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
    store = Store(budget, in_memory=budget is None)
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
    target, options = options.target, with_exact_times(options)
    while True:
        rows = _LabelledReading(source, store, options, target, features, reading)
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
    store: Store
    options: ReadingOptions
    label: str
    features: tuple[str, ...]
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
        self.target = Dictionary(self.label, self.store, where)
        self.group = Dictionary(options.group or "", self.store, where)
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
        return ColumnBuilder(self._declared[name], self.options, where, self.store, reread)

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
        if options.label_separator is not None:
            label = class_key(options.positive) if options.positive is not None else ""
            rows = dict(zip(self.target.number_of, self.target.counts.tolist(), strict=True))
            if not (rows.get(label) and rows.get(without_label(label))):
                what = f"{'every' if rows.get(label) else 'no'} row has the label {label!r}"
                raise InputError(what, where=place(source, target), fix="name another label")
        place_of, classes, found_notes = classes_of(self.target, options)
        cost = parse_cost(options.cost, len(classes))
        y = self._mapped(self.target, place_of, len(classes))
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
        dtype = np.int64 if self.store.in_memory else np.min_scalar_type(max(0, n - 1))
        mapped = np.empty(self.kept_rows, dtype=dtype)
        done = 0
        for part in keys.numbers.parts():
            part = part[part >= 0]
            mapped[done : done + len(part)] = lookup[part]
            done += len(part)
        return mapped


def classes_of(labels: Dictionary, options: ReadingOptions) -> tuple[Ints, tuple[Label, ...], tuple[str, ...]]:
    """The index [labels] of the class that each label by number names, the classes in order, and notes."""
    keys, counts, place_of = labels.ordered()
    class_of, classes, notes = classes_of_keys(
        keys,
        counts,
        labels.name,
        labels.source,
        as_text=labels.name in options.categories() or labels.listed,
        positive=options.positive,
        ordered=options.ordered,
    )
    return class_of[place_of], classes, notes


_FEWEST, _MOST, _COLUMNS = 100, 50_000, 200
_DEVIATIONS = 6.0
_EXCESS, _JOINS = 0.1, 20
_SORTED = 10  # distinct values of a column in whose order rows stand


def order_note(rows: LabelledTable) -> str | None:
    """One line that names --time, where the order of the rows (the first 50,000) tells something; else None."""
    n = min(len(rows), _MOST)
    if n < _FEWEST or rows.time is not None or rows.group is not None:
        return None
    label = rows.y[:n]
    changes = int(np.count_nonzero(np.diff(label)))
    if changes < len(np.unique(label)):
        return f"the rows are sorted by {column_title(rows.target)}: their order is no order of time"
    numbers = [
        (feature.name, np.asarray(array[:n]))
        for feature, array in list(zip(rows.table.features, rows.table.arrays, strict=True))[:_COLUMNS]
        if feature.kind != "text" and len(feature.levels) != 1
    ]
    along = next((name for name, values in numbers if _is_sorted(values)), None)
    alike = [] if _alike(label) == 0.0 else [rows.target]
    alike += [name for name, values in numbers if name != along and _correlated(values)]
    if not alike:
        return None
    named = ", ".join(map(column_title, alike[:3])) + (f" and {len(alike) - 3} more" if len(alike) > 3 else "")
    why = f"neighbouring rows are alike in {named}, more than by chance"
    if along is not None:
        return f"{why}, and the rows are in the order of {column_title(along)}; if that is time, give --time {along}"
    return (
        f"{why}; if their order is one of time, give --time COL or --time rows, if they are of one group, --group COL"
    )


def _alike(codes: npt.NDArray[Any]) -> float:
    """How much more often neighbours have one code than by chance, from 0 (not shown) to 1."""
    n, counts = float(len(codes)), np.bincount(codes).astype(np.float64)
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    runs = 1.0 + float(np.count_nonzero(np.diff(codes)))
    mean = 1.0 + n - squares / n
    variance = (squares * (squares + n * (n + 1.0)) - 2.0 * n * cubes - n**3) / (n**2 * (n - 1.0))
    excess = (mean - runs) / max(mean - 1.0, 1.0)
    shown = mean - runs >= max(_DEVIATIONS * np.sqrt(max(variance, 0.0)), _JOINS)
    return excess if shown and excess >= _EXCESS else 0.0


def _correlated(values: npt.NDArray[Any]) -> bool:
    """Whether neighbours are alike in a column: numbers, or codes of a category."""
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        distinct, rank, counts = np.unique(known, return_inverse=True, return_counts=True)
        if len(known) < _FEWEST or len(distinct) < 2:
            return False
        place = (np.cumsum(counts) - counts / 2.0)[rank]
        place -= place.mean()
        correlation = float((place[1:] * place[:-1]).sum() / (place**2).sum())
        return correlation >= max(2.0 * _EXCESS, _DEVIATIONS / float(np.sqrt(len(known))))
    return _alike(values) >= 2.0 * _EXCESS


def _is_sorted(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind != "f" or np.isnan(values).any():
        return False
    steps = np.diff(values)
    return bool(np.all(steps >= 0) or np.all(steps <= 0)) and len(np.unique(values)) >= _SORTED


ERROR = 0.001
_SAMPLE = 20_000
_FEWEST_ROWS = 20
_FEWEST_OF_A_CLASS = 10
_ROWS_A_VALUE = 5
_FEW_VALUES = 20
_MOST_NAMED = 3


def near_label_notes(features: Sequence[Feature], arrays: Sequence[Array], y: npt.NDArray[np.integer]) -> list[str]:
    """A note where one column, by its levels or one threshold, is wrong on at most .1 % of the rows; y [n]: classes.

    Of many rows some are looked at, evenly spread. Says nothing where a class has fewer than ten rows.
    """
    step = max(1, len(y) // _SAMPLE)
    labels = np.asarray(y[::step], dtype=np.int64)
    sums = np.bincount(labels)
    if len(labels) < _FEWEST_ROWS or np.sort(sums)[-2:][0] < _FEWEST_OF_A_CLASS:
        return []
    told = []
    for feature, column in zip(features, held_columns(arrays), strict=True):
        if feature.kind == "text" or feature.role != "use":
            continue
        cells = (column.read() if hasattr(column, "read") else column)[::step]
        wrong = _wrong(cells, labels, int(feature.kind == "categorical"))
        if wrong <= ERROR * len(labels) and len(labels) - int(sums.max()) > 10 * wrong:
            told.append((feature.name, wrong))
    if not told:
        return []
    name, wrong = told[0]
    shown = ", ".join(repr(name) for name, _ in told[:_MOST_NAMED]) + ", ..." * (len(told) > _MOST_NAMED)
    many = len(told) > 1
    return [
        f"column{'s' * many} {shown} {'each tell' if many else 'tells'} the label alone ({wrong} of {len(labels)} rows "
        f"wrong): known before the decision? if not, --ignore {quoted_word(name)}"
    ]


def _wrong(cells: Array, labels: Ints, categorical: int) -> int:
    """The rows on which the best answer by value, or by one threshold between two classes, is wrong."""
    missing = cells < FIRST_LEVEL_CODE if categorical else np.isnan(cells)
    known, classes = cells[~missing], labels[~missing]
    of_missing = np.bincount(labels[missing], minlength=1)
    wrong = int(of_missing.sum() - of_missing.max())
    values, places = np.unique(known, return_inverse=True)
    n_classes = int(labels.max()) + 1
    if len(values) <= max(_FEW_VALUES, n_classes) and _ROWS_A_VALUE * len(values) <= len(known):
        table = np.bincount(places * n_classes + classes, minlength=len(values) * n_classes).reshape(-1, n_classes)
        return wrong + int(table.sum() - table.max(axis=1).sum())
    if categorical or n_classes != 2:
        return len(labels)
    # rows of the second class at or below each value, less those of the first: the best cut is at either extreme
    balance = np.cumsum(np.bincount(places, np.where(classes == 1, 1.0, -1.0), len(values)))
    ones, zeros = int(classes.sum()), int(len(classes) - classes.sum())
    return wrong + int(min(zeros + min(balance.min(), 0.0), ones - max(balance.max(), 0.0)))
