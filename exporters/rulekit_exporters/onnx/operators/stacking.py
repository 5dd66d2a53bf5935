"""Truth values of several nodes as the rows of one tensor, for products with weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rulekit.graph.nodes import Node
from rulekit_exporters.onnx.builder import Number

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Fewer choices are made one by one.
FEW_CHOICES = 4


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
    literals = {node: emitter.literal(node) for node in distinct}
    inside = sorted({literal[0] for literal in literals.values() if literal is not None})
    row: dict[Node, int] = {}
    positive: dict[Node, bool] = {}
    parts = [emitter.bit_rows(inside)] if inside else []
    height = len(inside)
    for node, literal in literals.items():
        if literal is not None:
            row[node], positive[node] = inside.index(literal[0]), literal[1]
            continue
        row[node], positive[node] = height, True
        parts.append(emitter.row(emitter.truth(node)))
        height += 1
    return Stack(emitter.builder.joined(parts), height, row, positive)


def choices(emitter: Emitter, wanted: Sequence[tuple[Node, float, float]]) -> list[Number]:
    """For each node with two constants the first where it is true, the second where not, as [1, N] doubles.

    One Where for all and one Gather for each, instead of two operators for each.
    """
    builder = emitter.builder
    if len(wanted) < FEW_CHOICES:
        return [builder.choose(emitter.truth(node), on, off) for node, on, off in wanted]
    chosen = chosen_rows(emitter, wanted)
    places = (builder.constant([i], np.int64) for i in range(len(wanted)))
    return [builder.operate("Gather", chosen, place, axis=0) for place in places]


def chosen_rows(emitter: Emitter, wanted: Sequence[tuple[Node, float, float]]) -> str:
    """The same as the rows of one tensor."""
    builder = emitter.builder
    stacked = stack(emitter, (node for node, _, _ in wanted))
    rows = builder.picked(stacked.rows, [stacked.row[node] for node, _, _ in wanted], stacked.height)
    pairs = [(on, off) if stacked.positive[node] else (off, on) for node, on, off in wanted]
    high, low = (builder.constant([[pair[k]] for pair in pairs], np.float64) for k in (0, 1))
    return builder.operate("Where", rows, high, low)
