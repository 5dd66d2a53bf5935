"""All exact sums of a graph as one matrix product: the linear threshold units of a tree or network above all.

Sums over the same terms that are not exact are added side by side, a term at a time in their order.

Cost, measured in chunks of 8192 rows: 15 units over 30 columns take 20 ns a row as one product in float32 and 40 in
double, and 30 times as long column by column in doubles. The columns are cleaned together, in steps: clipped, scaled,
rounded half-even, missing replaced. Where all are cleaned alike, that is done on the rows as they come, without a
transpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.graph.nodes import Column, Linear, LinearThreshold, Node
from rulekit_exporters.onnx.operators.exact_sums import ExactSum, exact_sum

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# From this share of used columns on, all columns of a tensor are cleaned, unused ones with the weight 0.
MOST_COLUMNS = 0.5


@dataclass(slots=True)
class SumBlock:
    """Sums of one width, a row each; emitted when the first of them is asked for.

    sums: with the parts of each where all are exact; None where they are added in the order of their terms. first: the
    place of the first one among the sums of all blocks.
    """

    width: Any
    sums: dict[Node, ExactSum | None] = field(default_factory=dict)
    first: int = 0
    totals: str = ""

    def row(self, node: Node) -> int:
        return list(self.sums).index(node)


@dataclass(slots=True)
class SumBlocks:
    """The exact sums over columns, by their width."""

    blocks: list[SumBlock] = field(default_factory=list)

    def prepare(self, emitter: Emitter, nodes: list[Node]) -> None:
        """Find the sums over columns among the nodes of a graph."""
        narrow, wide = SumBlock(np.float32), SumBlock(np.float64)
        others: dict[tuple[Node, ...], SumBlock] = {}
        for node in nodes:
            if isinstance(node, Linear | LinearThreshold) and any(isinstance(c, Column) for c in node.children):
                found = exact_sum(emitter, node.terms, node.bias)
                if found is None or found.points:
                    others.setdefault(node.children, SumBlock(np.float64)).sums[node] = None
                elif found.columns or found.jumps:
                    (narrow if found.single else wide).sums[node] = found
        self.blocks = [block for block in (narrow, wide) if block.sums]
        self.blocks += [block for block in others.values() if len(block.sums) > 1]
        for before, block in pairwise(self.blocks):
            block.first = before.first + len(before.sums)

    def unit_place(self, node: Node) -> int | None:
        """The place of a sum among all of them; None for one that is in no block."""
        block = self.block_of(node)
        return None if block is None else block.first + block.row(node)

    def block_of(self, node: Node) -> SumBlock | None:
        return next((block for block in self.blocks if node in block.sums), None)


def totals(emitter: Emitter, block: SumBlock) -> str:
    """[sums, N] of a block in its width."""
    if not block.totals:
        exact = [part for part in block.sums.values() if part is not None]
        block.totals = _product(emitter, block.width, exact) if exact else _in_order(emitter, list(block.sums))
    return block.totals


def number_row(emitter: Emitter, block: SumBlock, node: Node) -> str:
    """[1, N] double: one of the sums."""
    builder = emitter.builder
    return builder.cast(builder.picked(totals(emitter, block), [block.row(node)], len(block.sums)), np.float64)


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


def _product(emitter: Emitter, width: Any, sums: list[ExactSum]) -> str:
    """[sums, N] in a width that holds all partial sums."""
    builder = emitter.builder
    columns = list(dict.fromkeys(column for part in sums for column in part.columns))
    conditions = list(dict.fromkeys(condition for part in sums for condition in part.jumps))
    bias = builder.constant([[part.constant] for part in sums], width)
    if columns and not conditions and _alike(columns) and _on_rows(emitter, columns):
        place = emitter.graph.schema.positions
        weights = np.zeros((len(sums), len(emitter.graph.schema)), dtype=width)
        for i, part in enumerate(sums):
            for column, weight in part.columns.items():
                weights[i, place[column.feature]] += weight
        rows = _in_width(emitter, _cleaned(emitter, emitter.inputs.narrow_tensor(), columns[:1]), width)
        return builder.operate("Gemm", builder.constant(weights), rows, bias, transB=1)
    parts = []
    if conditions:
        bits, conditions = emitter.inputs.conditions(conditions)
        parts.append(builder.cast(bits, width))
    if columns:
        values = emitter.inputs.columns([column.feature for column in columns])
        parts.append(_in_width(emitter, _cleaned(emitter, values, columns), width))
    rows = builder.joined(parts)
    table = [
        [*(part.jumps.get(c, 0.0) for c in conditions), *(part.columns.get(c, 0.0) for c in columns)] for part in sums
    ]
    return builder.operate("Gemm", builder.constant(table, width), rows, bias)


def _in_width(emitter: Emitter, values: str, width: Any) -> str:
    return values if width is np.float32 else emitter.builder.cast(values, width)


def _alike(columns: list[Column]) -> bool:
    return len({(column.low, column.high, column.step, column.missing) for column in columns}) == 1


def _on_rows(emitter: Emitter, columns: list[Column]) -> bool:
    share = len({column.feature for column in columns}) / len(emitter.graph.schema)
    return emitter.plan.form == "tensor" and share >= MOST_COLUMNS


def _cleaned(emitter: Emitter, values: str, columns: list[Column]) -> str:
    """The columns in steps, float32: clipped, scaled, rounded half-even, missing replaced.

    values: [len(columns), N], or of any shape with one column that stands for all. The scale is a power of two, so that
    the bounds may come first; every operation but the rounding is exact.
    """
    builder = emitter.builder
    alike = _alike(columns)

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
