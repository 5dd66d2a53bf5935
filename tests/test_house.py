"""The shape of the house: which way imports point, what stays light, what a wheel contains."""

from __future__ import annotations

import ast
import importlib.metadata
import io
import json
import re
import subprocess
import sys
import tokenize
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import rulekit

ROOT = Path(__file__).parents[1]


def _modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _breaches(folder: str, forbidden: Callable[[Path, str], bool]) -> list[str]:
    """The imports of a folder, inside functions too, that a wall forbids."""
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in _modules(folder)
        for name in sorted(_imports(path))
        if forbidden(path, name)
    ]


def _under(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


ROOMS = ("graph", "cells", "logic", "search", "shown", "audit", "work")
"""Each sees those before it alone. Beside them stand learners and verification, over `shown`, and the notebook, which
sees what it shows and is seen by none. Over `work` stands what sends rows to other machines."""
OVER_SHOWN = ("learners", "teaching", "verification", "notebook", "conformance", "distributed")


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("rulekit", ("rulekit_exporters", "rulekit_cli", "rulekit_serve", "benchmarks", "pytest", "hypothesis")),
        *((f"rulekit/{room}", (*ROOMS[k + 1 :], *OVER_SHOWN)) for k, room in enumerate(ROOMS[:5])),
        ("rulekit/graph", ("simplification",)),
        ("rulekit/cells", ("simplification",)),
        ("rulekit/tables", (*ROOMS, *OVER_SHOWN, "simplification", "program")),
        ("rulekit/program", (*ROOMS[1:], *OVER_SHOWN, "tables", "simplification")),
        ("rulekit/simplification", (*ROOMS[3:], *OVER_SHOWN)),
        ("rulekit/verification", ("audit", "work", "learners", "teaching", "notebook", "conformance", "distributed")),
        ("rulekit/learners", ("work", "teaching", "notebook", "conformance", "distributed")),
        ("rulekit/teaching", (*ROOMS[1:], "simplification", "program", *OVER_SHOWN[2:])),
        ("rulekit/audit", ("work", "learners", "teaching", "notebook", "conformance", "distributed")),
        ("rulekit/work", ("notebook", "distributed")),
        ("rulekit/distributed", ("notebook", "conformance")),
        ("exporters", ("rulekit_cli", "learners", "conformance", "simplification")),
        ("cli", ("benchmarks", "conformance")),
        ("serve", ("rulekit_exporters", "rulekit_cli", "benchmarks", "notebook", "conformance")),
        ("samples", ("benchmarks",)),
    ],
)
def test_imports_point_one_way(folder: str, forbidden: tuple[str, ...]) -> None:
    """Inside functions and for types too."""
    named = [f"rulekit.{name}" if (ROOT / "rulekit" / name).is_dir() else name for name in forbidden]
    assert _breaches(folder, lambda _, name: _under(name, *named)) == []


def test_the_command_asks_the_work_layer_and_the_audit() -> None:
    """It calls what a notebook and a server call and prints the result; of all else it knows the options of reading."""
    pages = ("work", "distributed", "shown", "audit", "errors", "limits", "names", "tables.options")
    known = tuple(f"rulekit.{page}" for page in pages)
    inside = ("rulekit_cli", "rulekit_exporters", "rulekit")
    foreign = _breaches("cli", lambda _, name: _under(name, *inside) and not _under(name, "rulekit_cli", *known))
    # its version, and whether it is this package at all
    assert foreign == [f"cli/rulekit_cli/{name}.py imports rulekit" for name in ("entry", "main")]


def test_only_their_own_tests_import_benchmarks() -> None:
    own = ROOT / "tests" / "benchmarks"
    others = [path for path in _modules("tests") if own not in path.parents and "benchmarks" in path.read_text("utf-8")]
    assert [path for path in others if any(_under(name, "benchmarks") for name in _imports(path))] == []


SHARED = ("data", "models", "promises", "sizes", "sums_of_rows")  # rooms of every learner
FAMILIES = tuple(
    path.name
    for path in (ROOT / "rulekit" / "learners").iterdir()
    if (path / "__init__.py").exists() and path.name not in SHARED
)


def test_no_family_of_learners_knows_another() -> None:
    """A learner that follows a paper to the letter may stand on the family that was made of the paper."""
    families = {name: f"rulekit.learners.{name}" for name in FAMILIES}

    def forbidden(path: Path, name: str) -> bool:
        room = path.relative_to(ROOT / "rulekit" / "learners").parts[0]
        others = (package for family, package in families.items() if family != room)
        return room != "papers" and _under(name, *others)

    assert {"cnll", "rules"} <= set(families)
    found = [breach for breach in _breaches("rulekit/learners", forbidden) if "/__init__.py imports" not in breach]
    assert found == []


PAGES = ("arrays", "numbers", "exactness", "dates", "schema", "names", "errors", "target_kit", "targets", "tokens")
FOR_PROOFS = ("tables.kinds.encoding", "verification.proof", "verification.rows", "verification.isolated")
EXPORTERS_IMPORT = tuple(
    f"rulekit.{name}" for name in ("graph", "cells", "logic", "program", "shown", "tables.table", *PAGES, *FOR_PROOFS)
)


def test_exporters_know_graphs_and_no_other_exporter() -> None:
    def forbidden(path: Path, name: str) -> bool:
        own = path.relative_to(ROOT / "exporters" / "rulekit_exporters").parts[0]
        if _under(name, "rulekit_exporters"):
            return name.split(".")[1:2] not in ([own], [])
        return _under(name, "rulekit") and name != "rulekit" and not _under(name, *EXPORTERS_IMPORT)

    assert _breaches("exporters", forbidden) == []


def _arrows() -> dict[str, set[str]]:
    """By module the modules that it imports, inside functions and for types too."""
    roots = {"rulekit": ROOT, **{name: ROOT / name for name in ("exporters", "cli", "serve")}}
    paths = {
        ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): path
        for folder, root in roots.items()
        for path in _modules(folder)
    }
    arrows: dict[str, set[str]] = {name: set() for name in paths}
    for name, path in paths.items():
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.Import):
                arrows[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                named = {f"{node.module}.{alias.name}" for alias in node.names}
                arrows[name] |= (named & set(paths)) or {node.module}
        arrows[name] = (arrows[name] & set(paths)) - {name}
    return arrows


def _circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The modules that can be reached from each other, larger circles first."""
    reached = {name: set(below) for name, below in arrows.items()}
    for through in arrows:
        for below in reached.values():
            if through in below:
                below |= reached[through]
    circles = {frozenset(b for b in reached[a] if a in reached[b]) for a in arrows if a in reached[a]}
    return sorted((sorted(circle) for circle in circles), key=len, reverse=True)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not inside functions either, nor for types: a room that needs a higher one to be understood is no room."""
    assert _circles(_arrows()) == []


SHIPPED = ("rulekit", "exporters", "cli", "serve")


def test_no_file_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "misc", "tools"}
    assert [
        path for folder in (*SHIPPED, "tests", "benchmarks") for path in _modules(folder) if path.stem in drawers
    ] == []


LONG = {  # kernels, which a compiler wants whole, and what is being shortened
    "best_change",
    "best_splits",
    "scan_splits",
    *("__init__", "train"),
}
MOST_LINES = 60


def _code_lines(node: ast.FunctionDef) -> int:
    """The lines of a function without those of its docstring, which is long where it lists many parameters."""
    documented = ast.get_docstring(node) is not None
    docstring = (node.body[0].end_lineno or 0) - node.body[0].lineno + 1 if documented else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def test_no_function_is_longer_than_a_screen() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {node.name} has {_code_lines(node)} lines"
        for folder in SHIPPED
        for path in _modules(folder)
        for node in ast.walk(_parsed(path))
        if isinstance(node, ast.FunctionDef) and node.name not in LONG and _code_lines(node) > MOST_LINES
    ]
    assert found == []


PLACE = re.compile(r"findings/\S*|\bthe design\b|\bdesign\.md|[\w.-]*\w/[\w./-]*\w\.(?:md|py|txt|json|csv|lark|mjs)\b")


def test_no_docstring_names_a_file_that_there_is_not() -> None:
    """Docstrings and comments once cited notes that are no part of the project."""
    bases = (ROOT, ROOT / "docs", *(ROOT / folder for folder in SHIPPED))
    missing = [
        f"{path.relative_to(ROOT)}: {place}"
        for folder in SHIPPED
        for path in _modules(folder)
        for place in PLACE.findall(_said(path))
        if not any((base / place).exists() for base in (*bases, path.parent))
    ]
    assert missing == []


def _said(path: Path) -> str:
    """Docstrings and comments of a module."""
    text = path.read_text()
    if not PLACE.search(text):
        return ""
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    documented = [ast.get_docstring(node) or "" for node in ast.walk(_parsed(path)) if isinstance(node, kinds)]
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return "\n".join([*documented, *(token.string for token in tokens if token.type == tokenize.COMMENT)])


def test_public_names_resolve_and_no_submodule_bears_one() -> None:
    for name in rulekit.__all__:
        assert getattr(rulekit, name).__name__ == name
    submodules = {path.stem for path in (ROOT / "rulekit").iterdir() if path.suffix == ".py" or path.is_dir()}
    assert submodules & set(rulekit.__all__) == set()


@pytest.mark.parametrize("code", ["import rulekit", "import rulekit_cli.main"])
def test_neither_the_package_nor_the_command_begins_with_heavy_imports(code: str, tmp_path: Path) -> None:
    heavy = {"numpy", "sklearn", "sympy", "polars", "onnx", "numba", "lark", "jinja2"}
    assert _loaded_after(code, tmp_path) & heavy == set()


def _loaded_after(code: str, folder: Path) -> set[str]:
    program = f"{code}\nimport sys, json; print(json.dumps(sorted({{name.split('.')[0] for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    return set(json.loads(ran.stdout.splitlines()[-1]))


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
    for path in (path for folder in SHIPPED for path in _modules(folder)):
        calls = [node.func for node in ast.walk(_parsed(path)) if isinstance(node, ast.Call)]
        assert not {call.id for call in calls if isinstance(call, ast.Name)} & {"eval", "exec"}, path
        assert not _imports(path) & {"pickle", "joblib", "marshal", "shelve", "yaml"}, path


def test_no_module_gives_a_name_twice() -> None:
    """Two files that became one had each a limit of rows of the same name, and the later one served for both."""
    twice = []
    for path in (path for folder in (*SHIPPED, "tests", "benchmarks") for path in _modules(folder)):
        body = _parsed(path).body
        targets = [node.targets if isinstance(node, ast.Assign) else () for node in body]
        names = Counter(target.id for own in targets for target in own if isinstance(target, ast.Name))
        twice += [(path, name) for name, count in names.items() if count > 1]
    assert twice == []


def test_every_module_says_what_it_is() -> None:
    silent = [p for f in SHIPPED for p in _modules(f) if not ast.get_docstring(_parsed(p))]
    assert silent == []


@pytest.mark.full
def test_a_wheel_holds_four_packages_and_works_elsewhere(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "-w", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    wheel = next(tmp_path.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert top == {"rulekit", "rulekit_exporters", "rulekit_cli", "rulekit_serve"}
    files = (path for folder in SHIPPED for path in (ROOT / folder).rglob("*.*") if path.is_file())
    data = [path for path in files if path.suffix != ".py" and "__pycache__" not in path.parts]
    roots = {"rulekit": ROOT, **{name: ROOT / name for name in ("exporters", "cli", "serve")}}
    needed = {path.relative_to(roots[path.relative_to(ROOT).parts[0]]).as_posix() for path in data}
    assert {"rulekit/py.typed", "rulekit/graph/language/rules.lark", "rulekit_cli/loans.csv"} <= needed <= set(names)
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    code = "import rulekit, sys; from rulekit_cli.main import main; print(rulekit.__file__); main()"
    # Compiled code is kept for each place of its source; here it would be compiled once more.
    environment = {"PYTHONPATH": str(target), "PATH": "", "HOME": str(tmp_path), "RULEKIT_NO_NUMBA": "1"}
    table = target / "rulekit_cli" / "loans.csv"
    for words in (
        f"train {table} --target default --param max_rules=2 --param stopping=none --no-baselines -o model.json",
        "export model.json --to onnx -o model.onnx",
        "verify model.json model.onnx",
    ):
        command = [sys.executable, "-c", code, *words.split()]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith(str(target))
    assert "0 different decisions" in ran.stdout


def test_the_version_is_the_same_everywhere() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == rulekit.__version__
    assert f"## {rulekit.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert importlib.metadata.version("rulekit-portable") == rulekit.__version__
