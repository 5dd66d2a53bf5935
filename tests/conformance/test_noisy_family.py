"""The noisy-or family at thousands of causes: proved where it decides, as near as float32 where it reports."""

from __future__ import annotations

import pytest

from rulekit.conformance.models import MEMBERS, MOST_CAUSES, noisy_parity
from rulekit.targets import find_target
from rulekit.verification.parity import verify

onnx = pytest.importorskip("onnx")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [n for n in MEMBERS if n != "noisy-add of classes" and "parity" not in n])
def test_sums_on_a_grid_take_as_few_operators_at_any_number_of_causes(name):
    """Off the grid, or as circuits, they were two for each cause; each tangent of a gated one takes three."""
    few, many = (
        onnx.load_from_string(find_target("onnx").emit(MEMBERS[name](k), {}).main).graph.node for k in (40, 120)
    )
    most = {"noisy-max": 100, "noisy-min": 100, "rare gated noisy-or": 150}.get(name, 40)
    assert len(few) == len(many) < most


def test_a_parity_takes_few_operators_for_each_cause():
    """As nested exclusive ors a parity of 50 causes was 326 kB of generated Python.

    In ONNX an operator for each halving of the causes went: no model of the samples and benchmarks has a parity.
    """
    for k in (50, 200):
        graph = noisy_parity(k)
        assert len(onnx.load_from_string(find_target("onnx").emit(graph, {}).main).graph.node) < 4 * k
        assert len(find_target("python").emit(graph, {}).main) < 1_600 * k


def _sizes(share: int) -> list[object]:
    """Each member at its most causes, which is long, and at a share of them."""
    each = [(name, most // part) for name, most in MOST_CAUSES.items() for part in (share, 1)]
    return [
        pytest.param(
            name, k, marks=pytest.mark.long if k == MOST_CAUSES[name] else pytest.mark.full, id=f"{name}, {k} causes"
        )
        for name, k in each
    ]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "k"), _sizes(60))
def test_large_members_are_proved_in_onnx(name, k):
    graph, target = MEMBERS[name](k), find_target("onnx")
    report = verify(graph, target.emit(graph, {}), target=target, rows=2_000)
    assert (report.ok, report.proof) == (True, "proved")


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("name", "k"), _sizes(100))
@pytest.mark.parametrize("target", ["text", "python"])
def test_large_members_decide_alike_in_texts(name, k, target):
    graph, found = MEMBERS[name](k), find_target(target)
    report = verify(graph, found.emit(graph, {}), target=found, rows=200, proving=False)
    assert report.ok
