"""Which rules of a model hold on a row, as steps: for artifacts that count them."""

from __future__ import annotations

from rulekit.graph.nodes import Family, Node, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.program.lower import Finish, lower_nodes
from rulekit.program.nodes import ZERO, Greater, Number


def firing_steps(graph: RuleGraph, finish: Finish | None = None) -> dict[str, Node]:
    """By id of a rule, in the order of `rules_of`, a condition that holds where `rulekit.graph.rules.fired` says so.

    Raises Unsupported for a node that has no steps.
    """
    rules = {rule.id: (Probability(rule.node) if rule.nested else rule.node) for rule in rules_of(graph)}
    given = () if finish is None else (finish,)
    lowered = lower_nodes(rules.values(), graph.schema, *given)
    random = {rule.id for rule in rules_of(graph) if rule.nested}
    return {key: _condition(lowered[node], key in random) for key, node in rules.items()}


def _condition(step: Node, random: bool) -> Node:
    """A truth value as it is; a probability where it is above 1/2, another number where it is not zero."""
    if step.family is Family.BOOLEAN:
        return step
    return Greater(step, Number(0.5)) if random else Or((Greater(step, ZERO), Greater(ZERO, step)))
