"""Inference: what kind each column is, whole or in blocks, and a typed, encoded table of them.

A column keeps, in memory or on disk, what its kind depends on: numbers, or the numbers of distinct texts. A table in
blocks and the same table in one piece have the same features, codes, notes and digest.

Numbers are numeric, Boolean where all are 0 or 1; text is numeric or Boolean where all of it is, a text where its cells
are sentences, else categorical (see `rulekit.tables.kinds.choice`). Missing: the empty cell, NaN, None and what the
user declares; other likely tokens are reported in the notes, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.dates import is_dated
from rulekit.errors import InputError
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Display, Feature
from rulekit.tables.kinds.builders import (
    Dictionary,
    KnownWords,
    NumberBuilder,
    TextAllowance,
    TextBuilder,
    as_number_column,
    with_vocabulary,
)
from rulekit.tables.kinds.choice import DecidedFeature, are_sentences, decide_levels, ranks_of_keys, read_keys
from rulekit.tables.kinds.dress import dress_of, zeros_note
from rulekit.tables.kinds.encoding import boolean_values, numeric_values
from rulekit.tables.kinds.hints import hints_of, notes_of
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions, base_kind, levels_declared
from rulekit.tables.raw.columns import (
    Column,
    LevelColumn,
    NumberColumn,
    RawTable,
    TextColumn,
    TokenColumn,
    as_floats,
    as_texts,
    bare,
    blank_tokens,
    column_length,
    column_place,
    large_integer,
    large_integers,
    narrow_values,
    natural_order,
    number_values,
    parse_numbers,
    refuse_large_integers,
)
from rulekit.tables.raw.columns import place as placed
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Array, EncodedColumn, HeldColumn, Memory, Store, StoredColumn, Table, arrays_of

NUMERIC_KINDS: dict[str, Display] = {"numeric": "plain", "date": "date", "datetime": "datetime", "money": "money"}


class KindChanged(Exception):  # noqa: N818 - a signal, not an error
    """A column that was all numbers so far holds a text, and its file has to be read again as text."""


@dataclass(slots=True, eq=False)
class ColumnBuilder:
    """One feature column while it comes: numbers, or a dictionary of texts, whichever its blocks ask for.

    reread: whether the source can be read again, so that numbers need not be turned back into the texts they were.
    """

    feature: Feature
    options: ReadingOptions
    source: str
    store: Store | Memory
    allowance: TextAllowance
    reread: bool = False
    numbers: NumberBuilder | None = None
    keys: Dictionary | None = None
    texts: TextBuilder | KnownWords | None = None
    _pending: list[tuple[int, np.dtype[np.generic]]] = field(default_factory=list)
    _decimal: str = "."
    _seconds: bool | None = None
    _unit: str = ""
    _listed: tuple[tuple[str, ...], bool] | None = None
    _same_levels: bool = True

    @property
    def name(self) -> str:
        return self.feature.name

    @property
    def kind(self) -> str:
        return base_kind(self.options.types.get(self.name, ""))

    @property
    def tokens(self) -> tuple[str, ...]:
        return self.feature.missing_tokens

    @property
    def rows(self) -> int:
        if self.numbers is not None:
            return self.numbers.rows
        if self.texts is not None:
            return self.texts.rows
        return self.keys.rows if self.keys is not None else sum(rows for rows, _ in self._pending)

    def add(self, column: Column) -> None:
        """The next rows; raises InputError naming row and column, KindChanged where the file must be read again."""
        column = replace(column, first_row=self.rows)
        if isinstance(column, TextColumn):
            self._decimal = column.decimal
            column = blank_tokens(column, self.tokens)
        kind = self.kind
        if kind == "text" or (isinstance(column, TokenColumn) and not kind):
            self._add_texts(column)
        elif isinstance(column, TokenColumn):
            where, fix = column_place(self.source, self.name), "leave the declaration out, or declare it text"
            raise InputError(f"a column of words is not {kind}", where=where, fix=fix)
        elif kind == "boolean":
            self._add_numbers(boolean_values(column, self.feature, self.source), np.dtype(np.bool_))
        elif kind in NUMERIC_KINDS:
            if isinstance(column, NumberColumn):
                self._note_time(column)
            feature = replace(self.feature, display=NUMERIC_KINDS[kind])
            column = replace(column, dressed=True) if isinstance(column, TextColumn) else column
            self._add_numbers(numeric_values(column, feature, self.source), np.dtype(np.float64))
        elif kind == "categorical" or kind.startswith("ordered:") or isinstance(column, LevelColumn):
            self._add_keys(column)
        elif _is_empty(column):
            self._add_missing(column_length(column), _dtype(column))
        elif isinstance(column, TextColumn):
            self._add_keys(column)
        elif self.keys is not None:
            if self.reread:
                raise KindChanged(self.name)
            self._add_keys(column)
        else:
            self._note_time(column)
            self._unit = self._unit or column.unit
            narrow = None if self.tokens else narrow_values(column)
            values = number_values(column, self.tokens) if narrow is None else narrow
            refuse_large_integers(column, values, self.source)
            self._add_numbers(values, column.values.dtype, bool(column.time))

    def _add_texts(self, column: Column) -> None:
        if self.texts is None:
            self.texts = (
                KnownWords(column.words)
                if isinstance(column, TokenColumn)
                else TextBuilder(self.name, self.source, self.allowance)
            )
        if isinstance(self.texts, KnownWords):
            if not isinstance(column, TokenColumn) or column.words != self.texts.words:
                where, fix = column_place(self.source, self.name), "give every block the same words"
                raise InputError("the words differ between blocks of rows", where=where, fix=fix)
            self.texts.add(column.sets)
        else:
            self.texts.add(as_texts(column, self.tokens))

    def _note_time(self, column: NumberColumn) -> None:
        if self._seconds is None:
            self._seconds = bool(column.time)
        elif self._seconds != bool(column.time):
            raise InputError(
                "times in one block of rows, numbers in another", where=column_place(self.source, self.name)
            )

    def _add_numbers(self, values: Array, dtype: np.dtype[np.generic], time: bool = False) -> None:
        if self.numbers is None:
            self.numbers = NumberBuilder(self.store)
            for rows, was in self._pending:
                # an empty block does not say what type the others have
                self.numbers.add(np.full(rows, np.nan), dtype if was.kind != "b" else was)
            self._pending = []
        self.numbers.add(values, dtype, time)

    def _add_missing(self, rows: int, dtype: np.dtype[np.generic]) -> None:
        if self.numbers is not None:
            bools = self.numbers.bools
            self.numbers.add(np.full(rows, np.nan), np.dtype(np.bool_) if bools else np.dtype(np.float64))
        elif self.keys is not None:
            self.keys.add_missing(rows)
        else:
            self._pending.append((rows, dtype))

    def _add_keys(self, column: Column) -> None:
        if self.keys is None:
            if self.numbers is not None and self.reread:
                raise KindChanged(self.name)
            self.keys = Dictionary(self.name, self.store, self.allowance, self.source)
            self._turn_into_keys(self.keys)
        if isinstance(column, LevelColumn):
            self._note_levels(column)
        self.keys.add(column, self.tokens)

    def _turn_into_keys(self, keys: Dictionary) -> None:
        """What came before the first text."""
        for rows, _ in self._pending:
            keys.add_missing(rows)
        self._pending = []
        if self.numbers is not None:
            for values, (_, dtype) in zip(self.numbers.pieces(), self.numbers.dtypes, strict=True):
                keys.add(as_number_column(self.name, values, dtype), self.tokens)
            self.numbers.remove()
            self.numbers = None

    def _note_levels(self, column: LevelColumn) -> None:
        if self._listed is None:
            self._listed = (column.levels, column.ordered)
        elif self._listed != (column.levels, column.ordered):
            if column.ordered or self._listed[1]:
                where, fix = column_place(self.source, self.name), "give every block the same ordered categories"
                raise InputError("the order of the levels differs between blocks of rows", where=where, fix=fix)
            self._same_levels = False

    # The whole column ----------------------------------------------------------------------------------------------

    def encoded(self) -> tuple[DecidedFeature, EncodedColumn]:
        """The feature, decided, and its encoded column; raises InputError for an undeclared level."""
        if self.texts is not None:
            words, sets = self.texts.built()
            return DecidedFeature(replace(self.feature, kind="text", levels=words)), sets
        if self.keys is not None:
            return self._encoded_keys(self.keys)
        if self.numbers is None:
            first = self._pending[0][1] if self._pending else np.dtype(np.float64)
            bools = bool(self._pending) and all(dtype.kind == "b" for _, dtype in self._pending)
            self._add_numbers(np.zeros(0), first if bools else np.dtype(np.float64))
        assert self.numbers is not None
        feature, width = self.feature, self.options.precision.get(self.name)
        if self.kind == "boolean":
            return self.numbers.encoded(replace(feature, kind="boolean"))
        seconds = bool(self._seconds)
        if self.kind in NUMERIC_KINDS:
            return self.numbers.encoded(feature, NUMERIC_KINDS[self.kind], width, seconds=seconds)
        if seconds:
            return (
                self.numbers.in_days().encoded(feature, "date")
                if self.numbers.whole_days
                else self.numbers.encoded(feature, "datetime", seconds=True)
            )
        if self.numbers.bools or (self.numbers.present and self.numbers.truth_values):
            return self.numbers.encoded(replace(feature, kind="boolean"))
        return self.numbers.encoded(replace(feature, unit=feature.unit or self._unit), width=width)

    def _encoded_keys(self, dictionary: Dictionary) -> tuple[DecidedFeature, EncodedColumn]:
        keys, counts, place = dictionary.ordered()
        kind = self.kind
        listed = dictionary.kind() is LevelColumn
        if kind.startswith("ordered:"):
            feature = _declared_levels(self.feature, kind)
            ranks = ranks_of_keys(feature, keys)
            unknown = np.flatnonzero((ranks < 0) & (counts > 0))
            if len(unknown):
                row, key = dictionary.first_row(np.flatnonzero(np.isin(place, unknown)))
                what = f"level {key!r} is not among the declared {', '.join(feature.levels)}"
                fix = "add it to the order, or declare it missing"
                raise InputError(what, where=placed(self.source, row, self.name), fix=fix)
            return DecidedFeature(feature), self._codes(dictionary, ranks[place])
        if kind == "categorical" or listed:
            if listed and not self._same_levels:
                order = natural_order(keys)
                rank = {key: i for i, key in enumerate(order)}
                place = np.array([rank[key] for key in keys], dtype=np.int64)[place]
                counts, keys = counts[[keys.index(key) for key in order]], order
            ordered = listed and self._listed is not None and self._listed[1]
            decided, lookup = decide_levels(self.feature, keys, counts, listed=listed, ordered=ordered)
            return decided, self._codes(dictionary, lookup[place])
        reading = read_keys(self.feature, keys, counts, self._decimal)
        if reading.lookup is not None and are_sentences(keys, counts) and dress_of(keys) is None:
            return self._text_of_keys(dictionary)
        if reading.lookup is not None:
            return reading.decided, self._codes(dictionary, reading.lookup[place])
        assert reading.values is not None
        self._refuse_large(dictionary)
        decided, column = self._numbers_of(dictionary, reading.decided.feature, reading.values[place])
        return replace(decided, notes=(*decided.notes, *zeros_note(self.name, keys))), column

    def _text_of_keys(self, dictionary: Dictionary) -> tuple[DecidedFeature, EncodedColumn]:
        """A column of sentences, each distinct one of which is tokenised once."""
        import polars as pl

        sentences = TextBuilder(self.name, self.source, self.allowance)
        sentences.add(pl.Series([*dictionary.number_of, None], dtype=pl.String))  # the last one is for -1
        number = np.concatenate([np.zeros(0, np.int32), *dictionary.numbers().parts()])
        dictionary.numbers().remove()
        words, sets = with_vocabulary(list(sentences.number_of), sentences.sets()[number])
        note = (
            f"column {self.name!r} is read as text, whose words are conditions; "
            f"--type {self.name}=categorical keeps whole texts as levels"
        )
        return DecidedFeature(replace(self.feature, kind="text", levels=words), (note,)), sets

    def _refuse_large(self, dictionary: Dictionary) -> None:
        import polars as pl

        keys = TextColumn(self.name, pl.Series(list(dictionary.number_of), dtype=pl.String), self._decimal)
        keys = bare(keys)
        large = large_integers(keys, as_floats(parse_numbers(keys)))
        if large is not None and large.any():
            row, key = dictionary.first_row(np.flatnonzero(large))
            raise large_integer(repr(key), placed(self.source, row, self.name))

    def _numbers_of(
        self, dictionary: Dictionary, feature: Feature, values: np.typing.NDArray[np.float64]
    ) -> tuple[DecidedFeature, StoredColumn | HeldColumn]:
        numbers = NumberBuilder(self.store)
        lookup = np.append(values, np.nan)
        for part in dictionary.numbers().parts():
            numbers.add(lookup[part], np.dtype(np.float64))
        dictionary.numbers().remove()
        return numbers.encoded(feature, width=self.options.precision.get(self.name))

    def _codes(self, dictionary: Dictionary, lookup: np.typing.NDArray[np.int64]) -> StoredColumn | HeldColumn:
        codes = self.store.writer(np.int32)
        table = np.append(lookup + FIRST_LEVEL_CODE, MISSING_CODE).astype(np.int32)  # the last one is for -1
        for part in dictionary.numbers().parts():
            codes.add(table[part])
        dictionary.numbers().remove()
        return codes.column()


def _dtype(column: Column) -> np.dtype[np.generic]:
    return column.values.dtype if isinstance(column, NumberColumn) else np.dtype(np.float64)


def _is_empty(column: Column) -> bool:
    """Whether no cell of a block has a value; such a block says nothing of the column's kind."""
    if isinstance(column, TextColumn):
        return bool(column.cells.null_count() == len(column.cells))
    if isinstance(column, LevelColumn | TokenColumn):
        return False
    if column.missing is None and np.any(column.values[:64] == column.values[:64]):
        return False
    return bool(np.isnan(number_values(column)).all())


def _declared_levels(feature: Feature, kind: str) -> Feature:
    """The feature with the levels of a declaration `ordered:low,mid,high`; raises InputError for an empty level."""
    levels = levels_declared(kind)
    if "" in levels:
        raise InputError(
            f"an empty level in {kind!r}", where=f"type of column {feature.name!r}", fix="ordered:low,mid,high"
        )
    return replace(feature, kind="categorical", levels=levels, ordered=True)


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
