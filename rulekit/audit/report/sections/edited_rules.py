"""Which rules were not learned: written or changed by hand, kept from a start, or put over the learned ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of


def edits_of(graph: RuleGraph) -> list[Mapping[str, Any]]:
    """The edits that the provenance of a model lists, the first one first."""
    found = graph.provenance.get("edits", ())
    return [edit for edit in found if isinstance(edit, Mapping)] if isinstance(found, Sequence) else []


def overrides_of(graph: RuleGraph) -> tuple[Any, ...]:
    """The rules that win over the learned ones; none where this model knows no overrides."""
    return tuple(getattr(graph, "overrides", ()))


def is_learned(graph: RuleGraph) -> bool:
    """Whether the provenance says which learner made the model: a rule text that was imported has none."""
    return isinstance(graph.provenance.get("learner"), str)


def marks_of(graph: RuleGraph) -> dict[str, tuple[str, ...]]:
    """By id of a rule the words that mark it."""
    found: dict[str, list[str]] = {}
    ids = [rule.id for rule in rules_of(graph)]
    if not is_learned(graph):
        return dict.fromkeys(ids, ("no record of learning",))
    for edit in edits_of(graph):
        added = edit.get("added", ())
        for rule in added if isinstance(added, Sequence) and not isinstance(added, str) else ():
            if isinstance(rule, str):
                # a later edit may have made the id longer or shorter: one of both is a prefix of the other
                own = [known for known in ids if known.startswith(rule) or rule.startswith(known)]
                for known in own:
                    if "edited by hand" not in found.setdefault(known, []):
                        found[known].append("edited by hand")
    for override in overrides_of(graph):
        name = getattr(override, "id", None)
        if isinstance(name, str):
            found[name] = ["override"]
    return {rule: tuple(words) for rule, words in found.items()}
