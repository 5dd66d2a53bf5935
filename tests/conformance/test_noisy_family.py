"""The noisy-or family at thousands of causes: proved where it decides, as near as float32 where it reports."""

from __future__ import annotations

import pytest

from rulekit.conformance.noisy_family import LARGE, MEMBERS
from rulekit.targets import find_target
from rulekit.verification.parity import verify

onnx = pytest.importorskip("onnx")


@pytest.mark.parametrize(
    "name", [name for name in MEMBERS if name not in ("rare gated noisy-or", "noisy-add of classes")]
)
def test_sums_on_a_grid_take_as_few_operators_at_any_number_of_causes(name):
    """Off the grid, or as circuits, they were two for each cause."""
    few, many = (
        onnx.load_from_string(find_target("onnx").emit(MEMBERS[name](k), {}).main).graph.node for k in (100, 300)
    )
    assert len(few) == len(many) < (100 if "max" in name or "min" in name else 30)


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_large_members_are_proved_in_onnx(name):
    graph, target = LARGE[name](), find_target("onnx")
    report = verify(graph, target.emit(graph, {}), target=target, rows=2_000)
    assert (report.ok, report.proof) == (True, "proved")


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("target", ["text", "python"])
def test_large_members_decide_alike_in_texts(name, target):
    graph, found = LARGE[name](), find_target(target)
    report = verify(graph, found.emit(graph, {}), target=found, rows=200, proving=False)
    assert report.ok
