"""The vocabulary of the rule graph, on one page.

Goals: one small set of typed, immutable nodes serves every learner, every pass and every exporter. A node is interned
by its digest (a hash of its type, its fields and the digests of its children), so equality is identity, hashing is
O(1) and no operation recurses: a chain of 10,000 nodes is an ordinary graph.

Four families (`Family`): BOOLEAN (truth value for each row), RANDOM (a random truth value given the row), REAL (a
double) and PROBABILITY (a double in [0, 1]). Logic over Boolean nodes is Boolean; logic with a random child is random.

A constructor checks its own fields (types, finite numbers) and raises GraphError; what may be composed with what, and
whether it fits a schema, is said by `rulekit.graph.check`.

Missing: every leaf says what it yields where its column is missing. Thresholds of a float32 column mean the float32
nearest to `value`; the comparison is then made in float32 (see rulekit.numbers).
"""

from __future__ import annotations

import enum
import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, TypeVar

from rulekit.errors import GraphError
from rulekit.numbers import is_power_of_two, probability_of

_N = TypeVar("_N", bound="Node")


class Family(enum.Enum):
    BOOLEAN = "Boolean"
    RANDOM = "Random"
    REAL = "Real"
    PROBABILITY = "Probability"


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

    def _seal(self, family: Family, children: tuple[Node, ...] = ()) -> None:
        """Called last by every constructor: sets the family, the children and the digest."""
        for child in children:
            if not isinstance(child, Node):
                raise GraphError(f"a child of {type(self).__name__} is {type(child).__name__}, not a node")
        content = hashlib.sha256(type(self).__name__.encode())
        for item in fields(self):
            if item.name not in ("digest", "family", "children"):
                content.update(b"\x00" + item.name.encode() + b"\x01" + _encode(getattr(self, item.name)))
        for child in children:
            content.update(b"\x02" + child.digest)
        object.__setattr__(self, "digest", content.digest())
        object.__setattr__(self, "family", family)
        object.__setattr__(self, "children", children)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)


def _encode(value: Any) -> bytes:
    """Unambiguous bytes of a field: type tag, length, content. Child nodes inside terms count by their digest."""
    if isinstance(value, tuple):
        parts = b"".join(_encode(item) for item in value)
        return b"t" + str(len(value)).encode() + b":" + parts
    if isinstance(value, Node):
        return b"n" + value.digest
    # ascii and not repr: what repr escapes depends on the Unicode tables of the Python version.
    text = (value.hex() if isinstance(value, float) else ascii(value)).encode()
    return type(value).__name__[0].encode() + str(len(text)).encode() + b":" + text


def _finite(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GraphError(f"{what} is {value!r}, not a finite number")
    return float(value) + 0.0  # -0.0 becomes 0.0


def _truth(value: object, what: str) -> bool:
    if not isinstance(value, bool):
        raise GraphError(f"{what} is {value!r}, neither true nor false")
    return value


def _name(value: object, what: str = "feature") -> str:
    if not isinstance(value, str):
        raise GraphError(f"{what} is {value!r}, not a name")
    return str(value)  # a subclass (a numpy text, a parser's token) would change the digest


def _nodes(values: object) -> tuple[Node, ...]:
    if isinstance(values, Node) or not isinstance(values, list | tuple):
        raise GraphError("children must be a sequence of nodes")
    return tuple(values)


# Boolean leaves ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Compare(Node):
    """`x <= value` or `x > value` of a numeric column; `missing` is its truth where x is missing."""

    feature: str
    op: Literal["<=", ">"]
    value: float
    missing: bool

    def __init__(self, feature: str, op: str, value: float, missing: bool = False) -> None:
        if op not in ("<=", ">"):
            raise GraphError(f"a comparison is <= or >, not {op!r}")
        self._set(feature=_name(feature), op=str(op), value=_finite(value, "a threshold"))
        self._set(missing=_truth(missing, "missing"))
        self._seal(Family.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Among(Node):
    """Membership of a category; `unseen` is its truth for a level that training never saw."""

    feature: str
    levels: tuple[str, ...]
    missing: bool
    unseen: bool

    def __init__(self, feature: str, levels: tuple[str, ...], missing: bool = False, unseen: bool = False) -> None:
        names = tuple(sorted({_name(level, "a level") for level in levels}))
        self._set(feature=_name(feature), levels=names)
        self._set(missing=_truth(missing, "missing"), unseen=_truth(unseen, "unseen"))
        self._seal(Family.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class IsTrue(Node):
    """A Boolean column: x > 0.5."""

    feature: str
    missing: bool

    def __init__(self, feature: str, missing: bool = False) -> None:
        self._set(feature=_name(feature), missing=_truth(missing, "missing"))
        self._seal(Family.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Missing(Node):
    """x is missing (any kind of column)."""

    feature: str

    def __init__(self, feature: str) -> None:
        self._set(feature=_name(feature))
        self._seal(Family.BOOLEAN)


# Logic: Boolean, or Random with a Random child ---------------------------------------------------------------------


def _logic(children: tuple[Node, ...]) -> Family:
    return Family.RANDOM if any(child.family is Family.RANDOM for child in children) else Family.BOOLEAN


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Constant(Node):
    """True or false."""

    value: bool

    def __init__(self, value: bool) -> None:
        self._set(value=_truth(value, "a constant"))
        self._seal(Family.BOOLEAN)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Not(Node):
    """The contrary of its child, where the column is missing too."""

    def __init__(self, child: Node) -> None:
        self._seal(_logic(_nodes((child,))), (child,))

    @property
    def child(self) -> Node:
        return self.children[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class And(Node):
    """All children; true with none."""

    def __init__(self, children: Sequence[Node]) -> None:
        nodes = _nodes(children)
        self._seal(_logic(nodes), nodes)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Or(Node):
    """At least one child; false with none."""

    def __init__(self, children: Sequence[Node]) -> None:
        nodes = _nodes(children)
        self._seal(_logic(nodes), nodes)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class AtLeast(Node):
    """At least k of the children (a child that stands twice counts twice)."""

    k: int

    def __init__(self, k: int, children: Sequence[Node]) -> None:
        if isinstance(k, bool) or not isinstance(k, int):
            raise GraphError(f"the count of an at-least is {k!r}, not an integer")
        nodes = _nodes(children)
        self._set(k=k)
        self._seal(_logic(nodes), nodes)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class LinearThreshold(Node):
    """A linear threshold unit: bias + sum of weight * child >= 0, summed in double from left to right.

    Children are Real, or Boolean (taken as 0 and 1).
    """

    weights: tuple[float, ...]
    bias: float

    def __init__(self, terms: Sequence[tuple[float, Node]], bias: float) -> None:
        self._set(weights=tuple(_finite(w, "a weight") for w, _ in terms), bias=_finite(bias, "a bias"))
        self._seal(Family.BOOLEAN, tuple(child for _, child in terms))

    @property
    def terms(self) -> tuple[tuple[float, Node], ...]:
        return tuple(zip(self.weights, self.children, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Above(Node):
    """score > threshold, strictly; the score is a Real or Probability node. False where the score is no number."""

    threshold: float

    def __init__(self, score: Node, threshold: float) -> None:
        self._set(threshold=_finite(threshold, "a decision threshold"))
        self._seal(Family.BOOLEAN, _nodes((score,)))

    @property
    def score(self) -> Node:
        return self.children[0]


# Random ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Hidden(Node):
    """An independent random bit that fires with strength `on` where the Boolean `cause` holds, else with `off`.

    A strength is -log(1 - p) >= 0; p = 1 is infinity. Two hidden bits of one name are the same bit.
    """

    name: str
    on: float
    off: float

    def __init__(self, name: str, cause: Node, on: float, off: float = 0.0) -> None:
        for value in (on, off):
            if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
                raise GraphError(f"the strength of {name!r} is {value!r}, not a number >= 0")
        self._set(name=_name(name, "a hidden bit"), on=float(on) + 0.0, off=float(off) + 0.0)
        self._seal(Family.RANDOM, (cause,))

    @property
    def cause(self) -> Node:
        return self.children[0]

    @property
    def probability_on(self) -> float:
        """P(fires) where the cause holds, correctly rounded."""
        return probability_of(self.on)

    @property
    def probability_off(self) -> float:
        """P(fires) where the cause does not hold, correctly rounded."""
        return probability_of(self.off)


# Real --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Column(Node):
    """The value of a numeric or Boolean column, clipped to [low, high] and rounded half-even to a multiple of `step`.

    step is a power of two, or 0 for no rounding; `missing` is the value where x is missing.
    """

    feature: str
    missing: float
    low: float
    high: float
    step: float

    def __init__(self, feature: str, missing: float, low: float, high: float, step: float = 0.0) -> None:
        self._set(
            feature=_name(feature),
            missing=_finite(missing, "a value for missing"),
            low=_finite(low, "a lower bound"),
            high=_finite(high, "an upper bound"),
            step=_finite(step, "a step"),
        )
        if self.low > self.high:
            raise GraphError(f"the bounds {self.low!r} and {self.high!r} are the wrong way round")
        if self.step != 0 and not is_power_of_two(self.step):
            raise GraphError(f"a step is 0 or a power of two, not {self.step!r}")
        self._seal(Family.REAL)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Step(Node):
    """A step function of a numeric column: values[number of cuts c with x > c]; cuts strictly ascend."""

    feature: str
    cuts: tuple[float, ...]
    values: tuple[float, ...]
    missing: float

    def __init__(self, feature: str, cuts: tuple[float, ...], values: tuple[float, ...], missing: float) -> None:
        self._set(
            feature=_name(feature),
            cuts=tuple(_finite(c, "a cut") for c in cuts),
            values=tuple(_finite(v, "a value") for v in values),
            missing=_finite(missing, "a value for missing"),
        )
        if len(self.values) != len(self.cuts) + 1:
            raise GraphError(f"{len(self.cuts)} cuts need {len(self.cuts) + 1} values, not {len(self.values)}")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise GraphError("the cuts of a step function do not ascend")
        self._seal(Family.REAL)


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Linear(Node):
    """bias + sum of weight * child, in double from left to right; children are Real or Boolean (0 and 1)."""

    weights: tuple[float, ...]
    bias: float

    def __init__(self, terms: Sequence[tuple[float, Node]], bias: float) -> None:
        self._set(weights=tuple(_finite(w, "a weight") for w, _ in terms), bias=_finite(bias, "a bias"))
        self._seal(Family.REAL, tuple(child for _, child in terms))

    @property
    def terms(self) -> tuple[tuple[float, Node], ...]:
        return tuple(zip(self.weights, self.children, strict=True))


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Strength(Node):
    """The strength -log(1 - p) of an Or of different hidden bits and Boolean nodes: the sum of their strengths.

    The sum is made in double from left to right; a Boolean node has an infinite strength where it is true, and 0 where
    it is not. A formula that is no Or counts as the Or of itself.
    """

    def __init__(self, formula: Node) -> None:
        self._seal(Family.REAL, _nodes((formula,)))

    @property
    def formula(self) -> Node:
        return self.children[0]

    @property
    def terms(self) -> tuple[tuple[Node, float, float], ...]:
        """Per part of the formula the Boolean node that causes it, and the strength where that is true and false."""
        parts = self.formula.children if isinstance(self.formula, Or) else (self.formula,)
        return tuple((p.cause, p.on, p.off) if isinstance(p, Hidden) else (p, math.inf, 0.0) for p in parts)


# Probability -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Probability(Node):
    """The exact probability that a random formula is true, the hidden bits being independent given the row."""

    def __init__(self, formula: Node) -> None:
        self._seal(Family.PROBABILITY, _nodes((formula,)))

    @property
    def formula(self) -> Node:
        return self.children[0]


@dataclass(frozen=True, slots=True, eq=False, repr=False, init=False)
class Logistic(Node):
    """1 / (1 + exp(-z)) of a Real child."""

    def __init__(self, linear: Node) -> None:
        self._seal(Family.PROBABILITY, _nodes((linear,)))

    @property
    def linear(self) -> Node:
        return self.children[0]


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
