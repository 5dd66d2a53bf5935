"""Parts of rows: what is made of all parts together is what `rulekit.tables.labelling.read_labelled` makes of one file.

    parts = parts_of(path, options)
    seen = [seen_in(raw_part(part, options), options, part.start) for part in parts]  # each where its rows are
    known = known_of(seen, options)
    rows = labelled(raw_part(parts[0], options), known, options, parts[0].start)

A part shows the columns by a few of its rows, chosen so that the builders of columns decide by the chosen rows of all
parts as they would by all rows; so nothing is decided here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints, pl
from rulekit.errors import InputError
from rulekit.schema import Feature, Label, Schema
from rulekit.tables.kinds.builders import DecidedColumn, Dictionary
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import ColumnBuilder, KindChanged, refuse_units
from rulekit.tables.labelling import classes_of
from rulekit.tables.labels import LabelledTable, check_weight, parse_cost, plain_values, refuse_weight, unlabelled_note
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import Column, RawTable, factorize, place, take_column
from rulekit.tables.raw.files import first_bytes
from rulekit.tables.raw.scanned import ParquetFile
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Budget, Store

MOST_TEXTS = Budget(1 << 30)
"""What the distinct texts of a part, and of all parts together, may take is a share of it."""
_SHOWN = 6


@dataclass(frozen=True, slots=True)
class FilePart:
    """A group of rows of a Parquet file; start: the number of its first row in the source, a file or a folder."""

    path: str
    group: int
    start: int
    rows: int
    source: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """What one part shows: how many rows it has, and how many with a label, and the columns by a few of its rows.

    names: of all columns of the source. columns: some rows of each, and for how many rows each of them stands where
    that counts. unlabelled: the numbers of the first rows without a label. weight: the largest one.
    """

    start: int
    rows: int
    kept: int
    source: str
    names: tuple[str, ...]
    columns: Mapping[str, tuple[Column, Ints | None]]
    unlabelled: Ints
    weight: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """What all parts have in common; class_of: by label as it is written the index into `classes`.

    rows: those with a label.
    """

    features: tuple[Feature, ...]
    classes: tuple[Label, ...]
    class_of: Mapping[str, int]
    rows: int
    target: str
    ordered: bool = False
    cost: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()

    @property
    def schema(self) -> Schema:
        """The schema of a model that is trained on the rows."""
        return Schema(self.features, self.target, self.ordered)


# The source ------------------------------------------------------------------------------------------------------


def parts_of(path: str | os.PathLike[str], options: ReadingOptions) -> tuple[FilePart, ...]:
    """The groups of rows of a Parquet file, or of a folder of such files in the order of their names.

    Raises InputError for other files, files of different columns, and options that an engine does not know.
    """
    first: ParquetFile | None = None
    parts: list[FilePart] = []
    for file in _files(Path(path)):
        opened = _opened(file)
        if first is None:
            refuse_options(options, opened.names, Path(path).name)
        first = first or opened
        _refuse_other_columns(first, opened)
        for group, rows in enumerate(opened.groups):
            start = parts[-1].start + parts[-1].rows if parts else 0
            parts += [FilePart(str(file), group, start, rows, Path(path).name)] if rows else []
    if not parts:
        raise InputError("there is a header but no row", where=Path(path).name, fix="give at least one row")
    return tuple(parts)


def refuse_options(options: ReadingOptions, names: Sequence[str], source: str) -> None:
    """Raises InputError for options that an engine does not know, or that do not fit the columns of the source."""
    for option in ("group", "time", "label_separator"):
        if getattr(options, option) is not None:
            what, fix = "an engine does not know it", "leave it out, or train in one process"
            raise InputError(what, where=f"--{option.replace('_', '-')}", fix=fix)
    if options.target is None:
        raise InputError("no label column is named", where=source, fix="name it as the target")
    options.check(names, source)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith((".", "_")))
    if not entries:
        raise InputError("a folder without a Parquet file", where=str(path), fix="give one with the rows")
    yield from entries


def _opened(path: Path) -> ParquetFile:
    if first_bytes(path, 4) != b"PAR1":
        what, fix = "an engine reads Parquet, and this is none", "write the rows as Parquet"
        raise InputError(what, where=path.name, fix=fix)
    return _opened_since(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _opened_since(path: Path, _changed: int) -> ParquetFile:
    """A file whose groups of rows are read, which is opened again when it was changed: a worker may outlive it."""
    return ParquetFile(path, 1)


def _refuse_other_columns(first: ParquetFile, other: ParquetFile) -> None:
    """Raises InputError where files differ; a column of nulls alone, which has no type of its own, fits any."""
    fix = "write all files with the same columns of the same types"
    for name in (*first.names, *other.names):
        mine, theirs = first.types.get(name), other.types.get(name)
        if mine != theirs and (mine is None or theirs is None or pl.Null not in (mine, theirs)):
            what = f"{theirs or 'no such column'} here, {mine or 'none'} in {first.source}"
            raise InputError(what, where=place(other.source, name), fix=fix)


def raw_part(part: Any, options: ReadingOptions) -> RawTable:
    """The raw columns that the options ask for: of a part of a file, or of a frame of pandas or polars."""
    dropped = options.dropped() - options.label_columns().keys()
    if not isinstance(part, FilePart):
        raw = raw_table(part[[name for name in part.columns if str(name) not in dropped]], "frame")
        return replace(raw, unread=tuple(str(name) for name in part.columns if str(name) in dropped))
    opened = _opened(Path(part.path))
    if opened.groups[part.group : part.group + 1] != (part.rows,):
        raise InputError("the file was changed while it was read", where=opened.source, fix="train again")
    raw = opened.group(part.group, [name for name in opened.names if name not in dropped])
    return replace(raw, source=part.source, unread=tuple(name for name in opened.names if name in dropped))


# What is seen and known ------------------------------------------------------------------------------------------


def seen_in(raw: RawTable, options: ReadingOptions, start: int = 0, budget: Budget = MOST_TEXTS) -> Seen:
    """What the rows of a part show; raises InputError as `read_labelled`, with the numbers of rows in the source."""
    refuse_options(options, raw.known_names, raw.source)
    declared, store = options.features(raw.known_names), Store(budget, in_memory=True)
    keys, label = Dictionary(options.target or "", store, raw.source), _label(raw, options)
    missing = keys.add(label, declared[label.name].missing_tokens)
    columns, weight = dict[str, tuple[Column, Ints | None]](), 0.0
    for column in _kept(raw, missing, start).columns:
        feature = declared[column.name]
        if column.name == label.name:
            rows, counts = keys.witnesses()
            columns[label.name] = take_column(label, rows), counts
        elif column.name == options.weight:
            weights = plain_values(column, feature, raw.source)
            refuse_weight(weights, place(raw.source, column.name), start)
            weight = float(weights.max(initial=0.0))
        else:
            builder = ColumnBuilder(feature, options, raw.source, store, start=start)
            builder.add(column)
            columns[column.name] = builder.witness(column)
    gaps = np.flatnonzero(missing)
    kept = raw.n_rows - len(gaps)
    return Seen(start, raw.n_rows, kept, raw.source, raw.known_names, columns, start + gaps[:_SHOWN], weight)


def _label(raw: RawTable, options: ReadingOptions) -> Column:
    return next(column for column in raw.columns if column.name == options.target)


def _kept(raw: RawTable, missing: Bools, start: int) -> RawTable:
    """The rows with a label."""
    columns = [take_column(column, ~missing) for column in raw.columns] if missing.any() else raw.columns
    placed = tuple(replace(column, first_row=start) for column in columns)
    return replace(raw, columns=placed, n_rows=raw.n_rows - int(missing.sum()))


def known_of(seen: Sequence[Seen], options: ReadingOptions, budget: Budget = MOST_TEXTS) -> Known:
    """What the rows of all parts are, by what each shows, in any order; raises InputError as `read_labelled`."""
    seen = sorted((each for each in seen if each.rows), key=lambda each: each.start)
    if not seen:
        raise InputError("there is a header but no row", fix="give at least one row")
    source, names, target = seen[0].source, seen[0].names, options.target or ""
    for each in seen:
        if each.columns.keys() != seen[0].columns.keys():
            name = min(each.columns.keys() ^ seen[0].columns.keys())
            raise InputError("not in every part", where=place(source, name), fix="give all parts the same columns")
    declared, store = options.features(names), Store(budget, in_memory=True)
    labels = Dictionary(target, store, source)
    for each in seen:
        labels.add(each.columns[target][0], declared[target].missing_tokens, each.columns[target][1])
    n_rows, kept = sum(each.rows for each in seen), sum(each.kept for each in seen)
    notes: tuple[str, ...] = ()
    if gaps := n_rows - kept:
        first = np.concatenate([each.unlabelled for each in seen])[:_SHOWN]
        notes = (unlabelled_note(first, gaps, n_rows, place(source, target), options.missing_target),)
    class_of, classes, found = classes_of(labels, options)
    if options.weight is not None:
        check_weight(np.array([each.weight for each in seen]), place(source, options.weight))
    features = [name for name in seen[0].columns if name != target]
    if not features:
        raise InputError("no column is left beside the target", where=source, fix="give features")
    builders = [ColumnBuilder(declared[name], options, source, store, reread=True) for name in features]
    decided = [_decided(builder, [each.columns[builder.feature.name] for each in seen]) for builder in builders]
    found_features = tuple(column.feature for column in decided)
    refuse_units(found_features, source)
    return Known(
        features=found_features,
        classes=classes,
        class_of=dict(zip(labels.number_of, class_of.tolist(), strict=True)),
        rows=kept,
        target=target,
        ordered=bool(options.ordered),
        cost=parse_cost(options.cost, len(classes)),
        notes=(*notes, *(note for column in decided for note in column.notes), *found),
    )


def _decided(builder: ColumnBuilder, witnesses: Sequence[tuple[Column, Ints | None]]) -> DecidedColumn:
    """A column by the rows that show it; raises InputError, without a number of a row, which is not known here."""
    where, name = place(builder.source, builder.feature.name), builder.feature.name
    try:
        for column, counts in witnesses:
            builder.add(column, counts)
        decided = builder.encoded()
    except KindChanged:
        what, fix = "numbers in one part of the rows, texts in another", "give the column one type"
        raise InputError(what, where=where, fix=fix) from None
    except InputError as error:
        raise InputError(error.what, where=where, fix=error.fix) from None
    if decided.feature.kind == "text":
        what, fix = "an engine does not learn from texts", f"--ignore {name}, or --type {name}=categorical"
        raise InputError(what, where=where, fix=fix)
    return decided


def labelled(raw: RawTable, known: Known, options: ReadingOptions, start: int = 0) -> LabelledTable:
    """The rows of a part that have a label, as they stand in the table of all rows."""
    declared = options.features(raw.known_names)
    keys, codes = factorize(_label(raw, options), declared[known.target].missing_tokens)
    if strange := [key for key in keys if key not in known.class_of]:
        what = f"a label {strange[0]!r} that was not there before"
        raise InputError(what, where=place(raw.source, known.target), fix="train again")
    y = np.array([known.class_of[key] for key in keys], dtype=np.int64)[codes[codes >= 0]]
    kept, weight = _kept(raw, codes < 0, start), None
    if options.weight is not None:
        column = next(column for column in kept.columns if column.name == options.weight)
        weight = plain_values(column, declared[options.weight], raw.source)
    table = encode(kept, known.schema)
    return LabelledTable(table, y, known.classes, weight, None, known.cost, known.target, known.ordered)
