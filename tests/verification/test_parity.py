"""verify finds what differs and names a row; it is silent about what does not."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from other_engines import over

from rulekit.conformance.models import NODES
from rulekit.conformance.targets import FILE
from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.nodes import Above, Among, And, AtLeast, Compare, Hidden, IsTrue, Node, Not, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline
from rulekit.numbers import next_float32, strength_of
from rulekit.schema import Feature, Schema
from rulekit.targets import Outcome, find_target
from rulekit.verification.parity import verify as verify_written
from rulekit.verification.parity import verify_evaluators

SCHEMA = Schema(
    (
        Feature("age"),
        Feature("gain"),
        Feature("colour", "categorical", ("red", "green", "blue")),
        Feature("in", "boolean"),
    ),
    "label",
)
OLD = Compare("age", ">", 28.5)
RICH = Compare("gain", "<=", 0.1, missing=True)
WARM = Among("colour", ("red",), unseen=True)
RULES = (And((OLD, RICH, WARM)), And((IsTrue("in"), Not(OLD))), AtLeast(2, (RICH, WARM, IsTrue("in", True))))

# the artifacts here are of targets without a reader
verify = partial(verify_written, run_untrusted=True)


def _graph(*rules: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Or(rules)))


def _swap(old: Node, new: Node) -> RuleGraph:
    rules = (
        And(tuple(new if child is old else child for child in RULES[0].children)),
        And((IsTrue("in"), Not(new if old is OLD else OLD))),
        AtLeast(2, tuple(new if child is old else child for child in RULES[2].children)),
    )
    return _graph(*rules)


MUTANTS = {
    "operator flipped": _swap(OLD, Compare("age", "<=", 28.5)),
    "threshold one float32 up": _swap(OLD, Compare("age", ">", next_float32(28.5))),
    "missing turned": _swap(RICH, Compare("gain", "<=", 0.1, missing=False)),
    "level changed": _swap(WARM, Among("colour", ("green",), unseen=True)),
    "level added": _swap(WARM, Among("colour", ("red", "blue"), unseen=True)),
    "unseen turned": _swap(WARM, Among("colour", ("red",), unseen=False)),
    "rule dropped": _graph(*RULES[:2]),
    "k changed": _graph(*RULES[:2], AtLeast(3, RULES[2].children)),
    "and for or": _graph(And(RULES[:2]), RULES[2]),
}


def _emit(graph: RuleGraph) -> bytes:
    return FILE.emit(graph, {}).main


@pytest.mark.parametrize("rows", [0, 2_000])  # none: the model's cells alone, which are run though nothing is read
@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_with_a_row_that_differs(name, rows):
    graph, mutant = _graph(*RULES), MUTANTS[name]
    report = verify(graph, _emit(mutant), target=FILE, rows=rows)
    assert not report.ok
    assert report.different_decisions > 0
    row = {column: [value] for column, value in report.counter_example.row.items()}
    assert graph.predict(row)[0] == report.counter_example.expected
    assert mutant.predict(row)[0] == report.counter_example.found
    assert report.counter_example.expected != report.counter_example.found
    assert report.carried == f"another graph {mutant.digest}" + (", which decides otherwise" if rows else "")


def test_a_different_strength_shows_in_the_probability_alone():
    """On rows where nothing is proved, and on all cells."""

    def model(p: float) -> RuleGraph:
        score = Probability(Or([Hidden("h1", OLD, strength_of(p)), Hidden("h2", WARM, strength_of(0.7))]))
        return RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(score, 0.5)), (score,))

    for target, rows, proof in ((FILE, 500, "tested"), (find_target("text"), 0, "proved")):
        report = verify(model(0.9), target.emit(model(0.90001)), target=target, rows=rows)
        assert (report.proof, report.different_decisions, report.ok) == (proof, 0, False)
        assert 1e-6 < report.largest_gap < 1e-4
        assert report.counter_example.expected_probabilities != report.counter_example.found_probabilities


def test_the_same_graph_is_the_same():
    graph = _graph(*RULES)
    report = verify(graph, _emit(graph), target=FILE, rows=1_000)
    assert report.ok
    assert (report.carried, report.basis, report.adversarial_rows, report.raw_rows) == ("same", "Boolean", 1_000, 1_000)
    assert report.cells == (2 * 1_000 + 8 * report.proof_cells_run) * 4
    assert report.proof_cells_run >= report.proof_cells > 0
    assert report.counter_example is None
    assert report == verify(graph, _emit(graph), target=FILE, rows=1_000)


def test_an_equivalent_artifact_of_another_graph_passes_and_is_named():
    graph, twin = _graph(*RULES), _graph(*reversed(RULES))
    report = verify(graph, _emit(twin), target=FILE, rows=1_000)
    assert report.ok
    assert report.foreign
    assert f"foreign: graph inside the artifact: another graph {twin.digest}" in str(report)


def test_an_artifact_that_carries_the_graph_but_decides_otherwise_was_tampered_with():
    graph, mutant = _graph(*RULES), MUTANTS["rule dropped"]
    liar = over(lambda content, g, table: FILE.run(_emit(mutant), g, table))
    report = verify(graph, _emit(graph), target=liar, rows=1_000)
    assert report.tampered
    assert "tampered: it carries this very model; changed after the export" in str(report)
    assert "it carries no graph" in str(verify(graph, _emit(graph), target=replace(liar, read=None), rows=50))


def test_an_unreadable_graph_is_named():
    def read(content: bytes) -> RuleGraph:
        raise FormatError("no rules inside")

    graph = _graph(*RULES)
    report = verify(graph, _emit(graph), target=replace(FILE, read=read), rows=100)
    assert report.carried == "unreadable: no rules inside"
    assert (report.different_decisions, report.ok) == (0, False)
    assert "damaged: graph inside the artifact: unreadable: no rules inside" in str(report)
    twice = replace(FILE, read=read, inspect=lambda content, graph: read(content))
    with pytest.raises(FormatError, match=r"^no rules inside; rulekit verify --run-untrusted"):
        verify_written(graph, _emit(graph), target=twice, rows=100)


def test_rules_inside_that_decide_otherwise_than_their_artifact_mislead():
    """Such an artifact passed with a note, and `show` would have displayed rules that it does not follow."""
    graph, mutant = _graph(*RULES), MUTANTS["rule dropped"]
    right = over(lambda content, g, table: FILE.run(_emit(graph), g, table))
    report = verify(graph, _emit(mutant), target=right, rows=1_000)
    assert report.different_decisions == 0
    assert report.misleading
    assert not report.ok


def test_only_raw_doubles_show_a_double_threshold():
    """An artifact that compares doubles without rounding first is right on every float32 and wrong between them."""
    schema = Schema((Feature("x"),), "label")
    graph = RuleGraph(schema, (0, 1), Fires(Compare("x", ">", 0.1)))

    def naive(content, g, columns):
        labels = (np.asarray(columns["x"]) > 0.1).astype(np.int64)
        return Outcome(labels, np.eye(2)[labels])

    report = verify(graph, _emit(graph), target=over(FILE.run, naive), rows=200)
    assert report.different_decisions > 0
    assert not report.counter_example.encoded
    x = report.counter_example.row["x"]
    assert (x > 0.1) != bool(decide(graph, graph.table({"x": [x]}))[0])


def test_given_rows_are_compared_too():
    graph, mutant = _graph(*RULES), MUTANTS["rule dropped"]
    data = {"age": [30.0, 20.0], "gain": [5.0, 0.0], "colour": ["blue", "red"], "in": [True, None]}
    same = verify(graph, _emit(graph), target=FILE, data=data, rows=0, proving=False)
    other = verify(graph, _emit(mutant), target=FILE, data=data, rows=0, proving=False)
    assert (same.ok, same.given_rows, same.adversarial_rows) == (True, 2, 0)
    assert other.different_decisions == 2 * 1
    assert other.counter_example.row == {"age": 20.0, "gain": 0.0, "colour": "red", "in": None}


def test_no_answer_is_not_an_answer():
    graph = _graph(*RULES)

    def mute(content, g, table):
        return Outcome(np.zeros(len(table), dtype=np.int64), np.full((len(table), 2), math.nan))

    report = verify(graph, _emit(graph), target=over(mute), rows=100)
    assert report.largest_gap == 1.0
    assert not report.ok

    def short(content, g, table):
        return Outcome(np.zeros(1, dtype=np.int64), np.zeros((1, 2)))

    with pytest.raises(InputError, match="labels"):
        verify(graph, _emit(graph), target=over(short), rows=100)


def test_the_target_is_told_by_the_ending_or_must_be_named(tmp_path):
    graph = _graph(*RULES)
    with pytest.raises(InputError, match="must be named"):
        verify(graph, b"", rows=10)
    with pytest.raises(InputError, match="absent"):
        verify(graph, tmp_path / "absent.onnx", rows=10)
    path = tmp_path / "rules.xyz"
    path.write_bytes(_emit(graph))
    with pytest.raises(InputError, match="no export target"):
        verify(graph, path, rows=10)
    assert verify(graph, path, target=FILE, rows=10).ok


def test_the_report_is_json_without_host_or_clock():
    graph = NODES["extreme thresholds"]()
    mutant = RuleGraph(graph.schema, graph.classes, Fires(Not(graph.decision.formula)))
    report = verify(graph, _emit(mutant), target=FILE, rows=300)
    content = json.loads(report.to_json(), parse_constant=pytest.fail)
    assert content["ok"] is False
    assert content["digest"] == graph.digest
    assert set(content["counter_example"]["row"]) == set(graph.used_features)
    assert len(content["sha256"]) == 64


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", list(NODES))
def test_numpy_and_the_oracle_agree(name):
    report = verify_evaluators(NODES[name](), rows=100)
    assert report.ok, report
    assert report.largest_gap <= 1e-15


def test_rows_are_as_many_as_time_allows(caplog: pytest.LogCaptureFixture) -> None:
    """A query of 5,000 rules took 80 s to run, past the limit."""
    graph = _graph(*RULES)
    artifact, many = (
        find_target("python").emit(graph).main,
        {"age": [30.0] * 300, "gain": 0.0, "colour": "red", "in": False},
    )
    data = {name: [cell] * 300 if name != "age" else cell for name, cell in many.items()}
    report = verify_written(graph, artifact, target="python", data=data, deadline=Deadline(0.0))
    assert (report.ok, report.proof, report.adversarial_rows, report.given_rows) == (True, "tested", 200, 200)
    assert "--time-limit" in report.proof_reason
    assert "only the first 200 of 300 given rows" in caplog.text
    assert verify_written(graph, artifact, target="python", rows=300, deadline=Deadline(60.0)).adversarial_rows == 300
