"""Encoding: any table under a schema that a model already has, or an error that names row, column and value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, pl
from rulekit.errors import InputError
from rulekit.names import blanks_hint, suggestion
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.dates import parse_dates, parse_moments, refuse_digits_of_dates
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.raw.columns import (
    SECONDS_PER_DAY,
    Codes,
    Column,
    LevelColumn,
    NumberColumn,
    RawTable,
    TextColumn,
    TokenColumn,
    as_floats,
    as_texts,
    canonical_key,
    cell_text,
    factorize,
    parse_booleans,
    place,
    refuse_large_integers,
    take_column,
)
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Array, Table, encoded_dtype, missing_cells
from rulekit.tables.token_sets import TokenSets, hashes_of_words, sets_of_texts

BLOCK = 8192
"""Rows that are encoded and looked at together, few enough to stay in the processor's cache."""


def encode(data: Any, schema: Schema, used: Collection[str] | None = None, all_words: bool = False) -> Table:
    """The rows of `data` under `schema`, whatever `rulekit.tables.kinds.inference.infer` reads.

    Columns are matched by name in any order, extra ones ignored; an array [n, d] is matched by place and must have
    all d columns. used: the columns that the model reads (default: all); the others need not be there and come
    back as all missing. all_words: the texts are known by all their words, too. Raises InputError naming column, row
    and value for a missing column, a cell that is no number, or an unseen level of a feature whose `unseen` is "error".
    """
    if isinstance(data, Table) and data.features == schema.features:
        return data if data.constraints == schema.constraints else replace(data, constraints=schema.constraints)
    raw, wanted = raw_table(data), frozenset(schema.names if used is None else used)
    features = [feature for feature in schema if feature.name in wanted]
    found = zip(features, _matched(raw, schema, features), strict=True)
    encoded = {feature.name: encode_column(column, feature, raw.source, all_words) for feature, column in found}
    arrays = tuple(encoded[f.name] if f.name in encoded else missing_cells(f, raw.n_rows) for f in schema)
    return Table(schema.features, arrays, raw.n_rows, raw.source, raw.notes, constraints=schema.constraints)


def encode_blocks(data: Any, schema: Schema, used: Collection[str]) -> Iterator[Table]:
    """The rows of `data` in their order under the used features alone, as tables of at most BLOCK rows.

    Columns of text, which hold Python's objects or a frame's own, come as one table, and so does a Table of this
    schema. The kind of a raw column depends on all of its rows, so that the blocks hold the same cells as the whole.
    Raises as `encode`.
    """
    if isinstance(data, Table) and data.features == schema.features:
        yield encode(data, schema, used)
        return
    wanted, raw = frozenset(used), raw_table(data)
    features = tuple(feature for feature in schema if feature.name in wanted)
    columns = _matched(raw, schema, features)
    size = max(1, raw.n_rows) if any(isinstance(column, TextColumn) for column in columns) else BLOCK
    for start in range(0, max(raw.n_rows, 1), size):
        stop = min(start + size, raw.n_rows)
        arrays = []
        for column, feature in zip(columns, features, strict=True):
            part = column if size >= raw.n_rows else replace(take_column(column, slice(start, stop)), first_row=start)
            arrays.append(encode_column(part, feature, raw.source))
        yield Table(features, tuple(arrays), stop - start, raw.source, constraints=schema.constraints)


def _matched(raw: RawTable, schema: Schema, features: Sequence[Feature]) -> list[Column]:
    """The raw column of each feature: by place where the names were invented, else by name."""
    where = raw.source or "table"
    if raw.positional:
        if len(raw.columns) != len(schema):
            what = f"X has {len(raw.columns)} features, but the model is expecting {len(schema)} features as input"
            raise InputError(what, where=where, fix="give the columns of the training table in their order")
        return [raw.columns[schema.positions[feature.name]] for feature in features]
    by_name = {column.name: column for column in raw.columns}
    for feature in features:
        if feature.name not in by_name:
            fix = suggestion(feature.name, raw.known_names)
            raise InputError(f"no column {feature.name!r}", where=where, fix=fix)
    return [by_name[feature.name] for feature in features]


def encode_column(column: Column, feature: Feature, source: str = "", all_words: bool = False) -> Array:
    """One raw column as the encoded array of a feature; raises InputError naming row, column and value."""
    if feature.kind == "text":
        return _sets(column, feature, all_words)  # type: ignore[return-value]
    if feature.kind == "categorical":
        return _codes(column, feature, source)
    odd = feature.kind == "boolean" or feature.missing_tokens or feature.display in _DATES
    if (
        isinstance(column, NumberColumn)
        and column.values.dtype.kind == "f"
        and not (odd or column.time or column.missing is not None)
    ):
        values: Array = column.values  # which need no doubles between
    else:
        values = (boolean_values if feature.kind == "boolean" else numeric_values)(column, feature, source)
    with np.errstate(over="ignore"):
        values = values.astype(encoded_dtype(feature))
    values += 0  # minus zero is zero
    return values


def _sets(column: Column, feature: Feature, all_words: bool) -> TokenSets:
    number_of = {word: number for number, word in enumerate(feature.levels)}
    if not isinstance(column, TokenColumn):
        return sets_of_texts(as_texts(column, feature.missing_tokens), number_of, all_words)
    sets = column.sets
    if column.words == feature.levels:
        return sets
    if all_words:
        sets = replace(sets, all_words=sets.hashes_of_all_words(hashes_of_words(column.words)))
    lookup = np.array([number_of.get(word, -1) for word in column.words], dtype=np.int64)
    return sets.renumbered(lookup, len(number_of))


def _codes(column: Column, feature: Feature, source: str) -> Codes:
    code_of = {level: code for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE)}
    column = _truths_as_levels(column, {*code_of, *feature.missing_tokens})
    keys, index = factorize(column, feature.missing_tokens)
    found = np.array(
        [*(code_of.get(key) or code_of.get(canonical_key(key), UNSEEN_CODE) for key in keys), MISSING_CODE],
        dtype=np.int32,
    )
    if feature.unseen == "error" and (unseen := (found == UNSEEN_CODE)[index]).any():
        row = int(np.argmax(unseen))
        key, where = keys[index[row]], place(source, column.name, column.first_row + row)
        hint = blanks_hint((key, level) for level in feature.levels)
        fix = hint or "mend the cell, or train with unseen levels allowed"
        raise InputError(f"level {key!r} was not in the training data", where=where, fix=fix)
    if feature.unseen == "missing":
        found[found == UNSEEN_CODE] = MISSING_CODE
    return np.asarray(found[index])


def _truths_as_levels(column: Column, known: Collection[str]) -> Column:
    """A column whose truth values are the levels true and false, or 1 and 0 where those are not known."""
    false, true = ("false" if "false" in known else "0", "true" if "true" in known else "1")
    if isinstance(column, NumberColumn) and column.values.dtype.kind == "b":
        codes = column.values.astype(np.int32)
        gaps = codes if column.missing is None else np.where(column.missing, np.int32(-1), codes)
        return LevelColumn(column.name, gaps, (false, true), first_row=column.first_row)
    if isinstance(column, TextColumn) and column.given is not None:
        texts = column.cells.replace({"true": true, "false": false})
        return replace(column, cells=column.cells.zip_with(~pl.Series(column.given.truths), texts))
    return column


_READ = {
    "date": (parse_dates, "a date (2024-05-31)"),
    "datetime": (parse_moments, "a date (2024-05-31T12:00)"),
    "boolean": (parse_booleans, "true, false, 1 or 0"),
}
"""What reads the cells that write no number, and what these are called."""
_DATES = ("date", "datetime")


def boolean_values(column: Column, feature: Feature, source: str) -> Floats:
    """1, 0 or NaN; bools, true/false text and numbers (above 0.5 is true) are read, all else is an InputError."""
    values = numeric_values(column, feature, source, "boolean")
    return np.where(np.isnan(values), np.nan, values > 0.5)


def numeric_values(column: Column, feature: Feature, source: str, also: str = "") -> Floats:
    """Doubles with NaN for missing; raises InputError naming row, column and value where a cell is no number.

    A feature shown as a date takes ISO dates, time stamps (in days) and numbers of days; one shown as a datetime takes
    ISO dates with a time of day or not, time stamps and numbers of seconds. also: what other cells are read, by the
    feature's display unless it is said.
    """
    tokens, display = feature.missing_tokens, also or feature.display
    if isinstance(column, NumberColumn):
        values = column.doubles(tokens)
        refuse_large_integers(column, values, source)
        if column.time:
            return _moments(values, ~np.isnan(values), column, feature, source)
    else:
        if isinstance(column, TokenColumn):
            where, fix = place(source, column.name), "take it as text"
            raise InputError("a column of words holds no numbers", where=where, fix=fix)
        if isinstance(column, LevelColumn):
            column = TextColumn(column.name, as_texts(column), first_row=column.first_row)
        column = column.without(tokens).bare(tokens)
        if feature.form and column.dressed:
            return _undressed(column, feature, source)
        numbers = _with_given(column.numbers(), column, feature, source)
        written = numbers.is_not_null()
        parse, expected = _READ.get(display, (None, "a number"))
        if parse is not None and numbers.null_count() > column.cells.null_count():
            numbers = numbers.zip_with(written, parse(column.cells))
        _refuse_unparsed(column, numbers, expected, source)
        values = as_floats(numbers)
        refuse_large_integers(column, values, source)
        if tokens:  # 1 means missing where it is written, and not where true is
            values = np.where(written.to_numpy(), blank_numbers(values, tokens), values)
    if display in _DATES:
        refuse_digits_of_dates(column, values, display, source)
    return values


def _undressed(text: TextColumn, feature: Feature, source: str) -> Floats:
    """The numbers of cells in the form of a feature, which Python reads once for each distinct cell."""
    dated = feature.display in _DATES
    read = form_of(feature.display if dated else feature.kind, feature.form, f"column {feature.name!r}").reader()
    cells = text.cells.unique().drop_nulls()
    values = pl.Series([read(cell) for cell in cells.to_list()], dtype=pl.Float64)
    numbers = text.cells.replace_strict(cells, values, default=None, return_dtype=pl.Float64)
    _refuse_unparsed(text, numbers, f"{'a date' if dated else 'a number'} written like {feature.form}", source)
    found = as_floats(numbers)
    return blank_numbers(found / SECONDS_PER_DAY if feature.display == "date" else found, feature.missing_tokens)


def _with_given(numbers: Any, column: TextColumn, feature: Feature, source: str) -> Any:
    """The numbers of a column's texts, and of its cells that came as numbers, truth values or dates their values."""
    if column.given is None:
        return numbers
    values = _moments(column.given.values, column.given.moments, column, feature, source)
    there = pl.Series(~np.isnan(values)) & column.cells.is_not_null()
    return numbers.zip_with(~there, pl.Series(values, dtype=pl.Float64))


def _moments(values: Floats, moments: Bools, column: Column, feature: Feature, source: str) -> Floats:
    """Values of which some are seconds since 1970-01-01, as the feature counts them; it must be one of dates."""
    if moments.any() and feature.display not in _DATES:
        row = int(np.argmax(moments))
        wanted = "truth values" if feature.kind == "boolean" else "numbers"
        where = place(source, column.name, column.first_row + row)
        raise InputError(f"a date in a column of {wanted}", where=where, fix="mend the cell, or declare it a date")
    return np.where(moments, values / SECONDS_PER_DAY, values) if feature.display == "date" else values


def blank_numbers(values: Floats, tokens: tuple[str, ...]) -> Floats:
    """The values with every number that a missing token writes made NaN."""
    return NumberColumn("", values).doubles(tokens) if tokens else values


def _refuse_unparsed(column: TextColumn, parsed: Any, expected: str, source: str) -> None:
    if parsed.null_count() == column.cells.null_count():
        return
    row = int((parsed.is_null() & column.cells.is_not_null()).arg_max())
    what, where = f"{cell_text(column, row)} is not {expected}", place(source, column.name, column.first_row + row)
    raise InputError(what, where=where, fix="mend the cell, declare it missing, or give the column another type")
