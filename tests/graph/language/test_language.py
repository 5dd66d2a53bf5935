"""The rule language: what is printed reads back with the same digest; what cannot be read is said in people's words."""

from __future__ import annotations

import itertools
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.conformance.models import random_graph
from rulekit.errors import FormatError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.oracle import evaluate_node
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_condition, parse_graph
from rulekit.graph.language.text import print_graph, print_node, word
from rulekit.graph.language.wordings import ExactWording
from rulekit.graph.language.words import RESERVED, number
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Contains,
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
    Vocabulary,
)
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.rules import literals, rules_of
from rulekit.numbers import float32, strength_of
from rulekit.schema import Constraints, Feature, Schema

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = Schema(
    (
        Feature("age"),
        Feature("job", "categorical", ("cook", "a clerk")),
        Feature("married", "boolean"),
        Feature("story", "text"),
    )
)
OLD, YOUNGER = Compare("age", ">", 28.5), Compare("age", "<=", 40.0)
COOK, MARRIED = Among("job", ("cook",)), IsTrue("married")
RYE = Contains("story", ("rye",))
HEADER = """rulekit rules 1
column age: numeric
column job: categorical {cook, "a clerk"}
column married: boolean
label y: {no, yes}
"""


def fires(node: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(node))


def parsed(expression: str) -> Node:
    """The node that an expression means."""
    decision = parse_graph(f"{HEADER}column story: text\ndecide yes when {expression}").decision
    assert isinstance(decision, Fires)
    return decision.formula


# There and back


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_graphs_read_back_with_their_digest(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed))

    again = parse_graph(print_graph(graph))

    assert again.digest == graph.digest
    assert (again.schema, again.classes, again.default) == (graph.schema, graph.classes, graph.default)


WHOLES = Schema(
    (
        Feature("age"),
        Feature("n", display="integer"),
        Feature("visits", display="count"),
        Feature("since", display="date"),
    ),
    target="y",
)
BOUNDS = st.builds(
    Compare,
    st.sampled_from(("age", "n", "visits", "since")),
    st.sampled_from((">", "<=")),
    st.sampled_from((-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)),
    st.sampled_from((False, False, True)),
)
JOINED = st.recursive(
    BOUNDS,
    lambda nodes: st.one_of(
        st.lists(nodes, max_size=4).map(And),
        st.lists(nodes, max_size=3).map(Or),
        nodes.map(Not),
        st.lists(nodes, max_size=3).map(lambda parts: AtLeast(2, parts)),
        st.lists(nodes, max_size=3).map(Odd),
    ),
    max_leaves=12,
)


@given(JOINED, st.booleans())
@settings(max_examples=50, deadline=None)
def test_bounds_however_joined_read_back(node: Node, shared: bool) -> None:
    reported = (Probability(Hidden("h", node.children[0] if shared and node.children else node, 1.0)),)
    graph = RuleGraph(WHOLES, ("no", "yes"), Fires(node), reported)

    assert parse_graph(print_graph(graph)) == graph


SAID = Schema((Feature("job", "categorical", ("a", "b")), Feature("ok", "boolean"), Feature("t", "text")), target="y")
FLAG = st.booleans()
LEAF = st.one_of(
    st.builds(Among, st.just("job"), st.lists(st.sampled_from("ab"), unique=True).map(tuple), FLAG, FLAG),
    st.builds(Contains, st.just("t"), st.lists(st.sampled_from(("rye", "7up", "not")), unique=True).map(tuple), FLAG),
    st.builds(IsTrue, st.just("ok"), FLAG),
    st.sampled_from(("job", "ok", "t")).map(Missing),
)
DENIED = st.recursive(
    st.one_of(LEAF.map(Not), LEAF),
    lambda nodes: st.one_of(nodes.map(Not), st.lists(nodes, max_size=3).map(And), st.lists(nodes, max_size=3).map(Or)),
    max_leaves=8,
)


@given(DENIED, FLAG)
@settings(max_examples=50, deadline=None)
def test_what_is_denied_reads_back(node: Node, shared: bool) -> None:
    """A leaf that fails where x is missing and one that does not have words of their own."""
    reported = (Probability(Hidden("h", node.children[0] if shared and node.children else node, 1.0)),)
    graph = RuleGraph(SAID, ("no", "yes"), Fires(node), reported)

    assert parse_graph(print_graph(graph)).digest == graph.digest


@given(LEAF, st.integers(0, 2))
@settings(max_examples=40, deadline=None)
def test_what_is_denied_means_to_people_what_it_means(node: Node, denials: int) -> None:
    """What people read of short lists happens to be legal in the language."""
    for _ in range(denials):
        node = Not(node)
    shown = parse_condition(print_node(node, SAID), SAID)

    for job, ok, text in itertools.product((None, "a", "b", "new"), (None, False, True), (None, "", "Rye 7up")):
        row = {"job": job, "ok": ok, "t": text}
        assert evaluate_node(shown, SAID, row) == evaluate_node(node, SAID, row)


def test_a_long_list_that_is_denied_is_called_by_its_name() -> None:
    """Its words would stand in the text as often as it is used."""
    words = Contains("story", tuple(f"word{i}" for i in range(40)), True)
    text = print_graph(fires(Or((And((Not(words), OLD)), And((Not(words), MARRIED)), And((words, COOK))))))

    assert text.count("word7,") == 1
    assert parse_graph(text) == fires(Or((And((Not(words), OLD)), And((Not(words), MARRIED)), And((words, COOK)))))


@given(st.lists(BOUNDS, min_size=2, max_size=5).map(And))
@settings(max_examples=40, deadline=None)
def test_bounds_that_are_joined_for_people_mean_what_they_did(node: Node) -> None:
    """Over whole numbers and days; what people read of such columns happens to be legal in the language."""
    shown = parse_condition(print_node(node, WHOLES), WHOLES)

    for value in (None, -1, 0, 1, 2, 3, 4):
        for other in (None, 1, 2):
            visits = None if value is None else max(0, value)
            row = {"age": value, "n": other, "visits": visits, "since": value}
            again = {"age": other, "n": value, "visits": other, "since": other}
            assert [evaluate_node(shown, WHOLES, cells) for cells in (row, again)] == [
                evaluate_node(node, WHOLES, cells) for cells in (row, again)
            ]


@given(st.text(), st.text(min_size=1), st.text(), st.sampled_from(sorted(RESERVED)))
@settings(max_examples=30, deadline=None)
def test_any_text_survives_as_name_level_label_unit_and_token(a: str, b: str, c: str, word: str) -> None:
    features = (
        Feature(a, unit=b),
        Feature(a + b, "categorical", tuple(dict.fromkeys((a, b, c, word))), missing_tokens=(c, a)),
        Feature(a + b + word, "boolean"),
    )
    formula = Or((Compare(a, ">", 0.5), Among(a + b, (a, b, word)), IsTrue(a + b + word)))
    graph = RuleGraph(Schema(features, target=c), (c, c + "x"), Fires(formula), (Probability(Hidden(c, formula, 1.0)),))

    again = parse_graph(print_graph(graph))

    assert again == graph
    assert again.schema == graph.schema


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 50), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_any_number_survives(value: float, strength: float, probability: float) -> None:
    bit = Hidden("h", Compare("age", "<=", value), strength, strength_of(probability))
    score = Probability(Or((bit,)))
    graph = RuleGraph(SCHEMA, (value, "yes"), Fires(Above(Strength(score.children[0]), value)), (score,))

    assert parse_graph(print_graph(graph)) == graph


@pytest.mark.parametrize(
    ("bounds", "exact", "shown"),
    [
        ((">2", "<=3"), "n = 3", "n = 3 years"),
        (("<=3", ">2"), "n <= 3 and n > 2", "n = 3 years"),
        ((">2.5", "<=3.5"), "2.5 < n <= 3.5", "n = 3 years"),
        ((">2", "<=5"), "2 < n <= 5", "2 < n <= 5 years"),
        ((">5", "<=2"), "n > 5 and n <= 2", "n > 5 years and n <= 2 years"),
    ],
)
def test_bounds_on_whole_numbers(bounds: tuple[str, ...], exact: str, shown: str) -> None:
    schema = Schema((Feature("n", display="integer", unit="years"),), target="y")
    node = And([parse_condition(f"n {text}", schema) for text in bounds])

    assert word([node], schema=schema).full[node].words == exact
    assert print_node(node, schema) == shown
    assert literals([node])[node] == 2


@pytest.mark.parametrize(
    ("text", "exact", "shown"),
    [
        ("n <= 0", "n = 0", "n = 0"),
        ("n = 0", "n = 0", "n = 0"),
        ("(n <= 0 or missing)", "(n = 0 or missing)", "(n = 0 or missing)"),
        ("not n = 0", "not n = 0", "not n = 0"),
        ("n <= 0.5", "n <= 0.5", "n = 0"),
        ("n > 0", "n > 0", "n > 0"),
        ("n <= 1", "n <= 1", "n <= 1"),
        ("n <= -1", "n <= -1", "n <= -1"),
        ("-1 < n <= 0", "-1 < n <= 0", "n = 0"),
        ("n = 3", "n = 3", "n = 3"),
        ("n = 0 or n = 3", "n = 0 or n = 3", "n = 0 or n = 3"),
        ("-2 < n <= 0", "-2 < n <= 0", "-2 < n <= 0"),
    ],
)
def test_a_count_of_none_is_equal_to_0(text: str, exact: str, shown: str) -> None:
    schema = Schema((Feature("n", display="count"),), target="y")
    node = parse_condition(text, schema)

    assert word([node], schema=schema).full[node].words == exact
    assert print_node(node, schema) == shown
    assert parse_condition(exact, schema) == node


def test_a_count_below_0_is_decided_as_the_bound_says() -> None:
    """`visits = 0` is `visits <= 0`: every artifact holds the bound, and the language says what it means."""
    schema = Schema((Feature("visits", display="count"),), target="y")
    node = parse_condition("visits = 0", schema)

    assert node == Compare("visits", "<=", 0.0)
    assert [evaluate_node(node, schema, {"visits": value}) for value in (None, -1, -0.5, 0, 0.5, 1)] == [
        *(False, True, True, True, False, False)
    ]


def test_every_field_of_the_schema_survives() -> None:
    options: dict[str, tuple[Any, ...]] = {
        "precision": ("float32", "float64"),
        "display": ("plain", "integer", "count", "date", "datetime", "money"),
        "unit": ("", "km/h"),
        "missing_tokens": ((), ("NA", "?", "-")),
        "unseen": ("unseen", "missing", "error"),
        "monotone": (0, 1, -1),
        "role": ("use", "audit", "forbidden"),
    }
    cases = list(itertools.product(*options.values()))[::5]
    features = [Feature(f"c{i}", **dict(zip(options, case, strict=True))) for i, case in enumerate(cases)]
    features += [Feature("none", "categorical"), Feature("rank", "categorical", ("low", "high"), ordered=True)]
    features += [Feature("married", "boolean", ordered=True)]
    schema = Schema(tuple(features), "y", True, Constraints((("c0", "rank"), ()), (("none", "married"),), True))
    required = (Required(1, MARRIED), Required(0, And((Not(MARRIED), Missing("none")))))
    graph = RuleGraph(schema, ("no", "yes"), Fires(MARRIED), required=required)

    again = parse_graph(print_graph(graph))

    assert again.schema == schema
    assert again == graph != graph.with_(required=required[:1])
    assert from_json(to_json(graph)).required == again.required == required


@pytest.mark.parametrize(
    "decision",
    [
        Fires(Or((OLD, MARRIED))),
        Fires(Above(Probability(Or((Hidden("a", OLD, 1.0), Hidden("b", MARRIED, math.inf, 0.1)))), 0.5)),
        Fires(Above(Strength(Or((Hidden("a", OLD, 1.0),))), -1.0)),
        Fires(Above(Linear(((0.5, OLD),), 1.0), -0.25)),
        ArgMax((OLD, MARRIED), (-math.inf, 0.5), (1, 0)),
        ArgMax((OLD, MARRIED), (-0.0, 0.0), (0, 1)),
    ],
)
@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (False, True), (0.0, 1.0), ("0", "1"), ("true", 'a "b"')])
def test_every_decision_over_every_kind_of_class(decision: Any, classes: tuple[Any, ...]) -> None:
    graph = RuleGraph(SCHEMA, classes, decision, default=1)

    again = parse_graph(print_graph(graph))

    assert again == graph
    assert [type(label) for label in again.classes] == [type(label) for label in classes]


def test_several_classes_with_reports() -> None:
    shares = tuple(Probability(Hidden(f"h{j}", OLD, 1.0 + j)) for j in range(3))
    cuts = (OLD, Above(shares[0], 0.5))
    for decision in (ArgMax(shares, (0.5,) * 3, (2, 0, 1)), Median(cuts)):
        graph = RuleGraph(SCHEMA, ("low", "mid", "high"), decision, shares, default=2)

        assert parse_graph(print_graph(graph)) == graph


def test_what_is_no_missing_value_is_known() -> None:
    assert parsed("not age is missing") == parsed("age is known") == Not(Missing("age"))
    with pytest.raises(FormatError, match="no column is `mising`; write is known, or is missing"):
        parsed("age is mising")


BANDS = ("100-109", "10-19", "20-29", "0-9", "unknown age", "90-99")


@pytest.mark.parametrize(
    ("levels", "ordered", "shown"),
    [
        (BANDS, False, '"unknown age", "0-9", "10-19", "20-29", "90-99", "100-109"'),
        (("low", "high", "medium"), False, "low, medium, high"),
        (("3", "12", "1"), False, '"1", "3", "12"'),
        (("gold", "bronze", "silver"), True, "gold, bronze, silver"),
        (("c", "a", "b"), False, "a, b, c"),
    ],
)
def test_levels_stand_in_their_order(levels: tuple[str, ...], ordered: bool, shown: str) -> None:
    """Bands were listed by their texts, `100-109` before `20-29`."""
    schema = Schema((Feature("c", "categorical", levels, ordered=ordered),), target="y")
    some = Among("c", levels)
    points = LevelPoints("c", tuple((level, 2.0) for level in levels))
    for node, text in (
        (some, f"c in {{{shown}}}"),
        (Not(Among("c", levels, True)), f"c not in {{{shown}}}"),
        (Above(Linear(((1.0, points),), 0.0), 0.5), f"points(c: 2 in {{{shown}}}, missing 0, unseen 0)"),
    ):
        graph = RuleGraph(schema, ("no", "yes"), Fires(node))
        assert text in print_graph(graph)
        assert parse_graph(print_graph(graph)) == graph
    assert print_node(some, schema) == f"c in {{{shown}}}"


# Dates


def dated(value: float, display: str, precision: str) -> RuleGraph:
    """Every place where a value of a column stands."""
    column = Feature("since", display=display, precision=precision)  # type: ignore[arg-type]
    score = Linear(((1.0, Step("since", (value,), (0.0, 1.0), 0.5)), (2.0, Column("since", value, value, value))), 0.0)
    decision = Fires(Above(score, value))
    return RuleGraph(
        Schema((column,)), (0, 1), decision, (Probability(Hidden("h", Compare("since", ">", value), 1.0)),)
    )


@given(
    st.one_of(
        st.integers(-1_000_000, 4_000_000).map(float),
        st.floats(-1e12, 1e12),
        st.floats(allow_nan=False, allow_infinity=False),
    ),
    st.sampled_from(("date", "datetime")),
    st.sampled_from(("float32", "float64")),
)
@settings(max_examples=60, deadline=None)
def test_any_number_of_a_dated_column_survives(value: float, display: str, precision: str) -> None:
    if precision == "float32" and not math.isfinite(float32(value)):
        return
    graph = dated(value, display, precision)

    assert parse_graph(print_graph(graph)) == graph


@pytest.mark.parametrize(
    ("value", "display", "text"),
    [
        (17956.0, "date", "2019-03-01"),
        (17956.5, "date", "2019-03-01T12:00"),
        (1551398400.0, "datetime", "2019-03-01T00:00"),
        (1551398430.0, "datetime", "2019-03-01T00:00:30"),
    ],
)
def test_dates_stand_where_the_schema_says_so(value: float, display: str, text: str) -> None:
    printed = print_graph(dated(value, display, "float64"))

    assert f"since > {text}" in printed
    assert f"step(since: 0 up to {text}, then 1, missing 0.5)" in printed
    assert f"clip(since, from {text} to {text}, missing {text})" in printed
    assert number(value) in printed  # the score's threshold is no value of the column


def test_numbers_and_dates_mean_the_same_to_a_dated_column() -> None:
    """Texts written before dates were printed hold numbers."""
    header = "rulekit rules 1\ncolumn since: numeric, date\ncolumn seen: numeric, float64, datetime\nlabel y: {0, 1}\n"

    def rule(text: str) -> RuleGraph:
        return parse_graph(f"{header}decide 1 when {text}")

    assert rule("since > 2019-03-01") == rule("since > 17956")
    assert rule("seen <= 2019-03-01") == rule("seen <= 2019-03-01T00:00") == rule("seen <= 1551398400")


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("age > 2019-03-01", "column 'age' holds no dates, unlike 2019-03-01; write a number, or mark the column date"),
        ("since > 2019-02-30", "2019-02-30 is no date; write one of the calendar"),
        ("since > 2019-03-01T25:00", "2019-03-01T25:00 is no date"),
        ("since > 2019-03", "cannot stand here"),
        ("sum(2019-03-01) exceeds score 1", "`2019-03-01` cannot stand here; expected a number"),
        ("step(age: 1 up to 2019-03-01, then 2, missing 0) exceeds score 1", "column 'age' holds no dates"),
    ],
)
def test_a_wrong_date_is_named(condition: str, message: str) -> None:
    columns = "column age: numeric\ncolumn since: numeric, date\nlabel y: {0, 1}"
    text = f"rulekit rules 1\n{columns}\ndecide 1 when {condition}"
    with pytest.raises(FormatError, match="line 5, column ") as error:
        parse_graph(text)

    assert message in str(error.value)


# Growth


def test_ten_thousand_deep_reads_back() -> None:
    deep: Node = MARRIED
    for _ in range(10_000):
        deep = Not(deep)
    text = print_graph(fires(deep))

    assert len(text) < 100_000
    assert parse_graph(text) == fires(deep)


def test_two_to_the_thousand_paths_read_back() -> None:
    shared: Node = MARRIED
    for i in range(1_500):
        shared = (Not(shared), And((shared, OLD)), Or((shared, shared)))[i % 3]
    text = print_graph(fires(shared))

    assert len(text) < 100_000
    assert parse_graph(text) == fires(shared)


def test_nested_parentheses_need_no_stack() -> None:
    assert parsed("(" * 5_000 + "married" + ")" * 5_000) is MARRIED


def test_the_size_of_a_text_is_bounded() -> None:
    with pytest.raises(FormatError, match="longer than"):
        parse_graph(" " * (8 * 2**20 + 1))


def test_print_node_of_a_shared_graph_stays_small() -> None:
    node: Node = OLD
    for _ in range(200):
        node = And((node, node))

    assert len(print_node(node)) < 20_000
    assert "where $" in print_node(node)
    assert "\n" not in print_node(node)


# Words


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (OLD, "age > 28.5"),
        (Compare("age", "<=", 3.0, True), "(age <= 3 or missing)"),
        (Among("job", ("cook", "a clerk")), 'job in {"a clerk", cook}'),
        (Among("job", (), unseen=True), "(job in {} or unseen)"),
        (Among("job", ("cook",), True, True), "(job in {cook} or missing or unseen)"),
        (MARRIED, "married"),
        (IsTrue("married", True), "(married or missing)"),
        (Missing("age"), "age is missing"),
        (Not(Missing("age")), "age is known"),
        (Not(Not(Missing("job"))), "not job is known"),
        (TRUE, "true"),
        (FALSE, "false"),
        (Not(IsTrue("married", True)), "not married"),
        (Not(MARRIED), "(not married or missing)"),
        (RYE, "story contains rye"),
        (Contains("story", ("rye", "oats"), True), "(story contains any of {oats, rye} or missing)"),
        (Not(Contains("story", ("rye",), True)), "story lacks rye"),
        (Not(RYE), "(story lacks rye or missing)"),
        (Not(Contains("story", ("rye", "oats"), True)), "story lacks all of {oats, rye}"),
        (Not(Contains("story", ("lacks", "1987"))), '(story lacks all of {"1987", "lacks"} or missing)'),
        (Not(Not(RYE)), "not (story lacks rye or missing)"),
        (Not(Not(Contains("story", ("rye",), True))), "not story lacks rye"),
        (Not(Among("job", ("cook",), True)), "job not in {cook}"),
        (Not(COOK), "(job not in {cook} or missing)"),
        (Not(Among("job", ("cook",), False, True)), "not (job in {cook} or unseen)"),
        (Not(Among("job", ("cook",), True, True)), "not (job in {cook} or missing or unseen)"),
        (And((Not(Among("job", ("cook",), True)), MARRIED)), "job not in {cook} and married"),
        (Not(And((OLD, MARRIED))), "not (age > 28.5 and married)"),
        (And((OLD, YOUNGER, MARRIED)), "28.5 < age <= 40 and married"),
        (And((OLD, MARRIED, And((OLD, YOUNGER)))), "age > 28.5 and married and (28.5 < age <= 40)"),
        (And((Compare("age", ">", 2.0, True), Compare("age", "<=", 3.0, True))), "(2 < age <= 3 or missing)"),
        (Not(And((OLD, YOUNGER))), "not (28.5 < age <= 40)"),
        (Or((And((OLD, YOUNGER)), MARRIED)), "28.5 < age <= 40 or married"),
        (Not(Not(MARRIED)), "not (not married or missing)"),
        (Or((And((OLD, MARRIED)), COOK)), "age > 28.5 and married or job in {cook}"),
        (And((Or((OLD, MARRIED)), COOK)), "(age > 28.5 or married) and job in {cook}"),
        (And((OLD, And((MARRIED, COOK)))), "age > 28.5 and (married and job in {cook})"),
        (And(()), "all of ()"),
        (Or(()), "any of ()"),
        (And((OLD,)), "all of (age > 28.5)"),
        (Or((OLD,)), "any of (age > 28.5)"),
        (
            AtLeast(2, (OLD, MARRIED, Or((COOK, OLD)))),
            "at least 2 of (age > 28.5, married, job in {cook} or age > 28.5)",
        ),
        (AtLeast(-1, ()), "at least -1 of ()"),
        (Odd((OLD, Or((COOK, OLD)))), "odd of (age > 28.5, job in {cook} or age > 28.5)"),
        (
            LinearThreshold(((0.5, OLD), (-1.0, MARRIED)), -0.25),
            "at least 0.25 points of (0.5 if age > 28.5, -1 if married)",
        ),
    ],
)
def test_conditions_read_like_sentences(node: Node, text: str) -> None:
    assert print_node(node) == text
    assert parsed(text) is node


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Column("age", 3.0, 0.0, 99.0, 0.25), "clip(age, from 0 to 99, step 0.25, missing 3)"),
        (Column("age", 3.0, 0.0, 99.0), "clip(age, from 0 to 99, missing 3)"),
        (Step("age", (28.5, 40.0), (0.5, 1.0, 2.0), 0.0), "step(age: 0.5 up to 28.5, 1 up to 40, then 2, missing 0)"),
        (Step("age", (), (2.0,), 0.0), "step(age: then 2, missing 0)"),
        (LevelPoints("job", (), 2.0, -1.5), "points(job: missing 2, unseen -1.5)"),
        (
            LevelPoints("job", (("cook", -1.0), ("a clerk", 2.5))),
            'points(job: 2.5 in {"a clerk"}, -1 in {cook}, missing 0, unseen 0)',
        ),
        (Linear((), 1.0), "sum(1)"),
        (Linear(((2.0, Linear(((0.5, COOK),), 0.0)),), 1.0), "sum(1, 2 * sum(0, 0.5 if job in {cook}))"),
        (Logistic(Linear((), 1.0)), "logistic of sum(1)"),
        (Probability(Or((OLD, COOK))), "probability of (age > 28.5 or job in {cook})"),
        (Hidden("h", OLD, strength_of(0.93)), "h fires with probability 0.93 when age > 28.5"),
        (Hidden("h", OLD, math.inf, strength_of(0.02)), "h fires with probability 1 (else 0.02) when age > 28.5"),
        (Hidden("a b", OLD, 60.0, 61.0), '"a b" fires with strength 60 (else strength 61) when age > 28.5'),
        (
            And((Hidden("h", Or((OLD, COOK)), strength_of(0.5)), MARRIED)),
            "(h fires with probability 0.5 when age > 28.5 or job in {cook}) and married",
        ),
    ],
)
def test_scores_and_hidden_bits_read_like_sentences(node: Node, text: str) -> None:
    assert print_node(node) == text
    assert parsed(text) is node


def test_every_node_type_has_words() -> None:
    assert set(ExactWording(None).table()) == set(Vocabulary.TYPES.values())


def test_reserved_words_are_those_of_the_grammar() -> None:
    grammar = (Path(sys.modules["rulekit.graph.language.text"].__file__ or "").parent / "rules.lark").read_text()
    keywords = set(re.findall(r'"([a-z]+)"', grammar))

    assert keywords == RESERVED


def test_a_level_number_and_a_label_number_are_different_things() -> None:
    with pytest.raises(FormatError, match="`3` cannot stand here"):
        parsed("job in {3}")


def test_extra_parentheses_commas_lines_and_comments_mean_nothing() -> None:
    assert parsed("any of (\n (age > 28.5), # old\n ((married)),\n)") is Or((OLD, MARRIED))


def test_a_long_list_in_a_list_is_broken_too() -> None:
    """A nested model was one line of any length."""
    bits = [Hidden(f"bit{i}", OLD, strength_of(0.5 + i / 100), strength_of(0.125)) for i in range(6)]
    nested = And((Or((And(bits[:3]), bits[3])), And(bits[4:])))
    graph = RuleGraph(Schema((Feature("age"),)), (0, 1), Fires(Above(Probability(nested), 0.5)))
    text = print_graph(graph)

    assert parse_graph(text) == graph
    assert max(map(len, text.splitlines()[3:])) <= 90
    assert re.search(r"\n  any of \(  # r\w+\n    all of \(\n      bit0 fires", text)


def test_a_long_sum_in_a_list_is_broken_too() -> None:
    cuts = [Compare("age", ">", float(i)) for i in range(8)]
    units = [LinearThreshold([(1.0 + (i % 3), cut) for i, cut in enumerate(cuts)], bias) for bias in (-4.5, -6.5)]
    reported = Logistic(Linear([(2.0, units[0])], -1.0))
    graph = RuleGraph(Schema((Feature("age"),)), (0, 1), Fires(Or(units)), probability=(reported,))
    text = print_graph(graph)

    assert parse_graph(text) == graph
    assert max(map(len, text.splitlines()[3:])) <= 90
    assert re.search(r"\n  rule 1: at least 4.5 points of \(.*\n    1 if age > 0,\n", text)


def test_a_unit_is_shown_to_people() -> None:
    schema = Schema((Feature("age", unit="years"),))

    assert print_node(OLD, schema) == "age > 28.5 years"


def test_a_number_of_many_digits_on_a_grid_is_rounded_for_people() -> None:
    column = Column("age", 38.171875, -0.33984375, 90.0, 2.0**-9)
    schema = Schema((Feature("age", unit="years"),))

    assert print_node(column) == "clip(age, from -0.3398 to 90, step 0.001953, missing 38.17)"
    assert print_node(column, schema).endswith("missing 38.17 years)")


# The printed model


def test_the_text_names_rules_by_their_ids_with_statistics() -> None:
    graph = fires(Or((And((OLD, COOK)), MARRIED)))
    rules = rules_of(graph)
    entries = [{"id": rule.id, "n": 12, "coverage": 0.041, "precision": 0.9863} for rule in rules]
    graph = graph.with_(statistics={"train": {"rules": entries}})

    text = print_graph(graph)

    for rule in rules:
        assert f"# {rule.id}  right 98.6 % of 12 rows, 74 to 99.9" in text
    assert text.count("\n  ") == 2
    assert parse_graph(text) == graph


def test_a_rule_that_is_used_twice_is_named_where_it_decides() -> None:
    clause = And((OLD, COOK, Compare("age", "<=", 90.0), Not(Missing("age"))))
    graph = RuleGraph(
        SCHEMA,
        ("no", "yes"),
        Fires(Or((clause, MARRIED))),
        (Probability(Or((Hidden("h1", clause, 2.0), Hidden("h2", MARRIED, 1.0)))),),
    )
    text = print_graph(graph)

    assert "\n  rule 1: age > 28.5 and" in text
    assert "h1 fires with probability 0.8646647167633873 when rule 1," in text
    assert (text.count("age > 28.5"), text.count("married,")) == (1, 1)
    assert "let" not in text
    edited = parse_graph(text.replace("age > 28.5", "age > 30"))
    assert parse_graph(text) == graph
    check(edited)
    assert sum(isinstance(node, Compare) and node.value == 30 for node in edited.nodes()) == 1


def test_what_stands_before_the_decision_cannot_call_its_rules() -> None:
    """Parts of a rule, promises, formulas and whole decisions that stand elsewhere too are read back as they were."""
    bits = Or((Hidden("h1", OLD, 2.0), Hidden("h2", And((MARRIED, COOK)), 1.0)))
    both = And((OLD, Above(Probability(bits), 0.5)))
    for formula in (Or((MARRIED, OLD)), Or((OLD, And((OLD, MARRIED)))), Or((MARRIED, both)), And((OLD, OLD)), OLD):
        for reported in (Probability(bits), Probability(Or((bits, Hidden("h3", formula, 0.5))))):
            graph = fires(formula).with_(probability=(reported,), required=(Required(1, OLD), Required(0, formula)))
            assert parse_graph(print_graph(graph)) == graph


def test_a_rule_must_be_named_before_it_is_called_and_once() -> None:
    text = print_graph(fires(Or((OLD, MARRIED))))
    for wrong, words in (
        ("rule 1: {}, rule 1: married", "a second rule 1"),
        ("rule 1, {}", "there is no rule 1 yet"),
        ("rule 1.5: {}", "not an integer"),
        ("rule: {}", "`:` cannot stand here"),
    ):
        with pytest.raises(FormatError, match=words):
            parse_graph(text.replace("age > 28.5", wrong.format("age > 28.5")))


def test_foreign_text_in_statistics_cannot_leave_its_comment() -> None:
    graph = fires(Or((OLD, MARRIED)))
    rules = [{"id": rule.id, "coverage": 0.5} for rule in rules_of(graph)]
    graph = graph.with_(statistics={"x\ndecide no when married": {"rules": rules}})

    assert parse_graph(print_graph(graph)) == graph


def test_str_of_a_graph_is_its_rule_text() -> None:
    assert str(fires(OLD)) == print_graph(fires(OLD))


def test_an_edited_line_is_a_new_model_whatever_the_digest_comment_says() -> None:
    text = print_graph(fires(OLD))

    edited = parse_graph(text.replace("28.5", "30"))

    assert edited == fires(Compare("age", ">", 30.0))


def test_lark_is_imported_only_when_a_text_is_read() -> None:
    code = "import sys, rulekit.graph.language.text; sys.exit('lark' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Faults


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: the text ends here; expected `rulekit rules 1`"),
        ("hello", "line 1, column 1: `hello` cannot stand here; expected `rulekit rules 1`"),
        ("rulekit rules 2\n", "rule language version 2, but this rulekit reads 1; update rulekit"),
        (HEADER, "there is no `decide` statement"),
        ("rulekit rules 1\n", "there is no `label` statement"),
        (HEADER + "decide yes when", "line 6, column 16: the text ends here; expected a condition"),
        (HEADER + "decide yes when age >= 3", "line 6, column 21: `>=` cannot stand here; numbers are compared with"),
        (HEADER + "decide yes when age < 3", "line 6, column 21: `<` cannot stand here; numbers are compared with"),
        (HEADER + "decide yes when 2 <= age", "`<=` cannot stand here; bounds of two sides are written `2 < x <= 3`"),
        (HEADER + "decide yes when 2 < age < 3", "`<` cannot stand here; bounds of two sides are written"),
        (HEADER + "decide yes when 2 < age > 3", "after `<` and a column stands `<=`; bounds are written `2 < x"),
        (HEADER + "decide yes when 3 < age <= 2", "no value of 'age' lies between these bounds; write the lower one"),
        (HEADER + "decide yes when age = 3", "`= 3` says nothing of column 'age'; it is for whole numbers"),
        (HEADER + "decide yes when age > 3 or missing", "put one condition and its mark in parentheses, as in `(age >"),
        (HEADER + "decide yes when capital gain > 3", "a name of several words stands in double quotes"),
        (HEADER + "decide yes when step > 3", "`step` is a word of the language; as a name it stands in double quotes"),
        (HEADER + "decide yes when 'age' > 3", 'the character "\'" has no meaning here'),
        (HEADER + "decide yes when age > 28,5", "`,` cannot stand here; numbers take a decimal point: 28.5"),
        (HEADER + "decide yes when (age > 1 and age <= 28,50)", "numbers take a decimal point: 28.50"),
        (HEADER + "decide yes when “age” > 3", 'write the straight double quote "'),
        (HEADER + "decide yes when „age“ > 3", 'write the straight double quote "'),
        (HEADER + "decide yes when age > −3", "write the plain minus sign -"),
        (HEADER + "decide yes when age > –3", "write the plain minus sign -"),
        (HEADER + "decide yes when age\xa0> 3", "write a plain blank"),
        (HEADER + "decide yes when age \u200b> 3", "delete this invisible character"),
        (HEADER + "decide yes when age ≤ 3", "write <="),
        (HEADER + "decide yes when age ＞ 3", "write '>'"),
        (HEADER + "decide yes when marred", "line 6, column 17: no column 'marred'; did you mean 'married'?"),
        (HEADER + "decide yes when job in {kook}", "column 'job' has no level 'kook'; did you mean 'cook'?"),
        (HEADER + "decide no when married", "line 6, column 1: no is not the second of two classes"),
        (HEADER + "decide maybe when married", "line 6, column 1: no class maybe; classes are no, yes"),
        (HEADER + "default 3\ndecide yes when married", "line 6, column 1: no class 3"),
        (HEADER + "decide yes when (married or unseen)", "`or unseen` says nothing about this condition"),
        (HEADER + "decide yes when $a", "$a is not defined; write `let $a = ...` before it is used"),
        (HEADER + "let $a = married\nlet $a = married", "line 7, column 1: $a is defined twice"),
        (HEADER + "decide yes when married\ndecide yes when married", "line 7, column 1: a second `decide`"),
        (HEADER + 'decide yes when "a\\q" > 3', "a quoted text has a bad escape"),
        (HEADER + "decide yes when age > 1e999", "a threshold is inf, not a finite number"),
        (HEADER + "decide yes when h fires with probability 1.5 when married", "a probability lies between 0 and 1"),
        (HEADER + "decide yes when sum(1, 2 if married) >= 3", "a sum is compared with no number"),
        (HEADER + "decide yes when at least 1.5 of (married)", "`1.5` is not an integer"),
        (HEADER + "decide yes when at least " + "9" * 5000 + " of (married)", "is not an integer, or is too long"),
        (HEADER + "decide yes when (married) exceeds size 1", "`size` is not what this is compared with; write"),
        (HEADER + "decide largest of (no: married)", "a class is missing or stands twice; needed once each: no, yes"),
        (HEADER + "decide largest of (no: married, yes: married) preferring no", "one rank per class"),
        (HEADER + "column age: numeric", "line 6, column 1: a second column 'age'"),
        (HEADER + "column x: weird", "column 'x': kind is 'weird'; one of numeric, boolean, categorical"),
        (HEADER + "column x: numeric, nice", "`nice` says nothing about a column"),
        (HEADER + "column x: numeric, date, money", "display is said twice of column 'x'"),
        (HEADER + "column x: numeric {a}", "a numeric column has no levels"),
        (HEADER + 'column x: numeric, size "a"', '`size` has no quoted text after it; write unit "..."'),
        (
            HEADER + "column t: text\ndecide yes when t not contains rye",
            "line 7, column 23: `contains` cannot stand here; that a word is absent is written `story lacks wheat`",
        ),
        ("rulekit rules 1\nlabel y: {no, yes}, sorted", "`sorted` says nothing about a label"),
        ("rulekit rules 1\nlabel y: {no}\ndecide no when true", "not the second of two classes"),
    ],
)
def test_faults_are_told_in_peoples_words(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_graph(text)

    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# The reference page


def examples() -> list[str]:
    page = (DOCS / "rule-language.md").read_text(encoding="utf-8")
    return re.findall(r"^```rules\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def test_every_example_of_the_reference_is_a_legal_model_that_reads_back() -> None:
    assert len(examples()) >= 5
    for text in examples():
        graph = parse_graph(text)
        check(graph)
        assert parse_graph(print_graph(graph)) == graph


def test_the_reference_lists_the_reserved_words_and_shows_every_node_type() -> None:
    page = (DOCS / "rule-language.md").read_text(encoding="utf-8")
    listed = re.search(r"reserved: ([^.]*)\.", page)
    shown = {type(node) for text in examples() for node in parse_graph(text).nodes()}

    assert listed
    assert set(re.findall(r"`(\w+)`", listed.group(1))) == RESERVED
    assert shown == set(Vocabulary.TYPES.values())


def test_points_of_very_many_levels_are_cut_for_people() -> None:
    levels = tuple(f"c{k}" for k in range(40))
    points = LevelPoints("city", tuple((level, float(40 - k)) for k, level in enumerate(levels)), 0.0, 0.0)
    unit = LinearThreshold([(1.0, points)], -20.0)
    assert print_node(unit).endswith("33 if city in {c7}, 32 to 1 for 32 more levels of city)")
    assert "more levels" not in print_node(unit, most_levels=None)
