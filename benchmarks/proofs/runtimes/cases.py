"""Cases: a model, a form of export, adversarial rows, and what of the model or of a row a runtime may lack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from rulekit_exporters.onnx.running import class_indices, plan_of, raw_feeds

from benchmarks.proofs.runtimes.exchange import Answer, write_case
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import FormatError, InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Outcome, find_target
from rulekit.verification.rows import RawRows, adversarial_rows

Mask = npt.NDArray[np.bool_]

FORMS: dict[str, Mapping[str, Any]] = {
    "tensor": {"input": "tensor"},
    "columns": {"input": "columns"},
    "codes": {"input": "codes"},
    "ids": {"input": "ids"},
    "latency": {"optimize": "latency"},
    "opset 21": {"opset": 21},
}

# Of a row, over the columns that the model uses, as they are fed to it; everything else is of a model.
VALUES: dict[str, Callable[[npt.NDArray[Any]], Mask]] = {
    "NaN": lambda column: column != column,
    "subnormal": lambda column: _is_subnormal(column),
    "NUL in a text": lambda column: np.array([isinstance(v, str) and "\0" in v for v in column.tolist()], dtype=bool),
    "code beyond 32 bits": lambda column: (
        column != column.astype(np.int32) if column.dtype.kind == "i" else np.zeros(len(column), dtype=bool)
    ),
}


def _is_subnormal(values: npt.NDArray[Any]) -> Mask:
    """Nearer to zero than the smallest normal number of float32, doubles too, and not zero."""
    if values.dtype.kind != "f":
        return np.zeros(values.shape, dtype=bool)
    with np.errstate(over="ignore"):
        narrow = np.abs(values.astype(np.float32))
    found: Mask = (narrow != 0) & (narrow < np.finfo(np.float32).smallest_normal)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One exported model and the rows that it is to decide.

    features: what it needs of a runtime (`features_of`); values: the rows that hold each of VALUES in a column that the
    model uses; expected: labels and probabilities of the rule graph; words: the columns of words that the graph has for
    the ids of a text.
    """

    model: str
    form: str
    graph: RuleGraph
    artifact: bytes
    features: frozenset[str]
    rows: RawRows
    values: Mapping[str, Mask]
    expected: Outcome
    words: WordsApart | None = None

    @property
    def name(self) -> str:
        """A name for files and reports."""
        plain = "".join(c if c.isalnum() else "-" for c in self.model)
        return f"{plain}.{self.form.replace(' ', '-')}"

    def write(self, folder: Path) -> None:
        """The case as a folder (`exchange`), with the values as an application holds them."""
        plan = plan_of(self.artifact, self.graph, self.words)
        write_case(folder / self.name, self.artifact, raw_feeds(plan, self.graph, self.rows.columns))

    def outcome(self, answer: Answer) -> Outcome | str:
        """What a runtime answered as class indices, or in one line what is wrong with it."""
        if answer.error or answer.labels is None or answer.probabilities is None:
            return answer.error or "no answer"
        if answer.probabilities.shape != self.expected.probabilities.shape:
            return f"probabilities {answer.probabilities.shape} instead of {self.expected.probabilities.shape}"
        try:
            return Outcome(class_indices(self.graph, answer.labels), answer.probabilities)
        except FormatError as error:
            return str(error)


def rows_with(graph: RuleGraph, artifact: bytes, rows: RawRows, words: WordsApart | None = None) -> dict[str, Mask]:
    """By each of VALUES the rows that hold it in a column that the graph uses, as they are fed to the model."""
    plan = plan_of(artifact, graph, words)
    feeds = raw_feeds(plan, graph, rows.columns)
    if plan.form == "tensor":
        (tensor,) = feeds.values()
        columns = [tensor[:, graph.schema.names.index(name)] for name in graph.used_features]
    else:
        columns = [column for feed in feeds.values() for column in feed.T]
    nowhere = np.zeros(len(rows), dtype=bool)
    return {value: np.logical_or.reduce([nowhere, *map(holds, columns)]) for value, holds in VALUES.items()}


def features_of(artifact: bytes) -> frozenset[str]:
    """What a model needs of a runtime.

    Its operators by name, `OP of doubles` and `OP of a vector` for those that take such tensors, `label by OP`, kinds
    of inputs and labels, "doubles" where any tensor is one, "subnormal bound" where a constant is so near to zero.
    """
    model = onnx.shape_inference.infer_shapes(onnx.ModelProto.FromString(artifact))
    kinds = onnx.TensorProto
    ports = [*model.graph.input, *model.graph.value_info, *model.graph.output]
    types = {port.name: port.type.tensor_type.elem_type for port in ports}
    types |= {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    ranks = {port.name: len(port.type.tensor_type.shape.dim) for port in ports}
    ranks |= {tensor.name: len(tensor.dims) for tensor in model.graph.initializer}
    inputs = {types[port.name] for port in model.graph.input}
    names = {kinds.STRING: "text input", kinds.INT64: "integer input", kinds.DOUBLE: "double input"}
    found = {names[kind] for kind in inputs if kind in names}
    found.add("text label" if types[model.graph.output[0].name] == kinds.STRING else "integer label")
    for node in model.graph.node:
        found.add(node.op_type)
        if model.graph.output[0].name in node.output:
            found.add(f"label by {node.op_type}")
        if any(types.get(name) == kinds.DOUBLE for name in node.input):
            found.add(f"{node.op_type} of doubles")
        if any(ranks.get(name) == 1 for name in node.input):
            found.add(f"{node.op_type} of a vector")
    if kinds.DOUBLE in types.values():
        found.add("doubles")
    constants = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    if any(_is_subnormal(np.atleast_1d(values)).any() for values in constants):
        found.add("subnormal bound")
    return frozenset(found)


def cases_of(
    models: Mapping[str, Callable[[], RuleGraph]], n_rows: int, forms: Iterable[str] = FORMS, seed: int = 0
) -> Iterator[Case]:
    """Every model in every form that it can be exported in; of texts a runtime gets vectors or ids of their words."""
    target = find_target("onnx")
    for name, make in models.items():
        given = make()
        graph, words = taken_apart(given)
        rows = adversarial_rows(graph, n_rows, seed)
        expected = Outcome(decide(graph, rows.table), probabilities(graph, rows.table))
        for form in forms:
            try:
                artifact = target.emit(given if form == "ids" else graph, FORMS[form]).main
            except InputError:  # a category in a tensor, no text
                continue
            values = rows_with(graph, artifact, rows, words)
            yield Case(name, form, graph, artifact, features_of(artifact), rows, values, expected, words)
