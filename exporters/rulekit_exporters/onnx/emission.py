"""RuleGraph -> ONNX model: plan the inputs, build each formulation, take the cheapest, check, load and run.

The formulations of a whole graph:

* operators: the literal block, matrix products, slots, fixed-order circuits of `operators.nodes`;
* few rules and the sum that reports beside them as products of one comparison (`tables`);
* a table over the cells of the columns (`tables`), where more than Boolean logic decides or is reported;
* the whole graph as one tree operator (`trees`), only on request, because not every runtime has it.

The cheapest is that of least time, in microseconds of a call, by its operators and their widths. Measured with
onnxruntime 1.31, one thread, as the difference between models of twelve and of two equal operators; the figures are
those of one slow core, and only their ratios count. A call costs the same for every formulation, so it is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, get_args

import numpy as np
import onnx

from rulekit.cells.axis import cells_of
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import RulekitError, Unsupported
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Above, Family, Linear, LinearThreshold, Probability, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, rules_of
from rulekit.tables.table import Table
from rulekit.targets import Artifact
from rulekit_exporters.onnx.builder import Contents, OperatorBuilder, Port, Truth, serialize
from rulekit_exporters.onnx.conditions import NotOfBitsError, is_logical
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, ModelInputs, plan_inputs, plan_of_form
from rulekit_exporters.onnx.metadata import (
    PRODUCER,
    describe,
    integer_labels,
    is_by_class,
    kinds_of_outputs,
    label_texts,
    missing_numbers,
    roles_of,
)
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.nodes import LOGIC, NUMBERS, emit_outputs
from rulekit_exporters.onnx.options import InputForm, OnnxOptions, Optimize, public_outputs
from rulekit_exporters.onnx.running import run_apart, runtime_session
from rulekit_exporters.onnx.tables import cell_table, counted_rules, emit_counted_rules, emit_table
from rulekit_exporters.onnx.trees import emit_tree, tree_for
from rulekit_exporters.onnx.word_ids import takes_ids

MAX_SHOWN = 20
# Times the size of a sum, and of rules with a sum beside them, that a table in their place may have.
MOST_OF_SUM, MOST_OF_RULES = 4, 1.25
FALLEN_BACK = "it is the portable graph of least time for one row"


def emit_model(graph: RuleGraph, parsed: OnnxOptions) -> Artifact:
    """The graph as an ONNX model, checked, loaded and run before it is returned.

    Raises Unsupported for what the target cannot express, GraphError for a graph that breaks the rules of composition.
    """
    check(graph)
    apart, words = taken_apart(graph)
    model, cheapest, plan, names, candidates = cheapest_model(apart, parsed, graph)
    artifact = serialize(model)
    check_artifact(artifact, apart, words)
    summary = f"opset {parsed.opset}, input {plan.form}: {_listed(plan.names)}, outputs {_listed([*names.values()])}"
    if cheapest == "tree":
        summary += f", a tree of {candidates.leaves} leaves"
    warnings = warnings_of(apart, plan, names)
    if candidates.no_tree:
        warnings += (
            f"optimize=latency: this model cannot be one tree operator, because {candidates.no_tree}; {FALLEN_BACK}",
        )
    return Artifact({"": artifact}, graph.digest, warnings, summary)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_SHOWN]) + (", ..." if len(names) > MAX_SHOWN else "")


def cheapest_model(
    graph: RuleGraph, options: OnnxOptions, carried: RuleGraph
) -> tuple[Any, str, InputPlan, dict[str, str], Formulations]:
    """The ModelProto that is written, the name of its formulation, its inputs and outputs, and what there was.

    carried: the model that the metadata hold, of which `graph` is the form without texts.
    """
    plan = plan_inputs(graph, options.input, taken_apart(carried)[1], options.frame)
    names = public_outputs(plan.names, roles_of(graph, plan.frame, options.fired))
    candidates = formulations(graph, plan, options)
    models = {name: build(graph, plan, options, names, emit, carried) for name, emit in candidates.emitters.items()}
    if _is_outweighed(models, graph):
        del models["table"]
    cheapest = min(models, key=lambda name: cost(models[name], options.optimize)) if len(models) > 1 else "operators"
    return models[cheapest], cheapest, plan, names, candidates


def _is_outweighed(models: dict[str, Any], graph: RuleGraph) -> bool:
    """Whether a table over cells is far larger than what it is a table of, which is about as fast."""
    roots = graph.decision.roots
    score = roots[0].score if isinstance(roots[0], Above) else roots[0]
    name, most = ("rules", MOST_OF_RULES) if "rules" in models else ("operators", MOST_OF_SUM)
    summed = len(roots) == 1 and isinstance(score, Linear | LinearThreshold)
    if "table" not in models or not (summed or name == "rules"):
        return False
    return bool(models["table"].ByteSize() > most * models[name].ByteSize())


def is_written(contents: Contents, graph: RuleGraph, carried: RuleGraph) -> bool:
    """Whether operators, constants, inputs and outputs are those that this exporter writes for a graph.

    carried: the model of which `graph` is the form without texts.
    """
    forms: tuple[InputForm, ...] = ("tensor",) if contents.inputs[0].name == TENSOR_NAME else ("columns", "codes")
    if any(map(takes_ids, contents.inputs)):
        forms = ("ids",)
    found = replace(contents, metadata={}, producer="").model()
    frame = is_by_class(contents.outputs)
    fired = len(contents.outputs) > 2 and not frame
    for form, optimize in product(forms, get_args(Optimize)):
        options = OnnxOptions(form, contents.opset, fired, False, optimize, frame)
        try:
            model = cheapest_model(graph, options, carried)[0]
        except RulekitError:
            continue
        model.ClearField("metadata_props")
        model.producer_name = ""
        if model == found:
            return True
    return False


def build(
    graph: RuleGraph, plan: InputPlan, options: OnnxOptions, names: dict[str, str], emit: Emit, carried: RuleGraph
) -> Any:
    """The ModelProto of one formulation."""
    builder = OperatorBuilder(frozenset((*plan.names, *names.values())))
    inputs = ModelInputs(plan, graph.schema, builder)
    emitter = Emitter(graph, plan, builder, inputs, {**LOGIC, **NUMBERS})
    emitter.prepare()
    label, probabilities = emit(emitter)
    ports = [Port(name, *kind) for name, kind in zip(names.values(), kinds_of_outputs(graph, names), strict=True)]
    shares = [probabilities]
    if plan.frame:
        places = (builder.constant(k, np.int64) for k in range(len(graph.classes)))
        shares = [builder.operate("Gather", probabilities, place, axis=1) for place in places]
    metadata = describe(carried, plan, options, names)
    if options.fired:
        shares.append(emit_fired(emitter))
    outputs = list(zip((label, *shares), ports, strict=True))
    try:
        return builder.model(inputs.ports(), outputs, options.opset, metadata, PRODUCER)
    except (UnicodeError, ValueError) as error:
        raise Unsupported("a name that is no valid Unicode", "onnx", "rename the column or level") from error


def warnings_of(graph: RuleGraph, plan: InputPlan, names: dict[str, str]) -> tuple[str, ...]:
    """What a user of the model should know."""
    renamed = plan.renamed.items()
    warnings = [f"column {column!r} is the input {name!r}: ONNX allows no such name" for column, name in renamed]
    for role, name in names.items():
        if role != name:
            warnings.append(f"the output {role} is called {name!r}: a column has that name")
    for feature in (graph.schema[column] for column in plan.columns if plan.form == "columns"):
        if feature.kind != "categorical":
            continue
        if feature.unseen == "error":
            warnings.append(f"column {feature.name!r}: a level never seen is no error in ONNX, it is taken as unseen")
        hidden = [level for level in feature.levels if level == "" or level in feature.missing_tokens]
        if hidden:
            warnings.append(f"column {feature.name!r}: the level {hidden[0]!r} is read as missing in a string input")
    for column, numbers in missing_numbers(graph).items():
        listed = ", ".join(f"{number:g}" for number in numbers)
        warnings.append(
            f"column {column!r}: {listed} means missing; ONNX takes it for a number, so feed NaN in its place"
        )
    return tuple(warnings)


def emit_fired(emitter: Emitter) -> str:
    """The tensor [N, rules] bool of the rules that fired."""
    builder = emitter.builder
    rules = rules_of(emitter.graph)
    if not rules:
        rows = builder.operate("Transpose", emitter.inputs.fill(False), perm=[1, 0])
        nothing = builder.constant([], np.int64)
        return builder.operate("Gather", rows, nothing, axis=1)
    values = [truth_of(emitter, rule) for rule in rules]
    stacked = builder.operate("Concat", *map(emitter.row, values), axis=0)
    return builder.operate("Transpose", stacked, perm=[1, 0])


def truth_of(emitter: Emitter, rule: Rule) -> Truth:
    """A Boolean rule where it is true, a random one where its probability is above 1/2, a number where it is not 0."""
    builder = emitter.builder
    if rule.nested:
        return builder.above(emitter.number(Probability(rule.node)), 0.5)
    if rule.node.family is Family.BOOLEAN:
        return emitter.truth(rule.node)
    number = emitter.number(rule.node)
    if not isinstance(number, str):
        return number != 0.0
    return builder.operate("Not", builder.operate("Equal", number, builder.double(0.0)))


def check_artifact(artifact: bytes, graph: RuleGraph, words: WordsApart | None = None) -> None:
    """Run no row, one row and 33 rows; raises RulekitError where a decision is not that of the graph.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    session = runtime_session(artifact)
    for n_rows in (0, 1, 33):
        table = sample(graph, n_rows)
        labels = run_apart(artifact, graph, words, table, session).labels
        if not np.array_equal(labels, decide(graph, table)):
            raise RulekitError("the exported model decides otherwise than the graph", where="onnx", fix="report this")


def sample(graph: RuleGraph, n_rows: int) -> Table:
    """Rows that step through the cells of every used column, each at its own pace; the first are all missing."""
    found = readers(graph.roots)
    features = [graph.schema[name] for name in plan_of_form(graph, "columns").columns]
    cells = [cells_of(feature, found.get(feature.name, ())).encoded()[::-1] for feature in features]
    arrays = [values[np.arange(n_rows) * (j + 1) % len(values)] for j, values in enumerate(cells)]
    return Table(tuple(features), tuple(arrays), n_rows)


# The tensors of the label, as the model gives it, and of the probabilities.
Emit = Callable[[Emitter], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Formulations:
    """The formulations of a graph by name; where a tree was asked for, why there is none, or its leaves."""

    emitters: dict[str, Emit]
    no_tree: str = ""
    leaves: int = 0


def formulations(graph: RuleGraph, plan: InputPlan, options: OnnxOptions) -> Formulations:
    """What could be written for a graph."""
    found: dict[str, Emit] = {"operators": _operators}
    no_tree, leaves = "", 0
    below = topological([*graph.decision.roots, *graph.reported])
    if not all(is_logical(node) for node in below):
        try:
            table = cell_table(graph)
            found["table"] = lambda emitter: _labelled(emitter, *emit_table(emitter, table))
        except NotOfBitsError:
            pass
    with suppress(NotOfBitsError):
        counted = counted_rules(graph)
        found["rules"] = lambda emitter: _labelled(emitter, *emit_counted_rules(emitter, counted))
    if options.optimize == "latency":
        try:
            if options.fired:
                raise NotOfBitsError("the output of fired rules needs the operators of all rules")
            tree = tree_for(graph, plan)
            leaves = tree.leaves
            found["tree"] = lambda emitter: emit_tree(emitter, tree)
        except NotOfBitsError as error:
            no_tree = str(error)
    return Formulations(found, no_tree, leaves)


def _operators(emitter: Emitter) -> tuple[str, str]:
    return _labelled(emitter, *emit_outputs(emitter))


def _labelled(
    emitter: Emitter, index: str, probabilities: str, classes: Sequence[int] | None = None
) -> tuple[str, str]:
    """Labels for indices, of classes or of what decides one of `classes`: the integers themselves, or a lookup."""
    builder, found = emitter.builder, integer_labels(emitter.graph.classes)
    texts = label_texts(emitter.graph) if found is None else found
    labels = texts if classes is None else [texts[k] for k in classes]
    if labels == list(range(len(labels))):
        return index, probabilities
    table = builder.constant(np.array(labels, dtype=object if found is None else np.int64))
    return builder.operate("Gather", table, index, axis=0), probabilities


# Calling one operator, whatever the rows.
CALL = 0.6
CALLS = {"TreeEnsembleClassifier": 1.8, "LabelEncoder": 1.5}

# Nanoseconds for each row and each number of the result in that row: of float, of double.
ELEMENT = {
    "Transpose": (0.9, 1.8),
    "Gather": (0.5, 1.0),
    "Where": (1.5, 3.5),
    "Cast": (0.5, 0.5),
    "And": (0.15, 0.15),
    "Or": (0.15, 0.15),
    "Not": (0.15, 0.15),
    "Xor": (0.15, 0.15),
    "Greater": (0.4, 0.6),
    "Less": (0.4, 0.6),
    "GreaterOrEqual": (0.4, 0.6),
    "IsNaN": (0.3, 0.6),
    "Exp": (1.5, 8.0),
    "Softmax": (12.0, 12.0),
    "Concat": (0.15, 0.3),
    "Flatten": (0.05, 0.05),
    "Reshape": (0.0, 0.0),
    "Shape": (0.0, 0.0),
    "ArgMax": (6.0, 12.0),
    "LabelEncoder": (80.0, 80.0),
    "TreeEnsembleClassifier": (60.0, 60.0),
}
ELSE = (0.45, 1.1)
# Nanoseconds for each multiplication of a matrix product and row.
MULTIPLICATION = (0.06, 0.11)
# Nanoseconds for each row that is looked up in a table.
LOOKED_UP = 9.0

# Rows of the call for which a formulation is chosen: one row and a full chunk both count, so it lies between them.
ROWS = {"throughput": 256, "latency": 1}
# Microseconds by which each kilobyte has to pay: a model is also sent, loaded and held in the cache. Whoever asks for
# latency asks for it at any size.
KILOBYTE = {"throughput": 0.2, "latency": 0.0}


def cost(model: Any, optimize: str) -> float:
    """What the cheapest ModelProto has least of, for throughput or for latency."""
    kilobytes = float(model.graph.ByteSize()) / 1000
    return microseconds(model, ROWS[optimize]) + KILOBYTE[optimize] * kilobytes


def microseconds(model: Any, rows: int) -> float:
    """The time of a call of `rows` rows of a ModelProto."""
    shapes = _shapes(onnx.shape_inference.infer_shapes(model).graph)
    constants = {item.name: item for item in model.graph.initializer}
    total = 0.0
    for node in model.graph.node:
        total += CALLS.get(node.op_type, CALL)
        total += 1e-3 * rows * _row(node, shapes, constants)
    return total


def _row(node: Any, shapes: dict[str, tuple[int, bool]], constants: dict[str, Any]) -> float:
    """Nanoseconds of an operator for each row."""
    width, double = shapes.get(node.output[0], (1, False))
    double = double or any(shapes.get(name, (0, False))[1] for name in node.input)
    if node.op_type in ("MatMul", "Gemm"):
        matrix = next((constants[name] for name in node.input if name in constants), None)
        return MULTIPLICATION[double] * (math.prod(matrix.dims) if matrix is not None else width)
    if node.op_type == "Gather" and node.input[0] in constants:
        return LOOKED_UP
    if node.op_type in ("ArgMax", "LabelEncoder", "TreeEnsembleClassifier"):
        return ELEMENT[node.op_type][double]
    return ELEMENT.get(node.op_type, ELSE)[double] * width


def _shapes(graph: Any) -> dict[str, tuple[int, bool]]:
    """Numbers in a row, and whether they are doubles, by the name of a tensor that has rows."""
    found = {}
    ports: Iterable[Any] = (*graph.value_info, *graph.input, *graph.output)
    for port in ports:
        tensor = port.type.tensor_type
        dims = tensor.shape.dim
        symbolic = any(dim.dim_param or not dim.dim_value for dim in dims)
        width = math.prod(dim.dim_value for dim in dims if dim.dim_value)
        found[port.name] = (width if symbolic else 0, tensor.elem_type == onnx.TensorProto.DOUBLE)
    return found
