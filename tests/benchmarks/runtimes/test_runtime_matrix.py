"""Every model in every form of ONNX export decides alike in every runtime, but for the declared gaps.

`make runtimes` installs the runtimes first; one that is not on this machine is skipped with its reason.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.proofs.runtimes.catalogue import RUNTIMES
from benchmarks.proofs.runtimes.environments import PLACES, ROOT
from benchmarks.proofs.runtimes.figure import Column, run_runtimes
from rulekit.conformance.models import MODELS
from rulekit.targets import find_target

ROWS = 300

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Column]:
    folder = tmp_path_factory.mktemp("runtimes") / "cases"
    there = [key for key, runtime in RUNTIMES.items() if not runtime.missing]
    return {column.key: column for column in run_runtimes(MODELS, ROWS, there, folder)}


@pytest.mark.parametrize("key", RUNTIMES)
def test_a_runtime_decides_as_the_graph_does(key: str, request: pytest.FixtureRequest) -> None:
    if RUNTIMES[key].missing:
        pytest.skip(RUNTIMES[key].missing)

    comparison = request.getfixturevalue("columns")[key].comparison

    assert comparison.faults == ()
    assert comparison.different == 0
    assert comparison.rows >= 30 * ROWS


@pytest.mark.skipif(bool(PLACES["oldest"].missing), reason=PLACES["oldest"].missing or "there")
def test_the_oldest_packages_export_the_same_bytes(tmp_path: Path) -> None:
    """The file does not depend on which onnx and onnxruntime wrote it."""
    names = ["DNF", "noisy-or", "boosted stumps", "4 ordered, rules", "hundreds of levels"]
    target = find_target("onnx")
    expected = []
    for k, name in enumerate(names):
        graph = MODELS[name]()
        graph.save(tmp_path / f"{k}.json")
        expected.append(hashlib.sha256(target.emit(graph, {}).main).hexdigest())
    code = (
        "import hashlib, sys, rulekit\n"
        "from rulekit_exporters.onnx import TARGET\n"
        "for path in sys.argv[1:]:\n"
        "    print(hashlib.sha256(TARGET.emit(rulekit.load(path), {}).main).hexdigest())\n"
    )
    paths = [str(tmp_path / f"{k}.json") for k in range(len(names))]
    places = os.pathsep.join((str(ROOT), str(ROOT / "exporters")))
    command = [str(PLACES["oldest"].python), "-c", code, *paths]

    ran = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": places}, check=False)

    assert (ran.returncode, ran.stderr[-500:]) == (0, "")
    assert ran.stdout.split() == expected
