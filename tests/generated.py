"""Imports the text of a generated module, as a user would: from a file; what a model counts."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rulekit_exporters.python import TARGET
from rulekit_exporters.python.running import plain_columns

from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, rules_of
from rulekit.names import label_text


def module_of(graph: RuleGraph, folder: Path, name: str = "model", **options: bool) -> Any:
    """The imported module of a graph."""
    path = folder / f"{name}.py"
    path.write_bytes(TARGET.emit(graph, {"self_test": False, **options}).main)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = before
    return module


def plain_cells(table: Any) -> list[list[Any]]:
    """The cells of an encoded table as Python values: doubles (NaN is missing), texts, None."""
    return [column.tolist() for column in plain_columns(table).values()]


def counts_of(graph: RuleGraph, table: Any) -> tuple[dict[str, int], dict[str, int]]:
    """What rulekit counts: rows by rule, and by class."""
    rules = dict(zip((rule.id for rule in rules_of(graph)), fired(graph, table).sum(axis=0).tolist(), strict=True))
    decided = np.bincount(decide(graph, table), minlength=len(graph.classes)).tolist()
    return rules, dict(zip(map(label_text, graph.classes), decided, strict=True))
