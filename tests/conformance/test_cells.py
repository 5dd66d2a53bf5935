"""One table of cells and the tables that `predict` refuses, through the forms in which targets take cells."""

from __future__ import annotations

from dataclasses import replace

import pytest
from may_hold import may_hold

from rulekit.conformance.cells import KINDS, REFUSED, cells, expected, fed_cells, fed_tables, refused
from rulekit.conformance.targets import FILE, target_checks
from rulekit.targets import Feed, Runtime, Target, answers, find_target

FORMS = {
    "file": (FILE, {}),
    "python": (find_target("python"), {}),
    **({"javascript": (find_target("javascript"), {})} if find_target("javascript").installed() else {}),
    "onnx": (find_target("onnx"), {}),
    **{f"onnx, {form}": (find_target("onnx"), {"input": form}) for form in ("codes", "tensor", "ids")},
    "onnx, frame": (find_target("onnx"), {"frame": True}),
}
KINDS_OF = {"onnx, ids": ("text",), "onnx, tensor": ("float32", "date")}
PATHS = [
    (form, feed)
    for form, (target, _) in FORMS.items()
    for feed in target.runtime.feeds
    if (form, feed.name) != ("onnx, ids", "arrays of the declared types")
]


@pytest.mark.long
def test_the_table_is_large_enough():
    """At least 2,000 combinations of a cell and a kind, 150 cells that are refused, and 150 refused tables."""
    said = [answer for kind in KINDS for answer in expected(kind)]
    assert len(cells()) * len(KINDS) == len(said) >= 2000
    assert sum(isinstance(answer, str) for answer in said) >= 1000
    assert sum(len(refused(family)) for family in REFUSED) >= 150
    assert all("\n" not in answer for answer in said if isinstance(answer, str))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("form", "feed"), PATHS, ids=[f"{form}, {feed.name}" for form, feed in PATHS])
def test_cells_and_refused_tables(form, feed, long_runs, record_property):
    """Every cell is decided as by the graph, or refused as by it; a table that is wrong as a whole is refused."""
    target, options = FORMS[form]
    turn = ("date", "category")[PATHS.index((form, feed)) % 2]
    kinds = tuple(KINDS) if long_runs else KINDS_OF.get(form, ("float32", turn))
    found = [*fed_cells(target, options, feed, kinds), *fed_tables(target, options, feed)]
    assert [(fed.question, fault) for fed in found for fault in fed.wrong] == []
    assert {fed.question for fed in found} >= {*REFUSED} - {*feed.without}
    record_property("cells", (form, sum(fed.cases for fed in found), sum(fed.refused for fed in found)))
    assert sum(fed.cases for fed in found) > 250


ONNX_CELLS = find_target("onnx").runtime.feeds[1].holds


@pytest.mark.parametrize(("page", "holds"), [("generated-python", lambda *_: ""), ("onnx", ONNX_CELLS)])
def test_the_page_says_what_a_cell_may_be(page, holds, made_table):
    made_table(page, "tests/conformance/test_cells.py", may_hold(holds))


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
