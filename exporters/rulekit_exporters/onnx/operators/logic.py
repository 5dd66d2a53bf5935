"""Boolean nodes: leaves, connectives, counts, linear threshold units.

Short connectives are chains of operators. Longer ones and counts are layers of products over their literals
(`rulekit_exporters.onnx.operators.sums`), where a product is not dearer than the chains: a chain costs 0.1 ns per row
and operand but 0.25 us per operand and call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rulekit.graph.leaves import column_of, truth_by_code
from rulekit.graph.nodes import LEAVES, Above, And, AtLeast, Constant, LinearThreshold, Node, Not, Odd, Or, is_logic
from rulekit.schema import MISSING_CODE
from rulekit_exporters.onnx.builder import Truth
from rulekit_exporters.onnx.conditions import Membership, StrictCondition, bit_of
from rulekit_exporters.onnx.operators.emitter import Emitter, stack
from rulekit_exporters.onnx.operators.indicators import LiteralCount, indicator_of
from rulekit_exporters.onnx.operators.numbers import sum_of
from rulekit_exporters.onnx.operators.sums import enough, indicator_rows, unit_rows

# Connectives of more leaves are counts, up to so many multiplications of a layer.
LONGEST_CHAIN = 6
MOST_WEIGHTS = 1 << 12


def leaf(emitter: Emitter, node: Node) -> Truth:
    """A condition on a number; a leaf over a category by its table, or the value that it has for all."""
    schema = emitter.graph.schema
    found = bit_of(node, schema)
    if found is None:
        return bool(truth_by_code(node, schema[column_of(node) or ""])[MISSING_CODE])
    return emitter.inputs.holds(*found)


def connective(emitter: Emitter, node: Node) -> Truth:
    """And or Or: a chain, or layers of counts."""
    inner = [child for child in node.children if is_logic(child)]
    leaves = len(node.children) + sum(len(child.children) - 1 for child in inner)
    if LONGEST_CHAIN < leaves <= MOST_WEIGHTS / (1 + len(inner)):
        return counted(emitter, node)
    return emitter.builder.chain(type(node).__name__, map(emitter.truth, node.children))


def counted(emitter: Emitter, node: Node) -> Truth:
    """A connective or a count as a count of its literals, or of its children where it has too many layers."""
    found = indicator_of(node, emitter.graph.schema)
    if isinstance(found, bool):
        return found
    indicator, positive = found
    if isinstance(indicator, StrictCondition | Membership):
        return emitter.inputs.holds(indicator, positive)
    if isinstance(indicator, LiteralCount):
        held = _holds(emitter, indicator)
    elif indicator is not node:
        held = emitter.truth(indicator)
    else:
        truths = [emitter.truth(child) for child in node.children]
        least = node.k if isinstance(node, AtLeast) else len(truths) if isinstance(node, And) else 1
        least -= sum(truth is True for truth in truths)
        parts = tuple(
            (child, True) for child, truth in zip(node.children, truths, strict=True) if isinstance(truth, str)
        )
        if not 0 < least <= len(parts):
            return least <= 0
        held = _holds(emitter, LiteralCount(parts, least, 1))
    return held if positive else emitter.builder.negate(held)


def _holds(emitter: Emitter, count: LiteralCount) -> Truth:
    rows, held = indicator_rows(emitter, [part for part, _ in count.parts])
    return enough(emitter.builder, rows, held, [count])


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
    found = builder.halved("Xor", builder.picked(stacked.rows, places, stacked.height), len(places))
    return builder.negate(found) if turned else found


def linear_threshold(emitter: Emitter, node: LinearThreshold) -> Truth:
    block = emitter.sums.block_of(node)
    if block is not None:
        return unit_rows(emitter, block, [node])
    total = sum_of(emitter, node.terms, node.bias)
    # a sum that overflowed to NaN is not >= 0, so the comparison is not built from its contrary
    if not isinstance(total, str):
        return total >= 0.0
    return emitter.builder.operate("GreaterOrEqual", total, emitter.builder.double(0.0))


LOGIC: Mapping[type[Node], Callable[[Emitter, Any], Truth]] = {
    **dict.fromkeys(LEAVES, leaf),
    Constant: lambda emitter, node: bool(node.value),
    Not: lambda emitter, node: emitter.builder.negate(emitter.truth(node.child)),
    And: connective,
    Or: connective,
    AtLeast: counted,
    Odd: odd,
    LinearThreshold: linear_threshold,
    Above: lambda emitter, node: emitter.builder.above(emitter.number(node.score), node.threshold),
}
