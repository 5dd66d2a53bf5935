"""The state of one export: inputs, builder, and the value of every node that was emitted so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Family, Node, Not, Probability, Strength, topological
from rulekit.graph.probability.exponentials import Counted, Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit_exporters.onnx.builder import Number, OperatorBuilder, Truth
from rulekit_exporters.onnx.conditions import bit_of
from rulekit_exporters.onnx.inputs import InputPlan, ModelInputs
from rulekit_exporters.onnx.operators.exact_sums import SumBlocks


@dataclass
class Emitter:
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. rules: by type of node the function (emitter, node) that gives its value.
    """

    graph: RuleGraph
    plan: InputPlan
    builder: OperatorBuilder
    inputs: ModelInputs
    rules: Mapping[type[Node], Callable[[Any, Any], Truth | Number]]
    values: dict[Node, Any] = field(default_factory=dict)
    sums: SumBlocks = field(default_factory=SumBlocks)
    tails: dict[Node, str] = field(default_factory=dict)

    @cached_property
    def counted(self) -> Counted:
        """The counts of hidden bits, all that are over the same ones together."""
        return Counted((*self.graph.decision.roots, *self.graph.reported))

    def prepare(self) -> None:
        """Lay out the literal block over all leaves of the graph, and the products of its exact sums."""
        nodes = list(self.graph.nodes())
        found = {node: bit_of(node, self.graph.schema) for node in nodes}
        mentions = sum(found[child] is not None for node in nodes for child in node.children)
        self.inputs.prepare_block([bit for bit, _ in filter(None, found.values())], mentions)
        self.sums.prepare(self.graph.schema, nodes)

    def row(self, value: Truth | Number) -> str:
        """[1, N] bool of a truth value, double of a number."""
        return value if isinstance(value, str) else self.inputs.fill(value)

    def truth(self, node: Node) -> Truth:
        """The truth value of a Boolean node."""
        self._emit(node)
        truth: Truth = self.values[node]
        return truth

    def number(self, node: Node) -> Number:
        """The double of a Real or Probability node, or of a Boolean node taken as 0 and 1."""
        if node.family is Family.BOOLEAN:
            return self.builder.choose(self.truth(node), 1.0, 0.0)
        self._emit(node)
        number: Number = self.values[node]
        return number

    def _emit(self, root: Node) -> None:
        if root in self.values:
            return
        for node in topological([root], _read_by_itself):
            if node in self.values:
                continue
            rule = self.rules.get(type(node))
            if rule is None:
                raise Unsupported(
                    type(node).__name__, "onnx", "this node has no place under a decision or a probability"
                )
            self.values[node] = rule(self, node)


def _read_by_itself(node: Node) -> tuple[Node, ...]:
    """The nodes that are emitted before one; what a random formula reads is emitted by its circuit or sum."""
    return () if isinstance(node, Probability | Strength | Exponentials) else node.children


# Truth values as rows of one tensor -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stack:
    """rows: [height, N] bool; for each node its row, and whether it is true where the row is (else where it is not)."""

    rows: str
    height: int
    row: dict[Node, int]
    positive: dict[Node, bool]


def stack(emitter: Emitter, nodes: Iterable[Node]) -> Stack:
    """Nodes as rows: those of the literal block in one Gather, the others one by one."""
    distinct = list(dict.fromkeys(nodes))
    literals = {node: _literal(emitter, node) for node in distinct}
    inside = sorted({literal[0] for literal in literals.values() if literal is not None})
    row: dict[Node, int] = {}
    positive: dict[Node, bool] = {}
    parts = [emitter.inputs.block_rows(inside)] if inside else []
    height = len(inside)
    for node, literal in literals.items():
        if literal is not None:
            row[node], positive[node] = inside.index(literal[0]), literal[1]
            continue
        row[node], positive[node] = height, True
        parts.append(emitter.row(emitter.truth(node)))
        height += 1
    return Stack(emitter.builder.joined(parts), height, row, positive)


def _literal(emitter: Emitter, node: Node) -> tuple[int, bool] | None:
    """Place and sign of a leaf of the literal block, or of a negated one; None for another node."""
    positive = True
    while isinstance(node, Not):
        node, positive = node.child, not positive
    bit, sign = bit_of(node, emitter.graph.schema) or (None, True)
    place = None if bit is None else emitter.inputs.block_row(bit)
    return None if place is None else (place, sign is positive)


def chosen_rows(emitter: Emitter, wanted: Sequence[tuple[Node, float, float]]) -> str:
    """[len(wanted), N] double: for each node with two constants the first where it is true, the second where not."""
    builder = emitter.builder
    stacked = stack(emitter, (node for node, _, _ in wanted))
    rows = builder.picked(stacked.rows, [stacked.row[node] for node, _, _ in wanted], stacked.height)
    pairs = [(on, off) if stacked.positive[node] else (off, on) for node, on, off in wanted]
    high, low = (builder.constant([[pair[k]] for pair in pairs], np.float64) for k in (0, 1))
    return builder.operate("Where", rows, high, low)
