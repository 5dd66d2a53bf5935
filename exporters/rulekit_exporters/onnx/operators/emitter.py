"""The state of one export, and all exact sums of a graph as one matrix product.

Cost, measured in chunks of 8192 rows: 15 units over 30 columns take 20 ns a row as one product in float32 and 40 in
double, and 30 times as long column by column in doubles. The scores of several classes are ranked, and their logistic
functions divided by their sum, as rows of one tensor: on iris `madaline` takes 1.5 times as long class by class.

Indicators are rows of 0 and 1. Conjunctions and counts are a product for each layer, of small integers and so exact in
float32; to gather the literals of conjunctions and take their least was never faster than 0.95 times.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.errors import Unsupported
from rulekit.graph.decisions import Ranked
from rulekit.graph.nodes import Column, Family, LinearThreshold, Logistic, Node, Not, Probability, Strength, topological
from rulekit.graph.probability.exponentials import Counted, Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit_exporters.onnx.builder import Number, OperatorBuilder, Truth
from rulekit_exporters.onnx.conditions import Membership, StrictCondition, bit_of
from rulekit_exporters.onnx.inputs import InputPlan, ModelInputs
from rulekit_exporters.onnx.operators.exact_sums import Indicator, LiteralCount, Part, SumBlock, SumBlocks, layer_of


@dataclass
class Emitter:
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. rules: by type of node the function (emitter, node) that gives its value.
    """

    graph: RuleGraph
    plan: InputPlan
    builder: OperatorBuilder
    inputs: ModelInputs
    rules: Mapping[type[Node], Callable[[Any, Any], Truth | Number]]
    values: dict[Node, Any] = field(default_factory=dict)
    sums: SumBlocks = field(default_factory=SumBlocks)
    tails: dict[Node, str] = field(default_factory=dict)

    @cached_property
    def counted(self) -> Counted:
        """The counts of hidden bits, all that are over the same ones together."""
        return Counted((*self.graph.decision.roots, *self.graph.reported))

    def prepare(self) -> None:
        """Lay out the literal block over all leaves of the graph, and the products of its exact sums."""
        nodes = list(self.graph.nodes())
        found = {node: bit_of(node, self.graph.schema) for node in nodes}
        mentions = sum(found[child] is not None for node in nodes for child in node.children)
        self.inputs.prepare_block([bit for bit, _ in filter(None, found.values())], mentions)
        self.sums.prepare(self.graph.schema, nodes)

    def row(self, value: Truth | Number) -> str:
        """[1, N] bool of a truth value, double of a number."""
        return value if isinstance(value, str) else self.inputs.fill(value)

    def truth(self, node: Node) -> Truth:
        """The truth value of a Boolean node."""
        self._emit(node)
        truth: Truth = self.values[node]
        return truth

    def number(self, node: Node) -> Number:
        """The double of a Real or Probability node, or of a Boolean node taken as 0 and 1."""
        if node.family is Family.BOOLEAN:
            return self.builder.choose(self.truth(node), 1.0, 0.0)
        self._emit(node)
        number: Number = self.values[node]
        return number

    def _emit(self, root: Node) -> None:
        if root in self.values:
            return
        for node in topological([root], _read_by_itself):
            if node in self.values:
                continue
            rule = self.rules.get(type(node))
            if rule is None:
                raise Unsupported(
                    type(node).__name__, "onnx", "this node has no place under a decision or a probability"
                )
            self.values[node] = rule(self, node)


def _read_by_itself(node: Node) -> tuple[Node, ...]:
    """The nodes that are emitted before one; what a random formula reads is emitted by its circuit or sum."""
    return () if isinstance(node, Probability | Strength | Exponentials) else node.children


# Truth values as rows of one tensor -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stack:
    """rows: [height, N] bool; for each node its row, and whether it is true where the row is (else where it is not)."""

    rows: str
    height: int
    row: dict[Node, int]
    positive: dict[Node, bool]


def stack(emitter: Emitter, nodes: Iterable[Node]) -> Stack:
    """Nodes as rows: those of the literal block in one Gather, the others one by one."""
    distinct = list(dict.fromkeys(nodes))
    literals = {node: _literal(emitter, node) for node in distinct}
    inside = sorted({literal[0] for literal in literals.values() if literal is not None})
    row: dict[Node, int] = {}
    positive: dict[Node, bool] = {}
    parts = [emitter.inputs.block_rows(inside)] if inside else []
    height = len(inside)
    for node, literal in literals.items():
        if literal is not None:
            row[node], positive[node] = inside.index(literal[0]), literal[1]
            continue
        row[node], positive[node] = height, True
        parts.append(emitter.row(emitter.truth(node)))
        height += 1
    return Stack(emitter.builder.joined(parts), height, row, positive)


def _literal(emitter: Emitter, node: Node) -> tuple[int, bool] | None:
    """Place and sign of a leaf of the literal block, or of a negated one; None for another node."""
    positive = True
    while isinstance(node, Not):
        node, positive = node.child, not positive
    bit, sign = bit_of(node, emitter.graph.schema) or (None, True)
    place = None if bit is None else emitter.inputs.block_row(bit)
    return None if place is None else (place, sign is positive)


def chosen_rows(emitter: Emitter, wanted: Sequence[tuple[Node, float, float]]) -> str:
    """[len(wanted), N] double: for each node with two constants the first where it is true, the second where not."""
    builder = emitter.builder
    stacked = stack(emitter, (node for node, _, _ in wanted))
    rows = builder.picked(stacked.rows, [stacked.row[node] for node, _, _ in wanted], stacked.height)
    pairs = [(on, off) if stacked.positive[node] else (off, on) for node, on, off in wanted]
    high, low = (builder.constant([[pair[k]] for pair in pairs], np.float64) for k in (0, 1))
    return builder.operate("Where", rows, high, low)


# Indicators ----------------------------------------------------------------------------------------------------------


def indicator_rows(emitter: Emitter, wanted: Iterable[Indicator]) -> tuple[str, list[Indicator]]:
    """[n, N] float of 0 and 1, and what each row stands for: all wanted indicators, and what they stand on."""
    builder = emitter.builder
    counts = _below(dict.fromkeys(indicator for indicator in wanted if isinstance(indicator, LiteralCount)))
    bits = dict.fromkeys(indicator for indicator in wanted if not isinstance(indicator, LiteralCount))
    bits.update((part, None) for count in counts for part, _ in count.parts if not isinstance(part, LiteralCount))
    block, order = _bits(emitter, list(bits))
    rows, held = builder.cast(block, np.float32), list(order)
    for layer in sorted({count.layer for count in counts}):
        group = [count for count in counts if count.layer == layer]
        rows = builder.joined([rows, builder.cast(enough(builder, rows, held, group), np.float32)])
        held += group
    return rows, held


def _below(counts: dict[LiteralCount, None]) -> list[LiteralCount]:
    """Counts and all counts that they stand on, lower layers first."""
    found = dict(counts)
    for layer in range(max(map(layer_of, counts), default=0), 1, -1):
        for count in [count for count in found if count.layer == layer]:
            found.update((part, None) for part, _ in count.parts if isinstance(part, LiteralCount))
    return sorted(found, key=layer_of)


def _bits(emitter: Emitter, bits: list[Indicator]) -> tuple[str, list[Indicator]]:
    """[L, N] bool: literals as a block, and the truth values of other nodes."""
    literals = [bit for bit in bits if isinstance(bit, StrictCondition | Membership)]
    others = [node for node in bits if isinstance(node, Node)]
    block, order = emitter.inputs.literals(literals) if literals else ("", [])
    rows = [block] if block else []
    held: list[Indicator] = [*order]
    for sums in emitter.sums.blocks:
        units = [node for node in others if isinstance(node, LinearThreshold) and node in sums.sums]
        rows += [unit_rows(emitter, sums, units)] if units else []
        held += units
    rest = [node for node in others if node not in held]
    rows += [emitter.row(emitter.truth(node)) for node in rest]
    held += rest
    return emitter.builder.joined(rows), held


def enough(builder: OperatorBuilder, rows: str, held: Sequence[Indicator], group: Sequence[LiteralCount]) -> str:
    """[K, N] bool: whether enough of the parts of each count hold, which are some of the rows."""
    place = {indicator: i for i, indicator in enumerate(held)}
    weights = np.zeros((len(group), len(held)), dtype=np.float32)
    bounds = np.zeros((len(group), 1), dtype=np.float32)
    for k, count in enumerate(group):
        bounds[k] = count.least - 0.5 - sum(not positive for _, positive in count.parts)
        for part, positive in count.parts:
            weights[k, place[part]] += 1.0 if positive else -1.0
    number = builder.operate("MatMul", builder.constant(weights), rows)
    return builder.operate("Greater", number, builder.constant(bounds))


# Sums ----------------------------------------------------------------------------------------------------------------


def cleaned(builder: OperatorBuilder, values: str, columns: Sequence[Column]) -> str:
    """[len(columns), N] in steps, float32: clipped, scaled, rounded half-even, missing replaced.

    The scale is a power of two, so that the bounds may come first; every operation but the rounding is exact.
    """

    def constant(numbers: list[float]) -> str:
        alike = len(set(numbers)) == 1
        return builder.constant(numbers[0] if alike else [[number] for number in numbers], np.float32)

    low, high = constant([c.low for c in columns]), constant([c.high for c in columns])
    result = builder.operate("Min", builder.operate("Max", values, low), high)
    if any(column.step != 1.0 for column in columns):
        result = builder.operate("Mul", result, constant([1.0 / column.step for column in columns]))
    result = builder.operate("Round", result)
    missing = constant([column.missing / column.step for column in columns])
    return builder.operate("Where", builder.operate("IsNaN", values), missing, result)


def totals(emitter: Emitter, block: SumBlock) -> str:
    """[sums, N] of a block, in the width that holds all partial sums."""
    if not block.totals:
        builder, width = emitter.builder, block.width
        rows, parts = _rows(emitter, block)
        weights = [[found.weights.get(part, 0.0) for part in parts] for found in block.sums.values()]
        bias = builder.constant([[found.constant] for found in block.sums.values()], width)
        block.totals = builder.operate("Gemm", builder.constant(weights, width), rows, bias)
    return block.totals


def _rows(emitter: Emitter, block: SumBlock) -> tuple[str, list[Part]]:
    """What the sums of a block add up: rows [parts, N] in its width, and what each stands for."""
    builder, width, sums = emitter.builder, block.width, block.sums.values()
    place = emitter.graph.schema.positions  # in whose order a tensor has them already
    columns = sorted({column: None for found in sums for column in found.columns}, key=lambda c: place[c.feature])
    jumps = dict.fromkeys(indicator for found in sums for indicator in found.jumps)
    points: dict[str, dict[tuple[float, ...], None]] = {}
    for name, table in (item for found in sums for item in found.points.items()):
        points.setdefault(name, {})[table] = None
    rows: list[str] = []
    parts: list[Part] = []
    if jumps:
        indicators, held = indicator_rows(emitter, jumps)
        rows.append(_in_width(builder, indicators, width))
        parts += held
    for name, tables in points.items():
        rows.append(emitter.inputs.points(name, list(tables), width))
        parts += [(name, table) for table in tables]
    if columns:
        values = emitter.inputs.columns([column.feature for column in columns])
        rows.append(_in_width(builder, cleaned(builder, values, columns), width))
        parts += columns
    return builder.joined(rows), parts


def _in_width(builder: OperatorBuilder, values: str, width: Any) -> str:
    return values if width is np.float32 else builder.cast(values, width)


def number_row(emitter: Emitter, block: SumBlock, node: Node) -> str:
    """[1, N] double: one of the sums."""
    row = emitter.builder.picked(totals(emitter, block), [block.row(node)], len(block.sums))
    return row if block.width is np.float64 else emitter.builder.cast(row, np.float64)


def unit_rows(emitter: Emitter, block: SumBlock, nodes: Sequence[Node]) -> str:
    """[units, N] bool: whether some of the sums are 0 or above."""
    zero = emitter.builder.constant(0.0, block.width)
    fire = emitter.builder.operate("GreaterOrEqual", totals(emitter, block), zero)
    return emitter.builder.picked(fire, [block.row(node) for node in nodes], len(block.sums))


# Several classes -----------------------------------------------------------------------------------------------------


def _score_rows(emitter: Emitter, nodes: Sequence[Node]) -> tuple[str, Any] | None:
    """[K, N] and its type: the sums of one block, in that order; None for other nodes."""
    block = emitter.sums.block_of(nodes[0])
    if len(nodes) < 2 or block is None or any(node not in block.sums for node in nodes):
        return None
    places = [block.row(node) for node in nodes]
    return emitter.builder.picked(totals(emitter, block), places, len(block.sums)), block.width


def highest(emitter: Emitter, ranked: Sequence[Ranked]) -> str | None:
    """[N] int64: the class index by sums of one block; None where the scores are others.

    A score that is not above its threshold is minus infinity, as is a row on top of all, which stands for none.
    """
    found = _score_rows(emitter, [node for _, node, _ in ranked])
    if found is None:
        return None
    builder, (scores, width) = emitter.builder, found
    classes = [k for k, _, _ in ranked]
    thresholds = [threshold for _, _, threshold in ranked]
    if max(thresholds) == -math.inf:
        best = builder.operate("ArgMax", scores, axis=0, keepdims=0)
        if classes == sorted(classes):
            return best
    else:
        doubles = scores if width is np.float64 else builder.cast(scores, np.float64)
        least = builder.constant(-math.inf, np.float64)
        takes_part = builder.operate("Greater", doubles, builder.constant([[t] for t in thresholds], np.float64))
        masked = builder.operate("Where", takes_part, doubles, least)
        none = builder.constant([1, 0, 0, 0], np.int64)
        best = builder.operate("ArgMax", builder.operate("Pad", masked, none, least), axis=0, keepdims=0)
        classes = [emitter.graph.default, *classes]
    return builder.operate("Gather", builder.constant(classes, np.int64), best, axis=0)


def logistic_shares(emitter: Emitter) -> str | None:
    """[N, K] float: the logistic functions of the sums of one block, by their sum; None for other probabilities."""
    reported = emitter.graph.probability
    if len(reported) < 2 or not all(isinstance(node, Logistic) for node in reported):
        return None
    found = _score_rows(emitter, [node.linear for node in reported if isinstance(node, Logistic)])
    if found is None:
        return None
    builder, (scores, width) = emitter.builder, found
    size = len(reported)
    doubles = scores if width is np.float64 else builder.cast(scores, np.float64)
    chances = builder.logistic(doubles)
    total = builder.operate("MatMul", builder.constant(np.ones((1, size))), chances)
    default: Array = np.eye(size)[:, [emitter.graph.default]]
    none = builder.operate("Equal", total, builder.double(0.0))
    share = builder.operate("Where", none, builder.constant(default), builder.operate("Div", chances, total))
    return builder.operate("Transpose", builder.cast(share, np.float32), perm=[1, 0])
