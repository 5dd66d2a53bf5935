"""Adversarial rows: deterministic, complete at the boundaries, rules fire, the same rows raw and encoded."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.conformance.models import NODES, random_graph
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.nodes import And, Column, Compare, LinearThreshold
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.rows import adversarial_rows, pool_of, raw_columns, thresholds_of


def _equal(a, b):
    if a.dtype == object:
        return a.tolist() == b.tolist()
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a), np.signbit(b))


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
        for feature, array in zip(rows.table.features, rows.table.arrays, strict=True):
            if feature.kind == "numeric":
                with np.errstate(over="ignore"):
                    assert np.array_equal(rows.columns[feature.name].astype(array.dtype), array, equal_nan=True)


def test_decoded_rows_encode_to_themselves():
    graph = NODES["DNF"]()
    table = adversarial_rows(graph, 500).table
    again = graph.table(raw_columns(table))
    for name in graph.used_features:
        assert np.array_equal(table.array(name), again.array(name), equal_nan=table.array(name).dtype != np.int32)


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
