"""What a law may ask of the whole graph, and the laws of formulas over one column.

A formula over one column is a set of its cells: an integer with one bit per cell (`rulekit.cells.axis.Cells`). Both
values are allowed for cells that no row shows (a level never seen, where the schema lets none through), which are no
part of `full`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_, xor

from rulekit.cells.axis import Cells, cells_of
from rulekit.graph import nodes as rg
from rulekit.graph.leaves import readers, said_by_others
from rulekit.graph.nodes import FALSE, TRUE, Family, Node, topological
from rulekit.graph.rules import literals_over
from rulekit.numbers import canonical_threshold
from rulekit.schema import Schema

Single = tuple[str | None, int]  # the column and the mask; (None, 0 or 1) for a constant


@dataclass(slots=True)
class PassContext:
    """What the laws know of the whole graph.

    messages: what was left undone, and why. work, cover_steps: how much minimisation
    the graph has had. blocks: the shorter form of each block that was minimised, or None. keep: hidden bits that are
    not merged with others, and terms of sums that are not joined.
    """

    schema: Schema
    cells: dict[str, Cells]  # of all columns but texts, whose cells are too many
    messages: list[str] = field(default_factory=list)
    work: int = 0
    cover_steps: int = 0
    blocks: dict[Node, Node | None] = field(default_factory=dict)
    keep: frozenset[Node] = frozenset()
    _singles: dict[Node, Single | None] = field(default_factory=dict)
    _literals: dict[Node, int] = field(default_factory=dict)

    def single(self, node: Node) -> Single | None:
        """The column and the mask of a Boolean formula that reads one column only (or none); else None."""
        return self.singles((node,))[node]

    def singles(self, nodes: Iterable[Node]) -> Mapping[Node, Single | None]:
        """What `single` says of some nodes, among others."""
        for node in nodes:
            if node not in self._singles:
                for below in _new_below(node, self._singles):
                    self._singles[below] = self._single(below)
        return self._singles

    def _single(self, node: Node) -> Single | None:
        if node.family is not Family.BOOLEAN or isinstance(node, rg.LinearThreshold):
            return None
        if isinstance(node, rg.Constant):
            return None, int(node.value)
        if not node.children and not isinstance(node, rg.And | rg.Or | rg.AtLeast | rg.Odd):
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
        mask = combined(node, masks, full)
        return (None, int(mask == full)) if mask in (0, full) else (name, mask)

    def literals(self, node: Node) -> int:
        """The literals of a formula."""
        if node not in self._literals:
            for below in _new_below(node, self._literals):
                self._literals[below] = literals_over(below, [self._literals[child] for child in below.children])
        return self._literals[node]


def context_of(schema: Schema, roots: Iterable[Node]) -> PassContext:
    found = readers(roots)
    columns = {name: own for name, own in found.items() if name in schema and schema[name].kind != "text"}
    return PassContext(schema, {name: cells_of(schema[name], own) for name, own in columns.items()})


def combined(node: Node, masks: list[int], full: int) -> int:
    """Where a connective holds, as bits, of where its children do."""
    if isinstance(node, rg.Not):
        return full & ~masks[0]
    if isinstance(node, rg.Odd):
        return reduce(xor, masks, 0)
    if isinstance(node, rg.AtLeast):
        if node.k <= 0 or node.k > len(masks):
            return full if node.k <= 0 else 0
        reached = [full] + [0] * node.k
        for mask in masks:
            for j in range(node.k, 0, -1):
                reached[j] |= reached[j - 1] & mask
        return reached[node.k]
    return reduce(and_, masks, full) if isinstance(node, rg.And) else reduce(or_, masks, 0)


def _new_below(node: Node, known: Mapping[Node, object]) -> list[Node]:
    if all(child in known for child in node.children):
        return [node]
    return [below for below in topological((node,), lambda n: () if n in known else n.children) if below not in known]


Law = Callable[[Node, PassContext], Node]
Image = dict[Node, Node]
"""What each node below some roots becomes."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One application: the node before, with its children already rewritten, and after."""

    before: Node
    after: Node


def canonical(node: Node, context: PassContext) -> Node:
    """A formula that reads one column is the shortest formula of its cells: x > 1 or x > 3 is x > 1."""
    single = context.single(node)
    if single is None:
        return node
    name, mask = single
    simplest = rg.Constant(bool(mask)) if name is None else formula(context.cells[name], mask)
    return simplest if context.literals(simplest) <= context.literals(node) else node


def merge_columns(node: Node, context: PassContext) -> Node:
    """The parts of And (or Or) that read the same column are one set of cells: (x > 1 and x > 3) is x > 3."""
    if not isinstance(node, rg.And | rg.Or):
        return node
    members: dict[str, dict[Node, int]] = {}
    for child in node.children:
        single = context.single(child)
        if single is not None and single[0] is not None:
            members.setdefault(single[0], {})[child] = single[1]
    replaced: dict[Node, tuple[Node, ...]] = {}
    for name, parts in members.items():
        if len(parts) < 2:
            continue
        cells = context.cells[name]
        merged = formula(cells, combined(node, list(parts.values()), cells.full))
        if merged is (FALSE if isinstance(node, rg.And) else TRUE):
            return merged
        pieces = merged.children if type(merged) is type(node) else (merged,)
        if set(pieces) == set(parts) or sum(map(context.literals, pieces)) > sum(map(context.literals, parts)):
            continue
        first, *others = parts
        replaced[first] = pieces
        replaced.update(dict.fromkeys(others, ()))
    if not replaced:
        return node
    return joined(type(node), (piece for child in node.children for piece in replaced.get(child, (child,))))


def joined(connective: type[rg.And] | type[rg.Or], children: Iterable[Node]) -> Node:
    """The connective over different children; of one child, the child; of none, the constant."""
    parts = tuple(dict.fromkeys(children))
    if len(parts) == 1:
        return parts[0]
    return connective(parts) if parts else rg.Constant(connective is rg.And)


def formula(cells: Cells, mask: int) -> Node:
    """The shortest formula that is true on exactly the reachable cells of `mask`; canonical."""
    mask &= cells.full
    name = cells.feature.name
    if mask in (0, cells.full):
        return TRUE if mask else FALSE
    if mask == cells.missing:
        return rg.Missing(name)
    if mask == cells.full & ~cells.missing:
        return rg.Not(rg.Missing(name))
    if cells.feature.kind == "numeric":
        return _intervals(cells, mask)
    if cells.feature.kind == "categorical":
        return _levels(cells, mask)
    flag = bool(mask & cells.missing)
    return rg.IsTrue(name, flag) if mask & 2 else rg.Not(rg.IsTrue(name, not flag))


def size(cells: Cells, mask: int) -> int:
    """The literals of `formula(cells, mask)`."""
    mask &= cells.full
    if mask in (0, cells.full):
        return 0
    if cells.feature.kind != "numeric" or mask in (cells.missing, cells.full & ~cells.missing):
        return 1
    return _changes(cells, mask).bit_count()


def _changes(cells: Cells, mask: int) -> int:
    """A bit for each cut at which the truth changes from one interval to the next."""
    inner = mask & (cells.missing - 1)
    if not cells.full >> len(cells.cuts) & 1:  # above an infinite cut lies nothing: as its neighbour
        inner |= (inner << 1) & (1 << len(cells.cuts))
    return (inner ^ (inner >> 1)) & ((1 << len(cells.cuts)) - 1)


def _intervals(cells: Cells, mask: int) -> Node:
    changes, flag = _changes(cells, mask), bool(mask & cells.missing)
    name, precision = cells.feature.name, cells.feature.precision
    values = []
    while changes:
        low_bit = changes & -changes
        values.append(canonical_threshold(cells.cuts[low_bit.bit_length() - 1], precision))
        changes ^= low_bit
    runs: list[Node] = []
    if mask & 1:
        runs.append(rg.Compare(name, "<=", values[0], flag))
        values = values[1:]
    for low, high in zip(values[::2], [*values[1::2], math.inf], strict=False):
        above = rg.Compare(name, ">", low, flag)
        runs.append(above if math.isinf(high) else rg.And((above, rg.Compare(name, "<=", high, flag))))
    return runs[0] if len(runs) == 1 else rg.Or(tuple(runs))


def _levels(cells: Cells, mask: int) -> Node:
    """A level set by its own levels, or by those outside it where that is shorter."""
    node, rest = _set(cells, mask), _set(cells, cells.full & ~mask)
    return rg.Not(rest) if said_by_others(len(node.levels), len(rest.levels), new=not rest.unseen) else node


def _set(cells: Cells, mask: int) -> rg.Among:
    chosen = [level for i, level in enumerate(cells.levels) if mask >> i & 1]
    if mask >> len(cells.levels) & 1:
        chosen.extend(cells.others)
    unseen = bool(mask & cells.full & (cells.missing >> 1))
    return rg.Among(cells.feature.name, tuple(chosen), bool(mask & cells.missing), unseen)
