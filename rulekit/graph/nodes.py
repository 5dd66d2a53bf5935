"""The vocabulary of the rule graph, on one page.

Goals: one small set of typed, immutable nodes serves every learner, every pass and every exporter. A node is interned
by its digest (a hash of its type, its fields and the digests of its children), so equality is identity, hashing is
O(1) and no operation recurses: a chain of 10,000 nodes is an ordinary graph.

Four families (`Family`): BOOLEAN (truth value for each row), RANDOM (a random truth value given the row), REAL (a
double) and PROBABILITY (a double in [0, 1]). Logic over Boolean nodes is Boolean; logic with a random child is random.

A node type is its fields, each of a kind of `rulekit.graph.fields`, which says what it holds and which children it has.
From them follow the checks of its constructor, its digest, its lines in the model file and in the JSON Schema
(`rulekit.graph.files`), the same node over other children (`with_children`), and what may be composed with what and
fits a schema (`rulekit.graph.check`).

Missing: every leaf says what it yields where its column is missing. Thresholds of a float32 column mean the float32
nearest to `value`; the comparison is then made in float32 (see rulekit.numbers).
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, ClassVar, Literal, TypeVar

from rulekit.errors import GraphError
from rulekit.graph.fields import (
    BOOLEAN,
    PROBABILITY,
    RANDOM,
    REAL,
    Child,
    Children,
    Count,
    Extended,
    Finite,
    Kind,
    Levels,
    Numbers,
    OneOf,
    Reads,
    Terms,
    Text,
    Truth,
)
from rulekit.graph.fields import Family as Family
from rulekit.numbers import is_power_of_two, probability_of

_N = TypeVar("_N", bound="Node")

_interned: weakref.WeakValueDictionary[bytes, Node] = weakref.WeakValueDictionary()


class _Interning(type):
    """Returns the one node of equal content."""

    def __call__(cls: type[_N], *args: Any, **kwargs: Any) -> _N:  # type: ignore[misc]
        node: _N = super().__call__(*args, **kwargs)  # type: ignore[misc]
        return _interned.setdefault(node.digest, node)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True, init=False)
class Node(metaclass=_Interning):
    """Base of all nodes. `children` are nodes in order; `digest` is 32 bytes; `family` is set on construction."""

    digest: bytes
    family: Family
    children: tuple[Node, ...]

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __copy__(self) -> Node:
        return self

    def __reduce__(self) -> tuple[Callable[[str], Node], tuple[str]]:
        from rulekit.graph.files.file_format import node_from_json, node_to_json

        return node_from_json, (node_to_json(self),)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.digest.hex()[:8]}>"

    def _make(self, family: Family | None, **arguments: Any) -> None:
        """Called by the constructors of the page: checks their arguments and sets the fields.

        family: None for logic, which is random with a random child.
        """
        children: tuple[Node, ...] = ()
        for argument, name, kind in kinds_of(type(self)):
            children += kind.nodes(arguments[argument])
            object.__setattr__(self, name, kind.held(arguments[argument]))
        self._check()
        if family is None:
            family = RANDOM if any(child.family is RANDOM for child in children) else BOOLEAN
        self._seal(family, children)

    def _check(self) -> None:
        """Raise GraphError where the fields do not fit each other."""

    def _seal(self, family: Family, children: tuple[Node, ...] = ()) -> None:
        """Called last by every constructor: sets the family, the children and the digest."""
        for child in children:
            if not isinstance(child, Node):
                raise GraphError(f"a child of {type(self).__name__} is {type(child).__name__}, not a node")
        content = hashlib.sha256(type(self).__name__.encode())
        for name in _digested(type(self)):
            content.update(b"\x00" + name.encode() + b"\x01" + _encode(getattr(self, name)))
        for child in children:
            content.update(b"\x02" + child.digest)
        object.__setattr__(self, "digest", content.digest())
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "children", children)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


@lru_cache(maxsize=256)
def kinds_of(cls: type) -> tuple[tuple[str, str, Kind], ...]:
    """Of a node type or decision each field in order: the constructor's argument, the field that holds it, its kind."""
    found = [(item.name, item.metadata.get("kind", item.default)) for item in fields(cls)]
    found.sort(key=lambda pair: pair[0] == "children")  # inherited, so dataclasses has it first
    return tuple((kind.argument or name, name, kind) for name, kind in found if isinstance(kind, Kind))


@lru_cache(maxsize=256)
def _digested(cls: type[Node]) -> tuple[str, ...]:
    """The fields that the digest covers beside the children, in order."""
    beside = {name for _, name, kind in kinds_of(cls) if isinstance(kind, Child) and not isinstance(kind, Terms)}
    return tuple(item.name for item in fields(cls) if item.name not in {"digest", "family", "children"} | beside)


def with_children(node: Node, children: Sequence[Node]) -> Node:
    """`node` with these children in place of its own; a leaf as it is."""
    if not node.children:
        return node
    rest = iter(children)
    kinds = kinds_of(type(node))
    make: Callable[..., Node] = type(node)
    return make(**{argument: kind.given(getattr(node, name), rest) for argument, name, kind in kinds})


def _encode(value: Any) -> bytes:
    """Unambiguous bytes of a field: type tag, length, content."""
    if isinstance(value, tuple):
        parts = b"".join(_encode(item) for item in value)
        return b"t" + str(len(value)).encode() + b":" + parts
    if isinstance(value, Node):
        return b"n" + value.digest
    # ascii and not repr: what repr escapes depends on the Unicode tables of the Python version.
    text = (value.hex() if isinstance(value, float) else ascii(value)).encode()
    return type(value).__name__[0].encode() + str(len(text)).encode() + b":" + text


_page: Any = dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)


def _is(kind: Kind) -> Any:
    """A field of a kind, as the default by which dataclasses holds it."""
    return kind


_NUMBERS = (REAL, BOOLEAN)  # a Boolean node counts as 0 and 1
_FORMULA = (RANDOM, BOOLEAN)
_MISSING, _UNSEEN = Truth("missing"), Truth("unseen")


# Boolean leaves ----------------------------------------------------------------------------------------------------


@_page
class Compare(Node):
    """`x <= value` or `x > value` of a numeric column; `missing` is its truth where x is missing."""

    feature: str = _is(Reads(columns=("numeric",)))
    op: Literal["<=", ">"] = _is(OneOf("a comparison", words=("<=", ">")))
    value: float = _is(Finite("a threshold", cuts=True))
    missing: bool = _is(_MISSING)

    def __init__(self, feature: str, op: str, value: float, missing: bool = False) -> None:
        self._make(BOOLEAN, feature=feature, op=op, value=value, missing=missing)


@_page
class Among(Node):
    """Membership of a category; `unseen` is its truth for a level that training never saw."""

    feature: str = _is(Reads(columns=("categorical",)))
    levels: tuple[str, ...] = _is(Levels("a level"))
    missing: bool = _is(_MISSING)
    unseen: bool = _is(_UNSEEN)

    def __init__(self, feature: str, levels: tuple[str, ...], missing: bool = False, unseen: bool = False) -> None:
        self._make(BOOLEAN, feature=feature, levels=levels, missing=missing, unseen=unseen)


@_page
class IsTrue(Node):
    """A Boolean column: x > 0.5."""

    feature: str = _is(Reads(columns=("boolean",)))
    missing: bool = _is(_MISSING)

    def __init__(self, feature: str, missing: bool = False) -> None:
        self._make(BOOLEAN, feature=feature, missing=missing)


@_page
class Missing(Node):
    """x is missing (any kind of column)."""

    feature: str = _is(Reads(columns=("numeric", "boolean", "categorical")))

    def __init__(self, feature: str) -> None:
        self._make(BOOLEAN, feature=feature)


# Logic: Boolean, or Random with a Random child ---------------------------------------------------------------------


@_page
class Constant(Node):
    """True or false."""

    value: bool = _is(Truth("a constant"))

    def __init__(self, value: bool) -> None:
        self._make(BOOLEAN, value=value)


@_page
class Not(Node):
    """The contrary of its child, where the column is missing too."""

    child: Node = _is(Child(families=_FORMULA))

    def __init__(self, child: Node) -> None:
        self._make(None, child=child)


@_page
class And(Node):
    """All children; true with none."""

    children: tuple[Node, ...] = _is(Children(families=_FORMULA))

    def __init__(self, children: Sequence[Node]) -> None:
        self._make(None, children=children)


@_page
class Or(Node):
    """At least one child; false with none."""

    children: tuple[Node, ...] = _is(Children(families=_FORMULA))

    def __init__(self, children: Sequence[Node]) -> None:
        self._make(None, children=children)


@_page
class AtLeast(Node):
    """At least k of the children (a child that stands twice counts twice)."""

    k: int = _is(Count("the count of an at-least"))
    children: tuple[Node, ...] = _is(Children(families=_FORMULA))

    def __init__(self, k: int, children: Sequence[Node]) -> None:
        self._make(None, k=k, children=children)


@_page
class LinearThreshold(Node):
    """A linear threshold unit: bias + sum of weight * child >= 0, summed in double from left to right.

    Children are Real, or Boolean (taken as 0 and 1).
    """

    weights: tuple[float, ...] = _is(Terms(families=_NUMBERS))
    bias: float = _is(Finite("a bias"))

    def __init__(self, terms: Sequence[tuple[float, Node]], bias: float) -> None:
        self._make(BOOLEAN, terms=terms, bias=bias)

    @property
    def terms(self) -> tuple[tuple[float, Node], ...]:
        return tuple(zip(self.weights, self.children, strict=True))


@_page
class Above(Node):
    """score > threshold, strictly; the score is a Real or Probability node. False where the score is no number."""

    score: Node = _is(Child(families=(REAL, PROBABILITY)))
    threshold: float = _is(Finite("a decision threshold"))

    def __init__(self, score: Node, threshold: float) -> None:
        self._make(BOOLEAN, score=score, threshold=threshold)


# Random ------------------------------------------------------------------------------------------------------------


@_page
class Hidden(Node):
    """An independent random bit that fires with strength `on` where the Boolean `cause` holds, else with `off`.

    A strength is -log(1 - p) >= 0; p = 1 is infinity. Two hidden bits of one name are the same bit.
    """

    name: str = _is(Text("a hidden bit"))
    cause: Node = _is(Child(families=(BOOLEAN,)))
    on: float = _is(Extended("a strength", least=0.0))
    off: float = _is(Extended("a strength", least=0.0))

    def __init__(self, name: str, cause: Node, on: float, off: float = 0.0) -> None:
        self._make(RANDOM, name=name, cause=cause, on=on, off=off)

    @property
    def probability_on(self) -> float:
        """P(fires) where the cause holds, correctly rounded."""
        return probability_of(self.on)

    @property
    def probability_off(self) -> float:
        """P(fires) where the cause does not hold, correctly rounded."""
        return probability_of(self.off)


# Real --------------------------------------------------------------------------------------------------------------


@_page
class Column(Node):
    """The value of a numeric or Boolean column, clipped to [low, high] and rounded half-even to a multiple of `step`.

    step is a power of two, or 0 for no rounding; `missing` is the value where x is missing.
    """

    feature: str = _is(Reads(columns=("numeric", "boolean")))
    missing: float = _is(Finite("a value for missing"))
    low: float = _is(Finite("a lower bound"))
    high: float = _is(Finite("an upper bound"))
    step: float = _is(Finite("a step"))

    def __init__(self, feature: str, missing: float, low: float, high: float, step: float = 0.0) -> None:
        self._make(REAL, feature=feature, missing=missing, low=low, high=high, step=step)

    def _check(self) -> None:
        if self.low > self.high:
            raise GraphError(f"the bounds {self.low!r} and {self.high!r} are the wrong way round")
        if self.step != 0 and not is_power_of_two(self.step):
            raise GraphError(f"a step is 0 or a power of two, not {self.step!r}")


@_page
class Step(Node):
    """A step function of a numeric column: values[number of cuts c with x > c]; cuts strictly ascend."""

    feature: str = _is(Reads(columns=("numeric",)))
    cuts: tuple[float, ...] = _is(Numbers("a cut", cuts=True))
    values: tuple[float, ...] = _is(Numbers("a value"))
    missing: float = _is(Finite("a value for missing"))

    def __init__(self, feature: str, cuts: tuple[float, ...], values: tuple[float, ...], missing: float) -> None:
        self._make(REAL, feature=feature, cuts=cuts, values=values, missing=missing)

    def _check(self) -> None:
        if len(self.values) != len(self.cuts) + 1:
            raise GraphError(f"{len(self.cuts)} cuts need {len(self.cuts) + 1} values, not {len(self.values)}")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise GraphError("the cuts of a step function do not ascend")


@_page
class Linear(Node):
    """bias + sum of weight * child, in double from left to right; children are Real or Boolean (0 and 1)."""

    weights: tuple[float, ...] = _is(Terms(families=_NUMBERS))
    bias: float = _is(Finite("a bias"))

    def __init__(self, terms: Sequence[tuple[float, Node]], bias: float) -> None:
        self._make(REAL, terms=terms, bias=bias)

    @property
    def terms(self) -> tuple[tuple[float, Node], ...]:
        return tuple(zip(self.weights, self.children, strict=True))


@_page
class Strength(Node):
    """The strength -log(1 - p) of an Or of different hidden bits and Boolean nodes: the sum of their strengths.

    The sum is made in double from left to right; a Boolean node has an infinite strength where it is true, and 0 where
    it is not. A formula that is no Or counts as the Or of itself.
    """

    formula: Node = _is(Child(families=_FORMULA))

    def __init__(self, formula: Node) -> None:
        self._make(REAL, formula=formula)

    @property
    def terms(self) -> tuple[tuple[Node, float, float], ...]:
        """Per part of the formula the Boolean node that causes it, and the strength where that is true and false."""
        parts = self.formula.children if isinstance(self.formula, Or) else (self.formula,)
        return tuple((p.cause, p.on, p.off) if isinstance(p, Hidden) else (p, math.inf, 0.0) for p in parts)


# Probability -------------------------------------------------------------------------------------------------------


@_page
class Probability(Node):
    """The exact probability that a random formula is true, the hidden bits being independent given the row."""

    formula: Node = _is(Child(families=_FORMULA))

    def __init__(self, formula: Node) -> None:
        self._make(PROBABILITY, formula=formula)


@_page
class Logistic(Node):
    """1 / (1 + exp(-z)) of a Real child."""

    linear: Node = _is(Child(families=(REAL,)))

    def __init__(self, linear: Node) -> None:
        self._make(PROBABILITY, linear=linear)


class Vocabulary:
    """The node types by name, for the file format and for tables that must be complete."""

    TYPES: ClassVar[dict[str, type[Node]]] = {
        cls.__name__: cls
        for cls in (
            *(Compare, Among, IsTrue, Missing, Constant, Not, And, Or, AtLeast, LinearThreshold, Above),
            *(Hidden, Column, Step, Linear, Strength, Probability, Logistic),
        )
    }


LEAVES = (Compare, Among, IsTrue, Missing)
TRUE = Constant(True)
FALSE = Constant(False)


def is_logic(node: Node) -> bool:
    """Whether a node is a connective of Boolean nodes."""
    return isinstance(node, Not | And | Or | AtLeast) and node.family is BOOLEAN
