"""How a law is applied to a graph: children before parents, each node once, nothing recurses."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rulekit.cells.axis import Cells, cells_of
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import (
    And,
    AtLeast,
    Constant,
    Family,
    LinearThreshold,
    Node,
    Not,
    Or,
    with_children,
)
from rulekit.graph.rules import literals_over
from rulekit.graph.traversal import topological
from rulekit.schema import Schema
from rulekit.simplification import masks

Single = tuple[str | None, int]  # the column and the mask; (None, 0 or 1) for a constant


@dataclass(slots=True)
class Context:
    """What the laws know of the whole graph.

    messages: what was left undone, and why. work, cover_steps: how much minimisation
    the graph has had. blocks: the shorter form of each block that was minimised, or None. keep: hidden bits that are
    not merged with others.
    """

    schema: Schema
    cells: dict[str, Cells]
    messages: list[str] = field(default_factory=list)
    work: int = 0
    cover_steps: int = 0
    blocks: dict[Node, Node | None] = field(default_factory=dict)
    keep: frozenset[Node] = frozenset()
    _singles: dict[Node, Single | None] = field(default_factory=dict)
    _literals: dict[Node, int] = field(default_factory=dict)

    def single(self, node: Node) -> Single | None:
        """The column and the mask of a Boolean formula that reads one column only (or none); else None."""
        if node not in self._singles:
            for below in _new_below(node, self._singles):
                self._singles[below] = self._single(below)
        return self._singles[node]

    def _single(self, node: Node) -> Single | None:
        if node.family is not Family.BOOLEAN or isinstance(node, LinearThreshold):
            return None
        if isinstance(node, Constant):
            return None, int(node.value)
        if not node.children and not isinstance(node, And | Or | AtLeast):
            name = getattr(node, "feature", None)
            cells = self.cells.get(name) if isinstance(name, str) else None
            mask = cells.mask(node) if cells is not None else None
            return None if mask is None else (name, mask)
        parts = [self._singles[child] for child in node.children]
        if any(part is None for part in parts):
            return None
        names = {part[0] for part in parts if part and part[0] is not None}
        if len(names) > 1:
            return None
        name = names.pop() if names else None
        full = self.cells[name].full if name is not None else 1
        masks = [part[1] if part[0] is not None else full * part[1] for part in parts if part]
        mask = _combine(node, masks, full)
        return (None, int(mask == full)) if mask in (0, full) else (name, mask)

    def literals(self, node: Node) -> int:
        """The literals of a formula."""
        if node not in self._literals:
            for below in _new_below(node, self._literals):
                self._literals[below] = literals_over(below, [self._literals[child] for child in below.children])
        return self._literals[node]

    def formula(self, name: str | None, mask: int) -> Node:
        """The canonical formula of a mask."""
        return Constant(bool(mask)) if name is None else masks.formula(self.cells[name], mask)


def context_of(schema: Schema, roots: Iterable[Node]) -> Context:
    found = readers(roots)
    return Context(schema, {name: cells_of(schema[name], own) for name, own in found.items() if name in schema})


def _combine(node: Node, masks: list[int], full: int) -> int:
    if isinstance(node, Not):
        return full & ~masks[0]
    if isinstance(node, AtLeast):
        if node.k <= 0 or node.k > len(masks):
            return full if node.k <= 0 else 0
        reached = [full] + [0] * node.k
        for mask in masks:
            for j in range(node.k, 0, -1):
                reached[j] |= reached[j - 1] & mask
        return reached[node.k]
    result = full if isinstance(node, And) else 0
    for mask in masks:
        result = result & mask if isinstance(node, And) else result | mask
    return result


def _new_below(node: Node, known: Mapping[Node, object]) -> list[Node]:
    """The nodes below that are not known yet, children first."""
    return [below for below in topological((node,), lambda n: () if n in known else n.children) if below not in known]


Law = Callable[[Node, Context], Node]


@dataclass(frozen=True, slots=True)
class Change:
    """One application: the node before, with its children already rewritten, and after."""

    before: Node
    after: Node


def rewrite(
    roots: Iterable[Node], law: Law, context: Context, nodes: tuple[type[Node], ...], skip: Collection[Node] = ()
) -> tuple[dict[Node, Node], list[Change]]:
    """The image of every node below the roots when `law` is applied to each, children first, and what it changed.

    nodes: the types of nodes to which it is applied. skip: nodes that only get their new children.
    """
    image: dict[Node, Node] = {}
    changes: list[Change] = []
    for node in topological(roots):
        children = tuple(image[child] for child in node.children)
        rebuilt = node if children == node.children else with_children(node, children)
        image[node] = rebuilt if node in skip or not isinstance(node, nodes) else law(rebuilt, context)
        if image[node] is not rebuilt:
            changes.append(Change(rebuilt, image[node]))
    return image, changes


def joined(connective: type[And] | type[Or], children: Iterable[Node]) -> Node:
    """The connective over different children; of one child, the child; of none, the constant."""
    parts = tuple(dict.fromkeys(children))
    if len(parts) == 1:
        return parts[0]
    return connective(parts) if parts else Constant(connective is And)
