"""What an ONNX model decides, read from its operators and constants without running it.

The operators are carried out on symbols that stand for one row: columns, truth values, exact sums of them. The metadata
is not looked at. What is read is the meaning that the ONNX specification gives to an operator, for numbers that are
cast to the declared type of their input by IEEE 754 rounding.

What changes no number is left out of a file first: names of nodes and of the producer, comments, inferred shapes,
imports that no operator needs; and constants that stand in nodes or as lists become initializers as they are written.
Tools leave such things behind. The rest is taken apart and made again from its parts
(`rulekit_exporters.onnx.builder.Contents`). Where that does not give the same file, something stands in it that was not
taken in: an attribute, a version or domain, a constant in another file, a function, a field that this program does not
know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference
from onnx.defs import onnx_opset_version

from rulekit.cells.axis import codes_of, unseen_text
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import RulekitError
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.nodes import Labels
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE
from rulekit.targets import Reading
from rulekit.verification.proof.prove import leaves_below
from rulekit_exporters.onnx import FIRED, OLDEST_OPSET, InputForm, builder
from rulekit_exporters.onnx import metadata as meta
from rulekit_exporters.onnx.emission import is_written
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, plan_of_form
from rulekit_exporters.onnx.inspection import tensors as op
from rulekit_exporters.onnx.inspection import values as el
from rulekit_exporters.onnx.word_ids import takes_ids

_WIDTHS = {1: "f4", 11: "f8", 7: "i8", 8: "text"}  # by element type of ONNX
_MISUSE = (LookupError, AttributeError, TypeError, ValueError, OverflowError, RecursionError, RulekitError)
MOST_RUN = 1 << 18  # elements of all tensors of a row, of a file that is run without being asked for
MOST_OPERATORS = 50_000
MOST_CONSTANTS = 1 << 23  # bytes
TOO_LARGE = "its constants are too large"
FUSED = {("com.microsoft", kind) for kind in ("FusedGemm", "FusedMatMul")}  # that onnxruntime's optimiser writes
DEFAULT_DOMAIN = ("", "ai.onnx")  # its two names
MOST_IMPORT = 64  # bytes of the import of a domain
OTHER_INPUTS = "its inputs are not those of the model"


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """The reading of a model; raises FormatError where it is no ONNX file. Whatever cannot be read has its reason."""
    model = meta.model_of(artifact)
    try:
        contents = contents_of(model)
    except el.UnreadableError as error:
        return Reading(None, reason=str(error), bounded=is_bounded(model))
    carried, (graph, words) = graph, taken_apart(graph)
    reader = _Reader(graph, words, contents)
    reading = reader.reading()
    # reading carries out every operator on one row, so it has met their sizes; else it must be the export itself
    bounded = reader.whole and reader.cost.elements <= MOST_RUN
    wrong = meta.misstated(contents.metadata, carried, reader.stated_plan(), reader.names)
    return replace(
        reading,
        as_written=bounded or is_written(contents, graph, carried),
        bounded=True,  # it has no operators but those that are written
        texts=reader.texts,
        misstated=(*(f"the metadata {key!r} are not those of the model" for key in wrong), *reader.taken),
    )


class _Reader:
    """Carries out one model on symbols."""

    def __init__(self, graph: RuleGraph, words: WordsApart | None, contents: builder.Contents) -> None:
        self.graph, self.contents = graph, contents
        self.cost = op.ReadingCost()
        self.texts: dict[str, tuple[str, ...]] = {}
        self.taken: list[str] = []  # sentences about texts that are decided, and that the model refuses
        self.shares: tuple[Node, ...] | None = None
        self.whole = False  # whether every operator was read
        self._values: dict[str, op.Value] = {}
        self._inputs = [port.name for port in contents.inputs]
        frame = meta.is_by_class(contents.outputs)
        # by role the name that an output must have, and the inputs, where they are one for each column
        roles = meta.roles_of(graph, frame, len(contents.outputs) > 2 and not frame)
        self.names = meta.public_outputs(self._inputs, roles)
        form: InputForm = "ids" if words is not None and any(map(takes_ids, contents.inputs)) else "columns"
        self.plan = replace(plan_of_form(graph, form, words=words), frame=frame)

    def stated_plan(self) -> InputPlan:
        """The inputs of which the metadata must speak; without categories columns and codes are the same."""
        stated = self.contents.metadata.get("rulekit.input")
        if self._inputs == [TENSOR_NAME] and stated in (None, "tensor"):
            return plan_of_form(self.graph, "tensor")
        coded = any(port.element == TensorProto.INT64 for port in self.contents.inputs)
        if self.plan.form != "ids" and not any(self.graph.schema[c].kind == "categorical" for c in self.plan.columns):
            coded = stated == "codes"
        return replace(self.plan, form="codes") if coded and self.plan.form != "ids" else self.plan

    def reading(self) -> Reading:
        """What the operators compute, or why it is not known."""
        try:
            label, reported = self._outputs()
            nodes, known = self._labels(label)
        except el.UnreadableError as error:
            return Reading(None, reason=str(error))
        except _MISUSE as error:
            return Reading(None, reason=f"an operator is used in another way ({type(error).__name__})")
        reason = "" if known else "the label could not be read back as a formula"
        if self.cost.dropped:
            reason = "it has an operation that a runtime may leave out"
        probability_leaves = None if reported is None else leaves_below((*nodes, *reported))
        decision = None if reason else Labels(nodes)
        return Reading(leaves_below(nodes), decision, reason, probability_leaves, probabilities=self.shares)

    def _outputs(self) -> tuple[op.Value, list[Node] | None]:
        """The label's tensor, and the nodes of the reported probabilities where they can be read."""
        contents, names = self.contents, self.names
        for name, array in contents.constants.items():
            self._define(name, array)
        for port in contents.inputs:
            self._define(port.name, self._input(port))
        kinds = meta.kinds_of_outputs(self.graph, names)
        ports = [builder.Port(name, *kind) for name, kind in zip(names.values(), kinds, strict=True)]
        el.require(contents.outputs == ports, "its outputs are not those of the model")
        label, *probabilities = [name for role, name in names.items() if role != FIRED]
        unread = ""
        failed: set[str] = set()
        for operation in contents.operations:
            try:
                el.require(failed.isdisjoint(operation.inputs), unread)
                found = self._operate(operation)
            except el.UnreadableError as error:
                unread = unread or str(error)
                failed.update(operation.outputs)
                continue
            for name, value in zip(operation.outputs, found, strict=True):
                self._define(name, value)
        self.whole = not failed
        el.require(label not in failed, unread)
        if failed.intersection(probabilities):
            return self._values[label], None
        tensors = [op.rows(self._values[name]) for name in probabilities]
        size = (len(self.graph.classes),) if len(tensors) == 1 else ()
        fit = all(tensor.elements.shape == (1, *size) and tensor.axis == 0 for tensor in tensors)
        el.require(fit, "an output is not the probability of a class for each row")
        elements = [element for tensor in tensors for element in tensor.elements.reshape(-1)]
        shares = [el.share_of(element) for element in elements]
        nodes = [node for node in shares if node is not None]
        if len(nodes) == len(shares):
            self.shares = tuple(nodes)
        return self._values[label], nodes + [f for e in elements if isinstance(e, el.Outcome) for f in e.formulas]

    def _define(self, name: str, value: op.Value) -> None:
        el.require(name and name not in self._values, f"{name!r} is computed twice")
        self._values[name] = value

    def _operate(self, operation: builder.Operation) -> tuple[op.Value, ...]:
        inputs = [self._values[name] for name in operation.inputs]
        kind, attributes = operation.kind, operation.attributes
        fits = operation.form is not None and operation.form.takes([op.type_of(value) for value in inputs])
        el.require(fits, f"the operator {kind} with operands of other types than rulekit writes")
        if kind == "LabelEncoder":
            return (self._encoded(op.rows(inputs[0]), attributes),)
        if kind == "TreeEnsembleClassifier":
            return op.tree_classifier(self.cost, inputs[0], **attributes)
        return (op.READERS[kind](self.cost, *inputs, **attributes),)

    # Inputs --------------------------------------------------------------------------------------------------------

    def _input(self, port: builder.Port) -> op.Value:
        schema, kind, plan = self.graph.schema, _WIDTHS.get(port.element, ""), self.plan
        if self._inputs == [TENSOR_NAME] and port.shape == ("N", len(schema)) and kind in ("f4", "f8"):
            elements = np.empty((1, len(schema)), dtype=object)
            for j, feature in enumerate(schema):  # a category has no place: its column may hold anything
                unused = el.Unused(f"the numbers of {feature.name!r} are read")
                elements[0, j] = unused if feature.kind == "categorical" else el.GivenNumber(feature, kind == "f4")
            return op.RowTensor(elements, 0, kind)
        columns = dict(zip(plan.names, plan.columns, strict=True))
        el.require(port.name in columns, OTHER_INPUTS)
        column = columns[port.name]
        if column in plan.texts and takes_ids(port) and port.shape[0] == "N" and kind == "i8":
            return op.Ids(plan.texts[column])
        el.require(port.shape == plan.shape and len(self._inputs) == len(columns), OTHER_INPUTS)
        category = column not in plan.texts and schema[column].kind == "categorical"
        fits = column not in plan.texts and kind in (("i8", "text") if category else ("f4", "f8"))
        el.require(fits, "its inputs are of other types than the model's")
        feature = schema[column]
        element = el.GivenNumber(feature, kind == "f4")
        elements = np.full((1,) * len(plan.shape), element, dtype=object)
        if category:
            elements.fill(el.Code(feature) if kind == "i8" else el.Text(feature))
        return op.RowTensor(elements, 0, kind)

    def _encoded(self, value: op.RowTensor, attributes: Mapping[str, Any]) -> op.RowTensor:
        keys = [key.decode() for key in attributes["keys_strings"]]
        width, name = ("i8", "int64") if "default_int64" in attributes else ("f4", "float")
        values, default = attributes[f"values_{name}s"], attributes[f"default_{name}"]
        table = dict(zip(keys, values, strict=True))
        el.require(len(table) == len(keys), "a text is encoded twice")
        el.require(all(map(math.isfinite, (*values, default))), "a text is encoded as something that is no number")
        return op.elementwise(self.cost, partial(self._by_code, table, default), [value], width)

    def _by_code(self, table: Mapping[str, Any], default: Any, text: el.Element) -> el.Element:
        if not isinstance(text, el.Text):
            raise el.UnreadableError("an encoder of something that is no column")
        feature = text.feature
        every = replace(feature, unseen="unseen")
        known = list(dict.fromkeys((*feature.codes_of_texts, *table)))
        other = unseen_text(feature, known)
        by_code: dict[int, list[tuple[str, Any]]] = {}
        for key, code in zip([*known, other], codes_of(every, [*known, other]), strict=True):
            if code == UNSEEN_CODE and feature.unseen == "missing":
                code = MISSING_CODE
            by_code.setdefault(code, []).append((key, table.get(key, default)))
        found, apart = [], []
        usual = {MISSING_CODE: "", UNSEEN_CODE: other, **dict(enumerate(feature.levels, FIRST_LEVEL_CODE))}
        for code, level in usual.items():
            pairs = by_code.get(code, [(other, default)])
            value = dict(pairs).get(level, pairs[0][1])
            found.append(value)
            strange = [key for key, own in pairs if own != value]
            if code == UNSEEN_CODE and feature.unseen == "error":
                said = "is read as a level; the model refuses it"
                self.taken += [f"{key!a} of {feature.name!r} {said}" for key in strange]
            else:
                apart += strange
        if apart:
            self.texts[feature.name] = tuple(dict.fromkeys((*self.texts.get(feature.name, ()), *apart)))
        return el.Category(tuple(found), feature)

    # Label ---------------------------------------------------------------------------------------------------------

    def _labels(self, value: op.Value) -> tuple[tuple[Node, ...], bool]:
        """For each class when it is the label, and whether that is known; else the nodes that the label hangs on."""
        tensor = op.rows(value)
        one_label = tensor.elements.shape == (1,) and tensor.width in ("i8", "text")
        el.require(one_label, "the first output is not one label for each row")
        integers = meta.integer_labels(self.graph.classes)
        values: list[Any] = [*(meta.label_texts(self.graph) if integers is None else integers)]
        found = el.labels_of(tensor.elements[0], values)
        return ((el.to_node(tensor.elements[0]),), False) if found is None else (found, True)


# What a file says ----------------------------------------------------------------------------------------------------


def contents_of(model: Any) -> builder.Contents:
    """The parts of a ModelProto; raises UnreadableError where they are not all of it."""
    el.require(len(model.graph.node) <= MOST_OPERATORS, f"{len(model.graph.node)} operators")
    for node in model.graph.node:
        known = (node.domain, node.op_type) in builder.FORMS or _is_constant(node)
        el.require(known, f"the operator {node.domain and node.domain + '.'}{node.op_type} is not read")
    constants = [*model.graph.initializer, *(item.t for node in model.graph.node for item in node.attribute)]
    el.require(sum(tensor.ByteSize() for tensor in constants) <= MOST_CONSTANTS, TOO_LARGE)
    opset = next((entry.version for entry in model.opset_import if entry.domain == ""), 0)
    el.require(OLDEST_OPSET <= opset <= onnx_opset_version(), "its operator set is not read")
    try:
        model = _without_traces(model)
        graph = model.graph
        contents = builder.Contents(
            [
                builder.Operation(n.op_type, tuple(n.input), tuple(n.output), n.domain, _attributes(n))
                for n in graph.node
            ],
            {tensor.name: _array(tensor) for tensor in graph.initializer},
            [builder.port_of(port) for port in graph.input],
            [builder.port_of(port) for port in graph.output],
            opset,
            {item.key: item.value for item in model.metadata_props},
            model.producer_name,
        )
        again = contents.model()
        model.ir_version = again.ir_version  # of the file, not of what it computes
    except (ValueError, TypeError, AttributeError) as error:
        raise el.UnreadableError(str(error).partition("\n")[0][:200]) from None
    if again.SerializeToString(deterministic=True) != model.SerializeToString(deterministic=True):
        raise el.UnreadableError(f"{_other_part(model, again)} in another form than rulekit writes it")
    _check_numbers(contents)
    return contents


def is_bounded(model: Any) -> bool:
    """Whether nothing in a file but its size and its numbers bounds how long it runs, and it reads no other file.

    It has no operator that holds operators (a loop is one), no function, and no constant in another file.
    """
    graph = model.graph
    tensors = [*graph.initializer, *(item.t for node in graph.node for item in node.attribute)]
    kinds = {(node.domain, node.op_type) for node in graph.node}
    return (
        len(graph.node) <= MOST_OPERATORS
        and all(domain in ("", builder.ML_DOMAIN) or (domain, kind) in FUSED for domain, kind in kinds)
        and not any(item.HasField("g") or item.graphs for node in graph.node for item in node.attribute)
        and not any(tensor.data_location == TensorProto.EXTERNAL or tensor.external_data for tensor in tensors)
        and not (model.functions or model.training_info or graph.sparse_initializer)
    )


def _without_traces(model: Any) -> Any:
    """A copy without what tools leave in a file and no runtime computes with."""
    plain = ModelProto()
    plain.CopyFrom(model)
    graph = plain.graph
    for owner, names in (
        (plain, ("producer_version", "domain", "model_version", "doc_string")),
        (graph, ("doc_string", "metadata_props", *(("value_info",) if _says_what_follows(model) else ()))),
        *((node, ("name", "doc_string", "metadata_props")) for node in graph.node),
        *((part, ("doc_string", "metadata_props")) for part in (*graph.input, *graph.output, *graph.initializer)),
    ):
        for name in names:
            owner.ClearField(name)
    graph.name = builder.GRAPH_NAME
    needed = {node.domain for node in graph.node} | set(DEFAULT_DOMAIN)
    imports = [entry for entry in plain.opset_import if entry.domain in needed or entry.ByteSize() > MOST_IMPORT]
    del plain.opset_import[:]
    plain.opset_import.extend(sorted(imports, key=lambda entry: entry.domain))
    constants = [node for node in graph.node if _is_constant(node)]
    if constants:
        for node in constants:
            graph.initializer.append(node.attribute[0].t)
            graph.initializer[-1].name = node.output[0]
        kept = [node for node in graph.node if not _is_constant(node)]
        del graph.node[:]
        graph.node.extend(kept)
    for tensor in graph.initializer:
        _as_bytes(tensor)
    return plain


def _says_what_follows(model: Any) -> bool:
    """Whether the shapes beside the operators are those that follow from them; a runtime may plan by them."""
    if not model.graph.value_info:
        return False
    bare = ModelProto()
    bare.CopyFrom(model)
    bare.graph.ClearField("value_info")
    try:
        found = {port.name: builder.port_of(port) for port in shape_inference.infer_shapes(bare).graph.value_info}
    except RuntimeError:  # shapes that do not fit
        return False
    return all(builder.port_of(port) == found.get(port.name) for port in model.graph.value_info)


def _is_constant(node: Any) -> bool:
    """Whether an operator is a constant that is a tensor."""
    kinds = [(item.name, item.type) for item in node.attribute]
    return (node.op_type, node.domain, len(node.output)) == ("Constant", "", 1) and kinds == [("value", 4)]


def _as_bytes(tensor: Any) -> None:
    """Numbers that stand as a list, and nowhere else, stand as bytes, as they are written."""
    fields = {field.name for field, _ in tensor.ListFields()} - {"dims", "data_type", "name"}
    listed = {TensorProto.FLOAT: "float_data", TensorProto.DOUBLE: "double_data", TensorProto.INT64: "int64_data"}
    if fields == {listed.get(tensor.data_type)}:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))


def _attributes(node: Any) -> dict[str, Any]:
    found = {item.name: (item.type, helper.get_attribute_value(item)) for item in node.attribute}
    return {name: list(value) if kind in (6, 7, 8) else value for name, (kind, value) in found.items()}


def _array(tensor: Any) -> npt.NDArray[Any]:
    if tensor.data_location == TensorProto.EXTERNAL or tensor.external_data:
        raise el.UnreadableError("its constants lie in another file")
    el.require(tensor.data_type in TensorProto.DataType.values(), "a constant of a type that there is not")
    array: npt.NDArray[Any] = numpy_helper.to_array(tensor)
    truths = array.dtype.kind != "b" or (array.view(np.uint8) < 2).all()
    el.require(truths, "a truth value is neither 0 nor 1")
    el.require(array.nbytes <= MOST_CONSTANTS, TOO_LARGE)
    return array


def _check_numbers(contents: builder.Contents) -> None:
    """Raises UnreadableError for NaN, for an infinity that is not compared with, and for a division by zero."""
    floats = {name: array for name, array in contents.constants.items() if array.dtype.kind == "f"}
    endless = {name for name, array in floats.items() if not np.isfinite(array).all()}
    el.require(not any(np.isnan(floats[name]).any() for name in endless), "a constant is no number")
    zeros = {name for name, array in floats.items() if not array.all()}
    for operation in contents.operations:
        finite = operation.kind in builder.INFINITE or endless.isdisjoint(operation.inputs)
        el.require(finite, f"the operator {operation.kind} with an infinite constant")
        el.require(operation.kind != "Div" or operation.inputs[-1] not in zeros, "a division by zero")


def _other_part(model: Any, again: Any) -> str:
    for found, made, skipped in ((model, again, "graph"), (model.graph, again.graph, "")):
        for part in found.DESCRIPTOR.fields:
            if part.name != skipped and getattr(found, part.name) != getattr(made, part.name):
                return f"the part {part.name!r} is"
    return "it has a part that is"
