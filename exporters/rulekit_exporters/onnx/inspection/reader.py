"""What an ONNX model decides, read from its operators and constants without running it.

The operators are carried out on symbols that stand for one row: columns, truth values, exact sums of them. The metadata
is not looked at. What is read is the meaning that the ONNX specification gives to an operator, for numbers that are
cast to the declared type of their input by IEEE 754 rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from rulekit.cells.axis import codes_of, unseen_text
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import RulekitError
from rulekit.graph.nodes import FALSE, TRUE, And, Linear, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.nodes import Greater, Labels, Number, Opaque
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.targets import Reading
from rulekit.verification.proof.prove import leaves_below
from rulekit_exporters.onnx.builder import Contents, Operation, Port, form_of
from rulekit_exporters.onnx.emission import is_written
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, plan_of_form
from rulekit_exporters.onnx.inspection.contents import contents_of, is_bounded
from rulekit_exporters.onnx.inspection.tensors import (
    READERS,
    Attributes,
    Ids,
    IdsShape,
    ReadingCost,
    RowTensor,
    TrueOfEach,
    Value,
    elementwise,
    rows,
    type_of,
)
from rulekit_exporters.onnx.inspection.trees import LabelOutcome, tree_classifier
from rulekit_exporters.onnx.inspection.values import (
    Category,
    Code,
    Element,
    GivenNumber,
    Picked,
    UnreadableError,
    Unused,
    Winner,
    exact,
    to_node,
    truth,
)
from rulekit_exporters.onnx.inspection.word_ids import read_ids
from rulekit_exporters.onnx.metadata import (
    integer_labels,
    is_by_class,
    kinds_of_outputs,
    label_texts,
    misstated,
    model_of,
    roles_of,
)
from rulekit_exporters.onnx.options import FIRED, InputForm, public_outputs
from rulekit_exporters.onnx.word_ids import takes_ids

_WIDTHS = {
    int(TensorProto.FLOAT): "f4",
    int(TensorProto.DOUBLE): "f8",
    int(TensorProto.INT64): "i8",
    int(TensorProto.STRING): "text",
}

_MISUSE = (LookupError, AttributeError, TypeError, ValueError, OverflowError, RecursionError, RulekitError)
MOST_RUN = 1 << 18  # elements of all tensors of a row, of a file that is run without being asked for


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """The reading of a model; raises FormatError where it is no ONNX file. Whatever cannot be read has its reason."""
    model = model_of(artifact)
    try:
        contents = contents_of(model)
    except UnreadableError as error:
        return Reading(None, reason=str(error), bounded=is_bounded(model))
    carried, (graph, words) = graph, taken_apart(graph)
    reader = _Reader(graph, words)
    reading = reader.reading(contents)
    # reading carries out every operator on one row, so it has met their sizes; else it must be the export itself
    bounded = reader.whole and reader.reach.elements <= MOST_RUN
    return replace(
        reading,
        as_written=bounded or is_written(contents, graph, carried),
        bounded=True,  # it has no operators but those that are written
        texts=reader.texts,
        misstated=(
            *(
                f"the metadata {key!r} are not those of the model"
                for key in _misstated(contents, graph, carried, words)
            ),
            *reader.taken,
        ),
    )


def _misstated(contents: Contents, graph: RuleGraph, carried: RuleGraph, words: WordsApart | None) -> list[str]:
    """The keys of the metadata on how to use the model that are wrong.

    graph: over columns of words, where `carried` is the model over texts.
    """
    inputs = [port.name for port in contents.inputs]
    names = _names_of_outputs(contents, graph)
    if inputs == [TENSOR_NAME] and contents.metadata.get("rulekit.input", "tensor") == "tensor":
        plan = plan_of_form(graph, "tensor")
    else:
        plan = _plan_of_columns(contents, graph, words)
        if plan.form != "ids":
            coded = any(port.element == TensorProto.INT64 for port in contents.inputs)
            if not any(graph.schema[name].kind == "categorical" for name in plan.columns):  # both forms are one
                coded = contents.metadata.get("rulekit.input") == "codes"
            plan = replace(plan, form="codes") if coded else plan
    return misstated(contents.metadata, carried, plan, names)


def _plan_of_columns(contents: Contents, graph: RuleGraph, words: WordsApart | None) -> InputPlan:
    """The inputs of a model of one input per column, with ids of words where one input is of such."""
    form: InputForm = "ids" if words is not None and any(map(takes_ids, contents.inputs)) else "columns"
    return replace(plan_of_form(graph, form, words=words), frame=is_by_class(contents.outputs))


def _names_of_outputs(contents: Contents, graph: RuleGraph) -> dict[str, str]:
    """By role the name that an output must have."""
    frame = is_by_class(contents.outputs)
    roles = roles_of(graph, frame, len(contents.outputs) > 2 and not frame)
    return public_outputs([port.name for port in contents.inputs], roles)


class _Reader:
    """Carries out one model on symbols."""

    def __init__(self, graph: RuleGraph, words: WordsApart | None) -> None:
        self.graph = graph
        self.words = words
        self.reach = ReadingCost()
        self.texts: dict[str, tuple[str, ...]] = {}
        self.taken: list[str] = []  # sentences about texts that are decided, and that the model refuses
        self.shares: tuple[Node, ...] | None = None
        self.whole = False  # whether every operator was read
        self._values: dict[str, Value] = {}

    def reading(self, contents: Contents) -> Reading:
        """What the operators compute, or why it is not known."""
        try:
            label, reported = self.outputs(contents)
            nodes, known = self.labels(label)
        except UnreadableError as error:
            return Reading(None, reason=str(error))
        except _MISUSE as error:
            return Reading(None, reason=f"an operator is used in another way ({type(error).__name__})")
        reason = "" if known else "the label could not be read back as a formula"
        if self.reach.dropped:
            reason = "it has an operation that a runtime may leave out"
        probability_leaves = None if reported is None else leaves_below((*nodes, *reported))
        decision = None if reason else Labels(nodes)
        return Reading(leaves_below(nodes), decision, reason, probability_leaves, probabilities=self.shares)

    def outputs(self, contents: Contents) -> tuple[Value, tuple[Node, ...] | None]:
        """The label's tensor, and the nodes of the reported probabilities where they can be read."""
        for name, array in contents.constants.items():
            self._define(name, array)
        names = [port.name for port in contents.inputs]
        for port in contents.inputs:
            self._define(port.name, self._input(port, names, _plan_of_columns(contents, self.graph, self.words)))
        roles = _names_of_outputs(contents, self.graph)
        ports = [
            Port(name, *kind) for name, kind in zip(roles.values(), kinds_of_outputs(self.graph, roles), strict=True)
        ]
        if contents.outputs != ports:
            raise UnreadableError("its outputs are not those of the model")
        label, *probabilities = [name for role, name in roles.items() if role != FIRED]
        unread = ""
        failed: set[str] = set()
        for operation in contents.operations:
            try:
                if failed.intersection(operation.inputs):
                    raise UnreadableError(unread)
                found = self._operate(operation)
            except UnreadableError as error:
                unread = unread or str(error)
                failed.update(operation.outputs)
                continue
            for name, value in zip(operation.outputs, found, strict=True):
                self._define(name, value)
        self.whole = not failed
        if label in failed:
            raise UnreadableError(unread)
        if failed.intersection(probabilities):
            return self._values[label], None
        shares = [rows(self._values[name]) for name in probabilities]
        size = (len(self.graph.classes),) if len(shares) == 1 else ()
        if any(share.elements.shape != (1, *size) or share.axis != 0 for share in shares):
            raise UnreadableError("an output is not the probability of a class for each row")
        elements = [element for share in shares for element in share.elements.reshape(-1)]
        self.shares = _shares(elements)
        return self._values[label], tuple(_nodes_of(elements))

    def _define(self, name: str, value: Value) -> None:
        if name in self._values or not name:
            raise UnreadableError(f"{name!r} is computed twice")
        self._values[name] = value

    def _operate(self, operation: Operation) -> tuple[Value, ...]:
        inputs = [self._values[name] for name in operation.inputs]
        kind, attributes = operation.kind, operation.attributes
        form = form_of(operation.domain, kind, attributes)
        if form is None or not form.takes([type_of(value) for value in inputs]):
            raise UnreadableError(f"the operator {kind} with operands of other types than rulekit writes")
        if any(isinstance(value, Ids | IdsShape | TrueOfEach) for value in inputs):
            return (read_ids(kind, self.reach, inputs, attributes),)
        if kind not in READERS and not operation.domain:
            raise UnreadableError(f"the operator {kind} is used in another way than rulekit writes")
        if kind == "LabelEncoder":
            return (self._encoded(rows(inputs[0]), attributes),)
        if kind == "TreeEnsembleClassifier":
            return tree_classifier(self.reach, inputs, attributes)
        return (READERS[kind](self.reach, inputs, attributes),)

    # Inputs --------------------------------------------------------------------------------------------------------

    def _input(self, port: Port, names: list[str], plan: InputPlan) -> Value:
        schema, kind = self.graph.schema, _WIDTHS.get(port.element, "")
        if names == [TENSOR_NAME] and port.shape == ("N", len(schema)) and kind in ("f4", "f8"):
            elements = np.empty((1, len(schema)), dtype=object)
            for j, feature in enumerate(schema):  # a category has no place: its column may hold anything
                unused = feature.kind == "categorical"
                why = f"the numbers of {feature.name!r} are read"
                elements[0, j] = Unused(why) if unused else GivenNumber(feature, kind == "f4")
            return RowTensor(elements, 0, kind)
        by_name = dict(zip(plan.names, plan.columns, strict=True))
        if by_name.get(port.name) in plan.texts and takes_ids(port) and port.shape[0] == "N" and kind == "i8":
            return Ids(plan.texts[by_name[port.name]])
        if port.name not in by_name or port.shape != plan.shape or len(names) != len(by_name):
            raise UnreadableError("its inputs are not those of the model")
        if by_name[port.name] in plan.texts:
            raise UnreadableError("its inputs are of other types than the model's")
        feature = schema[by_name[port.name]]
        element: Element
        if feature.kind != "categorical" and kind in ("f4", "f8"):
            element = GivenNumber(feature, kind == "f4")
        elif feature.kind == "categorical" and kind in ("i8", "text"):
            element = Code(feature) if kind == "i8" else _Text(feature)
        else:
            raise UnreadableError("its inputs are of other types than the model's")
        elements = np.empty((1,) * len(plan.shape), dtype=object)
        elements.reshape(-1)[0] = element
        return RowTensor(elements, 0, kind)

    def _encoded(self, value: RowTensor, attributes: Attributes) -> RowTensor:
        """The number or text that an encoder gives to each code of a category."""
        keys = [key.decode() for key in attributes["keys_strings"]]
        width, name = ("i8", "int64") if "default_int64" in attributes else ("f4", "float")
        values, default = attributes[f"values_{name}s"], attributes[f"default_{name}"]
        table = dict(zip(keys, values, strict=True))
        if len(table) != len(keys):
            raise UnreadableError("a text is encoded twice")
        if not all(map(math.isfinite, (*values, default))):
            raise UnreadableError("a text is encoded as something that is no number")
        return elementwise(self.reach, lambda text: self._by_code(text, table, default), [value], width)

    def _by_code(self, text: Element, table: Mapping[str, Any], default: Any) -> Element:
        if not isinstance(text, _Text):
            raise UnreadableError("an encoder of something that is no column")
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
        for code in range(FIRST_LEVEL_CODE + len(feature.levels)):
            pairs = by_code.get(code, [(other, default)])
            usual = {MISSING_CODE: "", UNSEEN_CODE: other}.get(code)
            level = feature.levels[code - FIRST_LEVEL_CODE] if code >= FIRST_LEVEL_CODE else usual
            value = dict(pairs).get(str(level), pairs[0][1])
            found.append(value)
            strange = [key for key, own in pairs if own != value]
            if code == UNSEEN_CODE and feature.unseen == "error":
                self.taken += [
                    f"{key!a} of {feature.name!r} is read as a level; the model refuses it" for key in strange
                ]
            else:
                apart += strange
        if apart:
            self.texts[feature.name] = tuple(dict.fromkeys((*self.texts.get(feature.name, ()), *apart)))
        return Category(feature, tuple(found))

    # Label ---------------------------------------------------------------------------------------------------------

    def labels(self, value: Value) -> tuple[tuple[Node, ...], bool]:
        """For each class when it is the label, and whether that is known; else the nodes that the label hangs on."""
        tensor = rows(value)
        if tensor.elements.shape != (1,) or tensor.width not in ("i8", "text"):
            raise UnreadableError("the first output is not one label for each row")
        element = tensor.elements.reshape(-1)[0]
        integers = integer_labels(self.graph.classes)
        values: list[Any] = list(label_texts(self.graph)) if integers is None else list(integers)
        if isinstance(element, str | int | float):
            return tuple(TRUE if element == value else FALSE for value in values), True
        found = _outcomes(element)
        if found is None:
            return (to_node(element),), False
        return tuple(_any(formula for label, formula in found if label == value) for value in values), True


class _Text:
    """A category as text."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature


def _any(formulas: Iterator[Node]) -> Node:
    found = tuple(formulas)
    return found[0] if len(found) == 1 else Or(found)


def _outcomes(element: Element) -> list[tuple[Any, Node]] | None:
    """Each value of a label and when it is taken; None where that is not known."""
    if isinstance(element, LabelOutcome):
        return list(zip(element.values, element.formulas, strict=True))
    if isinstance(element, Winner):
        return [(value, element.wins(place)) for place, value in enumerate(element.values)]
    if isinstance(element, Category):
        known = element.known
        masks = {value: tuple(v == value for v in known) for value in dict.fromkeys(known)}
        return [(value, truth(Category(element.feature, mask))) for value, mask in masks.items()]
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


def _nodes_of(elements: Sequence[Element]) -> Iterator[Node]:
    """The nodes that elements hang on."""
    for element in elements:
        if isinstance(element, Winner):
            yield from element.scores
        elif isinstance(element, LabelOutcome):
            yield from element.formulas
        elif not isinstance(element, str):
            yield to_node(element)


def _shares(elements: Sequence[Element]) -> tuple[Node, ...] | None:
    """A node for the probability of each class, as it was before the last cast to float32; None where it is none."""
    found: list[Node] = []
    for element in elements:
        if isinstance(element, Winner):
            found.append(Linear([(float(v), element.wins(j)) for j, v in enumerate(element.values)], 0.0))
        elif isinstance(element, LabelOutcome | str):
            return None
        else:
            node = to_node(element)
            found.append(node.children[0] if isinstance(node, Opaque) and node.name.startswith("cast f4") else node)
    return tuple(found)
