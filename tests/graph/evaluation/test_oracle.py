"""The oracle, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from rulekit.errors import GraphError, InputError
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.oracle import evaluate_node, evaluate_row, read_level
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Step,
    Strength,
)
from rulekit.graph.rule_graph import RuleGraph
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
    ("x", "expected"),
    [
        (0.1, False),  # both sides are rounded to float32
        (float32(0.1), False),
        (next_float32(float32(0.1)), True),
        (0.10000000200000001, False),  # above 0.1 as a double, the same as float32
        (INF, True),
        (-INF, False),
        (1e300, True),
        (10**400, True),
    ],
)
def test_a_float32_comparison_rounds_the_cell_and_the_threshold(x, expected):
    assert value(Compare("x", ">", 0.1), x=x) is expected
    assert value(Compare("x", "<=", 0.1), x=x) is not expected


def test_a_float64_comparison_is_made_in_double():
    assert value(Compare("d", ">", 0.1), d=math.nextafter(0.1, 1))
    assert not value(Compare("d", ">", 0.1), d=0.1)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_both_zeros_are_one_number(zero):
    assert not value(Compare("x", ">", 0.0), x=zero)
    assert value(Compare("x", "<=", -0.0), x=zero)


@pytest.mark.parametrize("cell", [None, NAN, ""])
@pytest.mark.parametrize("missing", [True, False])
def test_every_leaf_says_what_missing_yields(cell, missing):
    for op in ("<=", ">"):
        assert value(Compare("x", op, 1.0, missing), x=cell) is missing
        assert value(Not(Compare("x", op, 1.0, missing)), x=cell) is not missing
    assert value(IsTrue("b", missing), b=cell) is missing
    assert value(Among("c", ("red",), missing, unseen=not missing), c=cell) is missing
    assert value(Missing("x"), x=cell)
    assert value(Missing("c"), c=cell)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [("red", False), ("3", True), (3, True), (3.0, True), (True, True), ("true", True), (False, None), (3.5, None)],
)
def test_the_key_of_a_level_is_text_without_a_trailing_zero(cell, expected):
    node = Among("c", ("3", "true"), unseen=False)
    contrary = Among("c", ("3", "true"), unseen=True)
    if expected is None:
        assert (value(node, c=cell), value(contrary, c=cell)) == (False, True)
    else:
        assert value(node, c=cell) is value(contrary, c=cell) is expected


def test_a_level_never_seen_is_what_the_schema_says():
    assert value(Among("c", ("red",), missing=False, unseen=True), c="blue")
    assert value(Among("c", ("red",), missing=True, unseen=False), c="?")
    assert value(Among("m", ("red",), missing=True, unseen=False), m="blue")
    with pytest.raises(InputError, match="blue"):
        value(Among("e", ("red",)), e="blue")


@pytest.mark.parametrize(("cell", "expected"), [(True, True), (0, False), (0.5, False), (0.75, True), ("false", False)])
def test_a_boolean_column_is_true_above_a_half(cell, expected):
    assert value(IsTrue("b"), b=cell) is expected


def test_logic():
    yes, no = Compare("x", ">", 0.0), Compare("x", "<=", 0.0)
    cases = {
        And(()): True,
        Or(()): False,
        And((yes, no)): False,
        Or((no, yes)): True,
        AtLeast(2, (yes, no, yes)): True,  # a child that stands twice counts twice
        AtLeast(3, (yes, no, yes)): False,
        AtLeast(0, ()): True,
        Odd((yes, no, yes)): False,
        Odd((yes, no, yes, yes)): True,
        Odd(()): False,
        Constant(False): False,
        Not(no): True,
    }
    assert {node: value(node, x=1.0) for node in cases} == cases


@pytest.mark.parametrize(
    ("x", "expected"),
    [(0.125, 0.0), (0.375, 0.5), (0.2, 0.25), (-0.125, 0.0), (9.0, 1.0), (-9.0, -1.0), (NAN, 7.0), (INF, 1.0)],
)
def test_a_column_is_clipped_then_rounded_half_to_even(x, expected):
    assert value(Column("x", 7.0, -1.0, 1.0, 0.25), x=x) == expected


def test_a_column_without_a_step_is_not_rounded():
    assert value(Column("x", 0.0, -1e9, 1e9), x=0.1) == float32(0.1)
    assert value(Column("d", 0.0, -1e300, 1e300, 2.0**-1074), d=1e299) == 1e299 / 2.0**-1074 * 2.0**-1074


@pytest.mark.parametrize(("x", "expected"), [(-1.0, 1.0), (0.1, 1.0), (0.2, 2.0), (5.0, 2.0), (6.0, 4.0), (NAN, 8.0)])
def test_a_step_function_counts_the_cuts_below(x, expected):
    assert value(Step("x", (0.1, 5.0), (1.0, 2.0, 4.0), 8.0), x=x) == expected


@pytest.mark.parametrize(
    ("cell", "expected"), [("red", 1.5), (3, -2.0), (3.0, -2.0), ("true", 0.0), ("blue", 0.25), (None, 8.0), ("", 8.0)]
)
def test_points_by_level(cell, expected):
    assert value(LevelPoints("c", (("red", 1.5), ("3", -2.0)), 8.0, 0.25), c=cell) == expected


def test_a_level_never_seen_has_the_points_that_the_schema_says():
    assert value(LevelPoints("m", (("red", 1.5),), missing=8.0, unseen=0.25), m="blue") == 8.0
    with pytest.raises(InputError, match="blue"):
        value(LevelPoints("e", (("red", 1.5),)), e="blue")


def test_a_sum_runs_from_left_to_right_in_double():
    x = Column("d", 0.0, -1e20, 1e20)
    terms = ((1.0, Column("x", 0.0, 0.0, 1e16)), (1.0, TRUE), (1.0, TRUE), (-1.0, x))
    assert value(Linear(terms, 0.0), x=2.0**53, d=2.0**53) == 0.0  # each 1.0 is lost
    assert value(Linear(terms[1:], 0.5), d=0.25) == 2.25
    assert value(LinearThreshold(((1.0, x),), -1.0), d=1.0)
    assert not value(LinearThreshold(((1.0, x),), -1.0), d=0.99)


def test_a_link_saturates():
    node = Logistic(Column("d", 0.0, -1e4, 1e4))
    assert [value(node, d=z) for z in (-1e4, 0.0, 1e4)] == [0.0, 0.5, 1.0]


def graph(decision, probability=(), classes=("no", "yes"), default=0):
    return RuleGraph(SCHEMA, classes, decision, probability, default)


def test_a_noisy_or_is_reported_and_decided():
    bits = [
        Hidden("h1", Compare("x", ">", 0.0), strength_of(0.5)),
        Hidden("h2", IsTrue("b"), strength_of(0.5), strength_of(0.25)),
    ]
    score = Probability(Or(bits))
    model = graph(Fires(Above(score, 0.625)), (score,))
    assert evaluate_row(model, {"x": 1.0, "b": True}) == (1, [0.25, 0.75])
    assert evaluate_row(model, {"x": 1.0, "b": False}) == (0, [0.375, 0.625])  # not strictly above
    label, reported = evaluate_row(model, {"x": -1.0, "b": None})
    assert (label, reported) == (0, pytest.approx([0.75, 0.25], abs=1e-15))


def test_a_log_complement_adds_strengths():
    score = Probability(
        Or((Hidden("h1", Compare("x", ">", 0.0), 0.75, 0.25), Hidden("h2", TRUE, 0.5), Compare("x", ">", 9.0)))
    )
    model = graph(Fires(Above(Strength(score.children[0]), 1.25)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-1.0, 1.0, 10.0)] == [0, 0, 1]
    model = graph(Fires(Above(Strength(score.children[0]), 1.2)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-1.0, 1.0, 10.0)] == [0, 1, 1]


def test_arg_max_breaks_ties_by_preference_and_falls_back_to_the_default():
    scores = (Compare("x", ">", 0.0), Compare("x", ">", 1.0), Linear(((1.0, Compare("x", ">", 2.0)),), 0.0))
    model = graph(ArgMax(scores, (0.5, 0.5, 0.5), (1, 2, 0)), classes=("a", "b", "c"), default=2)
    assert [evaluate_row(model, {"x": x})[0] for x in (0.0, 1.0, 2.0, 3.0)] == [2, 0, 1, 1]
    assert evaluate_row(model, {"x": 1.0})[1] == [1.0, 0.0, 0.0]


def test_arg_max_without_thresholds_always_finds_a_class():
    scores = (Column("x", 0.0, -9.0, 9.0), Linear((), -3.0))
    model = graph(ArgMax(scores, (-INF, -INF), (0, 1)))
    assert [evaluate_row(model, {"x": x})[0] for x in (-5.0, -3.0, 1.0)] == [1, 0, 0]


def test_the_median_counts_the_parts_that_hold():
    parts = (Compare("x", ">", 0.0), Above(Column("x", 0.0, -9.0, 9.0), 1.0))
    model = graph(Median(parts), classes=("low", "mid", "high"))
    assert [evaluate_row(model, {"x": x})[0] for x in (0.0, 1.0, 2.0)] == [0, 1, 2]


def test_probabilities_of_several_classes_sum_to_one_or_fall_back():
    def one(name, cut):
        return Probability(Hidden(name, Compare("x", ">", cut), strength_of(0.5)))

    nodes = (one("h1", 0.0), one("h2", 0.0), one("h3", 1.0))
    model = graph(ArgMax(nodes, (0.0, 0.0, 0.0), (0, 1, 2)), nodes, ("a", "b", "c"), default=1)
    assert evaluate_row(model, {"x": 1.0}) == (0, [0.5, 0.5, 0.0])
    assert evaluate_row(model, {"x": -1.0}) == (1, [0.0, 1.0, 0.0])


@pytest.mark.parametrize("row", [{}, {"x": "many"}, {"y": 1.0}])
def test_a_row_that_cannot_be_read_is_a_named_error(row):
    with pytest.raises(InputError, match="x"):
        evaluate_row(graph(Fires(Compare("x", ">", 0.0))), row)


class Riddle(Node, family=FALSE.family):
    """A node type that nobody knows."""


@pytest.mark.parametrize("node", [Riddle(), Hidden("h", TRUE, 1.0)])
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
