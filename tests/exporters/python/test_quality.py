"""What a user's own linter and type checker say of generated modules."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from golden_graphs import MODELS
from rulekit_exporters.python import TARGET

from rulekit.conformance.models import random_graph

ROOT = Path(__file__).parents[3]


# A number held on a side is written as comparisons, as in every target; random graphs have constants in their logic,
# which simplification takes out.
OWN = "FURB136,SIM223"


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quality")
    for name, model in MODELS.items():
        (folder / f"{name}.py").write_bytes(TARGET.emit(model(), {}).main)
    for seed in range(20):
        graph = random_graph(np.random.default_rng(seed), plain=seed % 2 == 0)
        (folder / f"random_{seed}.py").write_bytes(TARGET.emit(graph, {}).main)
    return folder


def check(package, *arguments):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    done = subprocess.run([sys.executable, "-m", package, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing(modules):
    check("ruff", "check", "--isolated", "--no-cache", "--ignore", OWN, str(modules))


def test_ruff_with_the_rules_of_this_project_finds_nothing(modules):
    """Long lines apart: rules and names can be longer than a line."""
    check(
        "ruff", "check", "--no-cache", "--config", str(ROOT / "pyproject.toml"), "--ignore", f"E501,{OWN}", str(modules)
    )


@pytest.mark.long
def test_mypy_finds_nothing(modules, tmp_path):
    check("mypy", "--strict", "--cache-dir", str(tmp_path), *map(str, sorted(modules.glob("*.py"))))


def test_modules_import_the_standard_library_only(modules):
    import ast

    for path in modules.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            assert all(name.split(".")[0] in {*sys.stdlib_module_names, "numpy"} for name in names)
