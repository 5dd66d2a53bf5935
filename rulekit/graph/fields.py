"""What the fields of nodes and decisions may hold: the kinds of which the vocabulary (`rulekit.graph.nodes`) is made.

A kind checks what a constructor is given (GraphError) and says which children it holds. What a kind looks like in a
model file is told once for each kind, in `rulekit.graph.files.node_fields`.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rulekit.errors import GraphError


class Family(enum.Enum):
    BOOLEAN = "Boolean"
    RANDOM = "Random"
    REAL = "Real"
    PROBABILITY = "Probability"


BOOLEAN, RANDOM, REAL, PROBABILITY = Family


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field. what: its name in a message. argument: its name in constructor and file, if another."""

    what: str = ""
    argument: str = ""

    def held(self, value: Any) -> Any:
        """What the node holds of a constructor's argument; raises GraphError where it is none of the kind."""
        return value

    def nodes(self, value: Any) -> tuple[Any, ...]:
        """The children in a constructor's argument."""
        return ()

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        """The constructor's argument that gives `held` with the next children in place of its own."""
        return held


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """A name."""

    def held(self, value: Any) -> str:
        if not isinstance(value, str):
            raise GraphError(f"{self.what} is {value!r}, not a name")
        return str(value)  # a subclass (a numpy text, a parser's token) would change the digest


@dataclass(frozen=True, slots=True)
class Reads(Text):
    """The name of a column; columns: the kinds of column that the node reads."""

    what: str = "feature"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf(Kind):
    """One of a few words."""

    words: tuple[str, ...] = ()

    def held(self, value: Any) -> str:
        if value not in self.words:
            raise GraphError(f"{self.what} is {' or '.join(self.words)}, not {value!r}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Truth(Kind):
    """True or false."""

    def held(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise GraphError(f"{self.what} is {value!r}, neither true nor false")
        return value


@dataclass(frozen=True, slots=True)
class Count(Kind):
    """An integer."""

    def held(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise GraphError(f"{self.what} is {value!r}, not an integer")
        return value


@dataclass(frozen=True, slots=True)
class Finite(Kind):
    """A finite double; cuts: the column is compared with it, in the column's precision."""

    cuts: bool = False

    def held(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise GraphError(f"{self.what} is {value!r}, not a finite number")
        return float(value) + 0.0  # -0.0 becomes 0.0


@dataclass(frozen=True, slots=True)
class Numbers(Finite):
    """Finite doubles."""

    def held(self, value: Any) -> Any:
        one = super(Numbers, self).held
        return tuple(one(item) for item in value)


@dataclass(frozen=True, slots=True)
class Extended(Kind):
    """A double, or infinity; least: no smaller one is allowed."""

    least: float = -math.inf

    def held(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= self.least:
            raise GraphError(f"{self.what} is {value!r}, not a number >= {self.least:g}")
        return float(value) + 0.0


@dataclass(frozen=True, slots=True)
class Extendeds(Kind):
    """Doubles, or infinities."""


@dataclass(frozen=True, slots=True)
class Counts(Kind):
    """Integers."""


@dataclass(frozen=True, slots=True)
class Levels(Text):
    """Levels of a category, held in order of their texts."""

    def held(self, value: Any) -> Any:
        one = super(Levels, self).held
        return tuple(sorted({one(level) for level in value}))


@dataclass(frozen=True, slots=True)
class Child(Kind):
    """One child of these families."""

    families: tuple[Family, ...] = ()

    def nodes(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return next(children)


@dataclass(frozen=True, slots=True)
class Children(Child):
    """Children of these families."""

    def held(self, value: Any) -> tuple[Any, ...]:
        return self.nodes(value)

    def nodes(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise GraphError("children must be a sequence of nodes")
        return tuple(value)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return tuple(islice(children, len(held)))


@dataclass(frozen=True, slots=True)
class Terms(Child):
    """Weights, each with a child of these families: given as pairs, held as weights."""

    what: str = "a weight"
    argument: str = "terms"

    def held(self, value: Any) -> tuple[float, ...]:
        weight = Finite(self.what)
        return tuple(weight.held(factor) for factor, _ in value)

    def nodes(self, value: Any) -> tuple[Any, ...]:
        return tuple(child for _, child in value)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return tuple((factor, next(children)) for factor in held)
