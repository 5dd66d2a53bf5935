"""Adversarial rows: deterministic, complete at the boundaries, rules fire, the same rows raw and encoded.

Their pools hold what goes wrong: neighbours of thresholds in both widths, look-alikes of levels.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.conformance.models import NODES, random_graph
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.nodes import Above, And, Column, Compare, Linear, LinearThreshold, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.schema import Feature, Schema
from rulekit.verification.rows import adversarial_rows, categorical_pool, pool_of, raw_columns, thresholds_of


def _equal(a, b):
    if a.dtype == object:
        return a.tolist() == b.tolist()
    signs = a.dtype.kind != "f" or np.array_equal(np.signbit(a), np.signbit(b))
    return signs and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def test_the_same_seed_gives_the_same_rows():
    graph = NODES["DNF"]()
    first, again, other = (adversarial_rows(graph, 500, seed) for seed in (1, 1, 2))
    assert all(_equal(first.columns[name], again.columns[name]) for name in first.columns)
    assert not all(_equal(first.columns[name], other.columns[name]) for name in first.columns)


@pytest.mark.parametrize("name", ["DNF", "extreme thresholds", "boosted stumps"])
def test_every_boundary_of_every_used_column_is_visited(name):
    graph = NODES[name]()
    rows = adversarial_rows(graph, 4_000)
    thresholds = thresholds_of(graph)
    for column in graph.used_features:
        pool = pool_of(graph.schema[column], thresholds.get(column, ())).values
        seen = {repr(v) for v in rows.columns[column].tolist()}
        assert {repr(v) for v in pool.tolist()} <= seen, column


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", list(NODES))
def test_both_decisions_are_reached(name):
    graph = NODES[name]()
    reached = set(decide(graph, adversarial_rows(graph, 2_000).table).tolist())
    assert reached == (set(range(len(graph.classes))) if name != "constants" else {1})


def test_long_conjunctions_fire():
    """Random cells satisfy eight literals once in 256 rows; goals do it in at least every tenth."""
    schema = Schema(tuple(Feature(f"x{i}") for i in range(8)), "label")
    graph = RuleGraph(schema, (0, 1), Fires(And([Compare(f"x{i}", ">", 50.0 + i) for i in range(8)])))
    fired = decide(graph, adversarial_rows(graph, 2_000).table).mean()
    assert 0.1 < fired < 0.9


def test_raw_and_encoded_are_the_same_rows():
    for seed in range(20):
        graph = random_graph(np.random.default_rng(seed))
        rows = adversarial_rows(graph, 300, seed)
        assert len(rows) == 300
        for columns in (rows.columns, raw_columns(rows.table)):
            again = graph.table(columns)
            assert all(_equal(rows.table.array(name), again.array(name)) for name in graph.used_features)


def test_rows_stand_exactly_on_a_hyperplane():
    schema = Schema((Feature("x"), Feature("y")), "label")
    terms = [(0.5, Column("x", 0.0, -8.0, 8.0, 2.0**-4)), (-1.5, Column("y", 0.0, -8.0, 8.0, 2.0**-4))]
    graph = RuleGraph(schema, (0, 1), Fires(LinearThreshold(terms, 0.25)))
    table = adversarial_rows(graph, 3_000).table
    values = evaluate_nodes([child for _, child in terms], table)
    total = 0.25 + sum(weight * values[child] for weight, child in terms)
    assert np.count_nonzero(total == 0.0) >= 20


def test_a_wide_table_keeps_to_the_columns_in_use():
    schema = Schema(tuple(Feature(f"x{i}") for i in range(5_000)), "label")
    graph = RuleGraph(schema, (0, 1), Fires(Compare("x7", ">", 1.0)))
    rows = adversarial_rows(graph, 10_000)
    assert set(rows.columns) == {"x7"}
    assert math.nextafter(1.0, 2.0) in rows.columns["x7"].tolist()


# Pools


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
    """A column that refuses unseen levels gets none; Boolean ones hold only truth values."""
    pool = set(categorical_pool(Feature("c", "categorical", ("a", "B"), missing_tokens=("?",))).values.tolist())
    assert {None, "", "?", "a", "B", "a ", "A", "b", "nan", "None"} <= pool
    assert {*categorical_pool(Feature("c", "categorical", ("a", "B"), unseen="error")).values} == {None, "", "a", "B"}
    assert {*map(repr, pool_of(Feature("b", "boolean"), ()).values.tolist())} == {"0.0", "-0.0", "1.0", "nan"}


def test_every_node_that_cuts_a_column_gives_its_numbers():
    schema = Schema((Feature("x"), Feature("y"), Feature("z")), "label")
    score = Linear([(1.0, Step("y", (1.0, 3.0), (0.0, 1.0, 2.0), 0.0)), (1.0, Column("z", 0.0, -1.0, 1.0, 0.5))], 0.0)
    assert thresholds_of(RuleGraph(schema, (0, 1), Fires(Above(score, 0.5)))) == {
        "y": (1.0, 3.0),
        "z": (-1.0, -0.75, -0.25, 0.25, 0.75, 1.0),
    }
    rule = And((Compare("x", ">", 0.5), Compare("x", "<=", 2.0), Compare("x", "<=", 0.5)))
    assert thresholds_of(RuleGraph(schema, (0, 1), Fires(rule))) == {"x": (0.5, 2.0)}
