"""TreeEnsembleClassifier of ai.onnx.ml, read as logic over its tests.

Read is one tree whose leaves weigh every class, where the label is beyond doubt: exactly one weight of two is positive,
or one of several is the largest and positive.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rulekit.graph.nodes import FALSE, TRUE, Missing, Node, Or
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE
from rulekit_exporters.onnx.inspection import values as el
from rulekit_exporters.onnx.inspection.elements import as_truth, compared, either
from rulekit_exporters.onnx.inspection.tensors import ReadingCost, RowTensor, Value, rows

MOST_NODES = 100_000
OTHER_WEIGHT = "a leaf that weighs a class in another way"
OTHER_TEST = "a tree with a test of another kind"


def tree_classifier(cost: ReadingCost, value: Value, **attributes: Any) -> tuple[Value, Value]:
    """Label [N] and scores [N, classes]."""
    columns = rows(value)
    el.require(columns.elements.ndim == 2 and columns.axis == 0, "a tree over something that is no row")
    el.require(attributes["post_transform"] == b"NONE", "a tree whose scores are transformed")
    integers = attributes.get("classlabels_int64s")
    labels = integers or [text.decode() for text in attributes["classlabels_strings"]]
    tree = _Tree(attributes, columns.elements[0].tolist(), len(labels))
    cost.spend(len(tree.modes) * 4)
    calls_them_0_and_1 = len(labels) == 2 and integers not in (None, [0, 1])
    el.require(not calls_them_0_and_1, "a tree whose labels a runtime calls 0 and 1")
    element = np.empty(1, dtype=object)
    element[0] = el.Outcome(tuple(labels), tuple(map(tree.formula, range(len(labels)))))
    scores = np.empty((1, len(labels)), dtype=object)
    used = tuple(test for test in tree.tests.values() if test not in (TRUE, FALSE))
    scores[0, :] = [el.opaque("score", *used) for _ in labels]
    return RowTensor(element, 0, "i8" if integers else "text"), RowTensor(scores, 0, "f4")


class _Tree:
    """One tree whose nodes are numbered from its root on, in the order of the attributes."""

    def __init__(self, attributes: dict[str, Any], columns: list[el.Element], classes: int) -> None:
        self.modes = [mode.decode() for mode in attributes["nodes_modes"]]
        count = len(self.modes)
        el.require(count <= MOST_NODES, "it has too many elements to be read")
        names = ("featureids", "values", "missing_value_tracks_true", "truenodeids", "falsenodeids")
        lists = [attributes[f"nodes_{name}"] for name in names]
        numbered = attributes["nodes_treeids"] == [0] * count and attributes["nodes_nodeids"] == list(range(count))
        whole = numbered and all(len(given) == count for given in lists)
        el.require(whole, "a tree whose nodes are not numbered from its root on")
        self.columns = columns
        self.features, self.bounds, self.missing, self.yes, self.no = lists
        self.order = self._children_first()
        there = all(0 <= feature < len(columns) for feature in self.features)
        el.require(there, "a tree that tests a column which is not there")
        self.tests = {i: self._test(i) for i, mode in enumerate(self.modes) if mode != "LEAF"}
        self.decided = self._labels(attributes, classes)
        self._check_codes()

    def formula(self, label: int) -> Node:
        """When a class is the label."""
        holds: dict[int, Node] = {}
        for i in self.order:
            if i in self.decided:
                holds[i] = TRUE if self.decided[i] == label else FALSE
            else:
                holds[i] = either(self.tests[i], holds[self.yes[i]], holds[self.no[i]])
        return holds[0]

    def _children_first(self) -> list[int]:
        """The numbers of all nodes, the root, which is the first, at the end."""
        order: dict[int, None] = {}
        stack = [0]
        while stack:
            i = stack.pop()
            el.require(0 <= i < len(self.modes) and i not in order, "a tree with a node that has two parents or none")
            order[i] = None
            if self.modes[i] != "LEAF":
                stack += [self.yes[i], self.no[i]]
        el.require(len(order) == len(self.modes), "a tree without one root")
        return [*order][::-1]

    def _test(self, i: int) -> Node:
        """When a test holds; a number that is missing passes it where it says so, which a truth value never is."""
        element, bound, passes = self.columns[self.features[i]], self.bounds[i], self.missing[i]
        if isinstance(element, el.Code):
            codes = range(FIRST_LEVEL_CODE + len(element.feature.levels))
            el.require(-1 <= bound < len(codes), f"a test of codes of {element.feature.name!r} that are not there")
            element = el.Category(tuple(codes), element.feature)
        el.require(self.modes[i] == "BRANCH_GT" and passes in (0, 1), OTHER_TEST)
        el.require(isinstance(element, el.GivenNumber | el.Category | el.Exact), OTHER_TEST)
        if isinstance(element, el.Exact):
            el.require(0 <= bound < 1, "a tree with a test that a truth value does not decide")
            return as_truth(element)
        passed = el.truth(compared(element, bound))
        return Or((passed, Missing(element.feature.name))) if passes and isinstance(element, el.GivenNumber) else passed

    def _labels(self, attributes: dict[str, Any], classes: int) -> dict[int, int]:
        names = ("treeids", "nodeids", "ids", "weights")
        weights: dict[int, dict[int, float]] = {}
        for tree, node, index, weight in zip(*(attributes[f"class_{name}"] for name in names), strict=True):
            held = weights.setdefault(node, {})
            el.require(not tree and index not in held and math.isfinite(weight), OTHER_WEIGHT)
            held[index] = weight
        leaves = {i for i, mode in enumerate(self.modes) if mode == "LEAF"}
        el.require(set(weights) == leaves, "weights of a node that is no leaf, or none of a leaf")
        found = {}
        for leaf, own in weights.items():
            el.require(set(own) == set(range(classes)), OTHER_WEIGHT)
            *others, (best, label) = sorted((weight, index) for index, weight in own.items())
            clear = best > 0 and all(0 <= weight < best for weight, _ in others)
            none_of_two = classes != 2 or others[0][0] == 0
            el.require(clear and none_of_two, "a tree whose label is not beyond doubt")
            found[leaf] = label
        return found

    def _check_codes(self) -> None:
        """Raises UnreadableError where a code out of range does not lead to where the code of an unseen level leads."""
        for place, column in enumerate(self.columns):
            if isinstance(column, el.Code) and place in self.features:
                known: dict[Any, int] = {}
                beyond = FIRST_LEVEL_CODE + len(column.feature.levels)
                shapes = {self._shape(place, code, known) for code in (-1, UNSEEN_CODE, beyond)}
                el.require(len(shapes) == 1, f"a code of {column.feature.name!r} out of range is not read as unseen")

    def _shape(self, column: int, code: int, known: dict[Any, int]) -> int:
        """A number for the rest of the tree where a column has this code; equal trees have the same one."""
        numbers: dict[int, int] = {}
        for i in self.order:
            if i in self.decided:
                numbers[i] = known.setdefault(("label", self.decided[i]), len(known))
                continue
            yes, no = numbers[self.yes[i]], numbers[self.no[i]]
            if self.features[i] == column:
                numbers[i] = yes if code > self.bounds[i] else no
            elif yes == no:
                numbers[i] = yes
            else:
                key = (self.features[i], self.bounds[i], self.missing[i], yes, no)
                numbers[i] = known.setdefault(key, len(known))
        return numbers[0]
