"""Going on from known rules: what is frozen stays word for word, what is free is learned anew, all else is refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from cnll_cases import TREE, loan_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from loan_rules import RULES
from sklearn.base import clone

from rulekit import CNLLClassifier, RuleGraph, simplify
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Above, Among, And, Compare, Hidden, IsTrue, Linear, Node, Not, Or
from rulekit.graph.rules import rules_of
from rulekit.schema import Constraints, Feature, Schema

SMALL: dict[str, Any] = {"stopping": "none", "positive": "yes", "target": "default"}
BEST: dict[str, Any] = {**SMALL, **TREE, "backfit": 2, "max_bins": 64, "min_rows": 5}


def data(seed: int, n: int = 400) -> tuple[dict[str, Any], Any]:
    return loan_rows(n, seed)


def ids(graph: RuleGraph) -> list[str]:
    return [rule.id for rule in rules_of(graph)]


def one_row(**cells: Any) -> list[dict[str, Any]]:
    rows, _ = data(3, 20)
    return [{**{name: column[0] for name, column in rows.items()}, **cells}]


@functools.cache
def learned(n_units: int = 3) -> RuleGraph:
    return simplify(CNLLClassifier(n_units, **BEST).fit(*data(1, 1000)).rule_graph_)


def saved(model: CNLLClassifier) -> RuleGraph:
    """The model as `rulekit train` saves it."""
    hidden = () if model.start is None else [node for node in model.start.nodes() if isinstance(node, Hidden)]
    return simplify(model.rule_graph_, hidden)


def test_frozen_rules_stay_word_for_word_and_report_how_often_they_are_right() -> None:
    start = learned()
    model = CNLLClassifier(3, start=start, **BEST).fit(*data(2))
    for graph in (model.rule_graph_, saved(model)):
        check(graph)
        assert set(ids(start)) <= set(ids(graph))
        rows, y = data(2)
        fires = decide(start, start.table(rows)) == 1
        assert np.all(decide(graph, graph.table(rows))[fires] == 1)
        reported = probabilities(graph, graph.table(rows))[:, 1]
        assert np.all(reported[fires] > 0.5)
        assert reported[fires].mean() == pytest.approx(np.mean(y[fires] == "yes"), abs=0.05)
    (added,) = model.rule_graph_.provenance["units"]
    assert 1 <= added <= 3
    assert model.rule_graph_.provenance["parameters"]["start"] == start.digest


def test_an_experts_rules_keep_thresholds_and_levels() -> None:
    start = parse_graph(RULES)
    rows, y = data(2)
    model = CNLLClassifier(4, start=start, **BEST).fit(rows, y)
    graph = saved(model)
    check(graph)
    assert isinstance(start.decision, Fires)
    assert isinstance(graph.decision, Fires)
    assert set(ids(start)) <= set(ids(graph))
    assert set(start.decision.formula.children) <= set(graph.nodes())
    assert graph.schema["purpose"].levels[:2] == ("gambling", "space flight")
    assert set(graph.schema["purpose"].levels) == {"gambling", "space flight", *rows["purpose"]}
    assert graph.predict(one_row(purpose="space flight", amount=0.0)).tolist() == ["yes"]
    assert model.score(rows, y) > np.mean(start.predict(rows) == y) + 0.05


def test_free_rules_keep_their_conditions_until_a_better_one_is_found() -> None:
    start = parse_graph(RULES)
    rows, y = data(2)
    model = CNLLClassifier(4, start=start, freeze="none", **{**BEST, "backfit": 0}).fit(rows, y)
    bits = [node for node in model.rule_graph_.nodes() if isinstance(node, Hidden)]
    causes = {node.cause for node in bits}
    assert len(bits) == 4
    assert causes == {
        Among("purpose", ("gambling", "space flight")),
        Compare("amount", ">", 8123.5),
        Compare("late_payments", ">", 1.75),
        Not(IsTrue("homeowner", missing=True)),
    } or causes >= {Compare("amount", ">", 8123.5), Compare("late_payments", ">", 1.75)}
    assert all(0.0 < bit.probability_on < 1.0 for bit in bits)
    assert len(model.path_) == 1
    replaced = CNLLClassifier(6, start=start, freeze="none", **BEST).fit(rows, y)
    objective = [record["objective"] for record in replaced.history_]
    assert objective == sorted(objective, reverse=True)


def test_some_rules_stay_and_the_others_are_starting_points() -> None:
    start = learned(5)
    kept = ids(start)[1]
    graph = saved(CNLLClassifier(8, start=start, freeze=[kept], **BEST).fit(*data(2)))
    assert kept in ids(graph)
    rule = next(rule.node for rule in rules_of(start) if rule.id == kept)
    assert rule in {node.cause for node in graph.nodes() if isinstance(node, Hidden)}


def test_a_start_that_decides_by_its_probability_is_taken_by_its_rules() -> None:
    start = learned()
    by_probability = start.with_(decision=Fires(Above(start.probability[0], 0.5)), statistics={})
    graph = saved(CNLLClassifier(2, start=by_probability, **BEST).fit(*data(2)))
    rows, _ = data(2)
    assert np.all(graph.predict(rows)[start.predict(rows) == "yes"] == "yes")


def test_cross_validation_begins_with_the_start_in_every_fold() -> None:
    start = learned(2)
    rows, y = data(2)
    model = CNLLClassifier(5, start=start, **{**BEST, "stopping": "cv"}).fit(rows, y)
    curve = model.curve_[0]
    assert curve.error[0] == pytest.approx(np.mean(start.predict(rows) != y))
    assert len(curve.error) == 6
    assert model.rule_graph_.provenance["units"][0] <= 5
    assert clone(model).get_params()["start"] == start


def test_several_classes_go_on_one_formula_each() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((300, 4))
    y = np.where(X[:, 0] > 0.6, "red", np.where(X[:, 1] > 0.5, "green", "blue"))
    y[X[:, 2] > 0.9] = "blue"
    start = CNLLClassifier(1, stopping="none").fit(X, y).rule_graph_
    assert isinstance(start.decision, ArgMax)
    model = CNLLClassifier(3, start=start, stopping="none").fit(X, y)
    graph = saved(model)
    check(graph)
    assert isinstance(graph.decision, ArgMax)
    assert model.score(X, y) >= np.mean(start.predict(X) == y)
    free = CNLLClassifier(3, start=start, freeze="none", stopping="none").fit(X, y)
    assert max(free.rule_graph_.provenance["units"]) <= 3


def test_ranked_classes_go_on_too() -> None:
    rng = np.random.default_rng(4)
    X = rng.random((300, 3))
    y = np.array(["high", "low", "mid"])[np.digitize(X[:, 0], [0.3, 0.7])]
    ranks = ("high", "low", "mid")
    start = CNLLClassifier(1, stopping="none", ordered=ranks).fit(X, y).rule_graph_
    graph = saved(CNLLClassifier(1, start=start, stopping="none", ordered=ranks).fit(X[::2], y[::2]))
    assert isinstance(graph.decision, Median)
    assert set(ids(simplify(start))) <= set(ids(graph))


def test_weights_and_missing_values_reach_the_start() -> None:
    rows, y = data(2)
    rows = {**rows, "late_payments": np.where(np.arange(400) % 9 == 0, np.nan, rows["late_payments"])}
    start = parse_graph(RULES)
    model = CNLLClassifier(2, start=start, **BEST).fit(rows, y, sample_weight=np.arange(400) % 3)
    assert set(ids(start)) <= set(ids(saved(model)))


@st.composite
def rule_sets(draw: st.DrawFn) -> RuleGraph:
    """Rules over three columns, whatever they decide."""
    leaf = st.builds(
        Compare, st.sampled_from(["x0", "x1", "x2"]), st.sampled_from(["<=", ">"]), st.integers(0, 4), st.booleans()
    )
    plain = st.lists(leaf, min_size=1, max_size=3, unique=True).map(lambda leaves: And(leaves))
    clauses: list[Node] = draw(st.lists(plain, min_size=1, max_size=3, unique=True))
    return RuleGraph(NUMBERS, (0, 1), Fires(Or(clauses)))


def _clauses(graph: RuleGraph) -> tuple[Node, ...]:
    return tuple(rule.node for rule in rules_of(graph))


NUMBERS = Schema(tuple(Feature(f"x{i}") for i in range(3)))


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(rule_sets(), st.integers(0, 99))
def test_whatever_the_rules_decided_is_decided_so(start: RuleGraph, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (60, 3)).astype(np.float64)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = ((X[:, 0] > 2) ^ (rng.random(60) < 0.2)).astype(int)
    model = CNLLClassifier(2, start=start, stopping="none", backfit=1).fit(X, y)
    graph = saved(model)
    check(graph)
    before, after = decide(start, start.table(X)), decide(graph, graph.table(X))
    assert np.all(after[before == 1] == 1)
    learned = model.path_.graph(model.path_.chosen)  # simplification may prove that others cover a rule
    assert set(_clauses(start)) <= set(learned.nodes())


LEVELS = '{gambling, "space flight"}'
RETYPED = RULES.replace(f"categorical {LEVELS}", "numeric").replace(f"purpose in {LEVELS}", "purpose > 3")
RENAMED = RULES.replace("late_payments", "late_payment")
INCOME = RULES.replace("column amount", "column income: numeric, integer, increasing\ncolumn amount")
GRAPH = parse_graph(RULES)
GROUPED = GRAPH.with_(schema=Schema(GRAPH.schema.features, "default", constraints=Constraints((("amount",),))))
SCORE = Linear(((1.0, Compare("amount", ">", 30.0)),), -0.5)
SUMMED = GRAPH.with_(decision=ArgMax((SCORE, SCORE), (0.0, 0.0), (0, 1)), probability=(), statistics={})
CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "missing column": (RENAMED, {}, "no column 'late_payment', which the start reads"),
    "other kind": (RETYPED, {}, "categorical here and numeric"),
    "other classes": (RULES.replace("{no, yes}", "{good, yes}").replace("default no", "default good"), {}, "between"),
    "other positive": (RULES, {"positive": "no"}, "is about the class 'yes', the learner 'no'"),
    "unknown rule": (RULES, {"freeze": ["r000000"]}, "no rule 'r000000' in the start"),
    "too few units": (RULES, {"freeze": "none", "n_units": 3}, "n_units is 3, and 4 literals of the start are free"),
    "order": (RULES, {"ordered": ("no", "yes"), "positive": None}, "it has no order"),
    "word": (RULES, {"freeze": "some"}, "freeze is 'some'"),
    "size": (RULES, {"max_literals": 2}, "beyond the limits of size"),
    "sums": (SUMMED, {}, "compares the scores of two classes"),
    "file": (GRAPH, {"start": "rules.txt"}, "a RuleGraph"),
    "increasing": (INCOME, {}, "cannot promise a monotone column"),
    "together": (GROUPED, {}, "cannot promise which columns"),
}


@pytest.mark.parametrize(("start", "parameters", "said"), CASES.values(), ids=CASES)
def test_what_does_not_fit_is_refused_in_one_line(start: Any, parameters: dict[str, Any], said: str) -> None:
    start = parse_graph(start) if isinstance(start, str) else start
    with pytest.raises(InputError, match=said) as caught:
        CNLLClassifier(**{**BEST, "start": start, **parameters}).fit(*data(2, 100))
    assert "\n" not in str(caught.value)


def test_the_role_that_the_start_gives_a_column_is_not_lost() -> None:
    start = parse_graph(INCOME.replace("increasing", "forbidden"))
    graph = CNLLClassifier(8, start=start, **SMALL).fit(*data(1)).rule_graph_
    assert graph.schema["income"].role == "forbidden"
    assert "income" not in graph.used_features


def test_a_start_may_have_more_rules_than_a_table_of_patterns() -> None:
    """Of more than 64 it was an internal error, and of 30 a table of 2^30 patterns."""
    rows, y = data(2)
    rules = [f"amount > {1000 + 97 * k} and late_payments > {k % 5}" for k in range(70)]
    head = print_graph(learned()).split("decide yes")[0]
    start = parse_graph(f"{head}decide yes when any of ({', '.join(rules)})\n")
    model = CNLLClassifier(2, start=start, freeze="all", **BEST).fit(rows, y)
    decided = decide(start, start.table(rows)) == 1
    assert decided.any()
    assert (model.predict(rows)[decided] == "yes").all()
