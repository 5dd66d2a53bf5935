"""Whether two rules are the same rule within a tolerance of their cuts, by the rows of a table; what rules became.

Two conditions are alike where they read the same columns, hold on the same rows but for at most 5 % of all, and agree
on at least half of the rows that either of them picks, be it those on which it holds or those on which it does not. So
two cuts are alike where at most 5 % of the rows lie between them, and two sets of levels where at most 5 % of the rows
have a level of one alone; and a condition that only few rows pick is not alike to every other one. Two rules are alike
where they speak for the same class and their conditions, column by column, are alike. A term of a sum says the same as
one on the contrary condition with the contrary weight, but for a constant; so such terms are alike, too.

From one model to another each rule is paired with at most one that speaks for the same class: first rules that are the
same, then those of which one covers the other (most parts in common first), then those over the same columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from math import inf
from operator import itemgetter
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Bools
from rulekit.audit.checks.findings import given
from rulekit.audit.differences.joint import Joint
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import has_column, push_negations
from rulekit.graph.nodes import Above, And, Family, Hidden, Node, Probability
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import CONTRARY, Rule, columns_of, conjuncts, rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.schema import Schema
from rulekit.search.row_search import Claim, RowSearch
from rulekit.tables.table import Table

Columns = frozenset[str]


@dataclass(frozen=True, eq=False)
class RuleParts:
    """A rule with the condition on which it hangs.

    side: the class that it speaks for and, of a condition that keeps causes from acting or speaks against the class,
    which. condition: Boolean; None of a number that is added up. weight: the points of a term of a sum, the probability
    of a cause; None of a rule that counts whole.
    """

    rule: Rule
    side: tuple[ClassLabel, str]
    condition: Node | None
    weight: float | None
    schema: Schema

    @cached_property
    def parts(self) -> Mapping[Columns, Node]:
        """By the columns that they read what the condition joins by and."""
        return {} if self.condition is None else conditions(self.condition, self.schema)

    @property
    def columns(self) -> Columns:
        return columns_of(self.rule.node)


def rule_parts(graph: RuleGraph) -> tuple[RuleParts, ...]:
    """The rules that decide, in their order."""
    found = []
    for rule in rules_of(graph):
        side = graph.classes[rule.class_index], rule.connective if rule.connective in CONTRARY else ""
        weight = rule.weight if rule.connective == "sum" else None
        condition: Node | None = rule.node if rule.node.family is Family.BOOLEAN else None
        if isinstance(rule.node, Hidden):
            condition, weight = rule.node.cause, rule.node.probability_on
        elif rule.nested:
            condition = Above(Probability(rule.node), 0.5)
        found.append(RuleParts(rule, side, condition, weight, graph.schema))
    return tuple(found)


def conditions(condition: Node, schema: Schema) -> dict[Columns, Node]:
    """What a Boolean node joins by and, by the columns that it reads; negations stand in the leaves."""
    found: dict[Columns, list[Node]] = {}
    waiting = [push_negations((condition,), schema)[condition]]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, And):
            waiting = [*conjuncts(node), *waiting]
        else:
            found.setdefault(columns_of(node), []).append(node)
    return {columns: own[0] if len(own) == 1 else And(own) for columns, own in found.items()}


def best_pairs(candidates: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Of pairs (rank, i, j, ...) those of the least rank first, each i and j in one of them."""
    taken: tuple[set[int], set[int]] = set(), set()
    found = []
    for pair in sorted(candidates, key=itemgetter(0, 1, 2)):
        if pair[1] not in taken[0] and pair[2] not in taken[1]:
            found.append(pair)
            taken[0].add(pair[1])
            taken[1].add(pair[2])
    return found


TOLERANCE = 0.05
_LEAST_OVERLAP = 0.5
MOST_ROWS = 20_000
"""Rows by which rules are matched; of more, so many evenly spaced ones."""
_AT_ONCE = 256


@dataclass(slots=True, eq=False)
class Alike:
    """Matches rules by the rows of a table."""

    table: Table
    tolerance: float = TOLERANCE
    _truths: dict[Node, Bools] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.table.n_rows > MOST_ROWS:
            self.table = self.table.take(np.linspace(0, self.table.n_rows - 1, MOST_ROWS).astype(np.int64))

    def know(self, rules: Iterable[RuleParts]) -> None:
        """Work out the conditions of some rules, many at once."""
        wanted = dict.fromkeys(node for rule in rules for node in rule.parts.values() if node not in self._truths)
        nodes = list(wanted)
        for start in range(0, len(nodes), _AT_ONCE):
            self._truths |= evaluate_nodes(nodes[start : start + _AT_ONCE], self.table)

    def apart(self, one: Node, other: Node, contrary: bool = False) -> float:
        """The share of the rows on which two conditions differ (contrary: the second one turned); infinite where they
        are not alike.
        """
        n = self.table.n_rows
        if one is other and not contrary:
            return 0.0
        first, second = self._truths[one], ~self._truths[other] if contrary else self._truths[other]
        both, neither = int((first & second).sum()), n - int((first | second).sum())
        differ = n - both - neither
        overlaps = both >= _LEAST_OVERLAP * (n - neither) and neither >= _LEAST_OVERLAP * (n - both)
        return differ / max(n, 1) if overlaps and differ <= self.tolerance * n else inf

    def distance(self, one: RuleParts, other: RuleParts) -> float:
        """The largest share of rows on which conditions of alike rules differ; infinite where they are not alike."""
        if one.side != other.side:
            return inf
        if one.condition is None or other.condition is None:
            return 0.0 if one.rule.node is other.rule.node else inf
        if set(one.parts) != set(other.parts):
            return inf
        upright = max((self.apart(node, other.parts[columns]) for columns, node in one.parts.items()), default=0.0)
        return min(upright, self._contrary(one, other))

    def turned(self, one: RuleParts, other: RuleParts) -> bool:
        """Whether a term of a sum is alike to the contrary of another one, and not to it."""
        return self._contrary(one, other) < max(self.apart(n, other.parts[c]) for c, n in one.parts.items())

    def _contrary(self, one: RuleParts, other: RuleParts) -> float:
        """The share of rows on which a term of one condition and one of the contrary condition differ."""
        if len(one.parts) != 1 or one.rule.connective != "sum" or other.rule.connective != "sum":
            return inf
        (columns, first), *_ = one.parts.items()
        return self.apart(first, other.parts[columns], True)

    def nearest(self, rule: RuleParts, others: Sequence[RuleParts]) -> RuleParts | None:
        """The rule that is most alike, None where none is."""
        found = [(self.distance(rule, other), place) for place, other in enumerate(others)]
        best = min(found, default=(inf, 0))
        return others[best[1]] if best[0] < inf else None

    def pairs(self, ones: Sequence[RuleParts], others: Sequence[RuleParts]) -> int:
        """How many rules can be paired with one that is alike, each at most once: those most alike first."""
        distances = ((self.distance(one, other), i, j) for i, one in enumerate(ones) for j, other in enumerate(others))
        return len(best_pairs(candidate for candidate in distances if candidate[0] < inf))


def dice(paired: int, first: int, second: int) -> float:
    """The Dice-Sorensen index of two sets of rules: twice what they share over what they have; 1 of two empty ones."""
    return 2.0 * paired / (first + second) if first + second else 1.0


# Changes from one model to another ------------------------------------------------------------------------------------

ChangeKind = Literal["added", "removed", "tightened", "loosened", "moved", "weight", "rewritten"]
KINDS: tuple[ChangeKind, ...] = ("removed", "added", "tightened", "loosened", "moved", "weight", "rewritten")
MOST_SEARCHES = 200
MOST_RULES = 400
"""Of both models together; beyond, only rules that are the same are paired."""


def _kind(inside: bool, around: bool) -> ChangeKind | None:
    """What a rule became that covers nothing beyond the old one (inside), or all of it (around)."""
    return "rewritten" if inside and around else "tightened" if inside else "loosened" if around else None


class Covering:
    """The cells that the parts of the rules of both models cover; pairs of other rules are searched."""

    def __init__(
        self, joint: Joint, rules: tuple[Sequence[RuleParts], Sequence[RuleParts]], deadline: Deadline = NO_LIMIT
    ) -> None:
        self.joint, self.deadline, self.left = joint, deadline, MOST_SEARCHES
        self.parts: dict[int, Mapping[Columns, Node]] = {
            id(rule): {columns: joint.image(model, node) for columns, node in rule.parts.items()}
            for model, own in enumerate(rules)
            for rule in own
        }
        nodes = list(dict.fromkeys(node for own in self.parts.values() for node in own.values()))
        search = RowSearch(joint.over[0], nodes)
        self.axes = search.space.axes
        # of the conditions on one column its axis, and where they hold there
        on_axis = ((node, search.on_axis(search.image(node))) for node in nodes)
        self.masks = {node: found for node, found in on_axis if found is not None and self.axes[found[0]].whole}

    def same(self, one: RuleParts, other: RuleParts, columns: Columns) -> bool:
        """Whether two rules have the same part over some columns."""
        first, second = self.parts[id(one)].get(columns), self.parts[id(other)].get(columns)
        if first is None or second is None or first is second:
            return first is second
        masks = self.masks.get(first), self.masks.get(second)
        return masks[0] is not None and masks[1] is not None and bool((masks[0][1] == masks[1][1]).all())

    def relation(self, old: RuleParts, new: RuleParts) -> ChangeKind | None:
        """What the old rule became, by what the new one covers beside it; None where that is not known, or other."""
        first, second = self.parts[id(old)], self.parts[id(new)]
        if old.condition is None or new.condition is None or not (old.columns & new.columns):
            return "rewritten" if old.rule.node is new.rule.node else None
        if all(node in self.masks for node in (*first.values(), *second.values())):
            before, after = self._covered(first), self._covered(second)
            return _kind(bool((before | ~after).all()), bool((after | ~before).all()))
        if all(self.same(old, new, columns) for columns in {*first, *second}):
            return "rewritten"
        narrower = old.columns <= new.columns or new.columns <= old.columns
        images = self.joint.image(0, old.condition), self.joint.image(1, new.condition)
        # hardly ever does one cover the other where numbers are added up, and searching takes long
        if not narrower or self.left < 2 or self.deadline.over or any(map(has_column, images)):
            return None
        self.left -= 2
        search = RowSearch(self.joint.over[0], images, deadline=self.deadline)
        asked = (search.find(Claim(one), Claim(other, False)) for one, other in (images[::-1], images))
        return _kind(*(found == Sought(None) for found in asked))

    def _covered(self, parts: Mapping[Columns, Node]) -> Bools:
        held = [np.ones(len(axis), dtype=bool) for axis in self.axes]
        for axis, mask in (self.masks[node] for node in parts.values()):
            held[axis] &= mask
        return np.concatenate(held)


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

    def as_dict(self) -> dict[str, Any]:
        old, new = (None if rule is None else rule.as_dict() for rule in (self.old, self.new))
        return {"kind": self.kind, "old": old, "new": new, "parts": list(map(asdict, self.parts))}


@dataclass(frozen=True, slots=True)
class RuleChanges:
    """The changes, and how many rules are the same in both."""

    changes: tuple[RuleChange, ...]
    same: int


def rule_changes(joint: Joint, deadline: Deadline = NO_LIMIT) -> RuleChanges:
    """The changes from the rules of the first model to those of the second; after the deadline nothing is searched."""
    olds, news = rules = rule_parts(joint.models[0]), rule_parts(joint.models[1])
    covering = Covering(joint, rules, deadline) if len(olds) + len(news) <= MOST_RULES else None
    alike: dict[Node, list[int]] = {}
    for j, new in enumerate(news):
        alike.setdefault(joint.image(1, new.rule.node), []).append(j)
    candidates: list[tuple[Any, ...]] = []
    for i, old in enumerate(olds):
        same = alike.get(joint.image(0, old.rule.node), [])
        for j in same if covering is None else range(len(news)):
            if old.side == news[j].side and j in same:
                candidates.append(((0, old.weight != news[j].weight), i, j, "rewritten", ()))
            elif old.side == news[j].side and covering is not None:
                candidates += ((rank, i, j, *rest) for rank, *rest in _candidate(covering, old, news[j]))
    pairs = best_pairs(candidates)
    changes = [_change(joint.models, olds[i], news[j], *rest) for _, i, j, *rest in sorted(pairs, key=itemgetter(1))]
    found = [change for change in changes if change is not None]
    for model, kind in enumerate(KINDS[:2]):
        paired = {pair[1 + model] for pair in pairs}
        lone = [_said(joint.models[model], rule) for k, rule in enumerate(rules[model]) if k not in paired]
        found += [RuleChange(kind, None, rule) if model else RuleChange(kind, rule) for rule in lone]
    return RuleChanges(tuple(sorted(found, key=lambda change: KINDS.index(change.kind))), changes.count(None))


def _candidate(
    covering: Covering, old: RuleParts, new: RuleParts
) -> Iterator[tuple[tuple[int, ...], ChangeKind, tuple[Columns, ...]]]:
    """How good a pair is (the smaller the better), its kind and over which columns parts changed; nothing of none."""
    kind = covering.relation(old, new)
    columns = [*old.parts, *(own for own in new.parts if own not in old.parts)]
    changed = tuple(own for own in columns if not covering.same(old, new, own))
    if old.condition is None or new.condition is None:
        matches = old.columns == new.columns
        changed = changed if kind else ()
    else:
        matches = set(old.parts) == set(new.parts)
    if kind or matches:
        step = {"rewritten": 1, None: 3}.get(kind, 2)
        yield (step, len(changed), len(changed) - len(columns)), kind or "moved", changed


def _change(
    models: tuple[RuleGraph, RuleGraph], old: RuleParts, new: RuleParts, kind: ChangeKind, changed: Sequence[Columns]
) -> RuleChange | None:
    """The change of a pair; None where it is the same rule, however it is written."""
    if kind == "rewritten" and None not in (old.weight, new.weight) and old.weight != new.weight:
        kind = "weight"
    said = _said(models[0], old), _said(models[1], new)
    if kind == "rewritten" and (old.rule.node is new.rule.node or said[0].text == said[1].text):
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
