"""The state of one export: inputs, builder, and the value of every node that was emitted so far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Family, LinearThreshold, Node, Not, Probability, Strength
from rulekit.graph.probability.counting import Counted
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Builder, Number, Truth
from rulekit_exporters.onnx.conditions import bit_of
from rulekit_exporters.onnx.inputs import InputPlan, Inputs
from rulekit_exporters.onnx.operators.logic import LOGIC, HalfPlanes
from rulekit_exporters.onnx.operators.numbers import NUMBERS
from rulekit_exporters.onnx.operators.sum_blocks import SumBlocks, unit_rows
from rulekit_exporters.onnx.options import Optimize


@dataclass
class Emitter:
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. `optimize`: "latency" asks for the fewest operators; `tables`: parts of circuits are looked up;
    `trees`: the sum that decides is one of trees.
    """

    graph: RuleGraph
    plan: InputPlan
    builder: Builder
    inputs: Inputs
    optimize: Optimize = "throughput"
    tables: bool = False
    trees: bool = False
    truths: dict[Node, Truth] = field(default_factory=dict)
    numbers: dict[Node, Number] = field(default_factory=dict)
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
        rows = self.builder.joined(parts)
        return self.builder.picked(rows, [distinct.index(place) for place in places], len(distinct))

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
            kind = type(node)
            if node in self.truths or node in self.numbers:
                continue
            if kind in LOGIC and node.family is Family.BOOLEAN:
                self.truths[node] = LOGIC[kind](self, node)
            elif kind in NUMBERS:
                self.numbers[node] = NUMBERS[kind](self, node)
            else:
                raise Unsupported(kind.__name__, "onnx", "this node has no place under a decision or a probability")


def _read_by_itself(node: Node) -> tuple[Node, ...]:
    """The nodes that are emitted before one; what a random formula reads is emitted by its circuit or sum."""
    if isinstance(node, Probability | Strength | Exponentials):
        return ()
    planes = HalfPlanes.of(node)  # the comparisons themselves are not asked for
    return node.children if planes is None else (planes.one, planes.other)
