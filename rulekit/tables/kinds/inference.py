"""Inference: from raw columns to typed, encoded ones, by the defaults that docs/command.md lists.

What a column is taken for: see rulekit.tables.kinds.choice. Missing: the empty cell, NaN, None and what the user
declares; other likely tokens are reported in the notes, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Display, Feature
from rulekit.tables.kinds.choice import (
    LIKELY_NUMBERS,
    Decided,
    decide_levels,
    decide_numbers,
    is_boolean,
    ranks_of_keys,
    read_keys,
)
from rulekit.tables.kinds.conversion import boolean_values, numeric_values
from rulekit.tables.kinds.precision import Width, choose_width
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import (
    SECONDS_PER_DAY,
    Codes,
    Column,
    LevelColumn,
    NumberColumn,
    RawTable,
    TextColumn,
    blank_tokens,
    column_place,
    factorize,
    narrow_values,
    number_values,
    place,
    refuse_large_integers,
)
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Array, Table, encoded_dtype


@dataclass(frozen=True, slots=True, eq=False)
class _Typed:
    """One encoded column, with what was decided about it."""

    decided: Decided
    array: Array

    @property
    def feature(self) -> Feature:
        return self.decided.feature


def infer(
    data: Any,
    options: ReadingOptions = DEFAULT_OPTIONS,
) -> Table:
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
    dropped, features = options.dropped(), options.features(raw.known_names)
    typed = [_type_column(c, features[c.name], raw.source, options) for c in raw.columns if c.name not in dropped]
    if not typed:
        raise InputError("no column is left", where=raw.source or "table", fix="ignore fewer columns")
    return assembled([t.decided for t in typed], tuple(t.array for t in typed), raw.n_rows, raw.source, raw.notes)


def assembled(
    decided: Sequence[Decided], arrays: Sequence[Array], n_rows: int, source: str, notes: Sequence[str]
) -> Table:
    """A table of decided columns; `notes` are those of the reader. Raises InputError for a unit of what has none."""
    _check_units([d.feature for d in decided], source)
    merged = {d.feature.name: d.merged for d in decided if d.merged}
    told = (*notes, *(note for d in decided for note in d.notes), *suspects_note(decided), *_merged_note(merged))
    return Table(tuple(d.feature for d in decided), arrays, n_rows, source, told, merged)


def _require_rows(raw: RawTable) -> None:
    where = raw.source or "table"
    if not raw.columns:
        raise InputError(
            f"0 feature(s) (shape=({raw.n_rows}, 0)) while a minimum of 1 is required", where=where, fix="give columns"
        )
    if raw.n_rows == 0:
        raise InputError("0 sample(s): there is a header but no row", where=where, fix="give at least one row")


def suspects_note(decided: Sequence[Decided]) -> list[str]:
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
    return [f"rounding to float32 merged distinct values of {shown}{more}; --precision COL=float64 keeps them apart"]


def _type_column(column: Column, feature: Feature, source: str, options: ReadingOptions) -> _Typed:
    kind, tokens = options.types.get(feature.name, ""), feature.missing_tokens
    if isinstance(column, TextColumn):
        column = blank_tokens(column, tokens)
    width = options.precision.get(feature.name)
    if kind.startswith("ordered:"):
        return _ordered(column, declared_levels(feature, kind), source)
    if kind == "categorical" or (not kind and isinstance(column, LevelColumn)):
        return _categorical(column, feature)
    if kind == "boolean":
        return _numbers(column, boolean_values(column, feature, source), replace(feature, kind="boolean"))
    if kind in ("date", "datetime", "money"):
        display = cast(Display, kind)
        shown = replace(feature, display=display)
        return _numbers(column, numeric_values(column, shown, source), feature, display, width)
    if kind == "numeric":
        return _numbers(column, numeric_values(column, feature, source), feature, width=width)
    if isinstance(column, TextColumn):
        return _infer_text(column, feature, source, width)
    assert isinstance(column, NumberColumn)
    if not tokens and width != "float64" and _is_encoded(column):
        decided = decide_numbers(feature, "plain", Width("float32", integral=False), {}, time=False)
        return _Typed(decided, column.values)
    narrow = narrow_values(column) if not tokens and width != "float64" else None
    values = number_values(column, tokens) if narrow is None else narrow
    refuse_large_integers(column, values, source)
    if column.time:
        whole = not np.any(np.isfinite(values) & (np.mod(values, SECONDS_PER_DAY) != 0.0))
        days = values / SECONDS_PER_DAY
        return _numbers(column, days if whole else values, feature, "date" if whole else "datetime")
    if is_boolean(column, values):
        feature = replace(feature, kind="boolean")
    return _numbers(column, values, feature, width=width)


def _is_encoded(column: NumberColumn) -> bool:
    """Whether the numbers are plainly no integers and float32 already: so they need not be copied."""
    values = column.values
    if values.dtype != np.float32 or column.missing is not None or column.time:
        return False
    head = values[:64]
    with np.errstate(invalid="ignore"):
        fractions = np.any(np.isfinite(head) & (np.rint(head) != head))
    return bool(fractions)


def declared_levels(feature: Feature, kind: str) -> Feature:
    """The feature with the levels of a declaration `ordered:low,mid,high`; raises InputError for an empty level."""
    levels = tuple(level.strip() for level in kind.removeprefix("ordered:").split(","))
    if "" in levels:
        raise InputError(
            f"an empty level in {kind!r}", where=f"type of column {feature.name!r}", fix="ordered:low,mid,high"
        )
    return replace(feature, kind="categorical", levels=levels, ordered=True)


def _infer_text(column: TextColumn, feature: Feature, source: str, width: str | None) -> _Typed:
    """Kind of a text column, judged by its distinct cells."""
    keys, codes = factorize(column)
    counts = np.bincount(codes + 1, minlength=len(keys) + 1)[1:]
    reading = read_keys(feature, keys, counts, column.decimal)
    if reading.lookup is not None:
        return _Typed(reading.decided, _coded(codes, reading.lookup))
    assert reading.values is not None
    values = np.append(reading.values, np.nan)[codes]
    refuse_large_integers(column, values, source)
    return _numbers(column, values, reading.decided.feature, width=width)


def _numbers(
    column: Column, values: Array, feature: Feature, display: Display = "plain", width: str | None = None
) -> _Typed:
    """Encode numbers (NaN is missing) as the numeric or Boolean feature."""
    if feature.kind == "boolean":
        return _Typed(Decided(feature), values.astype(np.float32))
    chosen = None if np.isnan(values).all() else choose_width(values, width)
    integral = chosen is not None and chosen.integral
    likely = {number: int(np.count_nonzero(values == number)) for number in LIKELY_NUMBERS} if integral else {}
    time = isinstance(column, NumberColumn) and bool(column.time)
    decided = decide_numbers(feature, display, chosen, likely, time)
    with np.errstate(over="ignore"):
        array = (values + 0.0).astype(encoded_dtype(decided.feature))  # minus zero is zero
    return _Typed(decided, array)


def _categorical(column: Column, feature: Feature) -> _Typed:
    keys, codes = factorize(column, feature.missing_tokens)
    counts = np.bincount(codes + 1, minlength=len(keys) + 1)[1:]
    ordered = isinstance(column, LevelColumn) and column.ordered
    listed = isinstance(column, LevelColumn)
    decided, lookup = decide_levels(feature, keys, counts, listed=listed, ordered=ordered)
    return _Typed(decided, _coded(codes, lookup))


def _ordered(column: Column, feature: Feature, source: str) -> _Typed:
    keys, codes = factorize(column, feature.missing_tokens)
    found = ranks_of_keys(feature, keys)
    for unknown in np.flatnonzero(found < 0).tolist():
        rows = np.flatnonzero(codes == unknown)
        if len(rows):
            raise unknown_level(keys[unknown], feature, source, int(rows[0]))
    return _Typed(Decided(feature), _coded(codes, found))


def unknown_level(key: str, feature: Feature, source: str, row: int) -> InputError:
    """The refusal of a level that was not declared."""
    return InputError(
        f"level {key!r} is not among the declared {', '.join(feature.levels)}",
        where=place(source, row, feature.name),
        fix="add it to the order, or declare it missing",
    )


def _coded(codes: Codes, lookup: Array) -> Codes:
    """Codes of the schema (0 missing, 2.. levels) from key indices (-1 missing) through `lookup`."""
    return np.asarray(schema_codes(lookup)[codes], dtype=np.int32)


def schema_codes(lookup: Array) -> Codes:
    """The code of each key from its position among the levels; the last, for index -1, is missing."""
    return np.append(lookup + FIRST_LEVEL_CODE, MISSING_CODE).astype(np.int32)
