"""Fresh exports pass where a number, truth value or level means missing and missingness decides."""

from __future__ import annotations

import pytest

from rulekit.cells.axis import cells_of, texts_of_codes
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, Compare, IsTrue, Missing, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify

TOKENS = ("0", "1", "inf", "-inf", "0.1", "0.5", "nan", "-999", "true")
LEVELS = ("0", "1", "true", "0.1", "inf")
SINGLE: dict[str, Node] = {
    "numeric": Or((Missing("x"), Compare("x", "<=", 0.5))),
    "boolean": Or((Missing("x"), IsTrue("x"))),
    "categorical": Or((Missing("x"), Among("x", ("true", "0.1")))),
}


def graph_of(kind: str, token: str, leaf: Node) -> RuleGraph:
    levels = LEVELS if kind == "categorical" else ()
    x = Feature("x", kind, levels, missing_tokens=(token,))  # type: ignore[arg-type]
    return RuleGraph(Schema((x, Feature("z")), "y"), (0, 1), Fires(Or((leaf, Compare("z", ">", 3.0)))))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("kind", SINGLE)
def test_a_fresh_onnx_export_is_proved(kind: str, token: str) -> None:
    """It was called tampered: verify fed numbers that mean missing, which an ONNX model takes for what they are."""
    target = find_target("onnx")
    for leaf in (Missing("x"), SINGLE[kind]):
        graph = graph_of(kind, token, leaf)
        for form in ("columns", "codes", "tensor")[: 2 if kind == "categorical" else 3]:
            report = verify(graph, target.emit(graph, {"input": form}), target=target, rows=300)
            assert (report.ok, report.proof) == (True, "proved"), f"{form}: {report}"


@pytest.mark.parametrize("name", ["python", "sql"])
@pytest.mark.parametrize(("kind", "token"), [("numeric", "0.1"), ("boolean", "0"), ("categorical", "0")])
def test_a_fresh_text_export_is_proved(name: str, kind: str, token: str) -> None:
    target = find_target(name)
    graph = graph_of(kind, token, SINGLE[kind])
    report = verify(graph, target.emit(graph, {}), target=target, rows=300)
    assert (report.ok, report.proof) == (True, "proved"), str(report)


def test_every_cell_is_shown_by_values_that_are_not_missing() -> None:
    """A cell shown by a number that means missing was never run, and was called proved all the same."""
    for token in TOKENS[:6]:
        for kind, leaf in (("boolean", IsTrue("x")), ("numeric", Compare("x", "<=", 0.5))):
            feature = Feature("x", kind, missing_tokens=(token,))  # type: ignore[arg-type]
            low, high, _ = cells_of(feature, [leaf]).shown()
            assert low
            assert high
            assert not set(feature.missing_numbers).intersection((*low, *high))
    assert texts_of_codes(Feature("x", "categorical", ("0", "a"), missing_tokens=("0",)))[2:] == ["0.0", "a"]


@pytest.mark.parametrize("token", ["inf", "-inf", "0.5", "0"])
def test_a_number_that_rounds_onto_one_that_means_missing_is_there(token: str) -> None:
    """A module was called tampered: the infinity of 1e39 in float32 was fed as one that means missing."""
    graph = graph_of("numeric", token, Missing("x"))
    target = find_target("python")
    report = verify(graph, target.emit(graph, {}), target=target, rows=500)
    assert (report.ok, report.proof) == (True, "proved"), str(report)
