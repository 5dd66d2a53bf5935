"""Rules that were added, removed, tightened, loosened or moved, and weights that changed, from one model to another.

Each rule of the old model is paired with at most one of the new one that speaks for the same class: first rules that
are the same, then those of which one covers the other (most parts in common first), then those over the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rulekit.audit.differences.covering import Covering, Relation
from rulekit.audit.differences.joint import Joint
from rulekit.audit.rule_matching.alike import Columns, RuleParts, rule_parts
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.limits import NO_LIMIT, Deadline

ChangeKind = Literal["added", "removed", "tightened", "loosened", "moved", "weight", "rewritten"]
KINDS: tuple[ChangeKind, ...] = ("removed", "added", "tightened", "loosened", "moved", "weight", "rewritten")
_OF: dict[Relation, ChangeKind] = {"same": "rewritten", "fewer": "tightened", "more": "loosened"}
MOST_RULES = 400
"""Of both models together; beyond, only rules that are the same are paired."""


@dataclass(frozen=True, slots=True)
class SaidRule:
    """A rule: its id, the class that it speaks for, its words, its weight or probability (None: it counts whole)."""

    id: str
    label: ClassLabel
    text: str
    weight: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        weight = {} if self.weight is None else {"weight": self.weight}
        return {"id": self.id, "class": self.label, "rule": self.text, **weight}


@dataclass(frozen=True, slots=True)
class PartChange:
    """What stands over some columns of a rule before and after, in words; "" for nothing."""

    columns: tuple[str, ...]
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class RuleChange:
    """A rule that is not the same in both; old, new: None where there is none."""

    kind: ChangeKind
    old: SaidRule | None = None
    new: SaidRule | None = None
    parts: tuple[PartChange, ...] = ()

    @property
    def weights_differ(self) -> bool:
        if self.old is None or self.new is None or None in (self.old.weight, self.new.weight):
            return False
        return self.old.weight != self.new.weight

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        parts = [{"columns": list(p.columns), "before": p.before, "after": p.after} for p in self.parts]
        said = {"old": self.old, "new": self.new}
        return {
            "kind": self.kind,
            **{name: None if rule is None else rule.as_dict() for name, rule in said.items()},
            "parts": parts,
        }


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """The changes, and how many rules are the same in both."""

    changes: tuple[RuleChange, ...]
    same: int


def rule_changes(joint: Joint, deadline: Deadline = NO_LIMIT) -> RuleChanges:
    """The changes from the rules of the first model to those of the second; after the deadline nothing is searched."""
    rules = rule_parts(joint.models[0]), rule_parts(joint.models[1])
    pairs = _paired(joint, *rules, deadline)
    old_paired, new_paired = {i for i, *_ in pairs}, {j for _, j, *_ in pairs}
    found, same = [], 0
    for i, j, kind, changed in sorted(pairs, key=lambda pair: pair[0]):
        change = _change(joint.models, rules[0][i], rules[1][j], kind, changed)
        if change is None:
            same += 1
        else:
            found.append(change)
    lost = [_said(joint.models[0], rule) for i, rule in enumerate(rules[0]) if i not in old_paired]
    gained = [_said(joint.models[1], rule) for j, rule in enumerate(rules[1]) if j not in new_paired]
    found += [RuleChange("removed", rule) for rule in lost] + [RuleChange("added", None, rule) for rule in gained]
    return RuleChanges(tuple(sorted(found, key=lambda change: KINDS.index(change.kind))), same)


Pair = tuple[int, int, ChangeKind, tuple[Columns, ...]]


def _paired(joint: Joint, olds: Sequence[RuleParts], news: Sequence[RuleParts], deadline: Deadline) -> list[Pair]:
    """Pairs of rules, the kind of change, and over which columns parts changed."""
    candidates: list[tuple[tuple[int, ...], Pair]] = []
    covering = Covering(joint, (olds, news), deadline) if len(olds) + len(news) <= MOST_RULES else None
    alike: dict[Node, list[int]] = {}
    for j, new in enumerate(news):
        alike.setdefault(joint.image(1, new.rule.node), []).append(j)
    for i, old in enumerate(olds):
        same = set(alike.get(joint.image(0, old.rule.node), ()))
        for j in range(len(news)) if covering is not None else sorted(same):
            new = news[j]
            if old.side != new.side:
                continue
            if j in same:
                candidates.append(((0, old.weight != new.weight, i, j), (i, j, "rewritten", ())))
            elif covering is not None and (found := _candidate(covering, old, new)) is not None:
                rank, kind, changed = found
                candidates.append(((*rank, i, j), (i, j, kind, changed)))
    pairs: list[Pair] = []
    taken: tuple[set[int], set[int]] = set(), set()
    for _, pair in sorted(candidates, key=lambda candidate: candidate[0]):
        if pair[0] not in taken[0] and pair[1] not in taken[1]:
            pairs.append(pair)
            taken[0].add(pair[0])
            taken[1].add(pair[1])
    return pairs


def _candidate(
    covering: Covering, old: RuleParts, new: RuleParts
) -> tuple[tuple[int, ...], ChangeKind, tuple[Columns, ...]] | None:
    """How good a pair is (the smaller the better), its kind and what changed; None for no pair."""
    relation = covering.relation(old, new)
    columns = [*old.parts, *(own for own in new.parts if own not in old.parts)]
    changed = tuple(own for own in columns if not covering.same(old, new, own))
    if relation in _OF:
        step = 1 if relation == "same" else 2
        return (step, len(changed), len(changed) - len(columns)), _OF[relation], changed
    if old.condition is None or new.condition is None:
        return ((3, 0, 0), "moved", ()) if old.columns == new.columns else None
    if set(old.parts) == set(new.parts):
        return (3, len(changed), len(changed) - len(columns)), "moved", changed
    return None


def _change(
    models: tuple[RuleGraph, RuleGraph], old: RuleParts, new: RuleParts, kind: ChangeKind, changed: Sequence[Columns]
) -> RuleChange | None:
    """The change of a pair; None where it is the same rule, however it is written."""
    if kind == "rewritten" and None not in (old.weight, new.weight) and old.weight != new.weight:
        kind = "weight"
    if kind == "rewritten" and old.rule.node is new.rule.node:
        return None
    said = _said(models[0], old), _said(models[1], new)
    if kind == "rewritten" and said[0].text == said[1].text:
        return None
    parts = tuple(
        PartChange(
            tuple(sorted(columns)),
            *(
                "" if columns not in rule.parts else print_node(rule.parts[columns], graph.schema)
                for rule, graph in zip((old, new), models, strict=True)
            ),
        )
        for columns in changed
    )
    return RuleChange(kind, *said, parts)


def _said(graph: RuleGraph, rule: RuleParts) -> SaidRule:
    node = rule.rule.node if rule.condition is None or rule.rule.nested else rule.condition
    return SaidRule(rule.rule.id, rule.side[0], print_node(node, graph.schema), rule.weight)
