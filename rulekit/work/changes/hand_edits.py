"""What a person left in a model: edits of rules that simplification made shorter, expired overrides."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.shown.rule_rows import hand_made


def after_simplification(before: RuleGraph, after: RuleGraph) -> RuleGraph:
    """A simplified model in which new rules of a class count as made by hand where such a rule of it is gone."""
    made = hand_made(before)
    old = {rule.id: rule.class_index for rule in rules_of(before)}
    new = {rule.id: rule.class_index for rule in rules_of(after)}
    notes: list[dict[str, Any]] = []
    for name in made:
        fresh = [rule for rule, k in new.items() if rule not in old and k == old[name]]
        if name not in new and fresh:
            notes.append({**asdict(made[name]), "base": before.digest, "added": fresh, "removed": [name]})
    if not notes:
        return after
    return after.with_(provenance={**after.provenance, "edits": [*after.provenance.get("edits", ()), *notes]})


def today() -> str:
    """The ISO date of the clock, in UTC; no decision depends on it."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def expired_notes(overrides: Sequence[Override], day: str | None = None) -> tuple[str, ...]:
    """A line for each override that was meant to end before a day, by default today; it goes on to decide."""
    now = day or today()
    return tuple(
        f"override {each.id} expired on {each.expires} and still decides; rulekit override --remove {each.id} ends it"
        for each in overrides
        if each.expired(now)
    )
