"""Inference: what kind each column is, whole or in blocks, and a typed, encoded table of them.

A column keeps, in memory or on disk, what its kind depends on: numbers, or the numbers of distinct texts. A table in
blocks and the same table in one piece have the same features, codes, notes and digest.

Boolean: bools, true/false text in any case, numbers that are all 0 or 1. Numeric: numbers, and text that is all
numbers. Text: sentences, hardly any of them twice. Categorical: other text. Width: float32 where it tells the numbers
apart. Missing: the empty cell, NaN, None and what the user declares; other likely tokens are reported in the notes,
never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Ints, pl
from rulekit.errors import InputError
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Display, Feature
from rulekit.tables.kinds.builders import DecidedColumn, Dictionary, NumberBuilder, TextBuilder, with_vocabulary
from rulekit.tables.kinds.dress import dress_of, may_mean_missing, zeros_note
from rulekit.tables.kinds.encoding import blank_numbers, boolean_values, numeric_values
from rulekit.tables.kinds.hints import hints_of, notes_of
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions, base_kind, levels_declared
from rulekit.tables.raw.columns import (
    Column,
    LevelColumn,
    NumberColumn,
    TextColumn,
    TokenColumn,
    as_floats,
    as_texts,
    canonical_key,
    column_length,
    large_integer,
    large_integers,
    natural_order,
    parse_booleans,
    place,
    refuse_large_integers,
    take_column,
)
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import EncodedColumn, HeldColumn, Store, Table, arrays_of
from rulekit.tables.token_sets import TEXT_DTYPE, tokenised

NUMERIC_KINDS: dict[str, Display] = {"numeric": "plain", "date": "date", "datetime": "datetime", "money": "money"}
FEWEST_TEXTS = 20
MEAN_WORDS = 6
_BEGINNING = 4096  # characters of a text whose words are counted


class KindChanged(Exception):  # noqa: N818 - a signal, not an error
    """A column that was all numbers so far holds a text, and its file has to be read again as text."""


@dataclass(slots=True, eq=False)
class ColumnBuilder:
    """One feature column while it comes: numbers, a dictionary of texts or sets of words, whichever its blocks ask for.

    reread: whether the source can be read again, so that numbers need not be turned back into the texts they were.
    start: the number of the first row, for messages.
    """

    feature: Feature
    options: ReadingOptions
    source: str
    store: Store
    reread: bool = False
    start: int = 0
    _held: NumberBuilder | Dictionary | TextBuilder | None = None
    _decimal: str = "."
    _seconds: bool | None = None
    _unit: str = ""
    _levels: tuple[tuple[str, ...], bool] | None = None

    @property
    def kind(self) -> str:
        """The kind that is declared, "" where none is."""
        return base_kind(self.options.types.get(self.feature.name, ""))

    @property
    def _where(self) -> str:
        return place(self.source, self.feature.name)

    def add(self, column: Column, stands_for: Ints | None = None) -> None:
        """The next rows; raises InputError naming row and column, KindChanged where the file must be read again.

        stands_for: for how many rows each of them stands, where it is a witness of others.
        """
        column = replace(column, first_row=self.start + (0 if self._held is None else self._held.rows))
        kind, tokens = self.kind, self.feature.missing_tokens
        if isinstance(column, TextColumn):
            self._decimal = column.decimal
            column = column.without(tokens)
        if isinstance(column, TokenColumn) and kind not in ("", "text"):
            fix = "leave the declaration out, or declare it text"
            raise InputError(f"a column of words is not {kind}", where=self._where, fix=fix)
        if kind == "text" or isinstance(column, TokenColumn) or isinstance(self._held, TextBuilder):
            self._add_texts(column)
        elif kind == "boolean":
            self._numbers().add(boolean_values(column, self.feature, self.source), np.dtype(np.bool_))
        elif kind in NUMERIC_KINDS:
            if isinstance(column, NumberColumn):
                self._note_time(column)
            feature = replace(self.feature, display=NUMERIC_KINDS[kind])
            column = replace(column, dressed=True) if isinstance(column, TextColumn) else column
            self._numbers().add(numeric_values(column, feature, self.source), np.dtype(np.float64))
        elif kind or isinstance(column, LevelColumn):
            self._keys().add(column, tokens, stands_for)
            self._note_levels(column)
        elif _is_empty(column):
            rows, dtype = column_length(column), column.values.dtype if isinstance(column, NumberColumn) else None
            if isinstance(self._held, Dictionary):
                self._held.numbers.add(np.full(rows, -1, dtype=np.int32))
            else:
                self._numbers().add(np.full(rows, np.nan), dtype or np.dtype(np.float64), empty=True)
        elif isinstance(column, TextColumn) or isinstance(self._held, Dictionary):
            if self.reread and not isinstance(column, TextColumn):
                raise KindChanged(self.feature.name)
            self._keys().add(column, tokens, stands_for)
        else:
            self._note_time(column)
            self._unit = self._unit or column.unit
            given = column.values.dtype == np.float32 and column.missing is None and not tokens and not column.time
            values = column.values if given else column.doubles(tokens)
            refuse_large_integers(column, values, self.source)
            self._numbers().add(values, column.values.dtype)

    def _add_texts(self, column: Column) -> None:
        words = column.words if isinstance(column, TokenColumn) else None
        if not isinstance(self._held, TextBuilder):
            self._held = TextBuilder(self.feature.name, self.source, self.store, words)
        if self._held.words != words:
            fix = "give every block the same words"
            raise InputError("the words differ between blocks of rows", where=self._where, fix=fix)
        if isinstance(column, TokenColumn):
            self._held.sets.add(column.sets)
        else:
            self._held.add(as_texts(column, self.feature.missing_tokens))

    def _numbers(self) -> NumberBuilder:
        if self._held is None:
            self._held = NumberBuilder(self.store)
        assert isinstance(self._held, NumberBuilder)
        return self._held

    def _keys(self) -> Dictionary:
        """The dictionary, with what came before the first text."""
        if isinstance(self._held, Dictionary):
            return self._held
        keys = Dictionary(self.feature.name, self.store, self.source)
        if isinstance(self._held, NumberBuilder):
            if self._held.valued and self.reread:
                raise KindChanged(self.feature.name)
            for block in self._held.blocks(self.feature.name):
                keys.add(block, self.feature.missing_tokens)
            self._held.column.remove()
        self._held, self._seconds = keys, None
        return keys

    def _note_time(self, column: NumberColumn) -> None:
        if self._seconds not in (None, bool(column.time)):
            raise InputError("times in one block of rows, numbers in another", where=self._where)
        self._seconds = bool(column.time)

    def _note_levels(self, column: Column) -> None:
        if isinstance(column, LevelColumn):
            own = (column.levels, column.ordered)
            first = self._levels = self._levels or own
            if first != own and (column.ordered or first[1]):
                fix = "give every block the same ordered categories"
                raise InputError("the order of the levels differs between blocks of rows", where=self._where, fix=fix)

    def witness(self, column: Column) -> tuple[Column, Ints | None]:
        """Of the column that was added as the only one a few rows that decide as all do, and for how many they stand.

        Raises InputError for texts, of which every row counts, and a level that is not declared.
        """
        held, rows, counts = self._held, np.zeros(0, dtype=np.int64), None
        if isinstance(held, Dictionary):
            rows, counts = held.witnesses()
            if self.kind.startswith("ordered:"):
                self.encoded()
        elif isinstance(held, NumberBuilder):
            found = held.witnesses(seconds=bool(self._seconds))
            if not found and isinstance(column, NumberColumn):  # its values may all be missing tokens
                found = np.flatnonzero(~np.isnan(column.doubles()))[:1].tolist()
            rows = np.array(found or range(min(1, held.rows)), dtype=np.int64)
        else:
            fix = f"ignore it, or declare {self.feature.name!r} categorical"
            raise InputError("a column of texts cannot be learned from in parts", where=self._where, fix=fix)
        return take_column(column, rows), counts

    # The whole column ----------------------------------------------------------------------------------------------

    def encoded(self) -> DecidedColumn:
        """The column and its feature, decided; raises InputError for an undeclared level."""
        held, kind, width = self._held, self.kind, self.options.precision.get(self.feature.name)
        if isinstance(held, TextBuilder):
            return held.encoded(self.feature)
        if isinstance(held, Dictionary):
            return self._encoded_keys(held)
        assert held is not None
        if kind == "boolean":
            return held.encoded(replace(self.feature, kind="boolean"))
        if kind in NUMERIC_KINDS:
            return held.encoded(self.feature, NUMERIC_KINDS[kind], width, seconds=bool(self._seconds))
        if self._seconds:
            days = held.in_days()
            if days is None:
                return held.encoded(self.feature, "datetime", seconds=True)
            return days.encoded(self.feature, "date")
        found = held.encoded(self.feature, width=width)
        if not self._unit or found.feature.unit or found.feature.kind == "boolean":
            return found
        return replace(found, feature=replace(found.feature, unit=self._unit))

    def _encoded_keys(self, dictionary: Dictionary) -> DecidedColumn:
        keys, counts, order = dictionary.ordered()
        if self.kind.startswith("ordered:"):
            return self._ranks(dictionary, keys, counts, order)
        listed = dictionary.listed
        if not listed and self.kind != "categorical":
            found = self._numbers_of_keys(dictionary, keys, order)
            if found is not None:
                return found
            if _are_sentences(keys, counts) and dress_of(keys) is None:
                return self._text_of_keys(dictionary)
        # `3.0` is the level `3`, and `True` is `true`, where the whole column is numbers or Booleans
        plain = [canonical_key(key) for key in keys]
        alike = set(plain) <= {"true", "false"} or all(map(_is_number, keys))
        shown = plain if alike and not listed else keys
        levels = keys if listed else natural_order(list(dict.fromkeys(shown)))
        rank = {level: i for i, level in enumerate(levels)}
        lookup = np.array([rank[key] for key in shown], dtype=np.int64)
        ordered = listed and self._levels is not None and self._levels[1]
        feature = replace(self.feature, kind="categorical", levels=tuple(levels), ordered=ordered)
        rows = zip(levels, np.bincount(lookup, weights=counts, minlength=len(levels)).tolist(), strict=True)
        suspects = (f"{feature.name} {level!r} ({int(n)})" for level, n in rows if may_mean_missing(level))
        return DecidedColumn(feature, self._codes(dictionary, lookup[order]), suspects=tuple(suspects))

    def _ranks(self, dictionary: Dictionary, keys: list[str], counts: Ints, order: Ints) -> DecidedColumn:
        """The codes of the levels of a declaration `ordered:low,mid,high`."""
        name, kind = self.feature.name, self.kind
        levels = levels_declared(kind)
        if "" in levels:
            where, fix = f"type of column {name!r}", "ordered:low,mid,high"
            raise InputError(f"an empty level in {kind!r}", where=where, fix=fix)
        feature = replace(self.feature, kind="categorical", levels=levels, ordered=True)
        rank = {level: i for i, level in enumerate(levels)}
        ranks = np.array([rank.get(key, rank.get(canonical_key(key), -1)) for key in keys], dtype=np.int64)
        unknown = (ranks < 0) & (counts > 0)
        if unknown.any():
            row, key = dictionary.first_row(unknown[order])
            what = f"level {key!r} is not among the declared {', '.join(levels)}"
            fix = "add it to the order, or declare it missing"
            raise InputError(what, where=place(self.source, name, self.start + row), fix=fix)
        return DecidedColumn(feature, self._codes(dictionary, ranks[order]))

    def _numbers_of_keys(self, dictionary: Dictionary, keys: list[str], order: Ints) -> DecidedColumn | None:
        """The column as numbers or truth values, where each of its distinct cells writes one; else None."""
        name, tokens = self.feature.name, self.feature.missing_tokens
        cells = TextColumn(name, pl.Series(keys, dtype=pl.String), self._decimal).bare(tokens)
        gaps, found = cells.cells.null_count(), cells.numbers()
        values = blank_numbers(as_floats(found), tokens)
        if found.null_count() != gaps:
            found = parse_booleans(cells.cells)
            values = as_floats(found)
        if found.null_count() != gaps or gaps == len(keys) > 0:
            return None
        large = large_integers(cells, values)
        if large is not None and large.any():
            row, key = dictionary.first_row(large[order])
            raise large_integer(repr(key), place(self.source, name, row))
        numbers, lookup = NumberBuilder(self.store), np.append(values[order], np.nan)  # the last one is for -1
        for part in dictionary.numbers.parts():
            numbers.add(lookup[part], np.dtype(np.float64))
        dictionary.numbers.remove()
        decided = numbers.encoded(self.feature, width=self.options.precision.get(name))
        return replace(decided, notes=(*decided.notes, *zeros_note(name, keys)))

    def _text_of_keys(self, dictionary: Dictionary) -> DecidedColumn:
        """A column of sentences, each distinct one of which is tokenised once."""
        name = self.feature.name
        sentences = TextBuilder(name, self.source, self.store)
        sentences.add(pl.Series([*dictionary.number_of, None], dtype=pl.String))  # the last one is for -1
        number = np.concatenate([np.zeros(0, np.int32), *dictionary.numbers.parts()])
        dictionary.numbers.remove()
        words, sets = with_vocabulary(list(sentences.number_of), sentences.sets.read()[number])
        feature = replace(self.feature, kind="text", levels=words)
        note = (
            f"column {name!r} is read as text, whose words are conditions; "
            f"--type {name}=categorical keeps whole texts as levels"
        )
        return DecidedColumn(feature, HeldColumn(TEXT_DTYPE, sets), (note,))

    def _codes(self, dictionary: Dictionary, lookup: Ints) -> EncodedColumn:
        codes = self.store.writer(np.int32)
        table = np.append(lookup + FIRST_LEVEL_CODE, MISSING_CODE).astype(np.int32)  # the last one is for -1
        for part in dictionary.numbers.parts():
            codes.add(table[part])
        dictionary.numbers.remove()
        return codes


def _is_empty(column: Column) -> bool:
    """Whether no cell of a block has a value; such a block says nothing of the column's kind."""
    if isinstance(column, TextColumn):
        return bool(column.cells.null_count() == len(column.cells))
    if not isinstance(column, NumberColumn):
        return False
    if column.missing is None and np.any(column.values[:64] == column.values[:64]):
        return False
    return bool(np.isnan(column.doubles()).all())


def _is_number(key: str) -> bool:
    try:
        float(key)
    except ValueError:
        return False
    return True


def _are_sentences(keys: list[str], counts: Ints) -> bool:
    """Whether texts are free text: at least 20, half of them distinct, of six words or more on average."""
    rows = int(counts.sum())
    if rows < FEWEST_TEXTS or 2 * len(keys) < rows or sum(map(len, keys)) < 2 * MEAN_WORDS * len(keys):
        return False
    _, lengths = tokenised(pl.Series(keys, dtype=pl.String).str.slice(0, _BEGINNING))
    return int((lengths * counts).sum()) >= MEAN_WORDS * rows


def infer(data: Any, options: ReadingOptions = DEFAULT_OPTIONS) -> Table:
    """A typed table from an array [n, d] (columns x0, x1, ...), a pandas or polars frame, a mapping of columns, a
    sequence of mappings, raw columns, or a Table, which comes back as it is.

    Raises InputError naming row and column, if there is no row or column, or an option fails.
    """
    if isinstance(data, Table):
        if options != DEFAULT_OPTIONS:
            what, fix = "the columns of a Table are typed already", "give the options to its reader"
            raise InputError(what, where=data.source, fix=fix)
        return data
    raw = raw_table(data)
    options.check(raw.known_names, raw.source)
    where = raw.source or "table"
    if not raw.columns:
        what = f"0 feature(s) (shape=({raw.n_rows}, 0)) while a minimum of 1 is required"
        raise InputError(what, where=where, fix="give columns")
    if raw.n_rows == 0:
        raise InputError("0 sample(s): there is a header but no row", where=where, fix="give at least one row")
    features, store, decided = options.features(raw.known_names), Store(in_memory=True), []
    for column in raw.columns:
        if column.name not in options.dropped():
            builder = ColumnBuilder(features[column.name], options, raw.source, store)
            builder.add(column)
            decided.append(builder.encoded())
    if not decided:
        raise InputError("no column is left", where=where, fix="ignore fewer columns")
    return assembled(decided, raw.n_rows, raw.source, raw.notes)


def assembled(decided: Sequence[DecidedColumn], n_rows: int, source: str, notes: Sequence[str]) -> Table:
    """A table of decided columns; `notes` are those of the reader. Raises InputError for a unit of what has none."""
    features, arrays = tuple(d.feature for d in decided), arrays_of([d.column for d in decided])
    refuse_units(features, source)
    hints = hints_of(features, arrays)
    own = [note for d in decided for note in d.notes]
    dressed = {name for name, hint in hints.items() if hint.look == "dressed"}
    suspects = [suspect for d in decided if d.feature.name not in dressed for suspect in d.suspects]
    if suspects:
        shown = ", ".join(suspects[:6]) + (f" and {len(suspects) - 6} more" if len(suspects) > 6 else "")
        own.append(f"levels that may mean missing: {shown}; if they do, declare --missing COL=TOKEN")
    merged = {d.feature.name: d.merged for d in decided if d.merged}
    if merged:
        shown = ", ".join(f"{name} ({count})" for name, count in list(merged.items())[:4])
        more = f" and {len(merged) - 4} more columns" if len(merged) > 4 else ""
        own.append(f"rounding to float32 merged distinct values of {shown}{more}; --width COL=float64 keeps them apart")
    return Table(features, arrays, n_rows, source, (*notes, *notes_of(hints, own)), merged)


def refuse_units(features: Sequence[Feature], source: str) -> None:
    """Raises InputError for a unit of what has none."""
    for feature in features:
        if feature.unit and (feature.kind != "numeric" or feature.dated):
            what = "dates" if feature.kind == "numeric" else f"a {feature.kind} column"
            where = place(source, feature.name)
            raise InputError(f"{feature.unit!r} as the unit of {what}", where=where, fix="only numbers have a unit")
