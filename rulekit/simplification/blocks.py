"""Two-level minimisation of small blocks by sympy, on opaque atoms.

A block is a Boolean formula with at most 8 different leaves (a leaf and its contrary are one atom), the largest that
`SOPform` does in good time. sympy sees p0, p1, ... only; combinations that no row shows are its don't-cares. Its form
is taken if it has fewer literals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, reduce
from importlib.util import find_spec
from typing import Any

import numpy as np

from rulekit.graph.leaves import negate
from rulekit.graph.nodes import LOGIC, And, AtLeast, Constant, Family, Node, Not, Odd, Or, topological, with_children
from rulekit.graph.probability.deciding import gated_of
from rulekit.logic.prime_implicants import Bools, Group, along, reachable_patterns
from rulekit.simplification.rewriting import Image, PassContext, Rewriting, joined

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
    """The atoms of each Boolean formula, or None where there are more than 8."""
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
    groups = reachable_patterns(atoms, context.schema)
    size = math.prod(len(group.patterns) for group in groups)
    if size == 1 << len(atoms) and context.literals(node) <= sum(map(context.literals, atoms)):
        return None  # each atom stands once and all are free: every one is needed
    holds = _truth(node, atoms, groups, context)
    if holds.all() or not holds.any():
        return Constant(bool(holds.flat[0]))
    context.work += size**2 + ((1 << len(atoms)) - size << len(atoms))
    if context.work > WORK:
        context.messages.append(
            f"beyond the first few, formulas of up to {MAX_ATOMS} conditions may be longer than need be"
        )
        return None
    n = len(atoms)
    codes = np.asarray(sum(along(atom, groups).astype(np.int64) << (n - 1 - i) for i, atom in enumerate(atoms)))
    true, false = tuple(sorted(codes[holds].tolist())), tuple(sorted(codes[~holds].tolist()))
    if context.literals(node) <= sum(map(context.literals, _needed(atoms, true, false))):
        return None  # sympy takes a second for a large block
    if find_spec("sympy") is None:
        context.messages.append("formulas may be longer than need be: pip install sympy minimises them")
        return None
    impossible = tuple(sorted(set(range(1 << n)).difference(true, false)))
    forms = (
        _assembled(Or, And, _sum_of_products(n, true, impossible), atoms, False, context),
        _assembled(And, Or, _sum_of_products(n, false, impossible), atoms, True, context),
    )
    return min(forms, key=context.literals)


def _needed(atoms: tuple[Node, ...], true: tuple[int, ...], false: tuple[int, ...]) -> list[Node]:
    """The atoms that every form has: such as alone make some true combination a false one."""
    n, others = len(atoms), set(false)
    return [atom for i, atom in enumerate(atoms) if any(code ^ 1 << (n - 1 - i) in others for code in true)]


def _truth(node: Node, atoms: tuple[Node, ...], groups: Sequence[Group], context: PassContext) -> Bools:
    """The truth [m1, m2, ...] of a block on each combination of the groups' patterns."""
    values: dict[Node, Any] = {}
    for atom in atoms:
        values[atom] = along(atom, groups)
        values[negate(atom, context.schema)] = ~values[atom]
    for below in topological((node,)):
        if below in values or any(child not in values for child in below.children):
            continue  # an atom, or a part of one
        parts = [values[child] for child in below.children]
        if isinstance(below, Constant):
            values[below] = np.bool_(below.value)
        elif isinstance(below, Not):
            values[below] = ~parts[0]
        elif isinstance(below, Odd):
            values[below] = reduce(np.logical_xor, parts, np.bool_(False))
        elif isinstance(below, And | Or | AtLeast):
            needed = len(parts) if isinstance(below, And) else 1 if isinstance(below, Or) else below.k
            values[below] = sum((part.astype(np.int64) for part in parts), np.int64(0)) >= needed
    return np.broadcast_to(values[node], tuple(len(group.patterns) for group in groups))


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
    terms = form.args if isinstance(form, boolalg.Or) else (form,)
    return tuple(
        sorted(
            tuple(
                sorted(
                    (place[part.args[0]], False) if isinstance(part, boolalg.Not) else (place[part], True)
                    for part in (term.args if isinstance(term, boolalg.And) else (term,))
                )
            )
            for term in terms
        )
    )


def _assembled(
    outer: type[And] | type[Or],
    inner: type[And] | type[Or],
    terms: tuple[Term, ...],
    atoms: tuple[Node, ...],
    negated: bool,
    context: PassContext,
) -> Node:
    """The formula of terms; `negated` where the terms are those of the contrary (de Morgan)."""
    return joined(
        outer,
        (
            joined(
                inner,
                (atoms[i] if sign != negated else negate(atoms[i], context.schema) for i, sign in term),
            )
            for term in terms
        ),
    )
