"""Hard limits on the size of a model: columns, rules and literals, as `rulekit.graph.rules.counts` sees them.

While a formula grows, a move that must lead beyond a limit is not offered; the exact size is known only of the model
that is assembled, so the choice from the path of sizes has the last word.
"""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.graph.nodes import FALSE, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most distinct columns, rules and literals of the whole model; None: no limit."""

    features: int | None = None
    clauses: int | None = None
    literals: int | None = None

    def hold_for(self, graph: RuleGraph) -> bool:
        """Whether a model keeps to every limit."""
        if self.features is not None and len(graph.used_features) > self.features:
            return False
        if self.clauses is None and self.literals is None:
            return True
        size = counts(graph)
        return (self.clauses is None or size.rules <= self.clauses) and (
            self.literals is None or size.literals <= self.literals
        )

    def allowed(self, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
        """The moves after which some printed form may still keep to the limits.

        A bit is one literal of the nested form, at least. Its rules are the children of the outermost connective; in
        the disjunctive normal form they are at least as many as the branches below the alternatives of the root.
        """
        if self.literals is not None and sum(bit >= 0 for bit in tree.bit) >= self.literals:
            return []
        if self.clauses is None or tree.root < 0:
            return moves
        return [move for move in moves if _least_rules(tree, move) <= self.clauses]


NO_LIMITS = SizeLimits()


def rule_count(formula: Node) -> int:
    """The rules of a Boolean formula that decides."""
    if isinstance(formula, Or):
        return len(formula.children)
    return 0 if formula is FALSE else 1


def _least_rules(tree: ReadOnceTree, move: Move) -> int:
    """The rules after a move: of the nested form or of the plain disjunctive normal form, whichever has fewer."""
    after = tree.copy()
    after.join(move, sum(bit >= 0 for bit in tree.bit))
    nested = max(1, len(after.children[after.root]))
    clauses: dict[int, int] = {}
    for node in reversed(after.order()):
        below = [clauses[child] for child in after.children[node]]
        if after.bit[node] >= 0:
            clauses[node] = 1
        elif after.operator[node] == "or":
            clauses[node] = sum(below)
        else:
            product = 1
            for count in below:
                product *= count
            clauses[node] = product
    return min(nested, clauses[after.root])
