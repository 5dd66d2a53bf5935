"""Names, metadata, options, strings and codes, hostile files."""

from __future__ import annotations

import base64
import contextlib
import json
import zlib
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx_cases import LABEL, SCHEMA, adversarial_table, assert_same_everywhere, changed, crafted, nodes_of
from rulekit_exporters.onnx import TARGET, emit, read, run
from rulekit_exporters.onnx.metadata import properties_of

from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.nodes import Above, Among, And, Compare, Hidden, IsTrue, Missing, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema

RULES = Or((And((Compare("x", ">", 0.1), IsTrue("flag"))), Among("city", ("3", "ünï"), False, True)))
GRAPH = RuleGraph(SCHEMA, ("no", "yes"), Fires(RULES), provenance={"learner": "test"})


def session(artifact: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(artifact, providers=["CPUExecutionProvider"])


def column(*values: object, dtype: object) -> np.ndarray:
    return np.array([[value] for value in values], dtype=dtype)


def test_a_level_as_it_is_written_comes_before_its_look_alikes() -> None:
    schema = Schema((Feature("c", "categorical", ("1", "2", "2.0", "true", "-3"), missing_tokens=("-3.0",)),), "y")
    cells = ["1", "1.0", "2", "2.0", "true", "True", "TRUE", "-3", "-3.0"]
    others = ["1.00", "1.", "+1", "01", "2.00", "tRuE", "t", " 1"]
    codes = {level: code for code, level in enumerate(schema["c"].levels)}
    found = {}
    for level in codes:
        artifact = emit(RuleGraph(schema, (0, 1), Fires(Among("c", (level,)))), {}).main
        labels = session(artifact).run(["label"], {"c": column(*cells, *others, dtype=object)})[0]
        found[level] = [cell for cell, label in zip([*cells, *others], labels, strict=True) if label]
    assert found == {"1": ["1", "1.0"], "2": ["2"], "2.0": ["2.0"], "true": ["true", "True", "TRUE"], "-3": ["-3"]}


def test_a_level_never_seen_that_counts_as_missing_or_is_an_error() -> None:
    for unseen, expected in (("missing", [1, 1]), ("error", [0, 1]), ("unseen", [0, 1])):
        schema = Schema((Feature("c", "categorical", ("a",), unseen=unseen),), "y")
        artifact = emit(RuleGraph(schema, (0, 1), Fires(Missing("c"))), {})
        assert session(artifact.main).run(["label"], {"c": column("zz", "", dtype=object)})[0].tolist() == expected
        assert any("never seen" in warning for warning in artifact.warnings) == (unseen == "error")


def test_codes_out_of_range_are_unseen_and_the_table_is_published() -> None:
    artifact = emit(GRAPH, {"input": "codes"}).main
    codes = [0, 1, 2, 3, 4, 5, 6, 7, -1, -2, 2**62, -(2**63), 2**63 - 1]
    nothing = np.full((len(codes), 1), np.nan, dtype=np.float32)
    feeds = {"x": nothing, "flag": nothing, "city": column(*codes, dtype=np.int64)}
    label = session(artifact).run(["label"], feeds)[0]
    assert (label == "yes").tolist() == [False, True, False, True, False, True] + [True] * 7
    properties = properties_of(artifact)
    table = json.loads(properties["rulekit.codes"])["city"]
    assert table == {"": 0, "?": 0, "NA": 0, "Rome": 2, "3": 3, "3.0": 3, "new\nline": 4, "ünï": 5}
    assert json.loads(properties["rulekit.classes"]) == ["no", "yes"]


def test_names_stay_verbatim_and_never_collide() -> None:
    names = ("t0", "t1", "label", "probabilities", "input", "new\nline", "quo\"te'", "ünï", "a b", "import os", "")
    schema = Schema(tuple(Feature(name) for name in names), "y")
    graph = RuleGraph(schema, (0, 1), Fires(Or([Compare(name, ">", float(j)) for j, name in enumerate(names)])))
    artifact = emit(graph, {"input": "columns", "fired": True})
    loaded = session(artifact.main)
    assert [port.name for port in loaded.get_inputs()] == [*names[:-1], "column_10"]
    assert [port.name for port in loaded.get_outputs()] == ["label_", "probabilities_", "fired"]
    assert len(artifact.warnings) == 3
    assert_same_everywhere(graph)
    assert [port.name for port in session(emit(graph, {}).main).get_outputs()] == ["label", "probabilities"]


def test_only_used_columns_are_inputs_and_the_tensor_has_all() -> None:
    graph = RuleGraph(SCHEMA, (0, 1), Fires(Compare("x", ">", 0.0)))
    columns = session(emit(graph, {"input": "columns"}).main).get_inputs()
    assert [(port.name, port.type, port.shape) for port in columns] == [("x", "tensor(float)", ["N", 1])]
    tensor = session(emit(graph, {}).main).get_inputs()
    assert [(port.name, port.type, port.shape) for port in tensor] == [("input", "tensor(float)", ["N", 5])]
    wide = RuleGraph(SCHEMA, (0, 1), Fires(Compare("wide", ">", 0.0)))
    assert session(emit(wide, {}).main).get_inputs()[0].type == "tensor(double)"
    assert session(emit(wide, {"input": "columns"}).main).get_inputs()[0].type == "tensor(double)"


def test_the_graph_comes_back() -> None:
    for options in ({}, {"input": "codes", "text": False}, {"fired": True, "opset": 19}):
        graph = read(emit(GRAPH, options).main)
        assert graph == GRAPH
        assert graph.provenance == GRAPH.provenance
    assert TARGET.read is not None


def test_metadata_carry_the_rules_unless_told_otherwise() -> None:
    assert properties_of(emit(GRAPH, {}).main)["rulekit.rules"] == str(GRAPH)
    assert "rulekit.rules" not in properties_of(emit(GRAPH, {"text": False}).main)


@pytest.mark.parametrize("opset", [12, 13, 15, 18, 21])
def test_opsets(opset: int) -> None:
    assert_same_everywhere(GRAPH, opset=opset)
    hidden = [Hidden(f"h{k}", leaf, 0.5 + k, 0.1) for k, leaf in enumerate(RULES.children)]
    node = Probability(Or(hidden))
    assert_same_everywhere(RuleGraph(SCHEMA, (0, 1), Fires(Above(node, 0.5)), (node,)), opset=str(opset))


@pytest.mark.parametrize(
    ("options", "text"),
    [
        *(({"input": "matrix"}, "tensor, columns, codes"), ({"inputs": "tensor"}, "no option 'inputs'")),
        *(({"opset": opset}, "12") for opset in (11, 10_000, "new", True)),
        *(({"fired": "perhaps"}, "true or false"), ({"optimize": "size"}, "throughput, latency")),
        ({"input": "tensor"}, "'city'.*columns or codes"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], text: str) -> None:
    with pytest.raises(InputError, match=text):
        emit(GRAPH, options)


def test_a_table_without_a_used_column_is_named() -> None:
    with pytest.raises(InputError, match="'x'"):
        run(emit(GRAPH, {}).main, GRAPH, adversarial_table().select(("flag", "city")))


def with_metadata(**changes: str | None) -> bytes:
    """The export with other values, None to leave one out."""

    def change(model: onnx.ModelProto) -> None:
        kept = {item.key: item.value for item in model.metadata_props}
        kept.update({f"rulekit.{key}": value for key, value in changes.items()})
        del model.metadata_props[:]
        onnx.helper.set_model_props(model, {key: value for key, value in kept.items() if value is not None})

    return changed(emit(GRAPH, {}).main, change)


def packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


PACKED = (b"{}", b'"\xff"', b"[" * 100_000)
CUT_OFF = zlib.compress(b"x" * 1000)[:-4]
MODELS = (None, "%%%", packed(b"not compressed"), packed(CUT_OFF), *(packed(zlib.compress(part)) for part in PACKED))
HOSTILE = [b"", b"no onnx file at all", b"\x00" * 1000, emit(GRAPH, {}).main[:700]]
HOSTILE += [*(with_metadata(model=model) for model in MODELS), *(with_metadata(digest=d) for d in ("0" * 64, None))]


@pytest.mark.parametrize("content", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_files_are_format_errors(content: bytes) -> None:
    with pytest.raises(FormatError):
        read(content)


def test_a_key_that_stands_twice_is_refused() -> None:
    """Readers disagree about which of the two counts, so a file could show other rules here than elsewhere."""
    artifact = changed(emit(GRAPH, {}).main, lambda m: m.metadata_props.add(key="rulekit.model", value="x"))
    with pytest.raises(FormatError, match=r"'rulekit\.model' stands twice"):
        read(artifact)


FLOAT, INT = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
FAILING = "w = Concat <axis = 0> (input, input)\nlabel = Add (w, input)"
ROW_LABELS = "m = ReduceMax <axes = [1], keepdims = 0> (input)\nlabel = Cast <to = 7> (m)"
NOT_A_LABEL = "not a label and probabilities for each row"


@pytest.mark.parametrize(
    ("artifact", "message"),
    [
        ((ROW_LABELS, 1, [LABEL]), NOT_A_LABEL),
        ((f"{ROW_LABELS}\np = Size (input)", 1, [LABEL, ("p", INT, None)]), NOT_A_LABEL),
        ((f"{ROW_LABELS}\np = Identity (input)", 1, [LABEL, ("p", FLOAT, None)]), "not 2 probabilities for each row"),
        ((ROW_LABELS, 3, [LABEL]), "inputs of this ONNX file are not those of the model"),
        ((FAILING, 1, [("label", FLOAT, None)]), "onnxruntime cannot run the model"),
    ],
    ids=["one output", "a scalar", "one column", "other width", "failing"],
)
def test_a_model_that_answers_otherwise_or_fails_is_refused(artifact: Any, message: str) -> None:
    """Such files were internal errors: ValueError when unpacked, InvalidArgument by onnxruntime."""
    graph = RuleGraph(Schema((Feature("x"),), "t"), (0, 1), Fires(Compare("x", ">", 0.5)))
    lines, columns, outputs = artifact
    with pytest.raises(InputError if "cannot run" in message else FormatError, match=message):
        run(crafted(nodes_of(lines), (), columns, outputs), graph, graph.table({"x": [0.0, 1.0, 0.0]}))


def test_numbers_that_mean_missing_are_named_by_the_export_and_in_the_file() -> None:
    """The graph takes them for missing; the file does not, and `verify --data` proved the file without a word."""
    schema = Schema((Feature("d", missing_tokens=("-9", "-8")), Feature("e", missing_tokens=("-1",))), "t")
    graph = RuleGraph(schema, (0, 1), Fires(Missing("d")))
    made = emit(graph, {"input": "columns"})
    assert made.warnings == ("column 'd': -9, -8 means missing; ONNX takes it for a number, so feed NaN in its place",)
    metadata = {each.key: each.value for each in onnx.load_from_string(made.main).metadata_props}
    assert json.loads(metadata["rulekit.missing"]) == {"d": [-9.0, -8.0]}
    assert graph.predict({"d": [-9.0, 0.0], "e": [0.0, 0.0]}).tolist() == [1, 0]
    fed = [session(made.main).run(["label"], {"d": column(cell, dtype=np.float32)})[0][0] for cell in (np.nan, -9.0)]
    assert fed == [1, 0]


def test_a_bomb_is_not_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rulekit_exporters.onnx.metadata.LARGEST_MODEL", 1 << 16)
    bomb = base64.b64encode(zlib.compress(b" " * (1 << 24))).decode()
    with pytest.raises(FormatError, match="too large"):
        read(with_metadata(model=bomb))


def test_mutated_files_never_raise_anything_else() -> None:
    artifact, rng = emit(GRAPH, {}).main, np.random.default_rng(0)
    for _ in range(150):
        broken = bytearray(artifact)
        for _ in range(int(rng.integers(1, 6))):
            broken[int(rng.integers(len(broken)))] = int(rng.integers(256))
        with contextlib.suppress(FormatError):
            assert read(bytes(broken)) == GRAPH


def test_a_model_that_decides_otherwise_is_not_exported(monkeypatch: pytest.MonkeyPatch) -> None:
    other = RuleGraph(SCHEMA, GRAPH.classes, Fires(Or((*RULES.children, Missing("x")))))
    monkeypatch.setattr("rulekit_exporters.onnx.emission.decide", lambda graph, table: decide(other, table))
    with pytest.raises(ValueError, match="decides otherwise"):
        emit(GRAPH, {})
