"""Additive rules that go on from known ones: what is frozen stays word for word, what is free is a starting point."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from loan_rules import RULES

from rulekit import (
    AdaBoostStumpClassifier,
    AdditiveRulesClassifier,
    CNLLClassifier,
    RuleGraph,
    RulesClassifier,
    simplify,
)
from rulekit.audit.checks.checking import check_model
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Above, Column, Compare, LevelPoints, Linear, Missing, Node, Step
from rulekit.graph.rules import rules_of
from rulekit.synthetic import loans

SMALL: dict[str, Any] = {"max_rules": 6, "n_folds": 2, "n_threads": 1, "positive": "yes", "target": "default"}


def data(seed: int, n: int = 500) -> tuple[dict[str, Any], Any]:
    rows = loans(n, seed=seed)
    return rows, np.array(rows.pop("default"))


@functools.cache
def learned(**more: Any) -> RuleGraph:
    return simplify(AdditiveRulesClassifier(**{**SMALL, "max_rules": 4, **more}).fit(*data(1)).rule_graph_)


def nodes(graph: RuleGraph) -> set[tuple[int, Node]]:
    return {(rule.class_index, rule.node) for rule in rules_of(graph)}


def test_the_rules_of_an_expert_stand_word_for_word_in_every_size() -> None:
    start = parse_graph(RULES)
    model = AdditiveRulesClassifier(**SMALL, start=start).fit(*data(2))
    kept = [rule.node for rule in rules_of(start)]

    assert [point.units for point in model.path_.points] == [2, 3, 4, 5, 6]
    for graph in (*model.path_, simplify(model.rule_graph_, kept)):
        check(graph)
        assert nodes(start) <= nodes(graph)
        assert parse_graph(print_graph(graph)) == graph
    assert model.rule_graph_.schema["purpose"].levels[:2] == ("gambling", "space flight")
    assert model.rule_graph_.provenance["parameters"]["start"] == start.digest


@pytest.mark.parametrize("more", [{}, {"points": True}])
def test_a_sum_goes_on_as_a_sum_with_weights_of_the_new_rows(more: dict[str, Any]) -> None:
    """Out of core too."""
    start, small = parse_graph(print_graph(learned(**more))), {**SMALL, "stopping": "none"}
    rows, y = data(2)
    model, stored = (
        AdditiveRulesClassifier(**small, start=start, memory=limit).fit(rows, y) for limit in (None, "2GB")
    )
    first = model.path_.graph_at(1)

    assert nodes(start) == nodes(first)
    assert {rule.weight for rule in rules_of(start)} != {rule.weight for rule in rules_of(first)}
    assert model.path_.points[0].training_error <= np.mean(start.predict(rows) != y) + 0.01
    assert stored.rule_graph_.decision == model.rule_graph_.decision


def test_free_rules_come_first_and_may_be_exchanged() -> None:
    start = parse_graph(RULES)
    fixed = {"polish": 0, "stopping": "none", "freeze": "none"}
    first = AdditiveRulesClassifier(**{**SMALL, "max_rules": 2}, start=start, **fixed).fit(*data(2))
    model = AdditiveRulesClassifier(**SMALL, start=start, freeze="none").fit(*data(2))

    assert nodes(first.rule_graph_) == nodes(start)
    assert [point.units for point in model.path_.points] == [1, 2, 3, 4, 5, 6]
    assert not nodes(start) <= nodes(model.rule_graph_)
    # Some stay, and the others may leave.
    kept = rules_of(start)[1]
    path = AdditiveRulesClassifier(**SMALL, start=start, freeze=[kept.id]).fit(*data(3)).path_
    assert path.points[0].units == 1
    assert all((1, kept.node) in nodes(graph) for graph in path)


def test_steps_and_points_by_level_are_a_rule_for_each_of_their_parts() -> None:
    start = learned()
    terms = [(2.0, Step("amount", (8000.25, 12000.5), (0.0, 1.0, 3.0), -1.0)), (1.0, Missing("income"))]
    points = LevelPoints("purpose", (("car", 1.0), ("gambling", 4.0), ("home", 1.0)), unseen=2.0)
    total = Linear([*terms, (1.0, points)], -2.0)
    start = start.with_(decision=Fires(Above(total, 1.0)), probability=(), statistics={})
    parts = nodes(start)

    for score in (total, Linear([(2.0, total)], 1.0)):
        given = start.with_(decision=Fires(Above(score, 1.0)))
        graph = AdditiveRulesClassifier(**{**SMALL, "max_rules": 9}, start=given).fit(*data(2)).path_.graph_at(1)

        assert (1, Compare("amount", ">", 12000.5)) in parts
        assert nodes(graph) == parts  # no training row has a missing amount or an unseen purpose: they have no weight


def test_a_score_card_of_stumps_goes_on_and_simplification_leaves_its_lines() -> None:
    start = simplify(AdaBoostStumpClassifier(4, n_folds=2, positive="yes", target="default").fit(*data(1)).rule_graph_)
    model = AdditiveRulesClassifier(**{**SMALL, "max_rules": 12}, start=start).fit(*data(2))
    kept = [rule.node for rule in rules_of(start)]

    assert nodes(start) <= nodes(model.rule_graph_)
    assert nodes(start) <= nodes(simplify(model.rule_graph_, kept))


@pytest.mark.parametrize("learner", [AdditiveRulesClassifier, RulesClassifier])
@pytest.mark.parametrize("ordered", [None, ("blue", "green", "red")])
def test_each_of_several_classes_goes_on_with_its_own_rules(learner: Any, ordered: Any) -> None:
    X = np.random.default_rng(4).random((300, 4))
    y = np.where(X[:, 0] > 0.6, "red", np.where(X[:, 1] > 0.5, "green", "blue"))
    y[X[:, 2] > 0.9] = "blue"
    start = simplify(learner(2, n_folds=2, ordered=ordered).fit(X, y).rule_graph_)

    model = AdditiveRulesClassifier(4, n_folds=2, start=start, ordered=ordered).fit(X, y)

    assert nodes(start) <= nodes(model.rule_graph_)
    assert model.score(X, y) >= np.mean(start.predict(X) == y) - 0.02


def test_promises_give_a_rule_of_the_start_its_sign() -> None:
    start = parse_graph(RULES)
    promises: dict[str, Any] = {
        "monotone": {"amount": "increasing"},
        "missing_never_helps": True,
        "forbid": ["late_payments, age"],
        "require": ["amount > 12000 and late_payments > 1 -> yes"],
    }
    for freeze in ("all", "none"):
        graph = AdditiveRulesClassifier(**SMALL, start=start, freeze=freeze, **promises).fit(*data(2)).rule_graph_
        assert {verdict.outcome for verdict in check_model(graph).verdicts} == {"proved"}
    falling = AdditiveRulesClassifier(**SMALL, start=start, monotone={"amount": "decreasing"}).fit(*data(2)).path_
    (rule,) = rules_of(falling.graph_at(1))  # the other would have to speak against the class, and has no weight
    assert rule.node == rules_of(start)[0].node
    both = {"amount": "decreasing", "late_payments": "increasing"}
    with pytest.raises(InputError, match=r"as amount grows.*broken by a rule that is required or stays"):
        AdditiveRulesClassifier(**SMALL, start=start, monotone=both).fit(*data(2))


def with_decision(made: Callable[[RuleGraph], Any]) -> Callable[[], RuleGraph]:
    """The rules of the expert with another decision."""
    start = parse_graph(RULES)
    return lambda: start.with_(decision=made(start))


NUMBERS = Fires(Above(Linear([(1.0, Column("late_payments", 0.0, 0.0, 9.0))], -1.0), 0.0))


def noisy() -> RuleGraph:
    fast = {"stopping": "none", "positive": "yes", "target": "default"}
    graph = CNLLClassifier(1, **fast).fit(*data(1, 100)).rule_graph_
    return graph.with_(decision=Fires(Above(graph.probability[0], 0.5)), statistics={})


CASES: dict[str, tuple[Any, dict[str, Any], str]] = {
    "numbers": (with_decision(lambda _: NUMBERS), {}, "it adds up the numbers of 'late_payments'"),
    "two scores": (
        with_decision(lambda rules: ArgMax((rules.decision.roots[0], Missing("amount")), (0.5, 0.5), (1, 0))),
        {},
        "it compares the scores of two classes",
    ),
    "formula": (noisy, {}, "it is neither rules nor a sum"),
    "positive": (lambda: parse_graph(RULES), {"positive": "no"}, "is about the class 'yes', the learner 'no'"),
    "unknown rule": (lambda: parse_graph(RULES), {"freeze": ["r0"]}, "no rule 'r0' in the start"),
    "order": (lambda: parse_graph(RULES), {"ordered": ("no", "yes"), "positive": None}, "it has no order"),
    "size": (lambda: parse_graph(RULES), {"max_literals": 2}, "beyond the limits of size"),
    "column": (lambda: parse_graph(RULES.replace("late_payments", "late")), {}, "no column 'late', which the start"),
}


@pytest.mark.parametrize(("made", "parameters", "said"), CASES.values(), ids=CASES)
def test_what_cannot_go_on_is_refused_in_one_line(made: Any, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        AdditiveRulesClassifier(**{**SMALL, "start": made(), **parameters}).fit(*data(2, 100))
    assert "\n" not in str(caught.value)
