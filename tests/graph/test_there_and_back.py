"""Every model comes back from its file and from its rule text: the same digest, schema, promises and classes."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from overridden_models import overridden, two_rules

from rulekit.conformance.models import random_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.oracle import evaluate_node
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_condition, parse_graph
from rulekit.graph.language.text import print_graph, print_node
from rulekit.graph.language.words import RESERVED
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.variants import with_overrides
from rulekit.numbers import float32, strength_of
from rulekit.schema import Constraints, Feature, Schema

SEEDS = st.integers(0, 2**32 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
FLAG = st.booleans()
SCHEMA = Schema((Feature("age"), Feature("job", "categorical", ("cook", "a clerk")), Feature("married", "boolean")))
OLD, COOK, MARRIED = rg.Compare("age", ">", 28.5), rg.Among("job", ("cook",)), rg.IsTrue("married")


def comes_back(graph: RuleGraph) -> str:
    """Asserts that both texts give the model back; returns the rule text."""
    text = print_graph(graph)
    for again in (parse_graph(text), from_json(to_json(graph).encode().decode())):
        assert again == graph
        assert (again.schema, again.default, again.decision) == (graph.schema, graph.default, graph.decision)
        assert (again.required, again.overrides) == (graph.required, graph.overrides)
        plain = [label.item() if isinstance(label, np.generic) else label for label in graph.classes]
        assert [(type(label), label) for label in again.classes] == [(type(label), label) for label in plain]
    return text


def fires(node: Node, *reported: Node, schema: Schema = SCHEMA, **fields: Any) -> RuleGraph:
    return RuleGraph(schema, ("no", "yes"), Fires(node), reported, **fields)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_random_models(seed: int) -> None:
    graph = random_graph(np.random.default_rng(seed))

    comes_back(graph)
    assert from_json(to_json(graph)).nodes() == graph.nodes()


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_random_overrides(seed: int) -> None:
    comes_back(overridden(seed)[1])


SAID = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40).filter(str.strip)


@given(author=SAID, reason=SAID)
@example(author='A. "Ace"\\', reason="a\nb # c -> yes: */ -- \u202e\ufeff\x00")
@settings(max_examples=25, deadline=None)
def test_author_and_reason_of_any_characters(author: str, reason: str) -> None:
    graph = two_rules()
    first = replace(graph.overrides[0], author=author, reason=reason)

    text = comes_back(with_overrides(graph, (first, graph.overrides[1])))
    assert all(line.isprintable() for line in text.split("\n"))


@given(st.text(), st.text(min_size=1), st.text(), st.sampled_from(sorted(RESERVED)))
@settings(max_examples=40, deadline=None)
def test_any_text_as_name_level_label_unit_and_token(a: str, b: str, c: str, word: str) -> None:
    features = (
        Feature(a, unit=b),
        Feature(a + b, "categorical", tuple(dict.fromkeys((a, b, c, word))), missing_tokens=(c, a)),
        Feature(a + b + word, "boolean"),
    )
    formula = rg.Or((rg.Compare(a, ">", 0.5), rg.Among(a + b, (a, b, word)), rg.IsTrue(a + b + word)))
    bit = rg.Hidden(c, formula, 1.0)
    comes_back(RuleGraph(Schema(features, target=c), (c, c + "x"), Fires(formula), (rg.Probability(bit),)))


@given(DOUBLES, st.floats(0, 50), st.floats(0, 1))
@example(5e-324, 0.1, 0.1)
@example(1.7976931348623157e308, 0.1, 0.1)
@settings(max_examples=60, deadline=None)
def test_any_number(value: float, strength: float, probability: float) -> None:
    bits = rg.Or((rg.Hidden("h", rg.Compare("age", "<=", value), strength, strength_of(probability)),))
    comes_back(RuleGraph(SCHEMA, (value, "yes"), Fires(rg.Above(rg.Strength(bits), value)), (rg.Probability(bits),)))
    comes_back(fires(rg.Above(rg.Linear(((value, MARRIED),), value), value)))


def dated(value: float, display: Any, precision: Any) -> RuleGraph:
    """Every place where a value of a column stands."""
    column = Feature("since", display=display, precision=precision)
    step = rg.Step("since", (value,), (0.0, 1.0), 0.5)
    score = rg.Linear(((1.0, step), (2.0, rg.Column("since", value, value, value))), 0.0)
    bit = rg.Hidden("h", rg.Compare("since", ">", value), 1.0)
    return fires(rg.Above(score, value), rg.Probability(bit), schema=Schema((column,)))


@given(
    st.one_of(st.integers(-1_000_000, 4_000_000).map(float), st.floats(-1e12, 1e12), DOUBLES),
    st.sampled_from(("date", "datetime")),
    st.sampled_from(("float32", "float64")),
)
@settings(max_examples=60, deadline=None)
def test_any_number_of_a_dated_column(value: float, display: str, precision: str) -> None:
    if precision == "float64" or math.isfinite(float32(value)):
        comes_back(dated(value, display, precision))


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
    printed = comes_back(dated(value, display, "float64"))

    assert f"since > {text}" in printed
    assert f"step(since: 0 up to {text}, then 1, missing 0.5)" in printed
    assert f"clip(since, from {text} to {text}, missing {text})" in printed
    assert f"exceeds score {str(value).removesuffix('.0')}" in printed  # no value of the column


COLUMNS = Schema(
    (
        Feature("age"),
        *(Feature(name, display=name) for name in ("integer", "count", "date")),  # type: ignore[arg-type]
        *(Feature("job", "categorical", ("a", "b")), Feature("ok", "boolean"), Feature("t", "text")),
    ),
    target="y",
)
BOUNDS = st.builds(
    rg.Compare,
    st.sampled_from(("age", "integer", "count", "date")),
    st.sampled_from((">", "<=")),
    st.sampled_from((-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0)),
    st.sampled_from((False, False, True)),
)
LEAF = st.one_of(
    st.builds(rg.Among, st.just("job"), st.lists(st.sampled_from("ab"), unique=True).map(tuple), FLAG, FLAG),
    st.builds(
        rg.Contains, st.just("t"), st.lists(st.sampled_from(("rye", "7up", "not")), unique=True).map(tuple), FLAG
    ),
    st.builds(rg.IsTrue, st.just("ok"), FLAG),
    st.sampled_from(("job", "ok", "t")).map(rg.Missing),
)
DENIED = LEAF.map(rg.Not)
JOINED = st.lists(BOUNDS, min_size=2, max_size=5).map(rg.And)
FORMULAS = st.recursive(
    st.one_of(BOUNDS, BOUNDS, LEAF, DENIED),
    lambda nodes: st.one_of(
        nodes.map(rg.Not),
        *(st.lists(nodes, max_size=4).map(join) for join in (rg.And, rg.Or, rg.Odd)),
        st.lists(nodes, max_size=3).map(lambda parts: rg.AtLeast(2, parts)),
    ),
    max_leaves=12,
)


@given(st.one_of(FORMULAS, JOINED), FLAG)
@settings(max_examples=100, deadline=None)
def test_conditions_however_joined_and_denied(node: Node, shared: bool) -> None:
    """A leaf that fails where x is missing and one that does not have words of their own; bounds are joined."""
    cause = node.children[0] if shared and node.children else node
    comes_back(fires(node, rg.Probability(rg.Hidden("h", cause, 1.0)), schema=COLUMNS))


PAIRS = [(value, other) for value in (None, -1, 0, 1, 2, 3, 4) for other in (None, 1, 2)]
NUMBERS = [
    {"age": age, "integer": whole, "count": None if age is None else max(0, age), "date": age}
    for pair in PAIRS
    for age, whole in (pair, pair[::-1])
]
CELLS = [*itertools.product((None, "a", "b", "new"), (None, False, True), (None, "", "Rye 7up"))] * 2
ROWS = [{"job": a, "ok": b, "t": c, **row} for (a, b, c), row in zip(CELLS, NUMBERS, strict=False)]


@given(st.one_of(LEAF, DENIED, DENIED.map(rg.Not), JOINED))
@settings(max_examples=80, deadline=None)
def test_what_people_read_means_what_it_means(node: Node) -> None:
    """Short lists, whole numbers and days; what people read of them happens to be legal in the language."""
    shown = parse_condition(print_node(node, COLUMNS), COLUMNS)

    for row in ROWS:
        assert evaluate_node(shown, COLUMNS, row) == evaluate_node(node, COLUMNS, row)


def test_every_field_of_the_schema() -> None:
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
    required = (Required(1, MARRIED), Required(0, rg.And((rg.Not(MARRIED), rg.Missing("none")))))
    graph = fires(MARRIED, schema=schema, required=required)

    comes_back(graph)
    assert graph != graph.with_(required=required[:1])


@pytest.mark.parametrize(
    "decision",
    [
        Fires(rg.Or((OLD, MARRIED))),
        Fires(rg.Above(rg.Probability(rg.Or((rg.Hidden("a", OLD, 1.0), rg.Hidden("b", MARRIED, math.inf, 0.1)))), 0.5)),
        Fires(rg.Above(rg.Strength(rg.Or((rg.Hidden("a", OLD, 1.0),))), -1.0)),
        Fires(rg.Above(rg.Linear(((0.5, OLD),), 1.0), -0.25)),
        ArgMax((OLD, MARRIED), (-math.inf, 0.5), (1, 0)),
        ArgMax((OLD, MARRIED), (-0.0, 0.0), (0, 1)),
    ],
)
def test_every_decision_over_every_kind_of_class(decision: Any) -> None:
    texts, numbers = [("no", "yes"), ("0", "1"), ("true", 'a "b"')], [(0, 1), (0.0, 1.0), (np.int64(3), np.int64(4))]
    for classes in (*texts, *numbers, (False, True)):
        comes_back(RuleGraph(SCHEMA, classes, decision, default=1))


def test_several_classes_with_reports() -> None:
    shares = tuple(rg.Probability(rg.Hidden(f"h{j}", OLD, 1.0 + j)) for j in range(3))
    for decision in (ArgMax(shares, (0.5,) * 3, (2, 0, 1)), Median((OLD, rg.Above(shares[0], 0.5)))):
        comes_back(RuleGraph(SCHEMA, ("low", "mid", "high"), decision, shares, default=2))


def test_parts_of_rules_that_stand_elsewhere_too() -> None:
    """Rules, their parts, promises and whole decisions; what stands before the decision cannot call its rules."""
    bits = rg.Or((rg.Hidden("h1", OLD, 2.0), rg.Hidden("h2", rg.And((MARRIED, COOK)), 1.0)))
    both = rg.And((OLD, rg.Above(rg.Probability(bits), 0.5)))
    either = [rg.Or((MARRIED, other)) for other in (OLD, both)] + [rg.Or((OLD, rg.And((OLD, MARRIED))))]
    for formula in (*either, rg.And((OLD, OLD)), OLD):
        for reported in (bits, rg.Or((bits, rg.Hidden("h3", formula, 0.5)))):
            required = (Required(1, OLD), Required(0, formula))
            comes_back(fires(formula, rg.Probability(reported), required=required))


def test_a_long_list_that_is_denied_is_called_by_its_name() -> None:
    """Its words would stand in the text as often as it is used."""
    words = rg.Contains("story", tuple(f"word{i}" for i in range(40)), True)
    schema = replace(SCHEMA, features=(*SCHEMA.features, Feature("story", "text")))
    denied = [rg.And((rg.Not(words), other)) for other in (OLD, MARRIED)]
    text = comes_back(fires(rg.Or((*denied, rg.And((words, COOK)))), schema=schema))

    assert text.count("word7,") == 1


def test_foreign_text_in_statistics_cannot_leave_its_comment() -> None:
    graph = fires(rg.Or((OLD, MARRIED)))
    rules = [{"id": rule.id, "coverage": 0.5} for rule in rules_of(graph)]
    comes_back(graph.with_(statistics={"x\ndecide no when married": {"rules": rules}}))


def deep() -> Node:
    node: Node = MARRIED
    for _ in range(10_000):
        node = rg.Not(node)
    return node


def shared() -> Node:
    """A formula of 2^1000 paths."""
    node: Node = MARRIED
    for i in range(1_500):
        node = (rg.Not(node), rg.And((node, OLD)), rg.Or((node, node)))[i % 3]
    return node


@pytest.mark.parametrize("make", [deep, shared])
def test_text_grows_with_the_graph_and_not_with_its_depth_or_paths(make: Any) -> None:
    assert len(comes_back(fires(make()))) < 100_000


def test_pickle_and_copy_give_the_same_graph_and_the_very_same_node() -> None:
    graph, node = two_rules(), deep()

    assert pickle.loads(pickle.dumps(graph)) == graph == copy.deepcopy(graph)
    assert pickle.loads(pickle.dumps(node)) is node is copy.copy(node)
