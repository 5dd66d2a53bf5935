"""What an error costs, as a user says it: what a row of each class counts in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.rule_graph import ClassLabel
from rulekit.learners.counting.histograms import Floats
from rulekit.learners.fitting.rows.classes import class_index
from rulekit.tables.labels import parse_cost


def prices_of(learner: str, cost: Any, classes: tuple[ClassLabel, ...], order: Sequence[int]) -> Floats:
    """What an error on a row of each class [K] costs, the classes sorted; order: their indices in the graph's order.

    cost: None; "FP:FN" or such a pair, of a false positive and of a false negative of two classes; a mapping of class
    to the cost of an error on its rows (1 where it is left out); a matrix [K, K] of the sorted classes, with the true
    class by row and the decided one by column. Raises InputError for what is none of these, and for a matrix in which
    the cost of an error depends on which wrong class is decided: no weight of rows says that.
    """
    prices = np.ones(len(classes))
    if cost is None:
        return prices
    if isinstance(cost, Mapping):
        for label, price in cost.items():
            prices[class_index(learner, classes, label, "cost")] = price
    elif isinstance(cost, str) or np.ndim(cost) == 1:
        prices[list(order)] = parse_cost(cost if isinstance(cost, str) else tuple(cost), len(classes)) or (1.0, 1.0)
    else:
        prices = _of_matrix(learner, np.asarray(cost, dtype=np.float64), len(classes))
    if not (prices > 0).all():
        raise InputError("a cost of 0 for an error", where=learner, fix="give each class a cost above 0")
    return prices


def _of_matrix(learner: str, matrix: Floats, k: int) -> Floats:
    """The one cost of the errors on each true class [k]."""
    if matrix.shape != (k, k):
        raise InputError(f"a matrix of costs of shape {matrix.shape} for {k} classes", where=learner, fix="one a class")
    if matrix.diagonal().any():
        raise InputError("a right decision has a cost", where=learner, fix="zeros on the diagonal")
    wrong = matrix[~np.eye(k, dtype=bool)].reshape(k, k - 1)
    if (wrong != wrong[:, :1]).any():
        raise InputError(
            "the cost of an error depends on which wrong class is decided",
            where=learner,
            fix="give each true class one cost",
        )
    return np.asarray(wrong[:, 0])
