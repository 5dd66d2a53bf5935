"""A plain DNF in place of a formula: plain indeed, within its limits, and its report agrees with what it decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cnll_cases import TREE, loan_rows, small_table
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import CNLLClassifier, RuleGraph, simplify
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import Among, And, Compare, Constant, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rules import counts

KIND: dict[str, Any] = {**TREE, "backfit": 5, "max_bins": 64, "min_rows": 5, "form": "dnf"}
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
    X, y = small_table(seed, 2)
    model = CNLLClassifier(
        6, **KIND, max_clauses=clauses, max_literals=literals, max_features=features, stopping=stopping, n_folds=2
    ).fit(X, y)
    graph = model.rule_graph_
    check(graph)
    assert isinstance(graph.decision, Fires)
    assert is_plain(graph.decision.formula)
    for one in (graph, simplify(graph)):
        size = counts(one)
        assert size.rules <= (20 if clauses is None else clauses)
        assert literals is None or size.literals <= literals
        assert features is None or len(one.used_features) <= features
    chances = model.predict_proba(X)[:, 1]
    assert np.array_equal(chances > 0.5, model.predict(X) == graph.classes[1])


def test_the_true_rule_of_the_loans_is_found() -> None:
    X, y = loan_rows(1000)
    model = CNLLClassifier(10, **KIND, positive="yes").fit(X, y)
    assert (counts(model.rule_graph_).rules, counts(model.rule_graph_).literals) == (3, 5)
    assert model.score(X, y) > 0.94
    assert len(set(model.predict_proba(X)[:, 1])) > 3


def test_the_path_is_by_clauses() -> None:
    X, y = loan_rows(600)
    model = CNLLClassifier(8, **KIND, positive="yes", max_clauses=4).fit(X, y)
    assert [counts(graph).rules for graph in model.path_] == list(range(1, len(model.path_) + 1))
    assert model.path_.graph_at(model.path_.chosen[0]) == model.rule_graph_
    point = model.path_.points[0]
    assert point.training_error == pytest.approx(np.mean(model.path_.graph_at(1).predict(X) != y))
    chances = model.path_.graph_at(1).predict_proba(X)[:, 1]
    assert point.objective == pytest.approx(((chances - (y == "yes")) ** 2).sum())
    assert model.curve_[0].folds == 5
    assert all(point.held_out_error is not None for point in model.path_.points)


def test_the_strengths_are_those_of_least_squares() -> None:
    """One clause: the share of positive rows where it holds, and where it does not."""
    X, y = loan_rows(600)
    model = CNLLClassifier(8, **{**KIND, "ridge": 0}, positive="yes", max_clauses=1, stopping="none").fit(X, y)
    holds = model.predict(X) == "yes"
    chances = model.predict_proba(X)[:, 1]
    assert chances[holds] == pytest.approx(np.mean(y[holds] == "yes"))
    assert chances[~holds] == pytest.approx(np.mean(y[~holds] == "yes"))


def test_weights_count_as_rows() -> None:
    X, y = loan_rows(200)
    weight = np.arange(200) % 3 + 1
    twice = np.repeat(np.arange(200), weight)
    given = CNLLClassifier(4, **KIND, stopping="none").fit(X, y, sample_weight=weight).rule_graph_
    repeated = {name: [values[i] for i in twice] for name, values in X.items()}
    assert CNLLClassifier(4, **KIND, stopping="none").fit(repeated, y[twice]).rule_graph_ == given


def test_several_classes_have_a_plain_rule_each_and_ordered_ones_for_each_cut() -> None:
    X = np.random.default_rng(0).random((400, 3))
    y = np.where(X[:, 0] > 0.7, "high", np.where(X[:, 1] > 0.6, "mid", "low"))
    model = CNLLClassifier(4, **KIND).fit(X, y)
    check(model.rule_graph_)
    assert isinstance(model.rule_graph_.decision, ArgMax)
    assert model.score(X, y) > 0.95
    assert np.array_equal(model.predict_proba(X).argmax(axis=1), model.rule_graph_.decide(X))
    graph: RuleGraph = CNLLClassifier(4, **KIND, ordered=["low", "mid", "high"]).fit(X, y).rule_graph_
    assert isinstance(graph.decision, Median)
    assert all(map(is_plain, graph.decision.above))


def test_a_formula_of_more_than_twenty_units_has_a_plain_form() -> None:
    """Its patterns are too many to list, so that the clauses come from its first twenty units."""
    rng = np.random.default_rng(1)
    X = rng.random((500, 6))
    y = ((X[:, :3] > 0.5).sum(axis=1) >= 2) ^ (rng.random(500) < 0.1)
    model = CNLLClassifier(24, **KIND, stopping="none").fit(X, y)
    assert len(model.history_) >= 24
    assert model.score(X, y) > 0.85


def test_what_is_not_plain_is_refused() -> None:
    X, y = loan_rows(60)
    start = CNLLClassifier(2, stopping="none").fit(X, y).rule_graph_
    for parameters, said in (
        ({"weak": "llr"}, "form='dnf'"),
        ({"weak": "pairs"}, "form='dnf'"),
        ({"start": start}, "does not go on"),
    ):
        with pytest.raises(InputError, match=said):
            CNLLClassifier(3, form="dnf", **parameters).fit(X, y)


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


@pytest.mark.parametrize("left_out", [None, 0, 7])
def test_the_rule_of_tic_tac_toe_is_the_eight_lines(left_out: int | None) -> None:
    """`top_left in {b, x}` was once read for `top_left = x`, in 35 clauses, or 22 boards were decided wrongly."""
    boards = finished_boards()
    assert len(boards) == 958
    kept = [board for i, board in enumerate(boards) if i % 10 != left_out]
    cells = {f"cell{j}": [board[j] for board in kept] for j in range(9)}
    y = [any(all(board[j] == "x" for j in line) for line in LINES) for board in kept]
    model = CNLLClassifier(20, form="dnf", stopping="none", positive=True).fit(cells, y)
    assert isinstance(model.rule_graph_.decision, Fires)
    rule = model.rule_graph_.decision.formula
    assert isinstance(rule, Or)
    found = {frozenset(leaf for leaf in clause.children) for clause in rule.children if isinstance(clause, And)}
    assert found == {frozenset(Among(f"cell{j}", ("x",), False) for j in line) for line in LINES}
    assert model.score(cells, y) == 1.0
