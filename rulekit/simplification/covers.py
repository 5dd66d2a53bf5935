"""Two-level covers: absorption, merging, widening and the irredundant cover, on cells.

An Or of Ands is a list of cubes; a cube holds, for each column that it reads, the mask of allowed cells, and for each
other formula (a linear threshold, a nested formula) whether it is to hold. Cells that no row shows are no cells, so
they are don't-cares by construction. An And of Ors is treated as the contrary of a list of cubes. The method is that
of two-level minimisers for many-valued variables (Brayton et al., Logic Minimization Algorithms for VLSI Synthesis,
1984: expand and irredundant, with tautology by cofactors), with a budget.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from rulekit.arrays import Bools
from rulekit.errors import BudgetError
from rulekit.graph.leaves import negate
from rulekit.graph.nodes import LOGIC, And, Constant, Family, Node, Not, Or, topological, with_children
from rulekit.graph.probability.deciding import gated_of
from rulekit.logic.prime_implicants import Group, along, reachable_patterns
from rulekit.simplification.rewriting import Image, PassContext, Rewriting, Single, combined, formula, joined, size

Axis = str | Node
Cube = dict[Axis, int]

MAX_CUBES = 1000
QUERY_BUDGET = 2_000
NODE_BUDGET = 60_000
GRAPH_BUDGET = 500_000
_FALSE, _TRUE, _EITHER = 1, 2, 3


@dataclass(slots=True)
class _Cover:
    """The cubes of one And or Or, and what they cost."""

    context: PassContext
    negated: bool
    steps: int = NODE_BUDGET
    sizes: dict[tuple[Axis, int], int] = field(default_factory=dict)

    def full(self, axis: Axis) -> int:
        return self.context.cells[axis].full if isinstance(axis, str) else _EITHER

    def size(self, axis: Axis, mask: int) -> int:
        if (axis, mask) not in self.sizes:
            cells = self.context.cells
            self.sizes[axis, mask] = size(cells[axis], mask) if isinstance(axis, str) else self.context.literals(axis)
        return self.sizes[axis, mask]

    def cubes(self, children: Iterable[Node]) -> list[Cube | None]:
        """The cube of each child, or None where it is empty."""
        inner = Or if self.negated else And
        parts = [child.children if isinstance(child, inner) else (child,) for child in children]
        known = self.context.singles([part for own in parts for part in own])
        return [self._cube(own, known) for own in parts]

    def _cube(self, parts: tuple[Node, ...], known: Mapping[Node, Single | None]) -> Cube | None:
        cube: Cube = {}
        for part in parts:
            single = known[part]
            axis: Axis
            if single is None:
                axis, mask = (part.child, _FALSE) if isinstance(part, Not) else (part, _TRUE)
            elif (name := single[0]) is None:
                if bool(single[1]) == self.negated:
                    return None
                continue
            else:
                axis, mask = name, single[1]
            if self.negated:
                mask = self.full(axis) & ~mask
            cube[axis] = cube.get(axis, self.full(axis)) & mask
            if not cube[axis]:
                return None
        return {axis: mask for axis, mask in cube.items() if mask != self.full(axis)}

    def formula(self, cube: Cube) -> Node:
        """The child that a cube stands for."""
        inner = Or if self.negated else And
        parts: list[Node] = []
        for axis, mask in cube.items():
            chosen = self.full(axis) & ~mask if self.negated else mask
            if isinstance(axis, str):
                part = formula(self.context.cells[axis], chosen)
            else:
                part = axis if chosen == _TRUE else negate(axis, self.context.schema)
            parts.extend(part.children if isinstance(part, inner) else (part,))
        return joined(inner, parts)

    def spend(self, steps: int) -> None:
        self.steps -= steps
        self.context.cover_steps += steps
        if self.steps < 0 or self.context.cover_steps > GRAPH_BUDGET:
            raise BudgetError("its shortest form would take too many cases")

    def covered(self, cube: Cube, cubes: list[Cube]) -> bool:
        """Whether every point of `cube` lies in one of the cubes; False where that takes too many cases to see.

        Raises BudgetError where the whole formula has taken too many.
        """
        stack = [(cube, cubes)]
        steps = 0
        while stack:
            point, candidates = stack.pop()
            self.spend(len(candidates) + 1)
            steps += len(candidates) + 1
            if steps > QUERY_BUDGET + 2 * len(cubes):
                return False
            meeting = [other for other in candidates if self._meet(point, other)]
            if any(self.within(point, other) for other in meeting):
                continue
            if not meeting:
                return False
            restrict: dict[Axis, int] = {}
            for other in meeting:
                for axis, mask in other.items():
                    if point.get(axis, self.full(axis)) & ~mask:
                        restrict[axis] = restrict.get(axis, 0) + 1
            axis = max(restrict, key=restrict.__getitem__)
            blocks = [point.get(axis, self.full(axis))]
            for other in meeting:
                mask = other.get(axis, self.full(axis))
                blocks = [part for block in blocks for part in (block & mask, block & ~mask) if part]
            stack.extend(({**point, axis: block}, meeting) for block in blocks)
        return True

    def within(self, cube: Cube, other: Cube) -> bool:
        """Whether every point of `cube` lies in `other`."""
        return all(not cube.get(axis, self.full(axis)) & ~mask for axis, mask in other.items())

    def _meet(self, cube: Cube, other: Cube) -> bool:
        return all(cube.get(axis, self.full(axis)) & mask for axis, mask in other.items())


def absorb(node: Node, context: PassContext) -> Node:
    """Or(a, And(a, b)) = a and And(a, Or(a, b)) = a, where a may also be implied: x > 3 lies in x > 1.

    Of equal parts the first stays.
    """
    parsed = _parse(node, context)
    if parsed is None:
        return node
    cover, parts = parsed
    cubes = {i: cube for i, cube in enumerate(parts) if cube is not None}
    kept: list[int] = []
    for i, one in sorted(cubes.items(), key=lambda item: (len(item[1]), item[0])):
        if not any(cover.within(one, cubes[j]) for j in kept):
            kept = [j for j in kept if not (len(cubes[j]) == len(one) and cover.within(cubes[j], one))]
            kept.append(i)
    if len(kept) == len(node.children):
        return node
    return joined(And if cover.negated else Or, (node.children[i] for i in sorted(kept)))


def irredundant(node: Node, context: PassContext) -> Node:
    """Parts that the others cover fall away, and superfluous conditions: ab + ~ac + bc = ab + ~ac."""
    parsed = _parse(node, context)
    if parsed is None:
        return node
    cover, parts = parsed
    original = {i: cube for i, cube in enumerate(parts) if cube is not None}
    cubes = {i: dict(cube) for i, cube in original.items()}
    try:
        _merge(cover, cubes)
        _widen(cover, cubes)
        _drop(cover, cubes)
    except BudgetError as stopped:  # what is done so far is right
        context.messages.append(f"a formula of {len(node.children)} parts may be longer than need be: {stopped}")
    outer = And if cover.negated else Or
    children: list[Node] = []
    for i, cube in sorted(cubes.items()):
        child = node.children[i] if original[i] == cube else cover.formula(cube)
        # An interval is an And of two bounds: inside an And it is two parts, and no fewer than there were.
        children.extend(child.children if isinstance(child, outer) and child is not node.children[i] else (child,))
    result = joined(outer, children)
    before, after = context.literals(node), context.literals(result)
    return result if (after, len(result.children)) < (before, len(node.children)) else node


def _parse(node: Node, context: PassContext) -> tuple[_Cover, list[Cube | None]] | None:
    if not isinstance(node, And | Or) or not 2 <= len(node.children) <= MAX_CUBES:
        return None
    cover = _Cover(context, isinstance(node, And))
    cubes = cover.cubes(node.children)
    axes = [axis for cube in cubes for axis in cube or ()]
    return (cover, cubes) if len(set(axes)) < len(axes) or not all(cubes) else None


def _merge(cover: _Cover, cubes: dict[int, Cube]) -> None:
    """Two cubes that differ in one column only are one: (x <= 3 and b) or (3 < x <= 5 and b) is x <= 5 and b."""
    merged = True
    while merged:
        merged = False
        seen: dict[tuple[Axis, frozenset[tuple[Axis, int]]], int] = {}
        for i in sorted(cubes):
            cover.spend(len(cubes[i]))
            for axis in list(cubes[i]):
                rest = frozenset((a, m) for a, m in cubes[i].items() if a != axis)
                j = seen.setdefault((axis, rest), i)
                if j == i or j not in cubes:
                    continue
                union = cubes[j][axis] | cubes[i][axis]
                old = cover.size(axis, cubes[j][axis]) + cover.size(axis, cubes[i][axis])
                if union == cover.full(axis):
                    del cubes[j][axis]
                elif cover.size(axis, union) <= old:
                    cubes[j] = {**cubes[j], axis: union}
                else:
                    continue
                del cubes[i]
                merged = True
                break
            if merged:
                break


def _widen(cover: _Cover, cubes: dict[int, Cube]) -> None:
    """Conditions leave a cube, dear ones first, while what it gains is covered anyway."""
    for i in sorted(cubes, key=lambda i: (-len(cubes[i]), i)):
        for axis in sorted(cubes[i], key=lambda axis: -cover.size(axis, cubes[i][axis])):
            for wider in _wider(cover, axis, cubes[i][axis]):
                gained = {**cubes[i], axis: wider & ~cubes[i][axis]}
                if cover.covered(gained, list(cubes.values())):
                    if wider == cover.full(axis):
                        del cubes[i][axis]
                    else:
                        cubes[i][axis] = wider
                    break


def _wider(cover: _Cover, axis: Axis, mask: int) -> list[int]:
    """Larger masks of lower cost, the cheapest first: all cells; for intervals, all up to either end."""
    full = cover.full(axis)
    found = [full]
    if isinstance(axis, str) and cover.context.cells[axis].cuts:
        cells = cover.context.cells[axis]
        inner = mask & (cells.missing - 1)
        if inner:
            low, high = inner & -inner, 1 << (inner.bit_length() - 1)
            found += [mask | (low - 1), mask | (cells.missing - high) & full]
    return sorted(
        (m for m in found if m != mask and cover.size(axis, m) < cover.size(axis, mask)),
        key=lambda m: cover.size(axis, m),
    )


def _drop(cover: _Cover, cubes: dict[int, Cube]) -> None:

    def length(i: int) -> int:
        return sum(cover.size(axis, mask) for axis, mask in cubes[i].items())

    for i in sorted(cubes, key=lambda i: (-length(i), -i)):
        if cover.covered(cubes[i], [cube for j, cube in cubes.items() if j != i]):
            del cubes[i]


# Blocks of at most 8 atoms --------------------------------------------------------------------------------------------
#
# A block is a Boolean formula with at most 8 different leaves (a leaf and its contrary are one atom), the largest that
# `SOPform` of sympy does in good time. sympy sees p0, p1, ... only; combinations that no row shows are its don't-cares.
# Its form is taken if it has fewer literals.


MAX_ATOMS = 8
WORK = 60_000

Term = tuple[tuple[int, bool], ...]


def minimise_blocks(roots: tuple[Node, ...], order: list[Node], context: PassContext) -> tuple[Image, list[Rewriting]]:
    """Each largest formula of at most 8 atoms is the shorter of its sum of products, its product of sums and itself."""
    logic: set[Node] = {node for node in order if isinstance(node, LOGIC) and node.family is Family.BOOLEAN}
    atoms = _atoms(order, logic, context)
    inner: set[Node] = set()
    for node in logic:
        if atoms.get(node) is not None:
            inner.update(node.children)
    image: Image = {}
    changes: list[Rewriting] = []
    used_elsewhere = {child for node in order if node not in logic for child in node.children} | set(roots)
    for node in order:
        children = tuple(image[child] for child in node.children)
        rebuilt = node if children == node.children else with_children(node, children)
        image[node] = rebuilt
        found = atoms.get(node)
        if found is None or node not in logic or (node in inner and node not in used_elsewhere):
            continue
        if gated_of(node) is not None:  # read as one probability, which fewer tangents are not near to
            continue
        if node not in context.blocks:
            context.blocks[node] = _minimised(node, found, context)
        shorter = context.blocks[node]
        if shorter is not None and context.literals(shorter) < context.literals(rebuilt):
            image[node] = shorter
            changes.append(Rewriting(node, shorter))
    return image, changes


def _atoms(order: list[Node], logic: set[Node], context: PassContext) -> dict[Node, tuple[Node, ...] | None]:
    chosen: dict[Node, Node] = {}
    found: dict[Node, tuple[Node, ...] | None] = {}
    for node in order:
        if node.family is not Family.BOOLEAN:
            continue
        if node not in logic:
            atom = chosen.setdefault(node, node)
            chosen.setdefault(negate(node, context.schema), atom)
            found[node] = () if isinstance(node, Constant) else (atom,)
            continue
        merged: dict[Node, None] = {}
        for child in node.children:
            below = found[child]
            if below is None or len(merged) > MAX_ATOMS:
                merged = {}
                break
            merged.update(dict.fromkeys(below))
        else:
            found[node] = tuple(merged) if len(merged) <= MAX_ATOMS else None
            continue
        found[node] = None
    return found


def _minimised(node: Node, atoms: tuple[Node, ...], context: PassContext) -> Node | None:
    """The shorter two-level form of a block, or None where its length cannot be undercut."""
    if not atoms:
        return None
    groups, n = reachable_patterns(atoms, context.schema), len(atoms)
    size = math.prod(len(group.patterns) for group in groups)
    if size == 1 << n and context.literals(node) <= sum(map(context.literals, atoms)):
        return None  # each atom stands once and all are free: every one is needed
    holds = _truth(node, atoms, groups, context)
    if holds.all() or not holds.any():
        return Constant(bool(holds.flat[0]))
    context.work += size**2 + ((1 << n) - size << n)
    if context.work > WORK:
        few = f"formulas of up to {MAX_ATOMS} conditions"
        context.messages.append(f"beyond the first few, {few} may be longer than need be")
        return None
    codes = np.asarray(sum(along(atom, groups).astype(np.int64) << (n - 1 - i) for i, atom in enumerate(atoms)))
    true, false = tuple(sorted(codes[holds].tolist())), tuple(sorted(codes[~holds].tolist()))
    others = set(false)
    needed = [atom for i, atom in enumerate(atoms) if any(code ^ 1 << (n - 1 - i) in others for code in true)]
    if context.literals(node) <= sum(map(context.literals, needed)):
        return None  # sympy takes a second for a large block
    if find_spec("sympy") is None:
        context.messages.append("formulas may be longer than need be: pip install sympy minimises them")
        return None
    impossible = tuple(sorted(set(range(1 << n)).difference(true, false)))

    def parts(inner: type[And] | type[Or], codes: tuple[int, ...], wanted: bool) -> Iterator[Node]:
        """The terms that hold of some codes; not wanted: of their contrary the parts (de Morgan)."""
        for term in _sum_of_products(n, codes, impossible):
            found = (atoms[i] if sign == wanted else negate(atoms[i], context.schema) for i, sign in term)
            yield joined(inner, found)

    return min(joined(Or, parts(And, true, True)), joined(And, parts(Or, false, False)), key=context.literals)


def _truth(node: Node, atoms: tuple[Node, ...], groups: Sequence[Group], context: PassContext) -> Bools:
    """Where a block holds, by the patterns of all groups."""
    shape = tuple(len(group.patterns) for group in groups)
    size = math.prod(shape)
    full = (1 << size) - 1
    values: dict[Node, int] = {}  # a bit for each combination of patterns
    for atom in atoms:
        packed = np.packbits(np.broadcast_to(along(atom, groups), shape), bitorder="little")
        values[atom] = int.from_bytes(packed.tobytes(), "little")
        values[negate(atom, context.schema)] = full & ~values[atom]
    for below in topological((node,)):
        if below in values or any(child not in values for child in below.children):
            continue  # an atom, or a part of one
        parts = [values[child] for child in below.children]
        values[below] = full * below.value if isinstance(below, Constant) else combined(below, parts, full)
    packed = np.frombuffer(values[node].to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=size, bitorder="little").astype(bool).reshape(shape)


@lru_cache(maxsize=4096)
def _sum_of_products(n: int, true: tuple[int, ...], impossible: tuple[int, ...]) -> tuple[Term, ...]:
    """Sympy's minimal sum of products: terms of (variable, unnegated)."""
    from sympy import Symbol
    from sympy.logic import boolalg

    symbols = [Symbol(f"p{i}") for i in range(n)]
    place = {symbol: i for i, symbol in enumerate(symbols)}
    form = boolalg.SOPform(symbols, list(true), list(impossible))
    if form in (boolalg.true, boolalg.false):
        return ((),) if form == boolalg.true else ()

    def literal(part: Any) -> tuple[int, bool]:
        return (place[part.args[0]], False) if isinstance(part, boolalg.Not) else (place[part], True)

    terms = form.args if isinstance(form, boolalg.Or) else (form,)
    parts = (term.args if isinstance(term, boolalg.And) else (term,) for term in terms)
    return tuple(sorted(tuple(sorted(map(literal, own))) for own in parts))
