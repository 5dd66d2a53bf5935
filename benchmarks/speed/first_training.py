"""The first trainings in a new installation: the bundled loans (2,000 rows) and 150 wines of three classes.

    python -m benchmarks.speed.first_training [--trainings 3]

Each table begins with empty caches of compiled code, which its trainings share, ladder and baselines included. Prints
seconds of wall time: of learning, as the command says it, and of the whole command.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine

from rulekit.synthetic import loans, write_csv


def tables(folder: Path) -> dict[str, tuple[Path, str]]:
    """The files by name, each with its target."""
    paths = {name: folder / f"{name}.csv" for name in ("loans", "wines")}
    write_csv(loans(2000, seed=0), paths["loans"])
    wine = load_wine()
    every = np.random.default_rng(0).choice(len(wine.target), 150, replace=False)
    lines = [",".join([*map(repr, wine.data[i].tolist()), f"c{wine.target[i]}"]) for i in every.tolist()]
    paths["wines"].write_text("\n".join([",".join([*wine.feature_names, "cultivar"]), *lines, ""]))
    return {"loans": (paths["loans"], "default"), "wines": (paths["wines"], "cultivar")}


def trained(data: Path, target: str, cache: Path) -> tuple[float, float]:
    """Seconds of learning and of the whole command."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "XDG_CACHE_HOME": str(cache)}
    for name in ("PYTHONDONTWRITEBYTECODE", "RULEKIT_NO_NUMBA"):
        environment.pop(name, None)
    rulekit = str(Path(sys.executable).with_name("rulekit"))
    command = [rulekit, "train", str(data), "--target", target, "-o", str(data.with_suffix(".json"))]
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    whole = time.perf_counter() - begun
    said = re.search(r"^rules .* ([0-9.]+) s$", done.stderr, re.MULTILINE)
    assert said is not None, done.stderr
    return float(said[1]), whole


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trainings", type=int, default=3)
    times = parser.parse_args().trainings
    with tempfile.TemporaryDirectory() as folder:
        for name, (data, target) in tables(Path(folder)).items():
            found = [trained(data, target, Path(folder) / f"cache_{name}") for _ in range(times)]
            learning, whole = (", ".join(f"{seconds:.1f}" for seconds in each) for each in zip(*found, strict=True))
            print(f"{name:6s} learning {learning} s; the whole command {whole} s")


if __name__ == "__main__":
    main()
