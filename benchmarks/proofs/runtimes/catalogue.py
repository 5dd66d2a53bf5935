"""The runtimes: what each is, in which environment it lives, how it is started on cases and what its version is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.proofs.runtimes.browser import run_page
from benchmarks.proofs.runtimes.environments import PACKAGES, PLACES, PYTHONS
from benchmarks.proofs.runtimes.exchange import write_error

DRIVERS = Path(__file__).parent / "drivers"
LIMIT = 900.0


@dataclass(frozen=True, slots=True)
class Runtime:
    """One runtime: `key` in tables of code, `title` for readers, the environment ("" is the project's own)."""

    key: str
    title: str
    place: str
    start: Callable[[Path, Path, Sequence[str], float], str]
    version: Callable[[], str]

    @property
    def missing(self) -> str:
        """Why it cannot be run on this machine, or ""."""
        return PLACES[self.place].missing if self.place else ""

    def run(self, cases: Path, answers: Path, names: Sequence[str], limit: float = LIMIT) -> float:
        """Answer the named cases; returns the seconds it took.

        A case at which the process ends or stops gets that as its error, and the next ones a new process.
        """
        begun = time.perf_counter()
        open_names = list(names)
        while open_names:
            ended = self.start(cases, answers, open_names, limit - (time.perf_counter() - begun))
            left = [name for name in open_names if not (answers / name / "answer.json").exists()]
            if left:
                write_error(answers / left[0], f"the process ended: {ended or 'without a word'}")
            open_names = left[1:]
        return time.perf_counter() - begun


def _process(command: Sequence[str], limit: float) -> str:
    """Run a driver; what it said where it failed, in one line."""
    try:
        done = subprocess.run(command, capture_output=True, timeout=max(limit, 1.0), check=False)
    except subprocess.TimeoutExpired:
        return "stopped at the time limit"
    if done.returncode == 0:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return f"status {done.returncode}{', ' + lines[-1] if lines else ''}"


def _python(place: str, runtime: str) -> Callable[[Path, Path, Sequence[str], float], str]:
    def start(cases: Path, answers: Path, names: Sequence[str], limit: float) -> str:
        python = str(PLACES[place].python) if place else sys.executable
        return _process([python, str(DRIVERS / "run_cases.py"), runtime, str(cases), str(answers), *names], limit)

    return start


def _node(package: str) -> Callable[[Path, Path, Sequence[str], float], str]:
    def start(cases: Path, answers: Path, names: Sequence[str], limit: float) -> str:
        driver = str(DRIVERS / "node.mjs")
        return _process(["node", driver, package, str(PACKAGES), str(cases), str(answers), *names], limit)

    return start


def _browser(cases: Path, answers: Path, names: Sequence[str], limit: float) -> str:
    served = {"/drivers": DRIVERS, "/packages": PACKAGES / "node_modules", "/cases": cases}
    return run_page("/drivers/page.html", served, answers, names, limit)


def _pinned(place: str, package: str) -> Callable[[], str]:
    return lambda: dict(pin.split("==") for pin in PYTHONS[place])[package]


def _packaged(package: str) -> Callable[[], str]:
    def read() -> str:
        lock = json.loads((PACKAGES / "package-lock.json").read_text())
        return str(lock["packages"][f"node_modules/{package}"]["version"])

    return read


def _own(package: str) -> Callable[[], str]:
    return lambda: version(package)


_WEB = "onnxruntime-web"
RUNTIMES = {
    runtime.key: runtime
    for runtime in (
        Runtime("newest", "onnxruntime, Python", "", _python("", "onnxruntime"), _own("onnxruntime")),
        Runtime(
            "oldest",
            "onnxruntime, Python, oldest supported",
            "oldest",
            _python("oldest", "onnxruntime"),
            _pinned("oldest", "onnxruntime"),
        ),
        Runtime("reference", "onnx.reference", "", _python("", "reference"), _own("onnx")),
        Runtime("node", "onnxruntime-node", "node", _node("onnxruntime-node"), _packaged("onnxruntime-node")),
        Runtime("web", "onnxruntime-web (WebAssembly) in Node.js", "node", _node(_WEB), _packaged(_WEB)),
        Runtime("browser", "onnxruntime-web in headless Chromium", "browser", _browser, _packaged(_WEB)),
        Runtime("openvino", "OpenVINO", "openvino", _python("openvino", "openvino"), _pinned("openvino", "openvino")),
        Runtime(
            "opencv", "OpenCV dnn", "opencv", _python("opencv", "opencv"), _pinned("opencv", "opencv-python-headless")
        ),
        Runtime("tract", "tract", "tract", _python("tract", "tract"), _pinned("tract", "tract")),
    )
}
