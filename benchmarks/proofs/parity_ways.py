"""The ways to run one model, each as an export target: files, printed rules, Python, ONNX in all its input forms."""

from __future__ import annotations

import csv
import importlib.util
import io
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.conformance.targets import FILE
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Outcome, Target, find_target
from rulekit.verification.rows.adversarial import raw_columns

RawRun = Callable[[bytes, RuleGraph, Mapping[str, Any]], Outcome]


def _never(graph: RuleGraph) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a model.

    refuses says why a model cannot take it, or "" where it must; quick: part of the tests before each commit.
    """

    name: str
    target: Target
    options: Mapping[str, Any] = field(default_factory=dict)
    refuses: Callable[[RuleGraph], str] = _never
    quick: bool = False

    def emit(self, graph: RuleGraph) -> Artifact:
        return self.target.emit(graph, self.options)


def uses_categories(graph: RuleGraph) -> str:
    """A float tensor has no place for text."""
    used = [name for name in graph.used_features if graph.schema[name].kind == "categorical"]
    return f"a float tensor cannot hold the category {used[0]!r}" if used else ""


def ways() -> list[Way]:
    """Every way, in the order of the table."""
    return [Way("file", FILE, quick=True), Way("text", find_target("text"), quick=True), *python_ways(), *onnx_ways()]


def python_ways() -> list[Way]:
    """The generated module row by row in a process of its own, on whole columns with numpy, and as a scorer of CSV."""
    python = find_target("python")

    def on_encoded(run: RawRun) -> Callable[[bytes, RuleGraph, Table], Outcome]:
        return lambda artifact, graph, table: run(artifact, graph, raw_columns(table))

    return [
        Way("python", python),
        Way("python columns", replace(python, run=on_encoded(run_columns), run_raw=run_columns), quick=True),
        Way("python csv", replace(python, run=on_encoded(run_csv), run_raw=run_csv)),
    ]


def run_columns(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """Labels by `predict_many` on columns, probabilities by `predict_proba` on mappings, inside this process.

    Only for modules that were generated here a moment ago.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "generated_model.py")
        path.write_bytes(artifact)
        spec = importlib.util.spec_from_file_location("generated_model", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    labels = module.predict_many(dict(columns))
    values = {name: column.tolist() for name, column in columns.items()}
    rows = (dict(zip(values, cells, strict=True)) for cells in zip(*values.values(), strict=True))
    return _outcome(
        graph, map(repr, labels), {repr(c): k for k, c in enumerate(graph.classes)}, map(module.predict_proba, rows)
    )


def run_csv(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """`python module.py < rows.csv`, numbers as their shortest decimals, missing as empty cells.

    Readers of CSV drop the blanks around a cell, so a text with blanks (no level) goes in as another unknown text.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    cells = [["" if v is None or v != v else _unpadded(v) for v in column.tolist()] for column in columns.values()]
    writer.writerows(zip(*cells, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "generated_model.py")
        path.write_bytes(artifact)
        command = [sys.executable, "-I", str(path)]
        done = subprocess.run(command, input=text.getvalue().encode(), capture_output=True, check=True)
    found = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    next(found)
    answers = list(found)
    index = {str(c).lower() if isinstance(c, bool) else str(c): k for k, c in enumerate(graph.classes)}
    return _outcome(graph, (row[0] for row in answers), index, (list(map(float, row[1:])) for row in answers))


def _unpadded(value: Any) -> Any:
    return f"[{value}]" if isinstance(value, str) and value != value.strip() else value


def _outcome(
    graph: RuleGraph, labels: Iterable[str], index: Mapping[str, int], probabilities: Iterable[list[float]]
) -> Outcome:
    indices = np.array([index[label] for label in labels], dtype=np.int64)
    return Outcome(indices, np.array(list(probabilities), dtype=np.float64).reshape(len(indices), len(graph.classes)))


def onnx_ways() -> list[Way]:
    """ONNX with each form of input, in onnxruntime; two of them in the evaluator of the specification."""
    from rulekit_exporters.onnx import run_reference

    onnx = find_target("onnx")
    reference = replace(onnx, run=run_reference, run_raw=None)
    return [
        Way("onnx tensor", onnx, {"input": "tensor"}, uses_categories, quick=True),
        Way("onnx columns", onnx, {"input": "columns"}, quick=True),
        Way("onnx codes", onnx, {"input": "codes"}),
        Way("onnx latency", onnx, {"optimize": "latency"}),
        Way("onnx reference", reference),
        Way("onnx codes reference", reference, {"input": "codes"}),
    ]
