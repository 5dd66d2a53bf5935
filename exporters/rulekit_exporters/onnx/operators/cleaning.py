"""Columns that sums add up, cleaned together: clipped, scaled to whole steps, rounded, free of missing values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rulekit.graph.nodes import Column
from rulekit_exporters.onnx.builder import Builder


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
