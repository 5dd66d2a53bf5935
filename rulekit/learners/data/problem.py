"""A question with two answers about binned rows, and conditions on their codes as nodes of the rule graph.

Fixed conditions and words of texts may stand in it as further columns.

A fixed condition is a column of its own with two codes. It needs no cut of ours: its node is evaluated on the training
rows once, and stands in the rule graph as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.dates import cut_between
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import leaf_of_codes, negate
from rulekit.graph.nodes import FALSE, TRUE, And, Compare, Contains, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rules import columns_of
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.faults import check_codes
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import Table


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
    texts: npt.NDArray[np.uint64] | None = None

    @property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum()) * self.weight_unit

    @property
    def positive(self) -> float:
        """The weight of the rows with label 1."""
        return self.weight_of(self.labels == 1)

    @property
    def in_rows(self) -> Floats:
        """The weights [n] stated in rows."""
        return np.asarray(self.weights * self.weight_unit, dtype=np.float64)

    def weight_of(self, rows: Bools) -> float:
        """The weight of some rows [n]."""
        return float(self.weights[rows].sum()) * self.weight_unit

    @property
    def share(self) -> float:
        """The share of the weight that has label 1."""
        return self.positive / self.total

    def take(self, rows: Array) -> Problem:
        """Some of the rows: a Boolean mask [n] or row numbers."""
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
        return cut_between(low, high, column.feature)
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
