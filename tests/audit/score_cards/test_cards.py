"""Sums are shown as score cards: by column, in the order of its values, with signs that are read rightly."""

from __future__ import annotations

from rulekit_exporters.text import show

from rulekit.audit.score_cards.cards import card_of
from rulekit.audit.sections import sections
from rulekit.graph.language.text import parse_graph
from rulekit.graph.rule_graph import RuleGraph

LEVELS = [f"level{i:02}" for i in range(40)]

CARD = f"""rulekit rules 1
column age: numeric, integer, unit "years"
column income: numeric
column owner: boolean
column town: categorical {{{", ".join(LEVELS)}}}
label y: {{no, yes}}
default no
let $score = sum(
  -1,
  1 if income > 9,
  5 if income > 2 and owner,
  1 * step(age: -2 up to 20, 0 up to 40, then 3, missing -1),
  2 if town in {{{", ".join(LEVELS[:20])}}},
  -2 if (town in {{{", ".join(LEVELS[20:])}}} or unseen),
  -1 if income <= 3,
  -7 if not owner,
)
decide yes when $score exceeds score 2.5
report yes with logistic of sum(-0.35, 0.0693 * $score)
"""


def card_graph() -> RuleGraph:
    return parse_graph(CARD)


def test_a_card_stands_by_columns_those_first_that_move_the_total_most() -> None:
    graph = card_graph()
    card = card_of(graph.decision.parts[0].score, graph.schema)
    assert card is not None
    assert [(group.column, group.reach) for group in card.groups] == [
        ("owner", 7.0),
        ("age", 5.0),
        ("town", 4.0),
        ("income", 2.0),
        ("", 5.0),
    ]


def test_whole_points_are_decided_by_the_least_whole_total() -> None:
    """Nobody has 2.5 points."""
    assert sections(card_graph())[0].heading == 'y is "yes" when the points of all lines that hold add up to 3 or more'


def test_values_stand_in_order_under_the_name_of_their_column() -> None:
    text = show(card_graph(), 120)
    age = text[text.index("\n  age\n") :].splitlines()[2:6]
    assert [line.split(maxsplit=2)[-2:] for line in age[:1]] == [["-2", "up to 20 years"]]
    assert age[1].split() == ["0", "above", "20", "up", "to", "40", "years"]
    assert age[3].split() == ["-1", "missing"]
    assert text.index("up to 3") < text.index("above 9")
    assert "owner\n" in text
    assert "-7  false" in text


def test_two_long_lists_of_levels_are_told_apart() -> None:
    """Both were cut to "and 12 more"."""
    text = show(card_graph(), 120)
    assert "in {level00, level01, level02, level03, level04, level05, level06, level07 and 12 more}" in text
    assert "any other level or unseen" in text
    assert "any other" not in show(card_graph(), 120, full=True)


def test_signs_and_what_counts_always_are_said() -> None:
    text = show(card_graph(), 120)
    assert '(points above 0 speak for "yes", points below 0 against it)' in text
    assert "-1  always" in text


def test_a_probability_on_another_scale_is_known_as_that_of_the_sum() -> None:
    """With whole points it was said as "from 15 weighted conditions", and the sum printed twice."""
    for full in (False, True):
        said = [line for line in show(card_graph(), 120, full).splitlines() if line.startswith("probability")]
        assert said == ['probability of "yes": the logistic of 0.0693 times that sum - 0.35']


def test_points_are_aligned_at_the_decimal_point() -> None:
    text = show(parse_graph(CARD.replace("5 if income", "5.125 if income")), 120)
    lines = [line for line in text.splitlines() if "+5.125  " in line or "-7      " in line]
    assert len(lines) == 2
    assert len({line.index("+5") + 2 if "+5" in line else line.index("-7") + 2 for line in lines}) == 1


def test_points_by_level_stand_as_lines_with_missing_and_unseen() -> None:
    """Points by level are one node; a reader sees a line for each group of levels."""
    text = CARD.split("let $score")[0] + (
        "decide yes when sum(0, 1 * points(town: 3 in {level00, level01}, -2 in {level02}, missing 1, unseen -4))"
        " exceeds score 0.5\n"
    )
    graph = parse_graph(text)
    rows = sections(graph)[0].rows
    assert [(row.weight, *row.under) for row in rows] == [
        (3.0, "in {level00, level01}"),
        (-2.0, "in {level02}"),
        (-4.0, "a level never seen"),
        (1.0, "missing"),
    ]
    explained = graph.explain({"town": ["zzz"]})[0]
    assert explained["scores"][0]["points"] == [{"id": "", "text": "town is a level never seen", "points": -4.0}]
    assert explained["change"]["text"] == "town: a level never seen -> level00"
