"""The state of one export: inputs, builder, and the value of every node that was emitted so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from rulekit.errors import Unsupported
from rulekit.graph.circuit import Bit, Circuit, Complement, Fixed, Given, Mix, Product
from rulekit.graph.nodes import Family, Logistic, Node, Probability
from rulekit.graph.probability import build_circuit
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit_exporters.onnx.builder import Builder, Number, Truth
from rulekit_exporters.onnx.conditions import bit_of
from rulekit_exporters.onnx.inputs import InputPlan, Inputs
from rulekit_exporters.onnx.logic import LOGIC
from rulekit_exporters.onnx.reals import REALS


@dataclass(slots=True)
class Emitter:
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. `fires` holds [1, N] float tensors of 0 and 1 of formulas that were emitted in that form.
    """

    graph: RuleGraph
    plan: InputPlan
    builder: Builder
    inputs: Inputs
    truths: dict[Node, Truth] = field(default_factory=dict)
    numbers: dict[Node, Number] = field(default_factory=dict)
    fires: dict[Node, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Lay out the literal block over all leaves of the graph."""
        nodes = list(self.graph.nodes())
        found = {node: bit_of(node, self.graph.schema) for node in nodes}
        mentions = sum(found[child] is not None for node in nodes for child in node.children)
        self.inputs.prepare_block([bit for bit, _ in filter(None, found.values())], mentions)

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
        if isinstance(root, Probability):
            self.numbers[root] = self._circuit(build_circuit(root.formula))
            return
        if isinstance(root, Logistic):
            self.numbers[root] = self._logistic(self.number(root.linear))
            return
        for node in topological([root]):
            name = type(node).__name__
            if node in self.truths or node in self.numbers:
                continue
            if name in LOGIC and node.family is Family.BOOLEAN:
                self.truths[node] = LOGIC[name](self, node)
            elif name in REALS:
                self.numbers[node] = REALS[name](self, node)
            else:
                raise Unsupported(name, "onnx", "this node has no place under a decision or a probability")

    def _circuit(self, circuit: Circuit) -> Number:
        """The steps of a circuit, every rounding its own operation."""
        builder = self.builder
        values: list[Number] = []
        for step in circuit.steps:
            match step:
                case Bit(cause, on, off):
                    values.append(builder.choose(self.truth(cause), on, off))
                case Given(node):
                    values.append(builder.choose(self.truth(node), 1.0, 0.0))
                case Fixed(value):
                    values.append(value)
                case Complement(a):
                    values.append(builder.subtract(1.0, values[a]))
                case Product(a, b):
                    values.append(builder.multiply(values[a], values[b]))
                case Mix(p, high, low):
                    first = builder.multiply(values[p], values[high])
                    second = builder.multiply(builder.subtract(1.0, values[p]), values[low])
                    values.append(builder.add(first, second))
        return values[-1]

    def _logistic(self, z: Number) -> Number:
        """1 / (1 + exp(-z)): reported only, since Exp is not the same bits everywhere."""
        builder = self.builder
        row = z if isinstance(z, str) else self.inputs.fill(z)
        growth = builder.operate("Exp", builder.operate("Neg", row))
        return builder.operate("Div", builder.double(1.0), builder.operate("Add", growth, builder.double(1.0)))
