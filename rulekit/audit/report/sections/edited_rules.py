"""Which rules were not learned: written or changed by hand, or put over the learned ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.graph.files.free_values import entries
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.shown.hand_made import hand_made


def edits_of(graph: RuleGraph) -> list[Mapping[str, Any]]:
    """The edits that the provenance of a model lists, the first one first."""
    return entries(graph.provenance.get("edits"))


def is_learned(graph: RuleGraph) -> bool:
    """Whether the provenance says which learner made the model: a rule text that was imported has none."""
    return isinstance(graph.provenance.get("learner"), str)


def marks_of(graph: RuleGraph) -> dict[str, tuple[str, ...]]:
    """By id of a rule the words that mark it."""
    if not is_learned(graph):
        return {rule.id: ("no record of learning",) for rule in rules_of(graph)}
    marks = dict.fromkeys(hand_made(graph), "edited by hand") | {each.id: "override" for each in graph.overrides}
    return {rule: (mark,) for rule, mark in marks.items()}
