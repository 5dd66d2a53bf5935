"""Limits on the size of a model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts_by_class


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The most distinct columns of the model; rules and literals of a class, and of all classes; None: no limit."""

    features: int | None = None
    clauses: int | None = None
    literals: int | None = None
    total_clauses: int | None = None
    total_literals: int | None = None

    @classmethod
    def of(cls, settings: Any) -> SizeLimits:
        """The limits that the parameters of a learner set, as far as it has them."""
        return cls(**{item.name: getattr(settings, f"max_{item.name}", None) for item in fields(cls)})

    def hold_for(self, graph: RuleGraph) -> bool:
        """Whether a model keeps to every limit."""
        if self.features is not None and len(graph.used_features) > self.features:
            return False
        if {self.clauses, self.literals, self.total_clauses, self.total_literals} == {None}:
            return True
        by_class = list(counts_by_class(graph).values())
        pairs = (
            *((self.clauses, each.rules) for each in by_class),
            *((self.literals, each.literals) for each in by_class),
            (self.total_clauses, sum(each.rules for each in by_class)),
            (self.total_literals, sum(each.literals for each in by_class)),
        )
        return all(limit is None or size <= limit for limit, size in pairs)


NO_LIMITS = SizeLimits()
