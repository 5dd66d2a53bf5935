"""Inference: from raw columns in memory to a typed, encoded table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.kinds.builders import TextAllowance
from rulekit.tables.kinds.choice import DecidedFeature
from rulekit.tables.kinds.column_builder import ColumnBuilder
from rulekit.tables.kinds.hints import hints_of, notes_of
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import RawTable, column_place
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Array, Memory, Table, arrays_of


def infer(data: Any, options: ReadingOptions = DEFAULT_OPTIONS) -> Table:
    """A typed table from an array [n, d] (columns x0, x1, ...), a pandas or polars frame, a mapping of columns, a
    sequence of mappings, or a Table, which comes back as it is.

    Raises InputError naming row and column.
    """
    if not isinstance(data, Table):
        return infer_columns(raw_table(data), options)
    if options != DEFAULT_OPTIONS:
        raise InputError(
            "the columns of a Table are typed already", where=data.source, fix="give the options to its reader"
        )
    return data


def _check_units(features: Sequence[Feature], source: str) -> None:
    """Raises InputError for a unit of what has none."""
    for feature in features:
        if feature.unit and (feature.kind != "numeric" or is_dated(feature)):
            what = "dates" if feature.kind == "numeric" else f"a {feature.kind} column"
            where = column_place(source, feature.name)
            raise InputError(f"{feature.unit!r} as the unit of {what}", where=where, fix="only numbers have a unit")


def infer_columns(raw: RawTable, options: ReadingOptions = DEFAULT_OPTIONS) -> Table:
    """A typed table from raw columns; raises InputError if there is no row or column, or an option fails."""
    options.check(raw.known_names, raw.source)
    _require_rows(raw)
    dropped, features, memory = options.dropped(), options.features(raw.known_names), Memory()
    allowance = TextAllowance()
    decided, columns = [], []
    for column in raw.columns:
        if column.name not in dropped:
            builder = ColumnBuilder(features[column.name], options, raw.source, memory, allowance)
            builder.add(column)
            what, encoded = builder.encoded()
            decided.append(what)
            columns.append(encoded)
    if not decided:
        raise InputError("no column is left", where=raw.source or "table", fix="ignore fewer columns")
    return assembled(decided, arrays_of(columns), raw.n_rows, raw.source, raw.notes)


def assembled(
    decided: Sequence[DecidedFeature], arrays: Sequence[Array], n_rows: int, source: str, notes: Sequence[str]
) -> Table:
    """A table of decided columns; `notes` are those of the reader. Raises InputError for a unit of what has none."""
    features = tuple(d.feature for d in decided)
    _check_units(features, source)
    merged = {d.feature.name: d.merged for d in decided if d.merged}
    hints = hints_of(features, arrays)
    dressed = {name for name, hint in hints.items() if hint.look == "dressed"}
    suspects = suspects_note([d for d in decided if d.feature.name not in dressed])
    own = (*(note for d in decided for note in d.notes), *suspects, *_merged_note(merged))
    return Table(features, arrays, n_rows, source, (*notes, *notes_of(hints, own)), merged)


def _require_rows(raw: RawTable) -> None:
    where = raw.source or "table"
    if not raw.columns:
        raise InputError(
            f"0 feature(s) (shape=({raw.n_rows}, 0)) while a minimum of 1 is required", where=where, fix="give columns"
        )
    if raw.n_rows == 0:
        raise InputError("0 sample(s): there is a header but no row", where=where, fix="give at least one row")


def suspects_note(decided: Sequence[DecidedFeature]) -> list[str]:
    """One line on the levels that may mean missing, if there are any."""
    suspects = [suspect for d in decided for suspect in d.suspects]
    if not suspects:
        return []
    shown = ", ".join(suspects[:6]) + (f" and {len(suspects) - 6} more" if len(suspects) > 6 else "")
    return [f"levels that may mean missing: {shown}; if they do, declare --missing COL=TOKEN"]


def _merged_note(merged: dict[str, int]) -> list[str]:
    if not merged:
        return []
    shown = ", ".join(f"{name} ({count})" for name, count in list(merged.items())[:4])
    more = f" and {len(merged) - 4} more columns" if len(merged) > 4 else ""
    return [f"rounding to float32 merged distinct values of {shown}{more}; --width COL=float64 keeps them apart"]
