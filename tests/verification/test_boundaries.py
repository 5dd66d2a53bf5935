"""The pools hold what goes wrong: neighbours of thresholds in both widths, look-alikes of levels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Column, Compare, Linear, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.schema import Feature, Schema
from rulekit.verification.rows import categorical_pool, pool_of, thresholds_of


@pytest.mark.parametrize("value", [0.0, 0.1, -2.5, 5e-324, 1e-40, 16777217.0, 3.4028234663852886e38, 1e300, -1e300])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_both_sides_of_a_threshold(value, precision):
    pool = pool_of(Feature("x", precision=precision), (value,)).values
    mean = float32(value) if precision == "float32" else value
    with np.errstate(over="ignore"):
        seen = pool.astype(np.float32).astype(float) if precision == "float32" else pool
    assert {True, False} <= set((seen > mean).tolist()) or math.isinf(mean)
    assert value in pool.tolist()
    assert math.nextafter(value, math.inf) in pool.tolist()
    assert math.nextafter(value, -math.inf) in pool.tolist()
    if precision == "float32" and not math.isinf(mean):
        assert next_float32(mean) in pool.tolist()
        crossing = double_crossing(mean)
        assert {crossing, math.nextafter(crossing, math.inf)} <= set(pool.tolist())


def test_special_numbers_are_always_there():
    pool = pool_of(Feature("x"), ()).values
    assert np.isnan(pool).sum() == 1
    assert {math.inf, -math.inf, 5e-324, 1e300, 2.0**24 + 1, 2.0**53} <= set(pool.tolist())
    assert {math.copysign(1.0, v) for v in pool.tolist() if v == 0} == {1.0, -1.0}


def test_levels_and_their_look_alikes():
    pool = set(categorical_pool(Feature("c", "categorical", ("a", "B"), missing_tokens=("?",))).values.tolist())
    assert {None, "", "?", "a", "B", "a ", "A", "b", "nan", "None"} <= pool


def test_a_column_that_refuses_unseen_levels_gets_none():
    pool = categorical_pool(Feature("c", "categorical", ("a", "B"), unseen="error")).values.tolist()
    assert set(pool) == {None, "", "a", "B"}


def test_boolean_columns_hold_only_truth_values():
    values = pool_of(Feature("b", "boolean"), ()).values
    assert {v for v in values.tolist() if v == v} == {0.0, 1.0}
    assert np.isnan(values).any()


def test_every_node_that_cuts_a_column_gives_its_numbers():
    schema = Schema((Feature("x"), Feature("y"), Feature("z")), "label")
    score = Linear([(1.0, Step("y", (1.0, 3.0), (0.0, 1.0, 2.0), 0.0)), (1.0, Column("z", 0.0, -1.0, 1.0, 0.5))], 0.0)
    assert thresholds_of(RuleGraph(schema, (0, 1), Fires(Above(score, 0.5)))) == {
        "y": (1.0, 3.0),
        "z": (-1.0, -0.75, -0.25, 0.25, 0.75, 1.0),
    }
    rule = And((Compare("x", ">", 0.5), Compare("x", "<=", 2.0), Compare("x", "<=", 0.5)))
    assert thresholds_of(RuleGraph(schema, (0, 1), Fires(rule))) == {"x": (0.5, 2.0)}
