"""Conditions as clauses with the values of a row: `income is 21,000, which is at most 24,900`.

A condition that does not hold says what it needs: `income is 26,000, and the rule requires at most 24,900`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rulekit.dates import is_dated
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import amount, grouped, level_set, listed, lone_value, name, weight
from rulekit.graph.leaves import negate, readers
from rulekit.graph.nodes import (
    TRUE,
    Above,
    Among,
    And,
    AtLeast,
    Compare,
    Contains,
    Family,
    IsTrue,
    Linear,
    LinearThreshold,
    Missing,
    Node,
    Not,
    Or,
    is_logic,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import column_title, printable
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Feature, Schema
from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets

NEW = "a level never seen in training"
_DEEPEST = 3
_MOST = 4


class Phrases:
    """Words for the rows of one table under one model; what nodes yield is computed once for all rows."""

    def __init__(self, graph: RuleGraph, table: Table) -> None:
        self.graph, self.schema, self.table = graph, graph.schema, table
        self._values: dict[Node, Any] = {}
        self._relations: dict[Node, str | None] = {}
        self._said: tuple[int, dict[str, str]] = -1, {}

    def of(self, node: Node) -> Any:
        """What a node yields [n]."""
        if node not in self._values:
            self.evaluate([node])
        return self._values[node]

    def evaluate(self, nodes: Iterable[Node]) -> None:
        """Compute what many nodes yield at once, which is faster than one after the other."""
        self._values |= evaluate_nodes([node for node in nodes if node not in self._values], self.table)

    def holds(self, node: Node, i: int) -> bool:
        return bool(self.of(node)[i])

    # Values ----------------------------------------------------------------------------------------------------------

    def value(self, column: str, i: int) -> str:
        """The value of a column in a row, in words."""
        if self._said[0] != i:
            self._said = i, {}
        said = self._said[1]
        if column not in said:
            said[column] = self._value(column, i)
        return said[column]

    def _value(self, column: str, i: int) -> str:
        feature = self.schema[column]
        array = self.table.array(column)
        if isinstance(array, TokenSets):
            return "missing" if array.missing[i] else "a text"
        if feature.kind == "categorical":
            code = int(array[i])
            if code >= FIRST_LEVEL_CODE:
                return name(feature.levels[code - FIRST_LEVEL_CODE])
            return "missing" if code == MISSING_CODE else NEW
        number = float(array[i])
        if np.isnan(number):
            return "missing"
        if feature.kind == "boolean":
            return "true" if number > 0.5 else "false"
        return amount(number, feature) if np.isfinite(number) else repr(number)

    def values(self, node: Node, i: int) -> str:
        """`homeowner is false, late_payments is 4`: the columns that a node reads."""
        return ", ".join(f"{column_title(column)} is {self.value(column, i)}" for column in readers([node]))

    # Conditions ------------------------------------------------------------------------------------------------------

    def clause(self, node: Node, i: int, needed: bool = False, depth: int = 0) -> str:
        """What a condition says of a row, whether it holds or not; needed: say what it would take."""
        leaf = node.child if isinstance(node, Not) else node
        if isinstance(leaf, Contains):
            return printable(self._of_words(node, leaf, i, needed))
        if node not in self._relations:
            self._relations[node] = relation(node, self.schema)
        said = self._relations[node]
        if said is not None:
            (column,) = readers([node])
            return printable(self._of_value(column, said, self.holds(node, i), i, needed))
        if depth < _DEEPEST:
            found = self._of_several(node, i, needed, depth)
            if found is not None:
                return found
        state = "holds" if self.holds(node, i) else "does not hold"
        return printable(f"{print_node(node, self.schema)} {state} ({self.values(node, i)})")

    def _of_value(self, column: str, said: str, holds: bool, i: int, needed: bool) -> str:
        value = self.value(column, i)
        start = f"{column_title(column)} is {value}"
        if not holds:
            wanted = said.replace("above ", "more than ", 1) if said.startswith("above ") else said
            return f"{start}, and the rule requires {wanted}" if needed else f"{start}, not {said}"
        if said == value:
            return start
        return f"{start}, which is taken too" if value in ("missing", NEW) else f"{start}, which is {said}"

    def _of_words(self, node: Node, leaf: Contains, i: int, needed: bool) -> str:
        array, column = self.table.array(leaf.feature), column_title(leaf.feature)
        assert isinstance(array, TokenSets)
        if array.missing[i]:
            state = "which is taken too" if self.holds(node, i) else "and the rule requires a text"
            return f"{column} is missing" + (f", {state}" if needed or self.holds(node, i) else "")
        vocabulary = self.table.features[self.table.names.index(leaf.feature)].levels
        own = {vocabulary[token] for token in array.ids[array.starts[i] : array.starts[i + 1]].tolist()}
        found = [token for token in leaf.tokens if token in own]
        if found:
            extra = ", which must not be there" * (needed and isinstance(node, Not))
            return f"{column} contains {listed([name(token) for token in found])}{extra}"
        absent = name(leaf.tokens[0]) if len(leaf.tokens) == 1 else f"all of {level_set(leaf.tokens)}"
        wanted = "which the rule requires" if len(leaf.tokens) == 1 else "one of which the rule requires"
        return f"{column} lacks {absent}" + (f", {wanted}" if needed and not isinstance(node, Not) else "")

    def _of_several(self, node: Node, i: int, needed: bool, depth: int) -> str | None:
        if isinstance(node, Not):
            contrary = negate(node.child, self.schema) if is_logic(node.child) else None
            if isinstance(node.child, LinearThreshold):
                return self._of_unit(node.child, i, denied=True)
            return None if contrary is None or isinstance(contrary, Not) else self.clause(contrary, i, needed, depth)
        if isinstance(node, LinearThreshold):
            return self._of_unit(node, i)
        if isinstance(node, Above) and node.score.family is not Family.BOOLEAN:
            total = weight(float(self.of(node.score)[i]))
            verb = "exceeds" if self.holds(node, i) else "does not exceed"
            shown = print_node(node.score, self.schema)
            return printable(f"{shown} is {total}, which {verb} {weight(node.threshold)} ({self.values(node, i)})")
        if isinstance(node, And):
            parts = conditions(node)
            telling = parts if self.holds(node, i) else [part for part in parts if not self.holds(part, i)]
            return " and ".join(self.clause(part, i, needed, depth + 1) for part in telling) or "always"
        if isinstance(node, Or):
            held = [child for child in node.children if self.holds(child, i)]
            if held:
                return " and ".join(self.clause(child, i, needed, depth + 1) for child in held[:_MOST])
            said = "; ".join(self.clause(child, i, needed, depth + 1) for child in node.children[:_MOST])
            more = len(node.children) - _MOST
            return f"none of {len(node.children)} alternatives holds ({said}{f' and {more} more' if more > 0 else ''})"
        if isinstance(node, AtLeast):
            held = [child for child in node.children if self.holds(child, i)]
            shown = "; ".join(self.clause(child, i, False, depth + 1) for child in node.children[: 2 * _MOST])
            end = f"and {node.k} are enough" if self.holds(node, i) else f"where {node.k} are needed"
            verb = "holds" if len(held) == 1 else "hold"
            return f"{len(held)} of {len(node.children)} conditions {verb}, {end}{f' ({shown})' if shown else ''}"
        return None

    def _of_unit(self, node: LinearThreshold, i: int, denied: bool = False) -> str:
        """A unit by its points and those that it needs."""
        total = float(self.of(Linear(node.terms, 0.0))[i])
        needed = f"{'fewer than' if denied else 'at least'} {weight(0.0 - node.bias)}"
        shown = print_node(node, self.schema)
        inner = shown[shown.index("(") :] if "(" in shown else shown
        met = self.holds(node, i) != denied
        state = f"which is {needed}" if met else f"where {needed} are needed"
        return printable(f"the points {inner} come to {weight(total)}, {state} ({self.values(node, i)})")


@lru_cache(maxsize=16384)
def conditions(node: Node) -> tuple[Node, ...]:
    """The conditions that a rule joins, from all depths of its conjunction; two bounds on one column are one."""
    flat: list[Node] = []
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, And):
            waiting.extend(reversed(part.children))
        elif part is not TRUE:
            flat.append(part)
    flat = list(dict.fromkeys(flat))
    bounds = [part if isinstance(part, Compare) else None for part in flat]
    return tuple(
        flat[places[0]] if len(places) == 1 else And([flat[place] for place in places])
        for places in grouped(bounds, anywhere=True)
    )


def unknown(phrases: Phrases, i: int) -> list[str]:
    """The columns of a row that are missing or hold a level never seen, each in words."""
    values = [(column, phrases.value(column, i)) for column in phrases.graph.used_features]
    return [f"{column_title(column)} is {value}" for column, value in values if value in ("missing", NEW)]


def relation(node: Node, schema: Schema) -> str | None:
    """What the value of a condition's one column must be, `at most 24,900`; None for a condition of another kind."""
    if isinstance(node, Missing):
        return "missing"
    if isinstance(node, Compare):
        return _side(node, schema[node.feature]) + " or missing" * node.missing
    if isinstance(node, IsTrue):
        return "true" + " or missing" * node.missing
    if isinstance(node, Among):
        return _among(node, schema[node.feature])
    if isinstance(node, And) and len(node.children) == 2:
        lower, upper = node.children
        if isinstance(lower, Compare) and isinstance(upper, Compare) and lower.feature == upper.feature:
            return _between(lower, upper, schema[lower.feature])
    return _contrary(node.child, schema) if isinstance(node, Not) else None


def _contrary(leaf: Node, schema: Schema) -> str | None:
    """What is denied is said without `not` where a value itself says it."""
    if isinstance(leaf, Missing):
        return "known"
    if isinstance(leaf, IsTrue):
        return "false" + " or missing" * (not leaf.missing)
    if isinstance(leaf, Among) and leaf.levels and not leaf.unseen:
        return f"not {_one_of(leaf.levels, schema[leaf.feature])}" + " or missing" * (not leaf.missing)
    if isinstance(leaf, Contains):
        return None
    contrary = negate(leaf, schema)
    return None if isinstance(contrary, Not) else relation(contrary, schema)


def _side(node: Compare, feature: Feature) -> str:
    if node.op == "<=" and (whole := lone_value(-math.inf, node.value, feature, rounded=True)) is not None:
        return amount(whole, feature)
    words = ("not after", "after") if is_dated(feature) else ("at most", "above")
    return f"{words[node.op == '>']} {amount(node.value, feature)}"


def _between(lower: Compare, upper: Compare, feature: Feature) -> str:
    if lower.op == "<=":
        lower, upper = upper, lower
    marker = " or missing" * (lower.missing and upper.missing)
    whole = lone_value(lower.value, upper.value, feature, rounded=True)
    if (lower.op, upper.op) == (">", "<=") and whole is not None:
        return amount(whole, feature) + marker
    return f"{_side(lower, feature)} and {_side(upper, feature)}{marker}"


def _among(node: Among, feature: Feature) -> str:
    beside = [level for level in feature.levels if level not in node.levels]
    marker = " or missing" * node.missing
    if node.unseen and 0 < len(beside) < max(2, len(node.levels)):
        return f"not {_one_of(beside, feature)}{marker}"
    new = " or a level never seen" * node.unseen
    if not node.levels:
        return (marker + new).removeprefix(" or ") or "no value"
    return _one_of(node.levels, feature) + new + marker


def _one_of(levels: Sequence[str], feature: Feature) -> str:
    return name(levels[0]) if len(levels) == 1 else f"one of {level_set(levels, feature=feature)}"
