"""All exact sums of a graph as one matrix product: additive models and linear threshold units.

Sums over the same terms that are not exact are added side by side, a term at a time in their order.

Cost, measured in chunks of 8192 rows: 15 units over 30 columns take 20 ns a row as one product in float32 and 40 in
double, and 30 times as long column by column in doubles. What they add up is computed together, and where one operator
does for a whole tensor on the rows as they come (`row_parts`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.graph.nodes import Column, Linear, LinearThreshold, Node
from rulekit.tables.table import Array
from rulekit_exporters.onnx.builder import Builder
from rulekit_exporters.onnx.conditions import Condition, is_wide
from rulekit_exporters.onnx.operators.exact_sums import FEWEST_ROWS, ExactSum, Part, exact_sum
from rulekit_exporters.onnx.operators.indicator_rows import indicator_rows
from rulekit_exporters.onnx.operators.indicators import stands_on_node


def cleaned(builder: Builder, values: str, columns: Sequence[Column]) -> str:
    """The columns in steps, float32: clipped, scaled, rounded half-even, missing replaced.

    values: [len(columns), N], or of any shape with one column that stands for all. The scale is a power of two, so that
    the bounds may come first; every operation but the rounding is exact.
    """
    alike = len({(column.low, column.high, column.step, column.missing) for column in columns}) == 1

    def constant(numbers: list[float]) -> str:
        return builder.constant(numbers[0] if alike else [[number] for number in numbers], np.float32)

    low, high = constant([c.low for c in columns]), constant([c.high for c in columns])
    if alike:
        result = builder.operate("Clip", values, low, high)
    else:
        result = builder.operate("Min", builder.operate("Max", values, low), high)
    if any(column.step != 1.0 for column in columns):
        result = builder.operate("Mul", result, constant([1.0 / column.step for column in columns]))
    result = builder.operate("Round", result)
    missing = constant([column.missing / column.step for column in columns])
    return builder.operate("Where", builder.operate("IsNaN", values), missing, result)


# From this share of used cells on, whole tensors are compared and cleaned.
LEAST_USED = 0.4
# More comparisons and cleanings than this are dearer than a transpose.
MOST_KINDS = 4

_KINDS = {">": "Greater", "<": "Less"}


@dataclass(frozen=True, slots=True)
class RowParts:
    """tensor: [N, width] of numbers, as a tensor input comes and not transposed; places: its column of each part.

    One operator compares or cleans a whole tensor where its bound is one number; cells that no sum adds up have the
    weight 0. In chunks of 8192 rows 15 units over 50 Boolean columns, with literals of both signs, take 77 ns a row,
    transposed 133; over 30 columns 60 and 67.
    """

    tensor: str
    places: dict[Part, int]
    width: int

    def weights(self, parts: Sequence[Part], weights: Array) -> Array:
        """Weights [sums, width] for those of some parts [sums, parts]."""
        found = np.zeros((len(weights), self.width))
        found[:, [self.places[part] for part in parts]] = weights
        return found


def row_parts(emitter: Emitter, parts: Iterable[Part], dtype: Any) -> RowParts | None:
    """The parts of sums; None where another input, kind of part or number of bounds asks for rows of their own."""
    schema, builder = emitter.graph.schema, emitter.builder
    groups: dict[tuple[Any, ...], list[Part]] = {}
    for part in parts:
        kind = _kind(emitter, part)
        if kind is None:
            return None
        groups.setdefault(kind, []).append(part)
    used, d = sum(map(len, groups.values())), len(schema)
    if emitter.plan.form != "tensor" or len(groups) > MOST_KINDS or used < LEAST_USED * d * len(groups):
        return None
    tensor, compared, others = emitter.inputs.narrow_tensor(), [], []
    ordered = sorted(groups, key=lambda kind: kind[0] == "column")
    for kind in ordered:
        part = groups[kind][0]
        if isinstance(part, Column):
            values = cleaned(builder, tensor, [part])
            others.append(values if dtype is np.float32 else builder.cast(values, dtype))
        elif kind[0] == "missing":
            compared.append(builder.operate("IsNaN", tensor))
        else:
            compared.append(builder.operate(_KINDS[kind[0]], tensor, builder.constant(kind[1], np.float32)))
    truths = [builder.cast(builder.joined(compared, axis=1), dtype)] if compared else []
    position = schema.positions
    places = {part: d * k + position[_name(part)] for k, kind in enumerate(ordered) for part in groups[kind]}
    return RowParts(builder.joined([*truths, *others], axis=1), places, d * len(groups))


def _kind(emitter: Emitter, part: Part) -> tuple[Any, ...] | None:
    """What is done to the cell of a part; None where that is not done to a float32 tensor."""
    if isinstance(part, Column):
        return "column", part.low, part.high, part.step, part.missing
    if isinstance(part, Condition) and not is_wide(emitter.graph.schema[part.feature]):
        return part.relation, part.bound
    return None


def _name(part: Part) -> str:
    assert isinstance(part, Column | Condition)
    return part.feature


if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Sums that share few rows are one product as long as it has no more weights than this.
MOST_WEIGHTS = 1 << 14
LEAST_SHARED = 0.5


@dataclass(slots=True)
class SumBlock:
    """Sums of one width, a row each; emitted when the first of them is asked for.

    sums: with the parts of each where all are exact; None where they are added in the order of their terms. first: the
    place of the first one among the sums of all blocks. rows, parts: what exact sums add up, once it is emitted.
    """

    width: Any
    sums: dict[Node, ExactSum | None] = field(default_factory=dict)
    first: int = 0
    totals: str = ""
    rows: str = ""
    parts: list[Part] = field(default_factory=list)

    def row(self, node: Node) -> int:
        return list(self.sums).index(node)

    @property
    def exact(self) -> list[ExactSum]:
        return [found for found in self.sums.values() if found is not None]


@dataclass(slots=True)
class SumBlocks:
    """The sums of a graph that are products, or are added side by side."""

    blocks: list[SumBlock] = field(default_factory=list)

    def prepare(self, emitter: Emitter, nodes: list[Node]) -> None:
        """Find them among the nodes of a graph."""
        narrow, wide = SumBlock(np.float32), SumBlock(np.float64)
        alone: list[SumBlock] = []
        others: dict[tuple[Node, ...], SumBlock] = {}
        for node in nodes:
            if not isinstance(node, Linear | LinearThreshold):
                continue
            found = exact_sum(node.terms, node.bias, emitter.graph.schema)
            if found is None:
                if any(isinstance(child, Column) for child in node.children):
                    others.setdefault(node.children, SumBlock(np.float64)).sums[node] = None
            elif found.columns or len(found.weights) >= FEWEST_ROWS:
                block = narrow if found.single else wide
                if any(map(stands_on_node, found.jumps)):  # which may hang on another sum
                    alone.append(block := SumBlock(block.width))
                block.sums[node] = found
        self.blocks = [*_parted(narrow), *_parted(wide), *alone]
        self.blocks += [block for block in others.values() if len(block.sums) > 1]
        for before, block in pairwise(self.blocks):
            block.first = before.first + len(before.sums)

    def unit_place(self, node: Node) -> int | None:
        """The place of a sum among all of them; None for one that is in no block."""
        block = self.block_of(node)
        return None if block is None else block.first + block.row(node)

    def block_of(self, node: Node) -> SumBlock | None:
        return next((block for block in self.blocks if node in block.sums), None)


def _parted(block: SumBlock) -> list[SumBlock]:
    """The sums as one block, or one by one where their product would be large and mostly zeros."""
    weights = [found.weights for found in block.exact]
    all_weights = len(weights) * len(set().union(*weights))
    if all_weights <= MOST_WEIGHTS or sum(map(len, weights)) >= LEAST_SHARED * all_weights:
        return [block] if weights else []
    return [SumBlock(block.width, {node: found}) for node, found in block.sums.items()]


def totals(emitter: Emitter, block: SumBlock) -> str:
    """[sums, N] of a block in its width."""
    if not block.totals:
        block.totals = _product(emitter, block) if block.exact else _in_order(emitter, list(block.sums))
    return block.totals


def number_row(emitter: Emitter, block: SumBlock, node: Node) -> str:
    """[1, N] double: one of the sums."""
    row = emitter.builder.picked(totals(emitter, block), [block.row(node)], len(block.sums))
    return row if block.width is np.float64 else emitter.builder.cast(row, np.float64)


def unit_rows(emitter: Emitter, places: list[int]) -> list[str]:
    """[units, N] bool tensors, in the order of ascending places: which of the units fire."""
    parts = []
    for block in emitter.sums.blocks:
        rows = [place - block.first for place in places if block.first <= place < block.first + len(block.sums)]
        if rows:
            zero = emitter.builder.constant(0.0, block.width)
            fire = emitter.builder.operate("GreaterOrEqual", totals(emitter, block), zero)
            parts.append(emitter.builder.picked(fire, rows, len(block.sums)))
    return parts


def _in_order(emitter: Emitter, nodes: list[Node]) -> str:
    """[sums, N] double: bias + weight * child, from left to right, every rounding its own operation."""
    builder = emitter.builder
    sums = [node for node in nodes if isinstance(node, Linear | LinearThreshold)]
    total = builder.constant([[node.bias] for node in sums], np.float64)
    for j, child in enumerate(sums[0].children):
        weights = builder.constant([[node.weights[j]] for node in sums], np.float64)
        value = builder.number(emitter.number(child))
        total = builder.operate("Add", total, builder.operate("Mul", weights, value))
    return total


def weighted_rows(emitter: Emitter, block: SumBlock) -> tuple[str, Array, Array]:
    """What the exact sums of a block add up: rows [parts, N], weights [sums, parts] and constants [sums]."""
    builder, width, sums = emitter.builder, block.width, block.exact
    if not block.rows:
        place = emitter.graph.schema.positions  # in whose order a tensor has them already
        columns = list(dict.fromkeys(column for found in sums for column in found.columns))
        columns.sort(key=lambda column: place[column.feature])
        jumps = dict.fromkeys(indicator for found in sums for indicator in found.jumps)
        points: dict[str, dict[tuple[float, ...], None]] = {}
        for name, table in (item for found in sums for item in found.points.items()):
            points.setdefault(name, {})[table] = None
        rows: list[str] = []
        if jumps:
            indicators, held = indicator_rows(emitter, jumps, width)
            rows.append(indicators)
            block.parts += held
        for name, tables in points.items():
            rows.append(emitter.inputs.points(name, list(tables), width))
            block.parts += [(name, table) for table in tables]
        if columns:
            values = emitter.inputs.columns([column.feature for column in columns])
            rows.append(_in_width(emitter, cleaned(builder, values, columns), width))
            block.parts += columns
        block.rows = builder.joined(rows)
    weights = np.array([[found.weights.get(part, 0.0) for part in block.parts] for found in sums])
    return block.rows, weights, np.array([found.constant for found in sums])


def _product(emitter: Emitter, block: SumBlock) -> str:
    """[sums, N] in a width that holds all partial sums."""
    builder, width = emitter.builder, block.width
    found = parts_on_rows(emitter, block)
    if found is not None:
        parts, weights, constants = found
        bias = builder.constant(constants[:, None], width)
        return builder.operate("Gemm", builder.constant(weights, width), parts.tensor, bias, transB=1)
    rows, weights, constants = weighted_rows(emitter, block)
    table, bias = builder.constant(weights, width), builder.constant(constants[:, None], width)
    return builder.operate("Gemm", table, rows, bias)


def parts_on_rows(emitter: Emitter, block: SumBlock) -> tuple[RowParts, Array, Array] | None:
    """What the exact sums of a block add up as [N, parts], weights [sums, parts] and constants [sums]; or None."""
    sums = block.exact
    parts = list(dict.fromkeys(part for found in sums for part in found.weights))
    found = row_parts(emitter, parts, block.width)
    if found is None:
        return None
    weights = np.array([[each.weights.get(part, 0.0) for part in parts] for each in sums])
    return found, found.weights(parts, weights), np.array([each.constant for each in sums])


def _in_width(emitter: Emitter, values: str, width: Any) -> str:
    return values if width is np.float32 else emitter.builder.cast(values, width)
