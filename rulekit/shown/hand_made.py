"""Which rules of a model were written or changed by a person, as its provenance says.

An edit (`rulekit import --base`, `rulekit override`) is a note with author, date and reason, and the ids of the rules
that it added and removed. The id of a rule is the beginning of a digest, as long as its model needs it: ids of which
one begins with the other are the same rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rulekit.graph.files.json_values import entries
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import OVERRIDES, rules_of


@dataclass(frozen=True, slots=True)
class HandEdit:
    """Who wrote or changed a rule, when and why; "" where that was not told."""

    author: str = ""
    date: str = ""
    reason: str = ""

    def __str__(self) -> str:
        """`changed by hand by A. Auditor on 2026-11-25: policy 7`."""
        by = f" by {self.author}" if self.author else ""
        on = f" on {self.date}" if self.date else ""
        return f"changed by hand{by}{on}{f': {self.reason}' if self.reason else ''}"


def hand_made(graph: RuleGraph) -> dict[str, HandEdit]:
    """By id the rules of a model that a person wrote or changed; overrides, which say so themselves, are none."""
    made: dict[str, HandEdit] = {}
    for note in edits_of(graph):
        if note.get("override"):
            continue
        for gone in _ids(note, "removed"):
            made = {name: edit for name, edit in made.items() if not same_rule(name, gone)}
        said = {key: str(note.get(key) or "") for key in ("author", "date", "reason")}
        made |= dict.fromkeys(_ids(note, "added"), HandEdit(**said))
    found = {}
    for rule in rules_of(graph) if made else ():
        edit = next((edit for name, edit in made.items() if same_rule(name, rule.id)), None)
        if edit is not None and rule.connective != OVERRIDES:
            found[rule.id] = edit
    return found


def same_rule(one: str, other: str) -> bool:
    """Whether two ids, of rules of two models, are those of one rule."""
    return one.startswith(other) or other.startswith(one)


def _ids(note: Mapping[str, Any], key: str) -> list[str]:
    ids = note.get(key)
    return [name for name in ids if isinstance(name, str) and name] if isinstance(ids, list | tuple) else []


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
