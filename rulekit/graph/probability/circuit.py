"""The probability of a random formula as a straight-line double circuit in one fixed order.

Every evaluator and exporter runs the same steps in the same order on doubles, one operation at a time (no fused
multiply-add, no reductions), so IEEE 754 gives the same bits everywhere.

Step i of a circuit yields value i; operands are indices of earlier steps:

    Bit(cause, on, off)      on where the Boolean node `cause` holds, else off (two constants: p, of a parity 1 - 2 p)
    Given(node)              1.0 where the Boolean node holds, else 0.0
    Fixed(value)             a constant
    Complement(a)            1.0 - v[a]
    Product(a, b)            v[a] * v[b]
    Mix(p, high, low)        v[p] * v[high] + (1.0 - v[p]) * v[low]     (four roundings: -, *, *, +)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add, mul
from typing import Any, Generic, TypeVar

from rulekit.graph.nodes import Node

V = TypeVar("V")


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


def operands(step: Any) -> tuple[int, ...]:
    """The earlier steps that a step reads."""
    match step:
        case Complement(a):
            return (a,)
        case Product(a, b):
            return (a, b)
        case Mix(p, high, low):
            return (p, high, low)
        case _:
            return ()


def needed_by(steps: Sequence[CircuitStep], last: int) -> list[int]:
    """The steps that a step needs, itself too, in order."""
    found, stack = {last}, [last]
    while stack:
        new = set(operands(steps[stack.pop()])) - found
        found |= new
        stack.extend(new)
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Circuit:
    """The steps in order; the last one is the probability. Boolean inputs are `causes`."""

    steps: tuple[CircuitStep, ...]

    @property
    def causes(self) -> tuple[Node, ...]:
        """The Boolean nodes that the circuit reads, in order of first use."""
        found = [s.cause if isinstance(s, Bit) else s.node for s in self.steps if isinstance(s, Bit | Given)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Algebra(Generic[V]):
    """What the steps of a circuit are carried out in; unless given, the operations are those of doubles and arrays.

    choose(cause, on, off): one constant where a Boolean node holds, else the other. complement(a): 1.0 - a.
    """

    choose: Callable[[Node, float, float], V]
    constant: Callable[[float], V]
    complement: Callable[[Any], Any] = lambda a: 1.0 - a
    times: Callable[[Any, Any], Any] = mul
    plus: Callable[[Any, Any], Any] = add

    def step(self, step: CircuitStep, values: Mapping[int, V] | Sequence[V]) -> V:
        """The value of a step, given those of its operands."""
        value: V
        match step:
            case Bit(cause, on, off):
                return self.choose(cause, on, off)
            case Given(node):
                return self.choose(node, 1.0, 0.0)
            case Fixed(constant):
                return self.constant(constant)
            case Complement(a):
                value = self.complement(values[a])
            case Product(a, b):
                value = self.times(values[a], values[b])
            case Mix(p, high, low):
                first = self.times(values[p], values[high])
                value = self.plus(first, self.times(self.complement(values[p]), values[low]))
        return value


def fold_circuit(steps: Sequence[CircuitStep], algebra: Algebra[V]) -> V:
    """The value of the last step; a value that no later step reads is not kept."""
    last_use = {operand: i for i, step in enumerate(steps) for operand in operands(step)}
    values: dict[int, V] = {}
    for i, step in enumerate(steps):
        values[i] = algebra.step(step, values)
        for operand in operands(step):
            if last_use[operand] == i:
                values.pop(operand, None)
    return values[len(steps) - 1]
