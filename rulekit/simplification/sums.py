"""Laws of weighted sums: dead terms, units that are logic, terms of one column that are one term.

A sum is made in double from left to right, so a law may change it only where every step gives the same double as
before. Where it is exact in any order (`rulekit.exactness`), the parts of one column may be added first: their sum is
no larger than they are together, on no finer grid, and so stays exact. It is a step function, points by level, or a
weighted condition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.cells.axis import Cells
from rulekit.cells.bounds import Bounds, sum_bounds
from rulekit.cells.space import cell_rows
from rulekit.exactness import span_of_sum
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import by_code, has_column, leaf_of_codes, negate, reachable_codes
from rulekit.graph.nodes import FALSE, TRUE, Family, Node
from rulekit.logic.prime_implicants import Group, along, reachable_patterns, shortest_form
from rulekit.numbers import canonical_threshold
from rulekit.simplification.rewriting import PassContext, formula

_MAX_TERMS = 12
_MAX_CELLS = 1 << 14


def dead_terms(node: Node, context: PassContext) -> Node:
    """A term of weight 0, or over a false condition, adds nothing; a true one that stands first joins the bias."""
    if not isinstance(node, rg.WeightedSum):
        return node
    bias = node.bias
    kept: list[tuple[float, Node]] = []
    for weight, child in node.terms:
        value = _constant_value(child, context)
        if weight == 0 or value == 0:
            continue
        if value is not None and not kept and math.isfinite(bias + weight * value):
            bias = bias + weight * value
        else:
            kept.append((weight, child))
    if isinstance(node, rg.LinearThreshold) and not kept:
        return rg.Constant(bias >= 0)
    return type(node)(kept, bias) if len(kept) < len(node.children) else node


def _constant_value(node: Node, context: PassContext) -> float | None:
    if isinstance(node, rg.Constant):
        return float(node.value)
    if isinstance(node, rg.Linear):
        return None if node.children else node.bias
    values = _values(node, context) if isinstance(node, rg.LevelPoints) else set(_ends(node) or ())
    return values.pop() if len(values) == 1 else None


def _values(node: rg.LevelPoints, context: PassContext) -> set[float]:
    feature = context.schema[node.feature]
    values: list[float] = by_code(node, feature)[reachable_codes(feature)].tolist()
    return set(values)


def threshold_logic(node: Node, context: PassContext) -> Node:
    """A linear threshold over conditions that is constant, r-of-k, or a form of no more literals, is that.

    Every combination of its conditions that a row may show is enumerated with the sum from left to right; of more than
    12 conditions, only equal weights in an exact sum are known to count.
    """
    if not isinstance(node, rg.LinearThreshold) or not node.children:
        return node
    conditions = [_two_valued(child, context) for child in node.children]
    if any(condition is None for condition in conditions) or len(conditions) > _MAX_TERMS:
        return _equal_weights(node, context) or _constant_on_cells(node, context)
    found = [condition for condition in conditions if condition is not None]
    atoms = tuple(dict.fromkeys(atom for atom, _, _ in found))
    groups = reachable_patterns(atoms, context.schema)
    if math.prod(len(group.patterns) for group in groups) > _MAX_CELLS:
        return _equal_weights(node, context) or node
    total: Floats = np.full([len(group.patterns) for group in groups], node.bias)
    for weight, (atom, low, high) in zip(node.weights, found, strict=True):
        total = total + weight * np.where(along(atom, groups), high, low)
    holds: Bools = total >= 0
    if holds.all() or not holds.any():
        return rg.Constant(bool(holds.flat[0]))
    counted = _r_of_k(node, found, groups, holds, context)
    if counted is not None:
        return counted
    limit = context.literals(node)
    rising = {atom: {True, False} for atom in atoms}
    for (atom, low, high), weight in zip(found, node.weights, strict=True):
        if sum(other is atom for other, _, _ in found) == 1:
            rising[atom] = {(high > low) == (weight > 0)}
    form = shortest_form(holds, groups, rising, limit, context.schema)
    return form if form is not None and context.literals(form) <= limit else node


def _two_valued(child: Node, context: PassContext) -> tuple[Node, float, float] | None:
    """A condition with the child's values where it is false and true; None where there are more values."""
    if child.family is Family.BOOLEAN:
        return child, 0.0, 1.0
    if isinstance(child, rg.Step) and len(child.cuts) == 1 and child.missing in child.values:
        low, high = child.values
        return rg.Compare(child.feature, ">", child.cuts[0], low != high and child.missing == high), low, high
    if isinstance(child, rg.LevelPoints) and len(values := _values(child, context)) == 2:
        feature, (low, high) = context.schema[child.feature], sorted(values)
        return leaf_of_codes(feature, (by_code(child, feature) == high).tolist()), low, high
    return None


def _r_of_k(
    node: rg.LinearThreshold,
    conditions: list[tuple[Node, float, float]],
    groups: list[Group],
    holds: Bools,
    context: PassContext,
) -> Node | None:
    oriented = [
        (atom, (high > low) == (weight > 0))
        for weight, (atom, low, high) in zip(node.weights, conditions, strict=True)
        if weight != 0 and high != low
    ]
    count = np.zeros(holds.shape, dtype=np.int64)
    for atom, sign in oriented:
        count = count + (along(atom, groups) == sign)
    needed = int(count[holds].min())
    if (count[~holds] >= needed).any():
        return None
    result = rg.AtLeast(needed, [atom if sign else negate(atom, context.schema) for atom, sign in oriented])
    return result if context.literals(result) <= context.literals(node) else None


def _equal_weights(node: rg.LinearThreshold, context: PassContext) -> Node | None:
    """AtLeast(r, oriented conditions) of any number of conditions whose weights are equal but for their signs, or None.

    The sum must be exact, so that it hangs on the number of conditions alone.
    """
    span, size = span_of_sum(node), Fraction(abs(node.weights[0]))
    conditions = all(child.family is Family.BOOLEAN for child in node.children)
    if not conditions or not size or any(abs(w) != size for w in node.weights) or span is None or not span.fits():
        return None
    against = sum(weight < 0 for weight in node.weights)
    needed = math.ceil(against - Fraction(node.bias) / size)
    result = rg.AtLeast(needed, [child if w > 0 else negate(child, context.schema) for w, child in node.terms])
    return result if context.literals(result) <= context.literals(node) else None


def _constant_on_cells(node: rg.LinearThreshold, context: PassContext) -> Node:
    """True or false where the sum is so in every cell; of numbers, at the ends of each child (rounding keeps order)."""
    if not has_column(node):
        table = cell_rows((node,), context.schema, _MAX_CELLS)
        holds = np.array([True, False]) if table is None else evaluate_nodes((node,), table)[node]
        return TRUE if holds.all() else node if holds.any() else FALSE
    terms: list[tuple[float, Bounds]] = []
    for weight, child in node.terms:
        ends = _ends(child)
        if ends is None:
            return node
        terms.append((weight, (np.array([min(ends)]), np.array([max(ends)]))))
    with np.errstate(all="ignore"):
        low, high = sum_bounds(node.bias, terms, 1)
    return TRUE if low[0] >= 0 else FALSE if high[0] < 0 else node


def _ends(child: Node) -> tuple[float, ...] | None:
    if child.family is Family.BOOLEAN:
        return 0.0, 1.0
    if isinstance(child, rg.Step):
        return (*child.values, child.missing)
    if isinstance(child, rg.LevelPoints):
        return (0.0, *(points for _, points in child.points), child.missing, child.unseen)
    if isinstance(child, rg.Column):
        ends = (child.low, child.high)
        rounded = tuple(float(np.rint(v / child.step) * child.step) for v in ends) if child.step else ends
        return (*rounded, child.missing)
    return None


Term = tuple[float, Node]


def join_terms(node: Node, context: PassContext) -> Node:
    """An exact sum whose terms over one column are joined where that has no more literals."""
    if not isinstance(node, rg.WeightedSum) or len(node.terms) < 2:
        return node
    readings: dict[str, list[tuple[int, Floats]]] = {}
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


def _literals(term: Term, context: PassContext) -> int:
    return max(1, context.literals(term[1]))


def _reading(child: Node, context: PassContext) -> tuple[str, Floats] | None:
    if isinstance(child, rg.Step | rg.LevelPoints):
        return child.feature, np.asarray(context.cells[child.feature].reading(child), dtype=np.float64)
    name, mask = context.single(child) or (None, 0)
    if name is None:
        return None
    return name, np.array([mask >> cell & 1 for cell in range(len(context.cells[name]))], dtype=np.float64)


def _term(cells: Cells, values: Floats, context: PassContext) -> tuple[Term, ...] | None:
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


def _step(cells: Cells, values: Sequence[float]) -> rg.Step:
    *known, missing = values
    jumps = [place for place, (low, high) in enumerate(pairwise(known)) if low != high]
    cuts = tuple(canonical_threshold(cells.cuts[place], cells.feature.precision) for place in jumps)
    return rg.Step(
        cells.feature.name, cuts, tuple(known[place] for place in (0, *(jump + 1 for jump in jumps))), missing
    )


def _points(cells: Cells, values: Sequence[float]) -> rg.LevelPoints:
    *named, other, unseen, missing = values
    points = [*zip(cells.levels, named, strict=True), *((level, other) for level in cells.others)]
    return rg.LevelPoints(cells.feature.name, tuple(points), missing, unseen)
