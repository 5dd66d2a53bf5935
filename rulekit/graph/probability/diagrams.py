"""Reduced ordered binary decision diagrams with complement edges (Bryant 1986; Brace, Rudell and Bryant 1990).

An edge is an integer: twice the number of its node, plus one where it is complemented. Node 0 is the constant true, so
TRUE is edge 0 and FALSE is edge 1. Variables are numbered by their level, 0 at the top. Nothing recurses.

`diagram_of` is that of a connective whose children share hidden bits, over the region of nodes below it. Its variables
are Boolean nodes, hidden bits and modules: subformulas that contain every occurrence of each of their hidden bits. A
module is one random bit to all that stands above it, so an exact probability may treat it as a variable. A node is a
module if every path from the roots to its hidden bits leads through it: no node below it has a parent that is neither
the node itself nor below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rulekit.errors import BudgetError
from rulekit.graph.nodes import And, AtLeast, Family, Hidden, Node, Not, Odd, topological

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


_FIRST_BOUND = 20_000


def modules_below(roots: Sequence[Node]) -> frozenset[Node]:
    """The connectives at or below `roots` that contain all occurrences, below the roots, of their hidden bits."""
    order = topological(_random(roots), _parts)
    place = {node: i for i, node in enumerate(order)}
    # sets of nodes as the bits of integers: the parents of each node, all nodes below it and all parents of those
    top = set(roots)
    parents = [1 << len(order) if node in top else 0 for node in order]
    for i, node in enumerate(order):
        for child in _parts(node):
            parents[place[child]] |= 1 << i
    below, parents_below = [0] * len(order), [0] * len(order)
    modules = []
    for i, node in enumerate(order):
        for j in (place[child] for child in _parts(node)):
            below[i] |= below[j] | 1 << j
            parents_below[i] |= parents_below[j] | parents[j]
        if not isinstance(node, Hidden) and not parents_below[i] & ~(below[i] | 1 << i):
            modules.append(node)
    return frozenset(modules)


def _parts(node: Node) -> Sequence[Node]:
    return () if isinstance(node, Hidden) else _random(node.children)


def _random(nodes: Iterable[Node]) -> list[Node]:
    return [node for node in nodes if node.family is Family.RANDOM]


def is_random_logic(node: Node) -> bool:
    """Whether a node is a connective with a random child (not a hidden bit itself)."""
    return node.family is Family.RANDOM and not isinstance(node, Hidden)


@dataclass(frozen=True, slots=True)
class _Region:
    """The nodes of a group of children, each after its children, and those of them that are variables."""

    order: tuple[Node, ...]
    variables: tuple[Node, ...]


def _region(children: Sequence[Node], modules: frozenset[Node]) -> _Region:
    def is_variable(node: Node) -> bool:
        """A negation of a Boolean node is looked into: the node and its contrary are one variable."""
        return node in modules or not (is_random_logic(node) or isinstance(node, Not))

    order = topological(children, lambda node: () if is_variable(node) else node.children)
    return _Region(tuple(order), tuple(filter(is_variable, order)))


def diagram_of(
    connective: type[Node], k: int, children: Sequence[Node], max_nodes: int
) -> tuple[Diagram, int, tuple[Node, ...]]:
    """A decision diagram of a connective over the region below it, its root edge and its variables from the top.

    The variables stand in the order of their first occurrence; where that needs too many nodes, nearest to the root
    first, which is far smaller for deep formulas that come back to the same few bits. Small bounds are tried first.
    """
    region = _region(children, modules_below(children))
    first = max(_FIRST_BOUND, 16 * len(region.order))
    for bound in dict.fromkeys((min(first, max_nodes), max_nodes)):
        for variables in (region.variables, _nearest_first(region, children)):
            diagram = Diagram(bound)
            edges = {node: diagram.variable(level) for level, node in enumerate(variables)}
            try:
                for node in region.order:
                    if node not in edges:
                        parts = [edges[child] for child in node.children]
                        edges[node] = diagram.connected(type(node), getattr(node, "k", 0), parts)
                return diagram, diagram.connected(connective, k, [edges[child] for child in children]), variables
            except BudgetError as error:
                exceeded = error
    raise exceeded


def _nearest_first(region: _Region, children: Sequence[Node]) -> tuple[Node, ...]:
    known, variables = set(region.order), set(region.variables)
    found = dict.fromkeys(children)
    layer = list(found)
    while layer:
        below = dict.fromkeys(child for node in layer if node not in variables for child in node.children)
        layer = [node for node in below if node in known and node not in found]
        found.update(dict.fromkeys(layer))
    return tuple(node for node in found if node in variables)
