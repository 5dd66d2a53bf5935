"""Single faults in exported artifacts: `verify` catches every one that changes a decision, and no other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from benchmarks.proofs.mutations.faults import KINDS
from benchmarks.proofs.mutations.onnx import sites as onnx_sites
from benchmarks.proofs.mutations.python import sites as python_sites
from benchmarks.proofs.mutations.running import WAYS, Result, Way, run
from benchmarks.proofs.mutations.truth import confirmed, truth_of
from rulekit.conformance.models import NODES, SMALL
from rulekit.graph.evaluation.evaluator import decide
from rulekit.targets import find_target

ONNX = tuple(way for way in WAYS if way.target == "onnx")
PYTHON = (Way("python", "python"),)
FEW = ("threshold", "below, missing true", "level sets", "Boolean columns", "rules of three classes", "few stumps")


def wrong(results: Iterable[Result]) -> list[str]:
    return [str(result) for result in results if not result.right]


@pytest.mark.parametrize(
    ("n", "seed", "decisions", "kinds"), [(2, 4, 1, 1), pytest.param(30, 1, 12, 7, marks=pytest.mark.long)]
)
def test_faults_in_onnx(n: int, seed: int, decisions: int, kinds: int) -> None:
    results = list(run(n, seed=seed, ways=ONNX, names=FEW))
    assert wrong(results) == []
    assert {result.truth.effect for result in results} >= {"decision", "none"}
    assert sum(result.truth.effect == "decision" for result in results) >= decisions
    assert len({result.site.kind for result in results}) >= kinds


@pytest.mark.full
def test_faults_in_python() -> None:
    results = list(run(3, seed=1, ways=PYTHON, names=FEW))
    assert wrong(results) == []
    assert any(result.truth.effect == "decision" for result in results)


@pytest.mark.parametrize(("target", "sites"), [("onnx", onnx_sites), ("python", python_sites)])
def test_every_kind_of_fault_is_made_and_its_truth_is_what_its_artifact_does(target, sites) -> None:
    """An artifact without a fault is alike on all cells; a moved threshold differs beside it."""
    names = ("level sets", "DNF", "few stumps", "rules of three classes", "3 classes, rule sets")
    found = [site for name in names for site in sites(emitted(name, target))]
    assert {site.kind for site in found} >= set(KINDS)
    graph = NODES["threshold"]()  # x0 > 0.1
    content = emitted("threshold", target)
    moved = [site for site in sites(content) if site.kind == "threshold one ulp"]
    same = truth_of(graph, find_target(target), moved[0], content, 1000)
    assert same is not None
    assert (same.effect, same.different) == ("none", 0)
    truths = [truth_of(graph, find_target(target), site, site.make(), 1000) for site in moved]
    assert [truth.effect for truth in truths if truth is not None] == ["decision"] * len(moved)
    assert all(0 < truth.different < truth.rows for truth in truths if truth is not None)


def test_a_row_is_confirmed_by_running_it() -> None:
    graph = NODES["threshold"]()
    target = find_target("onnx")
    (site,) = [s for s in onnx_sites(emitted("threshold", "onnx")) if s.what == "Greater: becomes Less"]
    assert decide(graph, graph.table({"x0": np.array([5.0])})).tolist() == [1]
    assert confirmed(graph, target, site.make(), {"x0": 5.0})
    assert not confirmed(graph, target, emitted("threshold", "onnx"), {"x0": 5.0})


def emitted(name: str, target: str) -> bytes:
    return find_target(target).emit({**NODES, **SMALL}[name](), {}).main
