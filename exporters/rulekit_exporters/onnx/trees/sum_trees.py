"""A sum as one TreeEnsembleClassifier: a staircase for each column, and a tree for each conjunction of literals.

The operator adds up what the leaves of all trees weigh for each of two classes, which in float32 is exact in any order
where the sum is. Least latency for one row of sums that are no single tree of moderate size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rulekit.graph.nodes import Above, Linear, LinearThreshold
from rulekit.graph.rule_graph import RuleGraph
from rulekit_exporters.onnx.cell_tables.column_intervals import Test
from rulekit_exporters.onnx.cell_tables.graph_bits import NotOfBitsError
from rulekit_exporters.onnx.conditions import Condition, bound_of, is_wide
from rulekit_exporters.onnx.forms import ML_DOMAIN
from rulekit_exporters.onnx.operators.exact_sums import FEWEST_ROWS, ExactSum, exact_sum
from rulekit_exporters.onnx.operators.indicators import Count, Indicator, Signed

if TYPE_CHECKING:
    from rulekit.schema import Schema
    from rulekit_exporters.onnx.operators.emitter import Emitter

MOST_TREES = 1 << 10


@dataclass(frozen=True, slots=True)
class Branch:
    """A test and where it leads: to a further test, or to what is added."""

    test: Test
    yes: Branch | float
    no: Branch | float


def check_sum_trees(graph: RuleGraph) -> None:
    """Raise NotOfBitsError with the reason where what decides is no sum of trees over float32 columns."""
    roots = graph.decision.roots
    sums = [root.score if isinstance(root, Above) else root for root in roots]
    if graph.decision.ranked or graph.decision.ordered or not isinstance(sums[0], Linear | LinearThreshold):
        raise NotOfBitsError("no sum decides two classes")
    if any(is_wide(graph.schema[name]) for name in graph.used_features):
        raise NotOfBitsError("a column is compared in double")
    found = exact_sum(sums[0].terms, sums[0].bias, graph.schema)
    if found is None or not found.single or len(found.weights) < FEWEST_ROWS:
        raise NotOfBitsError("its sum is not exact in float32")
    if found.columns or found.points or not all(map(_is_of_tests, found.jumps)):
        raise NotOfBitsError("its sum has terms that are no conditions on numbers and no conjunctions of such")
    if not 1 < len(_trees(found, graph.schema)) <= MOST_TREES:
        raise NotOfBitsError(f"its sum is of one tree, or of more than {MOST_TREES}")


def _is_of_tests(indicator: Indicator) -> bool:
    if isinstance(indicator, Count):
        return indicator.is_conjunction and all(isinstance(part, Condition) for part, _ in indicator.parts)
    return isinstance(indicator, Condition)


def emit_sum_trees(emitter: Emitter, found: ExactSum, weight: float, start: tuple[float, float]) -> str:
    """[N, 2] float: start less and plus weight * sum without its constant."""
    builder = emitter.builder
    columns, places = emitter.inputs.side_by_side()
    attributes = _attributes(_trees(found, emitter.graph.schema), places, weight, start)
    return builder.operate_twice("TreeEnsembleClassifier", columns, domain=ML_DOMAIN, **attributes)[1]


def _trees(found: ExactSum, schema: Schema) -> list[Branch]:
    by_column: dict[str, dict[Condition, float]] = {}
    trees = []
    for indicator, jump in found.jumps.items():
        if isinstance(indicator, Condition):
            by_column.setdefault(indicator.feature, {})[indicator] = jump
        elif isinstance(indicator, Count):
            trees.append(_conjunction(indicator.parts, jump, schema))
    return [*(_staircase(name, jumps, schema) for name, jumps in by_column.items()), *trees]


def _conjunction(parts: Sequence[Signed], jump: float, schema: Schema) -> Branch:
    """The literals one after another: what fails one adds nothing."""
    rest: Branch | float = jump
    for bit, positive in reversed(parts):
        assert isinstance(bit, Condition)
        test, holds = _test(bit, schema)
        rest = Branch(test, rest, 0.0) if holds is positive else Branch(test, 0.0, rest)
    assert isinstance(rest, Branch)
    return rest


def _test(bit: Condition, schema: Schema) -> tuple[Test, bool]:
    """A test, and whether the condition holds where the test does, or where it does not."""
    if bit.relation == "missing":
        return Test(bit.feature, math.inf, True), True
    return Test(bit.feature, bound_of(bit, schema[bit.feature]), bit.relation == "<"), bit.relation == ">"


def _staircase(name: str, jumps: dict[Condition, float], schema: Schema) -> Branch:
    """What a column adds, by halving its bounds; missing goes with an end that adds as much, or by itself."""
    feature = schema[name]
    missing = sum(jump for bit, jump in jumps.items() if bit.relation == "missing")
    compared = {bit: (bound_of(bit, feature), jump) for bit, jump in jumps.items() if bit.relation != "missing"}
    bounds = sorted({bound for bound, _ in compared.values()})
    steps = [
        sum(jump for bit, (bound, jump) in compared.items() if (place > bounds.index(bound)) is (bit.relation == ">"))
        for place in range(len(bounds) + 1)
    ]
    upwards = missing == steps[-1] != steps[0]

    def halved(low: int, high: int) -> Branch | float:
        if low == high:
            return steps[low]
        middle = (low + high) // 2
        return Branch(Test(name, bounds[middle], upwards), halved(middle + 1, high), halved(low, middle))

    known = halved(0, len(bounds))
    if isinstance(known, Branch) and missing in (steps[0], steps[-1]):
        return known
    return Branch(Test(name, math.inf, True), missing, known)


def _attributes(
    trees: Sequence[Branch], places: dict[str, int], weight: float, start: tuple[float, float]
) -> dict[str, Any]:
    """The attributes of the operator, in the order in which a walk meets the nodes, where a test holds first."""
    found: dict[str, list[Any]] = {f"nodes_{name}": [] for name in _NODES}
    weights: dict[str, list[Any]] = {f"class_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")}
    for tree, root in enumerate(trees):
        own = start if tree == 0 else (0.0, 0.0)
        first = len(found["nodes_modes"])
        waiting: list[tuple[Branch | float, int, str]] = [(root, -1, "")]
        while waiting:
            node, parent, side = waiting.pop()
            number = len(found["nodes_modes"]) - first
            if side:
                found[side][first + parent] = number
            values: tuple[Any, ...] = (tree, number, 0, 0.0, "LEAF", 0, 0, 0)
            if isinstance(node, Branch):
                column, test = places[node.test.feature], node.test
                values = (tree, number, column, test.bound, "BRANCH_GT", 0, 0, int(test.missing))
                waiting += [(node.no, number, "nodes_falsenodeids"), (node.yes, number, "nodes_truenodeids")]
            else:
                for k, (base, sign) in enumerate(zip(own, (-1.0, 1.0), strict=True)):
                    added = (tree, number, k, base + sign * weight * node + 0.0)
                    for into, value in zip(weights.values(), added, strict=True):
                        into.append(value)
            for into, value in zip(found.values(), values, strict=True):
                into.append(value)
    return {**found, **weights, "post_transform": "NONE", "classlabels_int64s": [0, 1]}


_NODES = (
    "treeids",
    "nodeids",
    "featureids",
    "values",
    "modes",
    "truenodeids",
    "falsenodeids",
    "missing_value_tracks_true",
)
