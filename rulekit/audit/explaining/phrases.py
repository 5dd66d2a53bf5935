"""Conditions as clauses with the values of a row: `income is 21,000, which is at most 24,900`.

A condition that does not hold says what it needs: `income is 26,000, and the rule requires at most 24,900`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import amount, grouped, level_set, listed, lone_value, name, weight
from rulekit.graph.leaves import negate, readers
from rulekit.graph.nodes import TRUE, Family, Node, is_logic
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
        leaf = node.child if isinstance(node, rg.Not) else node
        if isinstance(leaf, rg.Contains):
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
        wanted = f"more than {said.removeprefix('above ')}" if said.startswith("above ") else said
        state = f", and the rule requires {wanted}" if needed else f", not {said}"
        if holds:
            state = f", which is {'taken too' if value in ('missing', NEW) else said}" if said != value else ""
        return f"{column_title(column)} is {value}{state}"

    def _of_words(self, node: Node, leaf: rg.Contains, i: int, needed: bool) -> str:
        array, column, denied = self.table.array(leaf.feature), column_title(leaf.feature), isinstance(node, rg.Not)
        assert isinstance(array, TokenSets)
        if array.missing[i]:
            state = ", which is taken too" if self.holds(node, i) else ", and the rule requires a text" * needed
            return f"{column} is missing{state}"
        vocabulary = self.table.features[self.table.names.index(leaf.feature)].levels
        own = {vocabulary[token] for token in array.ids[array.starts[i] : array.starts[i + 1]].tolist()}
        found = [name(token) for token in leaf.tokens if token in own]
        if found:
            return f"{column} contains {listed(found)}{', which must not be there' * (needed and denied)}"
        one = len(leaf.tokens) == 1
        absent = name(leaf.tokens[0]) if one else f"all of {level_set(leaf.tokens)}"
        wanted = f", {'which' if one else 'one of which'} the rule requires" * (needed and not denied)
        return f"{column} lacks {absent}{wanted}"

    def _of_several(self, node: Node, i: int, needed: bool, depth: int) -> str | None:
        leaf = node.child if isinstance(node, rg.Not) else node
        if isinstance(leaf, rg.LinearThreshold):
            return self._of_unit(leaf, i, denied=leaf is not node)
        if isinstance(node, rg.Not):
            contrary = negate(leaf, self.schema) if is_logic(leaf) else node
            return None if isinstance(contrary, rg.Not) else self.clause(contrary, i, needed, depth)
        if isinstance(node, rg.Above) and node.score.family is not Family.BOOLEAN:
            total = weight(float(self.of(node.score)[i]))
            verb = "exceeds" if self.holds(node, i) else "does not exceed"
            shown = print_node(node.score, self.schema)
            return printable(f"{shown} is {total}, which {verb} {weight(node.threshold)} ({self.values(node, i)})")
        held = [child for child in node.children if self.holds(child, i)]
        if isinstance(node, rg.And) or (isinstance(node, rg.Or) and held):
            telling = held[:_MOST]
            if isinstance(node, rg.And):
                parts = conditions(node)
                telling = [part for part in parts if self.holds(node, i) or not self.holds(part, i)]
            return " and ".join(self.clause(part, i, needed, depth + 1) for part in telling) or "always"
        if not isinstance(node, rg.AtLeast | rg.Or):
            return None
        least, n, told = node.k if isinstance(node, rg.AtLeast) else 1, len(node.children), node.children[: 2 * _MOST]
        shown = "; ".join(self.clause(child, i, needed and not held, depth + 1) for child in told)
        be = "is" if least == 1 else "are"
        end = f"and {least} {be} enough" if self.holds(node, i) else f"where {least} {be} needed"
        verb = "holds" if len(held) == 1 else "hold"
        return f"{len(held)} of {n} conditions {verb}, {end}{f' ({shown})' if shown else ''}"

    def _of_unit(self, node: rg.LinearThreshold, i: int, denied: bool) -> str:
        total = float(self.of(rg.Linear(node.terms, 0.0))[i])
        needed = f"{'fewer than' if denied else 'at least'} {weight(0.0 - node.bias)}"
        shown = print_node(node, self.schema)
        state = f"which is {needed}" if self.holds(node, i) != denied else f"where {needed} are needed"
        points = f"the points {shown[max(shown.find('('), 0) :]} come to {weight(total)}"
        return printable(f"{points}, {state} ({self.values(node, i)})")


@lru_cache(maxsize=16384)
def conditions(node: Node) -> tuple[Node, ...]:
    """The conditions that a rule joins, from all depths of its conjunction; two bounds on one column are one."""
    flat: dict[Node, None] = {}
    waiting = [node]
    while waiting:
        part = waiting.pop()
        if isinstance(part, rg.And):
            waiting.extend(reversed(part.children))
        elif part is not TRUE:
            flat[part] = None
    parts = list(flat)
    bounds = [part if isinstance(part, rg.Compare) else None for part in parts]
    return tuple(
        parts[places[0]] if len(places) == 1 else rg.And([parts[place] for place in places])
        for places in grouped(bounds, anywhere=True)
    )


def unknown(phrases: Phrases, i: int) -> list[str]:
    """The columns of a row that are missing or hold a level never seen, each in words."""
    values = [(column, phrases.value(column, i)) for column in phrases.graph.used_features]
    return [f"{column_title(column)} is {value}" for column, value in values if value in ("missing", NEW)]


def relation(node: Node, schema: Schema) -> str | None:
    """What the value of a condition's one column must be, `at most 24,900`; None for a condition of another kind."""
    if isinstance(node, rg.Missing):
        return "missing"
    if isinstance(node, rg.Compare):
        return _side(node, schema[node.feature]) + " or missing" * node.missing
    if isinstance(node, rg.IsTrue):
        return "true" + " or missing" * node.missing
    if isinstance(node, rg.Among):
        return _among(node, schema[node.feature])
    if isinstance(node, rg.And) and len(node.children) == 2:
        lower, upper = node.children
        if isinstance(lower, rg.Compare) and isinstance(upper, rg.Compare) and lower.feature == upper.feature:
            return _between(lower, upper, schema[lower.feature])
    if not isinstance(node, rg.Not) or isinstance(node.child, rg.Contains):
        return None
    leaf = node.child  # what is denied is said without `not` where a value itself says it
    if isinstance(leaf, rg.Missing):
        return "known"
    if isinstance(leaf, rg.IsTrue):
        return "false" + " or missing" * (not leaf.missing)
    if isinstance(leaf, rg.Among) and leaf.levels and not leaf.unseen:
        return f"not {_one_of(leaf.levels, schema[leaf.feature])}" + " or missing" * (not leaf.missing)
    contrary = negate(leaf, schema)
    return None if isinstance(contrary, rg.Not) else relation(contrary, schema)


def _side(node: rg.Compare, feature: Feature) -> str:
    if node.op == "<=" and (whole := lone_value(-math.inf, node.value, feature, rounded=True)) is not None:
        return amount(whole, feature)
    words = ("not after", "after") if feature.dated else ("at most", "above")
    return f"{words[node.op == '>']} {amount(node.value, feature)}"


def _between(lower: rg.Compare, upper: rg.Compare, feature: Feature) -> str:
    if lower.op == "<=":
        lower, upper = upper, lower
    whole = lone_value(lower.value, upper.value, feature, rounded=True)
    said = f"{_side(lower, feature)} and {_side(upper, feature)}"
    if (lower.op, upper.op) == (">", "<=") and whole is not None:
        said = amount(whole, feature)
    return said + " or missing" * (lower.missing and upper.missing)


def _among(node: rg.Among, feature: Feature) -> str:
    beside = [level for level in feature.levels if level not in node.levels]
    marker, new = " or missing" * node.missing, " or a level never seen" * node.unseen
    if node.unseen and 0 < len(beside) < max(2, len(node.levels)):
        return f"not {_one_of(beside, feature)}{marker}"
    if not node.levels:
        return (marker + new).removeprefix(" or ") or "no value"
    return _one_of(node.levels, feature) + new + marker


def _one_of(levels: Sequence[str], feature: Feature) -> str:
    return name(levels[0]) if len(levels) == 1 else f"one of {level_set(levels, feature=feature)}"
