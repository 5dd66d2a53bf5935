"""Indicators as the rows of one tensor of 0 and 1, for the product of a sum.

Conjunctions of bits are gathered side by side and the least of each is taken: three operators whatever their number and
length, and no multiplication with zeros. Many are gathered literal by literal and joined by And: for 20 of three
literals 14 ns a row instead of 37, and three operators more. Counts, and what stands on other counts, are one product
for each layer, of small integers and so exact in float32.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.graph.node import Node
from rulekit_exporters.onnx.conditions import Condition, Membership
from rulekit_exporters.onnx.operators.dnf import slots
from rulekit_exporters.onnx.operators.indicators import Count, Indicator, layer_of

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter

# Short conjunctions are filled up to the length of the longest one, up to so many times their own literals; beyond,
# they are gathered by length.
MOST_FILLED = 2
# More conjunctions than this are joined literal by literal, unless it is single rows that must be fast.
MOST_REDUCED = 8


def indicator_rows(emitter: Emitter, wanted: Iterable[Indicator], width: Any) -> tuple[str, list[Indicator]]:
    """[n, N] of 0 and 1 in a width, and what each row stands for: all wanted indicators, perhaps more."""
    builder, wanted = emitter.builder, list(dict.fromkeys(wanted))
    counts = _below([indicator for indicator in wanted if isinstance(indicator, Count)])
    bits = dict.fromkeys(indicator for indicator in wanted if not isinstance(indicator, Count))
    bits.update((part, None) for count in counts for part, _ in count.parts if not isinstance(part, Count))
    block, order = _bits(emitter, list(bits))
    if not counts:
        return builder.cast(block, width), order
    used = [place for place, indicator in enumerate(order) if indicator in wanted]
    parts = [builder.cast(builder.picked(block, used, len(order)), np.float32)] if used else []
    rows = [order[place] for place in used]
    plain = [count for count in counts if count.layer == 1 and count.is_conjunction]
    for group in _by_length(plain):
        parts.append(_conjunctions(emitter, block, order, group))
        rows += group
    counted = [count for count in counts if count not in plain]
    if counted:
        below = builder.joined([builder.cast(block, np.float32), *parts[bool(used) :]])
        held = [*order, *rows[len(used) :]]
        for layer in sorted({count.layer for count in counted}):
            group = [count for count in counted if count.layer == layer]
            parts.append(_counts(emitter, below, held, group))
            below, held = builder.joined([below, parts[-1]]), [*held, *group]
            rows += group
    joined = builder.joined(parts)
    return joined if width is np.float32 else builder.cast(joined, width), rows


def _below(counts: list[Count]) -> list[Count]:
    """Counts and all counts that they stand on, lower layers first."""
    found = dict.fromkeys(counts)
    for layer in range(max(map(layer_of, counts), default=0), 1, -1):
        for count in [count for count in found if count.layer == layer]:
            found.update((part, None) for part, _ in count.parts if isinstance(part, Count))
    return sorted(found, key=layer_of)


def _bits(emitter: Emitter, bits: list[Indicator]) -> tuple[str, list[Indicator]]:
    """[L, N] bool: literals as a block, and the truth values of other nodes."""
    literals = [bit for bit in bits if isinstance(bit, Condition | Membership)]
    others = [node for node in bits if isinstance(node, Node)]
    block, order = emitter.inputs.literals(literals) if literals else ("", [])
    rows = [emitter.row(emitter.truth(node)) for node in others]
    return emitter.builder.joined([block, *rows] if block else rows), [*order, *others]


def _by_length(conjunctions: list[Count]) -> list[list[Count]]:
    """Conjunctions that are gathered at once."""
    lengths = [len(count.parts) for count in conjunctions]
    if not lengths or len(lengths) * max(lengths) <= MOST_FILLED * sum(lengths):
        return [conjunctions] if conjunctions else []
    groups: dict[int, list[Count]] = {}
    for count in conjunctions:
        groups.setdefault((len(count.parts) - 1).bit_length(), []).append(count)
    return [groups[size] for size in sorted(groups)]


def _conjunctions(emitter: Emitter, block: str, order: list[Indicator], group: list[Count]) -> str:
    """[K, N] float of 0 and 1: all literals of each hold; short ones repeat their last literal."""
    builder, place = emitter.builder, {indicator: i for i, indicator in enumerate(order)}
    literals = [[(place[part], positive) for part, positive in count.parts] for count in group]
    if len(group) > MOST_REDUCED and emitter.optimize == "throughput":
        held = slots(builder, lambda places: builder.picked(block, places, len(order)), literals)
        return builder.cast(held, np.float32)
    longest = max(map(len, literals))
    filled = [[*parts, *parts[-1:] * (longest - len(parts))] for parts in literals]
    places = builder.constant([[row for row, _ in parts] for parts in filled], np.int64)
    held = builder.operate("Gather", block, places, axis=0)
    negative = np.array([[[not positive] for _, positive in parts] for parts in filled])
    if negative.any():
        held = builder.operate("Xor", held, builder.constant(negative))
    return builder.least(builder.cast(held, np.float32), axis=1)


def _counts(emitter: Emitter, below: str, held: list[Indicator], group: list[Count]) -> str:
    """[K, N] float of 0 and 1: whether enough of the parts of each hold."""
    builder, place = emitter.builder, {indicator: i for i, indicator in enumerate(held)}
    weights = np.zeros((len(group), len(held)), dtype=np.float32)
    bounds = np.zeros((len(group), 1), dtype=np.float32)
    for k, count in enumerate(group):
        bounds[k] = count.least - 0.5 - sum(not positive for _, positive in count.parts)
        for part, positive in count.parts:
            weights[k, place[part]] += 1.0 if positive else -1.0
    number = builder.operate("MatMul", builder.constant(weights), below)
    return builder.cast(builder.operate("Greater", number, builder.constant(bounds)), np.float32)
