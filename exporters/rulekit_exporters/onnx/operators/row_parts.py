"""What sums add up as columns of one tensor [N, parts], from a tensor input as it comes: nothing is transposed.

One operator compares or cleans a whole tensor where its bound is one number, as it is for Boolean columns and for
columns that are cleaned alike; cells that no sum adds up have the weight 0. In chunks of 8192 rows 15 units over 50
Boolean columns, with literals of both signs, take 77 ns a row, transposed 133; over 30 columns 60 and 67.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.graph.nodes import Column
from rulekit.tables.table import Array
from rulekit_exporters.onnx.conditions import Condition, is_wide
from rulekit_exporters.onnx.operators.cleaning import cleaned
from rulekit_exporters.onnx.operators.exact_sums import Part

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# From this share of used cells on, whole tensors are compared and cleaned.
LEAST_USED = 0.4
# More comparisons and cleanings than this are dearer than a transpose.
MOST_KINDS = 4

_KINDS = {">": "Greater", "<": "Less"}


@dataclass(frozen=True, slots=True)
class RowParts:
    """tensor: [N, width] of numbers; places: the column of it that each part is."""

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
