"""A learned set of codes and its Boolean node say the same of every training row."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Among, And, Compare, IsTrue, Missing, Not, Or
from rulekit.learners.data.binning import bin_column
from rulekit.learners.data.problem import condition_node
from rulekit.schema import Feature
from rulekit.tables.table import Table


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("max_bins", [5, None])
def test_random_sets_of_bins(precision: str, max_bins: int | None) -> None:
    rng = np.random.default_rng(0)
    feature = Feature("x", precision=precision)  # type: ignore[arg-type]
    values = np.concatenate([rng.normal(size=30), [np.nan, np.inf, -np.inf, 0.1, 0.1 + 1e-7, 1e30, -1e-40]])
    table = Table((feature,), (values.astype(precision),), len(values))
    column, codes = bin_column(feature, 0, table.arrays[0], np.ones(len(values), dtype=np.int64), max_bins)
    for _ in range(200):
        condition = rng.random(column.n_codes) < 0.5
        node = condition_node(column, condition)
        assert np.array_equal(evaluate_nodes([node], table)[node], condition[codes])


@pytest.mark.parametrize("kind", ["boolean", "categorical"])
def test_every_set_of_levels(kind: str) -> None:
    levels = ("a", "b", "c") if kind == "categorical" else ()
    feature = Feature("x", kind, levels)  # type: ignore[arg-type]
    array = np.array([0, 2, 3, 4], dtype=np.int32) if levels else np.array([np.nan, 0, 1], dtype=np.float32)
    table = Table((feature,), (array,), len(array))
    column, codes = bin_column(feature, 0, array, np.ones(len(array), dtype=np.int64), None)
    for bits in range(1, 2**column.n_codes):
        condition = np.array([bool(bits >> code & 1) for code in range(column.n_codes)])
        if levels and condition[1]:
            continue  # no training row has an unseen level
        node = condition_node(column, condition)
        assert np.array_equal(evaluate_nodes([node], table)[node], condition[codes])


def nodes(condition: list[int], kind: str = "numeric") -> object:
    levels = ("red", "blue") if kind == "categorical" else ()
    feature = Feature("x", kind, levels)  # type: ignore[arg-type]
    array = np.array([np.nan, 1, 2, 3, 4], dtype=np.float32) if kind == "numeric" else np.zeros(1)
    if kind == "categorical":
        array = np.array([0, 2, 3], dtype=np.int32)
    column, _ = bin_column(feature, 0, array, np.ones(len(array), dtype=np.int64), None)
    return condition_node(column, np.array(condition, dtype=bool))


def test_forms() -> None:
    assert nodes([0, 1, 1, 0, 0]) == Compare("x", "<=", 2.0)
    assert nodes([1, 0, 0, 1, 1]) == Compare("x", ">", 2.0, missing=True)
    assert nodes([0, 0, 1, 1, 0]) == And([Compare("x", ">", 1.0), Compare("x", "<=", 3.0)])
    assert nodes([1, 1, 0, 0, 1]) == Or([Compare("x", "<=", 1.0, True), Compare("x", ">", 3.0, True)])
    assert nodes([1, 0, 0, 0, 0]) == Missing("x")
    assert nodes([0, 1, 1, 1, 1]) == Not(Missing("x"))
    assert nodes([0, 0, 1], "boolean") == IsTrue("x")
    assert nodes([1, 1, 0], "boolean") == Not(IsTrue("x"))
    assert nodes([0, 1, 0], "boolean") == Not(IsTrue("x", missing=True))
    assert nodes([1, 0, 0, 1], "categorical") == Among("x", ("blue",), missing=True)
