"""The points of columns: most rows have none, and neither has what no training row has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit import RulesClassifier
from rulekit.graph.leaves import readers


def rows(seed: int, n: int = 600) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    count, amount, shop = rng.poisson(1.2, n), rng.lognormal(7.0, 0.6, n).round(), rng.integers(0, 60, n)
    late = ((count > 2) | (amount > 2500.0)) ^ (rng.random(n) < 0.08)
    return {"count": count, "amount": amount, "shop": [f"S{k}" for k in shop]}, np.where(late, "yes", "no")


@pytest.mark.parametrize("seed", range(3))
def test_most_rows_have_no_points_of_a_column_and_a_missing_value_adds_none(seed: int) -> None:
    data, labels = rows(seed)
    graph = RulesClassifier(1, positive="yes", stopping="none", report="all").fit(data, labels).rule_graph_
    chances = graph.predict_proba(data)[:, 1]
    silent = chances[graph.predict(data) == "no"]
    usual, share = max(zip(*np.unique(silent, return_counts=True), strict=True), key=lambda pair: pair[1])
    assert share > len(silent) / 2
    unknown = {"count": [None], "amount": [None], "shop": ["S1"]}
    assert graph.predict_proba(unknown)[0, 1] == usual


def test_a_category_of_many_levels_has_no_points() -> None:
    data, labels = rows(0)
    graph = RulesClassifier(1, positive="yes", stopping="none", report="all").fit(data, labels).rule_graph_
    assert "shop" not in set(readers(graph.probability)) - set(readers(graph.decision.roots))
