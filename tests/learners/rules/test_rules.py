"""RulesClassifier: a few conjunctions decide within their limits, and a score card over their columns predicts."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows, small_table
from hypothesis import example, given, settings
from hypothesis import strategies as st
from loan_rules import RULES
from sklearn.metrics import f1_score

from rulekit import CNLLClassifier, RuleGraph, RulesClassifier, simplify
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.model_parts import RARE
from rulekit.graph.nodes import Above, Among, And, Compare, Constant, IsTrue, Logistic, Missing, Node, Not, Or, Sided
from rulekit.graph.rules import columns_of, counts, disjuncts, rules_of
from rulekit.learners.rules import learner
from rulekit.schema import Constraints, Feature, Schema

LEAVES = (Compare, Among, IsTrue, Missing)


def is_literal(node: Node) -> bool:
    return isinstance(node, LEAVES) or (isinstance(node, Not) and isinstance(node.child, LEAVES))


def is_plain(node: Node) -> bool:
    """An Or of Ands of conditions on single columns, or less."""
    clauses = node.children if isinstance(node, Or) else (node,)
    return all(
        isinstance(clause, Constant) or all(map(is_literal, clause.children if isinstance(clause, And) else (clause,)))
        for clause in clauses
    )


def features_of(nodes: Iterable[Node]) -> set[str]:
    return {column for node in nodes for column in columns_of(node)}


@example(5339, None, None, 2, "cv")
@settings(max_examples=8, deadline=None)
@given(
    st.integers(0, 2**16),
    st.sampled_from([None, 1, 2, 5]),
    st.sampled_from([None, 1, 3, 8]),
    st.sampled_from([None, 1, 2]),
    st.sampled_from(["cv", "none"]),
)
def test_it_is_plain_and_within_its_limits(
    seed: int, clauses: int | None, literals: int | None, features: int | None, stopping: str
) -> None:
    """What is learned is plain; simplification may then join rules, as it does in the example."""
    X, y = small_table(seed, 2)
    model = RulesClassifier(
        6, max_clauses=clauses, max_literals=literals, max_features=features, stopping=stopping, n_folds=2
    ).fit(X, y)
    graph, learned = model.rule_graph_, model.path_.graph(model.path_.chosen)
    check(graph)
    assert isinstance(graph.decision, Fires)
    assert isinstance(learned.decision, Fires)
    assert is_plain(learned.decision.formula)
    assert is_plain(graph.decision.formula) or counts(graph).literals < counts(learned).literals
    for one in (learned, graph, simplify(graph)):
        size = counts(one)
        assert size.rules <= (8 if clauses is None else clauses)
        assert literals is None or size.literals <= literals
        assert features is None or len(one.used_features) <= features
    chances = model.predict_proba(X)[:, 1]
    assert np.array_equal(chances > 0.5, model.predict(X) == graph.classes[1])


def test_the_path_is_by_clauses() -> None:
    X, y = loan_rows(600)
    model = RulesClassifier(8, positive="yes", max_clauses=4).fit(X, y)
    assert [counts(graph).rules for graph in model.path_] == list(range(1, len(model.path_) + 1))
    assert model.path_.graph_at(model.path_.chosen[0]) == model.rule_graph_
    point = model.path_.points[0]
    assert point.training_error == pytest.approx(np.mean(model.path_.graph_at(1).predict(X) != y))
    (curve,) = model.curve_
    assert curve is not None
    assert curve.folds == 10  # of 600 rows
    assert all(point.held_out_error is not None for point in model.path_.points)


def test_the_probability_is_a_card_of_whole_points_on_the_side_of_the_rules() -> None:
    X, y = loan_rows(600)
    graph = RulesClassifier(1, positive="yes", stopping="none", report="all").fit(X, y).rule_graph_
    (reported,) = graph.probability
    assert isinstance(reported, Sided)
    assert isinstance(reported.probability, Logistic)
    assert graph.decision == Fires(reported.rule)
    holds = graph.predict(X) == graph.classes[1]
    chances = graph.with_(probability=(reported.probability,), decision=Fires(Above(reported.probability, 0.5)))
    card = chances.predict_proba(X)[:, 1]
    assert (card > 0.5).tolist() != holds.tolist()
    points = 10.0 * np.log(card / (1.0 - card))
    assert np.allclose(points, np.rint(points), rtol=0.0, atol=1e-6)
    assert len(np.unique(np.rint(points))) > 3
    sided = np.where(holds, np.maximum(card, 0.501), np.minimum(card, 0.499))
    assert np.allclose(graph.predict_proba(X)[:, 1], sided, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("kind", ["two", "weighted", "several", "ranked"])
def test_the_model_reads_only_the_columns_of_its_rules(kind: str) -> None:
    """The probability once read 6 to 12 columns that no rule names, and nobody saw them in the rules."""
    X, y = loan_rows(600)
    more: dict[str, Any] = {}
    if kind == "weighted":
        more = {"class_weight": {"yes": 4, "no": 1}}
    elif kind != "two":
        income = np.array(X["income"], dtype=float)
        y = np.where(income > 60000, "high", np.where(income > 30000, "mid", "low"))
        y[(y == "mid") & (np.array(X["late_payments"]) > 2)] = "high"
        more = {"ordered": ["low", "mid", "high"]} if kind == "ranked" else {}
    graph = RulesClassifier(n_folds=2, **more).fit(X, y).rule_graph_
    for one in (graph, simplify(graph)):
        read = features_of(rule.node for rule in rules_of(one))
        assert read
        assert set(one.used_features) == read
        assert features_of(one.probability) <= read


def test_with_costs_the_probability_is_of_the_rows_as_they_are() -> None:
    """An error on a "yes" costs four times: the label is above 1/5, and so is the probability."""
    X, y = loan_rows(600)
    model = RulesClassifier(8, n_folds=2, positive="yes", class_weight={"yes": 4, "no": 1}).fit(X, y)
    chances = model.predict_proba(X)[:, 1]
    assert np.array_equal(chances > 0.2, model.predict(X) == "yes")
    assert chances.mean() == pytest.approx(np.mean(y == "yes"), abs=0.03)


@pytest.mark.long_from("seed", 1)
@pytest.mark.parametrize("seed", range(3))
def test_labels_without_law_have_no_rule_and_the_probability_of_all_rows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((400, 3))
    y = rng.random(400) < 0.03 + 0.2 * X[:, 0]
    model = RulesClassifier(positive=True).fit(X, y)
    assert counts(model.rule_graph_).rules <= 1
    chances = model.predict_proba(X)[:, 1]
    assert chances.max() < 0.5 or model.predict(X).any()
    if not counts(model.rule_graph_).rules:
        assert model.rule_graph_.used_features == ()
        assert chances == pytest.approx(np.full(400, y.mean()), abs=0.0125)  # half a point


def test_weights_count_as_rows() -> None:
    X, y = loan_rows(200)
    weight = np.arange(200) % 3 + 1
    twice = np.repeat(np.arange(200), weight)
    given = RulesClassifier(4, stopping="none").fit(X, y, sample_weight=weight).rule_graph_
    repeated = {name: [values[i] for i in twice] for name, values in X.items()}
    assert RulesClassifier(4, stopping="none").fit(repeated, y[twice]).rule_graph_ == given


def test_several_classes_have_a_plain_rule_each_and_ordered_ones_for_each_cut() -> None:
    X = np.random.default_rng(0).random((400, 3))
    y = np.where(X[:, 0] > 0.7, "high", np.where(X[:, 1] > 0.6, "mid", "low"))
    model = RulesClassifier(4).fit(X, y)
    check(model.rule_graph_)
    assert isinstance(model.rule_graph_.decision, ArgMax)
    assert model.score(X, y) > 0.95
    assert model.rule_graph_.decision.in_order
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.rule_graph_.decide(X))
    graph: RuleGraph = RulesClassifier(4, ordered=["low", "mid", "high"]).fit(X, y).rule_graph_
    assert isinstance(graph.decision, Median)
    assert all(map(is_plain, graph.decision.above))


def test_of_equally_frequent_classes_the_default_is_the_one_without_rules() -> None:
    """The last class of the list had no rules and was not the default: the rows of two classes were decided alike."""
    x = np.arange(200) % 10
    y = np.array(list("abc"))[x // 4]
    assert RulesClassifier(stopping="none").fit(x[:, None], y).score(x[:, None], y) == 1.0


def test_a_rare_class_of_several_is_found_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parcels of which some are lost, two fifths of the heavy ones: errors alone hardly tell of these."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 3)).round(2)
    heavy = rng.choice(["lost", "late"], 6000, p=[0.4, 0.6])
    far = rng.choice(["late", "ok"], 6000, p=[0.6, 0.4])
    y = rng.choice(["ok", "late", "lost"], 6000, p=[0.93, 0.05, 0.02])
    y = np.select([X[:, 0] > 1.5, (X[:, 1] > 1.2) & (X[:, 2] < 0.0)], [heavy, far], y)
    found = []
    for share in (0.0, RARE):
        monkeypatch.setattr(learner, "RARE", share)
        decided = RulesClassifier(6, n_folds=3, random_state=0).fit(X[:2000], y[:2000]).predict(X[2000:])
        found.append((f1_score(y[2000:], decided, average="macro"), (decided != y[2000:]).mean()))
    assert found[1][0] > found[0][0] + 0.02
    assert found[1][1] < found[0][1] + 0.01


def test_what_is_not_plain_is_refused() -> None:
    X, y = loan_rows(60)
    start = CNLLClassifier(2, stopping="none").fit(X, y).rule_graph_
    soft = start.with_(decision=Fires(Above(start.probability[0], 0.5)))
    with pytest.raises(InputError, match="decides by a probability"):
        RulesClassifier(3, start=soft).fit(X, y)


EXPERT = """rulekit rules 1
column income: numeric
column purpose: categorical {car, education, furniture, gambling, home}
label "default": {no, yes}
default no
decide yes when any of (
  income <= 9999 and purpose in {gambling},
  income <= 20000,
)
"""


def test_without_any_rule_the_more_frequent_class_is_decided_with_its_share() -> None:
    rng = np.random.default_rng(5)
    X = rng.random((300, 6))
    y = rng.random(300) < 0.15 + 0.3 * X[:, 0]
    for positive in (True, False):
        model = RulesClassifier(n_folds=2, positive=positive).fit(X, y)
        none = model.path_.graph([0])
        assert set(none.predict(X).tolist()) == {False}
        chances = none.predict_proba(X)[:, list(none.classes).index(True)]
        assert chances == pytest.approx(np.full(300, y.mean()), abs=0.0125)  # half a point
        assert none.used_features == ()


@pytest.mark.parametrize("freeze", ["all", "none"])
def test_it_goes_on_from_given_rules(freeze: str) -> None:
    X, y = loan_rows(800)
    start = parse_graph(EXPERT)
    kind: dict[str, Any] = {"n_folds": 2, "target": "default", "positive": "yes"}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = RulesClassifier(8, **kind, start=start, freeze=freeze).fit(X, y)
    rule = model.rule_graph_.decision.roots[0]
    assert is_plain(rule)
    kept = [part for part in disjuncts(start.decision.roots[0]) if part in disjuncts(rule)]
    covered = [str(each.message) for each in told if "the model leaves out" in str(each.message)]
    assert len(kept) + len(covered) == (2 if freeze == "all" else len(kept))  # below 10,000 is below 20,000
    assert model.score(X, y) > (0.85 if freeze == "all" else 0.94)
    assert counts(model.rule_graph_).rules <= 8
    assert np.array_equal(model.predict_proba(X)[:, 1] > 0.5, model.predict(X) == "yes")


TO_END: dict[str, Any] = {"stopping": "none", "positive": "yes", "target": "default"}


def test_the_model_is_not_touched_where_nothing_is_left_to_gain() -> None:
    rows = {"x": np.arange(40.0), "z": np.arange(40.0) % 3}
    y = np.where(rows["x"] > 12.5, "yes", "no")
    schema = Schema((Feature("x"),), "default")
    start = RuleGraph(schema, ("no", "yes"), Fires(Compare("x", ">", 12.25)))
    graph = RulesClassifier(3, start=start, **TO_END).fit(rows, y).rule_graph_
    assert graph.decision == start.decision
    assert graph.provenance["units"] == [1]


@pytest.mark.parametrize("used", [True, False], ids=["read by a rule", "not read"])
def test_what_the_start_declares_of_a_column_is_not_lost(used: bool) -> None:
    """A monotone mark, a role and the groups of columns once vanished without a word."""
    X, y = loan_rows(400)
    name = "amount" if used else "income"
    marked = RULES if used else RULES.replace("column amount", "column income: numeric, integer\ncolumn amount")
    marked = marked.replace(f"column {name}: numeric, integer", f"column {name}: numeric, integer, increasing")
    promised = RulesClassifier(start=parse_graph(marked), **TO_END).fit(X, y).rule_graph_
    assert promised.schema[name].monotone == 1
    forbidden = RULES.replace("column amount", "column income: numeric, integer, forbidden\ncolumn amount")
    model = RulesClassifier(8, start=parse_graph(forbidden), **TO_END).fit(X, y)
    assert model.rule_graph_.schema["income"].role == "forbidden"
    assert "income" not in model.rule_graph_.used_features
    start = parse_graph(RULES)
    grouped = start.with_(
        schema=Schema(start.schema.features, "default", constraints=Constraints(together=(("amount",),)))
    )
    with pytest.raises(InputError, match="cannot promise which columns"):
        RulesClassifier(start=grouped, **TO_END).fit(X, y)


LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def finished_boards() -> list[str]:
    """All boards that a game of tic-tac-toe, x first, can end with: 958."""

    def won(board: str) -> bool:
        return any(board[a] != "b" and board[a] == board[b] == board[c] for a, b, c in LINES)

    seen, ended, boards = set[str](), set[str](), {"b" * 9}
    while boards:
        seen |= boards
        ended |= {board for board in boards if won(board) or "b" not in board}
        boards = {
            board[:i] + ("x" if board.count("b") % 2 else "o") + board[i + 1 :]
            for board in boards - ended
            for i in range(9)
            if board[i] == "b"
        } - seen
    return sorted(ended)


@pytest.mark.parametrize("left_out", [None, *(pytest.param(fold, marks=pytest.mark.long) for fold in (0, 7))])
def test_the_rule_of_tic_tac_toe_is_the_eight_lines(left_out: int | None) -> None:
    """`top_left in {b, x}` was once read for `top_left = x`, in 35 clauses, or 22 boards were decided wrongly."""
    boards = finished_boards()
    assert len(boards) == 958
    kept = [board for i, board in enumerate(boards) if i % 10 != left_out]
    cells = {f"cell{j}": [board[j] for board in kept] for j in range(9)}
    y = [any(all(board[j] == "x" for j in line) for line in LINES) for board in kept]
    model = RulesClassifier(20, stopping="none", positive=True).fit(cells, y)
    assert isinstance(model.rule_graph_.decision, Fires)
    rule = model.rule_graph_.decision.formula
    assert isinstance(rule, Or)
    found = {frozenset(leaf for leaf in clause.children) for clause in rule.children if isinstance(clause, And)}
    assert found == {frozenset(Among(f"cell{j}", ("x",), False) for j in line) for line in LINES}
    assert model.score(cells, y) == 1.0
