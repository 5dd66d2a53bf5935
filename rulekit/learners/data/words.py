"""The words of text columns as binned columns, so that every learner can make conditions of them.

Of each text the words are taken that tell most of some class: by their expected information gain, each class against
the rest, of at least LEAST_GAIN nats, and in rows of enough weight. A word is a column like a Boolean one: code 1 where
the text has it not, 2 where it has, 0 where the text is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Ints
from rulekit.graph.language.words import listed
from rulekit.learners.data.binning import (
    BinnedColumn,
    DiskCodes,
    MemoryCodes,
    assigned,
    boolean_codes,
    code_type,
    numeric_column,
)
from rulekit.learners.data.folds import mix
from rulekit.learners.data.problem import Problem, WordColumn, cut_of, with_columns
from rulekit.learners.sums_of_rows.histograms import gain_of_each_class, word_counts
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import StoredArrays, Table
from rulekit.tables.token_sets import TokenSets

LEAST_GAIN = 0.005
MOST_WORDS = 200
"""Words of one text column, each of which takes a byte a row."""


def with_words(problem: Problem, table: Table, n_classes: int, least: int = 0) -> Problem:
    """The problem with a column more for each word of the texts of a table that is worth a condition.

    The labels of the problem are class indices; least: the least weight, in units, of the rows with a word.
    """
    columns = [
        _column(feature, index, feature.levels[word])
        for index, feature, sets in _texts(table)
        for word in telling_words(sets, problem.labels, n_classes, problem.weights, least)
    ]
    return with_word_columns(problem, table, columns)


def with_word_columns(problem: Problem, table: Table, columns: Sequence[WordColumn]) -> Problem:
    """The problem with columns of words, ordered by the column of their text, behind its own; table: the rows."""
    if not columns:
        return problem
    codes, texts = list[npt.NDArray[np.uint8]](), np.zeros(len(problem.labels), dtype=np.uint64)
    for index, feature, sets in _texts(table):
        number_of = {word: number for number, word in enumerate(feature.levels)}
        codes += _word_codes(sets, [number_of[column.word] for column in columns if column.index == index])
        # columns ask for few of the words, and rows are equal where all of them are
        mix(texts, sets.hashes())
    return with_columns(replace(problem, texts=texts), columns, codes)


def without_mute_words(problem: Problem, labels: Array) -> Problem:
    """The problem in which a word that tells too little of every class is as if no text had it.

    labels [n]: the class index of each row. Of the rows of a fold words are left out that only the others speak for.
    """
    n_classes, codes = int(labels.max(initial=0)) + 1, problem.codes
    own = [k for k, column in enumerate(problem.columns) if isinstance(column, WordColumn)]
    tables = [
        np.bincount(codes[k] * n_classes + labels, problem.weights, 3 * n_classes).reshape(3, n_classes) for k in own
    ]
    # A missing text has no word, as in `word_counts`.
    counts = np.array([[table[0] + table[1], table[2]] for table in tables]).reshape(len(own), 2, n_classes)
    mute = [k for k, gain in zip(own, gain_of_each_class(counts), strict=True) if gain.max() < LEAST_GAIN]
    if not mute:
        return problem
    return replace(problem, codes=codes.with_arrays({k: np.minimum(codes[k], 1) for k in mute}))


def telling_words(sets: TokenSets, labels: Array, n_classes: int, weights: Array, least: int = 0) -> list[int]:
    """The words, by their numbers in the order of the vocabulary, that tell most of some class; at most MOST_WORDS."""
    counts = word_counts(sets, labels, n_classes, weights)
    gain = gain_of_each_class(counts).max(axis=-1, initial=0.0)
    gain[counts[:, 1].sum(axis=-1) < least] = 0.0
    best = np.argsort(-gain, kind="stable")[:MOST_WORDS]
    return sorted(best[gain[best] >= LEAST_GAIN].tolist())


def _texts(table: Table) -> Iterator[tuple[int, Feature, TokenSets]]:
    held = table.arrays.columns if isinstance(table.arrays, StoredArrays) else table.arrays
    for index, (feature, sets) in enumerate(zip(table.features, held, strict=True)):
        if isinstance(sets, TokenSets) and feature.role == "use":
            yield index, feature, sets


def _column(feature: Feature, index: int, word: str) -> WordColumn:
    return WordColumn(replace(feature, kind="boolean", levels=()), index, 3, word=word)


def _word_codes(sets: TokenSets, words: list[int]) -> list[npt.NDArray[np.uint8]]:
    starts, rows = sets.by_token()
    absent = np.where(sets.missing, 0, 1).astype(np.uint8)
    found = []
    for word in words:
        codes = absent.copy()
        codes[rows[starts[word] : starts[word + 1]]] = 2
        found.append(codes)
    return found


_LOOKED_AT = 2048
_MOST_NAMED = 3


def without_twins(
    columns: tuple[BinnedColumn, ...], codes: MemoryCodes | DiskCodes, named: Collection[str]
) -> tuple[tuple[BinnedColumn, ...], MemoryCodes | DiskCodes, tuple[str, ...]]:
    """The columns and their codes without those that part all rows as one that stays does, and a note that names them.

    named: columns that stay, whatever they say. Atoms of a structure stay, and columns of one value.
    """
    kept, pairs, same = list(range(len(columns))), list[str](), True
    for group in _alike(columns, codes):
        first = min(group, key=lambda place: (columns[place].feature.name not in named, place))
        begun = f"{columns[first].feature.name!r} and "
        for place in group:
            if place != first and columns[place].feature.name not in named:
                kept.remove(place)
                pairs.append(f"{begun}not {columns[place].feature.name!r}")
                begun = ""
                same = same and columns[place].ordered and np.array_equal(codes[first], codes[place])
    if not pairs:
        return columns, codes, ()
    shown = [*pairs[:_MOST_NAMED], f"{len(pairs) - _MOST_NAMED} more"] if len(pairs) > _MOST_NAMED + 1 else pairs
    why = "they put the rows in the same order" if same else "they part the rows alike"
    return tuple(columns[place] for place in kept), codes.of_columns(kept), (f"rulekit uses {listed(shown)}: {why}",)


def _alike(columns: Sequence[BinnedColumn], codes: MemoryCodes | DiskCodes) -> list[list[int]]:
    """The groups of columns that part the rows alike; most differ in the first rows, and no other row is looked at."""
    places = [place for place, column in enumerate(columns) if column.n_codes > 2 and column.feature.atom is None]
    _, head = next(codes.parts(_LOOKED_AT), (slice(0), codes))
    groups = [places]
    for rows in (head, codes):
        found: dict[tuple[int, bool, int, bytes], list[int]] = {}
        for number, group in enumerate(groups):
            for place in group:
                own = rows[place][:_LOOKED_AT] if rows is head else rows[place]
                if rows is head or own.min() != own.max():
                    column = columns[place]
                    said = blake2b(_pattern(own, column).tobytes(), digest_size=16).digest()
                    found.setdefault((number, column.ordered, column.n_codes, said), []).append(place)
        groups = [group for group in found.values() if len(group) > 1]
    return groups


def _pattern(codes: Ints, column: BinnedColumn) -> Ints:
    """The codes [n] in the order that is the first of its two, or by first appearance where they have none."""
    n, new = column.n_codes, np.arange(column.n_codes, dtype=codes.dtype)
    if column.ordered:
        known = codes[(codes > 0) & (codes != n - codes.astype(np.int64))]
        new[1:] = new[:0:-1] if len(known) and 2 * int(known[0]) > n else new[1:]
    else:
        levels, first = np.unique(codes[codes >= FIRST_LEVEL_CODE], return_index=True)
        new[levels[np.argsort(first)]] = np.arange(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(levels))
    return np.asarray(new[codes])


def recoded(rows: Problem, columns: Sequence[BinnedColumn], table: Table, values: Collection[int] = ()) -> Problem:
    """Rows without columns under those of others; table: the rows; values: the columns whose codes are values.

    The columns are those of a table, and behind them those of words.
    """
    own = [column for column in columns if not isinstance(column, WordColumn)]
    found = [
        _with_values(column, table.arrays[column.index])
        if number in values
        else (column, _recoded(column, table.arrays[column.index]))
        for number, column in enumerate(own)
    ]
    codes = MemoryCodes(tuple(codes for _, codes in found))
    rows = replace(rows, columns=tuple(column for column, _ in found), codes=codes)
    return with_word_columns(rows, table, [column for column in columns if isinstance(column, WordColumn)])


def _recoded(column: BinnedColumn, array: Array) -> Array:
    if column.feature.kind == "boolean":
        return boolean_codes(array)
    if column.feature.kind == "categorical":
        number_of = {level: number for number, level in enumerate(column.levels, FIRST_LEVEL_CODE)}
        own = [number_of.get(level, UNSEEN_CODE) for level in column.feature.levels]
        code_of = np.array([MISSING_CODE, UNSEEN_CODE, *own], dtype=code_type(column.n_codes))
        return np.asarray(code_of[array])
    cuts = [cut_of(column, below) for below in range(1, column.n_codes - 1)]
    codes = np.searchsorted(np.array(cuts, dtype=array.dtype), array) + 1  # compared in its precision, as nodes do
    codes[np.isnan(array)] = MISSING_CODE
    codes = np.minimum(codes, column.n_codes - 1)  # it may have been all missing
    return np.asarray(codes, dtype=code_type(column.n_codes))


def _with_values(column: BinnedColumn, array: Array) -> tuple[BinnedColumn, Array]:
    """A numeric column with a code for each value [n], and for the ends that it has had."""
    ends = np.array([column.low[1], column.high[-1]], dtype=array.dtype)
    values = np.unique(np.concatenate([ends, array[~np.isnan(array)]]))
    return numeric_column(column.feature, column.index, values, values), assigned(array, values)
