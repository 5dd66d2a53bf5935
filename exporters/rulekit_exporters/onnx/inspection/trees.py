"""TreeEnsembleClassifier of ai.onnx.ml, read as logic over its tests.

Read are ensembles of one tree whose leaves weigh every class, where the label is beyond doubt: exactly one weight of
two is positive, or one of several is the largest and positive. Of other ensembles only the tests are known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.nodes import FALSE, TRUE, And, Node, Not, Or
from rulekit.program.nodes import Opaque
from rulekit_exporters.onnx.inspection.elements import greater, greater_or_equal
from rulekit_exporters.onnx.inspection.tensors import Attributes, Reach, Rows, Value, rows
from rulekit_exporters.onnx.inspection.values import Category, Element, Given, UnreadableError, missing, truth

MOST_NODES = 100_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """The label of a row: formulas[i] is true exactly where it is values[i]."""

    values: tuple[Any, ...]
    formulas: tuple[Node, ...]


def tree_classifier(reach: Reach, inputs: list[Value | None], attributes: Attributes) -> tuple[Value, Value]:
    """Label [N] and scores [N, classes]."""
    value = rows(inputs[0])
    if value.elements.ndim != 2 or value.axis != 0:
        raise UnreadableError("a tree over something that is no row")
    if any(name.endswith("_as_tensor") for name in attributes) or attributes.get("base_values"):
        raise UnreadableError("a tree in another form")
    if attributes.get("post_transform", b"NONE") != b"NONE":
        raise UnreadableError("a tree whose scores are transformed")
    tree = _Tree(attributes, value.elements[0].tolist())
    reach.spend(len(tree.modes) * 4)
    labels = attributes.get("classlabels_int64s") or [text.decode() for text in attributes["classlabels_strings"]]
    label, scores = tree.outputs(labels)
    element = np.empty(1, dtype=object)
    element[0] = label
    found = np.empty((1, len(labels)), dtype=object)
    found[0, :] = scores
    return Rows(element, 0, "i8" if isinstance(labels[0], int) else "text"), Rows(found, 0, "f4")


class _Tree:
    def __init__(self, attributes: Attributes, columns: list[Element]) -> None:
        self.modes = [mode.decode() for mode in attributes["nodes_modes"]]
        self.features = attributes["nodes_featureids"]
        self.bounds = attributes["nodes_values"]
        self.missing = attributes.get("nodes_missing_value_tracks_true") or [0] * len(self.modes)
        self.columns = columns
        if len(self.modes) > MOST_NODES:
            raise UnreadableError("it has too many elements to be read")
        self.keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
        if len(set(self.keys)) != len(self.keys):
            raise UnreadableError("a tree with two nodes of one number")
        self.place = {key: i for i, key in enumerate(self.keys)}
        self.yes, self.no = attributes["nodes_truenodeids"], attributes["nodes_falsenodeids"]
        self.weights: dict[int, dict[int, float]] = {}
        for tree, node, index, weight in zip(
            *(attributes[f"class_{name}"] for name in ("treeids", "nodeids", "ids", "weights")), strict=True
        ):
            held = self.weights.setdefault(self.place[tree, node], {})
            if index in held:
                raise UnreadableError("a leaf that weighs a class twice")
            held[index] = weight

    def outputs(self, labels: list[Any]) -> tuple[Element, list[Element]]:
        trees = {tree for tree, _ in self.keys}
        tests = {i: self._test(i) for i, mode in enumerate(self.modes) if mode != "LEAF"}
        count = len(labels)
        if len(trees) != 1:
            known = [test for test in tests.values() if test not in (TRUE, FALSE)]
            return Opaque("trees", known), [Opaque(f"trees {k}", known) for k in range(count)]
        leaves = [i for i, mode in enumerate(self.modes) if mode == "LEAF"]
        decided = {i: self._label(self.weights.get(i, {}), count) for i in leaves}
        order = self._children_first()
        formulas = []
        for k in range(count):
            holds: dict[int, Node] = {}
            for i in order:
                holds[i] = (
                    (TRUE if decided[i] == k else FALSE) if i in decided else _either(tests[i], *self._pair(i, holds))
                )
            formulas.append(holds[order[-1]])
        used = [test for test in tests.values() if test not in (TRUE, FALSE)]
        scores: list[Element] = [Opaque(f"score {k}", used) for k in range(count)]
        return Outcome(tuple(labels), tuple(formulas)), scores

    def _pair(self, i: int, values: dict[int, Node]) -> tuple[Node, Node]:
        tree = self.keys[i][0]
        return values[self.place[tree, self.yes[i]]], values[self.place[tree, self.no[i]]]

    def _test(self, i: int) -> Node:
        element, bound = self.columns[self.features[i]], self.bounds[i]
        comparing = _MODES.get(self.modes[i])
        if comparing is None or not isinstance(element, Given | Category):
            raise UnreadableError("a tree with a test of another kind")
        passed = truth(comparing(element, bound))
        return Or((passed, missing(element))) if self.missing[i] and isinstance(element, Given) else passed

    def _label(self, weights: dict[int, float], count: int) -> int:
        """The class of a leaf."""
        scores = [weights.get(k, 0.0) for k in range(count)]
        best = max(range(count), key=lambda k: scores[k])
        clear = scores[best] > 0 and sum(score == scores[best] for score in scores) == 1 and min(scores) >= 0
        if len(weights) != count or not clear or (count == 2 and scores[1 - best] != 0):
            raise UnreadableError("a tree whose label is not beyond doubt")
        return best

    def _children_first(self) -> list[int]:
        """The places of all nodes below the root, the first node that is nobody's child."""
        children = {
            self.place[self.keys[i][0], j]
            for i, mode in enumerate(self.modes)
            if mode != "LEAF"
            for j in (self.yes[i], self.no[i])
        }
        roots = [i for i in range(len(self.modes)) if i not in children]
        if len(roots) != 1:
            raise UnreadableError("a tree without one root")
        order: list[int] = []
        seen: set[int] = set()
        stack = [roots[0]]
        while stack:
            i = stack.pop()
            if i in seen:
                raise UnreadableError("a tree with a node that has two parents")
            seen.add(i)
            order.append(i)
            if self.modes[i] != "LEAF":
                stack += [self.place[self.keys[i][0], j] for j in (self.yes[i], self.no[i])]
        return order[::-1]


def _either(test: Node, yes: Node, no: Node) -> Node:
    if yes is no:
        return yes
    if test in (TRUE, FALSE):
        return yes if test == TRUE else no
    if yes == TRUE or no == FALSE:
        return Or((test, no)) if yes == TRUE and no != FALSE else test if yes == TRUE else And((test, yes))
    if no == TRUE or yes == FALSE:
        return (
            Or((Not(test), yes)) if no == TRUE and yes != FALSE else Not(test) if no == TRUE else And((Not(test), no))
        )
    return Or((And((test, yes)), And((Not(test), no))))


_MODES: dict[str, Callable[[Element, float], Element]] = {
    "BRANCH_GT": lambda a, bound: greater(a, bound, "f4"),
    "BRANCH_GTE": lambda a, bound: greater_or_equal(a, bound, "f4"),
    "BRANCH_LT": lambda a, bound: greater(bound, a, "f4"),
    "BRANCH_LEQ": lambda a, bound: greater_or_equal(bound, a, "f4"),
}
