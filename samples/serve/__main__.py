"""The sample page, put together as a folder of static files and served on this machine.

    python -m samples.serve [MODEL] [ROWS.csv] [--port 8000]

MODEL is a model file (.json), which is exported with the output of fired rules, or an ONNX file that rulekit exported;
without it the loan model of the samples and its table are taken. Each run serves a folder of its own and removes it at
the end; `--folder build/serve` keeps it, and it can be copied to any web server as it is.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import rulekit
from rulekit.errors import Unsupported
from rulekit.graph.decisions import Fires
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Or
from rulekit.graph.rules import conjuncts, rules_of
from rulekit.targets import find_target

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LOANS = (ROOT / "samples" / "exports" / "loans" / "model.json", ROOT / "samples" / "loans.csv")
STATIC = ("index.html", "page.css", "page.mjs", "rulekit-model.mjs")
# the build for WebAssembly alone; the others in the package are for graphics cards
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")


def assemble(folder: Path, model: Path | None = None, rows: Path | None = None) -> None:
    """Put the page, the runtime, a model and rows into a folder; raises FileNotFoundError without the packages."""
    if model is None:
        model, rows = LOANS[0], rows or LOANS[1]
    folder.mkdir(parents=True, exist_ok=True)
    for name in STATIC:
        shutil.copyfile(HERE / name, folder / name)
    (folder / "onnxruntime-web").mkdir(exist_ok=True)
    for name in RUNTIME:
        shutil.copyfile(HERE / "node_modules" / "onnxruntime-web" / "dist" / name, folder / "onnxruntime-web" / name)
    graph = rulekit.load(model)
    if model.suffix == ".onnx":
        shutil.copyfile(model, folder / "model.onnx")
    else:
        rulekit.export(graph, folder / "model.onnx", to="onnx", fired=True)
    (folder / "conditions.mjs").write_text(conditions_module(graph), encoding="utf-8")
    (folder / "rows.csv").unlink(missing_ok=True)
    if rows is not None:
        shutil.copyfile(rows, folder / "rows.csv")


def conditions_module(graph: rulekit.RuleGraph) -> str:
    """The JavaScript target of a graph whose rules are the conditions of the model's rules.

    CONDITIONS has, by rule id, the text of each condition and its place in RULES. It is empty where the target cannot
    write the conditions.
    """
    rules = {rule.id: conjuncts(rule.node) for rule in rules_of(graph) if not rule.nested}
    nodes = tuple(dict.fromkeys(node for parts in rules.values() for node in parts))
    listed: dict[str, list[tuple[str, int]]] = {}
    code = ""
    if nodes:
        asked = graph.with_(
            classes=("no", "yes"),
            decision=Fires(Or(nodes)),
            probability=(),
            default=0,
            required=(),
            overrides=(),
            statistics={},
        )
        places = {rule.node: place for place, rule in enumerate(rules_of(asked))}
        with contextlib.suppress(Unsupported):
            code = find_target("javascript").emit(asked).main.decode()
            listed = {
                name: [(print_node(node, graph.schema), places[node]) for node in parts]
                for name, parts in rules.items()
                if places.keys() >= set(parts)
            }
    return (
        f"{code}\nexport const MODEL = {json.dumps(graph.digest)};\nexport const CONDITIONS = {json.dumps(listed)};\n"
    )


def install() -> None:
    """The packages of package-lock.json, by npm, without their install scripts."""
    print("installing onnxruntime-web and onnxruntime-node from the npm registry ...", flush=True)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=HERE, check=True)


def main(arguments: list[str]) -> int:
    """Install what is missing, put the page together and serve it until it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m samples.serve", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, nargs="?", help="a model file or an ONNX file; default: the loan model")
    parser.add_argument("rows", type=Path, nargs="?", help="a CSV file to score as a table")
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--folder", type=Path, help="where the page is put together and kept")
    parser.add_argument("--only-assemble", action="store_true", help="put it together in --folder and do not serve it")
    given = parser.parse_args(arguments)
    if given.only_assemble and given.folder is None:
        parser.error("--only-assemble needs --folder")
    if not (HERE / "node_modules" / "onnxruntime-web").is_dir():
        if not shutil.which("npm"):
            print("samples.serve: npm is needed to install onnxruntime-web: install Node.js", file=sys.stderr)
            return 2
        try:
            install()
        except subprocess.CalledProcessError as error:
            print(f"samples.serve: npm ended with status {error.returncode}", file=sys.stderr)
            return 2
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rulekit-serve-")))
        return _serve(folder, given)


def _serve(folder: Path, given: argparse.Namespace) -> int:
    """Put the page together in a folder and serve that until it is stopped; gives the exit status."""
    from rulekit.errors import RulekitError

    try:
        assemble(folder, given.model, given.rows)
    except (RulekitError, OSError) as error:
        print(f"samples.serve: {error}", file=sys.stderr)
        return 2
    if given.only_assemble:
        return 0
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", given.port), handler)
    except OSError as error:
        print(f"samples.serve: port {given.port}: {error.strerror}; take another with --port", file=sys.stderr)
        return 2
    with server:
        print(f"http://127.0.0.1:{server.server_address[1]}/   (Ctrl-C ends it)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
