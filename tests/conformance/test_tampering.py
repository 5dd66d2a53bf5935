"""A file that was changed after its export is caught, with a row that it decides otherwise."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from benchmarks.parity_models import MODELS
from rulekit.targets import find_target
from rulekit.verification.parity import verify

SUFFIXES = {"onnx": ".onnx", "python": ".py", "text": ".txt"}
GRAPH = MODELS["threshold"]()  # x0 > 0.1


def _changed_onnx(content: bytes) -> bytes:
    """Every float constant near the threshold moved by a hundredth."""
    model = onnx.ModelProto.FromString(content)
    moved = 0
    for tensor in model.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if values.dtype == np.float32 and (np.abs(np.abs(values) - 0.1) < 1e-6).any():
            changed = np.where(np.abs(np.abs(values) - 0.1) < 1e-6, values * np.float32(1.1), values)
            tensor.CopyFrom(numpy_helper.from_array(changed.astype(np.float32), tensor.name))
            moved += 1
    assert moved
    return model.SerializeToString()


def _changed_text(old: bytes, new: bytes):
    def change(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new)

    return change


@pytest.mark.parametrize("name", SUFFIXES)
def test_an_export_passes_from_its_file(name, tmp_path):
    path = tmp_path / f"model{SUFFIXES[name]}"
    GRAPH.export(path, name)
    report = verify(GRAPH, path, rows=500)
    assert (report.ok, report.target, report.carried) == (True, name, "same")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("onnx", _changed_onnx),
        ("python", _changed_text(b"> 0.10000", b"> 0.11000")),
        ("text", _changed_text(b"x0 > 0.1", b"x0 > 0.11")),
    ],
)
def test_a_moved_threshold_is_caught(name, change, tmp_path):
    path = tmp_path / f"model{SUFFIXES[name]}"
    path.write_bytes(change(find_target(name).emit(GRAPH, {}).main))
    report = verify(GRAPH, path, rows=500)
    assert report.different_decisions > 0
    assert report.counter_example.expected == 1
    assert 0.1 < report.counter_example.row["x0"] <= 0.1101
    assert report.foreign if name == "text" else report.tampered
