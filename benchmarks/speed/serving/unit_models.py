"""Trees of linear threshold units over Boolean columns, and trees written as nested choices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.speed.serving.floors import defines, listed, paths_macro
from benchmarks.speed.serving.models import DEPTH, Array, LtuTree
from benchmarks.speed.serving.ways import Pool
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import And, Column, IsTrue, Linear, LinearThreshold, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

BOOLEANS = 50
MISSING_SHARE = 0.02
MOST_MOVED = 200  # rows for each unit and column
BOOLEAN_SCHEMA = Schema(tuple(Feature(f"b{j}", "boolean") for j in range(BOOLEANS)), target="y")


class BooleanPool(Pool):
    """Rows of 0 and 1, some of them missing, float32 [n, 50]."""

    def __init__(self, n: int, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.integers(0, 2, (n, BOOLEANS)).astype(np.float32)
        self.rows[rng.random((n, BOOLEANS), dtype=np.float32) < MISSING_SHARE] = np.nan
        self.columns = {f"b{j}": np.ascontiguousarray(self.rows[:, j]) for j in range(BOOLEANS)}


class RowsPool(Pool):
    """Rows that are given, float32 [n, columns]."""

    def __init__(self, rows: Array) -> None:
        self.rows, self.columns = rows, {}


def boolean_tree(live: tuple[int, int] = (5, BOOLEANS), depth: int = DEPTH, seed: int = 0) -> LtuTree:
    """A tree of whole weights on so many columns a unit, on half of them where the column is 0.

    weights [units, 100]: of the columns that are 1, then of those that are 0; each threshold is an attainable sum.
    """
    rng = np.random.default_rng(seed)
    units = 2**depth - 1
    weights, biases = np.zeros((units, 2 * BOOLEANS)), np.zeros(units)
    for unit in weights:
        chosen = rng.permutation(BOOLEANS)[: rng.integers(live[0], live[1] + 1)]
        unit[chosen + BOOLEANS * rng.integers(0, 2, len(chosen))] = rng.choice([-2, -1, 1, 2, 3], len(chosen))
    biases = -np.rint(weights.sum(axis=1) / 2)
    return LtuTree(weights, biases, tuple(leaf % 2 == 1 for leaf in range(units + 1)))


def boolean_units(tree: LtuTree) -> list[LinearThreshold]:
    """The units; `not x` is false where x is missing."""
    literals = [
        *(IsTrue(f"b{j}") for j in range(BOOLEANS)),
        *(Not(IsTrue(f"b{j}", missing=True)) for j in range(BOOLEANS)),
    ]
    return [
        LinearThreshold([(weight, node) for weight, node in zip(weights, literals, strict=True) if weight], bias)
        for weights, bias in zip(tree.weights.tolist(), tree.biases.tolist(), strict=True)
    ]


def boolean_header(tree: LtuTree) -> str:
    """model.h for c/ltu_boolean.c."""
    rows = ", ".join(listed(weights) for weights in tree.weights.tolist())
    return (
        defines(COLUMNS=BOOLEANS, UNITS=len(tree.biases))
        + f"static const float weights[UNITS][2 * COLUMNS] = {{{rows}}};\n"
        + f"static const float biases[UNITS] = {listed(tree.biases.tolist())};\n"
        + paths_macro(tree)
    )


def nested(schema: Schema, tree: LtuTree, units: list[LinearThreshold]) -> RuleGraph:
    """The tree as `if unit then right else left`."""
    parts: list[Node | bool] = [*units, *tree.leaves]
    for k in reversed(range(len(units))):
        sides = [(units[k], parts[2 * k + 2]), (Not(units[k]), parts[2 * k + 1])]
        held = [
            unit if side is True else And([unit, side]) for unit, side in sides if not isinstance(side, bool) or side
        ]
        parts[k] = Or(held) if len(held) > 1 else held[0]
    root = parts[0]
    assert isinstance(root, Node)
    return RuleGraph(schema, (0, 1), Fires(root))


def rows_on_planes(units: Sequence[LinearThreshold], table: Table) -> Array:
    """Float32 rows [n, columns] that lie exactly on the plane of a unit: those of a table, and what is made of others.

    Of every other row the cells of a column are moved to where the sum of a unit is 0, if one of its weights allows it.
    """
    rows = np.stack(table.arrays, axis=1).astype(np.float32)
    parts = [rows[_are_on_planes(units, table)]]
    for unit in units:
        sums = evaluate_nodes([node := Linear(unit.terms, unit.bias)], table)[node]
        for weight, child in unit.terms:
            if isinstance(child, Column) and weight:
                moved = rows.copy()
                place = [feature.name for feature in table.features].index(child.feature)
                cells = evaluate_nodes([child], table)[child]
                moved[:, place] = cells - sums / weight
                again = Table(table.features, tuple(moved.T), len(moved))
                parts.append(moved[evaluate_nodes([node], again)[node] == 0.0][:MOST_MOVED])
    return np.ascontiguousarray(np.concatenate(parts))


def _are_on_planes(units: Sequence[LinearThreshold], table: Table) -> Array:
    sums = [Linear(unit.terms, unit.bias) for unit in units]
    found = evaluate_nodes(sums, table)
    return np.asarray(np.any([found[node] == 0.0 for node in sums], axis=0))
