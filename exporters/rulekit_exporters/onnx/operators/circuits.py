"""The probability of a random formula: its circuit step by step in doubles, with parts of it looked up in tables.

A part of the circuit that reads few Boolean nodes has few values. They are computed here, by the circuit's own steps in
their own order (`rulekit.graph.evaluation.circuit_values`), so a value that is looked up has the same bits as one
computed for the row. All lookups of a formula are one product, which gives the places in one table, and one Gather.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.evaluation.circuit_values import Lookup, prepare
from rulekit.graph.nodes import Hidden, Node, Probability
from rulekit.graph.probability.circuit import Algebra
from rulekit.graph.probability.compilation import build_circuit, is_count, is_parity
from rulekit.graph.probability.counting import Tails
from rulekit.tables.table import Array
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.parities import odd_probability
from rulekit_exporters.onnx.operators.stacking import choices, stack

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# The most Boolean nodes of a part; a table of 2^8 doubles has 2 kB. The last size makes no tables worth the name.
SIZES = (8, 4, 1)


def probability(emitter: Emitter, formula: Node) -> Number:
    """[1, N] double, or a constant: the circuit of a formula, every rounding its own operator."""
    if is_count(formula):
        return counted(emitter, formula)
    if is_parity(formula):
        return odd_probability(emitter, formula.children)
    values: dict[int, Number] = {}
    if emitter.tables:
        prepared = prepare(formula, SIZES)
        steps = list(zip(prepared.numbers, prepared.steps, strict=True))
        values.update(_lookups(emitter, prepared.causes, [(i, s) for i, s in steps if isinstance(s, Lookup)]))
    else:
        steps = list(enumerate(build_circuit(formula).steps))
    builder = emitter.builder
    algebra: Algebra[Number] = Algebra(
        lambda cause, on, off: builder.choose(emitter.truth(cause), on, off),
        lambda value: value,
        lambda a: builder.subtract(1.0, a),
        builder.multiply,
        builder.add,
    )
    last = 0
    for last, step in steps:
        if not isinstance(step, Lookup):
            values[last] = algebra.step(step, values)
    return values[last]


def looked_up(emitter: Emitter, causes: tuple[Node, ...], values: Array) -> Number:
    """[1, N] double, or a constant: values [2^k] by the truth of k causes, the first the highest bit."""
    return _lookups(emitter, causes, [(0, Lookup(tuple(range(len(causes))), values))])[0]


def _lookups(emitter: Emitter, causes: tuple[Node, ...], steps: list[tuple[int, Lookup]]) -> dict[int, Number]:
    """The parts of a circuit that are tables."""
    builder = emitter.builder
    found: dict[int, Number] = {}
    large: list[tuple[int, Lookup]] = []
    single: list[tuple[int, Lookup]] = []
    for number, step in steps:
        if not step.causes:
            found[number] = float(step.values[0])
        elif len(step.causes) == 1:
            single.append((number, step))
        else:
            large.append((number, step))
    wanted = [(causes[step.causes[0]], float(step.values[1]), float(step.values[0])) for _, step in single]
    found.update(zip((number for number, _ in single), choices(emitter, wanted), strict=True))
    if large:
        rows = _rows_of_tables(emitter, causes, [step for _, step in large])
        for t, (number, _) in enumerate(large):
            place = builder.constant([t], np.int64)
            found[number] = builder.operate("Gather", rows, place, axis=0) if len(large) > 1 else rows
    return found


def _rows_of_tables(emitter: Emitter, causes: tuple[Node, ...], tables: list[Lookup]) -> str:
    """[tables, N] double: what each table holds for a row; places are whole numbers below 2^24, exact in float32."""
    builder = emitter.builder
    stacked = stack(emitter, (causes[cause] for table in tables for cause in table.causes))
    weights = np.zeros((len(tables), stacked.height), dtype=np.float32)
    starts = np.zeros((len(tables), 1), dtype=np.float32)
    entries: list[Array] = []
    for t, table in enumerate(tables):
        flipped = 0
        for power, cause in enumerate(reversed(table.causes)):
            weights[t, stacked.row[causes[cause]]] += 1 << power
            flipped |= (not stacked.positive[causes[cause]]) << power
        starts[t] = sum(map(len, entries))
        entries.append(table.values[np.arange(len(table.values)) ^ flipped])
    bits = builder.cast(stacked.rows, np.float32)
    places = builder.operate("Gemm", builder.constant(weights), bits, builder.constant(starts))
    return builder.operate("Gather", builder.constant(np.concatenate(entries)), builder.cast(places, np.int64), axis=0)


MOST_COUNTED = 200  # bits; the numbers of all steps grow with their square


def counted(emitter: Emitter, formula: Node) -> Number:
    """[1, N] double: the probability that at least k of hidden bits and Boolean nodes fire.

    The operations are those of the circuit in its order (`rulekit.graph.probability.counting`), element by element.
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
    chances = choices(emitter, [_chance(part.formula) for part in node.parts if isinstance(part, Probability)])
    rows, size = one, 1
    for chance in map(emitter.row, reversed(chances)):
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
