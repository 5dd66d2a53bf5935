"""Raw columns: the cells of a table as they came, before a kind is chosen or a schema applied.

Every reader makes these three; inference and encoding know nothing of files and frames. Shapes: [n] per column.
Conversions are vectorised; Python touches distinct values only, never rows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, pl
from rulekit.dates import moment_text
from rulekit.errors import InputError
from rulekit.tables.table import Array
from rulekit.tables.token_sets import TokenSets

Codes = npt.NDArray[np.int32]

LARGEST_EXACT_INTEGER = 2**53
SECONDS_PER_DAY = 86400.0
BLANKS = " \t\n\r\v\f"
"""The blanks of ASCII, which a text may have around the number or date that it writes."""
_TRUTH_SPELLINGS = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}


@dataclass(frozen=True, slots=True, eq=False)
class NumberColumn:
    """Numbers or bools: `values` [n] of bool, int, uint or float; `missing` masks cells beside NaN.

    time: "seconds" if the values are seconds since 1970-01-01. unit: of the numbers, by their type. first_row (of every
    column): where its rows begin in the table that it is a block of.
    """

    name: str
    values: Array
    missing: Bools | None = None
    time: Literal["", "seconds"] = ""
    unit: str = ""
    first_row: int = 0

    def doubles(self, tokens: tuple[str, ...] = ()) -> Floats:
        """The numbers [n], NaN for missing; number tokens (such as -999) become NaN too."""
        values = self.values.astype(np.float64)
        if self.missing is not None:
            values[self.missing] = np.nan
        for token in tokens:
            with suppress(ValueError):
                values[values == float(token)] = np.nan
        return values


@dataclass(frozen=True, slots=True, eq=False)
class GivenCells:
    """Of cells of several types those that came as no text: `values` [n] doubles, NaN where the text alone counts.

    truths and moments [n] mark truth values and dates, which count seconds since 1970-01-01.
    """

    values: Floats
    truths: Bools
    moments: Bools


@dataclass(frozen=True, slots=True, eq=False)
class TextColumn:
    """Text: a polars String series [n] in which null is missing; numbers in it are written with `decimal`.

    dressed: numbers and dates in it may be written in the form that the feature has, as those of a file are.
    given: of cells of several types, those that came as numbers, truth values or dates; `cells` has their texts.
    """

    name: str
    cells: pl.Series
    decimal: str = "."
    dressed: bool = False
    first_row: int = 0
    given: GivenCells | None = None

    def without(self, tokens: tuple[str, ...]) -> TextColumn:
        """The column with its missing tokens (and nothing else) made null."""
        hit = self.cells.is_in(pl.Series(list(tokens), dtype=pl.String).implode()) if tokens else None
        return self if hit is None or not hit.any() else replace(self, cells=self.cells.set(hit.fill_null(False), None))

    def bare(self, tokens: tuple[str, ...] = ()) -> TextColumn:
        """The column as numbers, truth values and dates are read from it: without blanks around its cells.

        What is empty or a missing token without them is missing. Categories and words take the cells as they are.
        """
        return replace(self, cells=self.cells.str.strip_chars(BLANKS)).without(("", *tokens))

    def numbers(self) -> pl.Series:
        """Float64 series: the number that each cell writes, null where it writes none (or is missing).

        `inf`, `-inf` and `nan` count as numbers; with a decimal comma a cell with a point is no number, since the point
        could stand for thousands.
        """
        cells = self.cells
        if self.decimal == ",":
            pointed = cells.str.contains(".", literal=True).fill_null(False)
            cells = cells.set(pointed, None).str.replace(",", ".", literal=True)
        return cells.cast(pl.Float64, strict=False)


@dataclass(frozen=True, slots=True, eq=False)
class LevelColumn:
    """A column that its container already calls categorical: `codes` [n] index `levels`, -1 is missing."""

    name: str
    codes: Codes
    levels: tuple[str, ...]
    ordered: bool = False
    first_row: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class TokenColumn:
    """A column whose words are known already: sets [n] over `words`, none of which stands twice."""

    name: str
    sets: TokenSets
    words: tuple[str, ...]
    first_row: int = 0


Column = NumberColumn | TextColumn | LevelColumn | TokenColumn


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """n rows of raw columns. `positional` says that the names were invented (arrays), so columns match by place.

    unread: names of the columns that the source has and nobody asked for.
    """

    columns: tuple[Column, ...]
    n_rows: int
    source: str = ""
    notes: tuple[str, ...] = ()
    positional: bool = False
    unread: tuple[str, ...] = ()

    @property
    def known_names(self) -> tuple[str, ...]:
        """The names of the source's columns, those that were not asked for too."""
        return (*self.names, *self.unread)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def without(self, names: Collection[str]) -> RawTable:
        """The columns that are not named; those that are count as unread."""
        kept = tuple(column for column in self.columns if column.name not in names)
        unread = tuple(column.name for column in self.columns if column.name in names)
        return replace(self, columns=kept, unread=(*self.unread, *unread))


def in_dress(raw: RawTable) -> RawTable:
    """The table as one whose texts are read in the forms of the features."""
    columns = tuple(replace(c, dressed=True) if isinstance(c, TextColumn) else c for c in raw.columns)
    return replace(raw, columns=columns)


def take_column(column: Column, rows: Array | slice) -> Column:
    """The rows of a column that a slice, a Boolean mask or an index array picks."""
    if isinstance(column, TokenColumn):
        return replace(column, sets=column.sets[rows])
    if isinstance(column, LevelColumn):
        return replace(column, codes=column.codes[rows])
    if isinstance(column, NumberColumn):
        missing = None if column.missing is None else column.missing[rows]
        return replace(column, values=column.values[rows], missing=missing)
    own, cells = column.given, column.cells
    given = None if own is None else GivenCells(own.values[rows], own.truths[rows], own.moments[rows])
    if isinstance(rows, slice):
        return replace(column, cells=cells[rows], given=given)
    return replace(column, cells=cells.filter(rows) if rows.dtype == bool else cells.gather(rows), given=given)


def cells_as_given(column: Column) -> Any:
    """The cells of a column for copying into another file: a polars series, or a list with None for missing."""
    if not isinstance(column, NumberColumn):
        return as_texts(column)
    gaps = np.zeros(len(column.values), dtype=bool) if column.missing is None else column.missing
    return [None if gap else value for value, gap in zip(column.values.tolist(), gaps.tolist(), strict=True)]


def column_length(column: Column) -> int:
    """How many rows a raw column has."""
    if isinstance(column, TextColumn):
        return len(column.cells)
    if isinstance(column, TokenColumn):
        return len(column.sets)
    return len(column.codes if isinstance(column, LevelColumn) else column.values)


def place(source: str, name: str, row: int | None = None) -> str:
    """Where a column, or a cell of it, stands, for messages; `row` counts from 0, people count data rows from 1."""
    at = "" if row is None else f"data row {row + 1}, "
    return f"{source}{', ' if source else ''}{at}column {name!r}"


def cell_text(column: Column, row: int) -> str:
    """A cell as a message shows it, cut at 60 characters."""
    cell = take_column(column, slice(row, row + 1))
    text = str(cell.values[0]) if isinstance(cell, NumberColumn) else repr(as_texts(cell)[0])
    return text if len(text) <= 60 else text[:57] + "..."


def parse_booleans(cells: pl.Series) -> pl.Series:
    """Float64 series: 1 for true, 0 for false in any case, null for all else."""
    lowered = cells.str.to_lowercase()
    return lowered.replace_strict(["true", "false"], [1.0, 0.0], default=None, return_dtype=pl.Float64)


def as_floats(series: pl.Series) -> Floats:
    """A Float64 series as doubles with NaN for null."""
    return np.asarray(series.to_numpy(), dtype=np.float64)  # polars writes null as NaN


def refuse_large_integers(column: Column, values: npt.NDArray[Any], source: str) -> None:
    """Raises InputError for an integer beyond 2^53, which doubles cannot hold apart from its neighbours."""
    large = large_integers(column, values)
    if large is not None and large.any():
        row = int(np.argmax(large))
        raise large_integer(cell_text(column, row), place(source, column.name, column.first_row + row))


def large_integers(column: Column, values: npt.NDArray[Any]) -> Bools | None:
    """Which cells are integers beyond 2^53; None where none can be. values: the cells as doubles."""
    if isinstance(column, LevelColumn | TokenColumn):
        return None
    if isinstance(column, NumberColumn) and column.values.dtype.kind not in "iu":
        return None
    large: Bools = np.abs(values) >= LARGEST_EXACT_INTEGER
    if not large.any():
        return None
    if isinstance(column, NumberColumn):
        large &= (column.values > LARGEST_EXACT_INTEGER) | (column.values < -LARGEST_EXACT_INTEGER)
        return large
    cells = column.cells.str.strip_chars(BLANKS)
    written = cells.str.contains(r"^[+-]?0*[0-9]{16,}$").fill_null(False).to_numpy()
    exact = cells.str.contains(rf"^[+-]?0*{LARGEST_EXACT_INTEGER}$").fill_null(False).to_numpy()
    if column.given is not None:
        written = written & np.isnan(column.given.values)
    large &= written & ~exact
    return large


def large_integer(text: str, where: str) -> InputError:
    """The refusal of such an integer."""
    fix = "declare the column categorical, or ignore it"
    return InputError(f"integer {text} is beyond 2^53 and would be rounded", where=where, fix=fix)


def factorize(column: Column, tokens: tuple[str, ...] = ()) -> tuple[list[str], Codes]:
    """The distinct keys of a column (sorted; text as it stands) and per row the index of its key, -1 for missing."""
    if isinstance(column, TokenColumn):
        raise InputError("a column of words has no levels", where=f"column {column.name!r}", fix="take it as text")
    if isinstance(column, TextColumn):
        cells = column.without(tokens).cells
        distinct = cells.unique().drop_nulls().sort()
        numbers = cells.replace_strict(distinct, pl.Series(np.arange(len(distinct), dtype=np.int32)), default=-1)
        return distinct.to_list(), np.asarray(numbers.cast(pl.Int32).fill_null(-1).to_numpy(), dtype=np.int32)
    keys, codes = _number_keys(column) if isinstance(column, NumberColumn) else (list(column.levels), column.codes)
    gone = {canonical_key(token) for token in tokens} | set(tokens)
    if not gone.intersection(keys):
        return keys, codes
    kept = [key for key in keys if key not in gone]
    place_of = {key: i for i, key in enumerate(kept)}
    return kept, np.array([*(place_of.get(key, -1) for key in keys), -1], dtype=np.int32)[codes]


def _number_keys(column: NumberColumn) -> tuple[list[str], Codes]:
    raw = column.values
    missing = np.isnan(raw) if raw.dtype.kind == "f" else np.zeros(len(raw), dtype=bool)
    if column.missing is not None:
        missing = missing | column.missing
    distinct, inverse = np.unique(raw[~missing], return_inverse=True)
    if column.time:
        keys = [moment_key(float(value)) for value in distinct]
    elif raw.dtype.kind == "f":
        # through text, so that a float32 0.1 is the level 0.1 and not 0.10000000149011612
        keys = [number_key(float(str(value))) for value in distinct + distinct.dtype.type(0)]
    else:
        keys = [str(value).lower() for value in distinct.tolist()]
    codes = np.full(len(raw), -1, dtype=np.int32)
    codes[~missing] = inverse
    return keys, codes


def texts_of_sets(column: TokenColumn, tokens: tuple[str, ...] = ()) -> list[str | None]:
    """The words of each row in the order of the vocabulary, a space between; `-` for none, None where it is missing.

    tokens: the missing tokens of the column; a text that would be one of them ends with full stops.
    """
    words, starts, ids = column.words, column.sets.starts.tolist(), column.sets.ids.tolist()
    return [
        None if gap else text_of_words([words[i] for i in ids[start:end]], tokens)
        for start, end, gap in zip(starts[:-1], starts[1:], column.sets.missing.tolist(), strict=True)
    ]


def text_of_words(words: Sequence[str], tokens: tuple[str, ...] = ()) -> str:
    """A text with these words that is no missing token."""
    text = " ".join(words) or "-"
    while text in tokens:
        text += "."
    return text


def as_texts(column: Column, tokens: tuple[str, ...] = ()) -> pl.Series:
    """The cells of a column as texts [n], null where missing; numbers as the keys of their levels."""
    if isinstance(column, TextColumn):
        return column.without(tokens).cells
    if isinstance(column, TokenColumn):
        return pl.Series(texts_of_sets(column), dtype=pl.String)
    keys, codes = factorize(column, tokens)
    numbers = pl.Series(codes.astype(np.int64))
    return pl.Series(keys, dtype=pl.String).gather(numbers.set(numbers < 0, None))


def canonical_key(key: str) -> str:
    """The level that a text means where it is no level as written: `3` for `3.0`, `true` for `True` and `TRUE`.

    Any other text means itself: `3.00`, `+3.0` and `tRuE` too (docs/numbers.md, Texts and truth values).
    """
    whole = key.removesuffix(".0")
    if whole != key and whole.isascii() and whole.removeprefix("-").isdigit():
        return whole
    return _TRUTH_SPELLINGS.get(key, key)


def natural_order(keys: list[str]) -> list[str]:
    """Keys sorted as integers if all are, else by code point."""
    if all(key.isascii() and key.removeprefix("-").isdigit() and len(key) < 400 for key in keys):
        return sorted(keys, key=lambda key: (int(key), key))
    return sorted(keys)


def number_key(value: float) -> str:
    """The level key of a number: integral values without `.0`, others as the shortest decimal."""
    return str(int(value)) if value.is_integer() else repr(value)


def moment_key(seconds: float) -> str:
    """The level key of a moment: `2024-05-31` at midnight, else `2024-05-31T12:00`."""
    days = seconds / SECONDS_PER_DAY
    text = moment_text(days, "date") if days.is_integer() else moment_text(seconds, "datetime")
    return text or number_key(seconds)
