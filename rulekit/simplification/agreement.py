"""Whether rewritten probabilities decide and report as before, on every pattern of truth values of their causes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rulekit.errors import BudgetError
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import Family, Hidden, Node
from rulekit.graph.probability.circuit import Circuit, Mix
from rulekit.graph.probability.compilation import build_circuit
from rulekit.graph.probability.prime_implicants import Group, probability_on_patterns, reachable_patterns
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Schema

MAX_PATTERNS = 1 << 17
RELATIVE = 1e-12

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]


def agree(graph: RuleGraph, roots: Sequence[Node], trusted: bool) -> bool:
    """Whether decision and probabilities are the same with these roots in place of the graph's own.

    A decision has to be the same on every reachable pattern of the causes; the score of an arg-max bit for bit; a
    reported probability to 1e-12 relative. trusted: what cannot be enumerated passes if neither circuit mixes
    (the laws used change no double then), else it fails.
    """
    count = len(graph.decision.roots)
    uses = [*_uses(graph), *[None] * len(graph.probability)]
    for i, (old, new, use) in enumerate(zip(graph.roots, roots, uses, strict=True)):
        if old is new or old.family is not Family.PROBABILITY or not old.children:
            continue
        if old.children[0].family not in (Family.RANDOM, Family.BOOLEAN):
            continue
        if not _same(old.children[0], new.children[0], use, i < count, graph.schema, trusted):
            return False
    return True


def _uses(graph: RuleGraph) -> list[Exceeds | Fires | None]:
    """For each decision root, the binary decision that reads it; None for an arg-max."""
    if isinstance(graph.decision, ArgMax):
        return [None] * len(graph.decision.scores)
    return list(graph.decision.above) if isinstance(graph.decision, Median) else [graph.decision]


def _same(old: Node, new: Node, use: Exceeds | Fires | None, decides: bool, schema: Schema, trusted: bool) -> bool:
    try:
        circuits = build_circuit(old), build_circuit(new)
    except BudgetError:
        return trusted
    logarithmic = isinstance(use, Exceeds) and use.scale == "log-complement"
    causes = dict.fromkeys(cause for circuit in circuits for cause in circuit.causes)
    if logarithmic:
        causes.update(dict.fromkeys(_cause(child) for node in (old, new) for child in node.children))
    groups = reachable_patterns(tuple(causes), schema)
    if math.prod(len(group.patterns) for group in groups) > MAX_PATTERNS:
        return trusted and not any(_mixes(circuit) for circuit in circuits)
    if logarithmic:
        assert isinstance(use, Exceeds)
        a, b = (_strengths(node, groups) > use.threshold for node in (old, new))
        return bool((a == b).all())
    before, after = (probability_on_patterns(circuit, groups) for circuit in circuits)
    if isinstance(use, Exceeds):
        return bool(((before > use.threshold) == (after > use.threshold)).all())
    if decides:
        return bool((before == after).all())
    return bool((np.abs(after - before) <= RELATIVE * np.abs(before)).all())


def _mixes(circuit: Circuit) -> bool:
    return any(isinstance(step, Mix) for step in circuit.steps)


def _cause(child: Node) -> Node:
    return child.cause if isinstance(child, Hidden) else child


def _strengths(disjunction: Node, groups: Sequence[Group]) -> Doubles:
    """The sum of strengths, in double from left to right, on every combination of patterns."""
    total: Doubles = np.zeros([1] * len(groups))
    for child in disjunction.children:
        on, off = (child.on, child.off) if isinstance(child, Hidden) else (math.inf, 0.0)
        for g, group in enumerate(groups):
            if _cause(child) in group.causes:
                shape = [1] * len(groups)
                shape[g] = -1
                truth: Bools = group.patterns[:, group.causes.index(_cause(child))].reshape(shape)
                total = total + np.where(truth, on, off)
    return np.broadcast_to(total, [len(group.patterns) for group in groups])
