"""Which rules of a model were written or changed by a person, as its provenance says.

An edit (`rulekit import --base`, `rulekit override`) is a note with author, date and reason, and the ids of the rules
that it added and removed. The id of a rule is the beginning of a digest, as long as its model needs it: ids of which
one begins with the other are the same rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rulekit.graph.rules import OVERRIDES, rules_of

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


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
    for note in _notes(graph.provenance):
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


def _notes(provenance: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    edits = provenance.get("edits")
    for note in edits if isinstance(edits, list | tuple) else ():
        if isinstance(note, Mapping) and not note.get("override"):
            yield note


def _ids(note: Mapping[str, Any], key: str) -> list[str]:
    ids = note.get(key)
    return [name for name in ids if isinstance(name, str) and name] if isinstance(ids, list | tuple) else []
