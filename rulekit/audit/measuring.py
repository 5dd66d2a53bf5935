"""Figures of a model on labelled rows, in memory or on disk."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.metrics import Figures, figures
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.labels import LabelledTable
from rulekit.tables.storage import StoredArrays


def class_indices(graph: RuleGraph, rows: LabelledTable) -> npt.NDArray[Any]:
    """Labels [n] as indices into the classes of the model."""
    order = {label: k for k, label in enumerate(graph.classes)}
    return np.array([order[label] for label in rows.classes], dtype=rows.y.dtype)[rows.y]


def measured(graph: RuleGraph, rows: LabelledTable) -> Figures:
    """Figures of the model on labelled rows; of rows on disk, those with the same answer are put together first."""
    y = class_indices(graph, rows)
    if not isinstance(rows.table.arrays, StoredArrays):
        return figures(y, decide(graph, rows.table), probabilities(graph, rows.table), graph.classes, rows.weight)
    answers = np.zeros((0, 2 + len(graph.classes)))
    weights, squares, start = np.zeros(0), 0.0, 0
    for block in rows.table.blocks(graph.used_features):
        stop = start + block.n_rows
        weight = np.ones(block.n_rows) if rows.weight is None else rows.weight[start:stop]
        found = np.column_stack([y[start:stop], decide(graph, block), probabilities(graph, block)])
        answers, weights = _merged(np.concatenate([answers, found]), np.concatenate([weights, weight]))
        squares += float((weight**2).sum())
        start = stop
    true, decided = answers[:, 0].astype(np.int64), answers[:, 1].astype(np.int64)
    return figures(true, decided, answers[:, 2:], graph.classes, weights, rows=len(y), squares=squares)


def _merged(
    answers: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Distinct rows of answers [n, 2 + K] and the sums of their weights."""
    order = np.lexsort(answers.T)
    answers = answers[order]
    first = np.flatnonzero(np.concatenate([[True], np.any(answers[1:] != answers[:-1], axis=1)]))
    return answers[first], np.add.reduceat(weights[order], first)
