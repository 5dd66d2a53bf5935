"""Plain rules under promises: kept, stated and proved for two, several and ranked classes, or refused by name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit import RulesClassifier
from rulekit.audit.checks.checking import check_model
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Logistic, Sided
from rulekit.graph.rules import rules_of
from rulekit.synthetic import loans
from rulekit.tables.kinds.inference import infer

SMALL: dict[str, Any] = {"stopping": "none", "n_threads": 1, "target": "default"}
ALL: dict[str, Any] = {
    "monotone": {"income": "increasing", "age": "decreasing"},  # against what the rows say
    "forbid": [("late_payments", "amount"), ("income", "homeowner", "purpose")],
    "missing_never_helps": True,
}


def rows(n: int = 400) -> tuple[Any, Any]:
    columns = loans(n)
    label = np.array(columns.pop("default"))
    return infer(columns), label


def test_every_promise_is_kept_stated_and_proved() -> None:
    table, y = rows()
    promises = {**ALL, "require": ["amount > 9000 and late_payments > 4 -> yes"]}
    promises["forbid"] = promises["forbid"][1:]

    model = RulesClassifier(**SMALL, **promises).fit(table, y)
    checked = check_model(model.rule_graph_)

    assert [verdict.outcome for verdict in checked.verdicts] == ["proved"] * 5
    assert checked.clear
    graph = model.rule_graph_
    assert parse_graph(str(graph)) == graph
    assert graph.required[0].condition in [rule.node for rule in rules_of(graph)]
    free = RulesClassifier(**SMALL).fit(table, y).rule_graph_
    broken = check_model(free.with_(schema=graph.schema, required=graph.required))
    assert not broken.ok


def test_the_reported_probability_keeps_what_the_rules_keep() -> None:
    table, y = rows()

    along = {"income": "decreasing", "late_payments": "increasing"}
    graph = RulesClassifier(**SMALL, **{**ALL, "monotone": along, "forbid": ()}, report="all").fit(table, y).rule_graph_

    (reported,) = graph.probability
    assert isinstance(reported, Sided)
    assert isinstance(reported.probability, Logistic)
    cells = {name: list(column) for name, column in loans(400).items() if name != "default"}
    chances = graph.predict_proba(cells)[:, 1]
    assert len(np.unique(chances)) > 3
    assert set(along) & set(graph.used_features)
    for name, step in (("income", -9000.0), ("late_payments", 2.0)):
        more = graph.predict_proba({**cells, name: [v if v is None else v + step for v in cells[name]]})
        assert np.all(more[:, 1] >= chances)
    for name in graph.used_features:
        assert np.all(graph.predict_proba({**cells, name: [None] * 400})[:, 1] <= chances)


def test_several_and_ranked_classes() -> None:
    table, _ = rows()
    income = table.array("income")
    y = np.array(["low", "mid", "high"], dtype=object)[np.digitize(income, np.nanquantile(income, [0.4, 0.8]))]
    several = {name: promise for name, promise in ALL.items() if name != "monotone"}

    for promises, ordered in ((several, None), (ALL, ["low", "mid", "high"])):
        model = RulesClassifier(**SMALL, **promises, ordered=ordered).fit(table, y)
        assert {verdict.outcome for verdict in check_model(model.rule_graph_).verdicts} == {"proved"}
    with pytest.raises(InputError, match="3 classes without an order do not rise or fall"):
        RulesClassifier(**SMALL, **ALL).fit(table, y)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"require": ["amount > 3 -> no"]}, "the positive one of two classes"),
        (
            {"require": ["amount > 3 -> yes"], "monotone": {"amount": "decreasing"}},
            "as amount grows.*broken by a rule that is required",
        ),
        ({"require": ["amount > 3 and age > 3 -> yes"], "forbid": ["age,amount"]}, "never stand in one rule"),
        ({"require": ["age is missing -> yes"], "missing_never_helps": True}, "no rule is satisfied by a missing"),
    ],
)
def test_what_cannot_be_kept_is_refused(parameters: dict[str, Any], said: str) -> None:
    table, y = rows(60)
    with pytest.raises(InputError, match=said):
        RulesClassifier(**SMALL, **parameters).fit(table, y)
