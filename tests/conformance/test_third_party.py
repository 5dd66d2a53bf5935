"""An exporter of another distribution: it is found, it can run the shipped suite, and it breaks none of these tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
"""The model file under another name, as another package would register it."""
from dataclasses import replace
from rulekit.conformance.targets import FILE
TARGET = replace(FILE, name="zipped", suffixes=(".zipped",))
'''
SUITE = """
from rulekit.conformance.models import NODES
from rulekit.conformance.targets import check_target
from rulekit.targets import find_target, target_names
check_target(find_target("zipped"), rows=20, models={"DNF": NODES["DNF"]}, kinds=("category",))
print(target_names())
"""


@pytest.fixture
def other_package(tmp_path: Path) -> dict[str, str]:
    """An environment with a distribution that registers one exporter that works and one that cannot be loaded."""
    (tmp_path / "zipped_rules.py").write_text(MODULE)
    about = tmp_path / "zipped_rules-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: zipped-rules\nVersion: 1.0\n")
    points = "[rulekit.exporters]\nzipped = zipped_rules:TARGET\naaa = nowhere:TARGET\n"
    (about / "entry_points.txt").write_text(points)
    return {**os.environ, "PYTHONPATH": str(tmp_path)}


@pytest.mark.long
def test_another_package_runs_the_suite(other_package: dict[str, str], tmp_path: Path) -> None:
    command = [sys.executable, "-c", SUITE]
    done = subprocess.run(command, env=other_package, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "['aaa', 'javascript', 'onnx', 'python', 'sql', 'text', 'zipped']"


def test_another_exporter_breaks_no_test_here(other_package: dict[str, str]) -> None:
    """It once did: the suite wanted every installed target in its own table."""
    root = Path(__file__).parents[2]
    chosen = ["test_finding_targets.py", "conformance/test_targets.py"]
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(f"tests/{name}" for name in chosen)]
    command += ["-k", "finding or of_this_distribution"]
    done = subprocess.run(command, env=other_package, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
