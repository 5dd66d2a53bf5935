"""The state of one export: inputs, builder, and the value of every node that was emitted so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Family, LinearThreshold, Logistic, Node, Not, Probability, Strength
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Builder, Number, Truth
from rulekit_exporters.onnx.conditions import bit_of
from rulekit_exporters.onnx.inputs import InputPlan, Inputs
from rulekit_exporters.onnx.operators.circuits import probability
from rulekit_exporters.onnx.operators.logic import LOGIC
from rulekit_exporters.onnx.operators.noisy_or import strengths
from rulekit_exporters.onnx.operators.reals import REALS
from rulekit_exporters.onnx.operators.sum_blocks import SumBlocks, unit_rows


@dataclass(slots=True)
class Emitter:
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. `tables`: parts of circuits are looked up.
    """

    graph: RuleGraph
    plan: InputPlan
    builder: Builder
    inputs: Inputs
    tables: bool = False
    truths: dict[Node, Truth] = field(default_factory=dict)
    numbers: dict[Node, Number] = field(default_factory=dict)
    sums: SumBlocks = field(default_factory=SumBlocks)

    def prepare(self) -> None:
        """Lay out the literal block over all leaves of the graph, and the products of its exact sums."""
        nodes = list(self.graph.nodes())
        found = {node: bit_of(node, self.graph.schema) for node in nodes}
        mentions = sum(found[child] is not None for node in nodes for child in node.children)
        self.inputs.prepare_block([bit for bit, _ in filter(None, found.values())], mentions)
        self.sums.prepare(self, nodes)

    def row(self, value: Truth | Number) -> str:
        """[1, N] bool of a truth value, double of a number."""
        return value if isinstance(value, str) else self.inputs.fill(value)

    def literal(self, node: Node) -> tuple[int, bool] | None:
        """Place and sign of a leaf of the literal block, or of a linear threshold unit behind it, or a negated one.

        None for another node.
        """
        positive = True
        while isinstance(node, Not):
            node, positive = node.child, not positive
        if isinstance(node, LinearThreshold):
            unit = self.sums.unit_place(node)
            return None if unit is None else (self.inputs.block_size + unit, positive)
        bit, sign = bit_of(node, self.graph.schema) or (None, True)
        place = None if bit is None else self.inputs.block_row(bit)
        return None if place is None else (place, sign is positive)

    def bit_rows(self, places: Sequence[int]) -> str:
        """[len(places), N] bool: literals and units by their places."""
        first = self.inputs.block_size
        if all(place < first for place in places):
            return self.inputs.block_rows(places)
        distinct = sorted(set(places))
        literals, units = [p for p in distinct if p < first], [p - first for p in distinct if p >= first]
        parts = [self.inputs.block_rows(literals)] if literals else []
        parts += unit_rows(self, units)
        rows = parts[0] if len(parts) == 1 else self.builder.operate("Concat", *parts, axis=0)
        if list(places) == distinct:
            return rows
        order = self.builder.constant([distinct.index(place) for place in places], np.int64)
        return self.builder.operate("Gather", rows, order, axis=0)

    def truth(self, node: Node) -> Truth:
        """The truth value of a Boolean node."""
        self._emit(node)
        return self.truths[node]

    def number(self, node: Node) -> Number:
        """The double of a Real or Probability node, or of a Boolean node taken as 0 and 1."""
        if node.family is Family.BOOLEAN:
            return self.builder.choose(self.truth(node), 1.0, 0.0)
        self._emit(node)
        return self.numbers[node]

    def _emit(self, root: Node) -> None:
        if root in self.truths or root in self.numbers:
            return
        for node in topological([root], _read_by_itself):
            name = type(node).__name__
            if node in self.truths or node in self.numbers:
                continue
            if name in LOGIC and node.family is Family.BOOLEAN:
                self.truths[node] = LOGIC[name](self, node)
            elif name in REALS:
                self.numbers[node] = REALS[name](self, node)
            elif isinstance(node, Strength):
                self.numbers[node] = strengths(self, node)
            elif isinstance(node, Probability):
                self.numbers[node] = probability(self, node.formula)
            elif isinstance(node, Logistic):
                self.numbers[node] = self._logistic(self.number(node.linear))
            else:
                raise Unsupported(name, "onnx", "this node has no place under a decision or a probability")

    def _logistic(self, z: Number) -> Number:
        """1 / (1 + exp(-z)): reported only, since Exp is not the same bits everywhere."""
        builder = self.builder
        growth = builder.operate("Exp", builder.operate("Neg", self.row(z)))
        return builder.operate("Div", builder.double(1.0), builder.operate("Add", growth, builder.double(1.0)))


def _read_by_itself(node: Node) -> tuple[Node, ...]:
    """The nodes that are emitted before one; what a random formula reads is emitted by its circuit or sum."""
    return () if isinstance(node, Probability | Strength) else node.children
