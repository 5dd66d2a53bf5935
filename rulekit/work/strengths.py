"""The strengths of hidden bits, fitted again to labelled rows while the conditions and the formula stay.

The probability of a formula is linear in the probability of each of its bits (they are independent), so that its
derivative by one of them is the difference between the formula with the bit surely true and surely false. Rows with the
same truths of all causes are one row with two weights.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Hidden, IsTrue, Node, with_children
from rulekit.graph.probability.circuit import Algebra, fold_circuit
from rulekit.graph.probability.compilation import build_circuit
from rulekit.graph.traversal import topological
from rulekit.numbers import probability_of, short_probability, strength_of
from rulekit.tables.table import Table

Floats = npt.NDArray[np.float64]

_LEAST = 1e-4
_MOST_STEPS = 200


def bits_of(node: Node) -> tuple[Hidden, ...]:
    """The hidden bits below a node."""
    return tuple(part for part in topological([node]) if isinstance(part, Hidden))


def replaced(root: Node, other: Mapping[Node, Node]) -> Node:
    """The node with other nodes in the place of some below it."""
    made: dict[Node, Node] = {}
    for node in topological([root]):
        made[node] = other.get(node) or with_children(node, [made[child] for child in node.children])
    return made[root]


def refitted_bits(
    formula: Node,
    bits: Sequence[Hidden],
    table: Table,
    positive: npt.NDArray[np.bool_],
    weight: Floats | None = None,
) -> dict[Node, Node]:
    """For some bits of a random formula those of maximum likelihood on rows [n], with probabilities of four digits.

    A probability of 0 or 1 says that a bit never or surely fires, and stays; so do the bits that are not named.
    """
    holes = {bit: IsTrue(f"bit {i}") for i, bit in enumerate(bits)}
    template: dict[Node, Node] = {
        bit: Hidden(bit.name, hole, math.inf, strength_of(0.5)) for bit, hole in holes.items()
    }
    place = {hole: i for i, hole in enumerate(holes.values())}
    steps = build_circuit(replaced(formula, template)).steps
    causes = [bit.cause for bit in bits]
    read = list(dict.fromkeys([*causes, *(c for c in build_circuit(formula).causes)]))
    truths, yes, no = _distinct(read, table, positive, weight)

    start = np.array([[probability_of(bit.on), probability_of(bit.off)] for bit in bits])
    free = (start > 0) & (start < 1)

    def chances(values: Floats) -> list[Floats]:
        return [np.where(truths[cause], on, off) for cause, (on, off) in zip(causes, values, strict=True)]

    def formula_of(fired: Sequence[Floats]) -> Floats:
        def choose(cause: Node, on: float, off: float) -> Floats:
            if cause in place:
                return np.broadcast_to(fired[place[cause]], yes.shape)
            return np.where(truths[cause], on, off)

        return fold_circuit(steps, Algebra(choose, lambda value: np.full(yes.shape, value)))

    def loss(point: Floats) -> tuple[float, Floats]:
        values = start.copy()
        values[free] = point
        fired = chances(values)
        p = np.clip(formula_of(fired), 1e-9, 1 - 1e-9)
        by_p = (no / (1 - p) - yes / p) / total
        slope = np.zeros_like(start)
        for i, cause in enumerate(causes):
            before, after = fired[:i], fired[i + 1 :]
            surely, never = (formula_of([*before, np.full(1, sure), *after]) for sure in (1.0, 0.0))
            part = by_p * (surely - never)
            slope[i] = part[truths[cause]].sum(), part[~truths[cause]].sum()
        return float(-(yes * np.log(p) + no * np.log(1 - p)).sum()) / total, slope[free]

    total = float(yes.sum() + no.sum())
    values = start.copy()
    if free.any():
        from scipy.optimize import minimize

        first = np.clip(start[free], _LEAST, 1 - _LEAST)
        bounds = [(_LEAST, 1 - _LEAST)] * int(free.sum())
        options = {"maxiter": _MOST_STEPS}
        values[free] = minimize(loss, first, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    strengths = [[strength_of(short_probability(float(p))) for p in pair] for pair in values]
    fitted = [
        Hidden(bit.name, bit.cause, on if free[i, 0] else bit.on, off if free[i, 1] else bit.off)
        for i, (bit, (on, off)) in enumerate(zip(bits, strengths, strict=True))
    ]
    return dict(zip(bits, fitted, strict=True))


def _distinct(
    causes: Sequence[Node], table: Table, positive: npt.NDArray[np.bool_], weight: Floats | None
) -> tuple[dict[Node, npt.NDArray[np.bool_]], Floats, Floats]:
    """The distinct rows of truths, by cause, and the weight of the positive and of the negative rows of each."""
    values = evaluate_nodes(causes, table) if causes else {}
    rows = np.zeros((table.n_rows, 0), dtype=np.uint8)
    if causes:
        rows = np.packbits(np.stack([values[cause] for cause in causes], axis=1), axis=1)
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    weights = np.ones(table.n_rows) if weight is None else weight
    yes, no = (
        np.bincount(place.ravel(), weights * side, len(distinct)).astype(np.float64) for side in (positive, ~positive)
    )
    truths = np.unpackbits(distinct, axis=1, count=len(causes)).astype(bool) if causes else np.zeros((1, 0), bool)
    return {cause: truths[:, j] for j, cause in enumerate(causes)}, yes, no
