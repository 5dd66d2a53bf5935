"""What is proved, what is only tested and why, and what is named where an artifact is not the graph."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rulekit.conformance.models import NODES, random_graph
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.nodes import Above, Among, And, Column, Compare, IsTrue, Linear, Missing, Node, Not, Or, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.schema import Feature, Schema
from rulekit.targets import Outcome, Reading, Runtime, Target, find_target
from rulekit.verification.parity import verify as verify_written
from rulekit.verification.proof.prove import leaves_below, reading_of_graph

TEXT = find_target("text")
SCHEMA = Schema(
    (*(Feature(f"x{i}") for i in range(40)), Feature("colour", "categorical", ("red", "green", "blue"))), target="y"
)

# the readers here are made up
verify = partial(verify_written, run_untrusted=True)


def _literal(i: int, threshold: float = 0.5, missing: bool = False) -> Node:
    return Compare(f"x{i}", ">", threshold, missing)


def _wide_rules(change: dict[int, Node] | None = None) -> RuleGraph:
    """Twenty rules of two literals over forty columns: 2^40 cells."""
    literals = [_literal(i, 0.25 * i, i % 3 == 0) for i in range(40)]
    for i, node in (change or {}).items():
        literals[i] = node
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Or([And(literals[i : i + 2]) for i in range(0, 40, 2)])))


def _verify(graph: RuleGraph, other: RuleGraph, rows: int = 0, **options):
    """`other` as the artifact that is held to be `graph`; by default no row but those of the proof is run."""
    return verify(graph, TEXT.emit(other, {}), target=TEXT, rows=rows, **options)


@given(st.integers(0, 2**32))
@settings(max_examples=12, deadline=None)
def test_an_export_is_proved_unless_its_numbers_have_no_theorem(seed):
    graph = random_graph(np.random.default_rng(seed))
    report = _verify(graph, graph)
    assert report.ok
    assert (report.proof == "proved") == (report.basis != "tested")
    assert report.counter_example is None


@given(st.integers(0, 2**32))
@example(38940)  # a column that the artifact's probabilities alone read
@settings(max_examples=12, deadline=None)
def test_two_random_models_over_one_schema_are_equal_or_a_row_says_not(seed):
    """What the proof says is what adversarial rows say."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    other = random_graph(rng, schema=Schema(graph.schema.features))
    if [*map(repr, other.classes)] != [*map(repr, graph.classes)]:
        return
    other = replace(other, schema=graph.schema)
    proof = _verify(graph, other)
    tested = _verify(graph, other, rows=500, proving=False)
    if proof.proof == "proved":
        assert tested.different_decisions == 0
    if proof.different_decisions:
        assert proof.counter_example is not None
        row = {name: [value] for name, value in proof.counter_example.row.items()}
        assert graph.predict(row)[0] == proof.counter_example.expected
        assert other.predict(row)[0] == proof.counter_example.found


def test_few_cells_are_run():
    graph = NODES["noisy-or"]()
    report = _verify(graph, graph)
    assert (report.proof, report.proof_method, report.proof_probabilities) == ("proved", "cells", True)
    assert report.proof_cells == report.proof_cells_run == 64
    assert str(report).endswith("proved (all 64 cells)")


def test_many_cells_are_compared_as_formulas():
    graph = _wide_rules()
    report = _verify(graph, graph)
    assert (report.proof, report.proof_method, report.proof_cells_run) == ("proved", "normal form", 0)
    assert report.proof_cells == 2**40


def test_another_way_to_write_it_is_proved_by_the_solver():
    graph = _wide_rules()
    rules = graph.decision.formula.children
    other = replace(
        graph, decision=Fires(Not(And([Or([Not(rule.children[0]), Not(rule.children[1])]) for rule in rules])))
    )
    nested = Or([Or((rules[0], And((*rules[0].children, rules[1])))), *rules[1:]])
    tautology = Or([And((rule, Or((rules[3], Not(rules[3]))))) for rule in rules])
    split = Or([*rules[1:], And((rules[0], rules[5])), And((rules[0], Not(rules[5])))])
    for decision in (other.decision, Fires(nested), Fires(tautology), Fires(split)):
        report = _verify(graph, replace(graph, decision=decision))
        assert (report.proof, report.different_decisions) == ("proved", 0)
    assert _verify(graph, replace(graph, decision=Fires(split))).proof_method == "solver"


FAULTS = {
    "one float32 up": {7: _literal(7, next_float32(1.75))},
    "one float32 down": {30: _literal(30, -next_float32(-7.5), True)},
    "operator": {11: Compare("x11", "<=", 2.75)},
    "missing": {12: _literal(12, 3.0, False)},
    "another column": {20: _literal(21, 5.0)},
    "a category": {39: Among("colour", ("red",))},
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_among_2_to_the_40_cells_is_found_with_its_row(name):
    """No adversarial row is made: the solver finds the row, which is then run."""
    graph, other = _wide_rules(), _wide_rules(FAULTS[name])
    report = _verify(graph, other)
    assert not report.ok
    row = {column: [value] for column, value in report.counter_example.row.items()}
    row.setdefault("colour", ["red"])
    assert graph.predict(row)[0] == report.counter_example.expected
    assert other.predict(row)[0] != report.counter_example.expected


def test_moved_thresholds_and_changed_levels_are_named():
    graph, other = _wide_rules(), _wide_rules({7: _literal(7, 1.8), 39: Among("colour", ("red", "blue"))})
    text = str(_verify(graph, other))
    assert "threshold 1.8 of 'x7' is not the model's 1.75" in text
    assert "the set of levels {'blue', 'red'} of 'colour' is none of the model's" in text
    assert _verify(graph, graph).threshold_differences == ()


def _boosted(change: tuple[int, int, float] | None = None) -> RuleGraph:
    """Step functions over 18 columns on a grid of 1/1024."""
    rng = np.random.default_rng(3)
    terms = []
    for i in range(18):
        values = [float(v) / 1024 for v in rng.integers(-900, 900, 5)]
        if change is not None and change[0] == i:
            values[change[1]] += change[2]
        terms.append((1.0, Step(f"x{i}", (-1.0, 0.0, 0.5, 2.0), tuple(values), 0.25)))
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(Linear(terms, 0.0), 0.0)))


def test_sums_over_many_columns_are_proved_and_their_faults_found():
    """All sums are multiples of 1/1024: positive ones stay positive, so that a smaller change is none."""
    graph = _boosted()
    assert _verify(graph, graph).proof_method == "normal form"
    report = _verify(graph, _boosted((17, 3, -(2.0**-40))), rows=300)
    assert (report.proof, report.different_decisions) == ("proved", 0)
    for change in (1 / 1024, 0.5):
        report = _verify(graph, _boosted((17, 3, change)))
        assert (report.different_decisions > 0, report.counter_example is None) == (True, False)


def test_unrounded_numbers_are_tested_and_the_reason_is_given():
    graph = NODES["LTU, not rounded"]()
    report = _verify(graph, graph, rows=200)
    assert (report.ok, report.proof, report.proof_cells) == (True, "tested", 0)
    assert "tested on 200 rows: Column 'x0' is not rounded to a grid" in str(report)


def _doubles(graph: RuleGraph, threshold: float) -> Target:
    """An artifact that compares doubles as it is given them, as generated Python does."""

    def run_raw(content: bytes, graph: RuleGraph, columns) -> Outcome:
        labels = (columns["x0"] > threshold).astype(np.int64)
        return Outcome(labels, np.stack([1.0 - labels, labels], axis=1))

    def run(content, graph, table) -> Outcome:
        return run_raw(content, graph, {"x0": table.array("x0").astype(np.float64)})

    leaf = RawCompare("x0", ">", threshold)
    reading = Reading(frozenset((leaf,)), Fires(leaf), probability_leaves=frozenset((leaf,)))
    here = (Runtime("here", run, run_raw),)
    return Target("doubles", "", (".d",), lambda *_: None, here, inspect=lambda content, graph: reading)


def test_a_threshold_one_double_beside_the_crossing_is_found_at_that_double():
    """No value of the model's own precision shows it."""
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(Compare("x0", ">", 0.1)))
    right = double_crossing(0.1)
    assert verify(graph, b"", target=_doubles(graph, right), rows=0).proof == "proved"
    for wrong in (math.nextafter(right, 1.0), math.nextafter(right, 0.0), 0.1):
        report = verify(graph, b"", target=_doubles(graph, wrong), rows=0)
        assert report.different_decisions > 0
        assert report.counter_example.row["x0"] in (wrong, right) or 0.1 < report.counter_example.row["x0"] <= right
        assert not report.counter_example.encoded


def test_adversarial_rows_aim_at_the_thresholds_of_the_artifact():
    """The reading has no decision and the cells are too many: rows alone must find the moved threshold."""
    graph, other = _wide_rules(), _wide_rules({7: _literal(7, 99.25)})

    def inspect(content, graph) -> Reading:
        return Reading(leaves_below(other.decision.roots), reason="unreadable")

    report = verify(graph, TEXT.emit(other, {}), target=replace(TEXT, inspect=inspect), rows=2_000)
    assert report.different_decisions > 0
    report = verify(graph, TEXT.emit(graph, {}), target=replace(TEXT, inspect=inspect), rows=2_000)
    assert (report.ok, report.proof) == (True, "tested")
    assert report.proof_reason.endswith("cells are too many to run; unreadable")


def _misread(reading: Reading) -> str:
    """Why a right artifact whose reading is another is tested and not proved."""
    graph = _wide_rules()
    report = verify(graph, TEXT.emit(graph, {}), target=replace(TEXT, inspect=lambda *_: reading), rows=50)
    assert (report.ok, report.proof) == (True, "tested")
    return report.proof_reason


def test_a_reading_that_is_wrong_is_not_believed():
    """Where the formula differs and the artifact does not, the row that the solver finds is run."""
    lying = reading_of_graph(_wide_rules(FAULTS["operator"]), _wide_rules())
    assert "does not compute what its operators say" in _misread(lying)
    odd = Reading(frozenset((IsTrue("x3"),)), Fires(IsTrue("x3")))
    assert "IsTrue does not fit a numeric column" in _misread(odd)
    graph = _wide_rules()
    report = verify(graph, TEXT.emit(graph, {}), target=replace(TEXT, inspect=None), rows=50)
    assert (report.ok, report.proof) == (True, "tested")
    assert "reads no operators back" in report.proof_reason


def test_an_arg_max_whose_default_is_not_known_is_not_compared_as_a_formula():
    leaves = [_literal(i) for i in range(30)]
    scores = (Or(leaves[:15]), And(leaves[15:]))
    graph = RuleGraph(SCHEMA, ("a", "b"), ArgMax(scores, (0.5, 0.5), (0, 1)), default=1)
    reading = Reading(leaves_below(scores), graph.decision)
    report = verify(graph, TEXT.emit(graph, {}), target=replace(TEXT, inspect=lambda content, graph: reading), rows=50)
    assert "default class" in report.proof_reason
    assert _verify(graph, graph).proof == "proved"
    assert _verify(graph, replace(graph, default=0)).different_decisions > 0


def test_cleaned_columns_count_as_leaves():
    column = Column("x0", 0.0, -1.0, 1.0, 0.5)
    step = Step("x1", (0.0, 1.0), (1.0, 2.0, 3.0), 0.5)
    found = leaves_below([Linear([(1.0, column), (1.0, step), (1.0, Missing("x2"))], 0.0)])
    expected = {column, Missing("x1"), Compare("x1", ">", 0.0), Compare("x1", ">", 1.0), Missing("x2")}
    assert found == expected
