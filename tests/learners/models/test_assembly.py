"""Answers joined to a model: reported probabilities are of the rows as they are, and the largest sum decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit import AdaBoostStumpClassifier, CNLLClassifier
from rulekit.audit.threshold import with_threshold
from rulekit.graph.decisions import ArgMax
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import And, Compare, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import NO_LIMITS, Frame, Score
from rulekit.learners.models.assembly import decision_of
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable

Learner = type[RuleClassifier]
LEARNERS: list[Learner] = [CNLLClassifier, AdaBoostStumpClassifier]
QUICK: dict[str, Any] = {"stopping": "none", "random_state": 0}
N = 3000


def rows(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers that say how probable the positive class is, which one row in sixteen has."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (N, 3)).astype(np.float32)
    chance = 0.01 + 0.4 * ((X[:, 0] > 5) & (X[:, 1] > 3))
    return X, (rng.random(N) < chance).astype(np.int64)


@pytest.mark.parametrize("learner", LEARNERS)
def test_costs_move_the_decision_and_not_the_probability(learner: Learner) -> None:
    """The probability of a model that was trained at 1:10 was that of a population with ten times the positives."""
    X, y = rows()
    priced = learner(8, class_weight={0: 1.0, 1: 10.0}, **QUICK).fit(X, y)
    labelled = LabelledTable(infer(X), y, (0, 1), cost=(1.0, 10.0))
    assert learner(8, **QUICK).fit(labelled).rule_graph_ == priced.rule_graph_
    another = learner(8, **QUICK).fit(X, y, np.where(y == 1, 10.0, 1.0))

    assert np.array_equal(priced.predict(X), another.predict(X))
    assert another.predict_proba(X)[:, 1].mean() > 2 * y.mean(), "row weights are the population"
    assert abs(priced.predict_proba(X)[:, 1].mean() - y.mean()) < 0.03
    threshold = priced.rule_graph_.provenance["threshold"]
    assert threshold == pytest.approx(1 / 11)
    assert np.array_equal(priced.predict_proba(X)[:, 1] > threshold, priced.predict(X) == 1)
    for beyond in (0.02, 0.2, 0.5):
        moved = with_threshold(priced.rule_graph_, beyond)
        assert np.array_equal(moved.decide(X) == 1, moved.predict_proba(X)[:, 1] > beyond)


def test_learning_goes_on_from_a_model_of_other_odds() -> None:
    """Its decisions stand, and what is reported is again of the rows as they are."""
    X, y = rows()
    priced = CNLLClassifier(8, class_weight={0: 1.0, 1: 10.0}, **QUICK).fit(infer(X), y).rule_graph_
    again = CNLLClassifier(9, class_weight={0: 1.0, 1: 10.0}, start=priced, stopping="none").fit(infer(X), y)
    begun = again.path_.graph_at(1)
    assert np.all(begun.predict(X)[priced.predict(X) == 1] == 1)
    assert abs(begun.predict_proba(X)[:, 1].mean() - y.mean()) < 0.03


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("ordered", [None, (0, 1, 2)])
def test_several_classes_are_reported_as_often_as_they_are(learner: Learner, ordered: Any) -> None:
    X, y = rows()
    y += 2 * (rows(1)[1] * (X[:, 2] > 2))
    y = np.minimum(y, 2)
    weighed = learner(8, class_weight={0: 1.0, 1: 20.0, 2: 20.0}, ordered=ordered, **QUICK).fit(X, y)
    shares = np.bincount(y) / N
    assert np.abs(weighed.predict_proba(X).mean(axis=0) - shares).max() < 0.1
    assert (weighed.predict(X) > 0).mean() > 2 * (y > 0).mean()


def test_ranked_sums_report_the_differences_of_their_cuts() -> None:
    """They reported 0 and 1."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2)).astype(np.float32)
    y = np.digitize(X[:, 0] + rng.normal(size=N), [-1.0, 0.5])
    model = AdaBoostStumpClassifier(8, ordered=(0, 1, 2), **QUICK).fit(X, y)
    shown = model.predict_proba(X)
    assert shown.min() >= 0.0
    assert shown.max() < 1.0
    np.testing.assert_allclose(shown.sum(axis=1), 1.0)
    cuts = evaluate_nodes(model.rule_graph_.probability, model.rule_graph_.table(X))
    low, _, high = (cuts[node] for node in model.rule_graph_.probability)
    assert np.abs(low.mean() - (y == 0).mean()) < 0.1
    assert np.abs(high.mean() - (y == 2).mean()) < 0.1
    loss, certain = (-np.log(np.maximum(p[np.arange(N), y], 1e-3)).mean() for p in (shown, np.eye(3)[model.predict(X)]))
    assert loss < certain / 2


def test_where_no_sum_is_above_0_the_largest_decides() -> None:
    """The most frequent class decided there, and an asked-for default still does."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (N, 3)).astype(np.float32)
    y = np.array(list("abcd"))[np.digitize(X.sum(axis=1) + rng.normal(size=N), [7.0, 10.0, 13.0])]

    def sums(graph: RuleGraph) -> np.ndarray:
        found = evaluate_nodes(graph.decision.roots, graph.table(X))
        return np.column_stack([found[node] for node in graph.decision.roots])

    model = AdaBoostStumpClassifier(8, **QUICK).fit(X, y)
    scores = sums(model.rule_graph_)
    largest, rows_of_none = scores.argmax(axis=1), (scores <= 0).all(axis=1)
    assert 0.1 < rows_of_none.mean() < 0.9
    decided = model.rule_graph_.decide(X)
    assert (scores[np.arange(N), decided] == scores[np.arange(N), largest]).all()
    asked = AdaBoostStumpClassifier(8, default="a", **QUICK).fit(X, y)
    assert (asked.predict(X)[rows_of_none] == "a").all()
    assert (model.predict(X) == y).mean() > (asked.predict(X) == y).mean()


def test_the_first_class_by_precedence_decides_and_rules_of_the_default_are_not_needed_last() -> None:
    rules = [Compare("a", ">", 1.0), Compare("a", ">", 0.0), Compare("b", ">", 0.0)]
    schema = Schema((Feature("a", "numeric"), Feature("b", "numeric")), "y")
    frame = Frame(schema, ("x", "y", "z"), (), "several", (1, 0, 2), None, NO_LIMITS, (1.0, 1.0, 1.0))

    def decided(*precedence: float, stays: bool = False) -> dict[int, Node]:
        pairs = zip(rules, precedence, strict=True)
        scores = [Score(rule, rule, precedence=order, stays=stays) for rule, order in pairs]
        found = decision_of(frame, [], scores)
        assert isinstance(found, ArgMax)
        return found.in_order

    assert decided(3.0, 2.0, 1.0) == dict(zip((0, 1, 2), rules, strict=True))
    assert list(decided(2.0, 3.0, 1.0)) == [1, 0, 2]
    assert list(decided(2.0, 2.0, 2.0)) == [1, 0, 2], "of equal ones the most frequent"
    assert list(decided(3.0, 1.0, 2.0)) == [0, 2]
    assert list(decided(3.0, 1.0, 2.0, stays=True)) == [0, 2, 1]
    apart = Or([Compare("a", "<=", 1.0), And([Compare("a", ">", 0.0), Compare("b", "<=", 0.0)])])
    rules[1] = apart
    assert decided(1.0, 3.0, 2.0)[1] is apart, "each rule of the default meets one of a class after it"
    assert decided(1.0, 2.0, 3.0)[1] is apart.children[1], "the first one does not meet the only class after it"
    rules[1] = apart.children[0]
    assert list(decided(1.0, 2.0, 3.0)) == [2, 0]
