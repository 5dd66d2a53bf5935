"""What the ids of rules stand for, and a random rule as plain logic."""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.graph.nodes import And, Hidden, Node, Not, Or, with_children
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import INHIBITS, rules_of
from rulekit.graph.traversal import fold
from rulekit.names import label_text, printable

CONTRARY = (INHIBITS, "against")
"""Connectives of rules that speak against their class."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the id of a rule stands for: the class that it speaks for or against, and its condition.

    weight: its part of a sum, else None; a rule whose weight is negative speaks against the class, as does one that
    inhibits others. nested: its conditions count by strengths, which the condition leaves out. signed: of an override
    who answers for it, and why.
    """

    id: str
    class_label: ClassLabel
    condition: str
    weight: float | None = None
    nested: bool = False
    inhibits: bool = False
    signed: str = ""

    def __str__(self) -> str:
        against = "against " if self.inhibits or (self.weight is not None and self.weight < 0) else ""
        part = "" if self.weight is None else f" by {abs(self.weight):.4g}"
        signed = f" (override, {self.signed})" if self.signed else ""
        return printable(f"{self.id}  {against}{label_text(self.class_label)}{part}: {self.condition}{signed}")


def meanings_of(graph: RuleGraph) -> tuple[Meaning, ...]:
    """What the ids of all rules of a model stand for."""
    from rulekit.graph.language.text import print_node
    from rulekit.shown.sections import signature

    signed = {override.id: signature(override) for override in graph.overrides}
    return tuple(
        Meaning(
            rule.id,
            graph.classes[rule.class_index],
            print_node(without_strengths(rule.node) if rule.nested else rule.node, graph.schema),
            rule.weight if rule.connective == "sum" else None,
            rule.nested,
            rule.connective in CONTRARY,
            signed.get(rule.id, ""),
        )
        for rule in rules_of(graph)
    )


def without_strengths(rule: Node) -> Node:
    """The conditions of a random rule as plain logic: each hidden bit by what makes it more probable.

    That is its cause, or the contrary of its cause where the bit fires less often with it than without. Bits of one
    cause, whose strengths alone tell them apart, are one condition then.
    """

    def plain(node: Node, children: tuple[Node, ...]) -> Node:
        if isinstance(node, Hidden):
            return children[0] if node.on >= node.off else Not(children[0])
        if isinstance(node, And | Or):
            children = tuple(dict.fromkeys(children))
            return children[0] if len(children) == 1 else with_children(node, children)
        return with_children(node, children)

    return fold([rule], plain)[rule]
