"""Labels and outputs, what a model says about itself, and the rule graph read back from it."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto

import rulekit
from rulekit.arrays import Array
from rulekit.cells.words import taken_apart
from rulekit.errors import FormatError, NoModelError, RulekitError, Unsupported
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.shown.score_cards import total_table
from rulekit_exporters.onnx import FIRED, LABEL, PROBABILITIES, OnnxOptions
from rulekit_exporters.onnx.builder import Port
from rulekit_exporters.onnx.inputs import InputPlan


def integer_labels(classes: tuple[ClassLabel, ...]) -> list[int] | None:
    """The class values as integers if they are the integers 0..K-1 or Booleans; None where labels are text."""
    kinds = {type(label) for label in classes}
    integers = kinds == {int} and set(classes) == set(range(len(classes)))
    return [int(label) for label in classes] if integers or kinds == {bool} else None


def is_largest(labels: Array, chances: Array) -> bool:
    """Whether in every row of `chances` [n, K] that of its label [n] is above all others."""
    best = np.take_along_axis(chances, labels[:, None], axis=1)
    return bool(np.all((chances < best).sum(axis=1) == chances.shape[1] - 1))


def label_texts(graph: RuleGraph) -> list[str]:
    """The classes as text; raises Unsupported where two of them read alike."""
    texts = [class_text(label) for label in graph.classes]
    for i, text in enumerate(texts):
        if text in texts[:i]:
            raise Unsupported(f"two classes that both read {text!r}", "onnx", "rename one of them")
    return texts


def roles_of(graph: RuleGraph, frame: bool, fired: bool) -> tuple[str, ...]:
    """The outputs: the label, the probabilities (frame: an output for each class), and which rules fired."""
    shares = [f"probability_{text}" for text in label_texts(graph)] if frame else [PROBABILITIES]
    return LABEL, *shares, *([FIRED] if fired else [])


def public_outputs(inputs: Sequence[str], roles: Sequence[str]) -> dict[str, str]:
    """The public name of each output: its role, with underscores where an input or another role has that name."""
    names: dict[str, str] = {}
    for role in roles:
        name = role
        while name in inputs or (name != role and name in roles) or name in names.values():
            name += "_"
        names[role] = name
    return names


def kinds_of_outputs(graph: RuleGraph, roles: Iterable[str]) -> list[tuple[int, tuple[int | str, ...]]]:
    """Element type and shape of each output."""
    label = TensorProto.STRING if integer_labels(graph.classes) is None else TensorProto.INT64
    kinds: dict[str, tuple[int, tuple[int | str, ...]]] = {
        LABEL: (label, ("N",)),
        PROBABILITIES: (TensorProto.FLOAT, ("N", len(graph.classes))),
        FIRED: (TensorProto.BOOL, ("N", len(rules_of(graph)))),
    }
    return [kinds.get(role, (TensorProto.FLOAT, ("N",))) for role in roles]


def is_by_class(outputs: Sequence[Port]) -> bool:
    """Whether there is an output for the probability of each class."""
    return len(outputs) > 1 and len(outputs[1].shape) == 1


def class_text(label: ClassLabel) -> str:
    """A label's text: true and false, integral numbers without a point."""
    if isinstance(label, bool):
        return "true" if label else "false"
    if isinstance(label, float):
        return str(int(label)) if label.is_integer() and abs(label) < 2**53 else repr(label)
    return str(label)


MODEL_KEY = "rulekit.model"
DIGEST_KEY = "rulekit.digest"
NO_MODEL = "this ONNX file carries no rulekit model"
LARGEST_ARTIFACT = 1 << 30
LARGEST_MODEL = 1 << 28
PRODUCER = "rulekit"
_LEFT_BEHIND = ("row_hashes", "measured", "baselines", "fidelity")


def describe(graph: RuleGraph, plan: InputPlan, options: OnnxOptions, names: dict[str, str]) -> dict[str, str]:
    """The metadata of a model: version, digest, the model file (compressed), inputs, classes, codes and rule text.

    The models of other sizes stay behind, the artifact is this one; so do the hashes of the rows that trained it, which
    were most of the file of a small model (22 kB for 2,000 rows), what its training measured, and parameters that were
    not set: an application has no use for them.
    """
    provenance = {key: value for key, value in graph.provenance.items() if key not in _LEFT_BEHIND}
    if isinstance(parameters := provenance.get("parameters"), dict):
        provenance["parameters"] = {key: value for key, value in parameters.items() if value is not None}
    model = json.loads(to_json(graph.with_(ladder=None, provenance=provenance)))
    packed = zlib.compress(_compact(model).encode(), 9)
    metadata = {
        "rulekit.version": rulekit.__version__,
        DIGEST_KEY: graph.digest,
        MODEL_KEY: base64.b64encode(packed).decode(),
        **interface(graph, plan, names),
    }
    if options.text:
        metadata["rulekit.rules"] = str(graph)
    return metadata


def missing_numbers(graph: RuleGraph) -> dict[str, tuple[float, ...]]:
    """By used column of numbers or truth values the numbers that mean missing, for which NaN must be fed."""
    used = (graph.schema[name] for name in graph.used_features if not graph.schema[name].has_text_cells)
    return {feature.name: feature.missing_numbers for feature in used if feature.missing_numbers}


def interface(graph: RuleGraph, plan: InputPlan, names: Mapping[str, str]) -> dict[str, str]:
    """What an application must follow: how rows go in and what comes out."""
    metadata = {"rulekit.classes": _compact(label_texts(graph)), "rulekit.input": plan.form}
    if plan.renamed or any(public != role for role, public in names.items()):
        columns = dict(zip(plan.names, plan.columns, strict=True)) if plan.form != "tensor" else {}
        metadata["rulekit.names"] = _compact({"inputs": columns, "outputs": names})
    if numbers := missing_numbers(graph):
        metadata["rulekit.missing"] = _compact(numbers)
    if texts := described(graph, numbered=plan.form == "ids"):
        metadata["rulekit.words"] = _compact(texts)
        metadata["rulekit.columns"] = _compact(plan.columns)
    if plan.coded:
        used = [graph.schema[name] for name in plan.columns if name in graph.schema]
        codes = {feature.name: feature.codes_of_texts for feature in used if feature.kind == "categorical"}
        metadata["rulekit.codes"] = _compact(codes)
    if plan.frame:
        metadata["rulekit.probabilities"] = _compact([*names.values()][1:])
    if FIRED in names:
        metadata["rulekit.fired"] = json.dumps([rule.id for rule in rules_of(graph)])
    totals = total_table(graph)
    if totals is not None:
        metadata["rulekit.totals"] = _compact(totals.pairs)
    return metadata


def misstated(metadata: Mapping[str, str], graph: RuleGraph, plan: InputPlan, names: Mapping[str, str]) -> list[str]:
    """The keys whose text is not that of the graph; rules count where the graph is said to be this one.

    A file whose metadata a tool has dropped states nothing.
    """
    if not any(key.startswith("rulekit.") for key in metadata):
        return []
    expected = interface(graph, plan, names)
    if metadata.get(DIGEST_KEY) == graph.digest and "rulekit.rules" in metadata:
        expected["rulekit.rules"] = str(graph)
    elsewhere = {"rulekit.version", DIGEST_KEY, MODEL_KEY, "rulekit.rules"}
    keys = {key for key in metadata if key.startswith("rulekit.")} - elsewhere
    return sorted(key for key in keys | set(expected) if metadata.get(key) != expected.get(key))


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


def model_of(artifact: bytes) -> Any:
    """The ModelProto of an ONNX file; raises FormatError where it is none."""
    if len(artifact) > LARGEST_ARTIFACT:
        raise FormatError(f"an ONNX file of {len(artifact)} bytes", fix=f"at most {LARGEST_ARTIFACT} are read")
    try:
        return ModelProto.FromString(artifact)
    except Exception as error:  # the decoder's own error type depends on the protobuf implementation
        raise FormatError("this is no ONNX file", fix="it may be truncated; export it again") from error


def properties_of(artifact: bytes) -> dict[str, str]:
    """The metadata of an ONNX file; raises FormatError where it is none, or a key of rulekit's stands twice."""
    properties: dict[str, str] = {}
    for item in model_of(artifact).metadata_props:
        # readers disagree about which of the two counts; a key that is no Unicode is bytes here
        if item.key in properties and str(item.key).startswith("rulekit."):
            raise FormatError(f"{item.key!r} stands twice in the metadata of this ONNX file", fix="export it again")
        properties[item.key] = item.value
    return properties


def read_graph(artifact: bytes) -> RuleGraph:
    """The rule graph in the metadata; raises FormatError where it is missing, damaged or not that of the digest."""
    properties = properties_of(artifact)
    if MODEL_KEY not in properties:
        kind = FormatError if any(key.startswith("rulekit.") for key in properties) else NoModelError
        raise kind(NO_MODEL, fix="only models exported by rulekit can be read")
    try:
        unpack = zlib.decompressobj()
        text = unpack.decompress(base64.b64decode(properties[MODEL_KEY], validate=True), LARGEST_MODEL).decode()
        complete = unpack.eof
    except (binascii.Error, zlib.error, ValueError) as error:
        raise FormatError("the rulekit model in this ONNX file is damaged", fix="export it again") from error
    if not complete:
        raise FormatError("the rulekit model in this ONNX file is too large or cut off", fix="export it again")
    try:
        graph = from_json(text)
    except FormatError:
        raise
    except RulekitError as error:
        raise FormatError(f"the rulekit model in this ONNX file is damaged: {error}", fix="export it again") from error
    if graph.digest != properties.get(DIGEST_KEY):
        raise FormatError("the rulekit model in this ONNX file is not that of its digest", fix="export it again")
    return graph


def described(graph: RuleGraph, numbered: bool = False) -> dict[str, Any]:
    """By text the column that says whether it is missing, and the column of each word; empty without texts.

    The operators know no texts: a model over texts is exported as the same model over columns of words
    (`rulekit.cells.words`), or over their ids (`rulekit_exporters.onnx.word_ids`). Whoever runs it tokenises.
    numbered: their ids instead of their names. Cells that are one of the missing tokens are missing texts.
    """
    _, words = taken_apart(graph)
    if words is None:
        return {}
    found = {}
    for text, columns in words.columns.items():
        missing, *own = range(len(columns)) if numbered else columns
        feature = graph.schema[text]
        found[text] = {
            "missing": missing,
            "missing_tokens": list(feature.missing_tokens),
            "words": dict(zip(feature.levels, own, strict=True)),
        }
    return found
