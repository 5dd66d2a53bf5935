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
import shutil
import subprocess
import sys
import tempfile
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rulekit import export

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LOANS = (ROOT / "samples" / "exports" / "loans" / "model.json", ROOT / "samples" / "loans.csv")
STATIC = ("index.html", "page.css", "page.mjs", "rule-conditions.mjs", "rulekit-model.mjs")
# the build for WebAssembly alone; the others in the package are for graphics cards
RUNTIME = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")


def assemble(folder: Path, model: Path | None = None, rows: Path | None = None) -> None:
    """Put the page, the runtime, a model and rows into a folder; raises FileNotFoundError without the packages."""
    import rulekit

    if model is None:
        model, rows = LOANS[0], rows or LOANS[1]
    folder.mkdir(parents=True, exist_ok=True)
    for name in STATIC:
        shutil.copyfile(HERE / name, folder / name)
    (folder / "onnxruntime-web").mkdir(exist_ok=True)
    for name in RUNTIME:
        shutil.copyfile(HERE / "node_modules" / "onnxruntime-web" / "dist" / name, folder / "onnxruntime-web" / name)
    if model.suffix == ".onnx":
        shutil.copyfile(model, folder / "model.onnx")
    else:
        export(rulekit.load(model), folder / "model.onnx", to="onnx", fired=True)
    (folder / "rows.csv").unlink(missing_ok=True)
    if rows is not None:
        shutil.copyfile(rows, folder / "rows.csv")


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
