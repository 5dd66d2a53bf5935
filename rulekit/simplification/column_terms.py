"""Terms of a sum that read one column are one term: a step function, points by level, or a weighted condition.

A sum is made in double from left to right. Where it is exact in any order (`rulekit.exactness`), the parts of one
column may be added first: their sum is no larger than they are together, on no finer grid, and so stays exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import Cells
from rulekit.exactness import span_of_sum
from rulekit.graph.nodes import LevelPoints, Linear, LinearThreshold, Node, Step
from rulekit.numbers import canonical_threshold
from rulekit.simplification.rewriting import Context, formula

Numbers = npt.NDArray[np.float64]
Term = tuple[float, Node]


def join_terms(node: Node, context: Context) -> Node:
    """An exact sum whose terms over one column are joined where that has no more literals."""
    if not isinstance(node, Linear | LinearThreshold) or len(node.terms) < 2:
        return node
    readings: dict[str, list[tuple[int, Numbers]]] = {}
    for place, (weight, child) in enumerate(node.terms):
        read = _reading(child, context)
        if read is not None and weight != 0.0 and child not in context.keep:
            readings.setdefault(read[0], []).append((place, weight * read[1]))
    several = {name: parts for name, parts in readings.items() if len(parts) > 1}
    span = span_of_sum(node) if several else None
    if span is None or not span.fits():
        return node
    terms: list[tuple[Term, ...]] = [(term,) for term in node.terms]
    for name, parts in several.items():
        joined = _term(context.cells[name], np.sum([part for _, part in parts], axis=0), context)
        before = sum(_literals(node.terms[place], context) for place, _ in parts)
        if joined is not None and sum(_literals(term, context) for term in joined) <= before:
            for place, _ in parts:
                terms[place] = ()
            terms[parts[0][0]] = joined
    kept = [term for found in terms for term in found]
    return type(node)(kept, node.bias) if len(kept) < len(node.terms) else node


def _literals(term: Term, context: Context) -> int:
    return max(1, context.literals(term[1]))


def _reading(child: Node, context: Context) -> tuple[str, Numbers] | None:
    """The column that a child reads alone, and its number in each cell; None for another child."""
    if isinstance(child, Step | LevelPoints):
        return child.feature, np.asarray(context.cells[child.feature].reading(child), dtype=np.float64)
    name, mask = context.single(child) or (None, 0)
    if name is None:
        return None
    return name, np.array([mask >> cell & 1 for cell in range(len(context.cells[name]))], dtype=np.float64)


def _term(cells: Cells, values: Numbers, context: Context) -> tuple[Term, ...] | None:
    """The shortest term with these numbers by cell, () where all are 0; None for a column without one."""
    reached = [value if cells.full >> cell & 1 else 0.0 for cell, value in enumerate(values.tolist())]
    others = set(reached) - {0.0}
    if not others:
        return ()
    found: list[Term] = []
    if len(others) == 1:
        holds = sum(1 << cell for cell, value in enumerate(reached) if value)
        found.append((others.pop(), formula(cells, holds)))
    if cells.feature.kind == "numeric" and cells.full >> len(cells.cuts) & 1:
        found.append((1.0, _step(cells, reached)))
    if cells.feature.kind == "categorical":
        found.append((1.0, _points(cells, reached)))
    return (min(found, key=lambda term: _literals(term, context)),) if found else None


def _step(cells: Cells, values: Sequence[float]) -> Step:
    *known, missing = values
    jumps = [place for place, (low, high) in enumerate(pairwise(known)) if low != high]
    cuts = tuple(canonical_threshold(cells.cuts[place], cells.feature.precision) for place in jumps)
    return Step(cells.feature.name, cuts, tuple(known[place] for place in (0, *(jump + 1 for jump in jumps))), missing)


def _points(cells: Cells, values: Sequence[float]) -> LevelPoints:
    *named, other, unseen, missing = values
    points = [*zip(cells.levels, named, strict=True), *((level, other) for level in cells.others)]
    return LevelPoints(cells.feature.name, tuple(points), missing, unseen)
