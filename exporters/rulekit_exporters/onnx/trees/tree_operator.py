"""A decision tree as one TreeEnsembleClassifier of ai.onnx.ml, in the form of version 1.

Every branch is BRANCH_GT, which is false for NaN; where missing passes a test, `nodes_missing_value_tracks_true` says
so (it always stands, because the specification's evaluator needs it). Every leaf has a weight for every class. The
operator's own label is the class of the largest weight, but of two classes onnxruntime (seen in 1.18 to 1.31) gives the
second one as soon as its weight is not 0, and calls two numbers 0 and 1 whatever they are. Where the label does not
follow from the probabilities in that way, the operator has twice as many classes: the first half are the label, with
the weight 2 for the one that is decided, the second half the probabilities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Array
from rulekit_exporters.onnx.builder import Builder
from rulekit_exporters.onnx.forms import ML_DOMAIN
from rulekit_exporters.onnx.labels import integer_labels, label_texts
from rulekit_exporters.onnx.trees.decision_tree import DecisionTree, Leaf


def emit_tree(
    builder: Builder, graph: RuleGraph, tree: DecisionTree, columns: str, places: dict[str, int]
) -> tuple[str, str]:
    """The tensors of the label [N] and of the probabilities [N, K] float.

    columns: [N, d] of float, or of double where bounds of wide columns are floats; places: the index of each column.
    """
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
    best = np.take_along_axis(chances, tree.labels[:, None], axis=1)
    return bool(np.all((chances < best).sum(axis=1) == chances.shape[1] - 1))


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
        if isinstance(node, Leaf):
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
