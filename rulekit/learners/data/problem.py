"""A question with two answers about binned rows; fixed conditions may stand in it as further columns.

A fixed condition is a column of its own with two codes. It needs no cut of ours: its node is evaluated on the training
rows once, and stands in the rule graph as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import FALSE, TRUE, Node
from rulekit.graph.rules import columns_of
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.codes import Codes, MemoryCodes
from rulekit.schema import Feature, Schema
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
NO_BOUNDS = np.full(1, np.nan)


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
class JoinedCodes:
    """Codes of fixed conditions [n] behind those of a table, wherever these are kept."""

    first: Codes
    fixed: MemoryCodes

    def __len__(self) -> int:
        return len(self.first) + len(self.fixed)

    def __getitem__(self, column: int) -> Array:
        n = len(self.first)
        return self.first[column] if column < n else self.fixed[column - n]

    def take(self, rows: Array) -> Codes:
        return JoinedCodes(self.first.take(rows), self.fixed.take(rows))

    def parts(self, n_rows: int) -> Iterator[tuple[slice, Codes]]:
        for rows, part in self.first.parts(n_rows):
            yield rows, JoinedCodes(part, MemoryCodes(tuple(codes[rows] for codes in self.fixed.arrays)))


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
        columns.append(FixedColumn(feature, -1, 3, NO_BOUNDS, NO_BOUNDS, node=node, reads=reads, schema=schema))
    return with_columns(problem, columns, [codes_of(values[node]) for node in nodes])


def codes_of(truth: Bools) -> npt.NDArray[np.uint8]:
    """The codes [n] of a fixed condition with these truth values."""
    return np.asarray(1 + truth.view(np.uint8))


def with_columns(problem: Problem, columns: Sequence[BinnedColumn], arrays: Sequence[Array]) -> Problem:
    """The problem with further columns and their codes [n], which stand in memory wherever the others are."""
    codes: Codes = JoinedCodes(problem.codes, MemoryCodes(tuple(arrays)))
    if isinstance(problem.codes, MemoryCodes):
        codes = replace(problem.codes, arrays=(*problem.codes.arrays, *arrays))
    return replace(problem, columns=(*problem.columns, *columns), codes=codes)


def with_codes(problem: Problem, arrays: Mapping[int, Array]) -> Problem:
    """The problem with other codes [n] of some columns, which `with_columns` has added."""
    return replace(problem, codes=_with_codes(problem.codes, arrays))


def _with_codes(codes: Codes, arrays: Mapping[int, Array]) -> Codes:
    if isinstance(codes, JoinedCodes):
        n = len(codes.first)
        own = {column - n: array for column, array in arrays.items() if column >= n}
        first = {column: array for column, array in arrays.items() if column < n}
        return JoinedCodes(_with_codes(codes.first, first) if first else codes.first, _of_memory(codes.fixed, own))
    assert isinstance(codes, MemoryCodes)
    return _of_memory(codes, arrays)


def _of_memory(codes: MemoryCodes, arrays: Mapping[int, Array]) -> MemoryCodes:
    return replace(codes, arrays=tuple(arrays.get(column, array) for column, array in enumerate(codes.arrays)))
