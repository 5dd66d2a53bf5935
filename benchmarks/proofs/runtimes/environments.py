"""Where the runtimes are installed: environments of their own below build/runtimes, Node's packages, a browser.

    python -m benchmarks.proofs.runtimes.environments

installs what is missing; what cannot be had (no network, another Python, no Node) is said and left out. A browser is
never installed here: it is a package of the system.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build" / "runtimes"
PACKAGES = ROOT / "samples" / "serve"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LIMIT = 300


def floors(*names: str) -> tuple[str, ...]:
    """The oldest supported versions of the named packages, of all by default, from pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = dict(re.match(r"([\w-]+)>=([\w.]+)", line).groups() for line in project["dependencies"])  # type: ignore[union-attr]
    return tuple(f"{name}=={wanted[name]}" for name in names or wanted)


# onnx 1.16 was written before protobuf 7, lark and sympy are what rulekit needs to export with these versions.
PYTHONS: dict[str, tuple[str, ...]] = {
    "oldest": floors("numpy", "onnx", "onnxruntime", "lark", "sympy"),
    "openvino": ("openvino==2026.4.1", "numpy==2.4.6"),
    "opencv": ("opencv-python-headless==5.0.0.93", "numpy==2.4.6"),
    "tract": ("tract==0.23.9", "numpy==2.4.6"),
    "mlflow": ("mlflow-skinny==3.17.2", "pandas==3.1.1", "onnx==1.23.2", "onnxruntime==1.32.0"),
}
# Environments for rulekit itself: a part of what it depends on, the oldest versions, other interpreters.
SCORING = ("numpy", "polars")
TRAINING = (*SCORING, "scikit-learn", "typer", "rich", "lark", "jinja2")
PARTS: dict[str, tuple[str, ...]] = {
    "scoring": SCORING,
    "training": TRAINING,
    "lowest": floors(),
    **{f"python3.{minor}": tuple(line.split("==")[0] for line in floors()) for minor in (12, 13, 14)},
}
WANTED = {**PYTHONS, **PARTS}


@dataclass(frozen=True, slots=True)
class Place:
    """An environment: how it is made, and how to tell that it is there. Each raises OSError or CalledProcessError."""

    name: str

    @property
    def python(self) -> Path:
        """The interpreter of a Python environment."""
        return FOLDER / self.name / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    @property
    def _stamp(self) -> Path:
        return FOLDER / self.name / "installed.txt"

    @property
    def missing(self) -> str:
        """Why the environment cannot be used, or ""."""
        if self.name == "node":
            return _node_missing()
        if self.name == "browser":
            return _node_missing() or ("" if browser() else "no Chromium on this machine")
        if self._stamp.exists() and self._stamp.read_text().split() == list(WANTED[self.name]):
            return ""
        reason = FOLDER / f"{self.name}.reason"
        return reason.read_text() if reason.exists() else "not installed (make runtimes installs it)"

    def install(self) -> None:
        """Make the environment anew unless it is there; remembers why it could not be made."""
        if not self.missing or self.name == "browser":
            return
        reason = FOLDER / f"{self.name}.reason"
        FOLDER.mkdir(parents=True, exist_ok=True)
        reason.unlink(missing_ok=True)
        try:
            if self.name == "node":
                _install_packages()
            else:
                self._install_python()
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", None) or str(error)
            said = said.decode(errors="replace") if isinstance(said, bytes) else said
            lines = [line.strip() for line in said.splitlines() if line.strip()] or ["no reason given"]
            # pip and npm say first what is wrong, and last where a log lies
            line = next((line for line in lines if "error" in line.lower()), lines[-1])
            reason.write_text(f"cannot be installed here: {line[:200]}")

    def _install_python(self) -> None:
        shutil.rmtree(FOLDER / self.name, ignore_errors=True)
        python = _interpreter(self.name) if self.name.startswith("python") else sys.executable
        _call([python, "-m", "venv", "--without-pip", str(FOLDER / self.name)])
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check"]
        # wheels only: where there is none for this Python or machine, nothing is compiled for minutes
        options = ["--quiet", "--only-binary", ":all:", "--retries", "1", "--timeout", "20"]
        _call([*pip, "install", *options, *WANTED[self.name]])
        self._stamp.write_text("\n".join(WANTED[self.name]))


def _interpreter(name: str) -> str:
    """An interpreter of this name that runs: of the path, or one that pyenv installed. Raises OSError without one."""
    version = name.removeprefix("python")
    pyenv = sorted((Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python"))
    for path in filter(None, [shutil.which(name), *map(str, pyenv)]):
        if subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    raise OSError(f"no {name} on this machine")


def _call(command: list[str], folder: Path = ROOT) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=LIMIT)


def _node_missing() -> str:
    if not shutil.which("node"):
        return "no Node.js on this machine"
    lock = json.loads((PACKAGES / "package-lock.json").read_text())["packages"]
    for name in ("onnxruntime-node", "onnxruntime-web"):
        package = PACKAGES / "node_modules" / name / "package.json"
        if (
            not package.exists()
            or json.loads(package.read_text())["version"] != lock[f"node_modules/{name}"]["version"]
        ):
            reason = FOLDER / "node.reason"
            return reason.read_text() if reason.exists() else f"{name} is not installed (make runtimes installs it)"
    return ""


def _install_packages() -> None:
    if not shutil.which("npm"):
        raise OSError("no npm on this machine")
    # the libraries are inside the packages; onnxruntime-node's script would download others for GPUs
    patience = ["--fetch-retries", "1", "--fetch-timeout", "60000"]
    _call(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", *patience], PACKAGES)


def browser() -> str | None:
    """The path of a Chromium."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


PLACES = {name: Place(name) for name in (*WANTED, "node", "browser")}


def main() -> None:
    """Install what is missing, two at a time, and say what is there."""
    with ThreadPoolExecutor(2) as workers:
        list(workers.map(Place.install, [PLACES["node"], *(PLACES[name] for name in WANTED)]))
    for place in PLACES.values():
        print(f"{place.name:10} {place.missing or 'there'}")


if __name__ == "__main__":
    main()
