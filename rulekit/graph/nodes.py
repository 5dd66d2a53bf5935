"""The vocabulary of the rule graph, on one page.

Goals: one small set of typed, immutable nodes serves every learner, every pass and every exporter. A node is interned
by its digest (a hash of its type, its fields and the digests of its children), so equality is identity, hashing is
O(1) and no operation recurses: a chain of 10,000 nodes is an ordinary graph.

Four families (`Family`): BOOLEAN (truth value for each row), RANDOM (a random truth value given the row), REAL (a
double) and PROBABILITY (a double in [0, 1]). Logic over Boolean nodes is Boolean; logic with a random child is random.

A node type is its fields, each of a kind of `rulekit.graph.node`, which says what it holds and which children it has.
From them follow the checks of its constructor, its digest, its lines in the model file and in the JSON Schema
(`rulekit.graph.files`), the same node over other children (`with_children`), and what may be composed with what and
fits a schema (`rulekit.graph.check`).

Missing: every leaf says what it yields where its column is missing. Thresholds of a float32 column mean the float32
nearest to `value`; the comparison is then made in float32 (see rulekit.numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

from rulekit.errors import GraphError
from rulekit.graph.node import (
    BOOLEAN,
    PROBABILITY,
    RANDOM,
    REAL,
    Child,
    Children,
    CountField,
    Extended,
    Finite,
    LevelNumbers,
    Levels,
    Numbers,
    OneOf,
    Reads,
    TermsField,
    TextField,
    Truth,
    of,
)
from rulekit.graph.node import Family as Family
from rulekit.graph.node import Node as Node
from rulekit.graph.node import kinds_of as kinds_of
from rulekit.graph.node import with_children as with_children
from rulekit.numbers import is_power_of_two, probability_of
from rulekit.tokens import is_token

_NUMBERS = (REAL, BOOLEAN)  # a Boolean node counts as 0 and 1
_FORMULA = (RANDOM, BOOLEAN)
_MISSING, _UNSEEN = Truth("missing"), Truth("unseen")

if TYPE_CHECKING:  # a constructor takes any sequence

    class ManyNodes:
        def __get__(self, node: Any, owner: Any = None) -> tuple[Node, ...]: ...
        def __set__(self, node: Any, value: Sequence[Node]) -> None: ...

    class Terms:
        def __get__(self, node: Any, owner: Any = None) -> tuple[tuple[float, Node], ...]: ...
        def __set__(self, node: Any, value: Sequence[tuple[float, Node]]) -> None: ...


# Boolean leaves ----------------------------------------------------------------------------------------------------


class Compare(Node, family=BOOLEAN):
    """`x <= value` or `x > value` of a numeric column; `missing` is its truth where x is missing."""

    feature: str = of(Reads(columns=("numeric",)))
    op: Literal["<=", ">"] = of(OneOf("a comparison", words=("<=", ">")))
    value: float = of(Finite("a threshold", cuts=True))
    missing: bool = of(_MISSING, default=False)


class Among(Node, family=BOOLEAN):
    """Membership of a category; `unseen` is its truth for a level that training never saw."""

    feature: str = of(Reads(columns=("categorical",)))
    levels: tuple[str, ...] = of(Levels("a level"))
    missing: bool = of(_MISSING, default=False)
    unseen: bool = of(_UNSEEN, default=False)


class IsTrue(Node, family=BOOLEAN):
    """A Boolean column: x > 0.5."""

    feature: str = of(Reads(columns=("boolean",)))
    missing: bool = of(_MISSING, default=False)


class Contains(Node, family=BOOLEAN):
    """A text has at least one of the tokens (`rulekit.tokens`); `missing` is the truth where the text is missing."""

    feature: str = of(Reads(columns=("text",)))
    tokens: tuple[str, ...] = of(Levels("a token"))
    missing: bool = of(_MISSING, default=False)

    def _check(self) -> None:
        for token in self.tokens:
            if not is_token(token):
                fix = "write one word of two or more letters and digits, in lower case"
                raise GraphError(f"{token!r} is no token, so that no text would have it", fix=fix)


class Missing(Node, family=BOOLEAN):
    """x is missing (any kind of column)."""

    feature: str = of(Reads(columns=("numeric", "boolean", "categorical", "text")))


# Logic: Boolean, or Random with a Random child ---------------------------------------------------------------------


class Constant(Node, family=BOOLEAN):
    """True or false."""

    value: bool = of(Truth("a constant"))


class Not(Node):
    """The contrary of its child, where the column is missing too."""

    child: Node = of(Child(families=_FORMULA))


class Joined(Node):
    """Children in any number, and nothing else."""

    children: ManyNodes = of(Children(families=_FORMULA))


class And(Joined):
    """All children; true with none."""


class Or(Joined):
    """At least one child; false with none."""


class AtLeast(Node):
    """At least k of the children (a child that stands twice counts twice)."""

    k: int = of(CountField("the count of an at-least"))
    children: ManyNodes = of(Children(families=_FORMULA))


class Odd(Joined):
    """An odd number of the children (a child that stands twice counts twice); false with none."""


class WeightedSum(Node):
    """Bias + sum of weight * child, in double from left to right; children are Real or Boolean (0 and 1)."""

    terms: Terms = of(TermsField(families=_NUMBERS))
    bias: float = of(Finite("a bias"))

    @property
    def weights(self) -> tuple[float, ...]:
        return tuple(weight for weight, _ in self.terms)


class LinearThreshold(WeightedSum, family=BOOLEAN):
    """A linear threshold unit: bias + sum of weight * child >= 0, summed in double from left to right.

    Children are Real, or Boolean (taken as 0 and 1).
    """


class Above(Node, family=BOOLEAN):
    """score > threshold, strictly; the score is a Real or Probability node. False where the score is no number."""

    score: Node = of(Child(families=(REAL, PROBABILITY)))
    threshold: float = of(Finite("a decision threshold"))


# Random ------------------------------------------------------------------------------------------------------------


class Hidden(Node, family=RANDOM):
    """An independent random bit that fires with strength `on` where the Boolean `cause` holds, else with `off`.

    A strength is -log(1 - p) >= 0; p = 1 is infinity. Two hidden bits of one name are the same bit.
    """

    name: str = of(TextField("a hidden bit"))
    cause: Node = of(Child(families=(BOOLEAN,)))
    on: float = of(Extended("a strength", least=0.0))
    off: float = of(Extended("a strength", least=0.0), default=0.0)

    @property
    def probability_on(self) -> float:
        """P(fires) where the cause holds, correctly rounded."""
        return probability_of(self.on)

    @property
    def probability_off(self) -> float:
        """P(fires) where the cause does not hold, correctly rounded."""
        return probability_of(self.off)


# Real --------------------------------------------------------------------------------------------------------------


class Column(Node, family=REAL):
    """The value of a numeric or Boolean column, clipped to [low, high] and rounded half-even to a multiple of `step`.

    step is a power of two, or 0 for no rounding; `missing` is the value where x is missing.
    """

    feature: str = of(Reads(columns=("numeric", "boolean")))
    missing: float = of(Finite("a value for missing"))
    low: float = of(Finite("a lower bound"))
    high: float = of(Finite("an upper bound"))
    step: float = of(Finite("a step"), default=0.0)

    def _check(self) -> None:
        if self.low > self.high:
            raise GraphError(f"the bounds {self.low!r} and {self.high!r} are the wrong way round")
        if self.step != 0 and not is_power_of_two(self.step):
            raise GraphError(f"a step is 0 or a power of two, not {self.step!r}")


class Step(Node, family=REAL):
    """A step function of a numeric column: values[number of cuts c with x > c]; cuts strictly ascend."""

    feature: str = of(Reads(columns=("numeric",)))
    cuts: tuple[float, ...] = of(Numbers("a cut", cuts=True))
    values: tuple[float, ...] = of(Numbers("a value"))
    missing: float = of(Finite("a value for missing"))

    def _check(self) -> None:
        if len(self.values) != len(self.cuts) + 1:
            raise GraphError(f"{len(self.cuts)} cuts need {len(self.cuts) + 1} values, not {len(self.values)}")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise GraphError("the cuts of a step function do not ascend")


class LevelPoints(Node, family=REAL):
    """Points by level of a categorical column, 0 for a level that is not named.

    `missing` and `unseen` are the points where x is missing, and of a level that training never saw.
    """

    feature: str = of(Reads(columns=("categorical",)))
    points: tuple[tuple[str, float], ...] = of(LevelNumbers("the points of a level"))
    missing: float = of(Finite("a value for missing"), default=0.0)
    unseen: float = of(Finite("a value for unseen"), default=0.0)

    @property
    def levels(self) -> tuple[str, ...]:
        """The levels with other points than 0."""
        return tuple(level for level, _ in self.points)

    @property
    def groups(self) -> tuple[tuple[float, tuple[str, ...]], ...]:
        """The points that are not 0, the most first, each with its levels."""
        found: dict[float, list[str]] = {}
        for level, points in self.points:
            found.setdefault(points, []).append(level)
        return tuple((points, tuple(found[points])) for points in sorted(found, reverse=True))


class Linear(WeightedSum, family=REAL):
    """bias + sum of weight * child, in double from left to right; children are Real or Boolean (0 and 1)."""


class Strength(Node, family=REAL):
    """The strength -log(1 - p) of an Or of different hidden bits and Boolean nodes: the sum of their strengths.

    The sum is made in double from left to right; a Boolean node has an infinite strength where it is true, and 0 where
    it is not. A formula that is no Or counts as the Or of itself.
    """

    formula: Node = of(Child(families=_FORMULA))

    @property
    def terms(self) -> tuple[tuple[Node, float, float], ...]:
        """Per part of the formula the Boolean node that causes it, and the strength where that is true and false."""
        parts = self.formula.children if isinstance(self.formula, Or) else (self.formula,)
        return tuple((p.cause, p.on, p.off) if isinstance(p, Hidden) else (p, math.inf, 0.0) for p in parts)


# Probability -------------------------------------------------------------------------------------------------------


class Probability(Node, family=PROBABILITY):
    """The exact probability that a random formula is true, the hidden bits being independent given the row."""

    formula: Node = of(Child(families=_FORMULA))


class Logistic(Node, family=PROBABILITY):
    """1 / (1 + exp(-z)) of a Real child."""

    linear: Node = of(Child(families=(REAL,)))


class Rescaled(Node, family=PROBABILITY):
    """The probability whose odds p / (1 - p) are `odds` times those of its child: odds * p / (1 - p + odds * p)."""

    probability: Node = of(Child(families=(PROBABILITY,)))
    odds: float = of(Finite("a factor of odds"))

    def _check(self) -> None:
        if self.odds <= 0.0:
            raise GraphError(f"a factor of odds is above 0, not {self.odds!r}")


class Difference(Node, family=PROBABILITY):
    """What the first of two probabilities is larger than the second, or 0: of nested events the first one alone."""

    more: Node = of(Child(families=(PROBABILITY,)))
    less: Node = of(Child(families=(PROBABILITY,)))


class Sided(Node, family=PROBABILITY):
    """A probability on the side of a rule: at least `above` where the rule holds, at most `below` elsewhere.

    So a number that was learned beside the rules that decide never contradicts them.
    """

    probability: Node = of(Child(families=(PROBABILITY,)))
    rule: Node = of(Child(families=(BOOLEAN,)))
    above: float = of(Finite("a least probability"))
    below: float = of(Finite("a largest probability"))

    def _check(self) -> None:
        if not 0.0 <= self.below <= self.above <= 1.0:
            raise GraphError(f"0 <= below <= above <= 1 does not hold for {self.below!r} and {self.above!r}")


class Vocabulary:
    """The node types by name, for the file format and for tables that must be complete."""

    TYPES: ClassVar[dict[str, type[Node]]] = {
        cls.__name__: cls
        for cls in (
            *(Compare, Among, IsTrue, Contains, Missing, Constant, Not, And, Or, AtLeast, Odd, LinearThreshold, Above),
            *(Hidden, Column, Step, LevelPoints, Linear, Strength, Probability, Logistic, Rescaled, Difference, Sided),
        )
    }


LEAVES = (Compare, Among, IsTrue, Contains, Missing)
LOGIC = (Not, And, Or, AtLeast, Odd)
TRUE = Constant(True)
FALSE = Constant(False)


def is_logic(node: Node) -> bool:
    """Whether a node is a connective of Boolean nodes."""
    return isinstance(node, LOGIC) and node.family is BOOLEAN


H = TypeVar("H", bound=Hashable)
T = TypeVar("T")


@overload
def topological(roots: Iterable[Node]) -> list[Node]: ...
@overload
def topological(roots: Iterable[H], below: Callable[[H], Sequence[H]]) -> list[H]: ...
def topological(roots: Iterable[Any], below: Callable[[Any], Sequence[Any]] = attrgetter("children")) -> list[Any]:
    """Every node reachable from the roots once, children before parents, in a stable order.

    below: the nodes to go on to from one, in order; the children unless given.
    """
    order: list[Any] = []
    opened: set[Any] = set()
    done: set[Any] = set()
    stack = list(roots)[::-1]
    while stack:
        node = stack.pop()
        if node in done:
            continue
        children = below(node)
        if node in opened or not children:
            done.add(node)
            order.append(node)
        else:
            opened.add(node)
            stack.append(node)
            stack.extend([child for child in reversed(children) if child not in done])
    return order


def fold(roots: Iterable[Node], visit: Callable[[Node, tuple[T, ...]], T]) -> dict[Node, T]:
    """visit(node, results of its children) for every node, children first."""
    results: dict[Node, T] = {}
    for node in topological(roots):
        results[node] = visit(node, tuple(results[child] for child in node.children))
    return results


def short_ids(nodes: Iterable[Node]) -> dict[Node, str]:
    """For each node the shortest prefix, at least six digits, of its hex digest that no other of the nodes has."""
    ordered = sorted(set(nodes), key=lambda node: node.digest)
    names = [node.digest.hex() for node in ordered]
    shared = [0, *(_common(a, b) for a, b in pairwise(names)), 0]
    return {node: names[i][: max(6, shared[i] + 1, shared[i + 1] + 1)] for i, node in enumerate(ordered)}


def _common(a: str, b: str) -> int:
    return next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
