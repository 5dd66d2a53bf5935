"""Operators of ONNX on tensors of elements that stand for one row (`rulekit_exporters.onnx.inspection.elements`).

A tensor that has a value for each row keeps its shape with 1 in place of the number of rows; `axis` is that place.
Anything but the operators of the table is refused by name, so that nothing is guessed. A reader takes what reading has
cost so far, its operands and its attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.exactness import Span
from rulekit.graph import nodes as rg
from rulekit.numbers import float32
from rulekit_exporters.onnx.inspection import values as el
from rulekit_exporters.onnx.inspection.elements import COMPARING, OPERATIONS, OUTSIDE, Tree, cast, looked_up, winner

MOST_ELEMENTS = 3_000_000  # of all tensors together
APART = "rows are combined with each other"
HANGS_ON_ROWS = "a shape that hangs on the number of rows"
Objects = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class RowTensor:
    """Elements [.., 1, ..] with the rows along `axis`, and their type ("bool", "f4", "f8", "i8", "text")."""

    elements: Objects
    axis: int
    width: str


@dataclass(frozen=True, slots=True)
class RowShape:
    """A shape that is computed with: None stands for the number of rows."""

    sizes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of the words of a text, which stand for these columns; [N, M], or turned [M, N]."""

    columns: tuple[str, ...]
    turned: bool = False
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class OfIds:
    """The shape of ids, or True for each of them."""

    ids: Ids
    width: str


Value = RowTensor | RowShape | Ids | OfIds | Objects


@dataclass(slots=True)
class ReadingCost:
    """What reading has cost so far, and whether an operation was met that a runtime may leave out.

    onnxruntime (seen in 1.31) drops a product with a double constant whose float32 value is 1, and a sum with one whose
    float32 value is 0, so that the formula is not what is computed.
    """

    elements: int = 0
    dropped: bool = False

    def spend(self, count: int) -> None:
        self.elements += count
        el.require(self.elements <= MOST_ELEMENTS, "it has too many elements to be read")


def rows(value: Value) -> RowTensor:
    if not isinstance(value, RowTensor):
        raise el.UnreadableError("an operator that reads no row")
    return value


def constant(value: Value) -> Objects:
    if not isinstance(value, np.ndarray):
        raise el.UnreadableError("a constant of an operator hangs on the row")
    return value


def plain(array: Objects) -> Objects:
    """The same array with Python's own numbers, texts and truth values."""
    result = np.empty(array.shape, dtype=object)
    flat = [value.decode() if isinstance(value, bytes) else value for value in array.reshape(-1).tolist()]
    result.reshape(-1)[:] = flat if array.ndim else flat[:1]
    return result


def full(value: Value, like: RowTensor) -> Objects:
    """The elements of an operand beside the rows of another one; raises UnreadableError where rows would mix."""
    back = like.axis - like.elements.ndim
    if isinstance(value, RowTensor):
        el.require(value.axis - value.elements.ndim == back, APART)
        return value.elements
    array = constant(value)
    el.require(array.ndim < -back or array.shape[back] == 1, "a constant differs from row to row")
    return plain(array)


def among(inputs: Sequence[Value]) -> RowTensor:
    """The operand of most dimensions that has rows."""
    found = [value for value in inputs if isinstance(value, RowTensor)]
    el.require(found, "an operator on constants alone")
    return max(found, key=lambda value: value.elements.ndim)


def elementwise(cost: ReadingCost, operation: Callable[..., Any], values: Sequence[Value], width: str) -> RowTensor:
    """An operation on operands that are broadcast."""
    like = among(values)
    try:
        arrays = np.broadcast_arrays(*(full(value, like) for value in values))
    except ValueError:
        raise el.UnreadableError("shapes that do not fit") from None
    cost.spend(arrays[0].size)
    result = np.empty(arrays[0].shape, dtype=object)
    result.reshape(-1)[:] = list(map(operation, *(array.reshape(-1) for array in arrays)))
    return RowTensor(result, result.ndim + like.axis - like.elements.ndim, width)


def type_of(value: Value) -> str:
    """The element type of an operand, as `rulekit_exporters.onnx.builder` has it."""
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        return "text" if kind in "OUS" else "bool" if kind == "b" else f"{kind}{value.dtype.itemsize}"
    return value.width if isinstance(value, RowTensor | OfIds) else "i8"


def operation(kind: str, cost: ReadingCost, *inputs: Value) -> Value:
    """An operator that takes element by element, in the width of its last operand."""
    width = type_of(inputs[-1])
    if kind in ("Add", "Sub", "Mul", "Div") and width == "f8":
        neutral = 1.0 if kind in ("Mul", "Div") else 0.0
        numbers = [x for value in inputs if isinstance(value, np.ndarray) for x in value.reshape(-1)[:64].tolist()]
        cost.dropped |= any(number != neutral and float32(number) == neutral for number in numbers)
    return elementwise(cost, partial(OPERATIONS[kind], width), inputs, "bool" if kind in COMPARING else width)


def cast_to(cost: ReadingCost, value: Value, to: int) -> Value:
    width = {1: "f4", 11: "f8", 7: "i8"}.get(to, "another type")
    return elementwise(cost, partial(cast, width, rows(value).width), [value], width)


# Shapes --------------------------------------------------------------------------------------------------------------


def shape(cost: ReadingCost, value: Value) -> Value:
    if isinstance(value, Ids):
        return OfIds(value, "i8")
    tensor = rows(value)
    return RowShape(tuple(None if i == tensor.axis else size for i, size in enumerate(tensor.elements.shape)))


def transpose(cost: ReadingCost, value: Value, perm: list[int]) -> Value:
    if isinstance(value, Ids) and perm == [1, 0]:
        return replace(value, turned=not value.turned)
    tensor = rows(value)
    return RowTensor(tensor.elements.transpose(perm), perm.index(tensor.axis), tensor.width)


def flatten(cost: ReadingCost, value: Value, axis: int) -> Value:
    tensor = rows(value)
    sizes, behind = tensor.elements.shape, tensor.axis >= axis
    first, last = math.prod(sizes[:axis]), math.prod(sizes[axis:])
    el.require((last if behind else first) == 1, "rows and columns are flattened together")
    return RowTensor(tensor.elements.reshape(first, last), int(behind), tensor.width)


def reshape(cost: ReadingCost, value: Value, wanted: Value) -> Value:
    """[k, N] of a tensor whose last dimension are the rows already."""
    tensor, (height, rest) = rows(value), constant(wanted).tolist()
    size, last = tensor.elements.size, tensor.axis == tensor.elements.ndim - 1
    el.require(last and (height, rest) == (size, -1), "rows and columns change places")
    return RowTensor(tensor.elements.reshape(size, 1), 1, tensor.width)


def concat(cost: ReadingCost, *inputs: Value, axis: int) -> Value:
    if any(isinstance(part, RowShape) for part in inputs):
        sizes: list[int | None] = []
        for part in inputs:
            sizes += part.sizes if isinstance(part, RowShape) else [int(size) for size in constant(part).tolist()]
        return RowShape(tuple(sizes))
    like = among(inputs)
    el.require(axis % like.elements.ndim != like.axis, APART)
    cost.spend(sum(math.prod(p.elements.shape if isinstance(p, RowTensor) else constant(p).shape) for p in inputs))
    joined = np.concatenate([full(part, like) for part in inputs], axis=axis)
    return RowTensor(joined, like.axis, like.width)


def expand(cost: ReadingCost, value: Value, target: Value) -> Value:
    given = constant(value)
    if isinstance(target, OfIds) and target.width == "i8":
        el.require(given.dtype == np.bool_ and given.ndim == 0 and given, OTHER_IDS)
        return OfIds(target.ids, "bool")
    if not isinstance(target, RowShape) or target.sizes.count(None) != 1:
        raise el.UnreadableError(HANGS_ON_ROWS)
    sizes = tuple(1 if size is None else size for size in target.sizes)
    cost.spend(math.prod(sizes))
    spread = np.broadcast_to(plain(given), np.broadcast_shapes(given.shape, sizes))
    return RowTensor(spread.copy(), target.sizes.index(None), type_of(value))


def pad(cost: ReadingCost, value: Value, wanted: Value, filler: Value) -> Value:
    tensor, widths = rows(value), constant(wanted).tolist()
    rank = tensor.elements.ndim
    around = list(zip(widths[:rank], widths[rank:], strict=True))
    el.require(min(widths) >= 0 and around[tensor.axis] == (0, 0), "a padding of another kind")
    cost.spend(math.prod(size + sum(pair) for size, pair in zip(tensor.elements.shape, around, strict=True)))
    filled = np.pad(tensor.elements, around, constant_values=plain(constant(filler)).reshape(-1)[0])
    return RowTensor(filled, tensor.axis, tensor.width)


def gather(cost: ReadingCost, data: Value, index: Value, axis: int) -> Value:
    if isinstance(data, OfIds):
        el.require(data.width == "i8" and constant(index).tolist() == [int(data.ids.turned)], OTHER_IDS)
        return RowShape((None,))  # the number of rows
    if isinstance(data, RowShape):
        return RowShape(tuple(data.sizes[place] for place in constant(index).reshape(-1).tolist()))
    if isinstance(data, RowTensor) and isinstance(index, np.ndarray):
        axis %= data.elements.ndim
        el.require(axis != data.axis and (index.ndim < 2 or axis < data.axis), APART)
        cost.spend(index.size * max(1, data.elements.size // max(1, data.elements.shape[axis])))
        try:
            taken = np.take(data.elements, index, axis=axis)
        except IndexError:
            raise el.UnreadableError(OUTSIDE) from None
        return RowTensor(taken, data.axis + (index.ndim - 1) * (axis < data.axis), data.width)
    table, places = constant(data), rows(index)
    axis %= table.ndim
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    cost.spend(math.prod((*before, *places.elements.shape, *after)))
    columns = plain(np.moveaxis(table, axis, -1)).reshape(-1, table.shape[axis]).tolist()
    found = np.empty((len(columns), places.elements.size), dtype=object)
    for i, element in enumerate(places.elements.reshape(-1)):
        found[:, i] = [looked_up(column, element) for column in columns]
    shaped = found.reshape(*before, *after, *places.elements.shape)
    order = [*range(axis), *range(table.ndim - 1, shaped.ndim), *range(axis, table.ndim - 1)]
    return RowTensor(shaped.transpose(order), axis + places.axis, type_of(table))


def argmax(cost: ReadingCost, value: Value, axis: int, keepdims: int) -> Value:
    tensor = rows(value)
    axis %= tensor.elements.ndim
    el.require(axis != tensor.axis and keepdims == 0, "an arg-max of another kind")
    moved = np.moveaxis(tensor.elements, axis, -1)
    cost.spend(moved.size * moved.shape[-1])
    found = np.empty(moved.shape[:-1], dtype=object)
    found.reshape(-1)[:] = [winner(scores.tolist()) for scores in moved.reshape(-1, moved.shape[-1])]
    return RowTensor(found, tensor.axis - (axis < tensor.axis), "i8")


# Products ------------------------------------------------------------------------------------------------------------


def matmul(cost: ReadingCost, a: Value, b: Value) -> Value:
    weights = constant(a)
    product = _product(cost, np.atleast_2d(weights), rows(b), np.zeros((1, 1)))
    return RowTensor(product.elements[0], 0, product.width) if weights.ndim == 1 else product


def gemm(cost: ReadingCost, a: Value, b: Value, bias: Value, transA: int = 0) -> Value:
    if transA:
        a = _turned(a) if isinstance(a, RowTensor) else constant(a).T
    start = constant(bias)
    if isinstance(a, RowTensor):
        el.require(a.elements.ndim == 2 and a.axis == 0, APART)
        weights = constant(b).T
        return _turned(_product(cost, weights, _turned(a), np.broadcast_to(start, (1, len(weights))).T))
    weights = constant(a)
    return _product(cost, weights, rows(b), np.broadcast_to(start, (len(weights), 1)))


def _turned(value: RowTensor) -> RowTensor:
    return RowTensor(value.elements.T, 1 - value.axis, value.width)


def _product(cost: ReadingCost, weights: Objects, value: RowTensor, bias: Objects) -> RowTensor:
    """Weights [k, l] times [l, N], plus bias [k, 1]: sums that no order rounds, or numbers known by their terms."""
    fits = value.elements.ndim == 2 == weights.ndim and value.axis == 1 and weights.shape[1] == len(value.elements)
    el.require(fits, APART)
    cost.spend(weights.size)
    terms = list(value.elements[:, 0])
    known = [el.exact(term) for term in terms]
    result = np.empty((len(weights), 1), dtype=object)
    for k, (row, start) in enumerate(zip(weights.tolist(), np.broadcast_to(bias, (len(weights), 1)), strict=True)):
        result[k, 0] = _sum(row, terms, known, start.item(), value.width)
    return RowTensor(result, 1, value.width)


def _sum(row: list[Any], terms: Sequence[Any], known: list[el.Exact | None], start: float, width: str) -> Any:
    if None not in known and all(map(math.isfinite, (start, *row))):
        weights: dict[Any, Fraction] = {}
        constant_part, span = Fraction(start), Span.of(start)
        for weight, part in zip(row, known, strict=True):
            if weight == 0 or part is None:
                continue
            factor = Fraction(weight)
            span += Span.of(factor).times(part.span)
            constant_part += part.constant * factor
            for node, own in part.terms:
                weights[node] = weights.get(node, Fraction(0)) + own * factor
        if span.fits(el.BITS[width]):
            return el.Exact(constant_part, tuple((node, weight) for node, weight in weights.items() if weight))
    used = [term for weight, term in zip(row, terms, strict=True) if not el.is_constant(term)]
    return el.opaque("product", *used)


def tree_classifier(cost: ReadingCost, value: Value, **attributes: Any) -> tuple[Value, Value]:
    """Label [N] and scores [N, classes]."""
    columns = rows(value)
    el.require(columns.elements.ndim == 2 and columns.axis == 0, "a tree over something that is no row")
    el.require(attributes["post_transform"] == b"NONE", "a tree whose scores are transformed")
    integers = attributes.get("classlabels_int64s")
    labels = integers or [text.decode() for text in attributes["classlabels_strings"]]
    tree = Tree(attributes, columns.elements[0].tolist(), len(labels))
    cost.spend(len(tree.modes) * 4)
    calls_them_0_and_1 = len(labels) == 2 and integers not in (None, [0, 1])
    el.require(not calls_them_0_and_1, "a tree whose labels a runtime calls 0 and 1")
    element = np.empty(1, dtype=object)
    element[0] = el.Outcome(tuple(labels), tuple(map(tree.formula, range(len(labels)))))
    scores = np.empty((1, len(labels)), dtype=object)
    used = tuple(test for test in tree.tests.values() if test not in (rg.TRUE, rg.FALSE))
    scores[0, :] = [el.opaque("score", *used) for _ in labels]
    return RowTensor(element, 0, "i8" if integers else "text"), RowTensor(scores, 0, "f4")


# Ids of words --------------------------------------------------------------------------------------------------------

# A row has any number of ids, so that they are no elements of a tensor (`rulekit_exporters.onnx.word_ids`). The one
# thing that is read of them is that each id of a row sets the truth value of its word: clipped to the words and one row
# beyond, scattered over rows of False.
OTHER_IDS = "ids of words are used in another way than rulekit writes"


def clip(cost: ReadingCost, value: Value, low: Value, high: Value) -> Value:
    if not isinstance(value, Ids):
        return operation("Clip", cost, value, constant(low), constant(high))
    ends = constant(low), constant(high)
    same = ends[0].ndim == ends[1].ndim == 0 and tuple(map(int, ends)) == (-1, len(value.columns))
    el.require(same, OTHER_IDS)
    return replace(value, clipped=True)


def scatter(cost: ReadingCost, nowhere: Value, ids: Value, true: Value, axis: int) -> Value:
    """[words + 1, N]: which words a text has; the last row takes what is no id of a word."""
    el.require(
        isinstance(ids, Ids) and ids.turned and ids.clipped and axis == 0 and true == OfIds(ids, "bool"), OTHER_IDS
    )
    assert isinstance(ids, Ids)
    size, tensor = len(ids.columns), rows(nowhere)
    every = tensor.elements.shape == (size + 1, 1) and tensor.axis == 1
    el.require(every and all(element is False for element in tensor.elements[:, 0]), OTHER_IDS)
    cost.spend(size + 1)
    held = np.empty((size + 1, 1), dtype=object)
    held[:, 0] = [*map(rg.IsTrue, ids.columns), el.Unused("what is no id of a word is read")]
    return RowTensor(held, 1, "bool")


READERS: dict[str, Callable[..., Value]] = {
    **{kind: partial(operation, kind) for kind in OPERATIONS},
    "Clip": clip,
    "Cast": cast_to,
    "Identity": lambda cost, value: value,
    "Shape": shape,
    "Transpose": transpose,
    "Flatten": flatten,
    "Reshape": reshape,
    "Concat": concat,
    "Expand": expand,
    "Pad": pad,
    "Gather": gather,
    "MatMul": matmul,
    "Gemm": gemm,
    "ArgMax": argmax,
    "ScatterElements": scatter,
}
