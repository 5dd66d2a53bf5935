"""The probability of a random formula in doubles, every rounding its own operator, and exponentials of strengths.

A circuit is computed step by step in its fixed order. A strength that decides is added in double from left to right, or
is one product where no sum of its terms rounds: an operator for each cause made 1,265 of a noisy-max of 120 causes.
What is only reported is a product of exp(-sum) and of 1 - exp(-sum), in the form tanh(sum / 2) * (1 + exp(-sum)), which
keeps its digits for rare positives (`rulekit.graph.probability.exponentials`); sums that do not decide are one product,
and the order of its additions is left to the runtime. Parts of circuits looked up in tables gained 1.25 to 1.48 where
they were the cheapest (`cnll` on wine and on adult), and were taken out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rulekit.errors import Unsupported
from rulekit.exactness import Span, is_exact_difference
from rulekit.exactness import total as spans
from rulekit.graph.nodes import Constant, Hidden, Node, Probability, Strength, topological
from rulekit.graph.probability.circuits import Algebra, build_circuit, is_count, is_parity
from rulekit.graph.probability.exponentials import NOTHING, Exponentials, Tails
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.emitter import Emitter, chosen_rows, stack
from rulekit_exporters.onnx.operators.exact_sums import FEWEST_ROWS

MOST_COUNTED = 200  # bits; the numbers of all steps grow with their square
# Instead of infinity, which times 0 is no number: exp(-10000) is 0.
CERTAIN = 1e4


def probability(emitter: Emitter, node: Probability) -> Number:
    """[1, N] double, or a constant."""
    formula, builder = node.formula, emitter.builder
    if is_count(formula):
        return _at_least(emitter, formula)
    if is_parity(formula):
        return _odd(emitter, formula.children)
    algebra: Algebra[Number] = Algebra(
        lambda cause, on, off: builder.choose(emitter.truth(cause), on, off),
        lambda value: value,
        lambda a: builder.subtract(1.0, a),
        builder.multiply,
        builder.add,
    )
    values: list[Number] = []
    for step in build_circuit(formula).steps:
        values.append(algebra.step(step, values))
    return values[-1]


def _odd(emitter: Emitter, parts: Sequence[Node]) -> Number:
    """[1, N] double: the probability that an odd number of different hidden bits and Boolean nodes fires."""
    builder = emitter.builder
    factors = []  # of each part 1 - 2 p where its node holds and where it does not
    for part in parts:
        node, on, off = _chance(part)
        factors.append((node, 1.0 - 2.0 * on, 1.0 - 2.0 * off))
    product = builder.halved("Mul", chosen_rows(emitter, factors), len(parts))
    return builder.multiply(0.5, builder.subtract(1.0, product))


def _at_least(emitter: Emitter, formula: Node) -> Number:
    """[1, N] double: the probability that at least k of hidden bits and Boolean nodes fire.

    The operations are those of the circuit in its order (`rulekit.graph.probability.exponentials`), element by element.
    Raises Unsupported above `MOST_COUNTED` of them.
    """
    entry = emitter.counted.entry(Probability(formula))
    assert entry is not None
    assert isinstance(entry.tails, Tails)
    if entry.tails not in emitter.tails:
        emitter.tails[entry.tails] = _rows(emitter, entry.tails)
    return emitter.builder.picked(emitter.tails[entry.tails], [entry.k], entry.tails.most + 1)


def _rows(emitter: Emitter, node: Tails) -> str:
    """[most + 1, N] double: the probabilities of at least 0, 1, ... of the bits."""
    if len(node.parts) > MOST_COUNTED:
        fix = f"keep to {MOST_COUNTED} hidden bits, or export to python"
        raise Unsupported(f"AtLeast of {len(node.parts)} hidden bits", "onnx", fix)
    builder = emitter.builder
    one, zero = emitter.row(1.0), emitter.row(0.0)
    chances = chosen_rows(emitter, [_chance(part.formula) for part in node.parts if isinstance(part, Probability)])
    rows, size = one, 1
    for k in range(len(node.parts) - 1, -1, -1):
        chance = builder.picked(chances, [k], len(node.parts))
        moved = builder.picked(rows, range(min(size, node.most)), size)
        kept = builder.joined([*([builder.picked(rows, range(1, size), size)] if size > 1 else []), zero])
        if size > node.most:
            kept = builder.picked(rows, range(1, size), size)
        rest = builder.operate("Sub", builder.double(1.0), chance)
        further = builder.operate("Add", builder.operate("Mul", chance, moved), builder.operate("Mul", rest, kept))
        rows, size = builder.joined([one, further]), min(size, node.most) + 1
    return rows


def _chance(part: Node) -> tuple[Node, float, float]:
    """A Boolean node, and the probability that the part fires where it holds and where it does not."""
    return (part.cause, part.probability_on, part.probability_off) if isinstance(part, Hidden) else (part, 1.0, 0.0)


def strengths(emitter: Emitter, node: Strength) -> Number:
    """The strengths of the hidden bits of an Or, as if added from left to right; a true Boolean child is infinite."""
    bits = [child for child in node.formula.children if isinstance(child, Hidden)]
    if len(bits) == len(node.terms) >= FEWEST_ROWS and _are_exact(bits):
        return _products(emitter, [node])[0]
    builder = emitter.builder
    total: Number = 0.0
    for cause, on, off in node.terms:
        total = builder.add(total, builder.choose(emitter.truth(cause), on, off))
    return total


def _are_exact(bits: Sequence[Hidden]) -> bool:
    """Whether the strengths, their differences and all sums of them have at most 53 bits.

    A difference counts twice: where a literal stands negated in its block, it is taken off the larger strength.
    """
    if not all(max(bit.on, bit.off) <= CERTAIN and is_exact_difference(bit.off, bit.on) for bit in bits):
        return False
    return spans(Span.of(size) for bit in bits for size in (bit.off, bit.on - bit.off, bit.on - bit.off)).fits()


def exponentials(emitter: Emitter, node: Exponentials) -> Number:
    """[1, N] double, or a constant: a reported product; all strengths that decide nothing are one product."""
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


def _products(emitter: Emitter, nodes: Sequence[Strength]) -> list[str]:
    """[1, N] doubles: the strengths of hidden bits, and of Boolean nodes the certain one, in any order, a product each.

    One product for all, and a Gather for each, would be an operator more, and onnxruntime 1.18 gives two pairs of such
    Gathers one name in files of opset 21, which it then refuses.
    """
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
    return [
        builder.operate("Gemm", builder.constant(own[None]), bits, builder.constant(offset[None]))
        for own, offset in zip(weights, offsets, strict=True)
    ]


def _from_strength(emitter: Emitter, total: Number) -> Number:
    """1 - exp(-total) as tanh(total / 2) * (1 + exp(-total))."""
    if not isinstance(total, str):
        return -math.expm1(-total)
    builder = emitter.builder
    half = builder.operate("Tanh", builder.operate("Mul", total, builder.double(0.5)))
    rest = builder.operate("Add", builder.operate("Exp", builder.operate("Neg", total)), builder.double(1.0))
    return builder.operate("Mul", half, rest)
