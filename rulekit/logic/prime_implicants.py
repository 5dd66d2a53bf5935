"""The Boolean function [P > t] of a noisy-logical formula as a short disjunctive normal form.

The probability is run as the steps of `rulekit.graph.probability.circuits`, on every pattern of truth values that the
causes of the hidden bits can take together; patterns that no row shows (`x <= 3` without `x <= 5`) are don't-cares. The
formula is monotone in each cause, oriented by its polarity and by on >= off (a parity in neither direction: then both
count), and correctly rounded products and complements keep that; so where the causes are free the prime implicants are
the minimal true patterns, all essential, and the form is the unique shortest. Where patterns are missing, each minimal
true pattern is widened by a greedy hitting set of the maximal false ones, and terms that the others cover are left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, distinct_rows
from rulekit.cells.space import cell_rows
from rulekit.errors import BudgetError
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, negate, readers
from rulekit.graph.nodes import FALSE, TRUE, And, AtLeast, Column, Family, Hidden, Node, Not, Odd, Or, topological
from rulekit.graph.probability.circuits import Algebra, Circuit, build_circuit, fold_circuit
from rulekit.schema import Schema

MAX_PATTERNS = 1 << 22
_MAX_CELLS = 1 << 16
_MAX_GROUP_PATTERNS = 2048
_MAX_POINTS = 1 << 15


def threshold_rule(
    formula: Node, threshold: float, max_literals: int, *, schema: Schema | None = None, budget: int = MAX_PATTERNS
) -> Node | None:
    """The Boolean formula of [P(formula) > threshold]: an Or of Ands of causes and negated causes.

    formula: Random, or Boolean (then its truth is 0 or 1). schema: lets negated categories list their other levels
    and more patterns be ruled out. budget: the largest number of patterns of the causes.
    Returns None where the form would need more than `max_literals` literals, or the patterns exceed the budget.
    """
    try:
        circuit = build_circuit(formula)
    except BudgetError:
        return None
    polarities = _polarities(formula)
    groups = []
    for group in reachable_patterns(circuit.causes, schema):  # of causes that do not matter one pattern of each kind
        columns = [i for i, cause in enumerate(group.causes) if polarities.get(cause)]
        kinds = np.sort(distinct_rows(group.patterns[:, columns])[0])
        groups.append(Group(group.causes, group.patterns[kinds]) if len(columns) < len(group.causes) else group)
    sizes = [len(group.patterns) for group in groups]
    if math.prod(sizes) > budget or max(sizes, default=1) > _MAX_GROUP_PATTERNS:
        return None
    holds = probability_on_patterns(circuit, groups) > threshold
    return shortest_form(holds, groups, polarities, max_literals, schema)


@dataclass(frozen=True, slots=True)
class Group:
    """Causes that read common columns, with the truth patterns [m, causes] that some row shows."""

    causes: tuple[Node, ...]
    patterns: Bools


def reachable_patterns(causes: Sequence[Node], schema: Schema | None) -> list[Group]:
    """The causes in independent groups, each with its distinct reachable patterns (at least all those that rows show).

    Causes whose group has too many cells, or that add up raw column values, are taken as free.
    """
    groups: list[Group] = []
    sums = any(isinstance(node, Column) for node in topological(causes))
    free = [cause for cause in causes if sums and has_column(cause)]
    for members in _connected([cause for cause in causes if cause not in free]):
        table = cell_rows(members, schema, _MAX_CELLS)
        if table is None:
            free.extend(members)
            continue
        values = evaluate_nodes(members, table)
        truth = np.stack([np.broadcast_to(values[cause], (table.n_rows,)) for cause in members], axis=1).astype(bool)
        groups.append(Group(tuple(members), truth[distinct_rows(truth)[0]]))
    return groups + [Group((cause,), np.array([[False], [True]])) for cause in free]


def _connected(causes: Sequence[Node]) -> list[list[Node]]:
    components: list[tuple[set[str], list[Node]]] = []
    for cause in causes:
        names, members = set(readers((cause,))), [cause]
        apart = []
        for other_names, other in components:
            if other_names & names:
                names |= other_names
                members = other + members
            else:
                apart.append((other_names, other))
        components = [*apart, (names, members)]
    return [members for _, members in components]


def along(cause: Node, groups: Sequence[Group]) -> Bools:
    """The truth of a cause on the patterns of its group, as an array that broadcasts over those of all groups."""
    g = next(g for g, group in enumerate(groups) if cause in group.causes)
    shape = [1] * len(groups)
    shape[g] = -1
    return groups[g].patterns[:, groups[g].causes.index(cause)].reshape(shape)


def probability_on_patterns(circuit: Circuit, groups: Sequence[Group]) -> Floats:
    """The probability [m1, m2, ...] for each combination of the groups' patterns, in the circuit's own double steps."""
    algebra: Algebra[Floats] = Algebra(
        lambda cause, on, off: np.where(along(cause, groups), on, off), lambda value: np.full([1] * len(groups), value)
    )
    return np.broadcast_to(fold_circuit(circuit.steps, algebra), tuple(len(group.patterns) for group in groups))


# The cover ---------------------------------------------------------------------------------------------------------

Literal = tuple[Node, bool]  # a cause, and whether it stands unnegated


def _polarities(formula: Node) -> dict[Node, set[bool]]:
    """For each cause, the directions (True: rising) in which the formula may depend on it."""
    signs: dict[Node, set[bool]] = {formula: {True}}
    causes: dict[Node, set[bool]] = {}
    for node in reversed(topological((formula,))):
        reached = signs.get(node, set())
        turned = {not sign for sign in reached}
        if not reached:
            continue
        if node.family is Family.BOOLEAN:
            causes.setdefault(node, set()).update(reached)
            if isinstance(node, Not):  # a decision diagram looks through it
                signs.setdefault(node.child, set()).update(turned)
        elif isinstance(node, Hidden):
            if node.on != node.off:
                causes.setdefault(node.cause, set()).update(reached if node.on > node.off else turned)
        elif isinstance(node, And | Or | AtLeast | Not | Odd):
            onward = {True, False} if isinstance(node, Odd) else turned if isinstance(node, Not) else reached
            for child in node.children:
                signs.setdefault(child, set()).update(onward)
    return causes


def shortest_form(
    holds: Bools,
    groups: Sequence[Group],
    polarities: Mapping[Node, set[bool]],
    max_literals: int,
    schema: Schema | None = None,
) -> Node | None:
    """The truth table `holds` [m1, m2, ...] over the patterns of `groups` as a short disjunctive normal form.

    polarities: per cause the directions in which it may count (True: unnegated); both where the table turns out not
    to be monotone. Returns None where the form needs more than `max_literals` literals.
    """
    literals, truth = _literal_axes(groups, polarities)
    if not _is_monotone(holds, truth):
        both = {cause: {True, False} for cause, signs in polarities.items() if signs}
        literals, truth = _literal_axes(groups, both)
    if holds.all() or not holds.any():
        return TRUE if holds.any() else FALSE
    lowest, highest = _extreme(holds, truth, lowest=True), _extreme(~holds, truth, lowest=False)
    if lowest is None or highest is None:
        return None
    weight = np.array([_leaves(cause) for cause, _ in literals], dtype=np.int64)
    chosen: list[Bools] = []
    covered = np.zeros(len(lowest), dtype=bool)
    total = 0
    for index in np.argsort(lowest.sum(axis=1), kind="stable"):
        if covered[index]:
            continue
        term = _widen(lowest[index], highest)
        chosen.append(term)
        covered |= ~(term & ~lowest).any(axis=1)
        total += int(weight[term].sum())
        if total > 2 * max_literals + 8:  # leaving out covered terms rarely halves a form
            return None
    kept = _irredundant(chosen, lowest)
    if sum(int(weight[term].sum()) for term in kept) > max_literals:
        return None
    parts: list[Node] = []
    for term in kept:
        found = (literals[i] for i in np.flatnonzero(term))
        nodes = [cause if sign else negate(cause, schema) for cause, sign in found]
        parts.append(TRUE if not nodes else nodes[0] if len(nodes) == 1 else And(tuple(nodes)))
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def _leaves(cause: Node) -> int:
    counts: dict[Node, int] = {}
    for node in topological((cause,)):
        counts[node] = min(sum(counts[child] for child in node.children), 1 << 30) or 1
    return counts[cause]


def _literal_axes(groups: Sequence[Group], polarities: Mapping[Node, set[bool]]) -> tuple[list[Literal], list[Bools]]:
    """The literals, and of each group the truth of its own on its patterns [m, literals]."""
    literals: list[Literal] = []
    truth: list[Bools] = []
    for group in groups:
        columns = [np.zeros((len(group.patterns), 0), dtype=bool)]
        for i, cause in enumerate(group.causes):
            for sign in sorted(polarities.get(cause, set()), reverse=True):
                literals.append((cause, sign))
                columns.append(group.patterns[:, [i]] == sign)
        truth.append(np.concatenate(columns, axis=1))
    return literals, truth


def _steps_up(truth: Bools) -> list[tuple[int, int]]:
    """The cover relation: pairs (i, j) where j has the true literals of i and more, and no pattern lies between."""
    strict = np.zeros((len(truth), len(truth)), dtype=np.float32)
    for i, row in enumerate(truth):
        strict[i] = ~(row & ~truth).any(axis=1)
    np.fill_diagonal(strict, 0.0)
    direct = (strict > 0) & ~(strict @ strict > 0)
    return [(int(i), int(j)) for i, j in np.argwhere(direct)]


def _is_monotone(holds: Bools, truth: Sequence[Bools]) -> bool:
    for axis, part in enumerate(truth):
        moved = np.moveaxis(holds, axis, 0)
        for i, j in _steps_up(part):
            if (moved[i] & ~moved[j]).any():
                return False
    return True


def _extreme(holds: Bools, truth: Sequence[Bools], lowest: bool) -> Bools | None:
    """The literals of the true points [n, literals] with no lower (or no higher) one; None where these are too many.

    In a product of orders a set closed upwards (downwards) has its minimal (maximal) points where no single step
    down (up) along one axis stays inside.
    """
    result = holds.copy()
    for axis, part in enumerate(truth):
        kept, inside = np.moveaxis(result, axis, 0), np.moveaxis(holds, axis, 0)
        for i, j in _steps_up(part):
            if lowest:
                kept[j] &= ~inside[i]
            else:
                kept[i] &= ~inside[j]
    where = np.nonzero(result)
    if len(where[0]) > _MAX_POINTS:
        return None
    patterns = np.concatenate([part[w] for part, w in zip(truth, where, strict=True)], axis=1)
    return patterns[distinct_rows(patterns)[0]]


def _widen(point: Bools, false_points: Bools) -> Bools:
    """Few literals of a true point that no false point has together: greedy hitting set, then none is superfluous."""
    candidates = np.flatnonzero(point)
    lacking = ~false_points[:, candidates]
    chosen: list[int] = []
    open_rows = np.ones(len(lacking), dtype=bool)
    while open_rows.any():
        gain = lacking[open_rows].sum(axis=0)
        best = int(gain.argmax())
        chosen.append(best)
        open_rows &= ~lacking[:, best]
    for one in list(chosen):
        rest = [c for c in chosen if c != one]
        if lacking[:, rest].any(axis=1).all():
            chosen = rest
    term = np.zeros(len(point), dtype=bool)
    term[candidates[chosen]] = True
    return term


def _irredundant(terms: Sequence[Bools], points: Bools) -> list[Bools]:
    covers = np.array([~(term & ~points).any(axis=1) for term in terms])
    times = covers.sum(axis=0)
    kept = set(range(len(terms)))
    for i in sorted(kept, key=lambda i: (-int(terms[i].sum()), -i)):
        if (times[covers[i]] > 1).all():
            kept.discard(i)
            times = times - covers[i]
    return [terms[i] for i in sorted(kept)]
