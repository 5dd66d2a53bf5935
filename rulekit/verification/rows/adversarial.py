"""Adversarial rows: a test table aimed at every threshold, level and rule of one graph.

A row starts from values that satisfy (or break) a chosen part of the graph, its goal; then one cell is moved to a
boundary. Random cells almost never satisfy a conjunction of several literals; rows that do, with one cell moved, are
where a wrong artifact shows. Every boundary value of every used column is visited in turn, and some rows are moved onto
exact ties of sums. The same graph, number of rows and seed give the same rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import cuts_of, texts_of_codes
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import (
    LEAVES,
    Above,
    And,
    AtLeast,
    Column,
    Compare,
    Family,
    Hidden,
    Linear,
    LinearThreshold,
    Logistic,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.nodes import RawCompare
from rulekit.schema import Feature
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.raw.columns import TokenColumn, texts_of_sets
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets
from rulekit.verification.rows.boundaries import Pool, pool_of, thresholds_of, words_met

Mask = npt.NDArray[np.bool_]
Goal = dict[str, Mask]

MAX_STEPS = 2_000  # of one goal, so that a huge graph costs no more than a large one


def draw_goals(graph: RuleGraph, truth: Mapping[Node, Mask], count: int, rng: np.random.Generator) -> tuple[Goal, ...]:
    """`count` goals: per column name the pool values that are allowed.

    truth: for every leaf its value on the pool of its column.
    """
    nodes = [node for node in graph.nodes() if node.family in (Family.BOOLEAN, Family.RANDOM)]
    if not nodes:
        return tuple(_goal(graph.roots[0], True, truth, rng) for _ in range(count))
    # Rules stand near the roots, which come last; every node has its turn now and then.
    picks = np.where(rng.random(count) < 0.5, rng.integers(len(nodes), size=count), -1)
    wants = rng.random(count) < 0.75
    roots = graph.roots
    return tuple(
        _goal(roots[i % len(roots)] if pick < 0 else nodes[pick], bool(want), truth, rng)
        for i, (pick, want) in enumerate(zip(picks.tolist(), wants.tolist(), strict=True))
    )


def _goal(root: Node, want: bool, truth: Mapping[Node, Mask], rng: np.random.Generator) -> Goal:
    goal: Goal = {}
    stack = [(root, want)]
    for _ in range(MAX_STEPS):
        if not stack:
            break
        node, wanted = stack.pop()
        if isinstance(node, LEAVES):
            allowed = truth[node] == wanted
            both = allowed & goal[node.feature] if node.feature in goal else allowed
            if both.any():  # a condition that contradicts an earlier one is left out
                goal[node.feature] = both
        else:
            stack.extend(_subgoals(node, wanted, rng))
    return goal


def _subgoals(node: Node, wanted: bool, rng: np.random.Generator) -> list[tuple[Node, bool]]:
    children = node.children
    if not children:
        return []
    if isinstance(node, Not):
        return [(children[0], not wanted)]
    if isinstance(node, Linear | LinearThreshold):
        pairs = zip(node.weights, children, strict=True)
        return [(child, (weight > 0) == wanted) for weight, child in pairs if rng.random() < 0.7]
    if isinstance(node, Hidden | Probability | Logistic):
        return [(children[0], wanted)]
    if isinstance(node, Odd):
        truths = rng.random(len(children)) < 0.5
        truths[0] ^= bool(truths.sum() % 2) != wanted
        return list(zip(children, truths.tolist(), strict=True))
    if isinstance(node, And | Or | AtLeast):
        n = len(children)
        k = node.k if isinstance(node, AtLeast) else n if isinstance(node, And) else 1
        needed = k if wanted else n - k + 1
        chosen = rng.permutation(len(children))[: max(0, min(needed, len(children)))]
        return [(children[i], wanted) for i in chosen.tolist()]
    return [(child, wanted) for child in children]


Columns = dict[str, npt.NDArray[Any]]
ForeignCuts = tuple[tuple[str, tuple[float, ...]], ...]

MAX_CELLS = 40_000_000  # columns that the graph does not use are dropped beyond it
GOALS = 256


@dataclass(frozen=True, slots=True, eq=False)
class RawRows:
    """Rows as a user holds them, and the same rows encoded by the graph's schema.

    columns: by name, float64 [n] with NaN for missing (numeric, Boolean) or object [n] of text and None (category).
    table: the same rows encoded. Doubles between two float32 values exist in `columns` alone.
    """

    columns: Columns
    table: Table

    def __len__(self) -> int:
        return self.table.n_rows


def adversarial_rows(graph: RuleGraph, n_rows: int, seed: int = 0, aims: Collection[Node] = ()) -> RawRows:
    """`n_rows` rows aimed at the boundaries of `graph` and of `aims`, the leaves of an artifact.

    Deterministic in `seed`; thresholds of the artifact that the graph has as well change nothing.
    """
    return _rows_at(graph, n_rows, seed, tuple(_foreign_cuts(graph, aims).items()))


@lru_cache(maxsize=2)  # the artifacts of one model are often verified one after the other, some with rows of their own
def _rows_at(graph: RuleGraph, n_rows: int, seed: int, foreign_cuts: ForeignCuts) -> RawRows:
    """The rows, which nobody may change; foreign_cuts: by numeric column the further thresholds to aim at."""
    rng = np.random.default_rng(seed)
    thresholds = thresholds_of(graph)
    for name, foreign in foreign_cuts:
        thresholds[name] = tuple(sorted({*thresholds.get(name, ()), *foreign}))
    features = _tested_features(graph, n_rows)
    met = words_met(graph)
    pools = {f.name: pool_of(f, thresholds.get(f.name, ()), met.get(f.name, ())) for f in features}
    truth = _truth_on_pools(graph, pools)
    cells = _draw_cells(graph, pools, truth, n_rows, rng)
    columns = {name: pools[name].values[index] for name, index in cells.items()}
    move_to_ties(graph, columns, rng)
    table = encode(columns, graph.schema, used=columns)
    for array in (*columns.values(), *table.arrays):
        if not isinstance(array, TokenSets):
            array.setflags(write=False)
    return RawRows(columns, table)


def _foreign_cuts(graph: RuleGraph, aims: Collection[Node]) -> dict[str, tuple[float, ...]]:
    """By numeric column the finite doubles at which the aims change and the graph does not."""
    nodes = graph.nodes() if aims else []
    found: dict[str, tuple[float, ...]] = {}
    for feature in graph.schema:
        theirs = [node for node in aims if isinstance(node, Compare | RawCompare) and node.feature == feature.name]
        if theirs and feature.kind == "numeric":
            ours = [node for node in nodes if isinstance(node, Compare | Step) and node.feature == feature.name]
            known = set(cuts_of(feature, ours))
            further = (cut for cut in cuts_of(feature, theirs) if cut not in known and math.isfinite(cut))
            found[feature.name] = tuple(further)
    return {name: cuts for name, cuts in found.items() if cuts}


def raw_columns(table: Table) -> Columns:
    """The raw values of encoded rows: float64 columns, level texts, None for missing; some new text for unseen."""
    return {f.name: _decode(f, array) for f, array in zip(table.features, table.arrays, strict=True)}


def _decode(feature: Feature, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if isinstance(array, TokenSets):
        texts = np.empty(len(array), dtype=object)
        texts[:] = texts_of_sets(TokenColumn(feature.name, array, feature.levels), feature.missing_tokens)
        return texts
    if feature.kind != "categorical":
        return array.astype(np.float64)
    decoded: npt.NDArray[Any] = np.array(texts_of_codes(feature), dtype=object)[array]
    return decoded


def _tested_features(graph: RuleGraph, n_rows: int) -> list[Feature]:
    """All columns while they are few, else those that the graph uses: an unused NaN must not matter either."""
    if len(graph.schema) * n_rows <= MAX_CELLS:
        return list(graph.schema.features)
    return [graph.schema[name] for name in graph.used_features]


def _truth_on_pools(graph: RuleGraph, pools: dict[str, Pool]) -> dict[Node, Mask]:
    leaves = [node for node in graph.nodes() if isinstance(node, LEAVES)]
    if not leaves:
        return {}
    longest = max(len(pool) for pool in pools.values())
    columns = {name: np.resize(pool.values, longest) for name, pool in pools.items()}
    table = encode(columns, graph.schema, used=columns)
    values = evaluate_nodes(leaves, table)
    return {leaf: np.asarray(values[leaf])[: len(pools[leaf.feature])].astype(bool, copy=False) for leaf in leaves}


def _draw_cells(
    graph: RuleGraph, pools: dict[str, Pool], truth: dict[Node, Mask], n_rows: int, rng: np.random.Generator
) -> dict[str, npt.NDArray[np.intp]]:
    """Pool indices [n] by column: 80 % of the rows follow a goal, the rest are random; most get one boundary cell."""
    cells = {name: _any_value(pool, n_rows, rng) for name, pool in pools.items()}
    followers = int(n_rows * 0.8)
    goals = draw_goals(graph, truth, min(GOALS, max(1, followers)), rng)
    owner = rng.permutation(np.arange(followers) % len(goals))
    rows_of = np.split(np.argsort(owner, kind="stable"), np.searchsorted(np.sort(owner), np.arange(1, len(goals))))
    for goal, rows in zip(goals, rows_of, strict=True):
        for name, allowed in goal.items():
            places = np.flatnonzero(allowed)
            cells[name][rows] = places[rng.integers(len(places), size=len(rows))]
    _perturb(graph, pools, cells, n_rows, rng)
    return cells


def _any_value(pool: Pool, n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Half from the sharp values of the pool, half from all of it."""
    sharp = rng.integers(max(1, pool.sharp), size=n_rows)
    return np.where(rng.random(n_rows) < 0.5, sharp, rng.integers(len(pool), size=n_rows))


def _perturb(
    graph: RuleGraph,
    pools: dict[str, Pool],
    cells: dict[str, npt.NDArray[np.intp]],
    n_rows: int,
    rng: np.random.Generator,
) -> None:
    """Three rows of four get one cell replaced, going through every pool value of every used column in turn."""
    used = [name for name in graph.used_features if name in pools]
    if not used:
        return
    column = np.concatenate([np.full(len(pools[name]), j) for j, name in enumerate(used)])
    value = np.concatenate([np.arange(len(pools[name])) for name in used])
    order = rng.permutation(len(column))
    rows = np.flatnonzero(np.arange(n_rows) % 4 != 3)
    turn = order[np.arange(len(rows)) % len(order)]
    for j, name in enumerate(used):
        mine = column[turn] == j
        cells[name][rows[mine]] = value[turn[mine]]


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
    found: list[tuple[Linear | LinearThreshold, float]] = [
        (node, 0.0) for node in graph.nodes() if isinstance(node, LinearThreshold)
    ]
    found += [(n.score, n.threshold) for n in graph.nodes() if isinstance(n, Above) and isinstance(n.score, Linear)]
    return [pair for pair in found if any(isinstance(child, Column) for child in pair[0].children)]
