"""Additive rules under required decisions: each outweighs all else, in every size, or is refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit import AdditiveRulesClassifier, simplify
from rulekit.audit.checks.checking import check_model
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.synthetic import loans
from rulekit.tables.kinds.inference import infer

SMALL: dict[str, Any] = {"max_rules": 5, "stopping": "none", "n_threads": 1, "target": "default", "positive": "yes"}
RANKS = ["low", "mid", "high"]


TEXTS = (
    "amount is missing or age > 60 -> yes",
    "purpose in {car, home} and not homeowner -> yes",
    "late_payments > 2 and income <= 30000 -> no",
    "age <= 40 or employment in {retired} -> no",
)


def rows(n: int = 400, seed: int = 0) -> tuple[Any, Any]:
    columns = loans(n, seed=seed)
    label = np.array(columns.pop("default"))
    return infer(columns), label


def outcomes(graph: RuleGraph) -> set[str]:
    return {verdict.outcome for verdict in check_model(graph).verdicts}


@pytest.mark.long_from("seed", len(TEXTS))
@pytest.mark.parametrize("seed", range(12))
def test_what_is_required_is_proved_and_would_not_come_by_itself(seed: int) -> None:
    table, y = rows(250, seed)
    y = np.where(np.random.default_rng(seed).random(250) < 0.1, "yes", y)

    model = simplify(AdditiveRulesClassifier(**SMALL, require=[TEXTS[seed % 4]]).fit(table, y).rule_graph_)
    free = simplify(AdditiveRulesClassifier(**SMALL).fit(table, y).rule_graph_)

    assert outcomes(model) == {"proved"}
    assert not check_model(free.with_(schema=model.schema, required=model.required)).ok


def test_each_size_keeps_decisions_for_either_class() -> None:
    """And where learning is cut short, what is required stands alone."""
    table, y = rows()
    texts = ["amount > 9000 and age <= 30 -> no", "amount <= 9000 and age > 70 -> yes"]

    path = AdditiveRulesClassifier(**SMALL, require=texts).fit(table, y).path_
    short = AdditiveRulesClassifier(**SMALL, time_limit=0.0, require=["age > 30 -> yes"]).fit(table, y).rule_graph_

    assert [point.units for point in path.points] == [2, 3, 4, 5]
    for graph in (*path, short):
        assert outcomes(graph) == {"proved"}
        assert {promise.condition for promise in graph.required} <= {rule.node for rule in rules_of(graph)}
    assert len(rules_of(short)) == 1


def test_with_other_promises_and_of_ranks() -> None:
    table, y = rows()
    others = {"monotone": {"amount": "increasing", "age": "increasing"}, "missing_never_helps": True}
    promises = {"require": ["amount > 9000 -> yes"], "forbid": ["age, income"], **others}
    model = AdditiveRulesClassifier(**SMALL, **promises).fit(table, y)
    income = table.array("income")
    ranks = np.array(RANKS, dtype=object)[np.digitize(income, np.nanquantile(income, [0.4, 0.8]))]
    required = ["amount > 9000 and age <= 30 -> mid", "age > 60 -> high"]
    ranked = AdditiveRulesClassifier(**{**SMALL, "positive": None}, ordered=RANKS, require=required).fit(table, ranks)

    for made, n in ((model, 5), (ranked, 2)):
        assert outcomes(made.rule_graph_) == {"proved"}
        assert len(check_model(made.rule_graph_).verdicts) == n


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"require": ["age > 3 -> yes"], "points": True}, "points: a required decision outweighs all other rules"),
        ({"require": ["age > 30 -> yes", "age > 40 -> no"]}, 'the decision is "no": this is broken by a rule'),
        ({"require": ["age > 30 -> no"], "monotone": {"age": "increasing"}}, "as age grows"),
        ({"require": ["age is missing -> yes"], "missing_never_helps": True}, "no rule is satisfied by a missing"),
        ({"require": ["age > 3 and amount > 3 -> no"], "forbid": ["age,amount"]}, "never stand in one rule"),
        ({"require": ["age > 3 -> mid"], "positive": None}, "of several classes the largest sum decides"),
    ],
)
def test_what_cannot_be_kept_is_refused(parameters: dict[str, Any], said: str) -> None:
    table, y = rows(60)
    y = np.array(RANKS)[np.arange(60) % 3] if "positive" in parameters else y
    with pytest.raises(InputError, match=said):
        AdditiveRulesClassifier(**{**SMALL, **parameters}).fit(table, y)
