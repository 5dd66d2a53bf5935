"""A model whose operators may do anything is run on request only, and then in a process that ends."""

from __future__ import annotations

import time

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser
from onnx_cases import nodes_of
from rulekit_exporters.onnx import running

from rulekit.conformance.models import NODES
from rulekit.errors import FormatError, InputError
from rulekit.targets import find_target
from rulekit.verification.parity import check_as_written, verify

TARGET = find_target("onnx")
GRAPH = NODES["threshold"]()


def _with_loop(steps: int) -> bytes:
    """The export with a loop before it that counts up, and whose count is no part of any output."""
    model = onnx.ModelProto.FromString(TARGET.emit(GRAPH, {}).main)
    body = parser.parse_graph(
        "body (int64 step, bool going, int64 sum) => (bool goes_on, int64 next)"
        "{ goes_on = Identity (going) next = Add (sum, looped_one) }"
    )
    constants = {
        "steps": np.int64(steps),
        "start": np.bool_(True),
        "looped_zero": np.int64(0),
        "looped_one": np.int64(1),
    }
    model.graph.initializer.extend(numpy_helper.from_array(np.array(v), name) for name, v in constants.items())
    loop = helper.make_node("Loop", ["steps", "start", "looped_zero"], ["counted"], body=body)
    # the probabilities hang on the count, or a runtime would leave the loop out
    (last,) = [node for node in model.graph.node if "probabilities" in node.output]
    last.output[:] = [name if name != "probabilities" else "shares" for name in last.output]
    ends = nodes_of(
        "as_number = Cast <to = 1> (counted)\nnone = Mul (as_number, nothing)\nprobabilities = Add (shares, none)"
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array(0, np.float32), "nothing"))
    nodes = [*model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend([loop, *nodes, *ends])
    return model.SerializeToString()


def test_a_loop_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Loop of 2^62 steps ran for ever in this process, and Ctrl-C had no effect."""
    endless = _with_loop(1 << 62)
    report = verify(GRAPH, endless, target=TARGET, rows=50)
    assert not report.ok
    assert "Loop" in report.not_run
    with pytest.raises(InputError, match="not run: the operator Loop"):
        check_as_written(GRAPH, endless, TARGET)
    monkeypatch.setattr(running, "SECONDS", 3.0)
    started = time.monotonic()
    with pytest.raises(FormatError, match="the model did not finish within 3 s") as caught:
        verify(GRAPH, endless, target=TARGET, rows=50, run_untrusted=True)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 60


def test_a_foreign_model_that_ends_is_compared() -> None:
    """The rows that it answers in its own process are those of the comparison."""
    report = verify(GRAPH, _with_loop(3), target=TARGET, rows=50, run_untrusted=True)
    assert (report.ok, report.different_decisions, report.largest_gap) == (True, 0, 0.0)
    assert report.proof == "tested"


def test_texts_come_and_go_as_they_are() -> None:
    """Texts with NUL at their end, no ASCII or nothing in them are not those of a fixed width."""
    arrays = {"a": np.array([["x\0"], ["é\U0001f600"], [""]], dtype=object), "b": np.array([1.5, np.nan], np.float32)}
    found = running._unpacked(running._packed(arrays))
    assert found["a"].tolist() == arrays["a"].tolist()
    np.testing.assert_array_equal(found["b"], arrays["b"])
    for content in (b"", b"[1]", b'{"a": ["O", [1], [8]]}', b'{"a": ["M8[s]", [1], [3]]}', b'{"a": ["<i8", [2], [3]]}'):
        with pytest.raises(FormatError):
            running._unpacked(content)


def test_a_gemm_that_an_optimiser_has_fused_is_bounded_and_tested() -> None:
    """A Relu of what is 0 and 1 changes nothing; the operator is not read, but runs unasked in a bounded process."""
    artifact = TARGET.emit(GRAPH, {}).main
    model = onnx.ModelProto.FromString(artifact)
    last = [node for node in model.graph.node if node.op_type == "Gemm"][-1]
    last.op_type, last.domain = "FusedGemm", "com.microsoft"
    last.attribute.append(helper.make_attribute("activation", "Relu"))
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    report = verify(GRAPH, model.SerializeToString(), target=TARGET, rows=50)
    assert report.ok, report
    assert (report.proof, report.raw_rows >= 50) == ("tested", True), report
    assert "the operator com.microsoft.FusedGemm is not read" in str(report)
