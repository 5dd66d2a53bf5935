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
from rulekit.graph.decisions import Exceeds, Median
from rulekit.graph.nodes import Family, Hidden, Node, Or, Probability
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.grid_sums import FEWEST_TERMS
from rulekit_exporters.onnx.operators.stacking import choices, stack

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# So many bits or fewer are as cheap as a circuit, whose parts are tables.
FEW_BITS = 8
# Instead of infinity, which times 0 is no number: exp(-10000) is 0.
CERTAIN = 1e4


def strengths(emitter: Emitter, score: Node) -> Number:
    """The strengths of the hidden bits of an Or, as if added from left to right; a true Boolean child is infinite.

    One product where they lie on a grid on which no sum rounds.
    """
    builder = emitter.builder
    formula = score.formula if isinstance(score, Probability) else score
    children = formula.children if isinstance(formula, Or) else (formula,)
    bits = [child for child in children if isinstance(child, Hidden)]
    if len(bits) == len(children) >= FEWEST_TERMS and _are_exact(bits):
        return _product(emitter, bits)
    parts = [(c.cause, c.on, c.off) if isinstance(c, Hidden) else (c, math.inf, 0.0) for c in children]
    total: Number = 0.0
    for part in choices(emitter, parts):
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
    if not isinstance(node, Probability) or not is_noisy_or(node.formula):
        return emitter.number(node)
    decision = emitter.graph.decision
    parts = decision.above if isinstance(decision, Median) else (decision,)
    sums = [part.score for part in parts if isinstance(part, Exceeds) and part.scale == "log-complement"]
    if node in sums:
        return _from_strength(emitter, strengths(emitter, node))
    if len(node.formula.children) <= FEW_BITS or node in topological(decision.roots):
        return emitter.number(node)
    return _from_strength(emitter, _product(emitter, node.formula.children))


def is_noisy_or(formula: Node) -> bool:
    """Whether a formula is an Or of hidden bits, each once, and Boolean nodes."""
    if not isinstance(formula, Or) or len(set(formula.children)) < len(formula.children):
        return False
    bits = [child for child in formula.children if isinstance(child, Hidden)]
    plain = all(isinstance(child, Hidden) or child.family is Family.BOOLEAN for child in formula.children)
    return plain and len({bit.name for bit in bits}) == len(bits)


def _product(emitter: Emitter, children: Sequence[Node]) -> str:
    """[1, N] double: the strengths of hidden bits, and of Boolean nodes the certain one, in any order."""
    builder = emitter.builder
    causes = [child.cause if isinstance(child, Hidden) else child for child in children]
    stacked = stack(emitter, causes)
    weights = np.zeros((1, stacked.height))
    offset = 0.0
    for child, cause in zip(children, causes, strict=True):
        on, off = (child.on, child.off) if isinstance(child, Hidden) else (math.inf, 0.0)
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
