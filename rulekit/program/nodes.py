"""The steps of a program beyond the vocabulary of models: comparisons of unrounded values, arithmetic, choices.

These nodes stand in a `Program`, and in the `Reading` of an artifact, beside those of `rulekit.graph.nodes`, and never
in a model: they have no place in `Vocabulary`, so no file and no rule text knows them. Like all nodes they are frozen
and interned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rulekit.errors import GraphError
from rulekit.graph.nodes import LEAVES, Family, Node

Operator = Literal["+", "-", "*", "/"]
MOST_VALUES = 1 << 20


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class RawCompare(Node):
    """`x <= value` or `x > value` of a number as the artifact is given it: a double, not rounded to the column's width.

    `value` is a double and may be infinite; `missing` is the truth where x is missing.
    """

    feature: str
    op: Literal["<=", ">"]
    value: float
    missing: bool

    def __init__(self, feature: str, op: str, value: float, missing: bool = False) -> None:
        if op not in ("<=", ">") or math.isnan(value):
            raise GraphError(f"a comparison is <= or > with a number, not {op!r} {value!r}")
        self._set(feature=str(feature), op=op, value=float(value) + 0.0, missing=bool(missing))
        self._seal(Family.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Number(Node):
    """A double, infinity included."""

    value: float

    def __init__(self, value: float) -> None:
        self._set(value=float(value))
        self._seal(Family.REAL)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Choice(Node):
    """`then` where the Boolean condition holds, else `otherwise` (Real nodes)."""

    def __init__(self, condition: Node, then: Node, otherwise: Node) -> None:
        self._seal(Family.REAL, (condition, then, otherwise))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Arithmetic(Node):
    """One operation of IEEE 754 on two doubles; a Boolean child counts as 0 and 1."""

    operator: Operator

    def __init__(self, operator: str, left: Node, right: Node) -> None:
        if operator not in ("+", "-", "*", "/"):
            raise GraphError(f"an operation is + - * or /, not {operator!r}")
        self._set(operator=operator)
        self._seal(Family.REAL, (left, right))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Sum(Node):
    """The children (Real nodes) added in double from left to right, from the first one on."""

    def __init__(self, children: Sequence[Node]) -> None:
        if not children:
            raise GraphError("a sum begins with a number")
        self._seal(Family.REAL, tuple(children))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Count(Node):
    """How many of the Boolean children hold."""

    def __init__(self, children: Sequence[Node]) -> None:
        self._seal(Family.REAL, tuple(children))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Largest(Node):
    """results[i] of the first of the largest children (Real nodes); `otherwise` where all are minus infinity."""

    results: tuple[int, ...]
    otherwise: int

    def __init__(self, children: Sequence[Node], results: Sequence[int], otherwise: int) -> None:
        if len(children) != len(results):
            raise GraphError(f"{len(children)} numbers and {len(results)} results")
        self._set(results=tuple(results), otherwise=int(otherwise))
        self._seal(Family.REAL, tuple(children))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Greater(Node):
    """left > right, strictly, of two doubles; false where one is no number."""

    def __init__(self, left: Node, right: Node) -> None:
        self._seal(Family.BOOLEAN, (left, right))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Lookup(Node):
    """values[index]; the index is a Real node whose values are integers from 0 to the number of values less one."""

    values: tuple[float, ...]

    def __init__(self, values: Sequence[float], index: Node) -> None:
        if len(values) > MOST_VALUES:
            raise GraphError(f"a table of {len(values)} values, more than {MOST_VALUES}")
        self._set(values=tuple(map(float, values)))
        self._seal(Family.REAL, (index,))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Opaque(Node):
    """Some number that the children alone determine: which one is not known."""

    name: str

    def __init__(self, name: str, children: Sequence[Node]) -> None:
        self._set(name=str(name))
        self._seal(Family.REAL, tuple(children))


@dataclass(frozen=True, slots=True)
class Labels:
    """A decision told class by class: formulas[k] is a Boolean node that holds exactly where the label is class k."""

    formulas: tuple[Node, ...]

    has_default = False

    @property
    def roots(self) -> tuple[Node, ...]:
        return self.formulas


ARTIFACT_LEAVES = (*LEAVES, RawCompare)
