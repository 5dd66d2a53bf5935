"""Labelled tables: their classes in natural types and checks, and tables labelled with the classes of a model."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Floats, Ints, pl
from rulekit.errors import InputError
from rulekit.names import blanks_hint, suggestion
from rulekit.schema import Display, Feature, Label, Schema, require_column
from rulekit.tables.kinds.dates import parse_dates, parse_moments
from rulekit.tables.kinds.dress import dress_of, may_mean_missing, option
from rulekit.tables.kinds.encoding import encode, numeric_values
from rulekit.tables.kinds.inference import ColumnBuilder
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import (
    BLANKS,
    Codes,
    Column,
    LevelColumn,
    TextColumn,
    as_floats,
    canonical_key,
    factorize,
    place,
    take_column,
)
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Array, Store, Table

_MOST_FRACTIONS = 10
_MANY_CLASSES = 50
_FEW_ROWS = 10


def class_key(label: Label) -> str:
    """The text that names a class: `3` for 3 and 3.0, `true` for True, text as it stands but for these two."""
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, float | np.floating):
        return str(int(label)) if float(label).is_integer() else repr(float(label))
    return canonical_key(str(label))


def classes_of_keys(
    keys: list[str],
    counts: Ints,
    target: str,
    source: str,
    *,
    as_text: bool = False,
    positive: Label | None = None,
    ordered: Sequence[Label] = (),
) -> tuple[Ints, tuple[Label, ...], tuple[str, ...]]:
    """The index [keys] of the class that each key of a label column names, the classes in order, and notes.

    counts: rows per key [keys]; as_text: labels stay texts. Labels are bool, int, float or str: text is numbers or
    Booleans only if all of it is; a code with leading zeros (`007`) stays text. Order: as declared; else false before
    true, numbers by size, text by code point; of two classes the positive one is the second: `positive`, else the
    rarer. Raises InputError for a column of measurements, for fewer than two classes and an unknown name.
    """
    used, where = np.flatnonzero(counts), place(source, target)
    named = _natural([keys[i] for i in used], as_text)
    if not as_text and sum(isinstance(label, float) for label in named) and len(named) > _MOST_FRACTIONS:
        what = f"{len(named)} distinct fractional numbers (Unknown label type: continuous)"
        raise InputError(what, where=where, fix="a label names a class; cut the numbers into classes first")
    values = list(dict.fromkeys(named))  # "1" and "1.0" in one column are one
    if len(values) < 2:
        raise InputError(f"the only class is {values[0]!r}", where=where, fix="rows of at least two classes are needed")
    number = {label: i for i, label in enumerate(values)}
    places = np.array([number[label] for label in named], dtype=np.int64)
    rows = np.bincount(places, counts[used], len(values)).astype(np.int64)
    notes = alike_notes(named)
    notes += [f"target {target!r} has {len(named)} classes"] if len(named) > _MANY_CLASSES else []
    notes += few_rows_notes(values, rows)
    odd = [f"{v!r} ({n} rows)" for v, n in zip(values, rows, strict=True) if may_mean_missing(str(v))]
    if odd and positive is None and not ordered:  # who names one class of two knows the other
        what = f"{', '.join(odd)} is kept as a class; if it means missing, declare --missing {target}=TOKEN"
        notes.append(f"target {target!r}: {what}")
    if ordered:
        order = [_find(values, label, where) for label in ordered]
        left = [value for i, value in enumerate(values) if i not in order]
        if left or len(set(order)) < len(order):
            what = f"class {left[0]!r} is missing from the order" if left else "a class stands twice in the order"
            raise InputError(what, where=where, fix="name every class once, from low to high")
        if positive is not None:
            raise InputError("both an order and a positive class", where=where, fix="the order alone is enough")
    else:
        order = sorted(range(len(values)), key=lambda i: (isinstance(values[i], str), values[i]))
        if len(values) == 2:
            last = _find(values, positive, where) if positive is not None else min(order[::-1], key=rows.__getitem__)
            order = [i for i in order if i != last] + [last]
            if positive is None:
                notes.append(f"positive class is {values[last]!r}, the rarer ({rows[last]} of {rows.sum()} rows)")
        elif positive is not None:
            what = f"a positive class with {len(values)} classes"
            raise InputError(what, where=where, fix="leave it out: each class gets its rules")
    rank, lookup = np.empty(len(values), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(values))
    lookup[used] = rank[places]
    return lookup, tuple(values[i] for i in order), tuple(notes)


def alike_notes(labels: Sequence[Label], of: str = "labels") -> list[str]:
    """A note where labels, or names of groups, differ in case or blanks only: that makes them classes of their own."""
    same: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            same.setdefault(" ".join(label.casefold().split()), []).append(label)
    pairs = [" and ".join(map(repr, texts)) for texts in same.values() if len(texts) > 1]
    if not pairs:
        return []
    shown = ", ".join(pairs[:3]) + ", ..." * (len(pairs) > 3)
    apart = "are classes of their own" if of == "labels" else "stay apart"
    return [f"{of} that differ only in case or blanks {apart}: {shown}; write them alike"]


def few_rows_notes(labels: Sequence[Label], rows: npt.NDArray[Any]) -> list[str]:
    """A note where a class has so few rows that hardly a rule is learned from them; rows [K]: of each class."""
    few = [(label, int(n)) for label, n in zip(labels, rows, strict=True) if n < _FEW_ROWS]
    if not few or rows.sum() < 2 * _FEW_ROWS:
        return []
    shown = ", ".join(f"{label!r} has {n}" for label, n in few[:3]) + ", ..." * (len(few) > 3)
    return [f"of {int(rows.sum())} rows {shown}: too few to learn a rule from, or to measure one"]


def _natural(keys: list[str], as_text: bool) -> list[Label]:
    if as_text:
        return [canonical_key(key) for key in keys]
    bare = [key.strip(BLANKS) for key in keys]
    if all(key.lower() in ("true", "false") for key in bare):
        return [key.lower() == "true" for key in bare]
    try:
        numbers = [float(key) for key in bare]
    except ValueError:
        return list(keys)
    padded = any(len(k := key.lstrip("+-")) > 1 and k[0] == "0" and k[1].isdigit() for key in bare)
    if padded or not np.isfinite(numbers).all() or any("_" in key for key in keys):
        return list(keys)
    if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
        return [int(number) for number in numbers]
    if all(canonical_key(key).lstrip("+-").isdecimal() for key in bare):  # too long for a double and for model files
        return [canonical_key(key) for key in bare]
    return list(numbers)


def _find(values: list[Label], label: Label, where: str) -> int:
    keys = [class_key(value) for value in values]
    if class_key(label) not in keys:
        near = suggestion(str(label), [str(value) for value in values]).replace("columns are", "classes are")
        raise InputError(f"no class {label!r}", where=where, fix=near)
    return keys.index(class_key(label))


@dataclass(frozen=True, slots=True, eq=False)
class LabelledTable:
    """A table of features beside what is to be learned.

    y: int64 [n], index into `classes` (natural types; of two, the second is the positive one). weight: float64 [n],
    finite and not negative, or None. group: int64 [n], rows of one group belong in one fold, or None. cost: price of
    a false positive and of a false negative, or None. target: the name of the label column. time: float64 [n], when
    each row was, or None; time_shown: "date" and "datetime" where these are days and seconds. taught: a teacher gave
    the labels. Then truth: int64 [n], their own label as an index into `classes`, -1 for another one, or None;
    chances: the teacher's probabilities [n, K], or None.
    """

    table: Table
    y: Ints
    classes: tuple[Label, ...]
    weight: Floats | None = None
    group: Ints | None = None
    cost: tuple[float, float] | None = None
    target: str = "target"
    ordered: bool = False
    notes: tuple[str, ...] = ()
    time: Floats | None = None
    time_shown: Display = "plain"
    taught: bool = False
    truth: Ints | None = None
    chances: Floats | None = None

    def __len__(self) -> int:
        return self.table.n_rows

    @property
    def schema(self) -> Schema:
        """The schema of a model that is trained on this table."""
        return Schema(self.table.features, self.target, self.ordered)

    def take(self, rows: Array) -> LabelledTable:
        """The rows of an index array or Boolean mask."""
        columns = ("weight", "group", "time", "truth", "chances")
        given = {name: own for name in columns if (own := getattr(self, name)) is not None}
        taken = {name: own[rows] for name, own in given.items()}
        return replace(self, table=self.table.take(rows), y=self.y[rows], **taken)


def label_for_model(
    data: Any,
    schema: Schema,
    classes: Sequence[Label],
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    used: Collection[str] | None = None,
    all_words: bool = False,
) -> LabelledTable:
    """A file, or data in memory, encoded for a model, with its labels as indices into the model's classes.

    The label column is `options.target`, or else `schema.target`. all_words: texts are known by all their
    words, by which rows are recognised, and not by those of the model alone. Raises InputError for a label that is no
    class.
    """
    if isinstance(data, str | os.PathLike):
        options = replace(options, target=options.target or schema.target)
        labels = {*options.label_columns()}
        columns, texts = labels | {*(schema.names if used is None else used)}, labels - {options.weight, options.time}
        data = read_columns(data, options, columns=columns, keep_text=texts, schema=schema)
    raw = raw_table(data)
    target, time = options.target or schema.target, options.time_column
    for name in (target, options.weight, time):
        if name is not None:
            require_column(name, raw.known_names, raw.source)
    by_name, features = {column.name: column for column in raw.columns}, options.features(raw.known_names)
    tokens = features[target].missing_tokens
    if options.label_separator is not None:
        by_name[target] = one_label(by_name[target], class_key(classes[-1]), options.label_separator, tokens)
    keys, codes = factorize(by_name[target], tokens)
    n_rows, gaps, notes = raw.n_rows, np.flatnonzero(codes < 0), tuple[str, ...]()
    if len(gaps):
        where = place(raw.source, target)
        notes = (unlabelled_note(gaps[:6], len(gaps), n_rows, where, options.missing_target),)
        by_name = {name: take_column(column, codes >= 0) for name, column in by_name.items()}
        codes, n_rows = codes[codes >= 0], n_rows - len(gaps)
    index_of = {class_key(label): i for i, label in enumerate(classes)}
    y = np.array([index_of.get(class_key(key), -1) for key in keys], dtype=np.int64)[codes]
    if (y < 0).any():
        row = int(np.argmin(y))
        label, strange = keys[int(codes[row])], int((y < 0).sum())
        known = f"classes are {', '.join(map(repr, classes[:8]))}; {strange:,} of {len(y):,} rows have another label"
        fix = f"{known}: correct them, or evaluate without them by --missing LABEL --missing-target drop"
        fix = blanks_hint((label, known) for known in classes) or fix
        raise InputError(f"label {label!r} is no class of the model", where=place(raw.source, target, row), fix=fix)
    kept = replace(raw, columns=tuple(column for name, column in by_name.items() if name in schema), n_rows=n_rows)
    weight = builder = None
    if options.weight is not None:
        weight = plain_values(by_name[options.weight], features[options.weight], raw.source)
        weight = check_weight(weight, place(raw.source, options.weight))
    if time is not None:
        builder = ColumnBuilder(features[time], with_exact_times(options), raw.source, Store(in_memory=True))
        builder.add(by_name[time])
    times, table = times_of(builder, options, n_rows, raw.source), encode(kept, schema, used, all_words)
    return LabelledTable(table, y, tuple(classes), weight, None, None, target, schema.ordered_classes, notes, *times)


def unlabelled_note(first: Array, count: int, n_rows: int, where: str, missing_target: str) -> str:
    """One line on the rows that are dropped for want of a label, or InputError where they must not be.

    first: the numbers of the first ones (from 0, at most six); count: how many there are.
    """
    if count == n_rows:
        raise InputError("no row has a label", where=where, fix="name another target")
    if missing_target == "error":
        shown = ", ".join(str(row + 1) for row in first[:5]) + (", ..." if count > 5 else "")
        what = f"the label is missing in {count} of {n_rows} rows (data row {shown})"
        raise InputError(what, where=where, fix="fill it in, or drop these rows with --missing-target drop")
    return f"{count} of {n_rows} rows were dropped, since their label is missing"


def plain_values(column: Column, feature: Feature, source: str) -> Floats:
    """The numbers [n] of a column that is no feature, in the form that is declared of it.

    Raises InputError with the option that reads a form that is not declared.
    """
    if not isinstance(column, TextColumn):
        return numeric_values(column, feature, source)
    try:
        return numeric_values(replace(column, dressed=True), feature, source)
    except InputError as error:
        dress = dress_of(column.cells.unique().drop_nulls().sort().to_list(), wanted=True)
        if feature.form or dress is None or not dress.example:
            raise
        fix = f"{option('--type', column.name, dress.declared)} reads such cells"
        raise InputError(error.what, where=error.where, fix=fix) from None


Times = tuple[Floats | None, Display]
"""The time of each row, and how it is shown."""


def with_exact_times(options: ReadingOptions) -> ReadingOptions:
    """The options, where the column of times is kept in float64."""
    time = options.time_column
    return options if time is None else replace(options, precision={**options.precision, time: "float64"})


def times_of(builder: ColumnBuilder | None, options: ReadingOptions, n_rows: int, source: str) -> Times:
    """The times [n] of a column, or by the order of the rows.

    Raises InputError where the column holds no times, or not one for each row.
    """
    if builder is None:
        return None if options.time is None else np.arange(n_rows, dtype=np.float64), "plain"
    decided = builder.encoded()
    feature, values = decided.feature, decided.column.read()
    where, display = place(source, feature.name), feature.display
    if feature.kind == "categorical":  # ISO texts are times, whether or not they were declared so
        cells = pl.Series(feature.levels, dtype=pl.String)
        times, days = parse_moments(cells), parse_dates(cells)
        if not times.null_count():
            display = "datetime" if days.null_count() else "date"
            found = as_floats(times if days.null_count() else days)
            feature, values = replace(feature, kind="numeric", levels=()), np.array([np.nan, np.nan, *found])[values]
    if feature.kind != "numeric":
        dress = dress_of(feature.levels)
        read = dress.declared if dress is not None and dress.example else "date"
        fix = f"dates are read with {option('--type', feature.name, read)}, else give a column of numbers"
        raise InputError(f"the time column is {feature.kind}", where=where, fix=fix)
    missing = np.isnan(values)
    if missing.any():
        shown = ", ".join(str(row + 1) for row in np.flatnonzero(missing)[:5])
        why = f"the time is missing in {int(missing.sum())} of {len(values)} rows (data row {shown})"
        raise InputError(why, where=where, fix="fill it in, or leave these rows out")
    return values.astype(np.float64), display


def check_weight(weight: Floats, where: str = "weight") -> Floats:
    """The weights [n] if all are finite and none negative, and their sum positive; else raises InputError."""
    refuse_weight(weight, where)
    if not weight.sum() > 0.0:
        raise InputError("all weights are zero", where=where, fix="give some row a weight")
    return weight


def refuse_weight(weight: Floats, where: str, start: int = 0) -> None:
    """Raises InputError for a weight that is negative or not finite; start: the number of the first row."""
    bad = ~(np.isfinite(weight) & (weight >= 0.0))
    if bad.any():
        row = int(np.argmax(bad))
        what = f"weight {weight[row]} in data row {start + row + 1}"
        raise InputError(what, where=where, fix="weights are finite and not negative")


def parse_cost(cost: str | tuple[float, float] | None, n_classes: int = 2) -> tuple[float, float] | None:
    """The costs of a false positive and a false negative from "FP:FN"; raises InputError where they are no costs."""
    if cost is None:
        return None
    if n_classes != 2:
        raise InputError(f"costs with {n_classes} classes", fix="costs need two classes")
    try:
        false_positive, false_negative = map(float, cost.split(":") if isinstance(cost, str) else cost)
    except ValueError:
        raise InputError(f"cost {cost!r}", fix="write FP:FN, for example 1:5", field="cost") from None
    if not (0.0 < false_positive < np.inf and 0.0 < false_negative < np.inf):
        raise InputError(f"cost {cost!r}", fix="both are positive numbers, for example 1:5", field="cost")
    return false_positive, false_negative


def labels_of_cell(cell: str, separator: str) -> frozenset[str]:
    """The labels of a cell, without the spaces around them, as classes are named."""
    return frozenset(canonical_key(part) for part in map(str.strip, cell.split(separator)) if part)


def without_label(label: str) -> str:
    """The class of the rows that have not this label."""
    return f"not {label}"


def one_label(column: Column, label: str, separator: str, tokens: tuple[str, ...] = ()) -> LevelColumn:
    """Whether the cells [n] hold one label, as a column of two levels; a cell without any value holds none."""
    keys, codes = factorize(column, tokens)
    held = np.array([label in labels_of_cell(key, separator) for key in keys] + [False])
    found: Codes = held[codes].astype(np.int32)
    return LevelColumn(column.name, found, (without_label(label), label), first_row=column.first_row)


def label_counts(path: str | os.PathLike[str], options: ReadingOptions) -> dict[str, int]:
    """How many rows of a file have each label, the most frequent first.

    Raises InputError where the file has no such column, or no row has a label.
    """
    target, separator = options.target, options.label_separator
    if target is None or separator is None:
        raise InputError("no column of several labels is named", where=os.fspath(path), fix="name it as the target")
    raw = read_columns(path, replace(options, target=target), columns=(target,), keep_text=(target,))
    require_column(target, raw.known_names, raw.source, "target column")
    keys, codes = factorize(raw.columns[0], options.missing_tokens(raw.known_names).get(target, ()))
    rows = Counter[str]()
    for key, count in zip(keys, np.bincount(codes + 1, minlength=len(keys) + 1)[1:].tolist(), strict=True):
        rows.update(dict.fromkeys(labels_of_cell(key, separator), count))
    if not rows:
        raise InputError("no row has a label", where=place(raw.source, target), fix="name another target")
    return dict(sorted(rows.items(), key=lambda item: (-item[1], item[0])))
