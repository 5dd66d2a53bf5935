"""Shared material of the ONNX tests: adversarial tables, and the comparison of all evaluators."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser
from rulekit_exporters.onnx import OnnxOptions, emit, run, run_reference
from rulekit_exporters.onnx.builder import serialize
from rulekit_exporters.onnx.emission import Export
from rulekit_exporters.onnx.metadata import properties_of
from rulekit_exporters.onnx.running import run_runtime

from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.nodes import And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

SCHEMA = Schema(
    (
        Feature("x"),
        Feature("unused"),
        Feature("wide", precision="float64"),
        Feature("flag", "boolean"),
        Feature("city", "categorical", ("Rome", "3", "new\nline", "ünï"), missing_tokens=("?", "NA")),
    ),
    "y",
)
NARROW = Schema((*(Feature(f"x{j}") for j in range(6)), Feature("flag", "boolean")), "y")
THRESHOLDS = (0.0, 0.1, -1.5, 1e-40, 5e-324, 3.4028234663852886e38, 16777217.0, -3.4028234663852886e38)
SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-45, 5e-324, 1e300, -1e300, 2.0**24, 2.0**24 + 1, 0.5, 1.0, 2.25)


def literal(rng: np.random.Generator) -> Node:
    """A random condition on a column of `NARROW`."""
    column = f"x{rng.integers(6)}"
    draw = rng.random()
    if draw < 0.1:
        return IsTrue("flag", bool(rng.random() < 0.5))
    if draw < 0.2:
        return Missing(column)
    node = Compare(column, str(rng.choice(["<=", ">"])), float(rng.choice(THRESHOLDS)), bool(rng.random() < 0.4))
    return Not(node) if rng.random() < 0.2 else node


def dnf(rng: np.random.Generator, lengths: Iterable[int]) -> Node:
    """An `or` of conjunctions of so many literals."""
    return Or([And([literal(rng) for _ in range(length)]) for length in lengths])


LABEL = ("label", TensorProto.INT64, ("N",))


def nodes_of(lines: str) -> list[onnx.NodeProto]:
    """Operators from lines in the textual form of ONNX."""
    nodes = [parser.parse_node(line) for line in lines.split("\n")]
    for node in nodes:
        node.ClearField("domain")
    return nodes


def crafted(
    nodes: list[onnx.NodeProto],
    constants: Iterable[tuple[str, Any]] = (),
    columns: int = 1,
    outputs: Iterable[tuple[str, int, Any]] = (LABEL, ("probabilities", TensorProto.FLOAT, ("N", 2))),
    element: int = TensorProto.FLOAT,
) -> bytes:
    """A model over the tensor `input` of so many columns whose operators may be any."""
    graph = helper.make_graph(
        nodes,
        "rulekit",
        [helper.make_tensor_value_info("input", element, ("N", columns))],
        [helper.make_tensor_value_info(*port) for port in outputs],
        [numpy_helper.from_array(np.asarray(array), name) for name, array in constants],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7, producer_name="rulekit")
    helper.set_model_props(model, {"rulekit.input": "tensor"})
    return model.SerializeToString()


def changed(artifact: bytes, change: Callable[[onnx.ModelProto], object]) -> bytes:
    """A model after a change."""
    model = onnx.ModelProto.FromString(artifact)
    change(model)
    return model.SerializeToString()


def adversarial_numbers(thresholds: tuple[float, ...], width: type) -> np.ndarray:
    """Each threshold, one ulp either side in both widths, mid-points, and the special values, as that width."""
    values = list(SPECIAL)
    with np.errstate(over="ignore"):
        for threshold in thresholds:
            narrow = float(np.float32(threshold))
            for near in (
                threshold,
                narrow,
                *(float(np.nextafter(np.float32(narrow), np.float32(s))) for s in SPECIAL[1:3]),
            ):
                values += [near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf), (near + threshold) / 2]
        return np.array(values, dtype=width)


def adversarial_table(schema: Schema = SCHEMA, thresholds: tuple[float, ...] = THRESHOLDS, seed: int = 0) -> Table:
    """Rows in which every column runs through its adversarial values, the columns in independent orders."""
    rng = np.random.default_rng(seed)
    pools: list[np.ndarray] = []
    for feature in schema:
        if feature.kind == "categorical":
            codes = np.arange(len(feature.levels) + 2, dtype=np.int32)
            pools.append(codes[codes != 1] if feature.unseen == "missing" else codes)
        elif feature.kind == "boolean":
            pools.append(np.array([0, 1, np.nan], dtype=np.float32))
        else:
            pools.append(adversarial_numbers(thresholds, np.float64 if feature.precision == "float64" else np.float32))
    n_rows = max(map(len, pools))
    arrays = tuple(rng.permutation(np.resize(pool, n_rows)) for pool in pools)
    return Table(schema.features, arrays, n_rows)


def cells(table: Table, row: int) -> dict[str, Any]:
    """A row as the oracle reads it."""
    result: dict[str, Any] = {}
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            result[feature.name] = (None, "never seen", *feature.levels)[array[row]]
        else:
            result[feature.name] = None if np.isnan(array[row]) else float(array[row])
    return result


def forms_of(graph: RuleGraph) -> tuple[str, ...]:
    """The input forms that a graph can be written in."""
    kinds = {graph.schema[name].kind for name in graph.used_features}
    return ("columns", "codes") if "categorical" in kinds else ("tensor", "columns")


def assert_same_everywhere(graph: RuleGraph, table: Table | None = None, **options: Any) -> None:
    """Onnxruntime and onnx.reference decide as numpy and the oracle do, in every form; probabilities within 1e-6."""
    table = table if table is not None else adversarial_table(graph.schema)
    labels, chances = decide(graph, table), probabilities(graph, table)
    for row in range(0, table.n_rows, max(1, table.n_rows // 25)):
        label, chance = evaluate_row(graph, cells(table, row))
        assert label == labels[row]
        np.testing.assert_allclose(chance, chances[row], rtol=0, atol=1e-12)
    for form in forms_of(graph):
        artifact = emit(graph, {"input": form, "text": False, **options})
        for runner in (run, run_reference):
            with np.errstate(all="ignore"):  # the reference evaluator is numpy; overflow is part of the meaning
                outcome = runner(artifact.main, graph, table)
            np.testing.assert_array_equal(outcome.labels, labels, err_msg=f"{form} {runner.__name__}")
            np.testing.assert_allclose(outcome.probabilities, chances, rtol=0, atol=1e-6)


def every_formulation(graph: RuleGraph, form: str | None = None, **options: Any) -> dict[str, bytes]:
    """A model of each formulation that the graph has, the tree among them, by its name."""
    parsed = OnnxOptions(**{"input": form, "text": False, "optimize": "latency", **options})
    export = Export(graph, parsed, graph)
    return {name: serialize(export.model(emit)) for name, emit in export.formulations.items()}


def assert_formulations_agree(graph: RuleGraph, table: Table | None = None) -> set[str]:
    """Every formulation in every form decides as numpy, in both evaluators; the names of the formulations."""
    table = table if table is not None else adversarial_table(graph.schema)
    with np.errstate(all="ignore"):
        labels, chances = decide(graph, table), probabilities(graph, table)
    seen: set[str] = set()
    for form in forms_of(graph):
        for name, artifact in every_formulation(graph, form).items():
            seen.add(name)
            for runner in (run, run_reference):
                # the specification's evaluator walks through a tree in Python, row by row
                some = slice(None, None, 6 if name == "tree" and runner is run_reference else 1)
                part = Table(table.features, tuple(a[some] for a in table.arrays), len(labels[some]))
                with np.errstate(all="ignore"):
                    outcome = runner(artifact, graph, part)
                told = f"{form} {name} {runner.__name__}"
                np.testing.assert_array_equal(outcome.labels, labels[some], err_msg=told)
                np.testing.assert_allclose(outcome.probabilities, chances[some], rtol=0, atol=1e-6, err_msg=told)
    return seen


def operator_kinds(artifact: bytes) -> list[str]:
    """The operators of a model in order."""
    return [node.op_type for node in onnx.ModelProto.FromString(artifact).graph.node]


def fired_rules(artifact: bytes, graph: RuleGraph, table: Table) -> tuple[list[str], np.ndarray]:
    """Ids of the rules and which fired [n, rules], as an artifact with that output says."""
    found = run_runtime(artifact, graph, table).fired
    assert found is not None
    return list(json.loads(properties_of(artifact)["rulekit.fired"])), found
