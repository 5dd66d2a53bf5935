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
SINGLE: dict[str, Node] = {"numeric": Compare("x", "<=", 0.5), "boolean": IsTrue("x")}
SINGLE["categorical"] = Among("x", ("true", "0.1"))


def graph_of(kind: str, token: str, *leaves: Node) -> RuleGraph:
    """Missing decides, and what else is said; another column beside it."""
    levels = LEVELS if kind == "categorical" else ()
    x = Feature("x", kind, levels, missing_tokens=(token,))  # type: ignore[arg-type]
    rules = Or((Missing("x"), *leaves, Compare("z", ">", 3.0)))
    return RuleGraph(Schema((x, Feature("z")), "y"), (0, 1), Fires(rules))


def assert_proved(graph: RuleGraph, name: str, rows: int = 300, **options: str) -> None:
    target = find_target(name)
    report = verify(graph, target.emit(graph, options), target=target, rows=rows)
    assert (report.ok, report.proof) == (True, "proved"), f"{options}: {report}"


@pytest.mark.one_in(2)
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("kind", SINGLE)
def test_a_fresh_onnx_export_is_proved(kind: str, token: str) -> None:
    """It was called tampered: verify fed numbers that mean missing, which an ONNX model takes for what they are."""
    for leaves in ((), (SINGLE[kind],)):
        for form in ("columns", "codes") if kind == "categorical" else ("columns", "tensor"):
            assert_proved(graph_of(kind, token, *leaves), "onnx", input=form)


@pytest.mark.parametrize("name", ["python", "sql"])
@pytest.mark.parametrize(("kind", "token"), [("numeric", "0.1"), ("boolean", "0"), ("categorical", "0")])
def test_a_fresh_text_export_is_proved(name: str, kind: str, token: str) -> None:
    assert_proved(graph_of(kind, token, SINGLE[kind]), name)


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
    assert_proved(graph_of("numeric", token), "python", rows=500)
