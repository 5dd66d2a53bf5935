"""The best rule of one or two conditions for a class: what a note about a model without rules may truly say.

The columns are cut into few bins, and all intervals of one column are looked at, and all pairs of one-sided conditions
of the columns that tell most alone. Best is the largest lower bound of the precision, so that a rule of three rows that
are all right by chance is none. Its rows are then counted on the whole table.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.learners.data.binning import BinnedColumn, bin_table
from rulekit.learners.models.rule_sets import Clause, clause_node
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import StoredArrays

Floats = npt.NDArray[np.float64]

_ROWS, _BINS, _COLUMNS, _LEVELS = 1 << 18, 32, 12, 256
_Z = 1.645  # of the lower bound


@dataclass(frozen=True, slots=True)
class BestRule:
    """A rule, how many rows it holds on, and the weight on which it is right and wrong; weighted: not all weigh 1."""

    text: str
    rows: int
    right: float
    wrong: float
    weighted: bool

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)


def best_rule(rows: LabelledTable, place: int) -> BestRule | None:
    """The best rule for the class of an index; None where nothing can be said, or the columns are on disk."""
    if isinstance(rows.table.arrays, StoredArrays):
        return None
    some = np.arange(0, len(rows), max(1, len(rows) // _ROWS + (len(rows) > _ROWS)))
    table, yes = rows.table.take(some), (rows.y[some] == place).astype(np.int64)
    weight = np.ones(len(some)) if rows.weight is None else rows.weight[some] / rows.weight.max()
    columns, codes = bin_table(table, weight, _BINS, 0)
    orders = [
        _order(column, _counts(codes[j], yes, weight, column.n_codes))
        if column.n_codes <= _LEVELS
        else np.zeros(0, int)
        for j, column in enumerate(columns)
    ]
    found: list[tuple[float, Clause]] = []
    for j, column in enumerate(columns):
        if len(orders[j]):
            found.append(_best_alone(j, column, orders[j], _counts(codes[j], yes, weight, column.n_codes)))
    found.sort(key=lambda each: -each[0])
    for i, j in itertools.combinations(sorted(next(iter(clause)) for _, clause in found[:_COLUMNS]), 2):
        width = columns[j].n_codes
        both = _counts(codes[i].astype(np.int64) * width + codes[j], yes, weight, columns[i].n_codes * width)
        counts = both.reshape(columns[i].n_codes, width, 2)[orders[i]][:, orders[j]]
        found.append(_best_pair((i, j), (columns[i], columns[j]), (orders[i], orders[j]), counts))
    if not found or max(each[0] for each in found) <= 0.0:
        return None
    node = clause_node(max(found, key=lambda each: each[0])[1], columns)
    held = evaluate_nodes([node], rows.table)[node]
    of_rows = np.ones(len(rows)) if rows.weight is None else rows.weight
    right, all_held = float(of_rows[held & (rows.y == place)].sum()), float(of_rows[held].sum())
    if not right:
        return None
    return BestRule(print_node(node), int(held.sum()), right, all_held - right, rows.weight is not None)


def _counts(codes: npt.NDArray[np.int64], yes: npt.NDArray[np.int64], weight: Floats, n_codes: int) -> Floats:
    """The weights [n_codes, 2] by code and label."""
    keys = 2 * codes.astype(np.int64) + yes
    return np.asarray(np.bincount(keys, weight, 2 * n_codes).reshape(n_codes, 2), dtype=np.float64)


def _order(column: BinnedColumn, counts: Floats) -> npt.NDArray[np.int64]:
    """The codes but that of missing: values from low to high, levels that occur from the highest rate to the least.

    None where there is no choice among them, or the levels are too many to hold by pairs.
    """
    present = np.flatnonzero(counts[1:].sum(axis=1)) + 1
    if len(present) < 2 or column.n_codes > _LEVELS:
        return present[:0]
    if column.ordered:
        return np.arange(1, column.n_codes)
    rate = counts[present, 1] / counts[present].sum(axis=1)
    return np.asarray(present[np.argsort(-rate, kind="stable")])


def _best_alone(j: int, column: BinnedColumn, order: npt.NDArray[np.int64], counts: Floats) -> tuple[float, Clause]:
    """The best interval of a column, or the best levels."""
    sums = np.vstack([np.zeros(2), np.cumsum(counts[order], axis=0)])
    if not column.ordered:
        most = int(np.argmax(_bounds(sums[1:-1]))) + 1
        return float(_bounds(sums[most])), {j: _condition(column, order[:most])}
    bounds = np.tril(_bounds(sums[:, None] - sums[None]), -1)
    bounds[-1, 0] = 0.0  # all values are no condition
    last, first = divmod(int(np.argmax(bounds)), len(bounds))
    return float(bounds[last, first]), {j: _condition(column, order[first:last])}


def _best_pair(
    places: tuple[int, int],
    columns: tuple[BinnedColumn, BinnedColumn],
    orders: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    counts: Floats,
) -> tuple[float, Clause]:
    """The best two one-sided conditions; counts [a, b, 2] by the codes in their orders."""
    best: tuple[float, Clause] = (0.0, {})
    for ways in itertools.product((1, -1), (1, -1)):
        sums = counts[:: ways[0], :: ways[1]].cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
        bounds = _bounds(sums)
        at = np.unravel_index(int(np.argmax(bounds)), bounds.shape)
        if bounds[at] > best[0]:
            sides = [order[::way][: int(k) + 1] for order, way, k in zip(orders, ways, at, strict=True)]
            conditions = [_condition(column, side) for column, side in zip(columns, sides, strict=True)]
            best = float(bounds[at]), dict(zip(places, conditions, strict=True))
    return best


def _bounds(counts: Floats) -> Floats:
    """The lower bound of the share of label 1 [...] in weights [..., 2] (E. B. Wilson, 1927)."""
    total = np.maximum(counts.sum(axis=-1), 1e-9)
    share = np.clip(counts[..., 1] / total, 0.0, 1.0)  # sums of weights may be rounded
    spread = _Z * np.sqrt(share * (1.0 - share) / total + _Z**2 / (4.0 * total**2))
    bound = (share + _Z**2 / (2.0 * total) - spread) / (1.0 + _Z**2 / total)
    return np.asarray(np.where(counts[..., 1] > 0.0, np.maximum(bound, 0.0), 0.0))


def _condition(column: BinnedColumn, held: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(column.n_codes), held)
