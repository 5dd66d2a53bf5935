"""Strengths of hidden bits as multiples of one power of two, whose sums no target rounds (`rulekit.exactness`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rulekit.exactness import DOUBLE_BITS, finest_unit
from rulekit.graph.nodes import Hidden


def strengths_on_grid(on: Sequence[float], off: Sequence[float]) -> tuple[list[float], list[float]]:
    """Strengths [bits] rounded to the finest power of two with which no sum of them has more than 53 bits.

    on, off: of each bit where its cause holds and where it does not; a leak is a bit of its own. Strengths that lie on
    such a grid stay as they are. Raises ValueError where one is infinite or negative.
    """
    if not all(0.0 <= strength < math.inf for strength in (*on, *off)):
        raise ValueError("only finite strengths lie on a grid")
    # A difference counts twice, as ONNX may take it off where it has added it.
    unit = finest_unit([*off, *(2.0 * (a - b) for a, b in zip(on, off, strict=True))], DOUBLE_BITS)
    return [round(a / unit) * unit for a in on], [round(b / unit) * unit for b in off]


def bits_on_grid(bits: Sequence[Hidden]) -> tuple[Hidden, ...]:
    """The same hidden bits with their strengths on one grid; raises as `strengths_on_grid`."""
    on, off = strengths_on_grid([bit.on for bit in bits], [bit.off for bit in bits])
    return tuple(Hidden(bit.name, bit.cause, a, b) for bit, a, b in zip(bits, on, off, strict=True))
