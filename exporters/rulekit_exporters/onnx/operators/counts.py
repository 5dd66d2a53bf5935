"""How many of several hidden bits fire: all counts as the rows of one tensor, in a few operators for each bit.

The operations are those of the circuit in its order (`rulekit.graph.probability.counting`), element by element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Hidden, Node, Probability
from rulekit.graph.probability.counting import Tails
from rulekit_exporters.onnx.builder import Number
from rulekit_exporters.onnx.operators.stacking import choices

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

MOST_COUNTED = 200  # bits; the numbers of all steps grow with their square


def counted(emitter: Emitter, formula: Node) -> Number:
    """[1, N] double: the probability that at least k of hidden bits and Boolean nodes fire.

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
