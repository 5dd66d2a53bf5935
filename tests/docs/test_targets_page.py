"""The target of docs/targets.md works: it is the code of the page that is run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from rulekit.conformance.models import NODES
from rulekit.conformance.targets import check_target
from rulekit.errors import InputError
from rulekit.targets import Target
from rulekit.verification.parity import verify

PAGE = Path(__file__).parents[2] / "docs" / "targets.md"


@pytest.fixture(scope="module")
def target() -> Target:
    found = re.search(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found is not None
    namespace: dict[str, Any] = {}
    exec(found[1], namespace)
    made = namespace["JAVASCRIPT"]
    assert isinstance(made, Target)
    return made


@pytest.mark.one_in(2)
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("name", list(NODES)[::6])
def test_the_small_target_decides_as_the_model(name: str, target: Target) -> None:
    graph = NODES[name]()
    if any(feature.kind == "text" for feature in graph.schema.features):
        with pytest.raises(InputError, match="has no words here"):
            target.emit(graph)
        return
    report = verify(graph, target.emit(graph), target=target, rows=200)
    assert (report.different_decisions, report.carried) == (0, "same")
    assert report.raw_rows == 200
    assert report.largest_gap < 1e-12


@pytest.mark.long
@pytest.mark.full
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_small_target_passes_the_suite(target: Target) -> None:
    """The page calls it complete: it once failed on the models over texts."""
    check_target(target, rows=40, models=dict(list(NODES.items())[::8]), kinds=("category",))
