"""Hard limits on the size of a model: columns, rules and literals, as `rulekit.graph.rules.counts` sees them."""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.graph.nodes import FALSE, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most distinct columns, rules and literals of the whole model; None: no limit."""

    features: int | None = None
    clauses: int | None = None
    literals: int | None = None

    def hold_for(self, graph: RuleGraph) -> bool:
        """Whether a model keeps to every limit."""
        if self.features is not None and len(graph.used_features) > self.features:
            return False
        if self.clauses is None and self.literals is None:
            return True
        size = counts(graph)
        return (self.clauses is None or size.rules <= self.clauses) and (
            self.literals is None or size.literals <= self.literals
        )


NO_LIMITS = SizeLimits()


def rule_count(formula: Node) -> int:
    """The rules of a Boolean formula that decides."""
    if isinstance(formula, Or):
        return len(formula.children)
    return 0 if formula is FALSE else 1
