"""What a graph reads of its columns: the largest nodes of pure logic, and the bits behind them."""

from __future__ import annotations

from rulekit.graph.leaves import by_code
from rulekit.graph.nodes import Column, Family, LevelPoints, Node, Step, fold, is_logic
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import float32
from rulekit_exporters.onnx.conditions import Bit, Membership, StrictCondition, is_wide, next_above


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
