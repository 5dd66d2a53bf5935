"""The oracle: evaluates one row, slowly and obviously, with the standard library alone.

Everything else that decides (numpy, ONNX, generated Python) is tested against this page. It shares no code with the
numpy evaluator. Reported probabilities of formulas with few hidden bits are summed over all states of the bits; what
decides runs the steps of the circuit, because the decision is defined by them to the last bit.

A row is a mapping from column names to values: a number or Boolean (numeric and Boolean columns), a text, number or
Boolean (categories); None, NaN, the empty text and the column's missing tokens are missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

from rulekit.errors import GraphError, InputError
from rulekit.graph import nodes as rg
from rulekit.graph.nodes import Family, Node
from rulekit.graph.probability.circuits import (
    Bit,
    Circuit,
    Complement,
    Fixed,
    Given,
    Mix,
    Product,
    build_circuit,
    hidden_bits,
    inputs,
    random_nodes,
)
from rulekit.graph.probability.diagrams import is_random_logic
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import contrary_strength, float32, probability_of
from rulekit.schema import Feature, Schema
from rulekit.tokens import tokens

Cell = float | int | str | bool | None
Value = float | bool

ENUMERATED_BITS = 8


def evaluate_row(graph: RuleGraph, row: Mapping[str, Cell]) -> tuple[int, list[float]]:
    """Class index and probabilities (K doubles in class order) of one row.

    Raises InputError where a used column is absent or its cell cannot be read, GraphError for an unknown node.
    """
    oracle = _Row(graph.schema, row)
    label = _decide(graph, oracle)
    return label, _report(graph, oracle, label)


def evaluate_node(node: Node, schema: Schema, row: Mapping[str, Cell]) -> Value:
    """The value of one Boolean, Real or Probability node (by its circuit) for a row; raises as `evaluate_row`."""
    return _Row(schema, row).value(node)


def _decide(graph: RuleGraph, row: _Row) -> int:
    decision = graph.decision
    if not decision.ranked:
        return sum(bool(row.value(node)) for node in decision.roots)
    label, best = graph.default, None
    for index, node, threshold in decision.ranked:
        score = float(row.value(node))
        if score > threshold and (best is None or score > best):
            label, best = index, score
    return label


def _report(graph: RuleGraph, row: _Row, label: int) -> list[float]:
    k = len(graph.classes)
    if not graph.probability:
        return [float(i == label) for i in range(k)]
    values = [row.reported(*pair) for pair in zip(graph.probability, graph.reported, strict=True)]
    if len(values) == 1:
        return [1.0 - values[0], values[0]]
    total = 0.0
    for value in values:
        total = total + value
    return [value / total for value in values] if total > 0 else [float(i == graph.default) for i in range(k)]


class _Row:
    """One row, and the values of the nodes that were asked for."""

    def __init__(self, schema: Schema, cells: Mapping[str, Cell]) -> None:
        self._schema, self._cells = schema, cells
        self._known: dict[Node, Value] = {}

    def number(self, feature: str) -> float:
        """A numeric or Boolean cell in the precision of its column; NaN is missing."""
        return read_number(self.cell(feature), self._column(feature, "numeric value", "numeric", "boolean"))

    def level(self, feature: str) -> str | None:
        """A category's level; None is missing. A level that the schema does not know comes back as it is."""
        return read_level(self.cell(feature), self._column(feature, "levels", "categorical"))

    def text(self, feature: str) -> str | None:
        """The text of a cell; None is missing."""
        return read_text(self.cell(feature), self._column(feature, "texts", "text"))

    def _column(self, feature: str, what: str, *kinds: str) -> Feature:
        column = self._schema[feature]
        if column.kind not in kinds:
            raise InputError(f"a {column.kind} column has no {what}", where=f"column {feature!r}")
        return column

    def is_missing(self, feature: str) -> bool:
        if self._schema[feature].kind == "text":
            return self.text(feature) is None
        if self._schema[feature].kind == "categorical":
            return self.level(feature) is None
        return math.isnan(self.number(feature))

    def knows(self, feature: str, level: str) -> bool:
        return level in self._schema[feature].levels

    def precise(self, feature: str, threshold: float) -> float:
        """A threshold in the precision of its column."""
        return threshold if self._schema[feature].precision == "float64" else float32(threshold)

    def cell(self, feature: str) -> Cell:
        if feature not in self._cells:
            raise InputError(f"no column {feature!r}", where="row", fix="give every column that the model uses")
        return self._cells[feature]

    def value(self, root: Node) -> Value:
        """The value of a node that is not random; children first, on an explicit stack."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self._known:
                stack.pop()
                continue
            rule = _RULES.get(type(node))
            if rule is None or node.family is Family.RANDOM:
                raise GraphError(f"{type(node).__name__} ({node.family.value}) has no value for a row")
            needed = inputs(node)
            waiting = [child for child in needed if child not in self._known]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                self._known[node] = rule(self, node, [self._known[child] for child in needed])
                stack.pop()
        return self._known[root]

    def reported(self, node: Node, computed: Node) -> float:
        """A reported probability: by its definition where the hidden bits are few, else as it is computed."""
        if isinstance(node, rg.Probability) and len(hidden_bits(node.formula)) <= ENUMERATED_BITS:
            leaves = [n for n in random_nodes(node.formula) if n.family is Family.BOOLEAN]
            causes = [bit.cause for bit in hidden_bits(node.formula).values()]
            return probability_by_states(node.formula, {n: bool(self.value(n)) for n in [*leaves, *causes]})
        return float(self.value(computed))


def probability_by_states(formula: Node, truth: Mapping[Node, bool]) -> float:
    """The definition: the sum, over all states of the hidden bits that satisfy the formula, of their probabilities.

    truth: the value of every Boolean node of the formula and of every cause. Takes 2^bits evaluations.
    """
    bits = list(hidden_bits(formula).values())
    strengths = [bit.on if truth[bit.cause] else bit.off for bit in bits]
    chances = [(probability_of(contrary_strength(s)), probability_of(s)) for s in strengths]  # of being 0, and 1
    order = random_nodes(formula)
    terms = []
    for states in itertools.product((False, True), repeat=len(bits)):
        value: dict[Node, bool] = dict(zip(bits, states, strict=True))
        for node in order:
            if node.family is Family.BOOLEAN:
                value[node] = truth[node]
            elif is_random_logic(node):
                value[node] = bool(_LOGIC[type(node)](node, [value[child] for child in node.children]))
        if value[formula]:
            terms.append(math.prod(chance[state] for chance, state in zip(chances, states, strict=True)))
    return math.fsum(terms)


def run_circuit(circuit: Circuit, truth: Mapping[Node, Value]) -> float:
    """The last value of a circuit's steps, given the truth of its causes; written out to trust no other code."""
    values: list[float] = []
    for step in circuit.steps:
        match step:
            case Bit(cause, on, off):
                values.append(on if truth[cause] else off)
            case Given(node):
                values.append(1.0 if truth[node] else 0.0)
            case Fixed(value):
                values.append(value)
            case Complement(a):
                values.append(1.0 - values[a])
            case Product(a, b):
                values.append(values[a] * values[b])
            case Mix(p, high, low):
                values.append(values[p] * values[high] + (1.0 - values[p]) * values[low])
    return values[-1]


# Cells -------------------------------------------------------------------------------------------------------------


def read_number(cell: Cell, column: Feature) -> float:
    """A numeric or Boolean cell in the precision of its column; NaN is missing. Raises InputError for other text."""
    if cell is None or (isinstance(cell, str) and (cell == "" or cell in column.missing_tokens)):
        return math.nan
    if isinstance(cell, str):
        if column.kind == "boolean" and cell.lower() in ("true", "false"):
            return float(cell.lower() == "true")
        raise InputError(f"{cell!r} is no number", where=f"column {column.name!r}")
    try:
        value = float(cell)
    except OverflowError:
        value = math.inf if cell > 0 else -math.inf
    if column.kind == "numeric" and column.precision == "float64":
        return value
    return float32(value)


def read_level(cell: Cell, column: Feature) -> str | None:
    """The level of a category; None is missing. A level that the schema does not know comes back as it is."""
    key = read_text(cell, column)
    if key is None:
        return None
    if key not in column.levels and isinstance(cell, str):
        key = next((level for level in column.levels if key in _look_alikes(level)), key)
    if key not in column.levels:
        if column.unseen == "missing":
            return None
        if column.unseen == "error":
            raise InputError(f"level {key!r} was never seen in training", where=f"column {column.name!r}")
    return key


def read_text(cell: Cell, column: Feature) -> str | None:
    """The key of a cell: text, "true", "false", an integral number without its `.0`; None is missing."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return None
    if isinstance(cell, bool):
        key = "true" if cell else "false"
    elif isinstance(cell, float) and cell.is_integer():
        key = str(int(cell))
    else:
        key = str(cell)
    return None if key == "" or key in column.missing_tokens else key


def _look_alikes(level: str) -> tuple[str, ...]:
    """Other texts that mean a level (docs/numbers.md, Texts and truth values)."""
    digits = level.removeprefix("-")
    if digits.isascii() and digits.isdigit():
        return (f"{level}.0",)
    return {"true": ("True", "TRUE"), "false": ("False", "FALSE")}.get(level, ())


# One rule per node type: the value of a node from the row and the values of its children -----------------------------


def _compare(row: _Row, node: rg.Compare, _: list[Value]) -> bool:
    x, t = row.number(node.feature), row.precise(node.feature, node.value)
    if math.isnan(x):
        return node.missing
    return x > t if node.op == ">" else x <= t


def _among(row: _Row, node: rg.Among, _: list[Value]) -> bool:
    level = row.level(node.feature)
    if level is None:
        return node.missing
    return level in node.levels if row.knows(node.feature, level) else node.unseen


def _contains(row: _Row, node: rg.Contains, _: list[Value]) -> bool:
    text = row.text(node.feature)
    return node.missing if text is None else not set(node.tokens).isdisjoint(tokens(text))


def _is_true(row: _Row, node: rg.IsTrue, _: list[Value]) -> bool:
    x = row.number(node.feature)
    return node.missing if math.isnan(x) else x > 0.5


def _sum(weights: Sequence[float], bias: float, children: list[Value]) -> float:
    total = bias
    for weight, value in zip(weights, children, strict=True):
        total = total + weight * float(value)
    return total


def _strength(node: rg.Strength, truth: Mapping[Node, Value]) -> float:
    total = 0.0
    for cause, on, off in node.terms:
        total = total + (on if truth[cause] else off)
    return total


def _column(row: _Row, node: rg.Column, _: list[Value]) -> float:
    x = row.number(node.feature)
    if math.isnan(x):
        return node.missing
    x = min(max(x, node.low), node.high)
    return _round_half_even(x / node.step) * node.step if node.step else x


def _round_half_even(x: float) -> float:
    return x if abs(x) >= 2.0**52 else float(round(x))  # larger doubles are integers already


def _step(row: _Row, node: rg.Step, _: list[Value]) -> float:
    x = row.number(node.feature)
    if math.isnan(x):
        return node.missing
    return node.values[sum(x > row.precise(node.feature, cut) for cut in node.cuts)]


def _level_points(row: _Row, node: rg.LevelPoints, _: list[Value]) -> float:
    level = row.level(node.feature)
    if level is None:
        return node.missing
    if not row.knows(node.feature, level):
        return node.unseen
    for named, points in node.points:
        if named == level:
            return points
    return 0.0


def _logistic(z: float) -> float:
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0


def _exponentials(none: float, some: Sequence[float]) -> float:
    return math.prod((-math.expm1(-strength) for strength in some), start=math.exp(-none))


def _rescaled(p: float, odds: float) -> float:
    return odds * p / (1.0 - p + odds * p)


_LOGIC: dict[type[Node], Callable[[Node, Sequence[Value]], bool]] = {
    rg.Not: lambda node, children: not children[0],
    rg.And: lambda node, children: all(children),
    rg.Or: lambda node, children: any(children),
    rg.AtLeast: lambda node, children: sum(map(bool, children)) >= node.k,  # type: ignore[attr-defined]
    rg.Odd: lambda node, children: sum(map(bool, children)) % 2 == 1,
}

_RULES: dict[type[Node], Callable[..., Value]] = {
    rg.Compare: _compare,
    rg.Among: _among,
    rg.IsTrue: _is_true,
    rg.Contains: _contains,
    rg.Missing: lambda row, node, children: row.is_missing(node.feature),
    rg.Constant: lambda row, node, children: node.value,
    **{kind: lambda row, node, children: _LOGIC[type(node)](node, children) for kind in _LOGIC},
    rg.LinearThreshold: lambda row, node, children: _sum(node.weights, node.bias, children) >= 0,
    rg.Above: lambda row, node, children: float(children[0]) > node.threshold,
    rg.Column: _column,
    rg.Step: _step,
    rg.LevelPoints: _level_points,
    rg.Linear: lambda row, node, children: _sum(node.weights, node.bias, children),
    rg.Strength: lambda row, node, children: _strength(node, dict(zip(inputs(node), children, strict=True))),
    rg.Probability: lambda row, node, children: run_circuit(
        build_circuit(node.formula), dict(zip(inputs(node), children, strict=True))
    ),
    Exponentials: lambda row, node, children: _exponentials(float(children[0]), list(map(float, children[1:]))),
    rg.Logistic: lambda row, node, children: _logistic(float(children[0])),
    rg.Rescaled: lambda row, node, children: _rescaled(float(children[0]), node.odds),
    rg.Difference: lambda row, node, children: max(float(children[0]) - float(children[1]), 0.0),
    rg.Sided: lambda row, node, children: (
        max(float(children[0]), node.above) if children[1] else min(float(children[0]), node.below)
    ),
}
