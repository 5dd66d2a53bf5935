"""The steps of a program beyond the vocabulary of models: comparisons of unrounded values, arithmetic, choices.

These nodes stand in a `Program`, and in the `Reading` of an artifact, beside those of `rulekit.graph.nodes`, and never
in a model: they have no place in `Vocabulary`, so no file and no rule text knows them. Like all nodes they are frozen
and interned.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from rulekit.errors import GraphError
from rulekit.graph.node import (
    BOOLEAN,
    REAL,
    Child,
    Children,
    CountsField,
    Double,
    Extended,
    Extendeds,
    OneOf,
    TextField,
    Truth,
    of,
)
from rulekit.graph.node import CountField as Whole
from rulekit.graph.nodes import LEAVES, Node

Operator = Literal["+", "-", "*", "/"]
MOST_VALUES = 1 << 20


class RawCompare(Node, family=BOOLEAN):
    """`x <= value` or `x > value` of a number as the artifact is given it: a double, not rounded to the column's width.

    `value` is a double and may be infinite; `missing` is the truth where x is missing.
    """

    feature: str = of(TextField("a column"))
    op: Literal["<=", ">"] = of(OneOf("a comparison", words=("<=", ">")))
    value: float = of(Extended("a threshold"))
    missing: bool = of(Truth("missing"), default=False)


class RawNumber(Node, family=REAL):
    """A number of a row as it is given, not rounded; any number or none where it is missing."""

    feature: str = of(TextField("a column"))


class Number(Node, family=REAL):
    """A double, infinity included."""

    value: float = of(Double())


class Spelled(Node, family=REAL):
    """A value that the target has written already, such as the label of a class."""

    text: str = of(TextField("a value"))


ZERO, ONE, LOWEST = Number(0.0), Number(1.0), Number(-math.inf)


class Choice(Node, family=REAL):
    """`then` where the Boolean condition holds, else `otherwise` (Real nodes)."""

    condition: Node = of(Child())
    then: Node = of(Child())
    otherwise: Node = of(Child())


class Arithmetic(Node, family=REAL):
    """One operation of IEEE 754 on two doubles; a Boolean child counts as 0 and 1."""

    operator: Operator = of(OneOf("an operation", words=("+", "-", "*", "/")))
    left: Node = of(Child())
    right: Node = of(Child())


class Exponential(Node, family=REAL):
    """e to the power of the child (a Real node)."""

    child: Node = of(Child())


class Sum(Node, family=REAL):
    """The children (Real nodes) added in double from left to right, from the first one on."""

    children: tuple[Node, ...] = of(Children())

    def _check(self) -> None:
        if not self.children:
            raise GraphError("a sum begins with a number")


class Count(Node, family=REAL):
    """How many of the Boolean children hold."""

    children: tuple[Node, ...] = of(Children())


class Largest(Node, family=REAL):
    """results[i] of the first of the largest children (Real nodes) above their thresholds; `otherwise` without one."""

    children: tuple[Node, ...] = of(Children())
    thresholds: tuple[float, ...] = of(Extendeds())
    results: tuple[int, ...] = of(CountsField())
    otherwise: int = of(Whole("a result"))

    def _check(self) -> None:
        if not len(self.children) == len(self.thresholds) == len(self.results):
            raise GraphError(f"{len(self.children)} numbers and {len(self.results)} results")


class Greater(Node, family=BOOLEAN):
    """left > right, strictly, of two doubles; false where one is no number."""

    left: Node = of(Child())
    right: Node = of(Child())


class Lookup(Node, family=REAL):
    """values[index]; the index is a Real node whose values are integers from 0 to the number of values less one."""

    values: tuple[float, ...] = of(Extendeds())
    index: Node = of(Child())

    def _check(self) -> None:
        if len(self.values) > MOST_VALUES:
            raise GraphError(f"a table of {len(self.values)} values, more than {MOST_VALUES}")


class Opaque(Node, family=REAL):
    """Some number that the children alone determine: which one is not known."""

    name: str = of(TextField("a number"))
    children: tuple[Node, ...] = of(Children())


@dataclass(frozen=True, slots=True)
class Labels:
    """A decision told class by class: formulas[k] is a Boolean node that holds exactly where the label is class k."""

    formulas: tuple[Node, ...]

    has_default = False

    @property
    def roots(self) -> tuple[Node, ...]:
        return self.formulas


def cases(value: Node) -> tuple[list[tuple[Node, Node]], Node]:
    """A chain of choices as conditions with their results, the first that holds counts, and what else."""
    found = []
    while isinstance(value, Choice):
        condition, then, value = value.children
        found.append((condition, then))
    return found, value


def chain(pairs: Iterable[tuple[Node, Node]], otherwise: Node) -> Node:
    """The result of the first condition that holds."""
    for condition, result in reversed(list(pairs)):
        otherwise = Choice(condition, result, otherwise)
    return otherwise


def is_weight(node: Node) -> bool:
    """Whether a term is one constant or another."""
    return isinstance(node, Choice) and all(isinstance(child, Number) for child in node.children[1:])


def is_scaled(node: Node) -> bool:
    """Whether a term is a constant times a number."""
    return isinstance(node, Arithmetic) and node.operator == "*" and isinstance(node.children[0], Number)


def index_of(result: Node) -> int:
    """The class of a result of `cases`."""
    assert isinstance(result, Number)
    return int(result.value)


ARTIFACT_LEAVES = (*LEAVES, RawCompare)
