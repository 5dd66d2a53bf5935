"""Exact ties: rows moved onto the hyperplane of a linear threshold, and one step beside it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Above, Column, Linear, LinearThreshold, Node
from rulekit.graph.rule_graph import RuleGraph

MAX_NODES = 64


def move_to_ties(graph: RuleGraph, columns: dict[str, npt.NDArray[Any]], rng: np.random.Generator) -> None:
    """Changes, in every 16th row, one numeric column such that a linear sum of the graph meets its threshold.

    columns: raw values by name, changed in place.
    """
    sums = _sums(graph)[:MAX_NODES]
    n_rows = len(next(iter(columns.values()))) if columns else 0
    rows = np.arange(0, n_rows, 16)
    if not sums or not len(rows):
        return
    table = graph.table({name: values[rows] for name, values in columns.items()})
    owner = rng.integers(len(sums), size=len(rows))
    direction = rng.choice(np.array([-math.inf, math.inf, math.nan]), size=len(rows))
    values = evaluate_nodes([child for node, _ in sums for child in node.children], table)
    for i, (node, threshold) in enumerate(sums):
        terms = [j for j, child in enumerate(node.children) if isinstance(child, Column)]
        if not terms:
            continue
        moved = terms[int(rng.integers(len(terms)))]
        weight, column = node.terms[moved]
        if not isinstance(column, Column) or weight == 0.0 or graph.schema[column.feature].kind != "numeric":
            continue  # a Boolean cell is 0, 1 or missing
        rest = np.full(len(rows), node.bias - threshold)
        for j, (factor, child) in enumerate(node.terms):
            if j != moved:
                rest = rest + factor * np.asarray(values[child], dtype=np.float64)
        meets = -rest / weight
        beside = np.where(np.isnan(direction), meets, np.nextafter(meets, direction))
        fits = (owner == i) & (meets >= column.low) & (meets <= column.high)
        columns[column.feature][rows[fits]] = beside[fits]


def _sums(graph: RuleGraph) -> list[tuple[Linear | LinearThreshold, float]]:
    """Every linear sum that is compared with a number, and that number."""
    found: list[tuple[Linear | LinearThreshold, float]] = [
        (node, 0.0) for node in graph.nodes() if isinstance(node, LinearThreshold)
    ]
    found += [(n.score, n.threshold) for n in graph.nodes() if isinstance(n, Above) and isinstance(n.score, Linear)]
    return [pair for pair in found if _reads_a_column(pair[0])]


def _reads_a_column(node: Node) -> bool:
    return any(isinstance(child, Column) for child in node.children)
