"""The formulations of a whole graph, of which the cheapest is written.

* operators: the literal block, matrix products, slots, fixed-order circuits of `decisions`;
* the same with parts of the circuits looked up in tables (`circuits`);
* a table over the cells of the columns (`cell_table`), where more than Boolean logic decides or is reported;
* one tree operator (`trees`), only on request, because not every runtime has it: the whole graph as one tree, or the
  sum that decides as one of trees.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from rulekit.graph.nodes import Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.cell_tables.cell_table import cell_table, emit_table
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError, is_logical
from rulekit_exporters.onnx.inputs import InputPlan
from rulekit_exporters.onnx.labels import integer_labels, label_texts
from rulekit_exporters.onnx.operators.decisions import emit_outputs
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.options import Options
from rulekit_exporters.onnx.trees.sum_trees import check_sum_trees
from rulekit_exporters.onnx.trees.tree_operator import emit_tree, tree_for

# The tensors of the label, as the model gives it, and of the probabilities.
Emit = Callable[[Emitter], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Formulations:
    """The formulations of a graph by name; where a tree was asked for, why there is none, or its leaves."""

    emitters: dict[str, Emit]
    no_tree: str = ""
    leaves: int = 0


def formulations(graph: RuleGraph, plan: InputPlan, options: Options) -> Formulations:
    """What could be written for a graph."""
    found: dict[str, Emit] = {"operators": _operators}
    no_tree, leaves = "", 0
    below = topological([*graph.decision.roots, *graph.reported])
    if any(isinstance(node, Probability) for node in below):
        found["component tables"] = _component_tables
    if not all(is_logical(node) for node in below):
        try:
            table = cell_table(graph)
            found["table"] = lambda emitter: _labelled(emitter, *emit_table(emitter, table))
        except NotOfBitsError:
            pass
    if options.optimize == "latency":
        try:
            if options.fired:
                raise NotOfBitsError("the output of fired rules needs the operators of all rules")
            tree = tree_for(graph, plan)
            leaves = tree.leaves
            found["tree"] = lambda emitter: emit_tree(emitter, tree)
        except NotOfBitsError as error:
            no_tree = str(error)
        if not options.fired:
            with suppress(NotOfBitsError):
                check_sum_trees(graph)
                found["trees"] = _trees
    return Formulations(found, no_tree, leaves)


def _operators(emitter: Emitter) -> tuple[str, str]:
    return _labelled(emitter, *emit_outputs(emitter))


def _component_tables(emitter: Emitter) -> tuple[str, str]:
    emitter.tables = True
    return _operators(emitter)


def _trees(emitter: Emitter) -> tuple[str, str]:
    emitter.trees = True
    return _operators(emitter)


def _labelled(emitter: Emitter, index: str, probabilities: str) -> tuple[str, str]:
    """Labels for class indices: the integers themselves, or a lookup."""
    integers = integer_labels(emitter.graph.classes)
    if integers == list(range(len(emitter.graph.classes))):
        return index, probabilities
    builder = emitter.builder
    if integers is not None:
        table = builder.constant(integers, np.int64)
    else:
        table = builder.constant(np.array(label_texts(emitter.graph), dtype=object))
    return builder.operate("Gather", table, index, axis=0), probabilities
