"""Columns that come in blocks: numbers with what their kind and width depend on, keys with their numbers, words.

The vocabulary of a text is found in one pass: tokens are numbered as they come; at the end it is sorted, without
function words and tokens of one row only, which no rule could be learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Bools, Ints, pl
from rulekit.schema import Display, Feature, is_currency
from rulekit.tables.raw.columns import (
    LARGEST_EXACT_INTEGER,
    SECONDS_PER_DAY,
    Column,
    LevelColumn,
    NumberColumn,
    factorize,
    natural_order,
    place,
)
from rulekit.tables.table import PART, Array, EncodedColumn, HeldColumn, Store, StoredColumn, encoded_dtype
from rulekit.tables.token_sets import TEXT_DTYPE, TokenSets, distinct_words, hashes_of_words, token_sets, tokenised

_HEAD = 64
_KEY_OVERHEAD = 120


@dataclass(frozen=True, slots=True, eq=False)
class DecidedColumn:
    """A feature and its encoded column, with what a user should hear about it.

    merged: how many distinct values rounding to float32 merged. suspects: levels that may mean missing, and their rows.
    """

    feature: Feature
    column: EncodedColumn
    notes: tuple[str, ...] = ()
    merged: int = 0
    suspects: tuple[str, ...] = ()


class NumberBuilder:
    """Numbers, NaN for missing: float32 while that holds them, else float64; with the rows and dtype of each block."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.column: EncodedColumn = store.writer(np.float32)
        self._blocks: list[tuple[int, np.dtype[np.generic]]] = []
        self.valued: set[str] = set()
        """The kinds of the dtypes of blocks with values."""

    @property
    def rows(self) -> int:
        return self.column.rows

    def add(self, values: Array, dtype: np.dtype[np.generic], *, empty: bool = False) -> None:
        """The next rows: numbers, and the type that they had; empty: none of them is there."""
        exact = dtype.kind == "b" or (dtype.kind == "f" and dtype.itemsize <= 4) or dtype.itemsize <= 2
        if self.column.dtype == np.float32 and not exact:
            with np.errstate(over="ignore"):
                narrow = (values.astype(np.float32) == values) | np.isnan(values)
            self.column = self._as(np.dtype(np.float32 if narrow.all() else np.float64))
        self._blocks.append((len(values), dtype))
        self.valued |= set() if empty else {dtype.kind}
        held = isinstance(self.column, HeldColumn) and values.dtype == self.column.dtype == np.float32
        if held and _has_fraction(values[:_HEAD]) and not _has_minus_zero(values):
            self.column.add(values)  # no truth values, no integers: the rows of an array are used as they are
        else:
            # Minus zero is zero; an infinity of the wider type is one of the narrower, too.
            self.column.add(values.astype(self.column.dtype) + self.column.dtype.type(0))

    def blocks(self, name: str) -> Iterator[NumberColumn]:
        """The blocks as they came; a missing truth value or integer is marked."""
        start = 0
        for rows, dtype in self._blocks:
            values = self.column.read(start, start + rows)
            start += rows
            if dtype.kind == "f":
                yield NumberColumn(name, values.astype(dtype))
                continue
            missing = np.isnan(values)
            whole = np.where(missing, 0, values).astype(bool if dtype.kind == "b" else np.int64)
            yield NumberColumn(name, whole, missing if missing.any() else None)

    def in_days(self) -> NumberBuilder | None:
        """Seconds as days; None where they are no whole ones."""
        for part in self.column.parts():
            finite = part[np.isfinite(part)].astype(np.float64)
            if np.any(np.mod(finite, SECONDS_PER_DAY) != 0.0):
                return None
        days = NumberBuilder(self._store)
        for part in self.column.parts():
            days.add(part.astype(np.float64) / SECONDS_PER_DAY, np.dtype(np.float64))
        self.column.remove()
        return days

    def encoded(
        self, feature: Feature, display: Display | None = None, width: str | None = None, *, seconds: bool = False
    ) -> DecidedColumn:
        """The column under its feature, which is decided: its width, how it is shown.

        display: None where it may be Boolean. width: as declared; else float64 only if the values are integers or fixed
        decimals that lie closer than float32 can tell apart. seconds: the values are seconds since 1970-01-01.
        """
        present, truths, whole, least = self._facts()
        kinds = self.valued or {dtype.kind for _, dtype in self._blocks}
        if feature.kind == "boolean" or (display is None and (kinds == {"b"} or (present and truths))):
            return DecidedColumn(replace(feature, kind="boolean"), self._as(np.dtype(np.float32)))
        if not present:
            note = f"column {feature.name!r} has no values; it is kept as numeric"
            return DecidedColumn(feature, self._as(encoded_dtype(feature)), (note,))
        display = "datetime" if seconds and display != "date" else display or "plain"
        wide = width == "float64" or display == "datetime" or (width is None and self._are_too_fine(whole))
        if display == "plain" and whole:
            display = "count" if least == 0.0 else "integer"
        if is_currency(feature.unit) and display in ("plain", "integer", "count"):
            display = "money"
        feature = replace(feature, precision="float64" if wide else "float32", display=display)
        note = f"column {feature.name!r} is kept in float64, since float32 would merge its values"
        notes = (note,) if wide and display != "datetime" else ()
        merged = 0 if wide else self._merged()
        return DecidedColumn(feature, self._as(encoded_dtype(feature)), notes, merged)

    def _facts(self) -> tuple[bool, bool, bool, float]:
        """Whether there is a value, all are 0 or 1, all finite ones integers of at most 2^53; and the least one."""
        present = finite = False
        truths, whole, least = True, True, np.inf
        for part in self.column.parts():
            if _has_fraction(part[:_HEAD]):
                return True, False, False, least
            known = part[~np.isnan(part)]
            if not len(known):
                continue
            present, least = True, min(least, float(known.min()))
            truths = truths and bool(((known == 0.0) | (known == 1.0)).all())
            known = known[np.isfinite(known)]
            finite = finite or len(known) > 0
            whole = whole and not _miss(known, 0).any()
        return present, truths, whole and finite, least

    def _are_too_fine(self, whole: bool) -> bool:
        """Whether numbers with so many places as these have lie closer than float32 tells the largest of them apart.

        One value decides, not two that collide, so that parts of the rows agree with all of them.
        """
        if self.column.dtype == np.float32:
            return False
        largest, left = 0.0, [0] if whole else list(_PLACES)
        for part in self.column.parts():
            finite = part[np.isfinite(part)]
            largest = max(largest, float(np.abs(finite).max(initial=0.0)))
            left = left if whole else [places for places in left if not _miss(finite, places).any()]
            if not left:
                return False
        with np.errstate(over="ignore", invalid="ignore"):
            return bool(np.spacing(np.float32(largest)) > 10.0 ** -left[0])

    def witnesses(self, *, seconds: bool = False) -> list[int]:
        """A few rows that decide what `encoded` decides as all rows do, beside those of other parts too."""
        values = self.column.read()
        rows = _deciding(values)
        if seconds:
            days = values.astype(np.float64) / SECONDS_PER_DAY
            rows += _deciding(days) + _first(days, lambda part: _miss(part, 0))
        return sorted(set(rows))

    def _merged(self) -> int:
        """How many distinct values fewer there are in float32."""
        if self.column.dtype == np.float32:
            return 0
        values = self.column.read() if isinstance(self.column, StoredColumn) else self.column.read().copy()
        values.sort()
        n = len(values) - int(np.count_nonzero(np.isnan(values)))
        merged = 0
        with np.errstate(over="ignore"):
            for start in range(0, n - 1, PART):
                wide = values[start : min(start + PART + 1, n)]
                narrow = wide.astype(np.float32)
                merged += int(np.count_nonzero((wide[1:] != wide[:-1]) & (narrow[1:] == narrow[:-1])))
        return merged

    def _as(self, dtype: np.dtype[np.generic]) -> EncodedColumn:
        """The column in another width."""
        if self.column.dtype == dtype:
            return self.column
        changed = self._store.writer(dtype)
        with np.errstate(over="ignore"):
            for part in self.column.parts():
                changed.add(part.astype(dtype) + dtype.type(0))  # what is too small for the narrower is zero
        self.column.remove()
        return changed


_PLACES = range(1, 7)
"""How many decimal places numbers may have that count as fixed decimals."""


def _miss(values: Array, places: int) -> Bools:
    """Which finite values are not the doubles nearest decimals of so many places, or too large for that."""
    scale = 10.0**places
    with np.errstate(over="ignore"):
        scaled = np.rint(values * scale if places else values)
        return np.asarray((np.abs(scaled) > LARGEST_EXACT_INTEGER) | ((scaled / scale if places else scaled) != values))


def _first(values: Array, odd: Callable[[Array], Bools]) -> list[int]:
    """The number of the first value that is odd, if there is one; mostly it is among the very first."""
    for part in (values[:_HEAD], values):
        if (found := odd(part)).any():
            return [int(np.argmax(found))]
    return []


def _deciding(values: Array) -> list[int]:
    """Of numbers the rows that show each fact of `NumberBuilder` which any of them shows."""
    finite, rows = np.isfinite(values), list[int]()
    if not finite.all():
        rows = [row for odd in (np.isposinf, np.isneginf) for row in _first(values, odd)]
        rows += _first(values, np.isfinite)
        values = np.where(finite, values, values[rows[-1]]) if finite.any() else values[:0]  # by one that is there
    if not len(values):
        return rows
    least, most = int(values.argmin()), int(values.argmax())
    whole = _first(values, lambda part: _miss(part, 0))
    rows += [least, most, *whole]
    if values.dtype != np.float32:
        with np.errstate(over="ignore"):
            rows += _first(values, lambda part: part.astype(np.float32) != part)
    if whole or max(-values[least], values[most]) > _SURELY_FIXED:
        for places in _PLACES:
            rows += _first(values, lambda part: _miss(part.astype(np.float64), places))  # noqa: B023
    return rows


_SURELY_FIXED = LARGEST_EXACT_INTEGER // 10**6
"""A whole number up to here is a decimal of any number of places."""


def _has_minus_zero(values: Array) -> bool:
    """Whether a float32 column is found to hold minus zero; one of a matrix, through which it takes long, is not."""
    return values.flags.c_contiguous and bool((values.view(np.int32) == np.iinfo(np.int32).min).any())


def _has_fraction(head: Array) -> bool:
    """Whether a finite value is no integer."""
    return bool((np.isfinite(head) & (np.rint(head) != head)).any())


@dataclass(slots=True, eq=False)
class Dictionary:
    """Keys by number, in the order in which they came, and the number [n] of each row's key, -1 for missing.

    counts: the rows of each; types: of the columns that they are from; lists: of levels that a container listed.
    """

    name: str
    store: Store
    source: str = ""
    number_of: dict[str, int] = field(default_factory=dict)
    types: set[type[Column]] = field(default_factory=set)
    lists: set[tuple[str, ...]] = field(default_factory=set)
    counts: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    numbers: EncodedColumn = field(init=False)

    def __post_init__(self) -> None:
        self.numbers = self.store.writer(np.int32)

    @property
    def rows(self) -> int:
        return self.numbers.rows

    @property
    def listed(self) -> bool:
        """Whether the keys are levels that a container listed; in its order, unless blocks list other ones."""
        return self.types == {LevelColumn}

    def add(self, column: Column, tokens: tuple[str, ...] = (), stands_for: Ints | None = None) -> Bools:
        """The next rows of the column; says which are missing. Raises InputError where its texts do not fit.

        stands_for: how many rows each of them counts for, by default 1.
        """
        keys, codes = factorize(column, tokens)
        if (codes >= 0).any() or isinstance(column, LevelColumn):
            self.types.add(type(column))
        self.lists |= {column.levels} if isinstance(column, LevelColumn) else set()
        fresh = [key for key in keys if key not in self.number_of]
        n_bytes, what = sum(map(len, fresh)) + _KEY_OVERHEAD * len(fresh), f"more than {len(self.number_of)}"
        self.store.spend(n_bytes, f"{what} different texts", place(self.source, self.name))
        self.number_of.update(zip(fresh, range(len(self.number_of), len(self.number_of) + len(fresh)), strict=True))
        number = np.array([*(self.number_of[key] for key in keys), -1], dtype=np.int32)[codes]
        counts = np.bincount(number + 1, stands_for, len(self.number_of) + 1)[1:].astype(np.int64, copy=False)
        counts[: len(self.counts)] += self.counts
        self.counts = counts
        self.numbers.add(number)
        return codes < 0

    def ordered(self) -> tuple[list[str], Ints, Ints]:
        """The keys in the order of `factorize`, their rows, and the place in that order [keys] of each number."""
        keys = list(self.number_of)
        in_order = sorted(keys)
        if self.listed:
            in_order = keys if len(self.lists) == 1 else natural_order(keys)
        elif self.types == {NumberColumn}:
            with suppress(ValueError):  # truth values and dates
                in_order = sorted(keys, key=float)
        order = [self.number_of[key] for key in in_order]
        places = np.empty(len(keys), dtype=np.int64)
        places[order] = np.arange(len(keys))
        return in_order, self.counts[order], places

    def witnesses(self) -> tuple[Ints, Ints]:
        """The first row of each key that a row has, and how many have it."""
        numbers, first = self.numbers.read(), np.empty(len(self.counts) + 1, dtype=np.int64)
        first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several rows the last one stays
        used = np.flatnonzero(self.counts)
        return first[used], self.counts[used]

    def first_row(self, wanted: Bools) -> tuple[int, str]:
        """The first row that holds one of the wanted keys [keys] by number, of which some row does, and the key."""
        start, keys = 0, np.append(wanted, False)  # the last one is for -1
        for part in self.numbers.parts():
            if keys[part].any():
                row = int(np.argmax(keys[part]))
                return start + row, list(self.number_of)[part[row]]
            start += len(part)
        raise AssertionError("no row holds the keys")


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
    """A text column while its rows come; words: those of a column of sets, each of which may be named by a rule."""

    name: str
    source: str
    store: Store
    words: tuple[str, ...] | None = None
    number_of: dict[str, int] = field(default_factory=dict)
    sets: HeldColumn = field(default_factory=lambda: HeldColumn(TEXT_DTYPE))

    @property
    def rows(self) -> int:
        return self.sets.rows

    def add(self, texts: pl.Series) -> None:
        """The next texts; null is missing. Raises InputError where their words do not fit into the allowed memory."""
        step = max(1, len(texts) * _PIECE // max(1, int(texts.str.len_bytes().sum())))
        for part in (texts[start : start + step] for start in range(0, max(1, len(texts)), step)):
            words, lengths = tokenised(part)
            keys, codes = distinct_words(words)
            fresh = [key for key in keys if key not in self.number_of]
            for key in fresh:
                self.number_of[key] = len(self.number_of)
            lookup = np.array([self.number_of[key] for key in keys], dtype=np.int64)
            rows = np.repeat(np.arange(len(part)), lengths)
            sets = token_sets(rows, lookup[codes], part.is_null().to_numpy(), len(self.number_of))
            n_bytes = sum(map(len, fresh)) + _WORD_BYTES * len(fresh) + sets.nbytes
            self.store.spend(n_bytes, "the words of its texts", place(self.source, self.name))
            self.sets.add(sets)

    def encoded(self, feature: Feature) -> DecidedColumn:
        """The column under its feature, whose levels are the words that a rule may name."""
        sets = self.sets.read()
        words, sets = with_vocabulary(list(self.number_of), sets) if self.words is None else (self.words, sets)
        return DecidedColumn(replace(feature, kind="text", levels=words), HeldColumn(TEXT_DTYPE, sets))


def with_vocabulary(words: list[str], sets: TokenSets) -> tuple[tuple[str, ...], TokenSets]:
    """The words that a rule may name, sorted, and the sets over them alone, which keep the hashes of all words."""
    sets = replace(sets, all_words=sets.hashes_of_all_words(hashes_of_words(words)))
    rows_with = zip(words, sets.rows_with(), strict=True)
    kept = sorted(word for word, rows in rows_with if rows >= FEWEST_ROWS and word not in FUNCTION_WORDS)
    number_of = {word: number for number, word in enumerate(kept)}
    lookup = np.array([number_of.get(word, -1) for word in words], dtype=np.int64)
    return tuple(kept), sets.renumbered(lookup, len(kept))
