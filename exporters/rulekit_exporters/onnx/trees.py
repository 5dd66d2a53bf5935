"""A graph as one decision tree: tests `x > bound` that lead every row to its label and probabilities.

The truth values that the graph reads are edges of one decision diagram over its literals. Expanded from the top, with
the interval in which each column lies at hand, it is a tree without impossible branches. Each leaf is a box of rows
that no literal tells apart, so its label and probabilities are those of any row in it, and the graph's own evaluator
says them.

It is one TreeEnsembleClassifier of ai.onnx.ml, in the form of version 1: least latency for one row. Every branch is
BRANCH_GT, which is false for NaN; where missing passes a test, `nodes_missing_value_tracks_true` says so (it always
stands, because the specification's evaluator needs it). Every leaf has a weight for every class. The operator's own
label is the class of the largest weight, but of two classes onnxruntime (seen in 1.18 to 1.31) gives the second one as
soon as its weight is not 0, and calls two numbers 0 and 1 whatever they are. Where the label does not follow from the
probabilities in that way, the operator has twice as many classes: the first half are the label, with the weight 2 for
the one that is decided, the second half the probabilities.

Who asks for one row at once needs it: models of `rules`, `additive` and `noisy-or` over numbers take 1.5 to 1.9 times
as long as a table (with categories 1.2 to 1.5). In batches the tree is the slower one. A sum of trees gained 1.3.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.axis import cells_of
from rulekit.errors import BudgetError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import LEAVES, Constant, Node, fold
from rulekit.graph.probability.diagrams import FALSE, TRUE, Diagram
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Table, encoded_dtype
from rulekit_exporters.onnx import conditions as cond
from rulekit_exporters.onnx.builder import ML_DOMAIN
from rulekit_exporters.onnx.inputs import InputPlan
from rulekit_exporters.onnx.metadata import integer_labels, is_largest, label_texts
from rulekit_exporters.onnx.operators.emitter import Emitter


@dataclass(frozen=True, slots=True)
class Test:
    """x > bound; NaN passes where `missing`."""

    feature: str
    bound: float
    missing: bool


@dataclass(frozen=True, eq=False)
class ColumnCells:
    """The cells of a column as bits: the largest value of each, of the last some value, and after them missing (NaN).

    What is known of a column on a path is a set of them. Every test is `x > value` of a cell, with a stated side for
    missing. A category stands in the tree as its code, 0 missing, 1 unseen, 2 and up the levels, never NaN; where it is
    fed as codes, any integer, it has a cell of its own below and above all codes: out of range is unseen.
    """

    feature: Feature
    values: tuple[float, ...]

    @property
    def missing(self) -> int:
        return 1 << len(self.values)

    @property
    def full(self) -> int:
        return (self.missing if self.feature.kind == "categorical" else 2 * self.missing) - 1

    def truth(self, bit: cond.Bit, known: int) -> bool | None:
        """The truth value of a bit on a set of cells, None where it is not the same on all of it."""
        held = self._mask(bit) & known
        return None if held and held != known else bool(held)

    def test_for(self, bit: cond.Bit, known: int) -> Test:
        """A test that decides a bit of unknown truth, or brings nearer its decision."""
        present = known & (self.missing - 1)
        low, high = (present & -present).bit_length() - 1, present.bit_length() - 1
        if isinstance(bit, cond.Membership):
            mask = self._mask(bit)
            changes = [i for i in range(low, high) if (mask >> i ^ mask >> (i + 1)) & 1]
            return Test(bit.feature, self.values[changes[len(changes) // 2]], False)
        if bit.relation != "missing":
            return Test(bit.feature, cond.bound_of(bit, self.feature), bit.relation == "<")
        last = len(self.values) - 1
        if high == last and low > 0:
            return Test(bit.feature, self.values[low - 1], False)
        return Test(bit.feature, math.inf if high == last else self.values[high], True)

    def branches(self, test: Test, known: int) -> tuple[int, int]:
        """The cells where a test holds, and where it does not."""
        passed = self._above(test.bound) | (self.missing if test.missing else 0)
        return known & passed, known & ~passed

    def value(self, known: int) -> float:
        """An encoded value of the highest cell of a set: a number, NaN for missing, or the code of a category."""
        present = known & (self.missing - 1)
        value = self.values[present.bit_length() - 1] if present else math.nan
        kind = self.feature.kind
        return self._code(value) if kind == "categorical" else value // 1.0 if kind == "boolean" else value

    def _code(self, value: float) -> int:
        return int(value) if 0 <= value < FIRST_LEVEL_CODE + len(self.feature.levels) else UNSEEN_CODE

    def _mask(self, bit: cond.Bit) -> int:
        if isinstance(bit, cond.Membership):
            return sum(1 << i for i, value in enumerate(self.values) if bit.table[self._code(value)])
        if bit.relation == "missing":
            return self.missing
        above = self._above(cond.bound_of(bit, self.feature))
        return above if bit.relation == ">" else (self.missing - 1) & ~above

    def _above(self, bound: float) -> int:
        return (self.missing - 1) & ~((1 << bisect_right(self.values, bound)) - 1)


def column_cells(feature: Feature, leaves: Sequence[Node], coded: bool) -> ColumnCells:
    """The cells of a column that these leaves tell apart; of a category a cell for each code."""
    if feature.kind == "boolean":
        return ColumnCells(feature, (0.5, 1.0))
    if feature.kind == "categorical":
        beyond = FIRST_LEVEL_CODE + len(feature.levels)
        return ColumnCells(feature, tuple(map(float, range(-1, beyond + 1) if coded else range(beyond))))
    cuts = cells_of(feature, leaves).cuts
    last = cond.next_above(cuts[-1], cond.is_wide(feature)) if cuts else 0.0
    return ColumnCells(feature, cuts if cuts and cuts[-1] == math.inf else (*cuts, last))


# Boxes before equal neighbours are joined, leaves of the tree, nodes of the diagram.
MOST_BOXES = 1 << 13
MOST_LEAVES = 1 << 12
MOST_EDGES = 1 << 16


Split = tuple[Test, int, int]  # a test, and the places of what follows where it holds and where not


@dataclass(frozen=True, slots=True)
class DecisionTree:
    """nodes: each after its branches, equal parts once, the last the root; a leaf is the place of its outcome.

    labels [outcomes], float32 probabilities; leaves: of the tree with every part as often as it is reached.
    """

    nodes: tuple[int | Split, ...]
    labels: Array
    probabilities: Array
    leaves: int


def decision_tree(graph: RuleGraph, plan: InputPlan) -> DecisionTree:
    """The tree of a graph over the inputs of a plan; raises NotOfBitsError with the reason where there is none.

    There is none where a sum takes up the values of a column or a bound of a float64 column is no float32 number, and
    where the tree is too large.
    """
    if not graph.used_features:
        raise cond.NotOfBitsError("it reads no column")
    narrow = [name for name in graph.used_features if not cond.is_wide(graph.schema[name])]
    if plan.form == "tensor" and plan.wide and narrow:
        raise cond.NotOfBitsError(f"the column {narrow[0]!r} of a double tensor is compared in float32")
    roots, bits = cond.reads(graph)
    order = _order(graph, roots, bits)
    try:
        diagram, edges = _diagram(graph, roots, bits, order)
    except BudgetError as error:
        raise cond.NotOfBitsError(f"its decision diagram has more than {MOST_EDGES} nodes") from error
    found = readers(graph.roots)
    columns = {name: column_cells(graph.schema[name], found[name], plan.coded) for name in graph.used_features}
    tree = _joined(graph, columns, *_expand(columns, diagram, edges, order))
    for test, *_ in (node for node in tree.nodes if not isinstance(node, int)):
        if float32(test.bound) != test.bound:
            raise cond.NotOfBitsError(f"a bound of the float64 column {test.feature!r} is no float32 number")
    return tree


def _order(graph: RuleGraph, roots: Sequence[Node], bits: Sequence[cond.Bit]) -> list[cond.Bit]:
    """The bits from the top: of each connective the smaller parts first, of leaves those that stand more often."""
    sizes = fold(roots, lambda node, parts: min(sum(parts), 1 << 30) or 1)
    counts = Counter(child for node in sizes for child in node.children)
    found: dict[cond.Bit, None] = {}
    done: set[Node] = set()
    stack = list(reversed(roots))
    while stack:
        node = stack.pop()
        if node in done:
            continue
        done.add(node)
        asked = cond.bit_of(node, graph.schema)
        if asked is not None:
            found[asked[0]] = None
        stack.extend(sorted(node.children, key=lambda child: (sizes[child], -counts[child]), reverse=True))
    return list(found | dict.fromkeys(bits))


def _diagram(
    graph: RuleGraph, roots: Sequence[Node], bits: Sequence[cond.Bit], order: Sequence[cond.Bit]
) -> tuple[Diagram, list[int]]:
    """A diagram, and its edges for the roots and the bits of step functions."""
    diagram = Diagram(MOST_EDGES)
    variables = {bit: diagram.variable(level) for level, bit in enumerate(order)}

    def edge(node: Node, parts: tuple[int, ...]) -> int:
        if isinstance(node, Constant):
            return TRUE if node.value else FALSE
        if not isinstance(node, LEAVES):
            return diagram.connected(type(node), getattr(node, "k", 0), parts)
        asked = cond.bit_of(node, graph.schema)
        if asked is None:  # a leaf over a category that has one value for all
            return TRUE if getattr(node, "missing", False) else FALSE
        return variables[asked[0]] ^ (not asked[1])

    edges = fold(roots, edge)
    return diagram, [*(edges[root] for root in roots), *(variables[bit] for bit in bits)]


def _expand(
    columns: dict[str, ColumnCells], diagram: Diagram, edges: Sequence[int], order: Sequence[cond.Bit]
) -> tuple[list[list[Any]], list[dict[str, int]]]:
    """Splits, or the number of a box alone; parents first; the boxes, each by column the set of its cells."""
    nodes: list[list[Any]] = []
    boxes: list[dict[str, int]] = []
    waiting = [(_undecided(diagram, edges), {name: cells.full for name, cells in columns.items()}, [0], 0)]
    while waiting:
        undecided, known, parent, side = waiting.pop()
        parent[side] = len(nodes)
        test = None
        while test is None and undecided:
            level = undecided[0][0]
            bit = order[level]
            cells, own = columns[bit.feature], known[bit.feature]
            value = cells.truth(bit, own)
            if value is None:
                test = cells.test_for(bit, own)
                continue
            here = bisect_left(undecided, (level + 1,))
            further = _undecided(diagram, [diagram.branches(edge)[1 if value else 2] for _, edge in undecided[:here]])
            undecided = sorted({*undecided[here:], *further}) if further else undecided[here:]
        if test is None:
            nodes.append([len(boxes)])
            boxes.append(known)
            if len(boxes) > MOST_BOXES:
                raise cond.NotOfBitsError(f"it would have more than {MOST_BOXES} boxes")
            continue
        nodes.append([test, 0, 0])
        yes, no = columns[test.feature].branches(test, known[test.feature])
        waiting.append((undecided, {**known, test.feature: no}, nodes[-1], 2))
        waiting.append((undecided, {**known, test.feature: yes}, nodes[-1], 1))
    return nodes, boxes


def _undecided(diagram: Diagram, edges: Iterable[int]) -> list[tuple[int, int]]:
    """The edges that are no constants, each once and none beside its complement, after their levels from the top."""
    return sorted({(diagram.branches(edge)[0], edge & ~1) for edge in edges if edge > FALSE})


def _joined(
    graph: RuleGraph, columns: dict[str, ColumnCells], splits: list[list[Any]], boxes: list[dict[str, int]]
) -> DecisionTree:
    """The tree with the outcomes of its boxes; a split whose branches are equal is dropped."""
    features = [graph.schema[name] for name in graph.used_features]
    arrays = tuple(
        np.array([columns[f.name].value(box[f.name]) for box in boxes], dtype=encoded_dtype(f)) for f in features
    )
    table = Table(tuple(features), arrays, len(boxes))
    labels, chances = decide(graph, table), probabilities(graph, table).astype(np.float32)
    distinct, outcome = np.unique(np.column_stack([labels, chances]), axis=0, return_inverse=True)
    places: dict[int | Split, int] = {}
    sizes: list[int] = []
    place_of = [0] * len(splits)
    for i in range(len(splits) - 1, -1, -1):
        test, *following = splits[i]
        branches = [place_of[place] for place in following]
        if branches and branches[0] == branches[1]:
            place_of[i] = branches[0]
            continue
        node: int | Split = (test, branches[0], branches[1]) if branches else int(outcome[test])
        place_of[i] = places.setdefault(node, len(places))
        if place_of[i] == len(sizes):
            sizes.append(sum(sizes[place] for place in branches) if branches else 1)
    leaves = sizes[place_of[0]]
    if leaves > MOST_LEAVES:
        raise cond.NotOfBitsError(f"it would have {leaves} leaves")
    nodes = tuple(places)[: place_of[0] + 1]
    return DecisionTree(nodes, distinct[:, 0].astype(np.int64), distinct[:, 1:].astype(np.float32), leaves)


def emit_tree(emitter: Emitter, tree: DecisionTree) -> tuple[str, str]:
    """The tensors of the label [N] and of the probabilities [N, K] float."""
    graph = emitter.graph
    columns, places = emitter.side_by_side()
    n_classes = len(graph.classes)
    weights, split = tree.probabilities, not label_follows(graph, tree)
    if split:
        weights = np.hstack([2.0 * np.eye(n_classes, dtype=np.float32)[tree.labels], weights])
    attributes = {**_nodes(tree, places, weights), **_class_labels(graph, weights.shape[1])}
    label, scores = emitter.outputs("TreeEnsembleClassifier", columns, domain=ML_DOMAIN, **attributes)
    if split:
        places_of_chances = emitter.constant(range(n_classes, 2 * n_classes), np.int64)
        scores = emitter.operate("Gather", scores, places_of_chances, axis=1)
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
    rows: list[list[Any]] = []
    leaves: list[tuple[int, int]] = []
    waiting = [(len(tree.nodes) - 1, -1, False)]
    while waiting:
        place, parent, holds = waiting.pop()
        number, node = len(rows), tree.nodes[place]
        if parent >= 0:
            rows[parent][4 if holds else 5] = number
        if isinstance(node, int):
            leaves.append((number, node))
            rows.append([0, 0.0, "LEAF", 0, 0, 0])
        else:
            test, yes, no = node
            rows.append([places[test.feature], test.bound, "BRANCH_GT", int(test.missing), 0, 0])
            waiting += [(no, number, False), (yes, number, True)]
    names = "featureids", "values", "modes", "missing_value_tracks_true", "truenodeids", "falsenodeids"
    n_weights = weights.shape[1]
    return {
        "nodes_treeids": [0] * len(rows),
        "nodes_nodeids": list(range(len(rows))),
        **{f"nodes_{name}": list(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)},
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
