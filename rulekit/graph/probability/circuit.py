"""The probability of a random formula as a straight-line double circuit in one fixed order.

Every evaluator and exporter runs the same steps in the same order on doubles, one operation at a time (no fused
multiply-add, no reductions), so IEEE 754 gives the same bits everywhere.

Step i of a circuit yields value i; operands are indices of earlier steps:

    Bit(cause, on, off)      on where the Boolean node `cause` holds, else off (two constants)
    Given(node)              1.0 where the Boolean node holds, else 0.0
    Fixed(value)             a constant
    Complement(a)            1.0 - v[a]
    Product(a, b)            v[a] * v[b]
    Mix(p, high, low)        v[p] * v[high] + (1.0 - v[p]) * v[low]     (four roundings: -, *, *, +)
"""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.graph.nodes import Node


@dataclass(frozen=True, slots=True)
class Bit:
    cause: Node
    on: float
    off: float


@dataclass(frozen=True, slots=True)
class Given:
    node: Node


@dataclass(frozen=True, slots=True)
class Fixed:
    value: float


@dataclass(frozen=True, slots=True)
class Complement:
    a: int


@dataclass(frozen=True, slots=True)
class Product:
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Mix:
    p: int
    high: int
    low: int


CircuitStep = Bit | Given | Fixed | Complement | Product | Mix


@dataclass(frozen=True, slots=True)
class Circuit:
    """The steps in order; the last one is the probability. Boolean inputs are `causes`."""

    steps: tuple[CircuitStep, ...]

    @property
    def causes(self) -> tuple[Node, ...]:
        """The Boolean nodes that the circuit reads, in order of first use."""
        found = [s.cause if isinstance(s, Bit) else s.node for s in self.steps if isinstance(s, Bit | Given)]
        return tuple(dict.fromkeys(found))
