"""Golden files of the Python and text targets; the run-time, the same in every module, is named by its digest.

`RULEKIT_UPDATE_GOLDEN=1 pytest tests/exporters/python/test_golden.py` writes them anew; read the difference.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from golden_graphs import MODELS
from rulekit_exporters.python import TARGET as PYTHON
from rulekit_exporters.text import TARGET as TEXT

GOLDEN = Path(__file__).parents[2] / "golden" / "exports"
CASES = [(name, PYTHON, {}, f"{name}.py") for name in MODELS] + [
    (name, TEXT, {"format": form}, f"{name}_{form}.txt")
    for name in MODELS
    for form in ("rules", "show", "full", "table", "csv", "c50")
]


def without_runtime(text: str) -> str:
    """A module with the section "How cells are read ..." replaced by its digest; any other text as it is."""
    start, end = text.find("\n# How cells are read"), text.find("\n# Rows at the edges")
    runtime = text[start:end].partition("-\n\n")[2] if 0 <= start < end else ""
    return text.replace(runtime, f"# sha256 {hashlib.sha256(runtime.encode()).hexdigest()}\n\n") if runtime else text


@pytest.mark.parametrize(("name", "target", "options", "file"), CASES, ids=[case[-1] for case in CASES])
def test_artifact_is_the_golden_file(name, target, options, file):
    actual = without_runtime(target.emit(MODELS[name](), options).main.decode())
    path = GOLDEN / file
    if os.environ.get("RULEKIT_UPDATE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8"), f"{file} changed; see the head of this test file"


def test_no_golden_file_is_left_over():
    expected = {file for *_, file in CASES}
    assert {path.name for path in GOLDEN.iterdir() if path.is_file()} == expected
