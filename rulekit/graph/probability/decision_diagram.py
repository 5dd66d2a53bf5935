"""Reduced ordered binary decision diagrams with complement edges (Bryant 1986; Brace, Rudell and Bryant 1990).

An edge is an integer: twice the number of its node, plus one where it is complemented. Node 0 is the constant true, so
TRUE is edge 0 and FALSE is edge 1. Variables are numbered by their level, 0 at the top. Nothing recurses.
"""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.errors import BudgetError
from rulekit.graph.nodes import And, AtLeast, Node, Not, Odd
from rulekit.graph.traversal import topological

TRUE = 0
FALSE = 1

_OPERATIONS_PER_NODE = 8


class Diagram:
    """A growing diagram of at most `max_nodes` nodes; raises BudgetError beyond them."""

    def __init__(self, max_nodes: int) -> None:
        self._max_nodes = max_nodes
        self._level = [1 << 60]
        self._high = [TRUE]
        self._low = [TRUE]
        self._unique: dict[tuple[int, int, int], int] = {}
        self._conjunctions: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self._level)

    def variable(self, level: int) -> int:
        """The edge that is true exactly where the variable of this level is."""
        return self._make(level, TRUE, FALSE)

    def branches(self, edge: int) -> tuple[int, int, int]:
        """Level, edge where the variable is true, edge where it is false, of an edge that is no constant."""
        node, complement = edge >> 1, edge & 1
        return self._level[node], self._high[node] ^ complement, self._low[node] ^ complement

    def conjunction(self, edges: Sequence[int]) -> int:
        """The edge of "all of them"."""
        result = TRUE
        for edge in edges:
            result = self._conjoin(result, edge)
        return result

    def disjunction(self, edges: Sequence[int]) -> int:
        """The edge of "at least one of them"."""
        return self.conjunction([edge ^ 1 for edge in edges]) ^ 1

    def choice(self, condition: int, high: int, low: int) -> int:
        """The edge of "high where the condition holds, else low"."""
        return self.disjunction([self._conjoin(condition, high), self._conjoin(condition ^ 1, low)])

    def at_least(self, k: int, edges: Sequence[int]) -> int:
        """The edge of "at least k of them" (an edge that stands twice counts twice)."""
        if k <= 0:
            return TRUE
        needed = [TRUE] + [FALSE] * k  # needed[j]: at least j of the edges seen so far, from the last one
        for edge in reversed(edges):
            needed = [TRUE] + [self.choice(edge, needed[j - 1], needed[j]) for j in range(1, k + 1)]
        return needed[k]

    def odd(self, edges: Sequence[int]) -> int:
        """The edge of "an odd number of them" (edges that stand twice cancel)."""
        result = FALSE
        for edge in edges:
            result = self.choice(edge, result ^ 1, result)
        return result

    def connected(self, connective: type[Node], k: int, parts: Sequence[int]) -> int:
        """The edge of Not, And, Or, Odd, or AtLeast k of some edges."""
        if connective is Not:
            return parts[0] ^ 1
        if connective is AtLeast:
            return self.at_least(k, parts)
        if connective is Odd:
            return self.odd(parts)
        return self.conjunction(parts) if connective is And else self.disjunction(parts)

    def below(self, root: int) -> list[int]:
        """Every edge reachable from `root` that is no constant, branches before their edge, in a fixed order."""

        def below(edge: int) -> list[int]:
            return [branch for branch in self.branches(edge)[1:] if branch not in (TRUE, FALSE)]

        return topological([root] if root not in (TRUE, FALSE) else [], below)

    def _make(self, level: int, high: int, low: int) -> int:
        if high == low:
            return high
        complement = high & 1  # canonical: the high edge of a node is never complemented
        key = (level, high ^ complement, low ^ complement)
        node = self._unique.get(key)
        if node is None:
            node = len(self._level)
            if node > self._max_nodes:
                raise self._exceeded()
            self._unique[key] = node
            self._level.append(level)
            self._high.append(key[1])
            self._low.append(key[2])
        return 2 * node + complement

    def _conjoin(self, first: int, second: int) -> int:
        stack = [(first, second, False)]
        results: list[int] = []
        while stack:
            f, g, branches_done = stack.pop()
            if branches_done:
                low, high = results.pop(), results.pop()
                level = min(self._level[f >> 1], self._level[g >> 1])
                result = self._make(level, high, low)
                if len(self._conjunctions) > _OPERATIONS_PER_NODE * self._max_nodes:
                    raise self._exceeded()
                self._conjunctions[f, g] = result
                results.append(result)
                continue
            if f > g:
                f, g = g, f
            known = _trivial_conjunction(f, g)
            if known is None:
                known = self._conjunctions.get((f, g))
            if known is not None:
                results.append(known)
                continue
            level = min(self._level[f >> 1], self._level[g >> 1])
            f_high, f_low = self.cofactors(f, level)
            g_high, g_low = self.cofactors(g, level)
            stack += [(f, g, True), (f_low, g_low, False), (f_high, g_high, False)]
        return results[0]

    def cofactors(self, edge: int, level: int) -> tuple[int, int]:
        """The edges where the variable of a level, which none above it is, is true and where it is false."""
        if self._level[edge >> 1] != level:
            return edge, edge
        return self.branches(edge)[1:]

    def _exceeded(self) -> BudgetError:
        return BudgetError(
            f"the exact probability needs a decision diagram of more than {self._max_nodes} nodes",
            fix="share fewer hidden bits between clauses, or allow more nodes",
        )


def _trivial_conjunction(f: int, g: int) -> int | None:
    """The conjunction of two edges f <= g where it takes no work."""
    if f in (TRUE, g):
        return g
    if f == FALSE or g == f ^ 1:
        return FALSE
    return None
