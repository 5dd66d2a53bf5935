"""When two rules are the same within a tolerance: cuts by the rows between them, sets of levels, terms of sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.audit.rule_matching import Alike, RuleParts, dice, rule_parts
from rulekit.graph.language.parsing import parse_graph

HEADER = """rulekit rules 1
column a: numeric
column b: numeric
column c: categorical {r, s, t}
label y: {no, yes}
default no
"""
RARE = ["t"] * 4 + ["r"] * 46 + ["s"] * 50
TABLE = parse_graph(f"{HEADER}decide yes when a > 1 and b > 1 and c in {{r}}\n").table(
    {"a": np.arange(100.0), "b": np.arange(100.0)[::-1], "c": RARE}
)


def rules(*texts: str) -> tuple[RuleParts, ...]:
    return rule_parts(parse_graph(f"{HEADER}decide yes when any of ({', '.join(texts)})\n"))


def terms(text: str) -> tuple[RuleParts, ...]:
    return rule_parts(parse_graph(f"{HEADER}decide yes when sum(0, {text}) exceeds score 1\n"))


def alike(one: RuleParts, other: RuleParts) -> bool:
    matcher = Alike(TABLE)
    matcher.know([one, other])
    return matcher.distance(one, other) < float("inf")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a > 50", "a > 54", True),
        ("a > 50", "a > 55", True),  # 5 of 100 rows lie between
        ("a > 50", "a > 56", False),
        ("a > 50", "a <= 50", False),
        ("a > 50", "b > 50", False),
        ("a > 50 and b > 20", "b > 22 and a > 49", True),
        ("a > 50 and b > 20", "a > 50", False),
        ("a > 20 and a <= 40", "a > 22 and a <= 42", True),
        ("c in {r}", "c in {r, t}", True),
        ("c in {r}", "c in {s}", False),
        ("c in {t}", "c in {}", False),  # 4 % of the rows, and none of them common
        ("a > 96", "a > 98", False),  # 3 rows and 1
        ("a > 2", "a > 4", True),  # 97 rows and 95, and those left are 3 and 5
        ("a > 0", "a > 4", False),  # those left are 1 and 5
        ("not (a > 50 or b > 60)", "a <= 50 and b <= 60", True),
    ],
)
def test_rules_are_alike_by_the_rows_between_their_cuts(one: str, other: str, same: bool) -> None:
    (first,), (second,) = rules(one), rules(other)
    assert alike(first, second) is same
    assert alike(second, first) is same


def test_a_term_on_the_contrary_condition_is_the_same_term_turned_round() -> None:
    (first,), (second,) = terms("2 if c in {r}"), terms("-3 if (c not in {r} or missing)")
    matcher = Alike(TABLE)
    matcher.know([first, second])
    assert matcher.distance(first, second) == 0.0
    assert matcher.turned(first, second)
    assert not matcher.turned(first, first)
    (rule,), (contrary,) = rules("a > 50"), rules("a <= 50")
    assert not alike(rule, contrary)


@settings(max_examples=30)
@given(st.lists(st.integers(0, 99), max_size=5), st.lists(st.integers(0, 99), max_size=5))
def test_pairs_of_rules_are_symmetric_and_a_set_is_like_itself(first: list[int], second: list[int]) -> None:
    ones, others = (rules(*(f"a > {cut}" for cut in cuts)) if cuts else () for cuts in (first, second))
    matcher = Alike(TABLE)
    matcher.know([*ones, *others])
    paired = matcher.pairs(ones, others)
    assert paired == matcher.pairs(others, ones)
    assert 0.0 <= dice(paired, len(ones), len(others)) <= 1.0
    assert dice(matcher.pairs(ones, ones), len(ones), len(ones)) == 1.0
