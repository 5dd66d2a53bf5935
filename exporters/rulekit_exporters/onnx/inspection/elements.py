"""Operators of ONNX on single elements (`rulekit_exporters.onnx.inspection.values`).

An operation takes the width of its numbers and elements, and returns an element. What it cannot tell of nodes is an
`Opaque` node, which the nodes determine alone; numbers of a row are taken only by comparisons, by IsNaN and on the way
to a `Column`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

from rulekit.graph import nodes as rg
from rulekit.numbers import float32, is_power_of_two
from rulekit.program.nodes import Arithmetic, Choice, Greater, Number, Operator
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE
from rulekit_exporters.onnx.builder import CASTS
from rulekit_exporters.onnx.inspection import values as el

SMALLEST = 2.0**-60  # of factors
OUTSIDE = "an index may leave its table"
MOST_NODES = 100_000
OTHER_WEIGHT = "a leaf that weighs a class in another way"
OTHER_TEST = "a tree with a test of another kind"


def _summed(operator: Literal["+", "-"]) -> Callable[[str, el.Element, el.Element], el.Element]:
    def operation(width: str, a: el.Element, b: el.Element) -> el.Element:
        one, other = el.exact(a), el.exact(b)
        if one is not None and other is not None and (one.span + other.span).fits(el.BITS[width]):
            return one.plus(other, 1 if operator == "+" else -1)
        return _rounded(operator, a, b, width)

    return operation


def _rounded(operator: Operator, a: el.Element, b: el.Element, width: str) -> el.Element:
    """One operation of doubles; in another width only the operands are known."""
    return Arithmetic(operator, el.to_node(a), el.to_node(b)) if width == "f8" else el.opaque(operator, a, b)


def times(width: str, a: el.Element, b: el.Element) -> el.Element:
    for one, other in ((a, b), (b, a)):
        if not el.is_constant(other):
            continue
        if isinstance(one, el.GivenNumber):
            el.require(other in (1, -1), el.refusal(one))
            return replace(one, sign=one.sign * int(other))
        if isinstance(one, el.Cleaned):
            return _scaled(one, float(other))
        known = el.exact(one)
        if known is not None and math.isfinite(other):
            product = el.NOTHING.plus(known, Fraction(other))
            if product.span.fits(el.BITS[width]):
                return product
    return _rounded("*", a, b, width)


def over(width: str, a: el.Element, b: el.Element) -> el.Element:
    if el.is_constant(b) and is_power_of_two(abs(float(b))):
        return times(width, a, 1.0 / float(b))
    return el.opaque("/", a, b)


def _scaled(cleaned: el.Cleaned, factor: float) -> el.Cleaned:
    """Scaled once before the rounding and once behind it, by what no number within the bounds runs out of bits for."""
    plain = is_power_of_two(factor) and SMALLEST <= factor <= el.LARGEST
    scaled = cleaned.factor if cleaned.rounded else cleaned.scale
    within = max(abs(cleaned.low), abs(cleaned.high)) * cleaned.scale <= el.LARGEST
    el.require(plain and scaled == 1.0 and within, el.refusal(cleaned))
    return replace(cleaned, factor=factor) if cleaned.rounded else replace(cleaned, scale=factor)


def negative(width: str, a: el.Element) -> el.Element:
    known = el.exact(a)
    return el.opaque("-", a) if known is None else el.NOTHING.plus(known, -1)


def _bounded(a: el.Element, b: el.Element, upper: bool) -> el.Element:
    """The smaller (upper) or larger of two numbers."""
    for one, limit in ((a, b), (b, a)):
        if el.is_constant(limit) and isinstance(one, el.GivenNumber | el.Cleaned):
            cleaned = one if isinstance(one, el.Cleaned) else el.Cleaned(one)
            early = not cleaned.rounded and cleaned.scale == 1.0 and cleaned.given.sign > 0
            el.require(early, el.refusal(cleaned))
            nearer = min if upper else max  # clipping to [low, high]: the upper bound counts last
            return replace(cleaned, low=nearer(cleaned.low, float(limit)), high=nearer(cleaned.high, float(limit)))
    return el.opaque("bounded", a, b)


def clipped(width: str, a: el.Element, low: el.Element, high: el.Element) -> el.Element:
    """A number within bounds; a code within the codes that there are, or one beyond."""
    if width != "i8":
        return _bounded(_bounded(a, low, upper=False), high, upper=True)
    codes = isinstance(a, el.Code) and (low, high) == (-1, FIRST_LEVEL_CODE + len(a.feature.levels))
    el.require(codes, "integers are cut off in another way")
    return el.Category((*range(high), low, high), a.feature)


def rounded(width: str, a: el.Element) -> el.Element:
    el.require(isinstance(a, el.Cleaned) and not a.rounded, el.refusal(a))
    return replace(a, rounded=True)


# Logic ---------------------------------------------------------------------------------------------------------------


def logical_not(width: str, a: el.Element) -> rg.Node:
    node = el.truth(a)
    return node.children[0] if isinstance(node, rg.Not) else rg.Not(node)


def _connected(connective: type[rg.And | rg.Or], a: el.Element, b: el.Element) -> rg.Node:
    one, other = el.truth(a), el.truth(b)
    neutral, decisive = (rg.TRUE, rg.FALSE) if connective is rg.And else (rg.FALSE, rg.TRUE)
    if decisive in (one, other):
        return decisive
    return other if one == neutral else one if other == neutral else connective((one, other))


def logical_xor(width: str, a: el.Element, b: el.Element) -> rg.Node:
    one, other = el.truth(a), el.truth(b)
    for first, second in ((one, other), (other, one)):
        if first in (rg.TRUE, rg.FALSE):
            return second if first == rg.FALSE else logical_not(width, second)
    return rg.Odd((one, other))


def either(test: rg.Node, yes: rg.Node, no: rg.Node) -> rg.Node:
    """What holds where a test does, and what where it does not."""
    if yes is no or test == rg.TRUE:
        return yes
    if test == rg.FALSE:
        return no
    if rg.TRUE in (yes, no):
        return _connected(rg.Or, test, no) if yes == rg.TRUE else _connected(rg.Or, rg.Not(test), yes)
    if rg.FALSE in (yes, no):
        return _connected(rg.And, test, yes) if no == rg.FALSE else _connected(rg.And, rg.Not(test), no)
    return rg.Or((rg.And((test, yes)), rg.And((rg.Not(test), no))))


# Comparisons ---------------------------------------------------------------------------------------------------------


def compared(a: el.Element, b: el.Element, or_equal: bool = False) -> el.Element:
    """Whether a > b, or a >= b."""
    if isinstance(a, el.GivenNumber) and el.is_constant(b):
        return a.above(float(b), or_equal)
    if isinstance(b, el.GivenNumber) and el.is_constant(a):  # a > b is -b > -a
        return replace(b, sign=-b.sign).above(-float(a), or_equal)
    if isinstance(a, el.Category | el.Picked) and el.is_constant(b):
        return a.mapped(lambda value: bool(value >= b if or_equal else value > b))
    one, other = el.exact(a), el.exact(b)
    if not or_equal:
        return Greater(el.to_node(a), el.to_node(b))
    if one is not None and other is not None:  # no NaN
        return rg.Not(Greater(el.to_node(b), el.to_node(a)))
    if other == el.NOTHING:
        return rg.LinearThreshold(((1.0, el.to_node(a)),), 0.0)
    return Greater(el.opaque("at least", a, b), Number(0.5))


def is_nan(width: str, a: el.Element) -> el.Element:
    el.require(isinstance(a, el.GivenNumber), el.refusal(a))
    return rg.Missing(a.feature.name)


# Choices and types ----------------------------------------------------------------------------------------------------


def chosen(width: str, condition: el.Element, a: el.Element, b: el.Element) -> el.Element:
    """A where the condition holds, else b."""
    node = el.truth(condition)
    if node in (rg.TRUE, rg.FALSE):
        return a if node == rg.TRUE else b
    if isinstance(b, el.Cleaned) and isinstance(node, rg.Missing) and el.is_constant(a):
        el.require(node.feature == b.given.feature.name, el.refusal(b))
        return b.column(float(a))
    return Choice(node, el.to_node(a), el.to_node(b))


def cast(width: str, origin: str, a: el.Element) -> el.Element:
    """The element in another type."""
    el.require((origin, width) in CASTS, f"a cast from {origin} to {width}")
    if isinstance(a, el.Code | el.Unused):
        return a
    if isinstance(a, el.GivenNumber):
        el.require(width != "i8", el.refusal(a))
        return replace(a, single=a.single or width == "f4")
    if isinstance(a, el.Cleaned):
        el.require((origin, width) == ("f4", "f8"), el.refusal(a))
        return a
    if isinstance(a, el.Category) or (isinstance(a, el.Picked) and origin != "bool"):
        return a.mapped(lambda value: _cast_constant(value, width))
    if el.is_constant(a):
        return _cast_constant(a, width)
    known = el.exact(el.truth(a) if origin == "bool" else a)
    if known is not None and (known.span.grid >= 0 or width[0] == "f") and known.span.fits(el.BITS[width]):
        return known
    return a if (origin, width) == ("f4", "f8") else el.opaque(f"cast {width}", a)


def _cast_constant(value: Any, width: str) -> Any:
    if width == "i8":
        el.require(int(value) == value and abs(value) < 2**53, "a number that is no index")
        return int(value)
    return float32(float(value)) if width == "f4" else float(value)


# Tables --------------------------------------------------------------------------------------------------------------


def looked_up(values: list[Any], index: el.Element) -> el.Element:
    """values[index]; a negative code of a category counts from the end."""
    size = len(values)

    def at(place: Any) -> Any:
        number = isinstance(place, bool | int | float) and float(place).is_integer()
        el.require(number and -size <= place < size, OUTSIDE)
        return values[int(place)]

    if isinstance(index, el.Category | el.Winner | el.Picked):
        return index.mapped(at)
    if el.is_constant(index):
        return at(index)
    known = el.exact(index)
    limits = None if known is None else known.limits
    if known is None or limits is None or limits[0] < 0 or limits[1] >= size:
        raise el.UnreadableError(OUTSIDE)
    first, last = limits
    if len(set(map(repr, values[first : last + 1]))) == 1:
        return values[first]
    return el.Picked(tuple(values[first : last + 1]), known.plus(el.Exact(Fraction(-first))))


def as_truth(element: el.Element) -> rg.Node:
    """A truth value as 0 and 1 as a node; raises UnreadableError for another number."""
    known = el.exact(element)
    if known is not None and not known.terms and known.constant in (0, 1):
        return rg.TRUE if known.constant else rg.FALSE
    if known is not None and len(known.terms) == 1 and known.terms[0][0].family is rg.Family.BOOLEAN:
        (node, weight), start = known.terms[0], known.constant
        if (start == 0 and weight == 1) or (start == 1 and weight == -1):
            return node if weight == 1 else rg.Not(node)
    raise el.UnreadableError("a number stands where a truth value as 0 or 1 should")


def winner(scores: list[el.Element]) -> el.Element:
    """The place of the first largest score."""
    nodes = [el.to_node(score) for score in scores]
    if len(nodes) == 2:  # a place that may be added to and looked up
        one, other = el.exact(scores[0]), el.exact(scores[1])
        if one is not None and other is not None:
            more = other.plus(one, -1)
            if more.span.fits(el.BITS["f8"]):
                return el.Exact(el.ZERO, ((Greater(el.to_node(more), Number(0.0)), Fraction(1)),))
    return el.Winner(tuple(range(len(nodes))), tuple(nodes))


# By kind of operator the element that comes out, of the width of the numbers and the elements that go in.
OPERATIONS: dict[str, Callable[..., el.Element]] = {
    "Not": logical_not,
    "And": lambda width, a, b: _connected(rg.And, a, b),
    "Or": lambda width, a, b: _connected(rg.Or, a, b),
    "Xor": logical_xor,
    "IsNaN": is_nan,
    "Greater": lambda width, a, b: compared(a, b),
    "Less": lambda width, a, b: compared(b, a),
    "GreaterOrEqual": lambda width, a, b: compared(a, b, or_equal=True),
    "Equal": lambda width, a, b: _connected(rg.And, compared(a, b, or_equal=True), compared(b, a, or_equal=True)),
    "Neg": negative,
    "Round": rounded,
    "Exp": lambda width, a: el.opaque("Exp", a),
    "Tanh": lambda width, a: el.opaque("Tanh", a),
    "Add": _summed("+"),
    "Sub": _summed("-"),
    "Mul": times,
    "Div": over,
    "Min": lambda width, a, b: _bounded(a, b, upper=True),
    "Max": lambda width, a, b: _bounded(a, b, upper=False),
    "Clip": clipped,
    "Where": chosen,
}
COMPARING = frozenset(("Greater", "Less", "GreaterOrEqual", "Equal", "IsNaN", "Not", "And", "Or", "Xor"))


# Trees ---------------------------------------------------------------------------------------------------------------


class Tree:
    """A TreeEnsembleClassifier of ai.onnx.ml over one row, read as logic over its tests.

    It is one tree whose nodes are numbered from its root on, in the order of the attributes, whose leaves weigh every
    class, and whose label is beyond doubt: exactly one weight of two is positive, or one of several is the largest and
    positive.
    """

    def __init__(self, attributes: dict[str, Any], columns: list[el.Element], classes: int) -> None:
        self.modes = [mode.decode() for mode in attributes["nodes_modes"]]
        count = len(self.modes)
        el.require(count <= MOST_NODES, "it has too many elements to be read")
        names = ("featureids", "values", "missing_value_tracks_true", "truenodeids", "falsenodeids")
        lists = [attributes[f"nodes_{name}"] for name in names]
        numbered = attributes["nodes_treeids"] == [0] * count and attributes["nodes_nodeids"] == list(range(count))
        whole = numbered and all(len(given) == count for given in lists)
        el.require(whole, "a tree whose nodes are not numbered from its root on")
        self.columns = columns
        self.features, self.bounds, self.missing, self.yes, self.no = lists
        self.order = self._children_first()
        there = all(0 <= feature < len(columns) for feature in self.features)
        el.require(there, "a tree that tests a column which is not there")
        self.tests = {i: self._test(i) for i, mode in enumerate(self.modes) if mode != "LEAF"}
        self.decided = self._labels(attributes, classes)
        self._check_codes()

    def formula(self, label: int) -> rg.Node:
        """When a class is the label."""
        holds: dict[int, rg.Node] = {}
        for i in self.order:
            if i in self.decided:
                holds[i] = rg.TRUE if self.decided[i] == label else rg.FALSE
            else:
                holds[i] = either(self.tests[i], holds[self.yes[i]], holds[self.no[i]])
        return holds[0]

    def _children_first(self) -> list[int]:
        """The numbers of all nodes, the root, which is the first, at the end."""
        order: dict[int, None] = {}
        stack = [0]
        while stack:
            i = stack.pop()
            el.require(0 <= i < len(self.modes) and i not in order, "a tree with a node that has two parents or none")
            order[i] = None
            if self.modes[i] != "LEAF":
                stack += [self.yes[i], self.no[i]]
        el.require(len(order) == len(self.modes), "a tree without one root")
        return [*order][::-1]

    def _test(self, i: int) -> rg.Node:
        """When a test holds; a number that is missing passes it where it says so, which a truth value never is."""
        element, bound, passes = self.columns[self.features[i]], self.bounds[i], self.missing[i]
        if isinstance(element, el.Code):
            codes = range(FIRST_LEVEL_CODE + len(element.feature.levels))
            el.require(-1 <= bound < len(codes), f"a test of codes of {element.feature.name!r} that are not there")
            element = el.Category(tuple(codes), element.feature)
        el.require(self.modes[i] == "BRANCH_GT" and passes in (0, 1), OTHER_TEST)
        el.require(isinstance(element, el.GivenNumber | el.Category | el.Exact), OTHER_TEST)
        if isinstance(element, el.Exact):
            el.require(0 <= bound < 1, "a tree with a test that a truth value does not decide")
            return as_truth(element)
        passed = el.truth(compared(element, bound))
        if passes and isinstance(element, el.GivenNumber):
            return rg.Or((passed, rg.Missing(element.feature.name)))
        return passed

    def _labels(self, attributes: dict[str, Any], classes: int) -> dict[int, int]:
        names = ("treeids", "nodeids", "ids", "weights")
        weights: dict[int, dict[int, float]] = {}
        for tree, node, index, weight in zip(*(attributes[f"class_{name}"] for name in names), strict=True):
            held = weights.setdefault(node, {})
            el.require(not tree and index not in held and math.isfinite(weight), OTHER_WEIGHT)
            held[index] = weight
        leaves = {i for i, mode in enumerate(self.modes) if mode == "LEAF"}
        el.require(set(weights) == leaves, "weights of a node that is no leaf, or none of a leaf")
        found = {}
        for leaf, own in weights.items():
            el.require(set(own) == set(range(classes)), OTHER_WEIGHT)
            *others, (best, label) = sorted((weight, index) for index, weight in own.items())
            clear = best > 0 and all(0 <= weight < best for weight, _ in others)
            none_of_two = classes != 2 or others[0][0] == 0
            el.require(clear and none_of_two, "a tree whose label is not beyond doubt")
            found[leaf] = label
        return found

    def _check_codes(self) -> None:
        """Raises UnreadableError where a code out of range does not lead to where the code of an unseen level leads."""
        for place, column in enumerate(self.columns):
            if isinstance(column, el.Code) and place in self.features:
                known: dict[Any, int] = {}
                beyond = FIRST_LEVEL_CODE + len(column.feature.levels)
                shapes = {self._shape(place, code, known) for code in (-1, UNSEEN_CODE, beyond)}
                el.require(len(shapes) == 1, f"a code of {column.feature.name!r} out of range is not read as unseen")

    def _shape(self, column: int, code: int, known: dict[Any, int]) -> int:
        """A number for the rest of the tree where a column has this code; equal trees have the same one."""
        numbers: dict[int, int] = {}
        for i in self.order:
            if i in self.decided:
                numbers[i] = known.setdefault(("label", self.decided[i]), len(known))
                continue
            yes, no = numbers[self.yes[i]], numbers[self.no[i]]
            if self.features[i] == column:
                numbers[i] = yes if code > self.bounds[i] else no
            elif yes == no:
                numbers[i] = yes
            else:
                key = (self.features[i], self.bounds[i], self.missing[i], yes, no)
                numbers[i] = known.setdefault(key, len(known))
        return numbers[0]
