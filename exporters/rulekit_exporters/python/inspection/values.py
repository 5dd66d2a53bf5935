"""What the expressions of a generated module stand for: nodes, cells of a row, constants, counts and running sums.

Comparisons of doubles become conditions of the graph's vocabulary where they mean the same for every double: `x > T` is
`Compare(x, >, t)` where T is exactly the double at which rounding to float32 crosses t. Any other T is a condition of
its own on the unrounded value (RawCompare), which no model of float32 columns has.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rulekit.errors import RulekitError
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Among,
    And,
    AtLeast,
    Compare,
    Constant,
    Family,
    IsTrue,
    Linear,
    Missing,
    Node,
    Not,
    Or,
    Step,
)
from rulekit.numbers import canonical_threshold, double_crossing, float32
from rulekit.program.nodes import Choice, Lookup, Number, RawCompare
from rulekit.schema import Feature


class UnreadableError(RulekitError):
    """Code whose meaning is not known to the reader."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a column; clean: brought to what the rules compare (text, or NaN for numbers that mean missing)."""

    feature: Feature
    clean: bool


@dataclass(frozen=True, slots=True)
class Known:
    """A constant of Python."""

    value: object


@dataclass(frozen=True, slots=True)
class Row:
    """A row: the column that stands under each key, a name or a place."""

    columns: Mapping[object, Cell]


@dataclass(frozen=True, slots=True)
class Label:
    """A class, by its index."""

    index: Value


@dataclass(frozen=True, slots=True)
class Rounded:
    """A cell rounded to float32."""

    feature: Feature


@dataclass(frozen=True, slots=True)
class Count:
    """How many of some conditions hold."""

    conditions: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Sum:
    """bias + weight * node + ..., in double from left to right."""

    bias: float
    terms: tuple[tuple[float, Node], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """The number of cuts that lie below a cell, or with values the entry of a table at that place."""

    feature: Feature
    cuts: tuple[float, ...]
    values: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """A list or tuple of values."""

    items: tuple[Value, ...]


Value = Node | Cell | Known | Row | Label | Rounded | Count | Sum | Place | Listing


def boolean(value: Value) -> Node:
    """A value as a condition."""
    if isinstance(value, Node) and value.family is Family.BOOLEAN:
        return value
    if isinstance(value, Known) and isinstance(value.value, bool):
        return TRUE if value.value else FALSE
    raise UnreadableError("something that is no condition is taken as one")


def real(value: Value) -> Node:
    """A value as a number; a condition counts as 0 and 1."""
    if isinstance(value, Node):
        return value
    if isinstance(value, Known) and isinstance(value.value, int | float):
        return Number(float(value.value))
    if isinstance(value, Sum):
        return Linear(value.terms, value.bias)
    raise UnreadableError("something that is no number is calculated with")


def negated(node: Node) -> Node:
    """The contrary, pushed into the conditions of columns."""
    if isinstance(node, Not):
        return node.child
    if isinstance(node, Constant):
        return FALSE if node.value else TRUE
    if isinstance(node, Compare | RawCompare):
        return replace_comparison(node, "<=" if node.op == ">" else ">", not node.missing)
    return Not(node)


def replace_comparison(node: Compare | RawCompare, op: str, missing: bool) -> Node:
    """The same column and threshold with another operator."""
    return type(node)(node.feature, op, node.value, missing)


def comparison(cell: Cell, op: str, value: float, spelled: dict[tuple[str, float], float]) -> Node:
    """`cell op value` for one of the operators > >= < <=, false where the cell is missing.

    spelled: by column and double, the threshold as the graph writes it.
    """
    if cell.feature.kind == "categorical" or not cell.clean:
        raise UnreadableError(f"column {cell.feature.name!r} is compared before it is read as a number")
    if cell.feature.kind == "boolean":
        return _of_truth(cell.feature.name, op, value)
    if op == ">=":
        op, value = ">", math.nextafter(value, -math.inf)
    elif op == "<":
        op, value = "<=", math.nextafter(value, -math.inf)
    present = Not(Missing(cell.feature.name))
    if value == math.inf:
        return present if op == "<=" else FALSE
    if (cell.feature.name, value) in spelled:
        return Compare(cell.feature.name, op, spelled[cell.feature.name, value])
    if math.isinf(value):
        return RawCompare(cell.feature.name, op, value)
    if cell.feature.precision == "float64":
        return Compare(cell.feature.name, op, value)
    threshold = crossed(value)
    if threshold is None:
        return RawCompare(cell.feature.name, op, value)
    return Compare(cell.feature.name, op, threshold)


def _of_truth(name: str, op: str, value: float) -> Node:
    """A comparison of a Boolean cell, which is 0, 1 or missing."""
    compare = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}[op]
    holds = compare(0.0, value), compare(1.0, value)
    return {
        (False, True): IsTrue(name),
        (True, False): Not(IsTrue(name, True)),
        (True, True): Not(Missing(name)),
        (False, False): FALSE,
    }[holds]


def crossed(value: float) -> float | None:
    """The float32 threshold t, as its shortest decimal, with `x > value` iff float32(x) > t for all doubles x."""
    below = float32(value)
    if not math.isfinite(below) or double_crossing(below) != value:
        return None
    return canonical_threshold(below, "float32")


def membership(feature: Feature, members: frozenset[object], texts: dict[str, set[str]]) -> Node:
    """A category in a set of texts and None; `texts` receives those that the schema would not tell apart so."""
    if feature.kind != "categorical":
        raise UnreadableError(f"column {feature.name!r} is no category, and is looked for in a set")
    nothing = {"", *feature.missing_tokens}
    levels = set(feature.levels) - nothing
    inside = {member for member in members if isinstance(member, str)}
    missing = None in members
    odd = inside - levels - nothing
    if missing != (nothing <= inside) or (inside & nothing and not missing):
        odd |= nothing
    if feature.unseen == "missing" and missing:
        odd.add(unknown_text(feature))
    if odd:
        texts.setdefault(feature.name, set()).update(odd)
    return Among(feature.name, tuple(sorted(inside & levels)), missing, False)


def outside(node: Among, feature: Feature, texts: dict[str, set[str]]) -> Node:
    """The contrary of a membership, as a membership."""
    rest = tuple(level for level in feature.levels if level not in node.levels and level not in feature.missing_tokens)
    if feature.unseen == "missing" and not node.missing:
        return Among(node.feature, rest, True, False)
    return Among(node.feature, rest, not node.missing, feature.unseen == "unseen" and not node.unseen)


def unknown_text(feature: Feature) -> str:
    """A text that is neither a level nor a missing token."""
    text = "never seen"
    while text in feature.levels or text in feature.missing_tokens:
        text += "."
    return text


def step(place: Place, missing: float, spelled: dict[tuple[str, float], float]) -> Node:
    """A table of the number of cuts below a cell, and what it yields where the cell is missing."""
    name = place.feature.name
    if len(place.values) != len(place.cuts) + 1:
        raise UnreadableError("a table has another number of values than its cuts need")
    if any(a > b for a, b in pairwise(place.cuts)):
        raise UnreadableError("the cuts of a table do not ascend")
    leaves = [comparison(Cell(place.feature, True), ">", cut, spelled) for cut in place.cuts]
    if all(isinstance(leaf, Compare) for leaf in leaves):
        values = [leaf.value for leaf in leaves if isinstance(leaf, Compare)]
        if all(a < b for a, b in pairwise(values)) and _finite((*place.values, missing)):
            return Step(name, tuple(values), place.values, missing)
    index = Linear([(1.0, leaf) for leaf in leaves], 0.0)
    return Choice(Not(Missing(name)), Lookup(place.values, index), Number(missing))


def _finite(values: Sequence[float]) -> bool:
    return all(math.isfinite(value) for value in values)


def added(total: Value, value: Value) -> Value:
    """The sum with one term more."""
    if isinstance(total, Known) and isinstance(total.value, int | float):
        total = Sum(float(total.value), ())
    if not isinstance(total, Sum):
        raise UnreadableError("an addition that is not a running sum")
    return Sum(total.bias, (*total.terms, _term(value)))


def _term(value: Value) -> tuple[float, Node]:
    if isinstance(value, Sum) and value.bias == 0.0 and len(value.terms) == 1:
        return value.terms[0]
    if isinstance(value, Known) and isinstance(value.value, int | float):
        return (float(value.value), TRUE) if math.isfinite(value.value) else (1.0, Number(float(value.value)))
    node = real(value)
    if isinstance(node, Choice):
        condition, then, otherwise = node.children
        if isinstance(then, Number) and otherwise is Number(0.0) and math.isfinite(then.value):
            return then.value, condition
    return 1.0, node


def chosen(condition: Node, then: Value, otherwise: Value, spelled: dict[tuple[str, float], float]) -> Value:
    """`then` where the condition holds, else `otherwise`."""
    if then == otherwise:
        return then
    if isinstance(condition, Constant):
        return then if condition.value else otherwise
    if isinstance(then, Listing) and isinstance(otherwise, Listing) and len(then.items) == len(otherwise.items):
        pairs = zip(then.items, otherwise.items, strict=True)
        return Listing(tuple(chosen(condition, a, b, spelled) for a, b in pairs))
    if isinstance(then, Label) and isinstance(otherwise, Label):
        return Label(chosen(condition, then.index, otherwise.index, spelled))
    if isinstance(then, Place) and isinstance(otherwise, Known) and then.values:
        if condition is not Not(Missing(then.feature.name)):
            raise UnreadableError("a table is read where a cell may be missing")
        return step(then, _number(otherwise), spelled)
    if isinstance(then, Sum) and isinstance(otherwise, Sum | Known):
        before = otherwise if isinstance(otherwise, Sum) else Sum(_number(otherwise), ())
        if then.bias == before.bias and then.terms[:-1] == before.terms and then.terms:
            weight, node = then.terms[-1]
            if node is TRUE:  # adding nothing equals adding zero, because a sum is never -0.0
                return Sum(before.bias, (*before.terms, (weight, condition)))
            gained = node if weight == 1.0 else None
            if isinstance(gained, Number):
                return Sum(before.bias, (*before.terms, (1.0, Choice(condition, gained, Number(0.0)))))
    truths = [v for v in (then, otherwise) if isinstance(v, Known) and isinstance(v.value, bool)]
    if truths or all(isinstance(v, Node) and v.family is Family.BOOLEAN for v in (then, otherwise)):
        return either(condition, boolean(then), boolean(otherwise))
    return Choice(condition, real(then), real(otherwise))


def either(condition: Node, then: Node, otherwise: Node) -> Node:
    """`then` where the condition holds, else `otherwise`, of conditions."""
    if then is TRUE:
        return condition if otherwise is FALSE else Or((condition, otherwise))
    if then is FALSE:
        return negated(condition) if otherwise is TRUE else And((negated(condition), otherwise))
    if otherwise is FALSE:
        return And((condition, then))
    if otherwise is TRUE:
        return Or((negated(condition), then))
    return Or((And((condition, then)), And((negated(condition), otherwise))))


def _number(value: Known) -> float:
    if isinstance(value.value, bool) or not isinstance(value.value, int | float):
        raise UnreadableError(f"{value.value!r} stands where a number is needed")
    return float(value.value)


def formulas_of(answer: Value, classes: int) -> tuple[Node, ...]:
    """For each class, when the answer is that class."""
    if isinstance(answer, Count):
        if len(answer.conditions) >= classes:
            raise UnreadableError("a count of conditions that is beyond the classes")
        reached = [TRUE, *(AtLeast(k, answer.conditions) for k in range(1, classes)), FALSE]
        return tuple(And((low, Not(high))) for low, high in pairwise(reached))
    node = real(answer)
    return tuple(_is_class(node, float(k)) for k in range(classes))


def _is_class(node: Node, k: float) -> Node:
    """When a choice among numbers is the number k; of a chain of choices the last one comes first."""
    chain = []
    current = node
    while isinstance(current, Choice):
        condition, then, otherwise = current.children
        chain.append((condition, then))
        current = otherwise
    if not isinstance(current, Number):
        raise UnreadableError("a class that is calculated")
    result: Node = Constant(current.value == k)
    for condition, then in reversed(chain):
        inside = Constant(then.value == k) if isinstance(then, Number) else _is_class(then, k)
        result = either(condition, inside, result)
    return result
