"""The form of least latency for one row: the whole graph as one tree operator over the columns.

What has no such form (a sum that takes up the values of a column, a bound of a float64 column that is no float, too
large a tree) is written as the best portable graph, with the reason.
"""

from __future__ import annotations

from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32
from rulekit_exporters.onnx.builder import Builder
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError
from rulekit_exporters.onnx.conditions import is_wide
from rulekit_exporters.onnx.inputs import InputPlan, Inputs
from rulekit_exporters.onnx.trees.decision_tree import DecisionTree, Leaf, decision_tree
from rulekit_exporters.onnx.trees.tree_operator import emit_tree


def tree_for(graph: RuleGraph, plan: InputPlan) -> DecisionTree:
    """The tree of a graph over the inputs of a plan; raises NotOfBitsError with the reason where there is none."""
    if not graph.used_features:
        raise NotOfBitsError("it reads no column")
    if plan.form == "tensor" and plan.wide:
        narrow = [name for name in graph.used_features if not is_wide(graph.schema[name])]
        if narrow:
            raise NotOfBitsError(f"the column {narrow[0]!r} of a double tensor is compared in float32")
    tree = decision_tree(graph, coded=plan.form == "codes")
    for node in tree.nodes:
        if not isinstance(node, Leaf) and float32(node.test.bound) != node.test.bound:
            raise NotOfBitsError(f"a bound of the float64 column {node.test.feature!r} is no float32 number")
    return tree


def emit_latency(
    builder: Builder, inputs: Inputs, graph: RuleGraph, plan: InputPlan, tree: DecisionTree
) -> tuple[str, str]:
    """The tensors of the label [N] and of the probabilities [N, K] float."""
    columns, places = inputs.side_by_side()
    return emit_tree(builder, graph, tree, columns, places)
