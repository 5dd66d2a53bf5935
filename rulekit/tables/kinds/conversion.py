"""Cells as the numbers or Booleans that a feature asks for, or an error that names row, column and value."""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.kinds.dates import parse_dates, parse_moments, refuse_digits_of_dates
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.raw.columns import (
    SECONDS_PER_DAY,
    Column,
    Floats,
    LevelColumn,
    Mask,
    NumberColumn,
    TextColumn,
    TokenColumn,
    as_floats,
    as_texts,
    bare,
    blank_tokens,
    cell_text,
    column_place,
    number_values,
    parse_booleans,
    parse_numbers,
    place,
    refuse_large_integers,
)

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
        values = number_values(column, tokens)
        refuse_large_integers(column, values, source)
        if column.time:
            return _moments(values, ~np.isnan(values), column, feature, source)
    else:
        text = _texts(column, tokens, source)
        if feature.form and text.dressed:
            return _undressed(text, feature, source)
        numbers = _with_given(parse_numbers(text), text, feature, source)
        parse, expected = _READ.get(display, (None, "a number"))
        if parse is not None and numbers.null_count() > text.cells.null_count():
            numbers = numbers.zip_with(numbers.is_not_null(), parse(text.cells))
        _refuse_unparsed(text, numbers, expected, source)
        values = as_floats(numbers)
        refuse_large_integers(text, values, source)
        values = blank_numbers(values, tokens)
    if display in _DATES:
        refuse_digits_of_dates(column, values, display, source)
    return values


def _undressed(text: TextColumn, feature: Feature, source: str) -> Floats:
    """The numbers of cells in the form of a feature, which Python reads once for each distinct cell."""
    import polars as pl

    dated = feature.display in _DATES
    read = form_of(feature.display if dated else feature.kind, feature.form, f"column {feature.name!r}").reader()
    cells = text.cells.unique().drop_nulls()
    values = pl.Series([read(cell) for cell in cells.to_list()], dtype=pl.Float64)
    numbers = text.cells.replace_strict(cells, values, default=None, return_dtype=pl.Float64)
    _refuse_unparsed(text, numbers, f"{'a date' if dated else 'a number'} written like {feature.form}", source)
    found = as_floats(numbers)
    return blank_numbers(found / SECONDS_PER_DAY if feature.display == "date" else found, feature.missing_tokens)


def _texts(column: TextColumn | LevelColumn | TokenColumn, tokens: tuple[str, ...], source: str) -> TextColumn:
    if isinstance(column, TokenColumn):
        where, fix = column_place(source, column.name), "take it as text"
        raise InputError("a column of words holds no numbers", where=where, fix=fix)
    if isinstance(column, LevelColumn):
        column = TextColumn(column.name, as_texts(column), first_row=column.first_row)
    return bare(blank_tokens(column, tokens), tokens)


def _with_given(numbers: Any, column: TextColumn, feature: Feature, source: str) -> Any:
    """The numbers of a column's texts, and of its cells that came as numbers, truth values or dates their values."""
    if column.given is None:
        return numbers
    import polars as pl

    values = _moments(column.given.values, column.given.moments, column, feature, source)
    there = pl.Series(~np.isnan(values)) & column.cells.is_not_null()
    return numbers.zip_with(~there, pl.Series(values, dtype=pl.Float64))


def _moments(values: Floats, moments: Mask, column: Column, feature: Feature, source: str) -> Floats:
    """Values of which some are seconds since 1970-01-01, as the feature counts them; it must be one of dates."""
    if moments.any() and feature.display not in _DATES:
        row = int(np.argmax(moments))
        wanted = "truth values" if feature.kind == "boolean" else "numbers"
        where = place(source, column.first_row + row, column.name)
        raise InputError(f"a date in a column of {wanted}", where=where, fix="mend the cell, or declare it a date")
    return np.where(moments, values / SECONDS_PER_DAY, values) if feature.display == "date" else values


def blank_numbers(values: Floats, tokens: tuple[str, ...]) -> Floats:
    """The values with every number that a missing token writes made NaN."""
    return number_values(NumberColumn("", values), tokens) if tokens else values


def _refuse_unparsed(column: TextColumn, parsed: Any, expected: str, source: str) -> None:
    if parsed.null_count() == column.cells.null_count():
        return
    row = int((parsed.is_null() & column.cells.is_not_null()).arg_max())
    what, where = f"{cell_text(column, row)} is not {expected}", place(source, column.first_row + row, column.name)
    raise InputError(what, where=where, fix="mend the cell, declare it missing, or give the column another type")
