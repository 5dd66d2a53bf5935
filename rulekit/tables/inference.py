"""Inference: from raw columns to typed, encoded ones, by the defaults of the design (section 7).

Boolean: bools, true/false text in any case, numbers that are all 0 or 1. Numeric: numbers and text that is all
numbers. Categorical: text with at least one cell that is no number. Missing: the empty cell, NaN, None and what the
user declares; other likely tokens are reported in the notes, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.schema import FIRST_LEVEL_CODE, Display, Feature
from rulekit.tables.cells import blank_numbers, boolean_values, numeric_values
from rulekit.tables.columns import (
    SECONDS_PER_DAY,
    Codes,
    Column,
    Floats,
    LevelColumn,
    NumberColumn,
    RawTable,
    TextColumn,
    as_floats,
    blank_tokens,
    canonical_key,
    factorize,
    natural_order,
    number_values,
    parse_booleans,
    parse_dates,
    parse_numbers,
    place,
    refuse_large_integers,
)
from rulekit.tables.declarations import Declarations, Missing
from rulekit.tables.precision import choose_width
from rulekit.tables.sources import raw_table
from rulekit.tables.table import Array, Table, encoded_dtype

LIKELY_TOKENS = frozenset(
    ["?", "-", "--", ".", "na", "n/a", "n.a.", "#n/a", "#null!", "<na>", "nan", "null", "nil", "none", "unknown"]
) | {"missing", "undefined", "(blank)"}
LIKELY_NUMBERS = (-999.0, -9999.0, -99999.0, -999999.0)
NEARLY_ALL = 0.95


@dataclass(frozen=True, slots=True)
class _Typed:
    """One encoded column, with what a user should hear about it."""

    feature: Feature
    array: Array
    notes: tuple[str, ...] = ()
    merged: int = 0
    suspects: tuple[str, ...] = ()


def infer(
    data: Any,
    *,
    types: Mapping[str, str] | None = None,
    missing: Missing = (),
    ignore: Sequence[str] = (),
    precision: Mapping[str, str] | None = None,
    unseen: Mapping[str, str] | None = None,
) -> Table:
    """A typed table from an array [n, d] (columns x0, x1, ...), a pandas or polars frame, a mapping of columns, a
    sequence of mappings, or a Table, which comes back as it is if nothing is declared.

    types: column to numeric, boolean, categorical, date, `ordered:low,mid,high`, ignore. missing: tokens that mean
    missing, for all columns, or "COL=TOKEN", or a mapping. precision: column to float32 or float64. unseen: column to
    what a level never seen is taken for: unseen, missing, error. Raises InputError naming row and column.
    """
    declared = Declarations(types or {}, missing, ignore, precision or {}, unseen or {})
    if isinstance(data, Table):
        return _redeclare(data, declared)
    return infer_columns(raw_table(data), declared)


def _redeclare(table: Table, declared: Declarations) -> Table:
    """The table with new readings of the columns that are declared anew, and all others as they were."""
    if declared == Declarations():
        return table
    declared.check(table.names, table.source)
    fresh = {*declared.types, *declared.precision, *declared.unseen}
    fresh |= {name for name in table.names if declared.tokens(name, table.names)}
    dropped = declared.dropped()
    kept = tuple(name for name in table.names if name not in dropped)
    raw = raw_table(table)
    typed = {c.name: _type_column(c, raw, declared) for c in raw.columns if c.name in fresh - dropped}
    old = table.select(kept)
    features = tuple(typed[f.name].feature if f.name in typed else f for f in old.features)
    arrays = tuple(typed[n].array if n in typed else a for n, a in zip(kept, old.arrays, strict=True))
    fresh_notes = [note for t in typed.values() for note in t.notes]
    notes = (*old.notes, *fresh_notes, *_suspects_note(list(typed.values())))
    merged = {**old.merged, **{name: t.merged for name, t in typed.items() if t.merged}}
    return Table(features, arrays, table.n_rows, table.source, notes, merged, table.interactions)


def infer_columns(raw: RawTable, declared: Declarations | None = None) -> Table:
    """A typed table from raw columns; raises InputError if there is no row or column, or a declaration fails."""
    declared = declared or Declarations()
    declared.check(raw.known_names, raw.source)
    _require_rows(raw)
    dropped = declared.dropped()
    typed = [_type_column(c, raw, declared) for c in raw.columns if c.name not in dropped]
    if not typed:
        raise InputError("no column is left", where=raw.source or "table", fix="ignore fewer columns")
    merged = {t.feature.name: t.merged for t in typed if t.merged}
    notes = [*raw.notes, *(note for t in typed for note in t.notes), *_suspects_note(typed), *_merged_note(merged)]
    arrays = tuple(t.array for t in typed)
    return Table(tuple(t.feature for t in typed), arrays, raw.n_rows, raw.source, tuple(notes), merged)


def _require_rows(raw: RawTable) -> None:
    where = raw.source or "table"
    if not raw.columns:
        raise InputError(
            f"0 feature(s) (shape=({raw.n_rows}, 0)) while a minimum of 1 is required", where=where, fix="give columns"
        )
    if raw.n_rows == 0:
        raise InputError("0 sample(s): there is a header but no row", where=where, fix="give at least one row")


def _suspects_note(typed: list[_Typed]) -> list[str]:
    suspects = [suspect for t in typed for suspect in t.suspects]
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


def _type_column(column: Column, raw: RawTable, declared: Declarations) -> _Typed:
    name = column.name
    kind = declared.types.get(name, "")
    tokens = declared.tokens(name, raw.names)
    feature = Feature(name, missing_tokens=tokens, unseen=declared.unseen.get(name, "unseen"))  # type: ignore[arg-type]
    if isinstance(column, TextColumn):
        column = blank_tokens(column, tokens)
    width = declared.precision.get(name)
    if kind.startswith("ordered:"):
        levels = tuple(level.strip() for level in kind.removeprefix("ordered:").split(","))
        if "" in levels:
            raise InputError(
                f"an empty level in {kind!r}", where=f"type of column {name!r}", fix="ordered:low,mid,high"
            )
        return _ordered(column, replace(feature, kind="categorical", levels=levels, ordered=True), raw.source)
    if kind == "categorical" or (not kind and isinstance(column, LevelColumn)):
        return _categorical(column, feature)
    if kind == "boolean":
        return _numbers(column, boolean_values(column, feature, raw.source), replace(feature, kind="boolean"))
    if kind == "date":
        return _numbers(column, numeric_values(column, replace(feature, display="date"), raw.source), feature, "date")
    if kind == "numeric":
        return _numbers(column, numeric_values(column, feature, raw.source), feature, width=width)
    if isinstance(column, TextColumn):
        return _infer_text(column, feature, raw.source, width)
    assert isinstance(column, NumberColumn)
    values = number_values(column, tokens)
    refuse_large_integers(column, values, raw.source)
    if column.time:
        whole = not np.any(np.isfinite(values) & (np.mod(values, SECONDS_PER_DAY) != 0.0))
        return _numbers(column, values / SECONDS_PER_DAY if whole else values, feature, "date" if whole else "plain")
    if is_boolean(column, values):
        feature = replace(feature, kind="boolean")
    return _numbers(column, values, feature, width=width)


def is_boolean(column: NumberColumn, values: Floats) -> bool:
    """Whether a number column holds bools, or nothing but 0 and 1."""
    if column.values.dtype.kind == "b":
        return True
    head = values[:64]
    if np.any((head != 0.0) & (head != 1.0) & ~np.isnan(head)):
        return False
    present = ~np.isnan(values)
    return bool(present.any() and not np.any(present & (values != 0.0) & (values != 1.0)))


def _infer_text(column: TextColumn, feature: Feature, source: str, width: str | None) -> _Typed:
    """Kind of a text column, judged by its distinct cells."""
    import polars as pl

    keys, codes = factorize(column)
    counts = np.bincount(codes + 1, minlength=len(keys) + 1)[1:]
    cells = replace(column, cells=pl.Series(keys, dtype=pl.String))
    numbers = parse_numbers(cells)
    is_number = numbers.is_not_null().to_numpy()
    if is_number.all():
        values = np.append(as_floats(numbers), np.nan)[codes]
        refuse_large_integers(column, values, source)
        values = blank_numbers(values, feature.missing_tokens)
        boolean = is_boolean(NumberColumn(column.name, values), values)
        return _numbers(column, values, replace(feature, kind="boolean") if boolean else feature, width=width)
    booleans = parse_booleans(cells.cells)
    if booleans.null_count() == 0:
        values = np.append(as_floats(booleans), np.nan)[codes]
        return _numbers(column, values, replace(feature, kind="boolean"))
    typed = _coded_levels(column, feature, keys, codes)
    if counts[is_number].sum() >= NEARLY_ALL * counts.sum():
        return replace(typed, notes=(_nearly_numeric_note(column.name, keys, counts, is_number),), suspects=())
    if parse_dates(cells.cells).null_count() == 0:
        note = f"column {feature.name!r} holds dates; --type {feature.name}=date compares them as such"
        return replace(typed, notes=(note, *typed.notes))
    return typed


def _nearly_numeric_note(name: str, keys: list[str], counts: Array, is_number: Array) -> str:
    odd = sorted(np.flatnonzero(~is_number).tolist(), key=lambda i: (-counts[i], keys[i]))
    shown = ", ".join(f"{keys[i]!r} ({counts[i]})" for i in odd[:5]) + (", ..." if len(odd) > 5 else "")
    return (
        f"column {name!r} is categorical because {counts[odd].sum()} of its cells are no numbers: {shown}; "
        f"if they mean missing, declare --missing {name}=TOKEN"
    )


def _numbers(
    column: Column, values: Floats, feature: Feature, display: Display = "plain", width: str | None = None
) -> _Typed:
    """Encode doubles (NaN is missing) as the numeric or Boolean feature."""
    name = feature.name
    if feature.kind == "boolean":
        return _Typed(feature, values.astype(np.float32))
    if np.isnan(values).all():
        note = f"column {name!r} has no values; it is kept as numeric"
        return _Typed(feature, values.astype(np.float32), (note,))
    chosen = choose_width(values, width)
    if display == "plain" and chosen.integral:
        display = "integer"
    unit = "s since 1970-01-01" if isinstance(column, NumberColumn) and column.time and display != "date" else ""
    feature = replace(feature, precision=chosen.precision, display=display, unit=unit)
    notes = []
    for number in LIKELY_NUMBERS:
        count = int(np.count_nonzero(values == number)) if chosen.integral else 0
        if count > 1:
            notes.append(
                f"column {name!r} has {count} cells {number:.0f}; if it means missing, --missing {name}={number:.0f}"
            )
    if chosen.precision == "float64":
        notes.append(f"column {name!r} is kept in float64, since float32 would merge its values")
    with np.errstate(over="ignore"):
        array = (values + 0.0).astype(encoded_dtype(feature))  # minus zero is zero
    return _Typed(feature, array, tuple(notes), chosen.merged)


def _categorical(column: Column, feature: Feature) -> _Typed:
    keys, codes = factorize(column, feature.missing_tokens)
    return _coded_levels(column, feature, keys, codes)


def _coded_levels(column: Column, feature: Feature, keys: list[str], codes: Codes) -> _Typed:
    if isinstance(column, LevelColumn):
        levels, lookup = keys, np.arange(len(keys))
    else:
        shown = _shown_keys(keys)
        levels = natural_order(list(dict.fromkeys(shown)))
        rank = {level: i for i, level in enumerate(levels)}
        lookup = np.array([rank[key] for key in shown], dtype=np.int64)
    ordered = isinstance(column, LevelColumn) and column.ordered
    feature = replace(feature, kind="categorical", levels=tuple(levels), ordered=ordered)
    array = _coded(codes, lookup)
    counts = np.bincount(array, minlength=FIRST_LEVEL_CODE + len(levels))[FIRST_LEVEL_CODE:]
    suspects = [
        f"{feature.name} {level!r} ({int(n)})"
        for level, n in zip(levels, counts, strict=True)
        if level.lower() in LIKELY_TOKENS
    ]
    return _Typed(feature, array, suspects=tuple(suspects))


def _ordered(column: Column, feature: Feature, source: str) -> _Typed:
    keys, codes = factorize(column, feature.missing_tokens)
    rank = {level: i for i, level in enumerate(feature.levels)}
    found = [rank.get(key, rank.get(canonical_key(key), -1)) for key in keys]
    if -1 in found:
        unknown = found.index(-1)
        rows = np.flatnonzero(codes == unknown)
        if len(rows):
            raise InputError(
                f"level {keys[unknown]!r} is not among the declared {', '.join(feature.levels)}",
                where=place(source, int(rows[0]), feature.name),
                fix="add it to the order, or declare it missing",
            )
    return _Typed(feature, _coded(codes, np.array(found, dtype=np.int64)))


def _shown_keys(keys: list[str]) -> list[str]:
    """`3.0` is the level `3`, and `True` is `true`, where the whole column is numbers or Booleans."""
    if all(canonical_key(key) in ("true", "false") for key in keys) or all(_is_number(key) for key in keys):
        return [canonical_key(key) for key in keys]
    return keys


def _is_number(key: str) -> bool:
    try:
        float(key)
    except ValueError:
        return False
    return True


def _coded(codes: Codes, lookup: Array) -> Codes:
    """Codes of the schema (0 missing, 2.. levels) from key indices (-1 missing) through `lookup`."""
    table = np.append(lookup + FIRST_LEVEL_CODE, 0).astype(np.int32)
    return np.asarray(table[codes], dtype=np.int32)
