"""A question with two answers about binned rows, and conditions on their codes as nodes of the rule graph.

Fixed conditions and words of texts may stand in it as further columns.

A fixed condition is a column of its own with two codes. It needs no cut of ours: its node is evaluated on the training
rows once, and stands in the rule graph as it is.

A word is a column too, so that every learner can make conditions of texts: code 1 where the text has it not, 2 where it
has, 0 where the text is missing. Of each text the words are taken that tell most of some class: by their expected
information gain, each class against the rest, of at least LEAST_GAIN nats, and in rows of enough weight.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Hashes, Ints
from rulekit.dates import cut_between
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.words import listed
from rulekit.graph.leaves import leaf_of_codes, negate
from rulekit.graph.nodes import FALSE, TRUE, And, Compare, Contains, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rules import columns_of
from rulekit.learners.data.binning import BinnedColumn, Codes, DiskCodes, MemoryCodes
from rulekit.learners.faults import check_codes
from rulekit.learners.sums_of_rows.histograms import class_totals, gain_of_each_class, word_counts
from rulekit.numbers import threshold_between
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import StoredArrays, Table
from rulekit.tables.token_sets import TokenSets


def mix(h: Hashes, codes: Array) -> None:
    """Take another column of codes [n] into the hashes [n], in place."""
    h ^= codes.astype(np.uint64)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(29)
    h *= np.uint64(0x94D049BB133111EB)
    h ^= h >> np.uint64(32)


_LIGHT = 8


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Binned columns, labels [n] of 0 and 1, quantised weights [n] and what one unit of them weighs.

    texts: a hash [n] of the words of the rows, of which columns ask for some alone (None: there are no texts).
    """

    columns: tuple[BinnedColumn, ...]
    codes: Codes
    labels: Ints
    weights: Ints
    weight_unit: float
    texts: Hashes | None = None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return len(self.labels)

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum()) * self.weight_unit

    @property
    def positive(self) -> float:
        """The weight of the rows with label 1."""
        return self.weight_of(self.labels == 1)

    @property
    def weighted(self) -> bool:
        """Whether not all rows weigh the same."""
        return self.weights.strides != (0,)

    @property
    def in_rows(self) -> Floats:
        """The weights [n] stated in rows."""
        return np.asarray(self.weights * self.weight_unit, dtype=np.float64)

    def weight_of(self, rows: Bools) -> float:
        """The weight of some rows [n]."""
        return float(self.weights[rows].sum()) * self.weight_unit

    def class_weights(self, n_classes: int) -> Floats:
        """The weight [n_classes] of the rows of each label, in units."""
        return class_totals(self.weights, self.labels, n_classes)

    def telling(self, positive: Bools) -> Problem:
        """The same rows with label 1 where their class is among some [K], of which the labels are numbers."""
        if positive.tolist() == [False, True]:
            return self
        return replace(self, labels=positive[self.labels].astype(self.labels.dtype))

    @property
    def in_memory(self) -> bool:
        """Whether the rows are here, and not on disk."""
        return isinstance(self.codes, MemoryCodes) and self.elsewhere is None

    @property
    def elsewhere(self) -> Any:
        """The problem itself where its rows are elsewhere, in parts; see `rulekit.learners.data.parted`."""
        return None

    def silencing(self, classes: Problem, silent: Bools) -> Problem:
        """The problem in which rows of some classes [K] weigh nothing; classes: the same rows, labels are classes."""
        return replace(self, weights=np.where(silent[classes.labels], 0, self.weights))

    def is_few(self, most: int) -> bool:
        """Whether all rows are looked at, where at most so many are; many may be few where they weigh little."""
        return max(self.total, self.n_rows / _LIGHT) <= most

    def here(self) -> Problem:
        """The rows in memory."""
        return self

    def at(self, numbers: Ints) -> Problem:
        """Some rows by their ascending numbers, in memory."""
        return self.take(numbers)

    @property
    def share(self) -> float:
        """The share of the weight that has label 1."""
        return self.positive / self.total

    def take(self, rows: Array | slice) -> Problem:
        """Some of the rows: a Boolean mask [n], row numbers, or a slice of what is in memory."""
        labels = self.labels[rows]
        # Weights that are one number seen n times stay so: see share_equal.
        each = self.weights.strides == (0,) and len(self.weights) > 0
        weights = np.broadcast_to(self.weights[:1], labels.shape) if each else self.weights[rows]
        texts = None if self.texts is None else self.texts[rows]
        return Problem(self.columns, self.codes.take(rows), labels, weights, self.weight_unit, texts)


HOLDS = np.array([False, False, True])
KNOWN = np.array([False, True, True])


@dataclass(frozen=True, slots=True, eq=False)
class FixedColumn(BinnedColumn):
    """A Boolean node as a column: code 1 where it does not hold, 2 where it does; reads: the columns below it."""

    node: Node = FALSE
    reads: tuple[int, ...] = ()
    schema: Schema | None = None

    def condition_node(self, condition: Bools) -> Node:
        """The node of a set of codes: the node itself, its contrary, or a constant."""
        if bool(condition[1]) == bool(condition[2]):
            return TRUE if condition[1] else FALSE
        return self.node if condition[2] else negate(self.node, self.schema)


@dataclass(frozen=True, slots=True, eq=False)
class WordColumn(BinnedColumn):
    """Whether a text has a word; its feature is a Boolean one with the name of the text."""

    word: str = ""

    def holds(self, present: bool, missing: bool) -> Node:
        """The node of the rows that have the word (or have it not), `missing` where the text is missing."""
        if present:
            return Contains(self.feature.name, (self.word,), missing)
        return Not(Contains(self.feature.name, (self.word,), not missing))


def with_fixed(problem: Problem, nodes: Sequence[Node], table: Table, schema: Schema) -> Problem:
    """The problem with one more column for each Boolean node, behind its own; table: the training rows."""
    if not nodes:
        return problem
    values = evaluate_nodes(nodes, table)
    own: dict[str, int] = {}
    for i, column in enumerate(problem.columns):
        own.setdefault(column.feature.name, i)  # fixed conditions, which have names too, stand behind
    columns = []
    for node in nodes:
        names = sorted(columns_of(node))
        feature = schema[names[0]] if names else Feature("")
        reads = tuple(own[name] for name in names if name in own)  # no word of a text may be a column
        columns.append(FixedColumn(feature, -1, 3, node=node, reads=reads, schema=schema))
    return with_columns(problem, columns, [codes_of(values[node]) for node in nodes])


def codes_of(truth: Bools) -> npt.NDArray[np.uint8]:
    """The codes [n] of a fixed condition with these truth values."""
    return np.asarray(1 + truth.view(np.uint8))


def with_columns(problem: Problem, columns: Sequence[BinnedColumn], arrays: Sequence[Array]) -> Problem:
    """The problem with further columns and their codes [n], which stand in memory wherever the others are."""
    codes = problem.codes.with_arrays(dict(enumerate(arrays, start=len(problem.columns))))
    return replace(problem, columns=(*problem.columns, *columns), codes=codes)


# Conditions as nodes -----------------------------------------------------------------------------------------------


def condition_node(column: BinnedColumn, condition: Bools) -> Node:
    """The Boolean node of a set of codes; a level that no training row has, or never seen, is on the side of code 1."""
    if len(condition) != column.n_codes:
        check_codes(condition, column, bool)
    if isinstance(column, FixedColumn):
        return column.condition_node(condition)
    name, missing = column.feature.name, bool(condition[0])
    held = np.flatnonzero(condition[1:]) + 1
    if len(held) == 0:
        return Missing(name) if missing else FALSE
    if column.feature.kind == "categorical":
        return _membership(column, condition)
    if len(held) == column.n_codes - 1:
        return Not(Missing(name)) if not missing else TRUE
    if isinstance(column, WordColumn):
        return column.holds(bool(held[0] == 2), missing)
    if column.feature.kind == "boolean":
        return IsTrue(name, missing) if held[0] == 2 else Not(IsTrue(name, not missing))
    breaks = np.flatnonzero(np.diff(held) > 1)
    firsts, lasts = np.append(held[0], held[breaks + 1]), np.append(held[breaks], held[-1])
    runs = [_interval(column, int(a), int(b), missing) for a, b in zip(firsts, lasts, strict=True)]
    return runs[0] if len(runs) == 1 else Or(runs)


def _membership(column: BinnedColumn, condition: Bools) -> Node:
    """The levels of a set of codes; with the pooled ones by the shorter of two lists: who is in, or not who is out."""
    feature, missing, unseen = column.feature, bool(condition[MISSING_CODE]), bool(condition[UNSEEN_CODE])
    chosen = dict(zip(column.levels, condition[FIRST_LEVEL_CODE:].tolist(), strict=True))
    held = [chosen.get(level, unseen) for level in feature.levels]
    if unseen and all(held):
        return TRUE if missing else Not(Missing(feature.name))
    if unseen and held.count(False) <= held.count(True):
        return Not(leaf_of_codes(feature, [not missing, False, *(not holds for holds in held)]))
    return leaf_of_codes(feature, [missing, unseen, *held])


def _interval(column: BinnedColumn, first: int, last: int, missing: bool) -> Node:
    name, bounds = column.feature.name, list[Node]()
    if first > 1:
        bounds.append(Compare(name, ">", cut_of(column, first - 1), missing))
    if last < column.n_codes - 1:
        bounds.append(Compare(name, "<=", cut_of(column, last), missing))
    return bounds[0] if len(bounds) == 1 else And(bounds)


def cut_of(column: BinnedColumn, below: int) -> float:
    """The threshold between bin `below` and the next."""
    low, high = float(column.high[below]), float(column.low[below + 1])
    try:
        feature = column.feature
        return cut_between(low, high, feature) if feature.dated else threshold_between(low, high, feature.precision)
    except ValueError as error:  # minus infinity beside the lowest number there is
        fix = "take one of the two for missing, or use float64"
        raise InputError(str(error), where=f"column {column.feature.name!r}", fix=fix) from None


_CUTS, _LEVELS = 8, 20


def simple_conditions(problem: Problem, j: int) -> Iterator[Bools]:
    """Of a column: cuts at quantiles, levels that are frequent, and missing cells, each where some row has them."""
    column = problem.columns[j]
    codes = np.arange(column.n_codes)
    counts = np.bincount(problem.codes[j], problem.weights, column.n_codes)
    if counts[0] > 0.0:
        yield codes == 0
    if column.feature.kind in ("boolean", "text") or isinstance(column, FixedColumn):
        yield HOLDS
        return
    if column.feature.kind == "categorical" and not column.ordered:
        frequent = np.flatnonzero(counts >= 0.005 * counts.sum())
        frequent = frequent[frequent >= FIRST_LEVEL_CODE]
        for code in frequent[np.argsort(-counts[frequent], kind="stable")][:_LEVELS]:
            yield codes == code
        return
    below = np.cumsum(counts[1:])
    wanted = np.searchsorted(below, below[-1] * np.arange(1, _CUTS + 1) / (_CUTS + 1)) + 1
    for cut in dict.fromkeys(int(code) for code in wanted if code < column.n_codes - 1):
        yield (codes >= 1) & (codes <= cut)
        if counts[0] > 0.0:
            yield codes > cut


# Words of texts ---------------------------------------------------------------------------------------------------


LEAST_GAIN = 0.005
MOST_WORDS = 200
"""Words of one text column, each of which takes a byte a row."""


def with_words(problem: Problem, table: Table, n_classes: int, least: int = 0) -> Problem:
    """The problem with a column more for each word of the texts of a table that is worth a condition.

    The labels of the problem are class indices; least: the least weight, in units, of the rows with a word.
    """
    columns = [
        WordColumn(replace(feature, kind="boolean", levels=()), index, 3, word=feature.levels[word])
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


def _word_codes(sets: TokenSets, words: list[int]) -> list[npt.NDArray[np.uint8]]:
    starts, rows = sets.by_token()
    absent = np.where(sets.missing, 0, 1).astype(np.uint8)
    found = []
    for word in words:
        codes = absent.copy()
        codes[rows[starts[word] : starts[word + 1]]] = 2
        found.append(codes)
    return found


# Columns of a table ------------------------------------------------------------------------------------------------


_LOOKED_AT = 2048
_MOST_NAMED = 3


def without_twins(
    columns: tuple[BinnedColumn, ...], codes: MemoryCodes | DiskCodes, named: Collection[str]
) -> tuple[tuple[BinnedColumn, ...], MemoryCodes | DiskCodes, tuple[str, ...]]:
    """The columns and their codes without those that part all rows as one that stays does, and a note that names them.

    named: columns that stay, whatever they say. Atoms of a structure stay, and columns of one value.
    """
    alike = _alike(columns, codes)
    kept, remarks = unlike(columns, alike, named, lambda one, other: np.array_equal(codes[one], codes[other]))
    return (
        (tuple(columns[place] for place in kept), codes.of_columns(kept), remarks) if remarks else (columns, codes, ())
    )


def unlike(
    columns: Sequence[BinnedColumn],
    alike: Sequence[Sequence[int]],
    named: Collection[str],
    equal: Callable[[int, int], bool],
) -> tuple[list[int], tuple[str, ...]]:
    """The columns that stay, of groups that part all rows alike one and those that are named; and a note of the others.

    equal: whether two columns have the same codes.
    """
    kept, pairs, same = list(range(len(columns))), list[str](), True
    for group in alike:
        first = min(group, key=lambda place: (columns[place].feature.name not in named, place))
        begun = f"{columns[first].feature.name!r} and "
        for place in group:
            if place != first and columns[place].feature.name not in named:
                kept.remove(place)
                pairs.append(f"{begun}not {columns[place].feature.name!r}")
                begun = ""
                same = same and columns[place].ordered and equal(first, place)
    if not pairs:
        return kept, ()
    shown = [*pairs[:_MOST_NAMED], f"{len(pairs) - _MOST_NAMED} more"] if len(pairs) > _MOST_NAMED + 1 else pairs
    why = "they put the rows in the same order" if same else "they part the rows alike"
    return kept, (f"rulekit uses {listed(shown)}: {why}",)


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
