"""All benchmarks, one after the other, each in a process of its own.

    python -m benchmarks.run [NAME ...]

Without names all are run. What needs data that is not there says so and is passed over.
"""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = {
    "paper_cnll": "the tables of the CNLL paper and adult, beside AdaBoost, a tree and HistGradientBoosting",
    "accuracy": "all shared binary tables beside peers: accuracy, AUC, rules, literals, time",
    "small_models": "20 units beside HistGradientBoosting and FIGS",
    "training_time": "training time and peak memory beside HistGradientBoosting",
    "cost_laws": "training time against rows, columns and units",
    "same_model": "the same model file with any number of threads, without numba, in blocks",
    "prediction": "latency and throughput of every target beside boosting and a tree",
    "paper_uci": "the CNLL paper's UCI tables beside AdaBoost and a random forest",
    "logical": "tic_tac_toe and kr_vs_kp, ten folds",
    "parity": "every model x every way to run it on adversarial rows",
    "start_up": "cold starts of the command",
    "reading": "a large CSV beside polars",
}


def main() -> None:
    """Run the named benchmarks, or all; exit with 1 if one failed."""
    names = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    failed = []
    for name in names:
        print(f"\n== {name}: {BENCHMARKS[name]}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
