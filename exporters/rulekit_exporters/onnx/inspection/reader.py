"""What an ONNX model decides, read from its operators and constants without running it.

The operators are carried out on symbols that stand for one row: columns, truth values, exact sums of them. The metadata
is not looked at. What is read is the meaning that the ONNX specification gives to an operator, for numbers that are
cast to the declared type of their input by IEEE 754 rounding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.cells.space import codes_of
from rulekit.errors import FormatError
from rulekit.graph.nodes import FALSE, TRUE, And, Linear, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.nodes import Greater, Labels, Number, Opaque
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.targets import Reading
from rulekit.verification.proof.prove import leaves_below
from rulekit_exporters.onnx.builder import ML_DOMAIN
from rulekit_exporters.onnx.inputs import TENSOR_NAME, encoder_table, public_names
from rulekit_exporters.onnx.inspection.operators import READERS
from rulekit_exporters.onnx.inspection.tensors import Attributes, Reach, Rows, Value, elementwise, rows
from rulekit_exporters.onnx.inspection.trees import Outcome, tree_classifier
from rulekit_exporters.onnx.inspection.values import (
    Category,
    Element,
    Given,
    Picked,
    UnreadableError,
    Unused,
    Winner,
    exact,
    to_node,
    truth,
)
from rulekit_exporters.onnx.labels import integer_labels, label_texts
from rulekit_exporters.onnx.metadata import LARGEST_ARTIFACT
from rulekit_exporters.onnx.options import OLDEST_OPSET

MOST_OPERATORS = 50_000
MOST_CONSTANTS = 1 << 23  # bytes


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """The reading of a model; raises FormatError where it is no ONNX file. Whatever cannot be read has its reason."""
    import onnx

    if len(artifact) > LARGEST_ARTIFACT:
        raise FormatError(f"an ONNX file of {len(artifact)} bytes", fix=f"at most {LARGEST_ARTIFACT} are read")
    try:
        model = onnx.ModelProto.FromString(artifact)
    except Exception as error:  # the decoder's own error type depends on the protobuf implementation
        raise FormatError("this is no ONNX file", fix="it may be truncated; export it again") from error
    reader = _Reader(graph)
    try:
        label, reported = reader.outputs(model)
        formulas = reader.labels(label)
    except UnreadableError as error:
        return Reading(None, reason=str(error), texts=reader.texts)
    except (IndexError, KeyError, AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        return Reading(None, reason=f"an operator is used in another way ({type(error).__name__})", texts=reader.texts)
    nodes, known = formulas
    probability_leaves = None if reported is None else leaves_below((*nodes, *reported))
    decision = Labels(nodes) if known and not reader.reach.dropped else None
    reason = "" if decision is not None else "the label could not be read back as a formula"
    if reader.reach.dropped:
        reason = "it has an operation that a runtime may leave out"
    leaves = leaves_below(nodes)
    return Reading(leaves, decision, reason, probability_leaves, reader.texts, probabilities=reader.shares)


class _Reader:
    """Carries out one model on symbols."""

    def __init__(self, graph: RuleGraph) -> None:
        self.graph = graph
        self.reach = Reach()
        self.texts: dict[str, tuple[str, ...]] = {}
        self.shares: tuple[Node, ...] | None = None
        self._values: dict[str, Value] = {}

    def outputs(self, model: Any) -> tuple[Value, tuple[Node, ...] | None]:
        """The label's tensor, and the nodes of the reported probabilities where they can be read."""
        _refuse_other_forms(model)
        for tensor in model.graph.initializer:
            self._define(tensor.name, _array(tensor))
        for port in model.graph.input:
            self._define(port.name, self._input(port, [p.name for p in model.graph.input]))
        wanted = [port.name for port in model.graph.output][:2]
        unread: str | None = None
        failed: set[str] = set()
        for node in model.graph.node:
            try:
                if failed.intersection(node.input):
                    raise UnreadableError(unread or "")
                found = self._operate(node)
            except UnreadableError as error:
                unread = unread or str(error)
                failed.update(node.output)
                continue
            for name, value in zip(node.output, found, strict=False):
                if name:
                    self._define(name, value)
        if wanted[0] in failed:
            raise UnreadableError(unread or "")
        reported = None
        if len(wanted) > 1 and wanted[1] in self._values:
            reported = tuple(_nodes_of(rows(self._values[wanted[1]])))
            self.shares = _shares(rows(self._values[wanted[1]]), len(self.graph.classes))
        return self._values[wanted[0]], reported

    def _define(self, name: str, value: Value) -> None:
        if name in self._values:
            raise UnreadableError(f"{name!r} is computed twice")
        self._values[name] = value

    def _operate(self, node: Any) -> tuple[Value, ...]:
        inputs = [self._values[name] if name else None for name in node.input]
        attributes = {item.name: _attribute(item) for item in node.attribute}
        if node.domain == ML_DOMAIN and node.op_type == "LabelEncoder":
            return (self._encoded(rows(inputs[0]), attributes),)
        if node.domain == ML_DOMAIN and node.op_type == "TreeEnsembleClassifier":
            return tree_classifier(self.reach, inputs, attributes)
        reader = READERS.get(node.op_type) if node.domain == "" else None
        if reader is None:
            raise UnreadableError(f"the operator {node.domain and node.domain + '.'}{node.op_type} is not read")
        return (reader(self.reach, inputs, attributes),)

    # Inputs --------------------------------------------------------------------------------------------------------

    def _input(self, port: Any, names: list[str]) -> Rows:
        schema = self.graph.schema
        kind, sizes = port.type.tensor_type.elem_type, port.type.tensor_type.shape.dim
        if names == [TENSOR_NAME] and len(sizes) == 2 and sizes[1].dim_value == len(schema) and kind in (1, 11):
            elements = np.empty((1, len(schema)), dtype=object)
            # a category has no place in a tensor: its column may hold anything
            elements[0, :] = [
                Unused(f"the numbers of {f.name!r} are read") if f.kind == "categorical" else Given(f, kind == 1)
                for f in schema
            ]
            return Rows(elements, 0, "f4" if kind == 1 else "f8")
        columns = tuple(self.graph.used_features or schema.names[:1])
        by_name = dict(zip(public_names(columns), columns, strict=True))
        if port.name not in by_name or len(sizes) != 2 or sizes[1].dim_value != 1:
            raise UnreadableError("its inputs are not those of the model")
        feature = schema[by_name[port.name]]
        element: Element
        if feature.kind != "categorical" and kind in (1, 11):
            element, width = Given(feature, kind == 1), "f4" if kind == 1 else "f8"
        elif feature.kind == "categorical" and kind == 7:
            element, width = Category(feature, tuple(range(FIRST_LEVEL_CODE + len(feature.levels)))), "i8"
        elif feature.kind == "categorical" and kind == 8:
            element, width = _Text(feature), "text"
        else:
            raise UnreadableError("its inputs are of other types than the model's")
        elements = np.empty((1, 1), dtype=object)
        elements[0, 0] = element
        return Rows(elements, 0, width)

    def _encoded(self, value: Rows, attributes: Attributes) -> Rows:
        """The number or text that an encoder gives to each code of a category."""
        keys = [key.decode() for key in attributes["keys_strings"]]
        name = next(name for name in ("values_int64s", "values_floats", "values_strings") if name in attributes)
        values = attributes[name]
        default = attributes.get(
            {"values_int64s": "default_int64", "values_floats": "default_float"}.get(name, "default_string"),
            {"values_int64s": -1, "values_floats": -0.0}.get(name, b"_Unused"),
        )
        table = dict(zip(reversed(keys), reversed(values), strict=True))  # the first of equal keys counts
        if len(table) != len(keys):
            raise UnreadableError("a text is encoded twice")
        width = {"values_int64s": "i8", "values_floats": "f4"}.get(name)
        if width is None:
            raise UnreadableError("texts become texts")
        return elementwise(self.reach, lambda text: self._by_code(text, table, default), [value], width)

    def _by_code(self, text: Element, table: Mapping[str, Any], default: Any) -> Element:
        if not isinstance(text, _Text):
            raise UnreadableError("an encoder of something that is no column")
        feature = text.feature
        every = replace(feature, unseen="unseen")
        known = list(dict.fromkeys((*encoder_table(feature)[0], *table)))
        other = "some other text"
        while other in known:
            other += "."
        by_code: dict[int, list[tuple[str, Any]]] = {}
        for key, code in zip([*known, other], codes_of(every, [*known, other]), strict=True):
            if code == UNSEEN_CODE and feature.unseen == "missing":
                code = MISSING_CODE
            by_code.setdefault(code, []).append((key, table.get(key, default)))
        found, apart = [], []
        for code in range(FIRST_LEVEL_CODE + len(feature.levels)):
            pairs = by_code.get(code, [(other, default)])
            usual = {MISSING_CODE: "", UNSEEN_CODE: other}.get(code)
            level = feature.levels[code - FIRST_LEVEL_CODE] if code >= FIRST_LEVEL_CODE else usual
            value = dict(pairs).get(str(level), pairs[0][1])
            found.append(value)
            apart += [key for key, own in pairs if own != value]
        if apart:
            self.texts[feature.name] = tuple(dict.fromkeys((*self.texts.get(feature.name, ()), *apart)))
        return Category(feature, tuple(found))

    # Label ---------------------------------------------------------------------------------------------------------

    def labels(self, value: Value) -> tuple[tuple[Node, ...], bool]:
        """For each class when it is the label, and whether that is known; else the nodes that the label hangs on."""
        tensor = rows(value)
        if tensor.elements.size != 1:
            raise UnreadableError("the first output is not one label for each row")
        element = tensor.elements.reshape(-1)[0]
        integers = integer_labels(self.graph.classes)
        values: list[Any] = list(label_texts(self.graph)) if integers is None else list(integers)
        if isinstance(element, str | int | float):
            return tuple(TRUE if element == value else FALSE for value in values), True
        if isinstance(element, Node) and not isinstance(element, Opaque) and _is_binary(values):
            return (Not(element), element), True
        found = _outcomes(element)
        if found is None:
            return (to_node(element),), False
        return tuple(_any(formula for label, formula in found if label == value) for value in values), True


class _Text:
    """A category as text."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature


def _is_binary(values: list[Any]) -> bool:
    return values == [0, 1]


def _any(formulas: Iterator[Node]) -> Node:
    found = tuple(formulas)
    return found[0] if len(found) == 1 else Or(found)


def _outcomes(element: Element) -> list[tuple[Any, Node]] | None:
    """Each value of a label and when it is taken; None where that is not known."""
    if isinstance(element, Outcome):
        return list(zip(element.values, element.formulas, strict=True))
    if isinstance(element, Winner):
        return [(value, element.wins(place)) for place, value in enumerate(element.values)]
    if isinstance(element, Category):
        held = [tuple(v == value for v in element.values) for value in dict.fromkeys(element.values)]
        return [
            (value, truth(Category(element.feature, mask)))
            for value, mask in zip(dict.fromkeys(element.values), held, strict=True)
        ]
    if isinstance(element, Picked):
        distinct = dict.fromkeys(element.values)
        return [(value, truth(Picked(tuple(v == value for v in element.values), element.index))) for value in distinct]
    index = exact(element)
    if index is None or index.limits is None:
        return None
    first, last = int(index.limits[0]), int(index.limits[1])
    if last - first > 10_000:
        return None
    node = to_node(index)
    found: list[tuple[Any, Node]] = []
    for place in range(first, last + 1):
        parts: list[Node] = []
        if place > first:
            parts.append(Greater(node, Number(place - 0.5)))
        if place < last:
            parts.append(Not(Greater(node, Number(place + 0.5))))
        found.append((place, parts[0] if len(parts) == 1 else And(parts)))
    return found


def _nodes_of(value: Rows) -> Iterator[Node]:
    """The nodes that the elements of a tensor hang on."""
    for element in value.elements.reshape(-1):
        if isinstance(element, Winner):
            yield from element.scores
        elif isinstance(element, Outcome):
            yield from element.formulas
        elif not isinstance(element, str):
            yield to_node(element)


def _shares(value: Rows, classes: int) -> tuple[Node, ...] | None:
    """A node for the probability of each class, as it was before the last cast to float32; None for another shape."""
    if value.elements.size != classes:
        return None
    found: list[Node] = []
    for element in value.elements.reshape(-1):
        if isinstance(element, Winner):
            found.append(Linear([(float(v), element.wins(j)) for j, v in enumerate(element.values)], 0.0))
        elif isinstance(element, Outcome | str):
            return None
        else:
            node = to_node(element)
            found.append(node.children[0] if isinstance(node, Opaque) and node.name == "cast f4" else node)
    return tuple(found)


# The file ------------------------------------------------------------------------------------------------------------


def _refuse_other_forms(model: Any) -> None:
    import onnx

    graph = model.graph
    versions = {entry.domain: entry.version for entry in model.opset_import}
    if not OLDEST_OPSET <= versions.get("", versions.get("ai.onnx", 0)) <= onnx.defs.onnx_opset_version():
        raise UnreadableError("its operator set is not read")
    if set(versions) - {"", "ai.onnx", ML_DOMAIN} or model.functions or graph.sparse_initializer:
        raise UnreadableError("it has functions, sparse constants or operators of other domains")
    if len(graph.node) > MOST_OPERATORS or len(graph.output) < 2:
        raise UnreadableError(f"{len(graph.node)} operators and {len(graph.output)} outputs")
    if sum(tensor.ByteSize() for tensor in graph.initializer) > MOST_CONSTANTS:
        raise UnreadableError("its constants are too large")


def _array(tensor: Any) -> np.ndarray[Any, Any]:
    from onnx import TensorProto, numpy_helper

    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise UnreadableError("its constants lie in another file")
    array: np.ndarray[Any, Any] = numpy_helper.to_array(tensor)
    if array.nbytes > MOST_CONSTANTS:
        raise UnreadableError("its constants are too large")
    return array


def _attribute(item: Any) -> Any:
    from onnx import helper

    value = helper.get_attribute_value(item)
    return list(value) if item.type in (6, 7, 8) else value
