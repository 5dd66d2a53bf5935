"""Why a row is decided as it is: rules that are enough only together, and the conditions that counted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.audit.explaining.explanations import explain
from rulekit.audit.explaining.noisy_formulas import without_strengths
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import Above, Among, And, Compare, Contains, Hidden, IsTrue, Node, Not, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

SCHEMA = Schema(tuple(Feature(name) for name in "abc"))
BITS = tuple(Hidden(f"H{name}", Compare(name, ">", 0.0), strength_of(0.4), strength_of(0.1)) for name in "abc")
ANY = Probability(Or(BITS))


def table(*rows: tuple[float, float, float]) -> Table:
    columns = np.array(rows, dtype=np.float32).T
    return Table(SCHEMA.features, tuple(np.ascontiguousarray(column) for column in columns), len(rows))


def two_classes(score: Probability, threshold: float = 0.5) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(score, threshold)), (score,), 0)


def test_weak_rules_that_decide_together_are_named_and_one_that_is_enough_stands_alone():
    """A row that no rule alone makes positive was explained by nothing at all."""
    model = two_classes(ANY)
    names = {rule.node: rule.id for rule in rules_of(model)}
    both, none = explain(model, table((1.0, -1.0, 1.0), (-1.0, -1.0, -1.0)))
    assert both["label"] == "yes"
    said = [(rule["id"], rule["together"], round(rule["probability"], 9)) for rule in both["rules"]]
    assert said == [(names[BITS[0]], True, 0.4), (names[BITS[2]], True, 0.4)]
    assert (none["label"], none["rules"]) == ("no", [])
    strong = Hidden("S", Compare("c", ">", 0.0), strength_of(0.9))
    (row,) = explain(two_classes(Probability(Or((*BITS[:2], strong)))), table((1.0, 1.0, 1.0)))
    assert [rule["text"] for rule in row["rules"]] == ["S fires with probability 0.9 when c > 0"]
    assert "together" not in row["rules"][0]


def test_together_means_above_the_threshold_of_the_model():
    for threshold, many in ((0.05, 1), (0.5, 2), (0.7, 3)):
        (row,) = explain(two_classes(ANY, threshold), table((1.0, 1.0, 1.0)))
        assert [rule.get("together") for rule in row["rules"]] == [True] * many
    strong = Hidden("S", Compare("c", ">", 0.0), strength_of(0.8))
    rows = explain(two_classes(Probability(Or((BITS[0], strong))), 0.85), table((-9.0, 1.0, 1.0), (1.0, 1.0, 1.0)))
    together = [(row["label"], [rule.get("together") for rule in row["rules"]]) for row in rows]
    assert together == [("no", [None]), ("yes", [True, True])]


def test_conditions_stand_in_the_order_of_what_they_change():
    score = Probability(Or((BITS[0], And(BITS[1:]))))
    yes, no = explain(two_classes(score, 0.3), table((1.0, -1.0, 1.0), (-1.0, 1.0, -1.0)))
    # P(yes) = 1 - (1 - a)(1 - b c), each bit .4 where its condition holds, else .1
    for row, holds, second in ((yes, True, 0.6 * 0.1 * 0.3), (no, False, 0.9 * 0.4 * 0.3)):
        assert [(c["id"], c["holds"], c["text"]) for c in row["conditions"]] == [
            ("Ha", holds, "a > 0"),
            ("Hc", holds, "c > 0"),
        ]
        assert [c["change"] for c in row["conditions"]] == pytest.approx([0.3 * 0.96, second])
        assert [c["said"] for c in row["conditions"]] == [
            "not " * (not holds) + text for text in ("(a > 0)", "(c > 0)")
        ]


def test_a_condition_of_several_bits_turns_with_all_of_them():
    """It stood twice, each time with what one bit counts."""
    again = Hidden("Z", BITS[0].cause, strength_of(0.7), strength_of(0.2))
    (row,) = explain(two_classes(Probability(And((Or((BITS[0], BITS[1])), again))), 0.3), table((1.0, 1.0, 1.0)))
    assert [c["id"] for c in row["conditions"]] == ["Ha+Z", "Hb"]
    assert row["conditions"][0]["change"] == pytest.approx(0.64 * 0.7 - 0.46 * 0.2)


def test_bits_of_one_name_in_two_formulas_are_told_apart():
    """The texts were looked up by the name of the bit, so the class u was explained by the condition of v."""
    scores = tuple(
        Probability(Hidden("H1", Compare(column, ">", 0.0), strength_of(0.9), strength_of(0.1))) for column in "ab"
    )
    graph = RuleGraph(SCHEMA, ("u", "v"), ArgMax(scores, (0.5, 0.5), (0, 1)), (), 0)
    rows = explain(graph, table((1.0, -1.0, 1.0), (-1.0, 1.0, 1.0)))
    assert [[c["text"] for c in row["conditions"]] for row in rows] == [["a > 0"], ["b > 0"]]


@pytest.mark.parametrize(
    ("cause", "holding", "failing"),
    [
        (Among("d", ("x",)), "d in {x}", "d not in {x}"),
        (Not(Among("d", ("y",), missing=True)), "d not in {y}", "d in {y}"),
        (Contains("t", ("wheat", "corn")), "t contains any of {corn, wheat}", "t lacks all of {corn, wheat}"),
        (Not(Contains("t", ("wheat",), missing=True)), "t lacks wheat", "t contains wheat"),
        (Among("d", ("x",), unseen=True), "(d in {x} or unseen)", "not (d in {x} or unseen)"),
        (IsTrue("e"), "e", "not e"),
        (Not(IsTrue("e")), "(not e or missing)", "e"),
        (Compare("a", "<=", 0.5, missing=True), "(a <= 0.5 or missing)", "not (a <= 0.5 or missing)"),
        (Not(Compare("a", ">", 0.5)), "(not a > 0.5)", "not (not a > 0.5)"),
        (
            And((Or((Compare("a", ">", 0.0), Compare("b", ">", 0.5))), Compare("c", ">", 0.0))),
            "((a > 0 or b > 0.5) and c > 0)",
            "not ((a > 0 or b > 0.5) and c > 0)",
        ),
    ],
)
def test_a_condition_stands_so_that_a_number_can_follow(cause: Node, holding: str, failing: str):
    holds = {"a": 1.0, "b": 1.0, "c": 1.0, "d": "x", "e": True, "t": "Wheat"}
    fails = {"a": 0.0, "b": 0.0, "c": 0.0, "d": "y", "e": False, "t": "Rye"}
    conditions = [row["conditions"][0] for row in explain(caused_by(cause), [holds, fails])]
    assert {each["holds"]: each["said"] for each in conditions} == {True: holding, False: failing}


@pytest.mark.parametrize(
    ("cause", "failing"),
    [
        (Among("d", ("x",)), "not (d in {x})"),
        (Not(Among("d", ("y",), missing=True)), "not (d not in {y})"),
        (Not(Contains("t", ("wheat",), missing=True)), "not (t lacks wheat)"),
    ],
)
def test_the_contrary_of_a_leaf_is_not_said_of_a_missing_value(cause: Node, failing: str):
    (row,) = explain(caused_by(cause), [{"a": 1.0, "b": 1.0, "c": 1.0, "d": None, "e": None, "t": None}])
    assert [condition["said"] for condition in row["conditions"]] == [failing]


def caused_by(cause: Node) -> RuleGraph:
    more = (Feature("d", "categorical", ("x", "y")), Feature("e", "boolean"), Feature("t", "text"))
    score = Probability(Hidden("H", cause, strength_of(0.9), strength_of(0.1)))
    return RuleGraph(Schema((*SCHEMA, *more)), ("no", "yes"), Fires(Above(score, 0.5)), (score,), 0)


def test_rules_without_strengths_are_what_makes_them_likelier():
    seldom = Hidden("S", Compare("c", ">", 1.0), strength_of(0.1), strength_of(0.6))
    again = Hidden("A", BITS[1].cause, strength_of(0.3), strength_of(0.001))
    rule = And((Or((BITS[0], seldom)), Or((BITS[1], again))))
    causes = [bit.cause for bit in (*BITS, seldom)]
    assert without_strengths(rule) == And((Or((causes[0], Not(causes[3]))), causes[1]))


def test_several_classes_are_explained_by_the_formula_of_the_label():
    scores = tuple(Probability(Or((bit, BITS[2]))) for bit in BITS[:2])
    decision = ArgMax(scores, (0.5, 0.5), (0, 1))
    row = explain(RuleGraph(SCHEMA, ("u", "v"), decision, (), 0), table((-1.0, 1.0, 1.0)))[0]
    assert row["label"] == "v"
    assert {rule["class"] for rule in row["rules"]} == {"v"}
    assert {(c["id"], c["class"]) for c in row["conditions"]} == {("Hb", "v"), ("Hc", "v")}


def test_a_rank_is_explained_by_the_cuts_on_either_side():
    cuts = (Above(Probability(Or(BITS[:2])), 0.5), Above(Probability(Or(BITS[1:])), 0.5))
    row = explain(RuleGraph(SCHEMA, ("low", "mid", "high"), Median(cuts), (), 0), table((1.0, 1.0, -1.0)))[0]
    assert row["label"] == "mid"
    assert [rule["class"] for rule in row["rules"]] == ["mid", "mid"]
    found = {(c["id"], c["class"], c["holds"]) for c in row["conditions"]}
    assert found == {("Ha", "mid", True), ("Hb", "mid", True), ("Hc", "high", False)}


@settings(max_examples=10)
@given(st.lists(st.tuples(*[st.sampled_from([-1.0, 1.0, float("nan")])] * 3), min_size=1, max_size=5))
def test_every_positive_row_has_a_rule_and_every_row_a_condition(cells):
    for threshold in (0.2, 0.5, 0.75):
        for row in explain(two_classes(ANY, threshold), table(*cells)):
            assert bool(row["rules"]) >= (row["label"] == "yes")
            changes = [condition["change"] for condition in row["conditions"]]
            assert changes == sorted(changes, reverse=True)
            assert min(changes, default=1.0) > 0
