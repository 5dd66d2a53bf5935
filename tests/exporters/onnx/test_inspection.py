"""ONNX operators read back: every export is proved, and a fault put into one is found with a row."""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
import onnx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnx import numpy_helper
from onnx_cases import changed
from rulekit_exporters.onnx.inspection.reader import inspect

from rulekit.conformance.models import NODES, random_graph
from rulekit.errors import RulekitError, Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify

TARGET = find_target("onnx")
FLOAT, DOUBLE, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.INT64
FORMS = ({}, {"input": "columns"}, {"input": "codes"}, {"optimize": "latency"}, {"fired": "true", "text": "false"})
SCHEMA = Schema(
    (
        Feature("age"),
        Feature("account", precision="float64"),
        Feature("member", "boolean"),
        Feature("colour", "categorical", ("red", "green", "3"), missing_tokens=("?",)),
        *(Feature(f"x{i}") for i in range(30)),
    ),
    target="y",
)


def _graph(*rules: rg.Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or(rules)))


def _proof(graph: RuleGraph, options, content: bytes | None = None, rows: int = 0):
    content = TARGET.emit(graph, options).main if content is None else content
    return verify(graph, content, target=TARGET, rows=rows)


@given(st.integers(0, 2**32), st.sampled_from(FORMS))
@settings(max_examples=12, deadline=None)
@example(seed=30240239, options={})  # the median of lookups, whose sum was not read
@example(seed=831624735, options={})  # a class that never takes part: minus infinity in every row
def test_every_export_is_proved_unless_its_numbers_have_no_theorem(seed, options):
    graph = random_graph(np.random.default_rng(seed))
    try:
        content = TARGET.emit(graph, options).main
    except Unsupported:
        return
    report = _proof(graph, options, content)
    assert report.ok
    assert (report.proof == "proved") == (report.basis != "tested"), report.proof_reason


@pytest.mark.one_in(2)
@pytest.mark.full
@pytest.mark.parametrize("name", NODES)
def test_every_model_of_the_parity_table_is_proved(name):
    graph = NODES[name]()
    for options in ({}, {"optimize": "latency"}):
        report = _proof(graph, options)
        assert (report.proof == "proved") == (name != "LTU, not rounded"), report.proof_reason


@pytest.mark.full
def test_what_is_left_open_without_a_solver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)  # importing it fails
    report = _proof(NODES["chain 150 deep"](), {"optimize": "latency"})  # proved with python-sat, as all models are
    assert report.ok
    assert "rulekit-portable[proof]" in report.proof_reason


def test_the_leaves_of_a_dnf_are_those_of_the_graph():
    leaves = {
        rg.Compare("age", ">", 28.5),
        rg.Compare("account", ">", 0.1),
        rg.IsTrue("member"),
        rg.Among("colour", ("red", "3"), unseen=True),
        rg.Compare("x3", "<=", -2.5),
        rg.Missing("x4"),
    }
    a = sorted(leaves, key=lambda node: node.digest)
    graph = _graph(rg.And(a[:2]), rg.And((a[2], rg.Not(a[3]))), rg.And(a[4:]))
    for options in ({}, {"input": "codes"}):
        reading = inspect(TARGET.emit(graph, options).main, graph)
        assert reading.decision is not None
        assert reading.leaves == reading.probability_leaves
        assert {type(leaf) for leaf in reading.leaves} <= {rg.Compare, rg.Among, rg.IsTrue, rg.Missing}
        shown = {(leaf.feature, getattr(leaf, "value", None)) for leaf in reading.leaves}
        assert {("age", 28.5), ("account", 0.1), ("x3", -2.5), ("x4", None)} <= shown


def test_columns_that_are_added_up_are_read_as_they_are_cleaned():
    narrow = rg.Column("age", 0.5, -4.0, 4.0, 2.0**-6)
    wide = rg.Column("account", -1.25, 0.0, 8.0, 0.25)
    unit = rg.LinearThreshold([(0.25, narrow), (-0.5, wide), (1.0, rg.IsTrue("member"))], -0.125)
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or((unit, rg.Compare("x1", ">", 3.0)))))
    for options in ({"input": "columns"}, {"input": "codes"}):
        reading = inspect(TARGET.emit(graph, options).main, graph)
        assert {leaf for leaf in reading.leaves if isinstance(leaf, rg.Column)} == {narrow, wide}
        assert _proof(graph, options).proof == "proved"


def _shifted(model: onnx.ModelProto, value: float, up: bool) -> None:
    """Every float32 constant equal to a value is moved by one float32."""
    moved = 0
    for constant in model.graph.initializer:
        array = numpy_helper.to_array(constant).copy()
        place = (np.abs(array) == np.float32(value)) if array.dtype == np.float32 else np.zeros(0, bool)
        if place.any():
            array[place] = np.nextafter(array[place], np.float32(np.inf if up else -np.inf))
            constant.CopyFrom(numpy_helper.from_array(array, constant.name))
            moved += 1
    assert moved


def _reworded(model: onnx.ModelProto, old: bytes, new: bytes) -> None:
    """A level or a token of the encoder becomes another text."""
    (encoder,) = (node for node in model.graph.node if node.op_type == "LabelEncoder")
    (keys,) = (attribute.strings for attribute in encoder.attribute if attribute.name == "keys_strings")
    keys[list(keys).index(old)] = new


def _turned(model: onnx.ModelProto) -> None:
    next(node for node in model.graph.node if node.op_type == "Greater").op_type = "Less"


FAULTS = {
    "threshold one float32 up": partial(_shifted, value=28.5, up=True),
    "threshold one float32 down": partial(_shifted, value=28.5, up=False),
    "level renamed": partial(_reworded, old=b"red", new=b"rot"),
    "missing token renamed": partial(_reworded, old=b"?", new=b"!"),
    "comparison turned": _turned,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_without_an_adversarial_row(fault):
    """Few cells, so all are run; then forty columns, so that the solver has to find the row."""
    colour = rg.And((rg.Among("colour", ("red", "3"), missing=True), rg.Compare("x0", ">", 1.5)))
    few = _graph(rg.And((rg.Compare("age", ">", 28.5), rg.Compare("x1", "<=", 3.25))), colour)
    many = _graph(
        *few.decision.formula.children,
        *(rg.And((rg.Compare(f"x{i}", ">", i / 4), rg.Compare(f"x{i + 1}", "<=", -1.0))) for i in range(2, 28, 2)),
    )
    for graph in (few, many):
        content = TARGET.emit(graph, {}).main
        report = _proof(graph, {}, changed(content, FAULTS[fault]))
        assert report.different_decisions > 0, report.proof_reason
        row = {name: [value] for name, value in report.counter_example.row.items()}
        assert graph.predict(row)[0] == report.counter_example.expected
        assert report.tampered
        assert _proof(graph, {}, content).proof == "proved"


@pytest.mark.full
@given(st.integers(0, 2**32))
@settings(max_examples=20, deadline=None)
@example(12073)  # reads a truth value in the place of a number; the runs of the cells fed infinity for it
def test_what_is_proved_of_a_changed_model_is_true(seed):
    """A constant of a random export is changed: a proof of equality must hold on adversarial rows."""
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    try:
        model = onnx.ModelProto.FromString(TARGET.emit(graph, FORMS[int(rng.integers(len(FORMS)))]).main)
    except Unsupported:
        return
    numbers = [c for c in model.graph.initializer if c.data_type in (FLOAT, DOUBLE, INT64) and 0 not in c.dims]
    if not numbers:
        return
    constant = numbers[int(rng.integers(len(numbers)))]
    array = numpy_helper.to_array(constant).copy()
    flat = array.reshape(-1)
    place = int(rng.integers(flat.size))
    if array.dtype.kind == "f":
        flat[place] = rng.choice(
            [np.nextafter(flat[place], flat.dtype.type(np.inf)), -flat[place], flat[place] + 1, 0.0]
        )
    else:
        flat[place] += rng.integers(-1, 2)
    constant.CopyFrom(numpy_helper.from_array(array, constant.name))
    content = model.SerializeToString()
    try:
        proof = _proof(graph, {}, content)
        tested = verify(graph, content, target=TARGET, rows=500, proving=False)
    except RulekitError:  # the runtime refuses it
        return
    if proof.proof == "proved":
        assert tested.different_decisions == 0


def test_a_step_function_of_many_cuts_is_read_as_a_table():
    cuts = tuple(float(i) for i in range(40))
    score = rg.Linear([(1.0, rg.Step(f"x{i}", cuts, tuple(i % 7 / 8 for i in range(41)), 0.5)) for i in range(8)], 0.0)
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(score, 3.0)))
    report = _proof(graph, {"input": "columns"})
    assert (report.proof, report.proof_method) == ("proved", "normal form")


def test_an_operation_that_a_runtime_drops_leaves_no_formula():
    """Onnxruntime leaves out a product with a double whose float32 value is 1, whatever the specification says."""
    bits = [
        (1.0 + 2.0**-30, rg.Or((rg.Compare(f"x{i}", ">", 0.5), rg.Compare(f"x{i + 1}", ">", 0.25)))) for i in range(20)
    ]
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(rg.Linear(bits, 0.0), 2.0)))
    content = TARGET.emit(graph, {"input": "columns"}).main
    assert inspect(content, graph).decision is not None

    def change(model) -> None:
        one = numpy_helper.from_array(np.array(1.0 + 2.0**-40), "nearly_one")
        model.graph.initializer.append(one)
        name = model.graph.input[0].name
        model.graph.node.insert(0, onnx.helper.make_node("Cast", [name], ["as_double"], to=11))
        model.graph.node.insert(1, onnx.helper.make_node("Mul", ["as_double", "nearly_one"], ["unused_product"]))

    reading = inspect(changed(content, change), graph)
    assert reading.decision is None
    assert reading.reason == "it has an operation that a runtime may leave out"
