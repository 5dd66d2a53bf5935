"""Leaves as strict comparisons, which are false for NaN in every runtime, and all that a graph reads of its columns.

`x > t` is a strict comparison as it stands, and `x <= t` is `x < t'` with t' the next number above t in the width of
the column. A leaf that is true where x is missing is the negation of the opposite strict comparison (docs/onnx.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rulekit.graph.leaves import by_code, column_of, truth_by_code
from rulekit.graph.nodes import Column, Compare, Family, IsTrue, LevelPoints, Missing, Node, Step, fold, is_logic
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32, next_float32
from rulekit.schema import Feature, Schema


@dataclass(frozen=True, slots=True)
class StrictCondition:
    """`x > bound`, `x < bound` or x is missing; false for NaN but for the last."""

    feature: str
    relation: Literal[">", "<", "missing"]
    bound: float = 0.0


@dataclass(frozen=True, slots=True)
class Membership:
    """The code of a category has the value true in a table: missing, unseen, the levels."""

    feature: str
    table: tuple[bool, ...]


Bit = StrictCondition | Membership


def bit_of(leaf: Node, schema: Schema) -> tuple[Bit, bool] | None:
    """What a leaf asks of its column, and the sign; None for a node of another kind, or one that is constant."""
    name = column_of(leaf) if leaf.family is Family.BOOLEAN else None
    feature = schema[name] if name is not None else None
    if feature is not None and feature.kind == "categorical":
        table = tuple(truth_by_code(leaf, feature).tolist())
        return (Membership(feature.name, table), True) if len(set(table)) == 2 else None
    if isinstance(leaf, Compare):
        return _compared(schema[leaf.feature], leaf.op, leaf.value, leaf.missing)
    if isinstance(leaf, IsTrue):
        return _compared(schema[leaf.feature], ">", 0.5, leaf.missing)
    return (StrictCondition(leaf.feature, "missing"), True) if isinstance(leaf, Missing) else None


def _compared(feature: Feature, op: str, value: float, missing: bool) -> tuple[StrictCondition, bool]:
    """The literal of `x > value` or `x <= value`: the comparison to make is the one that must be false for NaN."""
    wide = is_wide(feature)
    t = value if wide else float32(value)
    if (op == ">") is not missing:
        return StrictCondition(feature.name, ">", t), not missing
    return StrictCondition(feature.name, "<", next_above(t, wide)), not missing


def next_above(value: float, wide: bool) -> float:
    """The next number of a column's width, never -0.0."""
    return (math.nextafter(value, math.inf) if wide else next_float32(value)) + 0.0


def is_wide(feature: Feature) -> bool:
    """Whether a column is compared in double."""
    return feature.kind == "numeric" and feature.precision == "float64"


def bound_of(bit: StrictCondition, feature: Feature) -> float:
    """The t of `x > t`, or of `x <= t`, which stands as x < t' in the condition."""
    if bit.relation == ">":
        return bit.bound
    if is_wide(feature):
        return math.nextafter(bit.bound, -math.inf)
    return -next_float32(-bit.bound) + 0.0


def contrary_of(bit: StrictCondition, feature: Feature) -> StrictCondition:
    """The comparison that holds where a comparison fails and its column is not missing."""
    if bit.relation == ">":
        return StrictCondition(bit.feature, "<", next_above(bit.bound, is_wide(feature)))
    return StrictCondition(bit.feature, ">", bound_of(bit, feature))


class NotOfBitsError(Exception):
    """What a graph decides is no function of few enough bits; the text says why."""


def reads(graph: RuleGraph) -> tuple[list[Node], list[Bit]]:
    """The largest nodes of pure logic that the decision and the probabilities read, and the bits of steps and points.

    Raises NotOfBitsError where a sum takes up the values of a column.
    """
    found = [*graph.decision.roots, *graph.probability]
    logical = fold(found, lambda node, parts: is_logical(node) and all(parts))
    roots: dict[Node, None] = {}
    bits: dict[Bit, None] = {}
    done: set[Node] = set()
    stack = found[::-1]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        done.add(node)
        if logical[node]:
            roots[node] = None
        elif isinstance(node, Column):
            raise NotOfBitsError(f"a sum takes up the values of the column {node.feature!r}")
        elif isinstance(node, Step):
            bits.update(dict.fromkeys(bits_of_steps(graph, node)))
        elif isinstance(node, LevelPoints):
            bits.update(dict.fromkeys(bits_of_points(graph, node)))
        else:
            stack.extend(reversed(node.children))
    return list(roots), list(bits)


def is_logical(node: Node) -> bool:
    """Whether a node is a Boolean leaf or connective, whatever stands below it."""
    return is_logic(node) or (node.family is Family.BOOLEAN and not node.children)


def bits_of_steps(graph: RuleGraph, node: Step) -> list[Bit]:
    """The cuts of a step function that are passed, and its column missing where that is like neither end."""
    wide = is_wide(graph.schema[node.feature])
    cuts = [(cut if wide else float32(cut)) + 0.0 for cut in node.cuts]
    if node.missing == node.values[-1] != node.values[0]:  # x < t' is false for missing, as above all cuts
        return [StrictCondition(node.feature, "<", next_above(cut, wide)) for cut in cuts]
    passed: list[Bit] = [StrictCondition(node.feature, ">", cut) for cut in cuts]
    return passed if node.missing == node.values[0] else [*passed, StrictCondition(node.feature, "missing")]


def bits_of_points(graph: RuleGraph, node: LevelPoints) -> list[Bit]:
    """The sets of codes with the same points, but for the last one: it is what no other is."""
    values = by_code(node, graph.schema[node.feature]).tolist()
    sets = [tuple(value == points for value in values) for points in dict.fromkeys(values)]
    return [Membership(node.feature, held) for held in sets[:-1]]
