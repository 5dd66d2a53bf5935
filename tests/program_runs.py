"""Runs a program on one row, slowly and step by step; what a spelling computes must be this."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rulekit.graph.evaluation.oracle import Cell, read_level, read_number, read_text
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Column,
    Constant,
    Contains,
    IsTrue,
    LevelPoints,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Step,
    topological,
)
from rulekit.graph.probability.exponentials import Exponentials, Tail, Tails
from rulekit.numbers import crossing, float32
from rulekit.program.lower import Program, alike, cleaned, members, points_of_texts
from rulekit.program.nodes import (
    Arithmetic,
    Choice,
    Count,
    Exponential,
    Greater,
    Largest,
    Number,
    RawCompare,
    RawNumber,
    Sum,
)
from rulekit.schema import Schema
from rulekit.tokens import tokens

Value = float | bool


def run_row(program: Program, row: Mapping[str, Cell]) -> tuple[int, list[float]]:
    """Class index and probabilities of one row, a mapping by column name; raises InputError for a cell."""
    values = values_of((program.label, *program.probabilities), program.schema, row)
    return int(values[program.label]), [float(values[node]) for node in program.probabilities]


def values_of(roots: Sequence[Node], schema: Schema, row: Mapping[str, Cell]) -> dict[Node, Value]:
    """The value of every step below the roots."""
    values: dict[Node, Value] = {}
    for node in topological(roots):
        if hasattr(node, "feature"):
            values[node] = _LEAVES[type(node)](node, row[node.feature], schema[node.feature])
        else:
            values[node] = _STEPS[type(node)](node, [values[child] for child in node.children])
    return values


def _raw(cell: Cell, feature: Any) -> float:
    """A number as it is given, not rounded to the column's width; NaN is missing."""
    if feature.kind == "numeric" and isinstance(cell, float) and not math.isnan(cell):
        return float(cell)
    return read_number(cell, feature)


def _text(cell: Cell, feature: Any) -> str | None:
    """A level as it is given, None where it is missing."""
    return None if read_level(cell, feature) is None else str(cell)


def _compare(node: RawCompare, cell: Cell, feature: Any) -> bool:
    x = _raw(cell, feature)
    return node.missing if math.isnan(x) else (x > node.value) == (node.op == ">")


def _is_true(node: IsTrue, cell: Cell, feature: Any) -> bool:
    x = _raw(cell, feature)
    return node.missing if math.isnan(x) else x > 0.5


def _column(node: Column, cell: Cell, feature: Any) -> float:
    x = _raw(cell, feature)
    return cleaned(x if feature.precision == "float64" or math.isnan(x) else float32(x), node)


def _step(node: Step, cell: Cell, feature: Any) -> float:
    x = _raw(cell, feature)
    return node.missing if math.isnan(x) else node.values[sum(x > crossing(c, feature.precision) for c in node.cuts)]


def _level_points(node: LevelPoints, cell: Cell, feature: Any) -> float:
    by_text = points_of_texts(node, feature)
    level = read_level(cell, feature)
    return by_text.get(level if level in feature.levels or level is None else str(cell), node.unseen)


def _largest(node: Largest, children: Sequence[Value]) -> float:
    best, result = -math.inf, node.otherwise
    for value, threshold, own in zip(children, node.thresholds, node.results, strict=True):
        if value > threshold and value > best:
            best, result = value, own
    return float(result)


def _added(children: Sequence[Value]) -> float:
    total = float(children[0])
    for value in children[1:]:
        total = total + value
    return total


def _arithmetic(node: Arithmetic, children: Sequence[Value]) -> float:
    left, right = map(float, children)
    if node.operator == "/":
        return left / right if right else math.nan
    return left + right if node.operator == "+" else left - right if node.operator == "-" else left * right


def _exponential(x: float) -> float:
    return math.exp(x) if x < 709.8 else math.inf  # where the choice falls on another value


def _logistic(z: float) -> float:
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0


def _exponentials(children: Sequence[Value]) -> float:
    none, *some = map(float, children)
    return math.prod((-math.expm1(-strength) for strength in some), start=math.exp(-none))


def _tails(node: Tails, chances: Sequence[Value]) -> Any:
    """The whole row of numbers; a step of its own takes one of them."""
    tails = [1.0, *[0.0] * node.most]
    for p in map(float, reversed(chances)):
        tails = [1.0, *(p * tails[j - 1] + (1.0 - p) * tails[j] for j in range(1, node.most + 1))]
    return tails


def _missing(node: Missing, cell: Cell, feature: Any) -> bool:
    return read_text(cell, feature) is None if feature.kind == "text" else math.isnan(_raw(cell, feature))


def _contains(node: Contains, cell: Cell, feature: Any) -> bool:
    text = read_text(cell, feature)
    return node.missing if text is None else not set(node.tokens).isdisjoint(tokens(text))


_LEAVES: dict[type[Node], Callable[[Any, Cell, Any], Value]] = {
    RawCompare: _compare,
    IsTrue: _is_true,
    Missing: _missing,
    Contains: _contains,
    Among: lambda node, cell, feature: _text(cell, feature) in alike(members(node, feature), feature),
    Column: _column,
    Step: _step,
    LevelPoints: _level_points,
    RawNumber: lambda node, cell, feature: _raw(cell, feature),
}

_STEPS: dict[type[Node], Callable[[Any, Sequence[Value]], Value]] = {
    Constant: lambda node, children: node.value,
    Not: lambda node, children: not children[0],
    And: lambda node, children: all(children),
    Or: lambda node, children: any(children),
    AtLeast: lambda node, children: sum(map(bool, children)) >= node.k,
    Odd: lambda node, children: sum(map(bool, children)) % 2 == 1,
    Number: lambda node, children: node.value,
    Choice: lambda node, children: children[1] if children[0] else children[2],
    Sum: lambda node, children: _added(children),
    Arithmetic: _arithmetic,
    Count: lambda node, children: float(sum(map(bool, children))),
    Greater: lambda node, children: children[0] > children[1],
    Largest: _largest,
    Exponentials: lambda node, children: _exponentials(children),
    Tails: _tails,
    Tail: lambda node, children: children[0][node.k],
    Logistic: lambda node, children: _logistic(float(children[0])),
    Exponential: lambda node, children: _exponential(float(children[0])),
}
