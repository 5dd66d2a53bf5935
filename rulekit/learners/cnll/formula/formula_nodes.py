"""A learned formula as nodes of the rule graph: hidden bits, their conditions, the nested formula."""

from __future__ import annotations

from collections.abc import Mapping

from rulekit.graph.nodes import TRUE, And, Hidden, Node, Or
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.conditions import condition_node
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.search.pair_bits import PairBit, contrary
from rulekit.numbers import strength_of


def hidden_bit(columns: tuple[BinnedColumn, ...], bit: Bit, name: str) -> Node:
    """The hidden bit, its condition turned so that it fires with the larger strength where it holds.

    Where both strengths are the same the condition does nothing, and the bit has none.
    """
    if bit.alpha == bit.beta:
        return Hidden(name, TRUE, strength_of(bit.alpha), 0.0)
    cause = bit_condition(columns, bit, bit.alpha >= bit.beta)
    return Hidden(name, cause, strength_of(max(bit.alpha, bit.beta)), strength_of(min(bit.alpha, bit.beta)))


def bit_condition(columns: tuple[BinnedColumn, ...], bit: Bit, holds: bool = True) -> Node:
    """The Boolean node of a bit's condition, or of its contrary."""
    if isinstance(bit, PairBit):
        return _pair(columns, bit if holds else contrary(bit))
    return condition_node(columns[bit.column], bit.condition if holds else bit.known & ~bit.condition)


def _pair(columns: tuple[BinnedColumn, ...], bit: PairBit) -> Node:
    one, two = columns[bit.column], columns[bit.other]
    a, b = condition_node(one, bit.condition), condition_node(two, bit.other_condition)
    if bit.junction != "xor":
        return And([a, b]) if bit.junction == "and" else Or([a, b])
    not_a = condition_node(one, bit.known & ~bit.condition)
    not_b = condition_node(two, bit.other_known & ~bit.other_condition)
    return Or([And([a, not_b]), And([not_a, b])])


def formula_node(tree: ReadOnceTree, hidden: list[Node], kept: Mapping[int, Node] | None = None) -> Node:
    """The nested formula over hidden bits; kept: tree nodes at which a given clause stands as it is."""
    made: dict[int, Node] = {}
    kept = kept or {}
    for node in reversed(tree.order()):
        if node in kept:
            made[node] = kept[node]
        elif tree.bit[node] >= 0:
            made[node] = hidden[tree.bit[node]]
        else:
            parts = [made[child] for child in tree.children[node]]
            joined = And(parts) if tree.operator[node] == "and" else Or(parts)
            made[node] = parts[0] if len(parts) == 1 else joined
    return made[tree.root]
