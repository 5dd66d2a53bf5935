"""Overrides are proved to win on any model, and those that do nothing are found."""

from __future__ import annotations

from functools import partial

import pytest
from overridden_models import overridden, two_rules

from rulekit.audit.checks.checking import check_model, unproved
from rulekit.audit.checks.kept_promises import Searches, override_verdicts
from rulekit.graph.language.parsing import parse_graph
from rulekit.search.row_search import RowSearch

BY_SOLVER = partial(RowSearch, few=0, many=0)
RULES = """rulekit rules 1
column x: numeric{mark}
column y: numeric
label z: {{no, yes}}
{promise}
decide yes when x > 1
override o1 by A on 2026-11-25 because b: {first}
override o2 by A on 2026-11-25 because b: {second}
"""


def rules(first="x > 5 -> no", second="y > 5 -> yes", promise="", mark=""):
    return parse_graph(RULES.format(first=first, second=second, promise=promise, mark=mark))


@pytest.mark.parametrize("searching", [RowSearch, BY_SOLVER])
def test_every_override_of_random_models_is_proved_to_win(searching):
    for seed in range(40):
        _, over, _ = overridden(seed)
        verdicts = override_verdicts(Searches(over, searching))
        assert [verdict.outcome for verdict in verdicts] == ["proved"] * len(over.overrides), seed


def test_each_override_is_said_in_words():
    texts = [verdict.promise.text for verdict in check_model(two_rules()).verdicts]
    assert texts == [
        'override o1 wins: where y > 1, the decision is "yes"',
        'override o2 wins: where not y > 1 holds and no override before it does, the decision is "no"',
    ]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("x > 5 and x <= 5 -> no", "y > 5 -> yes", ("unreachable", "o1")),
        ("x > 5 -> no", "x > 6 -> yes", ("shadowed", "o2")),
        ("x > 5 -> yes", "y > 5 -> yes", ("shadowed", "o1")),
        ("(x > 5 or missing) -> no", "y > 5 -> yes", ("missing", "o1")),
    ],
)
def test_overrides_that_do_nothing_are_found(first, second, found):
    checked = check_model(rules(first, second))
    findings = checked.findings
    assert checked.rules == 3
    assert check_model(rules().underlying).findings == ()  # rules are examined beneath the overrides
    assert {each.ids[0] for each in findings} <= {"o1", "o2"}
    assert [(each.kind, each.ids[0]) for each in findings if each.ids[0].startswith("o")] == [found]


@pytest.mark.parametrize(("promise", "mark"), [("require yes when x > 4", ""), ("", ", increasing"), ("", "")])
def test_a_promise_that_an_override_breaks_is_broken(promise, mark):
    broken = [verdict.outcome for verdict in unproved(rules(promise=promise, mark=mark))]
    assert broken == ["fails"] * bool(promise or mark)
    assert unproved(rules(promise=promise, mark=mark).underlying) == ()
