"""Rules that go on from known ones: what the start declares holds, and what need not change does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows
from loan_rules import RULES

from rulekit import RuleGraph, RulesClassifier
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Compare
from rulekit.schema import Constraints, Feature, Schema

SMALL: dict[str, Any] = {"stopping": "none", "positive": "yes", "target": "default"}


def test_the_model_is_not_touched_where_nothing_is_left_to_gain() -> None:
    rows = {"x": np.arange(40.0), "z": np.arange(40.0) % 3}
    y = np.where(rows["x"] > 12.5, "yes", "no")
    schema = Schema((Feature("x"),), "default")
    start = RuleGraph(schema, ("no", "yes"), Fires(Compare("x", ">", 12.25)))
    graph = RulesClassifier(3, start=start, **SMALL).fit(rows, y).rule_graph_
    assert graph.decision == start.decision
    assert graph.provenance["units"] == [1]


@pytest.mark.parametrize("used", [True, False], ids=["read by a rule", "not read"])
def test_what_the_start_declares_of_a_column_is_not_lost(used: bool) -> None:
    """A monotone mark, a role and the groups of columns once vanished without a word."""
    X, y = loan_rows(400)
    name = "amount" if used else "income"
    marked = RULES if used else RULES.replace("column amount", "column income: numeric, integer\ncolumn amount")
    marked = marked.replace(f"column {name}: numeric, integer", f"column {name}: numeric, integer, increasing")
    promised = RulesClassifier(start=parse_graph(marked), **SMALL).fit(X, y).rule_graph_
    assert promised.schema[name].monotone == 1
    forbidden = RULES.replace("column amount", "column income: numeric, integer, forbidden\ncolumn amount")
    model = RulesClassifier(8, start=parse_graph(forbidden), **SMALL).fit(X, y)
    assert model.rule_graph_.schema["income"].role == "forbidden"
    assert "income" not in model.rule_graph_.used_features
    start = parse_graph(RULES)
    grouped = start.with_(
        schema=Schema(start.schema.features, "default", constraints=Constraints(together=(("amount",),)))
    )
    with pytest.raises(InputError, match="cannot promise which columns"):
        RulesClassifier(start=grouped, **SMALL).fit(X, y)
