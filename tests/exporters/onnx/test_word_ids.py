"""Models over texts that take the ids of words: the same answers as the graph, proved, whatever ids there are."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import onnx
import pytest
from onnx_cases import operator_kinds
from rulekit_exporters.onnx import TARGET, emit
from rulekit_exporters.onnx.builder import serialize
from rulekit_exporters.onnx.metadata import properties_of
from rulekit_exporters.onnx.running import runtime_session
from rulekit_exporters.onnx.word_ids import word_ids

from rulekit.conformance.models import MODELS
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.kinds.encoding import encode
from rulekit.verification.parity import verify

SOME = """rulekit rules 1
label y: {no, yes}
default no
column story: text
column paper: categorical {daily, weekly}
column pages: numeric

decide yes when any of (
  story contains any of {wheat, corn} and paper in {daily},
  story is missing and pages > 3,
  story contains rye and not story contains oats,
)
"""
GRAPH = parse_graph(SOME)


@cache
def many() -> RuleGraph:
    """150 conjunctions of two words each, which are laid out as one block."""
    rules = ",\n".join(f"  story contains w{i} and not story contains w{(7 * i + 3) % 300}" for i in range(150))
    head = "rulekit rules 1\nlabel y: {no, yes}\ndefault no\ncolumn story: text\n"
    return parse_graph(f"{head}\ndecide yes when any of (\n{rules},\n)\n")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("optimize", ["throughput", "latency"])
@pytest.mark.parametrize("graph", [MODELS["words of texts"](), MODELS["weighted words"](), GRAPH, many()])
def test_ids_are_proved_and_tested(graph: RuleGraph, optimize: str) -> None:
    artifact = TARGET.emit(graph, {"input": "ids", "optimize": optimize})
    report = verify(graph, artifact, target=TARGET, rows=400)
    assert report.ok, report
    assert (report.proof, report.raw_rows >= 400) == ("proved", True), report
    assert "LabelEncoder" not in operator_kinds(artifact.main)


def test_an_application_makes_the_ids_of_its_texts() -> None:
    """Missing, duplicates, unknown words and ids beyond; no rows and no ids are rows like others."""
    artifact = emit(GRAPH, {"input": "ids"}).main
    described = json.loads(properties_of(artifact)["rulekit.words"])["story"]
    assert described == {"missing": 0, "missing_tokens": [], "words": {"corn": 1, "oats": 2, "rye": 3, "wheat": 4}}
    texts = ["Corn, and corn again", None, "Rye!", "rye oats", "", "other words"]
    ids = word_ids(texts, described)
    assert ids.tolist() == [[1, -1], [0, -1], [3, -1], [2, 3], [0, -1], [-1, -1]]
    columns = {"paper": ["daily", "weekly"] * 3, "pages": np.full(6, 4.0)}
    table = encode({"story": texts, **columns}, GRAPH.schema)
    session = runtime_session(artifact)
    feeds = {"paper": table.arrays[1].astype(np.int64)[:, None], "pages": table.arrays[2][:, None]}
    strange = np.array([[9, 4 + 1, -(2**63), 2**63 - 1, -2]] * 6)
    for fed in (ids, ids[:, ::-1], np.hstack([ids, ids, strange])):
        label, chances = session({**feeds, "story": fed})[:2]
        assert [list(GRAPH.classes).index(value) for value in label] == decide(GRAPH, table).tolist()
        np.testing.assert_allclose(chances, probabilities(GRAPH, table), atol=1e-6)
    for rows in (0, 2):
        nothing = {name: feed[:rows] for name, feed in feeds.items()}
        assert len(session({**nothing, "story": np.zeros((rows, 0), dtype=np.int64)})[0]) == rows
    assert word_ids([], described).shape == (0, 0)


def test_what_ids_cannot_do_is_refused() -> None:
    with pytest.raises(InputError, match="takes no ids of words: export codes"):
        emit(
            parse_graph("rulekit rules 1\nlabel y: {0, 1}\ndefault 0\ncolumn x: numeric\n\ndecide 1 when x > 1\n"),
            {"input": "ids"},
        )
    with pytest.raises(InputError, match="leave fired out"):
        emit(GRAPH, {"input": "ids", "fired": True})


def test_another_use_of_ids_is_not_proved() -> None:
    """Ids clipped to one word less, and a last row that begins as true, are found or not read."""
    model = onnx.ModelProto.FromString(emit(GRAPH, {"input": "ids"}).main)
    clip = next(node for node in model.graph.node if node.op_type == "Clip")
    high = next(tensor for tensor in model.graph.initializer if tensor.name == clip.input[2])
    high.CopyFrom(onnx.numpy_helper.from_array(np.array(3, dtype=np.int64), high.name))
    report = verify(GRAPH, serialize(model), target=TARGET, rows=200)
    assert not report.ok
    assert report.proof == "tested"
