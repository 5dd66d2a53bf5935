"""Sums are shown as score cards: by column, in the order of its values, with signs that are read rightly."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from rulekit_exporters.text import show

from rulekit import explain
from rulekit.audit.report.blocks import ReportTable
from rulekit.audit.report.rule_sections import probability_section
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.notebook.display import graph_html
from rulekit.shown.score_cards import card_of, total_table
from rulekit.shown.sections import reported, sections
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.kinds.inference import infer
from rulekit.targets import find_target

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


SHOWN = """y is "yes" when the points of all lines that hold add up to 3 or more
  (points above 0 speak for "yes", points below 0 against it)
             -1  always
  owner
    ra1c44a  -7  false
  age
    rfa445d  -2  up to 20 years
              0  above 20 up to 40 years
    r737911  +3  above 40 years
             -1  missing
  town
    r5130ae  +2  in {level00, level01, level02, level03, level04, level05, level06, level07 and 12 more}
    re9be83  -2  any other level or unseen
  income
    r865cee  -1  up to 3
    ra2f553  +1  above 9
  several columns
    r4cc260  +5  income > 2 and owner
otherwise "no".   Missing: a missing income, owner or town brings no points.

probability of "yes": the logistic of 0.0693 times that sum - 0.35
"""


def test_a_card_is_shown_by_columns_and_values() -> None:
    """Columns that move the total most come first, and nobody has 2.5 points; the sum was printed twice."""
    assert show(card_graph(), 120).startswith(f"{SHOWN}\n24 totals")
    full = show(card_graph(), 120, full=True)
    assert "any other" not in full
    assert full.count("\nprobability of") == 1
    card = card_of(card_graph().decision.parts[0].score, card_graph().schema)
    assert card is not None
    assert [group.reach for group in card.groups] == [7.0, 5.0, 4.0, 2.0, 5.0]


def test_points_are_aligned_at_the_decimal_point() -> None:
    text = show(parse_graph(CARD.replace("5 if income", "5.125 if income")), 120)
    assert "\n    ra1c44a  -7      false\n" in text
    assert "\n    r4cc260  +5.125  income > 2 and owner\n" in text


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
    explained = explain(graph, {"town": ["zzz"]})[0]
    assert explained["scores"][0]["points"] == [{"id": "", "text": "town is a level never seen", "points": -4.0}]
    assert explained["change"]["text"] == "town: a level never seen -> level00"


def test_the_table_of_totals_stands_wherever_a_card_of_whole_points_is_read_or_written() -> None:
    graph = parse_graph(CARD.replace("0.0693", "1"))
    for form in ("show", "full", "table", "c50"):
        text = find_target("text").emit(graph, {"format": form}).main.decode().replace("\\>", ">").replace("&gt;", ">")
        assert '24 totals that a row can have; "yes" from 3 on:' in text
        assert ">99.9" in text
    page = graph_html(graph)
    assert "24 totals that a row can have" in page
    assert page.count("&gt;99.9") == 3
    query = find_target("sql").emit(graph, {}).main.decode()
    assert '-- Total of the points: probability of "yes"\n--   -13: 1.59' in query
    assert "TOTALS = (\n    (-13.0, 1.59" in find_target("python").emit(graph, {}).main.decode()
    table, metadata = total_table(graph), pytest.importorskip("rulekit_exporters.onnx.metadata")
    pairs = json.loads(metadata.properties_of(find_target("onnx").emit(graph, {}).main)["rulekit.totals"])
    assert table is not None
    assert [total for total, _ in pairs] == [row.total for row in table.rows] == [-13.0, *map(float, range(-12, 11))]
    assert total_table(parse_graph(CARD.replace("5 if income", "5.125 if income"))) is None


REPORTED = """rulekit rules 1
column age: numeric, count
column owner: boolean
column town: categorical {north, south}
label y: {no, yes}
default no
decide yes when any of (
  age > 60 and not owner,
  town in {north},
)
report yes with sided(logistic of sum(
  0.326,
  0.13 * sum(
    -21,
    40 if age > 60 and not owner,
    38 if town in {north},
    1 * step(age: -6 up to 20, then 0, missing 9),
  ),
), at least 0.501 when decided, else at most 0.499)
"""


def test_a_card_that_predicts_the_probability_gives_that_of_every_row() -> None:
    """It was said as "from 4 weighted conditions", and left out the points of a missing value and the offset."""
    graph = parse_graph(REPORTED)
    short = 'probability of "yes": from a score card of 5 lines; rulekit show --all shows it'
    assert show(graph, 120).splitlines()[-1] == short
    (part,) = reported(graph)
    assert part.heading == (
        'probability of "yes": the logistic of 0.13 times the sum of these points + 0.326, '
        "at least 0.501 when decided, else at most 0.499"
    )
    assert part.signs == "sum -30: 3 %, -20: 9 %, -10: 27 %, 0: 58 %, 10: 84 %, 20: 95 %, 30: 99 %"
    assert {row.id for row in part.rows} == {*(rule.id for rule in rules_of(graph)), ""}
    points = {row.text: row.weight for row in part.rows}
    assert len(points) == 5
    rows = {"age": [70, 70, 10, None], "owner": [False, True, True, True], "town": ["south", "south", "north", "south"]}
    held = ["age > 60 and not owner", "", "town in {north};age <= 20", "age is missing"]
    totals = np.array([sum(points[text] or 0.0 for text in ["always", *filter(None, own.split(";"))]) for own in held])
    chances = 1.0 / (1.0 + np.exp(-0.13 * totals - 0.326))
    assert graph.predict_proba(rows)[:, 1] == pytest.approx(chances, abs=1e-12)


def test_the_report_shows_the_points() -> None:
    """Its page of the predicted probability had the conditions alone."""
    graph = parse_graph(REPORTED)
    subject = SimpleNamespace(measured=graph)
    section = probability_section(cast(Subject, subject))
    (table,) = [block for block in section.blocks if isinstance(block, ReportTable)]
    assert [title for title, _ in table.columns] == ["rule", "points", "condition"]
    assert [line[1].text for line in table.rows] == ["-21", "+38", "-6", "+9", "+40"]


def test_several_cards_are_counted() -> None:
    text = (
        REPORTED.partition("label y")[0]
        + """label y: {a, b, c}
default a
decide first of (c: age > 60, b: age > 40)
report (
  a: probability of (H fires with probability 0.3333 when true),
  b: logistic of sum(0, 0.1 * sum(-20, 36 if age > 40)),
  c: logistic of sum(0, 0.1 * sum(-21, 36 if age > 60)),
)
"""
    )
    graph = parse_graph(text)
    assert show(graph, 120).splitlines()[-1] == "probabilities: from 2 score cards; rulekit show --all shows them"
    of_class = {part.heading.partition(":")[0]: {row.class_index for row in part.rows} for part in reported(graph)}
    assert of_class == {f'probability of "{label}"': {k} for k, label in enumerate("abc")}


def test_a_card_over_rules_that_simplification_joined_names_no_rule_that_stands_nowhere() -> None:
    """Four rules decide as `(a or b) and (c or d)`; the card had the ids of the four, which no reader could find."""
    text = "rulekit rules 1\n" + "".join(f"column {name}: boolean\n" for name in "abcd")
    text += "label y: {no, yes}\ndefault no\ndecide yes when (a or b) and (c or d)\nreport yes with sided("
    text += "logistic of sum(0, 0.1 * sum(-22, 33 if a and c, 36 if a and d, 36 if b and c, 40 if b and d)), "
    graph = parse_graph(text + "at least 0.501 when decided, else at most 0.499)\n")
    (part,) = reported(graph)
    rows = [(row.id, row.text, row.weight) for row in part.rows]
    assert rows[:2] == [("", "always", -22.0), ("", "b and d", 40.0)]
    assert {row[0] for row in rows} <= {rule.id for rule in rules_of(graph)} | {""}


def test_in_a_list_of_classes_a_rule_counts_the_rows_that_no_class_above_takes() -> None:
    """`Q when m8 > 5: right 5.2 % of 8271 rows` stood in a list that was right on 97 % of all rows."""
    text = "rulekit rules 1\ncolumn x: numeric\nlabel y: {a, b, c}\ndefault a\n"
    graph = parse_graph(f"{text}decide first of (c: x > 60, b: x > 40)\n")
    table = infer({"x": [10.0, 50.0, 70.0, 80.0]})
    statistics = rule_statistics(graph, table, np.array([0, 1, 2, 2]))
    assert [(entry["n"], entry["precision"]) for entry in statistics["rules"]] == [(1, 1.0), (2, 1.0)]
    assert "right 100.0 % of 2 rows" in show(graph.with_(statistics=statistics), 200)
    assert [entry["coverage"] for entry in statistics["rules"]] == [0.75, 0.5]


def test_a_probability_that_reads_no_column_is_the_same_on_every_row() -> None:
    """Of a model without a rule it was said as "from 1 weighted condition"."""
    text = "rulekit rules 1\ncolumn x: numeric\nlabel y: {no, yes}\ndefault no\ndecide yes when false\n"
    graph = parse_graph(f"{text}report yes with probability of (H fires with probability 0.148 when true)\n")
    said = 'probability of "yes": the same on every row; rulekit show --all shows it'
    assert show(graph, 120).splitlines()[-1] == said
