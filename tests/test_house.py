"""The shape of the house: which way imports point, what stays light, what a wheel contains."""

from __future__ import annotations

import ast
import importlib.metadata
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import rulekit

ROOT = Path(__file__).parents[1]


def _modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("rulekit", ("rulekit_exporters", "rulekit_cli")),
        ("rulekit/graph", ("rulekit.learners", "rulekit.simplification", "rulekit.verification")),
        ("rulekit/tables", ("rulekit.graph", "rulekit.learners")),
        ("exporters", ("rulekit_cli", "rulekit.learners")),
    ],
)
def test_imports_point_one_way(folder: str, forbidden: tuple[str, ...]) -> None:
    wrong = {
        (str(path.relative_to(ROOT)), name)
        for path in _modules(folder)
        for name in _imports(path)
        if name.split(".")[0] in forbidden
        or name.startswith(tuple(f"{part}." for part in forbidden))
        or name in forbidden
    }
    assert wrong == set()


def test_no_node_waits_for_what_readers_are_shown() -> None:
    """RuleGraph.explain asks the audit when it is called, and only then."""
    at_once = {
        (path.name, node.module or "")
        for path in _modules("rulekit/graph")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ImportFrom)
    }
    assert {found for found in at_once if found[1].startswith("rulekit.audit")} == set()


def test_public_names_resolve_and_no_submodule_bears_one() -> None:
    for name in rulekit.__all__:
        assert getattr(rulekit, name).__name__ == name
    submodules = {path.stem for path in (ROOT / "rulekit").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert submodules & set(rulekit.__all__) == set()


def _loaded_after(code: str, folder: Path) -> set[str]:
    program = f"{code}\nimport sys, json; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_rulekit_loads_nothing_heavy(tmp_path: Path) -> None:
    assert _loaded_after("import rulekit", tmp_path) & {"numpy", "sklearn", "sympy", "polars", "onnx", "numba"} == set()


def test_the_command_starts_without_heavy_imports(tmp_path: Path) -> None:
    heavy = {"numpy", "sklearn", "sympy", "polars", "onnx", "numba", "lark"}
    assert _loaded_after("import rulekit_cli.main", tmp_path) & heavy == set()


def test_prediction_with_a_saved_graph_needs_few_libraries(tmp_path: Path) -> None:
    from rulekit.graph.decisions import Fires
    from rulekit.graph.nodes import Compare

    schema = rulekit.Schema((rulekit.Feature("x"),))
    rulekit.RuleGraph(schema, ("no", "yes"), Fires(Compare("x", ">", 0.5))).save(tmp_path / "m.json")
    (tmp_path / "rows.csv").write_text("x\n0.2\n0.9\n")
    code = (
        "import rulekit\n"
        "from rulekit.tables.reading import read_table\n"
        "graph = rulekit.load('m.json')\n"
        "table = read_table('rows.csv', schema=graph.schema)\n"
        "assert graph.predict(table).tolist() == ['no', 'yes']\n"
        "graph.predict_proba([{'x': 1.0}])"
    )
    assert (
        _loaded_after(code, tmp_path) & {"sympy", "onnx", "onnxruntime", "numba", "sklearn", "pandas", "lark"} == set()
    )


def test_shipped_code_runs_nothing_from_files() -> None:
    calls = {
        (str(path.relative_to(ROOT)), node.func.id)
        for folder in ("rulekit", "exporters", "cli")
        for path in _modules(folder)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
    }
    assert calls == set()
    for folder in ("rulekit", "exporters", "cli"):
        for path in _modules(folder):
            assert not _imports(path) & {"pickle", "joblib", "marshal", "shelve", "yaml"}, path


def test_every_module_says_what_it_is() -> None:
    silent = [
        p
        for f in ("rulekit", "exporters", "cli")
        for p in _modules(f)
        if not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert silent == []


@pytest.mark.full
def test_a_wheel_holds_three_packages_and_works_elsewhere(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"rulekit", "rulekit_exporters", "rulekit_cli"}
    for needed in (
        "rulekit/py.typed",
        "rulekit/graph/language/rules.lark",
        "rulekit/graph/files/model.schema.json",
        "rulekit/verification/parity.schema.json",
        "rulekit_cli/loans.csv",
    ):
        assert needed in names
    target = tmp_path / "site"
    subprocess.run([*pip, "install", str(wheel), "--no-deps", "--target", str(target)], check=True, capture_output=True)
    code = (
        "import rulekit, sys; from rulekit_cli.main import main; "
        "print(rulekit.__file__); sys.argv = ['rulekit', 'demo']; main()"
    )
    environment = {"PYTHONPATH": str(target), "PATH": "", "HOME": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(target))
    assert "0 different decisions" in ran.stdout


def test_the_version_is_the_same_everywhere() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == rulekit.__version__
    assert f"## {rulekit.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert importlib.metadata.version("rulekit-portable") == rulekit.__version__
