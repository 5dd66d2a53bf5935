"""Formulas over literals and linear threshold units as clauses: as they stand, or as the paths of a nested formula."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

from rulekit.graph.nodes import And, Constant, Family, LinearThreshold, Node, Not, Or
from rulekit.graph.traversal import topological

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

Clause = dict[int, bool]  # place of a literal or unit -> its sign

# A nested formula of more paths, or whose paths take more steps to find, is computed connective by connective.
MOST_PATHS = 256
MOST_STEPS = 20_000


def clauses_of(emitter: Emitter, formula: Node) -> list[Clause] | None:
    """The possible clauses of a formula; None where there are none of its form.

    A nested formula over units has a clause for each path, as a tree of units has for each of its positive leaves.
    """
    if formula.family is not Family.BOOLEAN:
        return None
    found = _as_they_stand(emitter, formula)
    return paths_of(emitter, formula) if found is None and has_units(formula) else found


def clauses_of_network(emitter: Emitter, formula: Node) -> tuple[list[Clause], bool] | None:
    """Clauses of a formula over units, and whether they say where it holds, or where it does not."""
    found = _as_they_stand(emitter, formula)
    if found is not None:
        return found, True
    for clauses, positive in (
        (_as_they_stand(emitter, formula, False), False),
        (paths_of(emitter, formula), True),
        (paths_of(emitter, Not(formula)), False),
    ):
        if clauses is not None:
            return clauses, positive
    return None


def has_units(formula: Node) -> bool:
    """Whether a formula is logic over linear threshold units among others."""
    logic = topological([formula], lambda node: node.children if isinstance(node, And | Or | Not) else ())
    return any(isinstance(node, LinearThreshold) for node in logic)


def are_disjoint(clauses: list[Clause]) -> bool:
    """Whether no two clauses hold at once, as each two have a contrary literal."""
    return all(
        any(other.get(place, sign) is not sign for place, sign in one.items())
        for one, other in combinations(clauses, 2)
    )


def _as_they_stand(emitter: Emitter, formula: Node, wanted: bool = True) -> list[Clause] | None:
    """The clauses of a disjunction of conjunctions, or of the contrary of a formula; None for another form."""
    clauses: list[Clause] = []
    disjunction, conjunction = (Or, And) if wanted else (And, Or)
    for node in parts_of(formula, disjunction):
        clause: Clause = {}
        possible = True
        for part in parts_of(node, conjunction):
            literal = part.value if isinstance(part, Constant) else emitter.literal(part)
            if literal is None:
                return None
            if isinstance(literal, bool):
                possible &= literal is wanted
            else:
                sign = literal[1] is wanted
                possible &= clause.setdefault(literal[0], sign) is sign
        if possible and clause not in clauses:
            clauses.append(clause)
    return clauses


def parts_of(formula: Node, connective: type[Node]) -> Iterator[Node]:
    """What a connective joins, also by connectives of its kind within it, from left to right."""
    stack = [formula]
    while stack:
        node = stack.pop()
        if isinstance(node, connective):
            stack.extend(reversed(node.children))
        else:
            yield node


# What is still to hold on a path: at least one of the nodes has this truth value.
_Wanted = tuple[tuple[Node, ...], bool]


def paths_of(emitter: Emitter, formula: Node) -> list[Clause] | None:
    """Clauses of which one holds where the formula does, and never two: where one part decides, the others are not it.

    None where the formula has other nodes than And, Or, Not, literals and units, or too many paths.
    """
    literals: dict[Node, tuple[int, bool] | bool | None] = {}

    def literal(node: Node) -> tuple[int, bool] | bool | None:
        if node not in literals:
            literals[node] = bool(node.value) if isinstance(node, Constant) else emitter.literal(node)
        return literals[node]

    paths: list[Clause] = []
    branches: list[tuple[Clause, list[_Wanted]]] = [({}, [((formula,), True)])]
    steps = 0
    while branches:
        path, pending = branches.pop()
        while pending:
            steps += 1
            nodes, wanted = pending.pop()
            known = {node: _known(literal(node), path) for node in nodes}
            if any(value is wanted for value in known.values()):
                continue
            open_ = [node for node in nodes if known[node] is None]
            if not open_:
                break
            first, rest = open_[0], tuple(open_[1:])
            found = literal(first)
            if rest:
                other = dict(path)
                if isinstance(found, tuple):
                    other[found[0]] = found[1] is not wanted
                    branches.append((other, [*pending, (rest, wanted)]))
                else:
                    branches.append((other, [*pending, ((first,), not wanted), (rest, wanted)]))
            if isinstance(found, tuple):
                path[found[0]] = found[1] is wanted
                continue
            while isinstance(first, Not):
                first, wanted = first.child, not wanted
            if not isinstance(first, And | Or):
                return None
            if isinstance(first, And) is wanted:
                pending += [((child,), wanted) for child in reversed(first.children)]
            else:
                pending.append((first.children, wanted))
        else:
            paths.append(path)
        if len(paths) + len(branches) > MOST_PATHS or steps > MOST_STEPS:
            return None
    return paths


def _known(literal: tuple[int, bool] | bool | None, path: Mapping[int, bool]) -> bool | None:
    """The truth value of a literal on a path; None where that is open."""
    if not isinstance(literal, tuple):
        return literal
    value = path.get(literal[0])
    return None if value is None else value is literal[1]
