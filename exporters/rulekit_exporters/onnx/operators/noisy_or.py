"""Noisy-or by the strengths of its hidden bits: the sum that decides, and the probability that is only reported.

The sum is compared with a threshold, so it is added in double from left to right. What is reported is a product of
exp(-sum) and of 1 - exp(-sum), in the form tanh(sum / 2) * (1 + exp(-sum)), which keeps its digits for rare positives
(`rulekit.graph.probability.exponentials`); where a sum does not decide, it is one product, and the order of its
additions is left to the runtime.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rulekit.exactness import Span, is_exact_difference, total
from rulekit.graph.evaluation.strength_values import causes_of, exponential_table
from rulekit.graph.nodes import Constant, Hidden, Strength
from rulekit.graph.probability.exponentials import NOTHING, Exponentials
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.circuits import looked_up
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


def exponentials(emitter: Emitter, node: Exponentials) -> Number:
    """[1, N] double, or a constant: a reported product of exponentials of strengths.

    Of few causes it is looked up; else all strengths that decide nothing are one product.
    """
    causes = causes_of(node)
    if len(causes) <= FEW_BITS:
        return looked_up(emitter, causes, exponential_table(node))
    sums = [child for child in node.children if isinstance(child, Strength)]
    deciding = set(topological(emitter.graph.decision.roots))
    own = [s for s in sums if s not in deciding and s is not NOTHING]
    rows = iter(_products(emitter, own) if own else ())
    none, *some = (emitter.number(s) if s in deciding else next(rows) if s is not NOTHING else 0.0 for s in sums)
    result: Number = 1.0
    if node.none is not NOTHING:
        result = emitter.builder.operate("Exp", emitter.builder.operate("Neg", emitter.row(none)))
    for strength in some:
        result = emitter.builder.multiply(_from_strength(emitter, strength), result)
    return result


def _product(emitter: Emitter, node: Strength) -> str:
    """[1, N] double: the strengths of an Or, in any order."""
    return _products(emitter, [node])[0]


def _products(emitter: Emitter, nodes: Sequence[Strength]) -> list[str]:
    """[1, N] doubles: the strengths of hidden bits, and of Boolean nodes the certain one, in any order; one product."""
    builder = emitter.builder
    stacked = stack(emitter, [c for node in nodes for c, _, _ in node.terms if not isinstance(c, Constant)])
    weights = np.zeros((len(nodes), stacked.height))
    offsets = np.zeros((len(nodes), 1))
    for k, node in enumerate(nodes):
        for cause, on, off in node.terms:
            on, off = min(on, CERTAIN), min(off, CERTAIN)
            if isinstance(cause, Constant):
                offsets[k] += on if cause.value else off
                continue
            high, low = (on, off) if stacked.positive[cause] else (off, on)
            weights[k, stacked.row[cause]] += high - low
            offsets[k] += low
    bits = builder.cast(stacked.rows, np.float64)
    found = builder.operate("Gemm", builder.constant(weights), bits, builder.constant(offsets))
    return [builder.picked(found, [k], len(nodes)) for k in range(len(nodes))]


def _from_strength(emitter: Emitter, total: Number) -> Number:
    """1 - exp(-total) as tanh(total / 2) * (1 + exp(-total))."""
    if not isinstance(total, str):
        return -math.expm1(-total)
    builder = emitter.builder
    half = builder.operate("Tanh", builder.operate("Mul", total, builder.double(0.5)))
    rest = builder.operate("Add", builder.operate("Exp", builder.operate("Neg", total)), builder.double(1.0))
    return builder.operate("Mul", half, rest)
