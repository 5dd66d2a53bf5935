"""A rule as the conditions that it joins by and, one for each column that it reads.

What `compare` and `stability` match is this form: `x > 1 and (y in {a}) and x <= 5` has two parts, `1 < x <= 5` and
`y in {a}`, however it is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rulekit.graph.leaves import push_negations
from rulekit.graph.nodes import Above, And, Family, Hidden, Node, Probability
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import INHIBITS, Rule, columns_of, conjuncts, rules_of
from rulekit.schema import Schema

Columns = frozenset[str]


@dataclass(frozen=True, eq=False)
class RuleParts:
    """A rule with the condition on which it hangs.

    side: the class that it speaks for and, of a condition that keeps causes from acting or speaks against the class,
    which. condition: Boolean; None of a number that is added up. weight: the points of a term of a sum, the probability
    of a cause; None of a rule that counts whole.
    """

    rule: Rule
    side: tuple[ClassLabel, str]
    condition: Node | None
    weight: float | None
    schema: Schema

    @cached_property
    def parts(self) -> Mapping[Columns, Node]:
        """By the columns that they read what the condition joins by and."""
        return {} if self.condition is None else conditions(self.condition, self.schema)

    @property
    def columns(self) -> Columns:
        return columns_of(self.rule.node)


def rule_parts(graph: RuleGraph) -> tuple[RuleParts, ...]:
    """The rules that decide, in their order."""
    return tuple(_parts_of(rule, graph) for rule in rules_of(graph))


def _parts_of(rule: Rule, graph: RuleGraph) -> RuleParts:
    how = rule.connective if rule.connective in (INHIBITS, "against") else ""
    side = graph.classes[rule.class_index], how
    weight = rule.weight if rule.connective == "sum" else None
    condition: Node | None = rule.node
    if isinstance(rule.node, Hidden):
        condition, weight = rule.node.cause, rule.node.probability_on
    elif rule.nested:
        condition = Above(Probability(rule.node), 0.5)
    elif rule.node.family is not Family.BOOLEAN:
        condition = None
    return RuleParts(rule, side, condition, weight, graph.schema)


def conditions(condition: Node, schema: Schema) -> dict[Columns, Node]:
    """What a Boolean node joins by and, by the columns that it reads; negations stand in the leaves."""
    pushed = push_negations((condition,), schema)[condition]
    found: dict[Columns, list[Node]] = {}
    waiting = [pushed]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, And):
            waiting = [*conjuncts(node), *waiting]
        else:
            found.setdefault(columns_of(node), []).append(node)
    return {columns: own[0] if len(own) == 1 else And(own) for columns, own in found.items()}
