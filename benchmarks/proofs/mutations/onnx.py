"""Places in an ONNX model where a single fault can be put, whatever formulation it has.

What a constant means is told by the operator that takes it: a number that is compared, the index of a column, an entry
of a table, a weight. Only operators that the label hangs on are changed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper, numpy_helper

from benchmarks.proofs.mutations.faults import Site

Array = npt.NDArray[Any]
Change = Callable[[onnx.ModelProto], None]

FLIPPED = {
    "Greater": ("Less", "GreaterOrEqual"),
    "GreaterOrEqual": ("LessOrEqual", "Greater"),
    "Less": ("Greater", "LessOrEqual"),
    "LessOrEqual": ("GreaterOrEqual", "Less"),
    "And": ("Or",),
    "Or": ("And",),
    "ArgMax": ("ArgMin",),
    "Max": ("Min",),
    "Min": ("Max",),
}
CONTRARY = {"Greater": "LessOrEqual", "LessOrEqual": "Greater", "Less": "GreaterOrEqual", "GreaterOrEqual": "Less"}
BOOLEAN = {*CONTRARY, "And", "Or", "Not", "IsNaN", "Equal", "Xor"}
ARITHMETIC = {"Add", "Sub", "Mul", "Div", "Where", "Max", "Min", "Concat", "Pow"}


def sites(content: bytes) -> list[Site]:
    """Every fault that can be put into a model."""
    model = onnx.ModelProto.FromString(content)
    nodes = _behind_the_label(model)
    before = _before_comparisons(model)
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    found: list[Site] = []
    for index in nodes:
        node = model.graph.node[index]
        places = _of_signs(node, constants) if index in before else _of_constants(index, node, constants)
        for kind, what, change, *more in [*_of_operator(index, node, model), *places]:
            numbers, texts = (*more, (), ())[:2]
            made = _maker(content, change)
            wording = kind in ("level changed", "default changed")
            mixed = kind == "columns swapped"
            mirrored = index in before
            found.append(Site(kind, f"{node.op_type}: {what}", made, numbers, texts, mixed, wording, mirrored))
    return found


def _maker(content: bytes, change: Change) -> Callable[[], bytes]:
    def make() -> bytes:
        model = onnx.ModelProto.FromString(content)
        change(model)
        return bytes(model.SerializeToString())

    return make


def _behind_the_label(model: onnx.ModelProto) -> list[int]:
    """Indices of the nodes that the first output, the label, hangs on; without those before a rounding to a grid.

    What happens to a value before it is rounded cannot be seen on the finitely many values that are enumerated.
    """
    makers = {output: i for i, node in enumerate(model.graph.node) for output in node.output}
    wanted = _above([model.graph.output[0].name], makers, model)
    rounds = [name for i in wanted if model.graph.node[i].op_type == "Round" for name in model.graph.node[i].output]
    return sorted(wanted - _above(rounds, makers, model))


def _before_comparisons(model: onnx.ModelProto) -> set[int]:
    """Arithmetic on cells that are compared afterwards: what is above a comparison and below none."""
    below: set[str] = set()
    for node in model.graph.node:
        if node.op_type in CONTRARY or below & set(node.input):
            below.update(node.output)
    makers = {output: i for i, node in enumerate(model.graph.node) for output in node.output}
    compared = [name for node in model.graph.node if node.op_type in CONTRARY for name in node.input]
    early = {i for i in _above(compared, makers, model) if not below & set(model.graph.node[i].output)}
    return {i for i in early if model.graph.node[i].op_type in ARITHMETIC}


def _of_signs(node: onnx.NodeProto, constants: dict[str, Array]) -> Iterator[tuple[Any, ...]]:
    """A sign by which a cell is multiplied, so that every comparison is the same operator."""
    for name in node.input:
        values = constants.get(name)
        if node.op_type == "Mul" and values is not None and values.dtype.kind == "f":
            for i, old in enumerate(values.reshape(-1)):
                if abs(old) == 1:
                    yield "operator flipped", f"sign {i} becomes {-old}", _tensor(name, _with(values, i, -old))


def _above(names: list[str], makers: dict[str, int], model: onnx.ModelProto) -> set[int]:
    found: set[int] = set()
    waiting = list(names)
    while waiting:
        index = makers.get(waiting.pop())
        if index is not None and index not in found:
            found.add(index)
            waiting.extend(model.graph.node[index].input)
    return found


# Operators -----------------------------------------------------------------------------------------------------------


def _of_operator(index: int, node: onnx.NodeProto, model: onnx.ModelProto) -> Iterator[tuple[Any, ...]]:
    op = node.op_type
    for other in FLIPPED.get(op, ()):
        if len(node.input) > 1 or op.startswith("Arg"):
            yield "operator flipped", f"becomes {other}", _renamed(index, other)
    if op in CONTRARY:
        yield "default changed", f"becomes not {CONTRARY[op]}, true for NaN", _contrary(index, CONTRARY[op])
    if op == "IsNaN":
        yield "default changed", "never true", _never(index)
    if op == "Not":
        yield "negation", "removed", _renamed(index, "Identity")
    elif op in BOOLEAN:
        yield "negation", "put behind", _negated(index)
    if op in ("And", "Or"):
        for operand in range(2):
            yield "rule dropped", f"operand {operand} alone", _identity(index, operand)
    if op == "LabelEncoder":
        yield from _of_encoder(index, node)
    if op.startswith("TreeEnsemble"):
        yield from _of_trees(index, node)


def _renamed(index: int, op: str) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[index].op_type = op

    return change


def _identity(index: int, operand: int) -> Change:
    def change(model: onnx.ModelProto) -> None:
        node = model.graph.node[index]
        kept = node.input[operand]
        node.op_type = "Identity"
        del node.input[:]
        node.input.append(kept)

    return change


def _behind(index: int, op: str, twice: bool = False) -> Change:
    """An operator more behind a node, which takes over the name of its output."""

    def change(model: onnx.ModelProto) -> None:
        name = model.graph.node[index].output[0]
        model.graph.node[index].output[0] = f"{name}_before"
        inputs = [f"{name}_before"] * (2 if twice else 1)
        model.graph.node.insert(index + 1, helper.make_node(op, inputs, [name]))

    return change


def _negated(index: int) -> Change:
    return _behind(index, "Not")


def _never(index: int) -> Change:
    return _behind(index, "Xor", twice=True)


def _contrary(index: int, op: str) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[index].op_type = op
        _negated(index)(model)

    return change


def _of_encoder(index: int, node: onnx.NodeProto) -> Iterator[tuple[Any, ...]]:
    """The table from texts to codes (or numbers)."""
    for place, attribute in enumerate(node.attribute):
        values = helper.get_attribute_value(attribute)
        if attribute.name == "keys_strings":
            for i, key in enumerate(values):
                other = key + b"~"
                texts = (key.decode(), other.decode())
                kind = "level changed" if key else "default changed"
                yield kind, f"key {key!r} becomes {other!r}", _item(index, place, "strings", i, other), (), texts
        elif attribute.name.startswith("values_") and len(set(values)) > 1:
            field = "ints" if attribute.name.endswith("int64s") else "floats"
            for i, value in enumerate(values):
                other = next(v for v in [*values[i + 1 :], *values] if v != value)
                kind = "default changed" if value == 0 else "level changed"
                yield kind, f"value {value} becomes {other}", _item(index, place, field, i, other)
        elif attribute.name.startswith("default_"):
            other = 0 if values else 1
            yield "default changed", f"{values} becomes {other}", _scalar(index, place, other)


def _of_trees(index: int, node: onnx.NodeProto) -> Iterator[tuple[Any, ...]]:
    """One tree operator: thresholds, modes, columns, the side of NaN, weights of the leaves."""
    attributes = {attribute.name: place for place, attribute in enumerate(node.attribute)}
    values = {name: helper.get_attribute_value(node.attribute[place]) for name, place in attributes.items()}
    modes = values.get("nodes_modes", [])
    swaps = {b"BRANCH_GT": b"BRANCH_GTE", b"BRANCH_LEQ": b"BRANCH_LT"}
    for i, mode in enumerate(modes):
        if mode == b"LEAF":
            continue
        place = attributes["nodes_modes"]
        yield "operator flipped", f"mode {i}", _item(index, place, "strings", i, swaps.get(mode, b"BRANCH_LEQ"))
        if "nodes_values" in values:
            old = np.float32(values["nodes_values"][i])
            for new in _neighbours(old):
                change = _item(index, attributes["nodes_values"], "floats", i, float(new))
                yield "threshold one ulp", f"{old} becomes {new}", change, (float(old), float(new))
        columns = values.get("nodes_featureids", [])
        other = next((c for c in columns[i + 1 :] + columns[:i] if c != columns[i]), None)
        if other is not None:
            yield "columns swapped", f"node {i}", _item(index, attributes["nodes_featureids"], "ints", i, other)
        tracks = values.get("nodes_missing_value_tracks_true", [])
        if tracks:
            place = attributes["nodes_missing_value_tracks_true"]
            yield "default changed", f"NaN of node {i}", _item(index, place, "ints", i, 1 - tracks[i])
    for name in ("class_weights", "target_weights"):
        for i, weight in enumerate(values.get(name, [])):
            changed = 0.0 if weight else 1.0
            yield "weight changed", f"leaf {i}", _item(index, attributes[name], "floats", i, changed)


def _item(index: int, place: int, field: str, i: int, value: Any) -> Change:
    def change(model: onnx.ModelProto) -> None:
        getattr(model.graph.node[index].attribute[place], field)[i] = value

    return change


def _scalar(index: int, place: int, value: int) -> Change:
    def change(model: onnx.ModelProto) -> None:
        attribute = model.graph.node[index].attribute[place]
        attribute.CopyFrom(helper.make_attribute(attribute.name, type(helper.get_attribute_value(attribute))(value)))

    return change


# Constants -----------------------------------------------------------------------------------------------------------


def _of_constants(index: int, node: onnx.NodeProto, constants: dict[str, Array]) -> Iterator[tuple[Any, ...]]:
    for place, name in enumerate(node.input):
        values = constants.get(name)
        if values is None or values.size == 0:
            continue
        for i in range(values.size):
            yield from _of_element(node.op_type, place, name, values, i)
        if node.op_type in ("Gemm", "MatMul") and values.ndim == 2 and min(values.shape) > 1:
            for axis in (0, 1):
                for i in range(values.shape[axis]):
                    zeroed = values.copy()
                    zeroed[(slice(None),) * axis + (i,)] = 0
                    if (zeroed != values).any():
                        yield "rule dropped", f"line {i} of {name} is zero", _tensor(name, zeroed)


def _of_element(op: str, place: int, name: str, values: Array, i: int) -> Iterator[tuple[Any, ...]]:
    old = values.reshape(-1)[i]
    if op in CONTRARY or op == "Equal":
        for new in _neighbours(old):
            change = _tensor(name, _with(values, i, new))
            yield "threshold one ulp", f"{old!r} becomes {new!r}", change, (float(old), float(new))
    elif op in ("Gather", "GatherElements", "GatherND") and place == 0:
        yield from _of_table(name, values, i)
    elif op == "Gather":
        other = next((v for v in [*values.reshape(-1)[i + 1 :], *values.reshape(-1)[:i]] if v != old), None)
        if other is not None:
            yield "columns swapped", f"index {old} becomes {other}", _tensor(name, _with(values, i, other))
    elif op in ("Gemm", "MatMul") or op in ARITHMETIC:
        if values.dtype.kind == "f":
            for new in dict.fromkeys((_neighbours(old)[0], -old, old + 1, values.dtype.type(0))):
                if new != old and np.isfinite(new):
                    yield "weight changed", f"{old!r} becomes {new!r}", _tensor(name, _with(values, i, new))
        elif values.dtype.kind == "b":
            yield "negation", f"constant {old} of {name}", _tensor(name, _with(values, i, not old))


def _of_table(name: str, values: Array, i: int) -> Iterator[tuple[Any, ...]]:
    """An entry of a table: of what the levels of a category mean, of numbers, of the labels."""
    old = values.reshape(-1)[i]
    if values.dtype.kind == "b":
        kind = "default changed" if i < 2 else "level changed"
        yield kind, f"entry {i} of {name} becomes {not old}", _tensor(name, _with(values, i, not old))
    elif values.dtype.kind == "f":
        for new in dict.fromkeys((_neighbours(old)[1], -old, old + 1)):
            if new != old:
                yield "weight changed", f"entry {i}, {old!r}, becomes {new!r}", _tensor(name, _with(values, i, new))
    elif values.size > 1:
        flat = values.reshape(-1)
        other = next((v for v in [*flat[i + 1 :], *flat[:i]] if v != old), old)
        yield "label changed", f"{old!r} becomes {other!r}", _tensor(name, _with(values, i, other))


def _neighbours(value: Any) -> tuple[Any, Any]:
    if np.issubdtype(type(value), np.floating):
        kind = type(value)
        return np.nextafter(value, kind(np.inf)), np.nextafter(value, kind(-np.inf))
    return value + 1, value - 1


def _with(values: Array, i: int, new: Any) -> Array:
    changed = values.copy()
    changed.reshape(-1)[i] = new
    return changed


def _tensor(name: str, values: Array) -> Change:
    def change(model: onnx.ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name == name:
                tensor.CopyFrom(numpy_helper.from_array(copy.copy(values), name))

    return change
