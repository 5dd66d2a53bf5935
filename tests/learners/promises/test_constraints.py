"""Constraints as parameters: what is no constraint is named, and who cannot keep one refuses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.graph.nodes import And, Compare, IsTrue, Not
from rulekit.graph.rule_graph import Required
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.contract import refuse_unable
from rulekit.learners.parameters import Settings
from rulekit.learners.promises.kept import CONSTRAINTS, required_of, under_constraints
from rulekit.schema import Constraints, Feature, Schema
from rulekit.tables.table import Table

TABLE = Table(
    (Feature("income"), Feature("married", "boolean"), Feature("job", "categorical", ("a", "b"))),
    (np.zeros(2, np.float32), np.zeros(2, np.float32), np.full(2, 2, np.int32)),
    2,
)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"monotone": {"incme": "increasing"}}, "monotone: no column 'incme'; did you mean 'income'"),
        ({"monotone": {"job": "increasing"}}, "column 'job': its levels have no order"),
        ({"forbid": [("income", "age")]}, "forbid: no column 'age'"),
        ({"forbid": ["income, "]}, "'income, ' is not two columns"),
    ],
)
def test_what_is_no_constraint_is_named(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        under_constraints(TABLE, Settings(**parameters))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("income > 3", "names no class"),
        ("income > 3 -> maybe", "no class 'maybe'"),
        ("income > -> yes", "line 1, column"),
        ("age > 3 -> yes", "no column 'age'"),
        ("sum(1, 2 if married) -> yes", "no condition that holds or does not"),
    ],
)
def test_what_is_no_required_decision_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        required_of([text], Schema(TABLE.features), ("no", "yes"))


def test_what_is_declared_joins_what_the_table_says() -> None:
    settings = Settings(monotone={"income": "decreasing"}, forbid=["income, job"], missing_never_helps=True)

    table = under_constraints(under_constraints(TABLE, settings), Settings(forbid=[["married", "job"]]))

    assert table.features[0].monotone == -1
    assert table.constraints == Constraints((), (("income", "job"), ("married", "job")), True)
    with pytest.raises(InputError, match="both directions"):
        under_constraints(table, Settings(monotone={"income": "increasing"}))
    (required,) = required_of(["income > 3 and not married -> false"], Schema(TABLE.features), (False, True))
    assert required == Required(0, And((Compare("income", ">", 3.0), Not(IsTrue("married", True)))))


def test_a_learner_refuses_what_it_cannot_keep_before_it_reads_a_row() -> None:
    class Unable(AdaBoostStumpClassifier):
        abilities = frozenset()

    asked = {"monotone": {"income": "increasing"}, "forbid": ["a,b"], "require": ["x"], "missing_never_helps": True}
    assert set(asked) == set(CONSTRAINTS)
    for name, value in asked.items():
        with pytest.raises(InputError, match=f"--{name.replace('_', '-')}: adaboost cannot promise"):
            refuse_unable(Unable, {name: value}, "--")
    refuse_unable(Unable, {"monotone": {}, "forbid": None, "require": [], "missing_never_helps": False})
