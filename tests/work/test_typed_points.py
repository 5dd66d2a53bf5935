"""Every number of a card may be edited in its text: it is exact, or the import says what to type instead."""

from __future__ import annotations

import re

import pytest

from rulekit.exactness import span_of_sum
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Linear
from rulekit.graph.rule_graph import RuleGraph
from rulekit.work.models import inexact_numbers, on_grid

CARD = """rulekit rules 1
column age: numeric
column owner: boolean
column town: categorical {a, b, c}
label y: {no, yes}
default no
decide yes when sum(
  -17,
  5 if owner and age > 3,
  1 * step(age: -41 up to 20, 43 up to 40, then 7, missing 11),
  1 * points(town: 13 in {a}, -19 in {b}, missing 23, unseen 29),
) exceeds score 37
"""
POINTS = ("-17", "5", "-41", "43", "7", "11", "13", "-19", "23", "29", "37")


def sum_of(graph: RuleGraph) -> Linear:
    score = graph.decision.parts[0].score
    assert isinstance(score, Linear)
    return score


def edited(old: str, new: str) -> RuleGraph:
    text, times = re.subn(rf"(?<![\w.-]){re.escape(old)}(?![\w.])", new, CARD)
    assert times == 1
    return parse_graph(text)


@pytest.mark.parametrize("number", POINTS)
@pytest.mark.parametrize("typed", ["2", "-8.5", "0", "2.609375"])
def test_whole_numbers_halves_and_so_on_are_exact(number: str, typed: str) -> None:
    graph = edited(number, typed)
    span = span_of_sum(sum_of(graph))
    assert span is not None
    assert span.fits()
    assert not inexact_numbers(graph)
    assert parse_graph(print_graph(graph)) == graph


@pytest.mark.parametrize("number", POINTS[:-1])
@pytest.mark.parametrize("typed", ["2.6", "-0.1", "3.14159"])
def test_other_decimals_are_told_with_what_is_exact(number: str, typed: str) -> None:
    """2.6 is a number of 52 bits, whose sums may be rounded; nobody was told."""
    (line,) = inexact_numbers(edited(number, typed))
    near = on_grid(float(typed))
    assert f"{typed} is no multiple of a power of two; write {near!r}" in line
    assert abs(near - float(typed)) <= abs(float(typed)) / 500
    assert not inexact_numbers(edited(number, repr(near)))


def test_the_factor_makes_every_number_whole() -> None:
    (line,) = inexact_numbers(edited("5", "2.65"))
    assert line.endswith("or multiply every number of the sum and its threshold by 20")


def test_a_moment_in_float32_is_told() -> None:
    """A datetime column of a rule text was compared in steps of 128 seconds, and `import` said nothing."""
    text = "rulekit rules 1\ncolumn seen: numeric, {}datetime\nlabel y: {no, yes}\ndecide yes when seen > 2024-05-01\n"
    (line,) = inexact_numbers(parse_graph(text.replace("{}", "")))
    assert line == "the moments of seen are compared in steps of 128 seconds; add float64 to its line"
    assert not inexact_numbers(parse_graph(text.replace("{}", "float64, ")))
