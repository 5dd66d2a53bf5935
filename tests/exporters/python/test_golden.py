"""Golden files of the Python and text targets; of a module, what nobody would read is named by its digest.

`RULEKIT_UPDATE_GOLDEN=1 pytest tests/exporters/python/test_golden.py` writes them anew; read the difference.
"""

from __future__ import annotations

import hashlib
import os
import re

import pytest
from golden_graphs import GOLDEN, MODELS
from rulekit_exporters.python import TARGET as PYTHON
from rulekit_exporters.text import TARGET as TEXT

CASES = [(name, PYTHON, {"self_test": True}, f"{name}.py") for name in MODELS] + [
    (name, TEXT, {"format": form}, f"{name}_{form}.txt")
    for name in MODELS
    for form in ("rules", "show", "full", "table", "csv", "c50")
]


# Of a module: what it is and imports, the answers, the run-time, the self-test, and
# the rules, which have a file of their own. Modules to be read whole are in samples/exports.
SECTIONS = (
    r'\A""".*?(?=\nDIGEST)',
    r"(?<=\n)def predict\(.*?(?=\n\n# How cells)",
    r"(?<=the same in every module -{9}\n\n).*?(?=\n# Rows at the edges)",
    r"(?<=--self-test -{47}\n\n).*?(?=\n# The same rules in the rule language)",
    r"(?<=# rules: begin\n).*?(?=\n# rules: end)",
)


def folded(module: str) -> str:
    """A module with each section replaced by its digest."""
    for section in SECTIONS:
        (text,) = re.findall(section, module, re.DOTALL)
        module = module.replace(text, f"# sha256 {hashlib.sha256(text.encode()).hexdigest()}\n")
    return module


@pytest.mark.parametrize(("name", "target", "options", "file"), CASES, ids=[case[-1] for case in CASES])
def test_artifact_is_the_golden_file(name, target, options, file):
    actual = target.emit(MODELS[name](), options).main.decode()
    actual = folded(actual) if target is PYTHON else actual
    path = GOLDEN / file
    if os.environ.get("RULEKIT_UPDATE_GOLDEN"):
        path.write_text(actual, encoding="utf-8")
    assert actual == path.read_text(encoding="utf-8"), f"{file} changed; see the head of this test file"


def test_no_golden_file_is_left_over():
    expected = {file for *_, file in CASES}
    assert {path.name for path in GOLDEN.iterdir() if path.is_file()} == expected
