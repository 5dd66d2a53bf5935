"""One table of cells and the tables that `predict` refuses, through the forms in which targets take cells."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from rulekit.conformance.cells import KINDS, REFUSED, cells, expected, may_hold, refused
from rulekit.conformance.feeding import fed_cells, fed_tables
from rulekit.conformance.targets import FILE, target_checks
from rulekit.targets import Feed, Runtime, Target, answers, find_target

FORMS = {
    "file": (FILE, {}),
    "python": (find_target("python"), {}),
    "onnx": (find_target("onnx"), {}),
    "onnx, codes": (find_target("onnx"), {"input": "codes"}),
}
PATHS = [(form, feed) for form, (target, _) in FORMS.items() for feed in target.runtime.feeds]


def test_the_table_is_large_enough():
    """At least 2,000 combinations of a cell and a kind, 150 cells that are refused, and 150 refused tables."""
    said = [answer for kind in KINDS for answer in expected(kind)]
    assert len(cells()) * len(KINDS) == len(said) >= 2000
    assert sum(isinstance(answer, str) for answer in said) >= 1000
    assert sum(len(refused(family)) for family in REFUSED) >= 150
    assert all("\n" not in answer for answer in said if isinstance(answer, str))


@pytest.mark.parametrize(("form", "feed"), PATHS, ids=[f"{form}, {feed.name}" for form, feed in PATHS])
def test_cells_and_refused_tables(form, feed, long_runs):
    """Every cell is decided as by the graph, or refused as by it; a table that is wrong as a whole is refused."""
    target, options = FORMS[form]
    kinds = tuple(KINDS) if long_runs else ("float32", "date", "category")
    found = [*fed_cells(target, options, feed, kinds), *fed_tables(target, options, feed)]
    assert [(fed.question, fault) for fed in found for fault in fed.wrong] == []
    assert sum(fed.cases for fed in found) > 250


def test_the_page_says_what_a_cell_may_be():
    """`RULEKIT_UPDATE_GOLDEN=1` writes the table of the page; read the difference."""
    page = Path(__file__).parents[2] / "docs" / "generated-python.md"
    text = page.read_text("utf-8")
    before, marked, rest = text.partition("<!-- made by tests/conformance/test_cells.py -->\n")
    found, end, after = rest.partition("<!-- end -->")
    table = "\n".join(may_hold()) + "\n"
    if os.environ.get("RULEKIT_UPDATE_GOLDEN"):
        page.write_text(before + marked + table + end + after, encoding="utf-8")
    assert found == table


def _checks(feed: Feed) -> dict[str, object]:
    target: Target = replace(FILE, runs=(Runtime("other", FILE.run, feeds=(feed,)),))
    return {each.name: each for each in target_checks(target, {}, models={})}


@pytest.mark.parametrize(
    ("decide", "question"),
    [
        (lambda graph, table: [0 for _ in table], "fed cells"),  # decides what is refused
        (lambda graph, table: graph.decide({k: v for k, v in table.items() if k in graph.schema.names}), "fed tables"),
    ],
    ids=["a cell", "a table"],
)
def test_a_form_that_decides_what_is_refused_fails(decide, question):
    def run(artifact, graph, tables):
        padded = [{**{name: [1.0, 2.0, 3.0] for name in graph.schema.names}, **table} for table in tables]
        return answers(lambda table: decide(graph, table), padded)

    check = _checks(Feed("lenient", run))[f"{question}, lenient"]
    with pytest.raises(AssertionError, match="answers are not the graph's"):
        check.run()
