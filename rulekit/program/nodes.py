"""The steps of a program beyond the vocabulary of models: comparisons of unrounded values, arithmetic, choices.

These nodes stand in a `Program`, and in the `Reading` of an artifact, beside those of `rulekit.graph.nodes`, and never
in a model: they have no place in `Vocabulary`, so no file and no rule text knows them. Like all nodes they are frozen
and interned.

`elementary` takes steps apart for a language without functions of ours: `lower(graph, elementary)` gives a program of
comparisons, choices and single operations of IEEE 754 alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rulekit.errors import GraphError, Unsupported
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
from rulekit.graph.nodes import LEAVES, Among, Column, LevelPoints, Logistic, Missing, Node, Or, Step
from rulekit.graph.probability.exponentials import Exponentials, Tail, Tails
from rulekit.numbers import OVERFLOW, crossing
from rulekit.schema import Feature, Schema

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


def elementary(step: Node, schema: Schema) -> Node:
    """A step by simpler ones; raises Unsupported for a column that is rounded to steps of 2^971 and more."""
    rule = _RULES.get(type(step))
    return step if rule is None else rule(step, schema)


def _column(node: Column, schema: Schema) -> Node:
    """Clipped; half to even by way of 2^52 steps, beyond which every double is a whole number of steps."""
    x = _in_precision(schema[node.feature])
    low, high = Number(node.low), Number(node.high)
    x = chain([(Greater(low, x), low), (Greater(x, high), high)], x)
    if node.step != 0.0:
        whole = 2.0**52 * node.step
        if math.isinf(whole):
            raise Unsupported("Column", "text", "give the column smaller steps")
        far, half = Or((Greater(x, Number(whole)), Greater(Number(-whole), x))), Number(whole)
        below = Arithmetic("+", Arithmetic("-", x, half), half)
        above = Arithmetic("-", Arithmetic("+", x, half), half)
        x = chain([(far, x), (Greater(ZERO, x), below)], above)
    return Choice(Missing(node.feature), Number(node.missing), x)


def _in_precision(feature: Feature) -> Node:
    """A number in the width of its column: float32 by t - (t - x) with t = 2^29 x, half to even (Dekker 1971).

    What overflows there is taken for 0 first: PostgreSQL raises an error where a double overflows, and any part of a
    step may be computed before its condition is asked.
    """
    given, name = RawNumber(feature.name), feature.name
    if feature.precision == "float64":
        return given
    above, below = RawCompare(name, ">", math.nextafter(OVERFLOW, 0.0)), RawCompare(name, "<=", -OVERFLOW)
    x = chain([(above, ZERO), (below, ZERO)], given)
    scaled, tiny = Arithmetic("*", x, Number(2.0**29)), Number(1.5 * 2.0**-97)
    small = 2.0**-126  # the smallest normal number of float32
    normal = Or((RawCompare(name, ">", small), RawCompare(name, "<=", -small)))
    rounded = Arithmetic("-", scaled, Arithmetic("-", scaled, x))
    subnormal = Arithmetic("-", Arithmetic("+", x, tiny), tiny)
    return chain([(above, Number(math.inf)), (below, LOWEST), (normal, rounded)], subnormal)


def _step(node: Step, schema: Schema) -> Node:
    precision = schema[node.feature].precision
    cuts = [RawCompare(node.feature, ">", crossing(cut, precision)) for cut in node.cuts]
    pairs = list(zip(cuts, map(Number, node.values[1:]), strict=True))
    missing = (Missing(node.feature), Number(node.missing))
    return chain([missing, *reversed(pairs)], Number(node.values[0]))


def _level_points(node: LevelPoints, schema: Schema) -> Node:
    """One membership for each number of points but that of the unseen, for which no membership holds."""
    points = dict(node.points)
    by_points: dict[float, list[str]] = {node.missing: []}
    for level in schema[node.feature].levels:
        by_points.setdefault(points.get(level, 0.0), []).append(level)
    by_points.pop(node.unseen, None)
    sets = [(Among(node.feature, tuple(held), value == node.missing), value) for value, held in by_points.items()]
    return chain([(held, Number(value)) for held, value in sets], Number(node.unseen))


def _logistic(node: Logistic, _: Schema) -> Node:
    """1 / (1 + exp(-z)) of z in the bounds between which the exponential is finite and not 0; 0 below them."""
    z, low, high = node.linear, Number(-709.78), Number(745.0)
    bounded = chain([(Greater(low, z), low), (Greater(z, high), high)], z)
    inside = Arithmetic("/", ONE, Arithmetic("+", ONE, Exponential(Arithmetic("-", ZERO, bounded))))
    return Choice(Greater(low, z), ZERO, inside)


def _exponentials(node: Exponentials, _: Schema) -> Node:
    """exp(-s) of one strength times 1 - exp(-s) of the others; PostgreSQL raises an error where a product is 0."""
    parts = [] if node.none is ZERO else [_none_fires(node.none)]
    parts += map(_some_fires, node.some)
    result = parts[0]
    for part in parts[1:]:
        result = Arithmetic("*", result, part)
    return result


def _tail(node: Tail, _: Schema) -> Node:
    """At least k of several events, the last one first, and only the counts that are asked for."""
    tails = node.tails
    assert isinstance(tails, Tails)
    row: list[Node] = [ONE, *[ZERO] * node.k]
    for i in range(len(tails.parts) - 1, -1, -1):
        chance, before = tails.parts[i], list(row)
        for j in range(max(1, node.k - i), min(len(tails.parts) - i, node.k) + 1):
            moved = chance if before[j - 1] is ONE else Arithmetic("*", chance, before[j - 1])
            kept = Arithmetic("*", Arithmetic("-", ONE, chance), before[j])
            row[j] = moved if before[j] is ZERO else Arithmetic("+", moved, kept)
    return row[node.k]


def _none_fires(strength: Node) -> Node:
    """exp(-s), 0 from 600 on."""
    most = Number(600.0)
    bounded = Choice(Greater(strength, most), most, strength)
    return Choice(Greater(strength, most), ZERO, Exponential(Arithmetic("-", ZERO, bounded)))


def _some_fires(strength: Node) -> Node:
    """1 - exp(-s); of a small s by s (1 - s / 2), whose relative error is s^2 / 6, and 0 below 2^-130."""
    small = Arithmetic("*", strength, Arithmetic("-", ONE, Arithmetic("*", Number(0.5), strength)))
    large = Arithmetic("-", ONE, _none_fires(strength))
    return chain([(Greater(Number(2.0**-130), strength), ZERO), (Greater(Number(2.0**-18), strength), small)], large)


def _largest(node: Largest, _: Schema) -> Node:
    """A tournament: of two neighbours the larger goes on, and where they are equal the first."""
    taking_part = [
        value if threshold == -math.inf else Choice(Greater(value, Number(threshold)), value, LOWEST)
        for value, threshold in zip(node.children, node.thresholds, strict=True)
    ]
    running: Sequence[tuple[Node, Node]] = list(zip(taking_part, map(Number, node.results), strict=True))
    while len(running) > 1:
        winners = []
        for (value, result), (other, its_result) in zip(running[::2], running[1::2], strict=False):
            larger = Greater(other, value)
            winners.append((Choice(larger, other, value), Choice(larger, its_result, result)))
        running = [*winners, *running[2 * len(winners) :]]
    ((value, result),) = running
    return Choice(Greater(value, LOWEST), result, Number(node.otherwise))


def in_words(label: Node, texts: Sequence[str]) -> Node:
    """The number of a class as the text that the target has written for it."""
    pairs, last = cases(label)
    if isinstance(last, Number):
        end: Node = Spelled(texts[int(last.value)])
    else:
        above = [(Greater(last, Number(k - 0.5)), Spelled(texts[k])) for k in range(len(texts) - 1, 0, -1)]
        end = chain(above, Spelled(texts[0]))
    return chain([(condition, in_words(result, texts)) for condition, result in pairs], end)


_RULES: dict[type[Node], Callable[[Any, Schema], Node]] = {
    Column: _column,
    Step: _step,
    LevelPoints: _level_points,
    Logistic: _logistic,
    Tail: _tail,
    Exponentials: _exponentials,
    Largest: _largest,
}
