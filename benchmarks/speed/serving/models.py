"""The models whose speed is measured, over 30 float32 columns, and the rows that they decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import (
    Above,
    And,
    Column,
    Compare,
    Hidden,
    Linear,
    LinearThreshold,
    Node,
    Not,
    Or,
    Probability,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, float32, strength_of
from rulekit.schema import Feature, Schema

Array = npt.NDArray[Any]

COLUMNS = 30
SCHEMA = Schema(tuple(Feature(f"x{j}") for j in range(COLUMNS)), target="y")

# Four clauses, 20 literals on 14 columns. Of normal rows each literal holds for 55 to 85 %, so that a clause is decided
# at any of its literals, and 45 % of the rows are positive. `benchmarks.speed.serving.by_hand` says the same in Python.
CLAUSES: tuple[tuple[tuple[int, str, float], ...], ...] = (
    ((0, "<=", 0.31), (3, ">", -0.12), (5, "<=", 0.47), (8, ">", -0.26)),
    ((11, ">", -0.35), (13, "<=", 0.58), (0, ">", -0.74), (17, "<=", 0.22), (21, ">", -0.41)),
    ((3, "<=", 0.63), (22, ">", -0.18), (24, "<=", 0.39), (8, "<=", 0.85), (26, ">", -0.52)),
    ((28, "<=", 0.27), (11, "<=", 0.66), (5, ">", -0.81), (29, ">", -0.33), (22, "<=", 1.05), (19, ">", -0.49)),
)


def rows(n: int, seed: int = 0) -> Array:
    """Normal numbers, float32 [n, 30]."""
    return np.random.default_rng(seed).standard_normal((n, COLUMNS), dtype=np.float32)


def clauses() -> RuleGraph:
    """The disjunction of CLAUSES: 4 clauses and 20 literals."""
    found = [And([Compare(f"x{j}", op, value) for j, op, value in clause]) for clause in CLAUSES]
    return RuleGraph(SCHEMA, (0, 1), Fires(Or(found)))


# A tree of linear threshold units -------------------------------------------------------------------------------------

DEPTH = 4
BOUND, STEP, MISSING = 4.0, 2.0**-8, 0.0
_WEIGHT_GRID = 64


@dataclass(frozen=True, slots=True, eq=False)
class LtuTree:
    """weights [15, 30] and biases [15] of the inner nodes in heap order; truth [16] of the leaves, from the left."""

    weights: Array
    biases: Array
    leaves: tuple[bool, ...]

    def paths(self) -> list[list[tuple[int, bool]]]:
        """For each positive leaf, its nodes from the root with whether the unit fires on the way there."""
        found = []
        for leaf, positive in enumerate(self.leaves):
            node, path = leaf + len(self.biases), []
            while node:
                node, right = (node - 1) // 2, node % 2 == 0
                path.append((node, right))
            if positive:
                found.append(path[::-1])
        return found


def ltu_tree(seed: int = 0, depth: int = DEPTH) -> LtuTree:
    """A tree with dense weights in multiples of 1/64 and alternating leaves."""
    rng = np.random.default_rng(seed)
    units = 2**depth - 1
    weights = np.rint(rng.normal(0, 0.4, (units, COLUMNS)) * _WEIGHT_GRID) / _WEIGHT_GRID
    biases = np.rint(rng.normal(0, 0.5, units) * _WEIGHT_GRID) / _WEIGHT_GRID
    return LtuTree(weights, biases, tuple(leaf % 2 == 1 for leaf in range(units + 1)))


def ltu_units(tree: LtuTree) -> list[LinearThreshold]:
    """Its units: columns are clipped to [-4, 4] and rounded to multiples of 2^-8, so that sums have at most 24 bits."""
    cleaned = [Column(f"x{j}", MISSING, -BOUND, BOUND, STEP) for j in range(COLUMNS)]
    return [
        LinearThreshold(list(zip(weights, cleaned, strict=True)), bias)
        for weights, bias in zip(tree.weights.tolist(), tree.biases.tolist(), strict=True)
    ]


def paths_of(schema: Schema, tree: LtuTree, units: Sequence[LinearThreshold]) -> RuleGraph:
    """A tree of units as the disjunction of the paths to its positive leaves."""
    paths = [And([units[k] if fires else Not(units[k]) for k, fires in path]) for path in tree.paths()]
    return RuleGraph(schema, (0, 1), Fires(Or(paths)))


def ltu_graph(tree: LtuTree) -> RuleGraph:
    """The tree over cleaned columns."""
    return paths_of(SCHEMA, tree, ltu_units(tree))


# Sums of stumps -------------------------------------------------------------------------------------------------------

_FLOAT_BITS = 24


def stumps_graph(stumps: Mapping[str, Array]) -> RuleGraph:
    """The weighted vote of stumps as one step function per column; positive where the sum is above 0.

    stumps: feature, threshold (a double t: x <= t goes left), below and above (votes, -1 or 1, left and right) and
    weight, each [m]. Weights are rounded to the finest power of two with which every sum has at most 24 bits,
    thresholds down to float32, which moves no float32 row.
    """
    weights = np.asarray(stumps["weight"], dtype=np.float64)
    grid = 2.0 ** (math.ceil(math.log2(weights.sum())) + 1 - _FLOAT_BITS)
    weights = np.rint(weights / grid) * grid
    cuts: dict[int, dict[float, float]] = {}
    start: dict[int, float] = {}
    for feature, threshold, below, above, weight in zip(
        stumps["feature"].tolist(),
        stumps["threshold"].tolist(),
        stumps["below"].tolist(),
        stumps["above"].tolist(),
        weights.tolist(),
        strict=True,
    ):
        cut = canonical_threshold(_down_to_float32(threshold), "float32")
        jumps = cuts.setdefault(feature, {})
        jumps[cut] = jumps.get(cut, 0.0) + weight * (above - below)
        start[feature] = start.get(feature, 0.0) + weight * below
    terms: list[tuple[float, Node]] = []
    for feature in sorted(cuts):
        ordered = sorted(cuts[feature])
        values = np.cumsum([start[feature], *(cuts[feature][cut] for cut in ordered)]).tolist()
        terms.append((1.0, Step(f"x{feature}", tuple(ordered), tuple(values), 0.0)))
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(Linear(terms, 0.0), 0.0)))


def _down_to_float32(value: float) -> float:
    """The largest float32 that is not above a double."""
    nearest = float32(value)
    return nearest if nearest <= value else float(np.nextafter(np.float32(nearest), np.float32(-math.inf)))


# Noisy formulas -------------------------------------------------------------------------------------------------------


def noisy(literals: int, columns: int, clause: int, seed: int = 0) -> RuleGraph:
    """A disjunction of conjunctions of `clause` hidden bits each, one bit per literal; positive from 1/2 on."""
    rng = np.random.default_rng(seed)
    bits: list[Node] = []
    for k in range(literals):
        op = "<=" if rng.random() < 0.5 else ">"
        cause = Compare(f"x{k % columns}", op, round(float(rng.normal(0, 0.5)), 2))
        on, off = strength_of(round(float(rng.uniform(0.75, 0.99)), 2)), strength_of(0.02)
        bits.append(Hidden(f"h{k + 1}", cause, on, off))
    formula = Or([And(bits[k : k + clause]) for k in range(0, literals, clause)])
    probability = Probability(formula)
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(probability, 0.5)), (probability,))
