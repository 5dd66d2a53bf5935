"""Representatives stand for every value of a column, and equivalence finds the row that differs."""

import math

import numpy as np
import pytest
from graph_equality import cells, equal_on_cells, equivalent, representatives, sampled_cells

from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.nodes import Among, And, Compare, IsTrue, Missing, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

X = Feature("x")
C = Feature("c", "categorical", ("red", "green", "blue", "grey"))
SCHEMA = Schema((X, C, Feature("b", "boolean")))


def fires(formula):
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(formula))


def test_a_numeric_column_has_one_value_per_interval_both_infinities_and_missing():
    values = representatives(X, [And((Compare("x", ">", 1.0), Compare("x", "<=", 3.0)))])
    assert values.dtype == np.float32
    assert values[:2].tolist() == [1.0, 3.0]
    assert values[2] == np.nextafter(np.float32(3), np.float32(np.inf))
    assert values[3:5].tolist() == [math.inf, -math.inf]
    assert math.isnan(values[5])


def test_thresholds_that_are_one_float32_are_one_cell():
    leaves = [Compare("x", ">", 0.1), Compare("x", ">", 0.10000000149011612)]
    assert len(representatives(X, leaves)) == 5
    assert len(representatives(Feature("x", precision="float64"), leaves)) == 6


def test_a_category_has_its_mentioned_levels_one_other_unseen_and_missing():
    assert representatives(C, [Among("c", ("green",))]).tolist() == [3, 2, 1, 0]
    hidden = Feature("c", "categorical", C.levels, unseen="missing")
    assert representatives(hidden, [Among("c", ("green",))]).tolist() == [3, 2, 0]
    assert representatives(C, [Among("c", C.levels)]).tolist() == [2, 3, 4, 5, 1, 0]


def test_every_value_of_a_column_falls_in_a_cell_that_is_shown():
    """Whatever pattern of truth values random rows show, the cells show it too."""
    rng = np.random.default_rng(0)
    leaves = [
        Compare("x", op, float(v), bool(m)) for op in ("<=", ">") for v in (-1.5, 0.0, 5e-324, 0.1) for m in (0, 1)
    ]
    from rulekit.graph.evaluation.evaluator import evaluate_nodes

    def patterns(values):
        table = Table((X,), (values.astype(np.float32),), len(values))
        truth = evaluate_nodes(leaves, table)
        return {tuple(row) for row in np.stack([truth[leaf] for leaf in leaves], axis=1).tolist()}

    values = np.concatenate([rng.normal(0, 3, 2000), [0.0, -0.0, 1e-45, 0.1, math.inf, -math.inf, math.nan, 1e38]])
    assert patterns(values) <= patterns(representatives(X, leaves))


def test_the_product_of_cells_or_none_above_the_limit():
    graph = fires(Or((Compare("x", ">", 1.0), Among("c", ("red",)), IsTrue("b"))))
    table = cells((graph,), 1000)
    assert len(table) == 5 * 4 * 3
    assert cells((graph,), 59) is None
    assert len(sampled_cells((graph,), 500)) == 500


@pytest.mark.parametrize("limit", [1 << 20, 1])
def test_a_difference_is_shown_as_a_row(limit):
    one, other = fires(Compare("x", ">", 1.0)), fires(Not(Compare("x", "<=", 1.0)))
    row = equivalent(one, other, limit)
    assert isinstance(row, Table)
    assert math.isnan(row.array("x")[0])  # they differ exactly where x is missing
    assert decide(one, row) != decide(other, row)
    assert not equal_on_cells(one, other, limit)


def test_equal_graphs_are_proved_or_tested():
    one = fires(Or((Compare("x", ">", 1.0), Missing("x"))))
    other = fires(Compare("x", ">", 1.0, True))
    assert equivalent(one, other) == "proved"
    assert equivalent(one, other, limit=1) == "tested"
    assert equal_on_cells(one, other)
