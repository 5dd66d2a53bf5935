"""Learned models for the parity table, from a table with every kind of column, missing cells and several classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.cnll.estimator import CNLLClassifier

Columns = dict[str, npt.NDArray[Any]]


def loans(n_rows: int = 1500, seed: int = 0) -> tuple[Columns, npt.NDArray[np.float64]]:
    """Columns of loan applications and a score that the classes are cut from."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n_rows).astype(float)
    income = np.round(rng.lognormal(10, 0.6, n_rows), 2)
    account = 2.0**25 + rng.integers(0, 500, n_rows)  # integers that collide in float32
    owner = rng.random(n_rows) < 0.4
    purpose = rng.choice(np.array(["car", "house", "a trip", "?"], dtype=object), n_rows)
    branch = rng.choice(np.array(["1", "2", "3", "10"], dtype=object), n_rows)
    score = 1.0 * (income > 24_000) + (age > 35.5) * owner - 1.0 * (purpose == "house") + (branch == "10")
    score = score + (account > 2.0**25 + 250.5) + rng.normal(0, 0.3, n_rows)
    columns: Columns = {"age": age, "income": income, "account": account, "owner": owner, "purpose": purpose}
    columns["branch"] = branch
    for name in ("age", "income"):
        columns[name] = np.where(rng.random(n_rows) < 0.08, np.nan, columns[name])
    for name in ("purpose", "branch"):
        columns[name] = np.where(rng.random(n_rows) < 0.05, None, columns[name])
    return columns, score


def _learn(cuts: tuple[float, ...], classes: tuple[Any, ...], **parameters: Any) -> RuleGraph:
    columns, score = loans()
    labels = np.array(classes, dtype=object)[np.digitize(score, cuts)]
    labels = labels.astype(str) if isinstance(classes[0], str) else labels.astype(type(classes[0]))
    fitted = CNLLClassifier(stopping="none", target="granted", **parameters).fit(columns, labels)
    graph: RuleGraph = fitted.rule_graph_
    return graph


LEARNED: dict[str, Callable[[], RuleGraph]] = {
    "CNLL, 8 units": partial(_learn, (1.5,), ("no", "yes"), n_units=8),
    "CNLL, refit and backfit": partial(_learn, (1.5,), (False, True), n_units=10, refit=3, backfit=2),
    "CNLL, ratio stumps": partial(_learn, (0.5,), (0, 1), n_units=6, weak="llr", max_bins=60),
    "CNLL, original form": partial(_learn, (1.5,), ("no", "yes"), n_units=6, beta="zero", init="and"),
    "CNLL, tree": partial(_learn, (1.5,), ("no", "yes"), n_units=12, algorithm="tree"),
    "CNLL, three classes": partial(_learn, (0.5, 1.8), ("high", "low", "mid"), n_units=6),
    "CNLL, five classes": partial(
        _learn, (0.0, 1.0, 2.0, 3.0), (0, 1, 2, 3, 4), n_units=5, weak="llr", refit=2, max_bins=24
    ),
}
