"""The rules of a model as Boolean nodes that hold or not, and the decision without one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rulekit.graph.decisions import Decision, Part
from rulekit.graph.nodes import FALSE, Above, Node, Or, Probability, with_children
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, Rule, rules_of, rules_of_parts


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule that speaks for its class where it holds, by itself.

    node: Boolean; of a random rule that its probability is above 1/2. root: the number of the root of the decision that
    the rule stands in.
    """

    rule: Rule
    node: Node
    root: int


def statements(graph: RuleGraph) -> tuple[Statement, ...]:
    """The rules that are joined by or; conditions that only count together, and terms of sums, are none."""
    graph = graph.underlying
    rules = iter(rules_of(graph))
    found = []
    for root, part in enumerate(graph.decision.parts):
        own = [next(rules) for _ in rules_of_parts((part,))]
        inhibited = any(rule.connective == INHIBITS for rule in own)  # then no rule speaks by itself
        for rule in own:
            if rule.connective == "or" and not inhibited:
                node = Above(Probability(rule.node), 0.5) if rule.nested else rule.node
                found.append(Statement(rule, node, root))
    return tuple(found)


def only_statements(part: Part) -> bool:
    """Whether a part of a decision has no rules but such as speak by themselves."""
    return all(rule.connective == "or" for rule in rules_of_parts((part,)))


def without_rule(graph: RuleGraph, statement: Statement) -> Decision:
    """The decision as it would be without a rule."""
    roots = list(graph.decision.roots)
    roots[statement.root] = _without(roots[statement.root], statement.rule.node)
    return graph.decision.with_roots(tuple(roots))


def _without(node: Node, rule: Node) -> Node:
    """A root, or what it is a number of, without a rule; of nothing but the rule nothing is left that fires."""
    if node is rule:
        return FALSE
    if isinstance(node, Or):
        return Or(list(_others(node, rule)))
    return with_children(node, [_without(child, rule) for child in node.children])


def _others(node: Or, rule: Node) -> Iterator[Node]:
    """The parts of an Or but the rule, which may stand in a list of plain rules among hidden bits.

    A rule that stands twice is left out once.
    """
    found = False
    for child in node.children:
        if not found and isinstance(child, Or) and rule in child.children:
            found, place = True, child.children.index(rule)
            yield Or([*child.children[:place], *child.children[place + 1 :]])
        elif found or child is not rule:
            yield child
        else:
            found = True
