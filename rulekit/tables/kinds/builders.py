"""Columns that come in blocks: numbers with what their kind and width depend on, keys with their numbers, words.

The vocabulary of a text is found in one pass: tokens are numbered as they come; at the end it is sorted, without
function words and tokens of one row only, which no rule could be learned from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.schema import Display, Feature
from rulekit.tables.kinds.choice import (
    FIXED_DECIMALS,
    Counts,
    DecidedFeature,
    Width,
    decide_numbers,
    has_decimals,
    is_number,
    width_of,
)
from rulekit.tables.raw.columns import (
    LARGEST_EXACT_INTEGER,
    SECONDS_PER_DAY,
    Codes,
    Column,
    LevelColumn,
    NumberColumn,
    TextColumn,
    column_place,
    factorize,
)
from rulekit.tables.table import PART, Array, HeldColumn, Memory, Store, StoredColumn, Writer, encoded_dtype
from rulekit.tables.token_sets import TokenSets, distinct_words, hashes_of_words, joined, token_sets, tokenised

if TYPE_CHECKING:
    import polars as pl

_HEAD = 64
_KEY_OVERHEAD = 120


@dataclass(slots=True, eq=False)
class NumberBuilder:
    """Numbers (float32 while that holds them, else float64; NaN is missing), and what is true of all of them.

    present, finite: whether there is such a value; integral, truth_values, whole_days: whether all are; narrow:
    float32 holds them. least: of whole numbers the least. dtypes: rows and dtype of each block that came.
    """

    store: Store | Memory
    present: bool = False
    finite: bool = False
    integral: bool = True
    truth_values: bool = True
    whole_days: bool = True
    narrow: bool = True
    least: float = np.inf
    dtypes: list[tuple[int, np.dtype[np.generic]]] = field(default_factory=list)
    _writer: Writer | HeldColumn = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self.store.writer(np.float32)

    @property
    def rows(self) -> int:
        return self._writer.rows

    @property
    def bools(self) -> bool:
        """Whether the blocks with values, or all if none has any, are bools by their type."""
        return bool(self.dtypes) and all(dtype.kind == "b" for _, dtype in self.dtypes)

    def add(self, values: Array, dtype: np.dtype[np.generic], time: bool = False) -> None:
        """The next rows: doubles with NaN for missing, and the type that they had."""
        fractions = _has_fraction(values[:_HEAD])
        self._learn(values, dtype, time, fractions)
        if self._writer.dtype == np.float32 and not self.narrow:
            self._widen()
        self.dtypes.append((len(values), dtype))
        if isinstance(self._writer, HeldColumn) and values.dtype == np.float32 and fractions:
            self._writer.add(values)  # no truth values, no integers: the rows of an array are used as they are
        else:
            # Minus zero is zero; an infinity of the wider type is one of the narrower, too.
            self._writer.add(values.astype(self._writer.dtype) + self._writer.dtype.type(0))

    def _learn(self, values: Array, dtype: np.dtype[np.generic], time: bool, fractions: bool) -> None:
        if fractions:
            self.finite, self.integral, self.truth_values = True, False, False
        elif np.isnan(values).all():
            return
        self.present = True
        exact = dtype.kind == "b" or (dtype.kind == "f" and dtype.itemsize <= 4) or dtype.itemsize <= 2
        if self.narrow and not exact:
            with np.errstate(over="ignore"):
                self.narrow = bool(((values.astype(np.float32) == values) | np.isnan(values)).all())
        if self.truth_values:
            self.truth_values = bool(((values == 0.0) | (values == 1.0) | np.isnan(values)).all())
        if self.integral or not self.finite or time:
            finite = np.isfinite(values)
            self.finite = self.finite or bool(finite.any())
            if self.integral:
                self.least = min(self.least, float(np.fmin.reduce(values)))
                self.integral = not np.any(finite & (np.rint(values) != values)) and not np.any(
                    finite & (np.abs(values) > LARGEST_EXACT_INTEGER)
                )
            if time and self.whole_days:
                with np.errstate(invalid="ignore"):
                    self.whole_days = not np.any(finite & (np.mod(values, SECONDS_PER_DAY) != 0.0))

    def _widen(self) -> None:
        wide = self.store.writer(np.float64)
        for part in self._writer.column().parts():
            wide.add(part)
        self._writer.remove()
        self._writer = wide

    def pieces(self) -> Iterator[Array]:
        """The values again, in the blocks and the types in which they came; a missing truth value or integer is NaN."""
        column, start = self._writer.column(), 0
        for rows, dtype in self.dtypes:
            values = column.read(start, start + rows)
            start += rows
            yield values if dtype.kind != "f" else values.astype(dtype)

    def remove(self) -> None:
        """Give the space on disk back."""
        self._writer.remove()

    def encoded(
        self, feature: Feature, display: Display = "plain", width: str | None = None, *, seconds: bool = False
    ) -> tuple[DecidedFeature, StoredColumn | HeldColumn]:
        """The feature, decided, and its column as it is encoded; seconds: the values are seconds since 1970-01-01."""
        if feature.kind == "boolean":
            return DecidedFeature(feature), self._as(np.dtype(np.float32))
        decided = decide_numbers(feature, display, self._width(width), seconds)
        if decided.feature.display == "integer" and self.least == 0.0:
            decided = replace(decided, feature=replace(decided.feature, display="count"))
        return decided, self._as(encoded_dtype(decided.feature))

    def in_days(self) -> NumberBuilder:
        """Seconds as days."""
        days = NumberBuilder(self.store)
        for part in self._writer.column().parts():
            days.add(part.astype(np.float64) / SECONDS_PER_DAY, np.dtype(np.float64))
        self.remove()
        return days

    def _width(self, declared: str | None) -> Width | None:
        if not self.present:
            return None
        return width_of(self.integral and self.finite, declared, self._merged, self._fixed_decimal)

    def _merged(self) -> int:
        """How many distinct values fewer there are in float32."""
        if self.narrow:
            return 0
        column = self._writer.column()
        values = column.read().copy() if isinstance(column, HeldColumn) else column.read()
        values.sort()
        n = len(values) - int(np.count_nonzero(np.isnan(values)))
        merged = 0
        with np.errstate(over="ignore"):
            for start in range(0, n - 1, PART):
                wide = values[start : min(start + PART + 1, n)]
                narrow = wide.astype(np.float32)
                merged += int(np.count_nonzero((wide[1:] != wide[:-1]) & (narrow[1:] == narrow[:-1])))
        return merged

    def _fixed_decimal(self) -> bool:
        possible = list(FIXED_DECIMALS)
        for part in self._writer.column().parts():
            finite = part[np.isfinite(part)].astype(np.float64)
            possible = [places for places in possible if has_decimals(finite, places)]
        return bool(possible)

    def _as(self, dtype: np.dtype[np.generic]) -> StoredColumn | HeldColumn:
        """The column in another width."""
        column = self._writer.column()
        if column.dtype == dtype:
            return column
        changed = self.store.writer(dtype)
        with np.errstate(over="ignore"):
            for part in column.parts():
                changed.add(part.astype(dtype))
        column.remove()
        return changed.column()


def _has_fraction(head: Array) -> bool:
    """Whether a finite value is no integer."""
    return bool((np.isfinite(head) & (np.rint(head) != head)).any())


def as_number_column(name: str, values: Array, dtype: np.dtype[np.generic]) -> NumberColumn:
    """A block of a NumberBuilder as the raw column that it came from."""
    if dtype.kind == "f":
        return NumberColumn(name, values)
    missing = np.isnan(values)
    whole = np.where(missing, 0, values).astype(bool if dtype.kind == "b" else np.int64)
    return NumberColumn(name, whole, missing if missing.any() else None)


@dataclass(slots=True, eq=False)
class TextAllowance:
    """How many bytes the distinct texts of all columns together may still take."""

    left: int = 1 << 62


@dataclass(slots=True, eq=False)
class Dictionary:
    """Keys by number, in the order in which they came, with their rows; `types`: of the columns that they are from."""

    name: str
    store: Store | Memory
    allowance: TextAllowance
    source: str = ""
    number_of: dict[str, int] = field(default_factory=dict)
    types: set[type[Column]] = field(default_factory=set)
    _counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _in_order: bool = True
    _codes: Writer | HeldColumn = field(init=False)

    def __post_init__(self) -> None:
        self._codes = self.store.writer(np.int32)

    @property
    def rows(self) -> int:
        return self._codes.rows

    def add(self, column: Column, tokens: tuple[str, ...] = ()) -> npt.NDArray[np.bool_]:
        """The next rows of the column; says which are missing. Raises InputError where its texts do not fit."""
        keys, codes = factorize(column, tokens)
        if (codes >= 0).any() or isinstance(column, LevelColumn):
            self.types.add(type(column))
        self._write(keys, codes)
        return codes < 0

    def add_missing(self, n_rows: int) -> None:
        """So many rows without a value."""
        self._codes.add(np.full(n_rows, -1, dtype=np.int32))

    def _write(self, keys: list[str], codes: Codes) -> None:
        counts = np.bincount(codes + 1, minlength=len(keys) + 1)[1:]
        fresh = [key for key in keys if key not in self.number_of] if self.number_of else keys
        if fresh:
            self.allowance.left -= sum(map(len, fresh)) + _KEY_OVERHEAD * len(fresh)
            if self.allowance.left < 0:
                what = f"more than {len(self.number_of)} different texts do not fit into the allowed memory"
                fix = "ignore the column, or allow more memory"
                raise InputError(what, where=column_place(self.source, self.name), fix=fix)
        if not self.number_of:  # the codes of the first keys are their numbers, and they are in order
            self.number_of = dict(zip(keys, range(len(keys)), strict=True))
            self._counts = counts
            self._codes.add(codes)
            return
        self._in_order = self._in_order and not fresh
        for key in fresh:
            self.number_of[key] = len(self.number_of)
        number = np.array([*(self.number_of[key] for key in keys), -1], dtype=np.int32)
        self._counts = np.concatenate([self._counts, np.zeros(len(self.number_of) - len(self._counts), np.int64)])
        np.add.at(self._counts, number[:-1], counts)
        self._codes.add(number[codes])

    def ordered(self) -> tuple[list[str], Counts, Counts]:
        """The keys in the order of `factorize`, their rows, and the place in that order [keys] of each number.

        Keys that a container listed stay in its order.
        """
        keys = list(self.number_of)
        if self.types == {LevelColumn} or (self._in_order and len(self.types) <= 1):
            return keys, self._counts, np.arange(len(keys))
        if self.types == {NumberColumn} and all(map(is_number, keys)):
            order = sorted(range(len(keys)), key=lambda i: float(keys[i]))
        else:  # text, truth values and dates
            order = sorted(range(len(keys)), key=keys.__getitem__)
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys))
        return [keys[i] for i in order], self._counts[order], place

    def first_row(self, numbers: npt.NDArray[np.int64]) -> tuple[int, str]:
        """The first row that holds one of the numbered keys, and the key."""
        start = 0
        for part in self._codes.column().parts():
            rows = np.flatnonzero(np.isin(part, numbers))
            if len(rows):
                return start + int(rows[0]), list(self.number_of)[part[rows[0]]]
            start += len(part)
        raise AssertionError("no row holds the keys")

    def numbers(self) -> StoredColumn | HeldColumn:
        """The number [n] of each row's key, in order of appearance; -1 is missing."""
        return self._codes.column()

    def kind(self) -> type[Column]:
        """The type of column that the whole would be: text where the blocks differ."""
        return next(iter(self.types)) if len(self.types) == 1 else TextColumn


FEWEST_ROWS = 2
_PIECE = 1 << 22  # bytes of texts whose words are looked at together
_WORD_BYTES = 120  # what a word takes beside its letters
FUNCTION_WORDS = frozenset(
    (
        # articles and determiners
        *("an", "the", "this", "that", "these", "those", "such", "each", "every", "any", "some", "both", "either"),
        # pronouns
        *("he", "she", "it", "we", "you", "they", "him", "her", "us", "them", "me", "my", "your", "his", "its", "our"),
        *("their", "mine", "yours", "hers", "ours", "theirs", "who", "whom", "whose", "which", "what", "itself"),
        *("myself", "yourself", "himself", "herself", "ourselves", "themselves"),
        # prepositions
        *("of", "in", "on", "at", "to", "for", "from", "by", "with", "about", "into", "onto", "upon", "as", "than"),
        *("through", "during", "between", "among", "via", "per"),
        # conjunctions and adverbs of place and time that join sentences
        *("and", "or", "but", "if", "so", "because", "while", "when", "where", "how", "why", "whether", "then"),
        *("there", "here", "also", "too", "very", "just"),
        # auxiliary verbs
        *("am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "done", "has", "have"),
        *("had", "having", "will", "would", "shall", "should", "can", "could", "may", "might", "must"),
        # ends behind an apostrophe
        *("ll", "re", "ve", "don", "doesn", "didn", "isn", "aren", "wasn", "weren", "hasn", "haven", "hadn", "won"),
    )
)
"""Articles, pronouns, prepositions, conjunctions and auxiliary verbs; negations and numbers are no part of them."""


@dataclass(slots=True, eq=False)
class TextBuilder:
    """A text column while its rows come."""

    name: str
    source: str
    allowance: TextAllowance
    number_of: dict[str, int] = field(default_factory=dict)
    parts: list[TokenSets] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(map(len, self.parts))

    def add(self, texts: pl.Series) -> None:
        """The next texts; null is missing. Raises InputError where their words do not fit into the allowed memory."""
        step = max(1, len(texts) * _PIECE // max(1, int(texts.str.len_bytes().sum())))
        for start in range(0, max(1, len(texts)), step):
            self._add(texts[start : start + step])

    def _add(self, texts: pl.Series) -> None:
        words, lengths = tokenised(texts)
        keys, codes = distinct_words(words)
        fresh = [key for key in keys if key not in self.number_of]
        self.allowance.left -= sum(map(len, fresh)) + _WORD_BYTES * len(fresh)
        for key in fresh:
            self.number_of[key] = len(self.number_of)
        lookup = np.array([self.number_of[key] for key in keys], dtype=np.int64)
        rows = np.repeat(np.arange(len(texts)), lengths)
        part = token_sets(rows, lookup[codes], texts.is_null().to_numpy(), len(self.number_of))
        self.allowance.left -= part.nbytes
        if self.allowance.left < 0:
            where, fix = column_place(self.source, self.name), "ignore the column, or allow more memory"
            raise InputError("the words of its texts do not fit into the allowed memory", where=where, fix=fix)
        self.parts.append(part)

    def built(self) -> tuple[tuple[str, ...], TokenSets]:
        """The vocabulary, sorted, and the sets over it."""
        return with_vocabulary(list(self.number_of), self.sets())

    def sets(self) -> TokenSets:
        """The sets over all words, in the order in which these came."""
        return joined(self.parts, len(self.number_of))


@dataclass(slots=True, eq=False)
class KnownWords:
    """A column of sets over words that are known, while its rows come; each word of it may be named by a rule."""

    words: tuple[str, ...]
    parts: list[TokenSets] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return sum(map(len, self.parts))

    def add(self, sets: TokenSets) -> None:
        """The next rows."""
        self.parts.append(sets)

    def column(self) -> TokenSets:
        """The sets of all rows."""
        return joined(self.parts, len(self.words))

    def built(self) -> tuple[tuple[str, ...], TokenSets]:
        """The words and the sets over them."""
        return self.words, self.column()


def with_vocabulary(words: list[str], sets: TokenSets) -> tuple[tuple[str, ...], TokenSets]:
    """The words that a rule may name, sorted, and the sets over them alone, which keep the hashes of all words."""
    sets = replace(sets, all_words=sets.hashes_of_all_words(hashes_of_words(words)))
    rows_with = sets.rows_with()
    kept = sorted(
        word for word, rows in zip(words, rows_with, strict=True) if rows >= FEWEST_ROWS and word not in FUNCTION_WORDS
    )
    place = {word: number for number, word in enumerate(kept)}
    lookup = np.array([place.get(word, -1) for word in words], dtype=np.int64)
    return tuple(kept), sets.renumbered(lookup, len(kept))
