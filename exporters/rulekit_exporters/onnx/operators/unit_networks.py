"""Formulas over linear threshold units as a network of three products: units, the paths that they part, the classes.

A sum is a whole number of grid steps, so that one step more than it has, clipped to 0 and 1, is whether it is 0 or
above. A path holds where all signs on it are as it says, which is a count of them less its length, cut off at 0. Where
no two paths hold at once, as in a tree of units, the classes are sums of paths; elsewhere these are clipped once more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.exactness import SINGLE_BITS, Span
from rulekit.graph.nodes import LinearThreshold, Node
from rulekit_exporters.onnx.operators.clauses import Clause, are_disjoint, clauses_of_network, has_units
from rulekit_exporters.onnx.operators.sum_blocks import SumBlock, parts_on_rows, totals, weighted_rows

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Multiplications of units and paths.
LARGEST = 4096


@dataclass(frozen=True, slots=True)
class _Signs:
    """Whether units fire, as 0 and 1: [N, units] where they stand by row, else [units, N]."""

    tensor: str
    by_row: bool


def emit_unit_pair(emitter: Emitter, formula: Node) -> str | None:
    """[N, 2] float of 0 and 1, negative and positive: logic over all units of one block; None for another formula."""
    found = _network(emitter, formula)
    if found is None:
        return None
    block, clauses, positive = found
    signs = _signs(emitter, block)
    literals = [literal for clause in clauses for literal in clause.items()]
    if len(clauses) == 1 or len(literals) == len(clauses):  # a single count
        least = len(clauses[0]) - 1 if len(clauses) == 1 else 0
        weights = np.zeros((1, len(block.sums)), dtype=np.float32)
        for place, sign in literals:
            weights[0, place] += 1.0 if sign else -1.0
        offset = sum(not sign for _, sign in literals) - least
        return _pair(emitter, signs, weights, offset, positive, len(literals) == 1)
    paths = _paths(emitter, signs, clauses, len(block.sums))
    return _pair(emitter, paths, np.ones((1, len(clauses)), dtype=np.float32), 0, positive, are_disjoint(clauses))


def _network(emitter: Emitter, formula: Node) -> tuple[SumBlock, list[Clause], bool] | None:
    """The block of the units, clauses over their rows, and whether these say where the formula holds or does not."""
    if not has_units(formula):
        return None
    found = clauses_of_network(emitter, formula)
    if found is None or not found[0] or not all(found[0]):
        return None
    clauses, positive = found
    first = emitter.inputs.block_size
    places = {place - first for clause in clauses for place in clause}
    for block in emitter.sums.blocks:
        rows = set(range(block.first, block.first + len(block.sums)))
        if places <= rows and rows == {block.first + block.row(node) for node in block.sums if _is_unit(node)}:
            if len(rows) * len(clauses) > LARGEST:
                return None
            return block, [{p - first - block.first: s for p, s in clause.items()} for clause in clauses], positive
    return None


def _is_unit(node: Node) -> bool:
    return isinstance(node, LinearThreshold)


def _signs(emitter: Emitter, block: SumBlock) -> _Signs:
    builder = emitter.builder
    grids = [Fraction(2) ** found.span.grid for found in block.exact]
    steps = [Span(found.span.size / grid + 1, 0) for found, grid in zip(block.exact, grids, strict=True)]
    if (
        len(block.exact) < len(block.sums)
        or block.width is not np.float32
        or not all(s.fits(SINGLE_BITS) for s in steps)
    ):
        zero = builder.constant(0.0, block.width)
        fire = builder.operate("GreaterOrEqual", totals(emitter, block), zero)
        return _Signs(builder.cast(fire, np.float32), False)
    factors = np.array([float(1 / grid) for grid in grids])
    on_rows = parts_on_rows(emitter, block)
    if on_rows is not None:
        parts, weights, constants = on_rows
        scaled, bias = weights * factors[:, None], constants * factors + 1.0
        table, start = builder.constant(scaled.T, np.float32), builder.constant(bias, np.float32)
        counted = builder.operate("Gemm", parts.tensor, table, start)
    else:
        rows, weights, constants = weighted_rows(emitter, block)
        scaled, bias = weights * factors[:, None], constants * factors + 1.0
        table, start = builder.constant(scaled, np.float32), builder.constant(bias[:, None], np.float32)
        counted = builder.operate("Gemm", table, rows, start)
    return _Signs(_clipped(emitter, counted), on_rows is not None)


def _clipped(emitter: Emitter, tensor: str) -> str:
    """Cut off at 0 and 1; HardSigmoid is the same, and becomes one operator with the product before it."""
    builder = emitter.builder
    if emitter.optimize == "latency":
        return builder.operate("HardSigmoid", tensor, alpha=1.0, beta=0.0)
    return builder.operate("Clip", tensor, builder.constant(0.0, np.float32), builder.constant(1.0, np.float32))


def _paths(emitter: Emitter, signs: _Signs, clauses: list[Clause], units: int) -> _Signs:
    """Which clauses hold."""
    weights = np.zeros((len(clauses), units), dtype=np.float32)
    bias = np.ones(len(clauses), dtype=np.float32)
    for k, clause in enumerate(clauses):
        for place, positive in clause.items():
            weights[k, place] = 1.0 if positive else -1.0
        bias[k] -= sum(clause.values())
    builder = emitter.builder
    if signs.by_row:
        counted = builder.operate("Gemm", signs.tensor, builder.constant(weights.T), builder.constant(bias))
    else:
        counted = builder.operate("Gemm", builder.constant(weights), signs.tensor, builder.constant(bias[:, None]))
    return _Signs(builder.operate("Relu", counted), signs.by_row)


def _pair(
    emitter: Emitter, rows: _Signs, weights: np.typing.NDArray[np.float32], offset: int, positive: bool, disjoint: bool
) -> str:
    """[N, 2]: 1 less a sum of rows, and the sum, or the other way round; clipped where it may be above 1."""
    builder, both = emitter.builder, np.concatenate([-weights, weights])
    start = np.array([1 - offset, offset], dtype=np.float32)
    if not positive:
        both, start = both[::-1], start[::-1]
    table, bias = builder.constant(np.ascontiguousarray(both.T)), builder.constant(np.ascontiguousarray(start))
    attributes: dict[str, Any] = {} if rows.by_row else {"transA": 1}
    pair = builder.operate("Gemm", rows.tensor, table, bias, **attributes)
    return pair if disjoint else _clipped(emitter, pair)
