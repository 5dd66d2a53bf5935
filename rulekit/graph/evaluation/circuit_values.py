"""The values of circuits and of sums of strengths over a block of rows.

A part of a circuit that reads k Boolean nodes has at most 2^k different values. They are computed once, by the
circuit's own steps in their own order, and then looked up for each row; so a value has the same bits as if the steps
had been carried out for the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.nodes import FALSE, TRUE, Constant, Node, Strength
from rulekit.graph.probability.circuits import (
    Algebra,
    Bit,
    CircuitStep,
    Complement,
    Given,
    Mix,
    Product,
    build_circuit,
    needed_by,
    operands,
)
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.tables.table import Array

_SIZES = (12, 8, 4, 1)  # most Boolean nodes of a part, the largest first
_MOST_WORK = 1 << 21  # operations on doubles that filling the tables may take
_BITS_OF_A_BYTE = 8
_WIDE = -1
_LOOKED_UP = 12  # Boolean nodes of a table of exponentials


@dataclass(frozen=True, slots=True)
class Lookup:
    """A part of a circuit as a table: `values` [2^k] by the truth of the k `causes`, the first the highest bit."""

    causes: tuple[int, ...]
    values: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PreparedCircuit:
    """What is done for a block of rows: numbered steps in order, and after each the steps that no later one reads.

    causes: the Boolean nodes that the circuit reads; a Lookup counts them by their place here.
    """

    causes: tuple[Node, ...]
    numbers: tuple[int, ...]
    steps: tuple[CircuitStep | Lookup, ...]
    finished: tuple[tuple[int, ...], ...]


@lru_cache(maxsize=64)
def prepare(formula: Node, sizes: tuple[int, ...] = _SIZES) -> PreparedCircuit:
    """The circuit of a formula with tables as large as pays; raises as `build_circuit`.

    sizes: the most Boolean nodes that a table may read, the largest first; the last one is taken whatever it costs.
    """
    circuit = build_circuit(formula)
    causes = circuit.causes
    place = {cause: i for i, cause in enumerate(causes)}
    for most in sizes:
        masks = _masks(circuit.steps, place, most)
        cones = _parts(circuit.steps, masks, np.inf if most == sizes[-1] else _MOST_WORK)
        if cones is not None:
            break
    assert cones is not None
    lookups = {i: _lookup(circuit.steps, cones[i], masks[i], place) for i in cones}
    numbers = tuple(i for i, mask in enumerate(masks) if mask == _WIDE or i in lookups)
    steps = tuple(lookups.get(i, circuit.steps[i]) for i in numbers)
    last_use = {operand: i for i in numbers if masks[i] == _WIDE for operand in operands(circuit.steps[i])}
    finished: dict[int, list[int]] = {i: [] for i in numbers}
    for operand, i in last_use.items():
        finished[i].append(operand)
    return PreparedCircuit(causes, numbers, steps, tuple(tuple(finished[i]) for i in numbers))


def _masks(steps: Sequence[CircuitStep], place: Mapping[Node, int], most: int) -> list[int]:
    """The causes that each step reads, as bits of a number; _WIDE for more than `most`."""
    masks: list[int] = []
    for step in steps:
        match step:
            case Bit(cause, _, _):
                mask = 1 << place[cause]
            case Given(node):
                mask = 1 << place[node]
            case _:
                mask = 0
                for operand in operands(step):
                    mask = _WIDE if masks[operand] == _WIDE else mask | masks[operand]
                    if mask == _WIDE:
                        break
        masks.append(_WIDE if mask == _WIDE or mask.bit_count() > most else mask)
    return masks


def _parts(steps: Sequence[CircuitStep], masks: Sequence[int], most_work: float) -> dict[int, list[int]] | None:
    """The steps that become tables, each with the steps that it needs; None where filling them is too much work.

    They are the steps within the bound that the end, or a step beyond the bound, reads.
    """
    read = {operand for i, step in enumerate(steps) if masks[i] == _WIDE for operand in operands(step)}
    cones: dict[int, list[int]] = {}
    work = 0
    for i, mask in enumerate(masks):
        if mask != _WIDE and (i in read or i == len(steps) - 1):
            cones[i] = needed_by(steps, i)
            work += len(cones[i]) << mask.bit_count()
            if work > most_work:
                return None
    return cones


def _lookup(steps: Sequence[CircuitStep], cone: Sequence[int], mask: int, place: Mapping[Node, int]) -> Lookup:
    causes = _bits(mask)
    size = 1 << len(causes)
    patterns = np.arange(size)
    truths = {c: (patterns >> (len(causes) - 1 - i) & 1).astype(bool) for i, c in enumerate(causes)}
    algebra: Algebra[Any] = Algebra(
        lambda cause, on, off: np.array((off, on)).take(truths[place[cause]].view(np.uint8)), np.float64
    )
    values: dict[int, Any] = {}
    for i in cone:
        values[i] = algebra.step(steps[i], values)
    return Lookup(causes, np.broadcast_to(values[cone[-1]], (size,)))


def _bits(mask: int) -> tuple[int, ...]:
    """The places of the bits of a number that has few, ascending."""
    places = []
    while mask:
        lowest = mask & -mask
        places.append(lowest.bit_length() - 1)
        mask ^= lowest
    return tuple(places)


def _combine(step: Any, values: Mapping[int, Any], out: Array | None = None) -> Any:
    """The value of a step that reads other steps; `out` may be the array of one of its operands."""
    match step:
        case Complement(a):
            return np.subtract(1.0, values[a], out=out)
        case Product(a, b):
            return np.multiply(values[a], values[b], out=out)
        case Mix(p, high, low):
            otherwise = (1.0 - values[p]) * values[low]
            return np.add(np.multiply(values[p], values[high], out=out), otherwise)
    raise AssertionError(step)


def circuit_values(circuit: PreparedCircuit, truths: Sequence[Array], n: int) -> Array:
    """The probability [n] of rows of which `truths` says, for each cause, a bool array [n]."""
    values: dict[int, Any] = {}
    indices: dict[tuple[int, ...], Array] = {}
    for number, step, finished in zip(circuit.numbers, circuit.steps, circuit.finished, strict=True):
        if isinstance(step, Lookup):
            if not step.causes:
                values[number] = step.values[0]
            else:
                if step.causes not in indices:
                    indices[step.causes] = index_of_truths([truths[c] for c in step.causes])
                values[number] = step.values.take(indices[step.causes])
        else:
            # An operand that no later step reads gives its memory to the result.
            spare = next((values[i] for i in finished if isinstance(values[i], np.ndarray)), None)
            values[number] = _combine(step, values, spare)
            for operand in finished:
                del values[operand]
    result = values[circuit.numbers[-1]]
    return result if np.ndim(result) else np.full(n, result)


def index_of_truths(truths: Sequence[Array]) -> Array:
    """The truths [n] of up to 16 causes as the bits of a number [n], the first the highest."""
    high = _packed(truths[:_BITS_OF_A_BYTE])
    if len(truths) <= _BITS_OF_A_BYTE:
        return high
    index: Array = high.astype(np.uint16)
    index <<= np.uint16(len(truths) - _BITS_OF_A_BYTE)
    index |= _packed(truths[_BITS_OF_A_BYTE:])
    return index


def _packed(truths: Sequence[Array]) -> Array:
    packed: Array = truths[0].view(np.uint8)
    if len(truths) > 1:
        packed = packed.copy()
    for truth in truths[1:]:
        packed += packed
        packed += truth.view(np.uint8)
    return packed


def strength_values(node: Strength, truths: Mapping[Node, Array], n: int) -> Array:
    """The strength [n], added from left to right; truths: of each cause a bool array [n]."""
    total = np.zeros(n)
    for cause, on, off in node.terms:
        total += np.array((off, on)).take(truths[cause].view(np.uint8))
    return total


def exponential_values(none: Array, some: Sequence[Array]) -> Array:
    """exp(-s) of one strength [n], times 1 - exp(-s) of the others, without loss where that is small."""
    result: Array = np.exp(-none)
    for strength in some:
        result *= -np.expm1(-strength)
    return result


def causes_of(node: Exponentials) -> tuple[Node, ...]:
    """The Boolean nodes on which the probability hangs, in order of first use."""
    sums = (child for child in node.children if isinstance(child, Strength))
    return tuple(dict.fromkeys(c for s in sums for c, _, _ in s.terms if not isinstance(c, Constant)))


@lru_cache(maxsize=64)
def exponential_table(node: Exponentials) -> Array:
    """The probability [2^k] by the truth of its k causes, the first the highest bit."""
    causes = causes_of(node)
    patterns = np.arange(1 << len(causes))
    truths = {cause: (patterns >> (len(causes) - 1 - i) & 1).astype(bool) for i, cause in enumerate(causes)}
    truths |= {constant: np.full(len(patterns), constant is TRUE) for constant in (TRUE, FALSE)}
    none, *some = (strength_values(s, truths, len(patterns)) for s in node.children if isinstance(s, Strength))
    return exponential_values(none, some)


def is_looked_up(node: Exponentials) -> bool:
    """Whether the probability hangs on few Boolean nodes, by whose truth it is looked up."""
    return len(causes_of(node)) <= _LOOKED_UP


def product_values(node: Exponentials, children: Sequence[Array], n: int) -> Array:
    """The probability [n]; children: the truth of its causes where it is looked up, else its strengths."""
    if not is_looked_up(node):
        return exponential_values(children[0], children[1:])
    table = exponential_table(node)
    return table.take(index_of_truths(children)) if children else np.full(n, table[0])


def tail_values(most: int, chances: Sequence[Array], n: int) -> Array:
    """[most + 1, n]: the row of numbers of each row (`rulekit.graph.probability.exponentials.Tails`)."""
    tails = np.zeros((most + 1, n))
    tails[0] = 1.0
    for i, chance in enumerate(reversed(chances), start=1):
        top = min(i, most)
        moved = chance * tails[:top]
        tails[1 : top + 1] *= 1.0 - chance
        tails[1 : top + 1] += moved
    return tails
