"""TreeEnsembleClassifier of several trees, read as the sums that it adds up for its classes.

A tree over one column is a jump for each of its bounds and one for missing; of another one each number that it may add
is that number where the tests lead to it. What no order of additions rounds is known, anything else is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from rulekit.exactness import Span
from rulekit.graph.nodes import FALSE, TRUE, Missing, Node
from rulekit_exporters.onnx.inspection.elements import greater
from rulekit_exporters.onnx.inspection.tensors import Attributes, Reach, Rows, Value, rows
from rulekit_exporters.onnx.inspection.trees import MOST_NODES, either, test_of
from rulekit_exporters.onnx.inspection.values import BITS, Element, Exact, Given, UnreadableError, added, opaque, truth

_BY_NODE = ("nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids", "missing_value_tracks_true")


def summed_trees(reach: Reach, inputs: Sequence[Value], attributes: Attributes) -> tuple[Value, Value]:
    """Label [N], which is not read, and scores [N, classes]."""
    value = rows(inputs[0])
    if value.elements.ndim != 2 or value.axis != 0 or attributes["post_transform"] != b"NONE":
        raise UnreadableError("trees over something that is no row, or whose scores are transformed")
    classes = len(attributes.get("classlabels_int64s") or attributes["classlabels_strings"])
    if classes != 2:  # of one class a runtime makes two scores, and more are not written
        raise UnreadableError("trees that add up for another number of classes than two")
    ids = attributes["nodes_treeids"]
    if len(ids) > MOST_NODES:
        raise UnreadableError("it has too many elements to be read")
    reach.spend(len(ids) * 4)
    trees = _trees(attributes, value.elements[0].tolist(), classes)
    scores = np.empty((1, classes), dtype=object)
    for k in range(classes):
        scores[0, k] = _sum([tree.adds(k) for tree in trees])
    label = np.empty(1, dtype=object)
    label[0] = opaque("label", *(test for tree in trees for test in tree.tests.values() if test not in (TRUE, FALSE)))
    return Rows(label, 0, "i8" if "classlabels_int64s" in attributes else "text"), Rows(scores, 0, "f4")


def _sum(parts: Sequence[tuple[Exact, Span]]) -> Element:
    """The sum of the trees; of another width than its own every partial sum must fit."""
    total, span = Exact(Fraction(0)), Span.of(0.0)
    for part, own in parts:
        total, span = added(total, part), span + own
    if span.fits(BITS["f4"]):
        return total
    return opaque("sum of trees", *(node for node, _ in total.terms))


def _trees(attributes: Attributes, columns: list[Element], classes: int) -> list[_Tree]:
    ids = attributes["nodes_treeids"]
    lists = [attributes[f"nodes_{name}"] for name in _BY_NODE]
    given = [attributes[f"class_{name}"] for name in ("treeids", "nodeids", "ids", "weights")]
    if ids != sorted(ids) or any(len(each) != len(ids) for each in lists) or len({*map(len, given)}) != 1:
        raise UnreadableError("trees whose nodes do not stand in order")
    weights: dict[int, dict[tuple[int, int], float]] = {}
    for tree, node, k, weight in zip(*given, strict=True):
        own = weights.setdefault(tree, {})
        if (node, k) in own or not 0 <= k < classes or not math.isfinite(weight):
            raise UnreadableError("a leaf that weighs a class in another way")
        own[node, k] = weight
    found, start = [], 0
    numbers = sorted(set(ids))
    if numbers != list(range(len(numbers))) or set(weights) != set(numbers):
        raise UnreadableError("trees that are not numbered from the first one on")
    sizes = [0] * len(numbers)
    for tree in ids:
        sizes[tree] += 1
    for tree, size in enumerate(sizes):
        own_lists = [each[start : start + size] for each in lists]
        found.append(_Tree(dict(zip(_BY_NODE, own_lists, strict=True)), weights[tree], columns, classes))
        start += size
    return found


class _Tree:
    """One tree whose nodes are numbered from its root on, each parent before its branches."""

    def __init__(
        self, lists: dict[str, list[Any]], weights: dict[tuple[int, int], float], columns: list[Element], classes: int
    ) -> None:
        self.weights, self.columns = weights, columns
        self.modes = [mode.decode() for mode in lists["modes"]]
        self.yes, self.no, self.bounds = lists["truenodeids"], lists["falsenodeids"], lists["values"]
        self.features, self.missing = lists["featureids"], lists["missing_value_tracks_true"]
        count = len(self.modes)
        inner = [i for i, mode in enumerate(self.modes) if mode != "LEAF"]
        branches = sorted(branch for i in inner for branch in (self.yes[i], self.no[i]))
        after = all(i < self.yes[i] and i < self.no[i] for i in inner)
        if lists["nodeids"] != list(range(count)) or branches != list(range(1, count)) or not after:
            raise UnreadableError("a tree whose nodes are not numbered from its root on")
        leaves = {(i, k) for i, mode in enumerate(self.modes) if mode == "LEAF" for k in range(classes)}
        if set(weights) != leaves:
            raise UnreadableError("weights of a node that is no leaf, or none of a leaf")
        if not all(0 <= self.features[i] < len(columns) for i in inner):
            raise UnreadableError("a tree that tests a column which is not there")
        if not all(isinstance(columns[self.features[i]], Given | Exact) for i in inner):
            raise UnreadableError("a tree of a sum that tests something else than a number")
        self.tests = {i: self._test(i) for i in inner}

    def _test(self, i: int) -> Node:
        return test_of(self.columns[self.features[i]], self.modes[i], self.bounds[i], self.missing[i])

    def adds(self, k: int) -> tuple[Exact, Span]:
        """What it adds to the score of a class, and the span of the numbers that it may add."""
        values = {i: self.weights[i, k] for i, mode in enumerate(self.modes) if mode == "LEAF"}
        span = Span.of(*values.values())
        columns = {self.features[i] for i in self.tests}
        of_numbers = len(columns) == 1 and isinstance(self.columns[min(columns)], Given)
        return (self._jumps(columns.pop(), k) if of_numbers else self._by_value(values)), span

    def _by_value(self, values: dict[int, float]) -> Exact:
        """Each number but one where the tests lead to it."""
        counts = [*values.values()]
        base = max(dict.fromkeys(counts), key=counts.count)
        terms = []
        for value in dict.fromkeys(counts):
            if value == base:
                continue
            holds: dict[int, Node] = {}
            for i in range(len(self.modes) - 1, -1, -1):
                if i in values:
                    holds[i] = TRUE if values[i] == value else FALSE
                else:
                    holds[i] = either(self.tests[i], holds[self.yes[i]], holds[self.no[i]])
            terms.append((holds[0], Fraction(value) - Fraction(base)))
        return Exact(Fraction(base), tuple(terms))

    def _jumps(self, column: int, k: int) -> Exact:
        """Of one column: what its lowest numbers add, a jump at each bound, and one where it is missing."""
        given = self.columns[column]
        assert isinstance(given, Given)
        bounds = sorted({self.bounds[i] for i in self.tests if math.isfinite(self.bounds[i])})
        if any(self.bounds[i] == -math.inf for i in self.tests):
            raise UnreadableError("a tree with a bound below all numbers")
        steps = [self._at(place, bounds, k) for place in range(len(bounds) + 1)]
        found = Exact(steps[0])
        for bound, low, high in zip(bounds, steps, steps[1:], strict=False):
            # truth values whose weight is 0 are left out, and one that is the same for all rows is a constant
            test = truth(greater(given, bound, "f4"))
            jump = high - low
            found = added(found, Exact(jump) if test == TRUE else Exact(Fraction(0), ((test, jump),)))
        gone = self._at(None, bounds, k) - steps[0]
        return added(found, Exact(Fraction(0), ((Missing(given.feature.name), gone),)))

    def _at(self, place: int | None, bounds: list[float], k: int) -> Fraction:
        """What is added above so many of the bounds; None: where the column is missing."""
        i = 0
        while i in self.tests:
            bound = self.bounds[i]
            holds = self.missing[i] == 1 if place is None else math.isfinite(bound) and place > bounds.index(bound)
            i = self.yes[i] if holds else self.no[i]
        return Fraction(self.weights[i, k])
