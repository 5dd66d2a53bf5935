"""The moves of a growing formula that hard limits of size leave open.

A move that must lead beyond a limit is not offered; the exact size is known only of the model that is assembled, so the
choice from the path of sizes has the last word.
"""

from __future__ import annotations

from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree
from rulekit.learners.fitting.size_limits import SizeLimits


def allowed_moves(limits: SizeLimits, tree: ReadOnceTree, moves: list[Move]) -> list[Move]:
    """The moves after which some printed form may still keep to the limits.

    A bit is one literal of the nested form, at least. Its rules are the children of the outermost connective; in
    the disjunctive normal form they are at least as many as the branches below the alternatives of the root.
    """
    if limits.literals is not None and sum(bit >= 0 for bit in tree.bit) >= limits.literals:
        return []
    if limits.clauses is None or tree.root < 0:
        return moves
    return [move for move in moves if _least_rules(tree, move) <= limits.clauses]


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
