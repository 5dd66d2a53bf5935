"""Whether two rules are the same rule within a tolerance of their cuts, by the rows of a table.

Two conditions are alike where they read the same columns, hold on the same rows but for at most 5 % of all, and agree
on at least half of the rows that either of them picks, be it those on which it holds or those on which it does not. So
two cuts are alike where at most 5 % of the rows lie between them, and two sets of levels where at most 5 % of the rows
have a level of one alone; and a condition that only few rows pick is not alike to every other one. Two rules are alike
where they speak for the same class and their conditions, column by column, are alike. A term of a sum says the same as
one on the contrary condition with the contrary weight, but for a constant; so such terms are alike, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np
import numpy.typing as npt

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import push_negations
from rulekit.graph.nodes import Above, And, Family, Hidden, Node, Probability
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import CONTRARY, Rule, columns_of, conjuncts, rules_of
from rulekit.schema import Schema
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


TOLERANCE = 0.05
_LEAST_OVERLAP = 0.5
MOST_ROWS = 20_000
"""Rows by which rules are matched; of more, so many evenly spaced ones."""
_AT_ONCE = 256

_ONES = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)
Bytes = npt.NDArray[np.uint8]


@dataclass(slots=True, eq=False)
class Alike:
    """Matches rules by the rows of a table; truths of conditions are kept as bits."""

    table: Table
    tolerance: float = TOLERANCE
    _truths: dict[Node, tuple[Bytes, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.table.n_rows > MOST_ROWS:
            self.table = self.table.take(np.linspace(0, self.table.n_rows - 1, MOST_ROWS).astype(np.int64))

    def know(self, rules: Iterable[RuleParts]) -> None:
        """Work out the conditions of some rules, many at once."""
        wanted = dict.fromkeys(node for rule in rules for node in rule.parts.values() if node not in self._truths)
        nodes = list(wanted)
        for start in range(0, len(nodes), _AT_ONCE):
            for node, truth in evaluate_nodes(nodes[start : start + _AT_ONCE], self.table).items():
                self._truths[node] = np.packbits(truth), int(truth.sum())

    def apart(self, one: Node, other: Node) -> float:
        """The share of the rows on which two conditions differ; infinite where they are not alike."""
        return 0.0 if one is other else self._apart(one, other, False)

    def _apart(self, one: Node, other: Node, contrary: bool) -> float:
        """As `apart`; contrary: of the contrary of the other one."""
        n = self.table.n_rows
        (first, held), (second, also) = self._truths[one], self._truths[other]
        differ = int(_ONES[first ^ second].sum())
        if contrary:
            differ, also = n - differ, n - also
        both = (held + also - differ) // 2
        either = both + differ
        neither = n - either
        if differ > self.tolerance * n or both < _LEAST_OVERLAP * either or neither < _LEAST_OVERLAP * (n - both):
            return inf
        return differ / max(n, 1)

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
        return self._apart(first, other.parts[columns], True)

    def nearest(self, rule: RuleParts, others: Sequence[RuleParts]) -> RuleParts | None:
        """The rule that is most alike, None where none is."""
        found = [(self.distance(rule, other), place) for place, other in enumerate(others)]
        best = min(found, default=(inf, 0))
        return others[best[1]] if best[0] < inf else None

    def pairs(self, ones: Sequence[RuleParts], others: Sequence[RuleParts]) -> int:
        """How many rules can be paired with one that is alike, each at most once: those most alike first."""
        candidates = sorted(
            (distance, i, j)
            for i, one in enumerate(ones)
            for j, other in enumerate(others)
            if (distance := self.distance(one, other)) < inf
        )
        first: set[int] = set()
        second: set[int] = set()
        for _, i, j in candidates:
            if i not in first and j not in second:
                first.add(i)
                second.add(j)
        return len(first)


def dice(paired: int, first: int, second: int) -> float:
    """The Dice-Sorensen index of two sets of rules: twice what they share over what they have; 1 of two empty ones."""
    return 2.0 * paired / (first + second) if first + second else 1.0
