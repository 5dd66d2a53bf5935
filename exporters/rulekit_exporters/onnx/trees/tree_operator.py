"""A graph as one TreeEnsembleClassifier of ai.onnx.ml, in the form of version 1: least latency for one row.

Every branch is BRANCH_GT, which is false for NaN; where missing passes a test, `nodes_missing_value_tracks_true` says
so (it always stands, because the specification's evaluator needs it). Every leaf has a weight for every class. The
operator's own label is the class of the largest weight, but of two classes onnxruntime (seen in 1.18 to 1.31) gives the
second one as soon as its weight is not 0, and calls two numbers 0 and 1 whatever they are. Where the label does not
follow from the probabilities in that way, the operator has twice as many classes: the first half are the label, with
the weight 2 for the one that is decided, the second half the probabilities.

Who asks for one row at once needs it: models of `rules`, `additive` and `noisy-or` over numbers take 1.5 to 1.9 times
as long as a table (with categories 1.2 to 1.5). In batches the tree is the slower one. A sum of trees gained 1.3.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError
from rulekit_exporters.onnx.conditions import is_wide
from rulekit_exporters.onnx.forms import ML_DOMAIN
from rulekit_exporters.onnx.inputs import InputPlan
from rulekit_exporters.onnx.labels import integer_labels, is_largest, label_texts
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.trees.decision_tree import DecisionTree, TreeLeaf, decision_tree


def tree_for(graph: RuleGraph, plan: InputPlan) -> DecisionTree:
    """The tree of a graph over the inputs of a plan; raises NotOfBitsError with the reason where there is none.

    There is none where a sum takes up the values of a column or a bound of a float64 column is no float32 number, and
    where the tree is too large.
    """
    if not graph.used_features:
        raise NotOfBitsError("it reads no column")
    if plan.form == "tensor" and plan.wide:
        narrow = [name for name in graph.used_features if not is_wide(graph.schema[name])]
        if narrow:
            raise NotOfBitsError(f"the column {narrow[0]!r} of a double tensor is compared in float32")
    tree = decision_tree(graph, coded=plan.coded)
    for node in tree.nodes:
        if not isinstance(node, TreeLeaf) and float32(node.test.bound) != node.test.bound:
            raise NotOfBitsError(f"a bound of the float64 column {node.test.feature!r} is no float32 number")
    return tree


def emit_tree(emitter: Emitter, tree: DecisionTree) -> tuple[str, str]:
    """The tensors of the label [N] and of the probabilities [N, K] float."""
    builder, graph = emitter.builder, emitter.graph
    columns, places = emitter.inputs.side_by_side()
    n_classes = len(graph.classes)
    weights, split = tree.probabilities, not label_follows(graph, tree)
    if split:
        weights = np.hstack([2.0 * np.eye(n_classes, dtype=np.float32)[tree.labels], weights])
    attributes = {**_nodes(tree, places, weights), **_class_labels(graph, weights.shape[1])}
    label, scores = builder.operate_twice("TreeEnsembleClassifier", columns, domain=ML_DOMAIN, **attributes)
    if split:
        places_of_chances = builder.constant(range(n_classes, 2 * n_classes), np.int64)
        scores = builder.operate("Gather", scores, places_of_chances, axis=1)
    return label, scores


def label_follows(graph: RuleGraph, tree: DecisionTree) -> bool:
    """Whether the operator's own label is the decision: see above."""
    chances = tree.probabilities
    if chances.shape[1] == 2:
        named = integer_labels(graph.classes) in (None, [0, 1])
        return named and bool(np.array_equal(chances, np.eye(2, dtype=np.float32)[tree.labels]))
    return is_largest(tree.labels, chances)


def _nodes(tree: DecisionTree, places: dict[str, int], weights: Array) -> dict[str, Any]:
    """The attributes of nodes and leaves, in the order in which a walk meets them, where a test holds first."""
    columns: list[int] = []
    bounds: list[float] = []
    modes: list[str] = []
    missing: list[int] = []
    yes: list[int] = []
    no: list[int] = []
    leaves: list[tuple[int, int]] = []
    waiting = [(len(tree.nodes) - 1, -1, False)]
    while waiting:
        place, parent, holds = waiting.pop()
        number = len(modes)
        if parent >= 0:
            (yes if holds else no)[parent] = number
        node = tree.nodes[place]
        yes.append(0)
        no.append(0)
        if isinstance(node, TreeLeaf):
            leaves.append((number, node.outcome))
            columns.append(0)
            bounds.append(0.0)
            modes.append("LEAF")
            missing.append(0)
        else:
            columns.append(places[node.test.feature])
            bounds.append(node.test.bound)
            modes.append("BRANCH_GT")
            missing.append(int(node.test.missing))
            waiting += [(node.no, number, False), (node.yes, number, True)]
    n_weights = weights.shape[1]
    return {
        "nodes_treeids": [0] * len(modes),
        "nodes_nodeids": list(range(len(modes))),
        "nodes_featureids": columns,
        "nodes_modes": modes,
        "nodes_values": bounds,
        "nodes_truenodeids": yes,
        "nodes_falsenodeids": no,
        "nodes_missing_value_tracks_true": missing,
        "class_treeids": [0] * (len(leaves) * n_weights),
        "class_nodeids": [number for number, _ in leaves for _ in range(n_weights)],
        "class_ids": list(range(n_weights)) * len(leaves),
        "class_weights": [float(weight) for _, outcome in leaves for weight in weights[outcome]],
        "post_transform": "NONE",
    }


def _class_labels(graph: RuleGraph, count: int) -> dict[str, Any]:
    """The classes as the operator's label has them; further ones, which it never gives, are no class of the model."""
    integers = integer_labels(graph.classes)
    if integers is not None:
        return {"classlabels_int64s": [*integers, *range(len(integers), count)]}
    texts = label_texts(graph)
    further = [f"{len(text)}:{text}" for text in texts][: count - len(texts)]
    return {"classlabels_strings": [*texts, *further]}
