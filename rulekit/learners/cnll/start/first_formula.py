"""A formula that growth begins with: the bits of known rules, and which of them stay as they are.

Frozen clauses hang below the one Or at the root. No move goes into them and none joins the root by and, so a row that a
frozen clause decides is decided so by every formula that is grown around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rulekit.graph.nodes import Node
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree


@dataclass(frozen=True, slots=True, eq=False)
class Start:
    """tree over bits, of which the frozen ones stay; kept: per tree node the clause that stands there word for word.

    names: of the frozen bits their names (of plain conditions the id of a rule). inside: the tree nodes of frozen
    clauses. decided: clauses of a Boolean decision that stay in it; boolean: the decision was a Boolean one.
    """

    tree: ReadOnceTree
    bits: tuple[Bit, ...]
    kept: Mapping[int, Node] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    inside: frozenset[int] = frozenset()
    decided: tuple[Node, ...] = ()
    boolean: bool = False

    @property
    def learned(self) -> int:
        """How many of its bits are free: they count as units."""
        return sum(not bit.frozen for bit in self.bits)

    def with_share(self, share: float) -> Start:
        """A formula of a single free bit rests at the share of positive rows, as the first bit of any formula does."""
        if len(self.bits) > 1 or self.kept:
            return self
        return replace(self, bits=(replace(self.bits[0], rest=share),))

    def allowed(self, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
        """The moves that leave every frozen clause as it is, and what it decides."""
        if not self.kept:
            return moves
        return [
            move
            for move in moves
            if move.node not in self.inside and not (move.node == tree.root and move.operator == "and")
        ]
