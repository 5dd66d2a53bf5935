"""The oracle, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from rulekit.errors import GraphError, InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.oracle import evaluate_node, evaluate_row, read_level
from rulekit.graph.nodes import FALSE, TRUE, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.numbers import float32, next_float32, strength_of
from rulekit.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("x"),
        Feature("d", precision="float64"),
        Feature("b", "boolean"),
        Feature("c", "categorical", ("red", "3", "true"), missing_tokens=("?",)),
        Feature("m", "categorical", ("red",), unseen="missing"),
        Feature("e", "categorical", ("red",), unseen="error"),
    )
)
NAN, INF = math.nan, math.inf


def value(node, **row):
    return evaluate_node(node, SCHEMA, row)


@pytest.mark.parametrize(
    ("node", "cells"),
    [
        (  # both sides are rounded to float32
            rg.Compare("x", ">", 0.1),
            [
                *((0.1, False), (float32(0.1), False), (next_float32(float32(0.1)), True), (10**400, True)),
                *((0.10000000200000001, False), (INF, True), (-INF, False), (1e300, True)),
            ],
        ),
        (rg.Compare("d", ">", 0.1), [(math.nextafter(0.1, 1), True), (0.1, False)]),
        (rg.Compare("x", ">", 0.0), [(0.0, False), (-0.0, False)]),
        (rg.Compare("x", "<=", -0.0), [(0.0, True), (-0.0, True)]),
        (rg.IsTrue("b"), [(True, True), (0, False), (0.5, False), (0.75, True), ("false", False)]),
        (  # clipped, then rounded half to even
            rg.Column("x", 7.0, -1.0, 1.0, 0.25),
            [
                *((0.125, 0.0), (0.375, 0.5), (0.2, 0.25), (-0.125, 0.0)),
                *((9.0, 1.0), (-9.0, -1.0), (NAN, 7.0), (INF, 1.0)),
            ],
        ),
        (rg.Column("x", 0.0, -1e9, 1e9), [(0.1, float32(0.1))]),
        (rg.Column("d", 0.0, -1e300, 1e300, 2.0**-1074), [(1e299, 1e299 / 2.0**-1074 * 2.0**-1074)]),
        (
            rg.Step("x", (0.1, 5.0), (1.0, 2.0, 4.0), 8.0),
            [(-1.0, 1.0), (0.1, 1.0), (0.2, 2.0), (5.0, 2.0), (6.0, 4.0), (NAN, 8.0)],
        ),
        (
            rg.LevelPoints("c", (("red", 1.5), ("3", -2.0)), 8.0, 0.25),
            [("red", 1.5), (3, -2.0), (3.0, -2.0), ("true", 0.0), ("blue", 0.25), (None, 8.0), ("", 8.0)],
        ),
        (rg.LevelPoints("m", (("red", 1.5),), missing=8.0, unseen=0.25), [("blue", 8.0)]),
        (rg.Among("c", ("red",), missing=False, unseen=True), [("blue", True)]),
        (rg.Among("c", ("red",), missing=True, unseen=False), [("?", True)]),
        (rg.Among("m", ("red",), missing=True, unseen=False), [("blue", True)]),
        *(  # the key of a level is a text without a trailing zero
            (
                rg.Among("c", ("3", "true"), unseen=unseen),
                [
                    *(("red", False), ("3", True), (3, True), (3.0, True), (True, True), ("true", True)),
                    *((False, unseen), (3.5, unseen)),
                ],
            )
            for unseen in (False, True)
        ),
        (rg.Logistic(rg.Column("d", 0.0, -1e4, 1e4)), [(-1e4, 0.0), (0.0, 0.5), (1e4, 1.0)]),
    ],
)
def test_a_node_has_the_value_of_its_cell(node, cells):
    column = next(iter(columns_of(node)))
    assert [value(node, **{column: cell}) for cell, _ in cells] == [expected for _, expected in cells]
    if column == "x" and isinstance(node, rg.Compare):
        contrary = rg.Compare("x", "<=" if node.op == ">" else ">", node.value)
        assert [value(contrary, x=cell) for cell, _ in cells] == [not expected for _, expected in cells]


@pytest.mark.parametrize("node", [rg.Among("e", ("red",)), rg.LevelPoints("e", (("red", 1.5),))])
def test_a_level_never_seen_may_be_refused(node):
    with pytest.raises(InputError, match="blue"):
        value(node, e="blue")


@pytest.mark.parametrize("cell", [None, NAN, ""])
@pytest.mark.parametrize("missing", [True, False])
def test_every_leaf_says_what_missing_yields(cell, missing):
    for op in ("<=", ">"):
        assert value(rg.Compare("x", op, 1.0, missing), x=cell) is missing
        assert value(rg.Not(rg.Compare("x", op, 1.0, missing)), x=cell) is not missing
    assert value(rg.IsTrue("b", missing), b=cell) is missing
    assert value(rg.Among("c", ("red",), missing, unseen=not missing), c=cell) is missing
    assert value(rg.Missing("x"), x=cell)
    assert value(rg.Missing("c"), c=cell)


def test_logic():
    yes, no = rg.Compare("x", ">", 0.0), rg.Compare("x", "<=", 0.0)
    cases = {
        rg.And(()): True,
        rg.Or(()): False,
        rg.And((yes, no)): False,
        rg.Or((no, yes)): True,
        rg.AtLeast(2, (yes, no, yes)): True,  # a child that stands twice counts twice
        rg.AtLeast(3, (yes, no, yes)): False,
        rg.AtLeast(0, ()): True,
        rg.Odd((yes, no, yes)): False,
        rg.Odd((yes, no, yes, yes)): True,
        rg.Odd(()): False,
        rg.Constant(False): False,
        rg.Not(no): True,
    }
    assert {node: value(node, x=1.0) for node in cases} == cases


def test_a_sum_runs_from_left_to_right_in_double():
    x = rg.Column("d", 0.0, -1e20, 1e20)
    terms = ((1.0, rg.Column("x", 0.0, 0.0, 1e16)), (1.0, TRUE), (1.0, TRUE), (-1.0, x))
    assert value(rg.Linear(terms, 0.0), x=2.0**53, d=2.0**53) == 0.0  # each 1.0 is lost
    assert value(rg.Linear(terms[1:], 0.5), d=0.25) == 2.25
    assert value(rg.LinearThreshold(((1.0, x),), -1.0), d=1.0)
    assert not value(rg.LinearThreshold(((1.0, x),), -1.0), d=0.99)


def graph(decision, probability=(), classes=("no", "yes"), default=0):
    return RuleGraph(SCHEMA, classes, decision, probability, default)


def test_a_noisy_or_is_reported_and_decided():
    bits = [
        rg.Hidden("h1", rg.Compare("x", ">", 0.0), strength_of(0.5)),
        rg.Hidden("h2", rg.IsTrue("b"), strength_of(0.5), strength_of(0.25)),
    ]
    score = rg.Probability(rg.Or(bits))
    model = graph(Fires(rg.Above(score, 0.625)), (score,))
    assert evaluate_row(model, {"x": 1.0, "b": True}) == (1, [0.25, 0.75])
    assert evaluate_row(model, {"x": 1.0, "b": False}) == (0, [0.375, 0.625])  # not strictly above
    label, reported = evaluate_row(model, {"x": -1.0, "b": None})
    assert (label, reported) == (0, pytest.approx([0.75, 0.25], abs=1e-15))


def test_a_log_complement_adds_strengths():
    score = rg.Probability(
        rg.Or(
            (
                rg.Hidden("h1", rg.Compare("x", ">", 0.0), 0.75, 0.25),
                rg.Hidden("h2", TRUE, 0.5),
                rg.Compare("x", ">", 9.0),
            )
        )
    )
    model = graph(Fires(rg.Above(rg.Strength(score.children[0]), 1.25)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-1.0, 1.0, 10.0)] == [0, 0, 1]
    model = graph(Fires(rg.Above(rg.Strength(score.children[0]), 1.2)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-1.0, 1.0, 10.0)] == [0, 1, 1]


def test_arg_max_breaks_ties_by_preference_and_falls_back_to_the_default():
    scores = (rg.Compare("x", ">", 0.0), rg.Compare("x", ">", 1.0), rg.Linear(((1.0, rg.Compare("x", ">", 2.0)),), 0.0))
    model = graph(ArgMax(scores, (0.5, 0.5, 0.5), (1, 2, 0)), classes=("a", "b", "c"), default=2)
    assert [evaluate_row(model, {"x": x})[0] for x in (0.0, 1.0, 2.0, 3.0)] == [2, 0, 1, 1]
    assert evaluate_row(model, {"x": 1.0})[1] == [1.0, 0.0, 0.0]


def test_arg_max_without_thresholds_always_finds_a_class():
    scores = (rg.Column("x", 0.0, -9.0, 9.0), rg.Linear((), -3.0))
    model = graph(ArgMax(scores, (-INF, -INF), (0, 1)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-5.0, -3.0, 1.0)] == [1, 0, 0]


def test_the_median_counts_the_parts_that_hold():
    parts = (rg.Compare("x", ">", 0.0), rg.Above(rg.Column("x", 0.0, -9.0, 9.0), 1.0))
    model = graph(Median(parts), classes=("low", "mid", "high"))
    assert [evaluate_row(model, {"x": x})[0] for x in (0.0, 1.0, 2.0)] == [0, 1, 2]


def test_probabilities_of_several_classes_sum_to_one_or_fall_back():
    def one(name, cut):
        return rg.Probability(rg.Hidden(name, rg.Compare("x", ">", cut), strength_of(0.5)))

    nodes = (one("h1", 0.0), one("h2", 0.0), one("h3", 1.0))
    model = graph(ArgMax(nodes, (0.0, 0.0, 0.0), (0, 1, 2)), nodes, ("a", "b", "c"), default=1)
    assert evaluate_row(model, {"x": 1.0}) == (0, [0.5, 0.5, 0.0])
    assert evaluate_row(model, {"x": -1.0}) == (1, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("row", [{}, {"x": "many"}, {"y": 1.0}])
def test_a_row_that_cannot_be_read_is_a_named_error(row):
    with pytest.raises(InputError, match="x"):
        evaluate_row(graph(Fires(rg.Compare("x", ">", 0.0))), row)


class Riddle(Node, family=FALSE.family):
    """A node type that nobody knows."""


@pytest.mark.parametrize("node", [Riddle(), rg.Hidden("h", TRUE, 1.0)])
def test_a_node_without_a_value_is_refused_by_name(node):
    with pytest.raises(GraphError, match=type(node).__name__):
        value(node)


def test_look_alikes_of_levels_mean_what_they_mean_in_tables() -> None:
    """The oracle took "3.0" for a level never seen, while every reader takes it for "3"."""
    from rulekit.tables.kinds.encoding import encode

    feature = Feature("c", "categorical", ("3", "true", "-4"))
    schema = Schema((feature,))
    for text in ("3", "3.0", "3.00", "+3.0", "True", "TRUE", "tRuE", "-4.0", "- 4.0", "04"):
        code = int(encode({"c": [text]}, schema).arrays[0][0])
        key = read_level(text, feature)
        assert (feature.levels.index(key) + 2 if key in feature.levels else 1) == code, text
