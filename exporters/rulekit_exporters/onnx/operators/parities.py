"""Whether an odd number of several parts holds: rows that are halved again and again, so that k parts take log k steps.

One half of the rows is combined with the other element by element: truth values by Xor, and the factors 1 - 2 p of a
probability by Mul, in the order in which `rulekit.graph.probability.compilation` multiplies them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rulekit.graph.nodes import Hidden, Node, Odd
from rulekit_exporters.onnx.builder import Builder, Number, Truth
from rulekit_exporters.onnx.operators.stacking import chosen_rows, stack

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter


def odd(emitter: Emitter, node: Odd) -> Truth:
    """Whether an odd number of Boolean nodes is true; what is constant, denied or there twice takes no operator."""
    turned = sum(emitter.truth(child) is True for child in node.children) % 2 == 1
    counted = [child for child in node.children if isinstance(emitter.truth(child), str)]
    if not counted:
        return turned
    stacked = stack(emitter, counted)
    turned ^= sum(not stacked.positive[child] for child in counted) % 2 == 1
    times = Counter(stacked.row[child] for child in counted)
    places = [place for place in times if times[place] % 2]
    if not places:
        return turned
    builder = emitter.builder
    found = _halved(builder, "Xor", builder.picked(stacked.rows, places, stacked.height), len(places))
    return builder.negate(found) if turned else found


def odd_probability(emitter: Emitter, parts: Sequence[Node]) -> Number:
    """[1, N] double: the probability that an odd number of different hidden bits and Boolean nodes fires."""
    builder = emitter.builder
    product = _halved(builder, "Mul", chosen_rows(emitter, [_factor(part) for part in parts]), len(parts))
    return builder.multiply(0.5, builder.subtract(1.0, product))


def _factor(part: Node) -> tuple[Node, float, float]:
    """A Boolean node, and 1 - 2 p of the part where it holds and where it does not."""
    if isinstance(part, Hidden):
        return part.cause, 1.0 - 2.0 * part.probability_on, 1.0 - 2.0 * part.probability_off
    return part, -1.0, 1.0


def _halved(builder: Builder, operator: str, rows: str, height: int) -> str:
    """[1, N]: all rows [height, N] combined; what is left over of an odd number is the last row of the next step."""
    while height > 1:
        half = height // 2
        one, other = (builder.picked(rows, range(start, start + half), height) for start in (0, half))
        last = [builder.picked(rows, [height - 1], height)] if height % 2 else []
        rows, height = builder.joined([builder.operate(operator, one, other), *last]), half + len(last)
    return rows
