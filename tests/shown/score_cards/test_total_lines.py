"""The table from total to probability stands wherever a score card of whole points is read or written."""

from __future__ import annotations

import json

import pytest

from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.notebook.display import graph_html
from rulekit.shown.score_cards import total_table
from rulekit.targets import find_target

CARD = """rulekit rules 1
column age: numeric, integer
column owner: boolean
label y: {no, yes}
default no
let $score = sum(-1, 1 * step(age: -2 up to 20, 0 up to 40, then 3, missing 0), 20 if owner)
decide yes when $score exceeds score 0.5
report yes with logistic of sum(-0.35, 0.7 * $score)
"""
TOTALS = [-3.0, -1.0, 2.0, 17.0, 19.0, 22.0]


def card() -> RuleGraph:
    return parse_graph(CARD)


@pytest.mark.parametrize("form", ["show", "full", "table", "c50"])
def test_texts_have_the_table(form: str) -> None:
    text = find_target("text").emit(card(), {"format": form}).main.decode()
    assert '6 totals that a row can have; "yes" from 2 on:' in text
    assert "7.9" in text
    assert ">99.9" in text or "&gt;99.9" in text or ">99.9".replace(">", "\\>") in text


def test_the_page_has_the_table() -> None:
    page = graph_html(card())
    assert "6 totals that a row can have" in page
    assert page.count("&gt;99.9") == 3


def test_a_query_and_a_module_carry_totals_and_probabilities() -> None:
    query = find_target("sql").emit(card(), {}).main.decode()
    assert '-- Total of the points: probability of "yes"\n--   -3: 0.0794' in query
    module = find_target("python").emit(card(), {}).main.decode()
    assert "TOTALS = ((-3.0, 0.0794385)," in module


def test_the_metadata_of_onnx_carry_totals_and_probabilities() -> None:
    metadata = pytest.importorskip("rulekit_exporters.onnx.metadata")
    artifact = find_target("onnx").emit(card(), {}).main
    pairs = json.loads(metadata.properties_of(artifact)["rulekit.totals"])
    assert [total for total, _ in pairs] == TOTALS


def test_only_whole_points_have_a_table() -> None:
    assert total_table(parse_graph(CARD.replace("20 if", "20.5 if"))) is None
    table = total_table(card())
    assert table is not None
    assert [row.total for row in table.rows] == TOTALS
