"""Noisy-or by the strengths of its hidden bits: the sum that decides, and the probability that is only reported.

The sum is compared with a threshold, so it is added in double from left to right. A reported probability is
1 - exp(-sum), in the form tanh(sum / 2) * (1 + exp(-sum)), which keeps its digits for rare positives; where the sum
does not decide, it is one product, and the order of its additions is left to the runtime.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rulekit.exactness import Span, is_exact_difference, total
from rulekit.graph.nodes import Hidden, Node, Probability, Strength
from rulekit.graph.probability.compilation import adds_strengths
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.exact_sums import FEWEST_ROWS
from rulekit_exporters.onnx.operators.stacking import choices, stack

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# So many bits or fewer are as cheap as a circuit, whose parts are tables.
FEW_BITS = 8
# Instead of infinity, which times 0 is no number: exp(-10000) is 0.
CERTAIN = 1e4


def strengths(emitter: Emitter, node: Strength) -> Number:
    """The strengths of the hidden bits of an Or, as if added from left to right; a true Boolean child is infinite.

    One product where they lie on a grid on which no sum rounds.
    """
    builder = emitter.builder
    bits = [child for child in node.formula.children if isinstance(child, Hidden)]
    if len(bits) == len(node.terms) >= FEWEST_ROWS and _are_exact(bits):
        return _product(emitter, node)
    total: Number = 0.0
    for part in choices(emitter, node.terms):
        total = builder.add(total, part)
    return total


def _are_exact(bits: Sequence[Hidden]) -> bool:
    """Whether the strengths, their differences and all sums of them have at most 53 bits.

    A difference counts twice: where a literal stands negated in its block, it is taken off the larger strength.
    """
    if not all(max(bit.on, bit.off) <= CERTAIN and is_exact_difference(bit.off, bit.on) for bit in bits):
        return False
    return total(Span.of(size) for bit in bits for size in (bit.off, bit.on - bit.off, bit.on - bit.off)).fits()


def reported_number(emitter: Emitter, node: Node) -> Number:
    """[1, N] double, or a constant: a probability as it is reported, within rounding of its circuit."""
    if not isinstance(node, Probability) or not adds_strengths(node.formula):
        return emitter.number(node)
    deciding, strength = topological(emitter.graph.decision.roots), Strength(node.formula)
    if strength in deciding:
        return _from_strength(emitter, emitter.number(strength))
    if len(node.formula.children) <= FEW_BITS or node in deciding:
        return emitter.number(node)
    return _from_strength(emitter, _product(emitter, strength))


def _product(emitter: Emitter, node: Strength) -> str:
    """[1, N] double: the strengths of hidden bits, and of Boolean nodes the certain one, in any order."""
    builder = emitter.builder
    stacked = stack(emitter, [cause for cause, _, _ in node.terms])
    weights = np.zeros((1, stacked.height))
    offset = 0.0
    for cause, on, off in node.terms:
        on, off = min(on, CERTAIN), min(off, CERTAIN)
        high, low = (on, off) if stacked.positive[cause] else (off, on)
        weights[0, stacked.row[cause]] += high - low
        offset += low
    bits = builder.cast(stacked.rows, np.float64)
    return builder.operate("Gemm", builder.constant(weights), bits, builder.constant([[offset]], np.float64))


def _from_strength(emitter: Emitter, total: Number) -> Number:
    """1 - exp(-total) as tanh(total / 2) * (1 + exp(-total))."""
    if not isinstance(total, str):
        return -math.expm1(-total)
    builder = emitter.builder
    half = builder.operate("Tanh", builder.operate("Mul", total, builder.double(0.5)))
    rest = builder.operate("Add", builder.operate("Exp", builder.operate("Neg", total)), builder.double(1.0))
    return builder.operate("Mul", half, rest)
