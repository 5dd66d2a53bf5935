"""The best rule of one or two conditions for a class, which shows what rules could say."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.learners.data.binning import BinnedColumn, bin_table
from rulekit.learners.models.plain import clause_node
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import StoredArrays

_ROWS, _BINS, _COLUMNS, _LEVELS = 1 << 18, 32, 12, 256
_Z = 1.645  # of the lower bound


@dataclass(frozen=True, slots=True)
class BestRule:
    """A rule, how many rows it holds on, and the weight on which it is right and wrong; weighted: not all weigh 1.

    first: the number of the first row on which it is right.
    """

    text: str
    rows: int
    right: float
    wrong: float
    weighted: bool
    first: int

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)


def best_rule(rows: LabelledTable, place: int) -> BestRule | None:
    """The best rule of one or two conditions for the class of an index, by the lower bound of the share that is right.

    None where nothing can be said, or the columns are on disk. A condition holds for values below or above a cut, or
    for the levels with the highest rates; two on one column are a range.
    """
    if isinstance(rows.table.arrays, StoredArrays):
        return None
    some = np.arange(0, len(rows), max(1, len(rows) // _ROWS + (len(rows) > _ROWS)))
    table, yes = rows.table.take(some), (rows.y[some] == place).astype(np.int64)
    weight = np.ones(len(some)) if rows.weight is None else rows.weight[some] / rows.weight.max()
    columns, codes = bin_table(table, weight, _BINS, 0)

    def counts_of(keys: Ints, n: int) -> Floats:
        """The weights [n, 2] by key and label."""
        return np.asarray(np.bincount(2 * keys.astype(np.int64) + yes, weight, 2 * n).reshape(n, 2), dtype=np.float64)

    counts = [counts_of(codes[j], column.n_codes) for j, column in enumerate(columns)]
    held = [_held(column, own) for column, own in zip(columns, counts, strict=True)]
    alone = {j: _bounds(held[j] @ counts[j]).max() for j in range(len(columns)) if len(held[j])}
    chosen = sorted(sorted(alone, key=lambda j: -alone[j])[:_COLUMNS])
    best, clause = 0.0, dict[int, Bools]()
    for i, j in (*((j, j) for j in chosen), *itertools.combinations(chosen, 2)):
        width = columns[j].n_codes
        both = counts_of(codes[i].astype(np.int64) * width + codes[j], columns[i].n_codes * width)
        sums = [held[i] @ of_label.reshape(-1, width) @ held[j].T for of_label in both.T]
        bounds = _bounds(np.stack(sums, axis=-1))
        a, b = np.unravel_index(int(np.argmax(bounds)), bounds.shape)
        if bounds[a, b] > best:
            best, clause = (
                float(bounds[a, b]),
                {i: held[i][a] & held[j][b]} if i == j else {i: held[i][a], j: held[j][b]},
            )
    if not clause:
        return None
    node = clause_node(clause, columns)
    on = evaluate_nodes([node], rows.table)[node]
    of_rows = np.ones(len(rows)) if rows.weight is None else rows.weight
    right, all_ = float(of_rows[on & (rows.y == place)].sum()), float(of_rows[on].sum())
    first = int(np.argmax(on & (rows.y == place)))
    weighted = rows.weight is not None
    return BestRule(print_node(node), int(on.sum()), right, all_ - right, weighted, first) if right else None


def _held(column: BinnedColumn, counts: Floats) -> Bools:
    """The codes [conditions, n_codes] of each condition on a column, none for too many; a missing value is in none."""
    present = np.flatnonzero(counts[1:].sum(axis=1)) + 1
    if len(present) < 2 or column.n_codes > _LEVELS:
        return np.zeros((0, column.n_codes), dtype=bool)
    order = np.arange(1, column.n_codes)
    if not column.ordered:
        order = present[np.argsort(-counts[present, 1] / counts[present].sum(axis=1), kind="stable")]
    first = np.zeros((len(order) - 1, column.n_codes), dtype=bool)
    first[:, order] = np.tri(len(order) - 1, len(order), dtype=bool)
    above = ~first
    above[:, 0] = False
    return np.vstack([first, above]) if column.ordered else first


def _bounds(counts: Floats) -> Floats:
    """The lower bound of the share of label 1 [...] in weights [..., 2] (E. B. Wilson, 1927)."""
    total = np.maximum(counts.sum(axis=-1), 1e-9)
    share = np.clip(counts[..., 1] / total, 0.0, 1.0)  # sums of weights may be rounded
    spread = _Z * np.sqrt(share * (1.0 - share) / total + _Z**2 / (4.0 * total**2))
    bound = (share + _Z**2 / (2.0 * total) - spread) / (1.0 + _Z**2 / total)
    return np.where(counts[..., 1] > 1e-9, np.maximum(bound, 0.0), 0.0)
