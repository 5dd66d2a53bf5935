"""Operators of ONNX on tensors of elements that stand for one row (`rulekit_exporters.onnx.inspection.elements`).

A tensor that has a value for each row keeps its shape with 1 in place of the number of rows; `axis` is that place.
Anything but the operators of the table is refused by name, so that nothing is guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.exactness import Span
from rulekit.numbers import float32
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit_exporters.onnx.inspection.elements import BINARY, COMPARING, UNARY, cast, chosen, looked_up, winner
from rulekit_exporters.onnx.inspection.values import (
    BITS,
    Category,
    Code,
    Element,
    Exact,
    UnreadableError,
    exact,
    is_constant,
    opaque,
)

MOST_ELEMENTS = 3_000_000  # of all tensors together
Attributes = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class RowTensor:
    """Elements [.., 1, ..] with the rows along `axis`, and their type ("bool", "f4", "f8", "i8", "text")."""

    elements: npt.NDArray[Any]
    axis: int
    width: str


@dataclass(frozen=True, slots=True)
class RowShape:
    """A shape that is computed with: None stands for the number of rows."""

    sizes: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Ids:
    """The ids of the words of a text, which stand for these columns; [N, M], or turned [M, N].

    A row has any number of them, so that they are no elements (`rulekit_exporters.onnx.inspection.word_ids`).
    """

    columns: tuple[str, ...]
    turned: bool = False
    clipped: bool = False


@dataclass(frozen=True, slots=True)
class IdsShape:
    """The shape of ids."""

    of: Ids


@dataclass(frozen=True, slots=True)
class TrueOfEach:
    """True for each of the ids."""

    of: Ids


Value = RowTensor | RowShape | Ids | IdsShape | TrueOfEach | npt.NDArray[Any]
# Inputs and attributes -> the output.
Reader = Callable[["ReadingCost", Sequence[Value], Attributes], Value]


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
        if self.elements > MOST_ELEMENTS:
            raise UnreadableError("it has too many elements to be read")


def rows(value: Value) -> RowTensor:
    if not isinstance(value, RowTensor):
        raise UnreadableError("an operator that reads no row")
    return value


def constant(value: Value) -> npt.NDArray[Any]:
    if not isinstance(value, np.ndarray):
        raise UnreadableError("a constant of an operator hangs on the row")
    return value


def plain(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same array with Python's own numbers, texts and truth values."""
    result = np.empty(array.shape, dtype=object)
    flat = [value.decode() if isinstance(value, bytes) else value for value in array.reshape(-1).tolist()]
    result.reshape(-1)[:] = flat if array.ndim else flat[:1]
    return result


def full(value: Value, like: RowTensor) -> npt.NDArray[Any]:
    """The elements of an operand beside the rows of another one; raises UnreadableError where rows would mix."""
    if isinstance(value, RowTensor):
        if value.axis - value.elements.ndim != like.axis - like.elements.ndim:
            raise UnreadableError("rows are combined with each other")
        return value.elements
    array = constant(value)
    back = like.axis - like.elements.ndim
    if array.ndim >= -back and array.shape[back] != 1:
        raise UnreadableError("a constant differs from row to row")
    return plain(array)


def elementwise(
    reach: ReadingCost, operation: Callable[..., Element], values: Sequence[Value], width: str
) -> RowTensor:
    """An operation on operands that are broadcast."""
    like = max((v for v in values if isinstance(v, RowTensor)), key=lambda v: v.elements.ndim, default=None)
    if like is None:
        raise UnreadableError("an operator on constants alone")
    operands = [full(value, like) for value in values]
    try:
        arrays = np.broadcast_arrays(*operands)
    except ValueError:
        raise UnreadableError("shapes that do not fit") from None
    reach.spend(arrays[0].size)
    result = np.empty(arrays[0].shape, dtype=object)
    flat = result.reshape(-1)
    for i, elements in enumerate(zip(*(array.reshape(-1) for array in arrays), strict=True)):
        flat[i] = operation(*elements)
    return RowTensor(result, result.ndim + like.axis - like.elements.ndim, width)


def type_of(value: Value) -> str:
    """The element type of an operand, as `rulekit_exporters.onnx.builder` has it."""
    if isinstance(value, np.ndarray):
        kind = value.dtype.kind
        return "text" if kind in "OUS" else "bool" if kind == "b" else f"{kind}{value.dtype.itemsize}"
    return value.width if isinstance(value, RowTensor) else "bool" if isinstance(value, TrueOfEach) else "i8"


def binary(kind: str) -> Reader:
    operation = BINARY[kind]

    def read(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
        width = type_of(inputs[0])
        if kind in ("Add", "Sub", "Mul", "Div") and width == "f8":
            reach.dropped |= any(isinstance(v, np.ndarray) and _may_be_dropped(v, kind) for v in inputs)
        return elementwise(reach, lambda a, b: operation(a, b, width), inputs, "bool" if kind in COMPARING else width)

    return read


def _may_be_dropped(array: npt.NDArray[Any], kind: str) -> bool:
    neutral = 1.0 if kind in ("Mul", "Div") else 0.0
    return any(value != neutral and float32(value) == neutral for value in array.reshape(-1)[:64].tolist())


def unary(kind: str) -> Reader:
    def read(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
        value = inputs[0]
        if not isinstance(value, RowTensor):
            if kind == "Identity":
                return value
            raise UnreadableError("an operator on constants alone")
        width = value.width
        return elementwise(reach, lambda a: UNARY[kind](a, width), [value], "bool" if kind in COMPARING else width)

    return read


def where(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    return elementwise(reach, chosen, inputs, type_of(inputs[1]))


def clip(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value, low, high = rows(inputs[0]), constant(inputs[1]), constant(inputs[2])
    if value.width == "i8":
        return elementwise(reach, lambda a: _clipped_code(a, int(low), int(high)), [value], value.width)
    return binary("Min")(reach, [binary("Max")(reach, [value, low], {}), high], {})


def _clipped_code(code: Element, low: int, high: int) -> Element:
    """A code within the codes that there are, or one beyond."""
    if not isinstance(code, Code) or (low, high) != (-1, FIRST_LEVEL_CODE + len(code.feature.levels)):
        raise UnreadableError("integers are cut off in another way")
    return Category(code.feature, (*range(high), low, high))


def cast_to(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value = rows(inputs[0])
    width = {1: "f4", 11: "f8", 7: "i8"}.get(attributes["to"], "another type")
    return elementwise(reach, lambda a: cast(a, width, value.width), [value], width)


# Shapes --------------------------------------------------------------------------------------------------------------


def shape(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value = rows(inputs[0])
    return RowShape(tuple(None if i == value.axis else size for i, size in enumerate(value.elements.shape)))


def transpose(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value = rows(inputs[0])
    order = attributes["perm"]
    return RowTensor(value.elements.transpose(order), list(order).index(value.axis), value.width)


def flatten(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value = rows(inputs[0])
    axis = attributes["axis"]
    sizes = value.elements.shape
    first, last = math.prod(sizes[:axis]), math.prod(sizes[axis:])
    mixed = first if value.axis < axis else last
    if mixed != 1:
        raise UnreadableError("rows and columns are flattened together")
    return RowTensor(value.elements.reshape(first, last), 0 if value.axis < axis else 1, value.width)


def reshape(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    sizes = [int(size) for size in constant(inputs[1]).tolist()]
    value = rows(inputs[0])
    target = [value.elements.shape[i] if size == 0 and i != value.axis else size for i, size in enumerate(sizes)]
    if value.axis < len(sizes) and sizes[value.axis] == 0 and -1 not in sizes:
        target[value.axis] = -1
    if target.count(-1) != 1 or math.prod(size for size in target if size != -1) != value.elements.size:
        raise UnreadableError("a shape that hangs on the number of rows")
    axis = target.index(-1)
    before = [size for size in value.elements.shape[: value.axis] if size != 1]
    if before != [size for size in target[:axis] if size != 1]:
        raise UnreadableError("rows and columns change places")
    return RowTensor(value.elements.reshape([1 if size == -1 else size for size in target]), axis, value.width)


def concat(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    if any(isinstance(part, RowShape) for part in inputs):
        sizes: list[int | None] = []
        for part in inputs:
            sizes += part.sizes if isinstance(part, RowShape) else [int(size) for size in constant(part).tolist()]
        return RowShape(tuple(sizes))
    like = next((part for part in inputs if isinstance(part, RowTensor)), None)
    if like is None:
        raise UnreadableError("an operator on constants alone")
    axis = attributes["axis"] % like.elements.ndim
    if axis == like.axis:
        raise UnreadableError("rows are put one after another")
    reach.spend(sum(math.prod(p.elements.shape if isinstance(p, RowTensor) else constant(p).shape) for p in inputs))
    joined = np.concatenate([full(part, like) for part in inputs], axis=axis)
    return RowTensor(joined, like.axis, like.width)


def expand(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value, target = inputs[0], inputs[1]
    if not isinstance(target, RowShape) or target.sizes.count(None) != 1:
        raise UnreadableError("a shape that hangs on the number of rows")
    axis = target.sizes.index(None)
    sizes = tuple(1 if size is None else size for size in target.sizes)
    reach.spend(math.prod(sizes))
    elements = plain(constant(value))
    spread = np.broadcast_to(elements, np.broadcast_shapes(elements.shape, sizes))
    return RowTensor(spread.copy(), axis, type_of(value))


def pad(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value, widths = rows(inputs[0]), constant(inputs[1]).tolist()
    if min(widths) < 0:
        raise UnreadableError("a padding of another kind")
    rank = value.elements.ndim
    if widths[value.axis] or widths[value.axis + rank]:
        raise UnreadableError("rows are put one after another")
    filler = plain(constant(inputs[2])).reshape(-1)[0]
    around = list(zip(widths[:rank], widths[rank:], strict=True))
    reach.spend(math.prod(size + sum(pair) for size, pair in zip(value.elements.shape, around, strict=True)))
    return RowTensor(np.pad(value.elements, around, constant_values=filler), value.axis, value.width)


def gather(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    data, index = inputs[0], inputs[1]
    axis = attributes["axis"]
    if isinstance(data, RowShape):
        return RowShape(tuple(data.sizes[place] for place in constant(index).reshape(-1).tolist()))
    if isinstance(data, RowTensor) and isinstance(index, np.ndarray):
        axis %= data.elements.ndim
        if axis == data.axis or (index.ndim > 1 and axis > data.axis):
            raise UnreadableError("rows are picked")
        reach.spend(index.size * max(1, data.elements.size // max(1, data.elements.shape[axis])))
        try:
            taken = np.take(data.elements, index, axis=axis)
        except IndexError:
            raise UnreadableError("an index may leave its table") from None
        return RowTensor(taken, data.axis + (index.ndim - 1) * (axis < data.axis), data.width)
    table, places = constant(data), rows(index)
    axis %= table.ndim
    spread = plain(np.moveaxis(table, axis, 0)).reshape(table.shape[axis], -1)
    sizes = (*table.shape[:axis], *places.elements.shape, *table.shape[axis + 1 :])
    reach.spend(math.prod(sizes))
    columns = [spread[:, j].tolist() for j in range(spread.shape[1])]
    found: npt.NDArray[Any] = np.empty((len(columns), places.elements.size), dtype=object)
    for i, element in enumerate(places.elements.reshape(-1)):
        for j, column in enumerate(columns):
            found[j, i] = looked_up(column, element)
    before, after = table.shape[:axis], table.shape[axis + 1 :]
    shaped = found.reshape(*before, *after, *places.elements.shape)
    order = [*range(axis), *range(table.ndim - 1, shaped.ndim), *range(axis, table.ndim - 1)]
    return RowTensor(shaped.transpose(order).reshape(sizes), axis + places.axis, type_of(table))


def argmax(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    value = rows(inputs[0])
    axis = attributes["axis"] % value.elements.ndim
    if axis == value.axis or attributes["keepdims"] != 0:
        raise UnreadableError("an arg-max of another kind")
    moved = np.moveaxis(value.elements, axis, -1)
    flat = moved.reshape(-1, moved.shape[-1])
    reach.spend(flat.size * flat.shape[1])
    found = np.empty(len(flat), dtype=object)
    for i, scores in enumerate(flat):
        found[i] = winner(scores.tolist())
    row_axis = value.axis - (axis < value.axis)
    return RowTensor(found.reshape(moved.shape[:-1]), row_axis, "i8")


def softmax(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    """The exponentials of a row by their sum."""
    value = rows(inputs[0])
    if value.elements.ndim != 2 or value.axis != 0 or attributes["axis"] != 1:
        raise UnreadableError("a softmax of another kind")
    reach.spend(value.elements.size**2)
    elements = value.elements[0].tolist()
    found = np.array([[opaque("Softmax", element, *elements) for element in elements]], dtype=object)
    return RowTensor(found, 0, value.width)


def matmul(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    weights = constant(inputs[0])
    product = _product(reach, np.atleast_2d(weights), rows(inputs[1]))
    return RowTensor(product.elements[0], 0, product.width) if weights.ndim == 1 else product


def gemm(reach: ReadingCost, inputs: Sequence[Value], attributes: Attributes) -> Value:
    a, b = inputs[:2]
    if attributes.get("transA", 0):
        a = _turned(a) if isinstance(a, RowTensor) else constant(a).T
    bias = constant(inputs[2])
    if isinstance(a, RowTensor):
        if a.elements.ndim != 2 or a.axis != 0:
            raise UnreadableError("rows are added up")
        spread = np.broadcast_to(bias, (1, constant(b).shape[1])).T
        return _turned(_product(reach, constant(b).T, _turned(a), spread))
    return _product(reach, constant(a), rows(b), np.broadcast_to(bias, (constant(a).shape[0], 1)))


def _turned(value: RowTensor) -> RowTensor:
    return RowTensor(value.elements.T, 1 - value.axis, value.width)


def _product(
    reach: ReadingCost, weights: npt.NDArray[Any], value: RowTensor, bias: npt.NDArray[Any] | None = None
) -> RowTensor:
    """Weights [k, l] times [l, N], plus bias [k, 1]: sums that no order rounds, or numbers known by their terms."""
    if value.elements.ndim != 2 or value.axis != 1 or weights.ndim != 2 or weights.shape[1] != len(value.elements):
        raise UnreadableError("rows are added up")
    reach.spend(weights.size)
    terms = list(value.elements[:, 0])
    known = [exact(term) for term in terms]
    result = np.empty((len(weights), 1), dtype=object)
    for k, row in enumerate(weights.tolist()):
        start = 0.0 if bias is None else bias[k, 0].item()
        result[k, 0] = _sum(row, terms, known, start, value.width)
    return RowTensor(result, 1, value.width)


def _sum(row: list[Any], terms: Sequence[Element], known: list[Exact | None], start: float, width: str) -> Element:
    if None not in known and all(map(math.isfinite, (start, *row))):
        weights: dict[Any, Fraction] = {}
        constant_part = Fraction(start)
        span = Span.of(start)
        for weight, part in zip(row, known, strict=True):
            if weight == 0 or part is None:
                continue
            factor = Fraction(weight)
            span += Span.of(factor).times(part.span)
            constant_part += part.constant * factor
            for node, own in part.terms:
                weights[node] = weights.get(node, Fraction(0)) + own * factor
        if span.fits(BITS[width]):
            return Exact(constant_part, tuple((node, weight) for node, weight in weights.items() if weight))
    used = [term for weight, term in zip(row, terms, strict=True) if not is_constant(term)]
    return opaque("product", *used)


READERS: dict[str, Reader] = {
    **{kind: binary(kind) for kind in BINARY},
    **{kind: unary(kind) for kind in UNARY},
    "Where": where,
    "Clip": clip,
    "Cast": cast_to,
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
    "Softmax": softmax,
}
