"""Cold starts of the command beside bare Python and `import typer`, in one interleaved run.

    python -m benchmarks.speed.start_up [--rounds 9]

Prints medians and ranges of wall time in seconds. The page cache is warm; the processes are new each time.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rulekit.synthetic import loans, write_csv


def commands(folder: Path) -> dict[str, list[str]]:
    """What is started, by name; the model and the rows are made in `folder`."""
    rulekit = str(Path(sys.executable).with_name("rulekit"))
    write_csv(loans(1000, seed=2), folder / "rows.csv")
    model, artifact = str(folder / "model.json"), str(folder / "model.onnx")
    train = ["train", str(folder / "rows.csv"), "--target", "default", "-o", model, "-q"]
    subprocess.run([rulekit, *train], check=True, capture_output=True)
    subprocess.run([rulekit, "export", model, "--to", "onnx", "-o", artifact], check=True, capture_output=True)
    rows, out = str(folder / "rows.csv"), str(folder / "out.csv")
    return {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import typer": [sys.executable, "-c", "import typer"],
        "import rulekit": [sys.executable, "-c", "import rulekit"],
        "rulekit --help": [rulekit, "--help"],
        "rulekit predict model.json, 1,000 rows": [rulekit, "predict", model, rows, "-o", out],
        "rulekit predict model.onnx, 1,000 rows": [rulekit, "predict", artifact, rows, "-o", out],
        "rulekit show model.json": [rulekit, "show", model],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        starts = commands(Path(folder))
        seconds: dict[str, list[float]] = {name: [] for name in starts}
        for _ in range(rounds):
            for name, command in starts.items():
                begun = time.perf_counter()
                subprocess.run(command, check=True, capture_output=True)
                seconds[name].append(time.perf_counter() - begun)
    for name, values in seconds.items():
        print(f"{name:42s} {statistics.median(values):6.3f}   ({min(values):.3f} - {max(values):.3f})")


if __name__ == "__main__":
    main()
