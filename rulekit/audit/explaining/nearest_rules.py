"""The rules that come nearest to a decision that was not made: those with the fewest conditions in the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.audit.explaining.phrases import Phrases, conditions
from rulekit.graph.nodes import Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.table import Array, Table

MOST_RULES = 2
SURELY = 20  # rows that are explained whatever the time


@dataclass(frozen=True, slots=True)
class NearRule:
    """A rule that does not hold: its conditions in the way and those that hold, each with the values of the row.

    alike: how many more rules have as few conditions in the way.
    """

    rule: Rule
    in_the_way: tuple[str, ...]
    holding: tuple[str, ...]
    alike: int = 0

    def as_dict(self, graph: RuleGraph) -> dict[str, Any]:
        return {
            "id": self.rule.id,
            "class": graph.classes[self.rule.class_index],
            "in_the_way": list(self.in_the_way),
            "holding": list(self.holding),
        }


def nearest_rules(
    graph: RuleGraph, table: Table, labels: Array, phrases: Phrases | None = None, deadline: Deadline = NO_LIMIT
) -> list[tuple[NearRule, ...]]:
    """Of each row [n] the nearest rules whose holding would change its decision; none where no plain rules decide.

    After the deadline only the first rows have some.
    """
    words = Phrases(graph, table) if phrases is None else phrases
    rules = [rule for rule in rules_of(graph) if _is_plain(rule)]
    found: list[tuple[NearRule, ...]] = [()] * table.n_rows
    if not rules:
        return found
    parts = [conditions(rule.node) for rule in rules]
    words.evaluate(part for own in parts for part in own)
    failing = np.column_stack([sum((~words.of(part).astype(bool)).astype(int) for part in own) for own in parts])
    failing = np.where(_would_change(graph, rules, labels, words), failing, 0)
    least = np.where(failing > 0, failing, np.iinfo(failing.dtype).max).min(axis=1)
    for i in range(table.n_rows):
        if i >= SURELY and deadline.over:
            break
        nearest = np.flatnonzero(failing[i] == least[i]).tolist()
        alike = max(0, len(nearest) - MOST_RULES)
        found[i] = tuple(_near(words, rules[j], parts[j], i, alike) for j in nearest[:MOST_RULES])
    return found


def _is_plain(rule: Rule) -> bool:
    return rule.connective == "or" and not rule.nested and rule.node.family is Family.BOOLEAN


def _near(words: Phrases, rule: Rule, parts: tuple[Node, ...], i: int, alike: int) -> NearRule:
    held = [part for part in parts if words.holds(part, i)]
    failing = [part for part in parts if not words.holds(part, i)]
    return NearRule(
        rule,
        tuple(words.clause(part, i, needed=True) for part in failing),
        tuple(words.clause(part, i) for part in held),
        alike,
    )


def _would_change(graph: RuleGraph, rules: list[Rule], labels: Array, words: Phrases) -> Array:
    """Whether a row would be decided otherwise if a rule held [n, rules].

    Of ranked classes the next higher one is asked for; of several in an order those before the class of the row, and
    all others where that is the default.
    """
    classes = np.array([rule.class_index for rule in rules])
    found: Array
    if graph.decision.ordered:
        found = classes[None, :] == labels[:, None] + 1
        return found
    if not graph.decision.ranked:
        found = classes[None, :] > labels[:, None]
        return found
    order = [k for k, _, _ in graph.decision.ranked]
    place = np.array([order.index(k) for k in range(len(graph.classes))])
    own = [np.zeros(len(labels), dtype=bool) for _ in graph.classes]
    for rule in rules:
        own[rule.class_index] = own[rule.class_index] | words.of(rule.node).astype(bool)
    by_rule = np.column_stack(own)[np.arange(len(labels)), labels]
    earlier = place[classes][None, :] < place[labels][:, None]
    found = (classes[None, :] != labels[:, None]) & (earlier | ~by_rule[:, None])
    return found
