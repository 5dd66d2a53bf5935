"""Whether simplified roots decide and report the same: on every pattern of the causes of their hidden bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rulekit.errors import BudgetError
from rulekit.graph.nodes import Above, Node, Probability, Strength, topological
from rulekit.graph.probability.circuits import Mix, build_circuit, inputs
from rulekit.graph.rule_graph import RuleGraph
from rulekit.logic.prime_implicants import Doubles, Group, along, probability_on_patterns, reachable_patterns
from rulekit.schema import Schema

MAX_PATTERNS = 1 << 17
RELATIVE = 1e-12


def agree(graph: RuleGraph, roots: Sequence[Node], trusted: bool) -> bool:
    """Whether decision and probabilities are the same with these roots in place of the graph's own.

    A decision has to be the same on every reachable pattern of the causes; the score of an arg-max bit for bit; a
    reported probability to 1e-12 relative. trusted: what cannot be enumerated passes if neither circuit mixes
    (the laws used change no double then), else it fails.
    """
    count = len(graph.decision.roots)
    return all(
        old is new or _same(old, new, i < count, graph.schema, trusted)
        for i, (old, new) in enumerate(zip(graph.roots, roots, strict=True))
    )


def _same(old: Node, new: Node, decides: bool, schema: Schema, trusted: bool) -> bool:
    above = old if isinstance(old, Above) else None
    if above is not None:
        if not isinstance(new, Above) or new.threshold != above.threshold:
            return _uncertain(new) <= _uncertain(old)
        old, new = above.score, new.score
    if not (isinstance(old, Probability | Strength) and type(old) is type(new)):
        return _uncertain(new) <= _uncertain(old)  # around the same probabilities, laws of logic change no value
    try:
        before, after = _values(old, new, schema)
    except BudgetError:
        return trusted and not any(_mixes(node.children[0]) for node in (old, new))
    if above is not None:
        return bool(((before > above.threshold) == (after > above.threshold)).all())
    if decides:
        return bool((before == after).all())
    return bool((np.abs(after - before) <= RELATIVE * np.abs(before)).all())


def _uncertain(root: Node) -> frozenset[Node]:
    return frozenset(node for node in topological([root]) if isinstance(node, Probability | Strength))


def _values(old: Node, new: Node, schema: Schema) -> tuple[Doubles, Doubles]:
    causes = tuple(dict.fromkeys((*inputs(old), *inputs(new))))
    groups = reachable_patterns(causes, schema)
    if math.prod(len(group.patterns) for group in groups) > MAX_PATTERNS:
        raise BudgetError("too many patterns")
    if isinstance(old, Strength) and isinstance(new, Strength):
        return _strengths(old, groups), _strengths(new, groups)
    before, after = (probability_on_patterns(build_circuit(node.children[0]), groups) for node in (old, new))
    return before, after


def _mixes(formula: Node) -> bool:
    try:
        return any(isinstance(step, Mix) for step in build_circuit(formula).steps)
    except BudgetError:
        return False


def _strengths(node: Strength, groups: Sequence[Group]) -> Doubles:
    total: Doubles = np.zeros([1] * len(groups))
    for cause, on, off in node.terms:
        total = total + np.where(along(cause, groups), on, off)
    return total
