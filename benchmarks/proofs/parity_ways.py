"""The ways to run one model, each as an export target: files, printed rules, Python, ONNX in all its input forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rulekit.conformance.targets import FILE
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, Outcome, Target, find_target

RawRun = Callable[[bytes, RuleGraph, Mapping[str, Any]], Outcome]


def _never(graph: RuleGraph) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a model; refuses says why a model cannot take it, or "" where it must."""

    name: str
    target: Target
    options: Mapping[str, Any] = field(default_factory=dict)
    refuses: Callable[[RuleGraph], str] = _never

    def emit(self, graph: RuleGraph) -> Artifact:
        return self.target.emit(graph, self.options)


def uses_categories(graph: RuleGraph) -> str:
    """A float tensor has no place for text."""
    used = [name for name in graph.used_features if graph.schema[name].kind == "categorical"]
    return f"a float tensor cannot hold the category {used[0]!r}" if used else ""


def ways() -> list[Way]:
    """Every way, in the order of the table."""
    return [Way("file", FILE), Way("text", find_target("text")), *python_ways(), *onnx_ways()]


def python_ways() -> list[Way]:
    """The generated module in every form of input, on whole columns with numpy alone, and as a scorer of CSV."""
    python = find_target("python")
    every, columns, text = (replace(python, runs=(runtime,)) for runtime in python.runs)
    return [Way("python", every), Way("python columns", columns), Way("python csv", text)]


def onnx_ways() -> list[Way]:
    """ONNX with each form of input, in onnxruntime; two of them in the evaluator of the specification."""
    onnx = find_target("onnx")
    reference = replace(onnx, runs=onnx.runs[1:])
    return [
        Way("onnx tensor", onnx, {"input": "tensor"}, uses_categories),
        Way("onnx columns", onnx, {"input": "columns"}),
        Way("onnx codes", onnx, {"input": "codes"}),
        Way("onnx latency", onnx, {"optimize": "latency"}),
        Way("onnx reference", reference),
        Way("onnx codes reference", reference, {"input": "codes"}),
    ]
