"""TreeEnsembleClassifier of ai.onnx.ml, read as logic over its tests.

Read is one tree whose leaves weigh every class, where the label is beyond doubt: exactly one weight of two is positive,
or one of several is the largest and positive.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.nodes import FALSE, TRUE, And, Missing, Node, Not, Or
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE
from rulekit_exporters.onnx.inspection.elements import as_truth, compared, logical_and, logical_or
from rulekit_exporters.onnx.inspection.tensors import Attributes, ReadingCost, RowTensor, Value, rows
from rulekit_exporters.onnx.inspection.values import (
    Category,
    Code,
    Element,
    Exact,
    GivenNumber,
    UnreadableError,
    opaque,
    truth,
)

MOST_NODES = 100_000


@dataclass(frozen=True, slots=True)
class LabelOutcome:
    """The label of a row: formulas[i] is true exactly where it is values[i]."""

    values: tuple[Any, ...]
    formulas: tuple[Node, ...]


def tree_classifier(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> tuple[Value, Value]:
    """Label [N] and scores [N, classes]."""
    value = rows(inputs[0])
    if value.elements.ndim != 2 or value.axis != 0:
        raise UnreadableError("a tree over something that is no row")
    if attributes["post_transform"] != b"NONE":
        raise UnreadableError("a tree whose scores are transformed")
    integers = attributes.get("classlabels_int64s")
    labels = integers or [text.decode() for text in attributes["classlabels_strings"]]
    tree = _Tree(attributes, value.elements[0].tolist(), len(labels))
    reach.spend(len(tree.modes) * 4)
    if len(labels) == 2 and integers not in (None, [0, 1]):
        raise UnreadableError("a tree whose labels a runtime calls 0 and 1")
    element = np.empty(1, dtype=object)
    element[0] = LabelOutcome(tuple(labels), tree.formulas(len(labels)))
    scores = np.empty((1, len(labels)), dtype=object)
    used = tuple(test for test in tree.tests.values() if test not in (TRUE, FALSE))
    scores[0, :] = [opaque("score", *used) for _ in labels]
    return RowTensor(element, 0, "i8" if integers else "text"), RowTensor(scores, 0, "f4")


class _Tree:
    """One tree whose nodes are numbered from its root on, in the order of the attributes."""

    def __init__(self, attributes: Attributes, columns: list[Element], classes: int) -> None:
        self.modes = [mode.decode() for mode in attributes["nodes_modes"]]
        count = len(self.modes)
        if count > MOST_NODES:
            raise UnreadableError("it has too many elements to be read")
        self.yes, self.no = attributes["nodes_truenodeids"], attributes["nodes_falsenodeids"]
        numbered = attributes["nodes_treeids"] == [0] * count and attributes["nodes_nodeids"] == list(range(count))
        lists = [attributes[f"nodes_{name}"] for name in ("featureids", "values", "missing_value_tracks_true")]
        if not numbered or any(len(given) != count for given in (*lists, self.yes, self.no)):
            raise UnreadableError("a tree whose nodes are not numbered from its root on")
        self.order = self._children_first()
        self.features, self.bounds, self.missing = lists
        if not all(0 <= feature < len(columns) for feature in self.features):
            raise UnreadableError("a tree that tests a column which is not there")
        self.columns = columns
        self.tests = {i: self._test(i) for i, mode in enumerate(self.modes) if mode != "LEAF"}
        self.decided = self._labels(attributes, classes)
        self._check_codes()

    def formulas(self, classes: int) -> tuple[Node, ...]:
        """For each class when it is the label."""
        found = []
        for k in range(classes):
            holds: dict[int, Node] = {}
            for i in self.order:
                if i in self.decided:
                    holds[i] = TRUE if self.decided[i] == k else FALSE
                else:
                    holds[i] = either(self.tests[i], holds[self.yes[i]], holds[self.no[i]])
            found.append(holds[0])
        return tuple(found)

    def _test(self, i: int) -> Node:
        element, bound, passes = self.columns[self.features[i]], self.bounds[i], self.missing[i]
        if isinstance(element, Code):
            codes = range(FIRST_LEVEL_CODE + len(element.feature.levels))
            if not -1 <= bound < len(codes):
                raise UnreadableError(f"a test of codes of {element.feature.name!r} that are not there")
            element = Category(element.feature, tuple(codes))
        return test_of(element, self.modes[i], bound, passes)

    def _labels(self, attributes: Attributes, classes: int) -> dict[int, int]:
        """The class of each leaf."""
        names = ("treeids", "nodeids", "ids", "weights")
        weights: dict[int, dict[int, float]] = {}
        for tree, node, index, weight in zip(*(attributes[f"class_{name}"] for name in names), strict=True):
            held = weights.setdefault(node, {})
            if tree or index in held or not math.isfinite(weight):
                raise UnreadableError("a leaf that weighs a class in another way")
            held[index] = weight
        leaves = {i for i, mode in enumerate(self.modes) if mode == "LEAF"}
        if set(weights) != leaves:
            raise UnreadableError("weights of a node that is no leaf, or none of a leaf")
        return {leaf: self._label(weights[leaf], classes) for leaf in leaves}

    def _label(self, weights: dict[int, float], count: int) -> int:
        """The class of a leaf."""
        if set(weights) != set(range(count)):
            raise UnreadableError("a leaf that weighs a class in another way")
        best = max(range(count), key=lambda k: weights[k])
        scores = weights.values()
        clear = weights[best] > 0 and sum(score == weights[best] for score in scores) == 1 and min(scores) >= 0
        if not clear or (count == 2 and weights[1 - best] != 0):
            raise UnreadableError("a tree whose label is not beyond doubt")
        return best

    def _children_first(self) -> list[int]:
        """The numbers of all nodes, the root, which is the first, at the end."""
        order: list[int] = []
        seen: set[int] = set()
        stack = [0]
        while stack:
            i = stack.pop()
            if i in seen or not 0 <= i < len(self.modes):
                raise UnreadableError("a tree with a node that has two parents or none")
            seen.add(i)
            order.append(i)
            if self.modes[i] != "LEAF":
                stack += [self.yes[i], self.no[i]]
        if len(seen) != len(self.modes):
            raise UnreadableError("a tree without one root")
        return order[::-1]

    def _check_codes(self) -> None:
        """Raises UnreadableError where a code out of range does not lead to where the code of an unseen level leads."""
        for place, column in enumerate(self.columns):
            if isinstance(column, Code) and place in self.features:
                known: dict[Any, int] = {}
                beyond = FIRST_LEVEL_CODE + len(column.feature.levels)
                shapes = {self._shape(place, code, known) for code in (-1, UNSEEN_CODE, beyond)}
                if len(shapes) > 1:
                    raise UnreadableError(f"a code of {column.feature.name!r} out of range is not read as unseen")

    def _shape(self, column: int, code: int, known: dict[Any, int]) -> int:
        """A number for the rest of the tree where a column has this code; equal trees have the same one."""
        numbers: dict[int, int] = {}
        for i in self.order:
            if i in self.decided:
                key: Any = ("label", self.decided[i])
            elif self.features[i] == column:
                numbers[i] = numbers[self.yes[i] if code > self.bounds[i] else self.no[i]]
                continue
            else:
                yes, no = numbers[self.yes[i]], numbers[self.no[i]]
                key = (self.features[i], self.bounds[i], self.missing[i], yes, no)
                if yes == no:
                    numbers[i] = yes
                    continue
            numbers[i] = known.setdefault(key, len(known))
        return numbers[0]


def test_of(element: Element, mode: str, bound: float, passes: int) -> Node:
    """When a test holds; passes: 1 where missing does, which a truth value never is."""
    if mode != "BRANCH_GT" or passes not in (0, 1) or not isinstance(element, GivenNumber | Category | Exact):
        raise UnreadableError("a tree with a test of another kind")
    if isinstance(element, Exact):
        if not 0 <= bound < 1:
            raise UnreadableError("a tree with a test that a truth value does not decide")
        return as_truth(element)
    passed = truth(compared(element, bound))
    return Or((passed, Missing(element.feature.name))) if passes and isinstance(element, GivenNumber) else passed


def either(test: Node, yes: Node, no: Node) -> Node:
    """What holds where a test does, and what where it does not."""
    if yes is no:
        return yes
    if test in (TRUE, FALSE):
        return yes if test == TRUE else no
    if yes == TRUE:
        return logical_or(test, no)
    if no == FALSE:
        return logical_and(test, yes)
    if no == TRUE:
        return logical_or(Not(test), yes)
    if yes == FALSE:
        return logical_and(Not(test), no)
    return Or((And((test, yes)), And((Not(test), no))))
