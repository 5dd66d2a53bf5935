"""RuleGraph -> ONNX model: plan the inputs, build each formulation, take the cheapest, check, load and run."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.check import check
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact
from rulekit_exporters.onnx.builder import Builder, Port, element_type, serialize
from rulekit_exporters.onnx.costs import cost
from rulekit_exporters.onnx.formulations import Emit, formulations
from rulekit_exporters.onnx.inputs import InputPlan, Inputs, plan_inputs
from rulekit_exporters.onnx.labels import integer_labels
from rulekit_exporters.onnx.metadata import PRODUCER, describe
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.fired import emit_fired
from rulekit_exporters.onnx.options import ROLES, Options, public_outputs
from rulekit_exporters.onnx.self_check import check_artifact

MAX_SHOWN = 20
FALLEN_BACK = "it is the portable graph of least time for one row"


def emit_model(graph: RuleGraph, parsed: Options) -> Artifact:
    """The artifact of a graph; see `rulekit_exporters.onnx.write`."""
    check(graph)
    plan = plan_inputs(graph, parsed.input)
    names = public_outputs(plan.names, ROLES if parsed.fired else ROLES[:2])
    candidates = formulations(graph, plan, parsed)
    models = {name: build(graph, plan, parsed, names, emit) for name, emit in candidates.emitters.items()}
    cheapest = min(models, key=lambda name: cost(models[name], parsed.optimize)) if len(models) > 1 else "operators"
    artifact = serialize(models[cheapest])
    check_artifact(artifact, graph)
    shown = ", ".join(plan.names[:MAX_SHOWN]) + (", ..." if len(plan.names) > MAX_SHOWN else "")
    summary = f"opset {parsed.opset}, input {plan.form}: {shown}, outputs {', '.join(names.values())}"
    if cheapest == "tree":
        summary += f", a tree of {candidates.leaves} leaves"
    warnings = warnings_of(graph, plan, names)
    if candidates.no_tree:
        warnings += (f"optimize=latency: this model is no tree operator, because {candidates.no_tree}; {FALLEN_BACK}",)
    return Artifact({"": artifact}, graph.digest, warnings, summary)


def build(graph: RuleGraph, plan: InputPlan, options: Options, names: dict[str, str], emit: Emit) -> Any:
    """The ModelProto of one formulation."""
    builder = Builder(frozenset((*plan.names, *names.values())))
    inputs = Inputs(plan, graph.schema, builder)
    emitter = Emitter(graph, plan, builder, inputs)
    emitter.prepare()
    label, probabilities = emit(emitter)
    outputs = [
        (label, Port(names["label"], label_element(graph), ("N",))),
        (probabilities, Port(names["probabilities"], element_type(np.float32), ("N", len(graph.classes)))),
    ]
    metadata = describe(graph, plan, options, names)
    if options.fired:
        ids, tensor = emit_fired(emitter)
        outputs.append((tensor, Port(names["fired"], element_type(np.bool_), ("N", len(ids)))))
        metadata["rulekit.fired"] = json.dumps(ids)
    try:
        return builder.model(inputs.ports(), outputs, options.opset, metadata, PRODUCER)
    except (UnicodeError, ValueError) as error:
        raise Unsupported("a name that is no valid Unicode", "onnx", "rename the column or level") from error


def label_element(graph: RuleGraph) -> int:
    return element_type(str if integer_labels(graph.classes) is None else np.int64)


def warnings_of(graph: RuleGraph, plan: InputPlan, names: dict[str, str]) -> tuple[str, ...]:
    """What a user of the model should know."""
    warnings = []
    for column, name in zip(plan.columns, plan.names, strict=False):
        if plan.form != "tensor" and column != name:
            warnings.append(f"column {column!r} is the input {name!r}: ONNX allows no such name")
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
    return tuple(warnings)
