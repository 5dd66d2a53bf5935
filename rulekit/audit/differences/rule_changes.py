"""Rules that were added, removed, tightened, loosened or moved, and weights that changed, from one model to another.

Each rule of the old model is paired with at most one of the new one that speaks for the same class: first rules that
are the same, then those of which one covers the other (most parts in common first), then those over the same columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools
from rulekit.audit.checks.findings import given
from rulekit.audit.differences.joint import Joint
from rulekit.audit.rule_matching import Columns, RuleParts, rule_parts
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.search.row_search import Claim, RowSearch

Relation = Literal["same", "fewer", "more", "other", "unknown"]
MOST_SEARCHES = 200


class Covering:
    """The cells that the parts of the rules of both models cover; pairs of other rules are searched."""

    def __init__(
        self, joint: Joint, rules: tuple[Sequence[RuleParts], Sequence[RuleParts]], deadline: Deadline = NO_LIMIT
    ) -> None:
        self.joint, self.deadline = joint, deadline
        self.parts: dict[int, Mapping[Columns, Node]] = {
            id(rule): {columns: joint.image(model, node) for columns, node in rule.parts.items()}
            for model, own in enumerate(rules)
            for rule in own
        }
        nodes = list(dict.fromkeys(node for own in self.parts.values() for node in own.values()))
        self.search = RowSearch(joint.over[0], nodes)
        # of the conditions on one column its axis, and where they hold there
        on_axis = ((node, self.search.on_axis(self.search.image(node))) for node in nodes)
        axes = self.search.space.axes
        self.masks = {node: found for node, found in on_axis if found is not None and axes[found[0]].whole}
        self.left = MOST_SEARCHES

    def same(self, one: RuleParts, other: RuleParts, columns: Columns) -> bool:
        """Whether two rules have the same part over some columns."""
        first, second = self.parts[id(one)].get(columns), self.parts[id(other)].get(columns)
        if first is None or second is None or first is second:
            return first is second
        masks = self.masks.get(first), self.masks.get(second)
        return masks[0] is not None and masks[1] is not None and bool((masks[0][1] == masks[1][1]).all())

    def relation(self, old: RuleParts, new: RuleParts) -> Relation:
        """What the new rule covers beside the old one."""
        first, second = self.parts[id(old)], self.parts[id(new)]
        if old.condition is None or new.condition is None or not (old.columns & new.columns):
            return "same" if old.rule.node is new.rule.node else "other"
        if all(node in self.masks for node in (*first.values(), *second.values())):
            return self._by_masks(first, second)
        if all(self.same(old, new, columns) for columns in {*first, *second}):
            return "same"
        if not (old.columns <= new.columns or new.columns <= old.columns):
            return "unknown"
        return self._by_search(old, new)

    def _by_masks(self, first: Mapping[Columns, Node], second: Mapping[Columns, Node]) -> Relation:
        covered = [self._covered(parts) for parts in (first, second)]
        inside = all(bool((old | ~new).all()) for old, new in zip(*covered, strict=True))
        around = all(bool((new | ~old).all()) for old, new in zip(*covered, strict=True))
        return "same" if inside and around else "fewer" if inside else "more" if around else "other"

    def _covered(self, parts: Mapping[Columns, Node]) -> list[Bools]:
        """By axis the cells that a rule covers."""
        held = [np.ones(len(axis), dtype=bool) for axis in self.search.space.axes]
        for axis, mask in (self.masks[node] for node in parts.values()):
            held[axis] &= mask
        return held

    def _by_search(self, old: RuleParts, new: RuleParts) -> Relation:
        if self.left < 2 or self.deadline.over:
            return "unknown"
        self.left -= 2
        assert old.condition is not None
        assert new.condition is not None
        first, second = self.joint.image(0, old.condition), self.joint.image(1, new.condition)
        if has_column(first) or has_column(second):  # hardly ever does one cover the other, and searching takes long
            return "unknown"
        search = RowSearch(self.joint.over[0], (first, second), deadline=self.deadline)
        beyond = search.find(Claim(second), Claim(first, False))
        lost = search.find(Claim(first), Claim(second, False))
        inside, around = beyond == Sought(None), lost == Sought(None)
        if inside or around:
            return "same" if inside and around else "fewer" if inside else "more"
        return "other" if beyond.cells is not None and lost.cells is not None else "unknown"


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
        return {"id": self.id, "class": self.label, "rule": self.text, **given({"weight": self.weight})}


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
        old, new = (None if rule is None else rule.as_dict() for rule in (self.old, self.new))
        parts = [{"columns": list(p.columns), "before": p.before, "after": p.after} for p in self.parts]
        return {"kind": self.kind, "old": old, "new": new, "parts": parts}


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """The changes, and how many rules are the same in both."""

    changes: tuple[RuleChange, ...]
    same: int


def rule_changes(joint: Joint, deadline: Deadline = NO_LIMIT) -> RuleChanges:
    """The changes from the rules of the first model to those of the second; after the deadline nothing is searched."""
    rules = rule_parts(joint.models[0]), rule_parts(joint.models[1])
    pairs = _paired(joint, *rules, deadline)
    changes = [
        _change(joint.models, rules[0][i], rules[1][j], kind, parts)
        for i, j, kind, parts in sorted(pairs, key=itemgetter(0))
    ]
    found = [change for change in changes if change is not None]
    paired = [{pair[model] for pair in pairs} for model in (0, 1)]
    lost, gained = (
        [_said(graph, rule) for place, rule in enumerate(own) if place not in known]
        for graph, own, known in zip(joint.models, rules, paired, strict=True)
    )
    found += [RuleChange("removed", rule) for rule in lost] + [RuleChange("added", None, rule) for rule in gained]
    return RuleChanges(tuple(sorted(found, key=lambda change: KINDS.index(change.kind))), changes.count(None))


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
    parts = []
    for columns in changed:
        own = zip((old, new), models, strict=True)
        texts = [print_node(rule.parts[columns], graph.schema) if columns in rule.parts else "" for rule, graph in own]
        parts.append(PartChange(tuple(sorted(columns)), *texts))
    return RuleChange(kind, *said, tuple(parts))


def _said(graph: RuleGraph, rule: RuleParts) -> SaidRule:
    node = rule.rule.node if rule.condition is None or rule.rule.nested else rule.condition
    return SaidRule(rule.rule.id, rule.side[0], print_node(node, graph.schema), rule.weight)
