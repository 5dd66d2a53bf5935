"""Disjunctions of conjunctions of literals of a tensor input, as matrix products or gathered slots.

Cost rule, measured with onnxruntime in chunks of 8192 rows: the product needs 11 operators whatever the formula, but
one multiplication per clause and literal of the block; the slots need two operators per position of the longest clause
and one gathered truth value per clause and position. Slots are 15 % cheaper per row at 4 clauses of 5 literals, 25 %
at 10, 40 % at 30, and 3 us dearer per call; so up to `LARGEST_PRODUCT` multiplications it is the product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rulekit.graph.nodes import Node
from rulekit_exporters.onnx.builder import Builder
from rulekit_exporters.onnx.operators.clauses import Clause, clauses_of

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

LARGEST_PRODUCT = 200
# Signs of units are numbers already, and their paths are long: so many multiplications take less than gathered slots.
LARGEST_PRODUCT_OF_UNITS = 2000
FEWEST_LITERALS = 3
# Most clauses that are counted in both columns of the probabilities at once.
MOST_OF_PAIR = 16
# A block of fewer times as many rows as are used is taken as it is, without a Gather.
MOST_OF_BLOCK = 2
# The slots of so many clauses and 8192 rows fit the processor's second cache.
SLOT_CLAUSES = 32


def emit_dnf(emitter: Emitter, formula: Node) -> str | None:
    """[1, N] float of 0 and 1: the formula as a DNF over the block; None where another formulation is due."""
    found = satisfied(emitter, formula)
    if found is None:
        return None
    clauses, height = found
    builder = emitter.builder
    if height == 1:
        return clauses
    ones = builder.constant(np.ones((1, height), dtype=np.float32))
    return builder.operate("Min", builder.operate("MatMul", ones, clauses), builder.constant(1.0, np.float32))


def emit_dnf_pair(emitter: Emitter, formula: Node) -> str | None:
    """[N, 2] float of 0 and 1, negative and positive: two operators fewer than `emit_dnf` and a pair of its row.

    With c satisfied clauses it is 1 - c and c, clipped to 0 and 1. None where there is no DNF, or one of so many
    clauses that a product of two columns is dearer than one of one.
    """
    found = satisfied(emitter, formula)
    if found is None or not 1 < found[1] <= MOST_OF_PAIR:
        return None
    clauses, height = found
    builder = emitter.builder
    weights = builder.constant([[-1.0, 1.0]] * height, np.float32)
    pair = builder.operate("Gemm", clauses, weights, builder.constant([1.0, 0.0], np.float32), transA=1)
    return builder.operate("Clip", pair, builder.constant(0.0, np.float32), builder.constant(1.0, np.float32))


def satisfied(emitter: Emitter, formula: Node) -> tuple[str, int] | None:
    """[height, N] float of 0 and 1, not all 0 where the formula holds, and its height; None if it is no DNF."""
    clauses = clauses_of(emitter, formula)
    if clauses is None or not clauses or not all(clauses) or sum(map(len, clauses)) < FEWEST_LITERALS:
        return None
    places = {place for clause in clauses for place in clause}
    largest = LARGEST_PRODUCT_OF_UNITS if max(places) >= emitter.inputs.block_size else LARGEST_PRODUCT
    if len(places) * len(clauses) <= largest:
        return by_product(emitter, clauses), len(clauses)
    return by_slots(emitter, clauses), min(len(clauses), SLOT_CLAUSES)


def by_product(emitter: Emitter, clauses: list[Clause]) -> str:
    """[K, N] float of 0 and 1: Relu(true literals - clause length + 1), small integers and so exact."""
    builder = emitter.builder
    places = _places(emitter, clauses)
    column = {place: j for j, place in enumerate(places)}
    weights = np.zeros((len(clauses), len(places)), dtype=np.float32)
    bias = np.ones((len(clauses), 1), dtype=np.float32)
    for k, clause in enumerate(clauses):
        for place, positive in clause.items():
            weights[k, column[place]] = 1.0 if positive else -1.0
        bias[k] -= sum(clause.values())
    bits = builder.cast(emitter.bit_rows(places), np.float32)
    return builder.operate("Relu", builder.operate("Gemm", builder.constant(weights), bits, builder.constant(bias)))


def _places(emitter: Emitter, clauses: list[Clause]) -> list[int]:
    """The literals and units of some clauses in order; the whole literal block where they are most of it."""
    used = sorted({place for clause in clauses for place in clause})
    whole = range(emitter.inputs.block_size)
    return list(whole) if used[-1] < len(whole) < MOST_OF_BLOCK * len(used) else used


def by_slots(emitter: Emitter, clauses: list[Clause]) -> str:
    """[min(K, SLOT_CLAUSES), N] float of 0 and 1, not all 0 where a clause holds.

    The s-th literals of the clauses side by side, And over the positions, Or over groups of `SLOT_CLAUSES` clauses.
    """
    if len(clauses) > SLOT_CLAUSES:
        clauses = sorted(clauses, key=len)  # clauses of one length need no padding
    result = ""
    for start in range(0, len(clauses), SLOT_CLAUSES):
        group = clauses[start : start + SLOT_CLAUSES]
        if start:
            group += group[-1:] * (SLOT_CLAUSES - len(group))
        held = slots(emitter.builder, emitter.bit_rows, [list(clause.items()) for clause in group])
        result = emitter.builder.operate("Or", result, held) if result else held
    return emitter.builder.cast(result, np.float32)


def slots(builder: Builder, picked: Callable[[list[int]], str], clauses: Sequence[Sequence[tuple[int, bool]]]) -> str:
    """[K, N] bool: which clauses of signed literals hold; picked: rows of literals by their places."""
    result = ""
    for s in range(max(map(len, clauses))):
        slot = [clause[min(s, len(clause) - 1)] for clause in clauses]  # short clauses repeat their last literal
        bits = picked([place for place, _ in slot])
        negative = np.array([[not positive] for _, positive in slot])
        if negative.any():
            bits = builder.operate("Xor", bits, builder.constant(negative))
        result = builder.operate("And", result, bits) if result else bits
    return result
