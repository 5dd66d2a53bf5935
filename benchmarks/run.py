"""All benchmarks, one after the other, each in a process of its own.

    python -m benchmarks.run [NAME ...] [--small] [--write] [--list]

Without names all are run. --small and --write are handed to those that know them; --list prints the commands with the
minutes that each takes on two quiet cores. What needs data that is not there says so and is passed over.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Benchmark:
    """Its folder, what it measures, its minutes, which of --small and --write it knows, and its arguments."""

    folder: str
    what: str
    minutes: float
    knows: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    module: str = ""


WRITE = frozenset({"--write"})
BOTH = frozenset({"--write", "--small"})
# Speed first, as long as the machine is quiet; what follows does not depend on it, or counts CPU seconds.
BENCHMARKS = {
    "training_time": Benchmark("speed", "training time and peak memory beside HistGradientBoosting", 7),
    "unit_fits": Benchmark("speed", "training of linear threshold units beside logistic regression", 2, BOTH),
    "cost_laws": Benchmark("speed", "training time and memory against rows, columns and units", 8, BOTH),
    "prediction": Benchmark("speed", "latency and throughput of every target beside boosting and a tree", 3, BOTH),
    "serving": Benchmark("speed", "exports beside an empty call, a C loop, skl2onnx and Python by hand", 2, BOTH),
    "scoring_engines": Benchmark("speed", "ten million rows by Dask, Spark (--spark), DuckDB and one process", 5, BOTH),
    "training_engines": Benchmark("speed", "training on workers of Dask beside one process, and its cost", 30, BOTH),
    "service": Benchmark("speed", "the service, with and without its log, beside an empty endpoint", 2),
    "service_faults": Benchmark("proofs", "the service while its processes are killed", 4, arguments=("crashes",)),
    "service_clients": Benchmark("proofs", "V2 clients that others wrote, against the service (--python)", 1),
    "out_of_core": Benchmark("speed", "a file larger than the memory budget", 5, BOTH),
    "same_model": Benchmark(
        "proofs", "the same model file with any number of threads, without numba, in blocks", 3, BOTH
    ),
    "training_on_workers": Benchmark("proofs", "the same model file on workers of Dask that die, join and retire", 20),
    "text_scale": Benchmark("speed", "noisy-ors on texts beside logistic regression; time and memory by size", 8, BOTH),
    "noisy_forms": Benchmark("proofs", "noisy-ors as ONNX: operators, and seconds of their proof, by causes", 3, BOTH),
    "nearest_change": Benchmark("speed", "the nearest change of a row, by form of decision", 4, BOTH),
    "start_up": Benchmark("speed", "cold starts of the command", 1),
    "entered_files": Benchmark("speed", "files that a command enters, modules that it loads", 1),
    "first_training": Benchmark("speed", "the first trainings in a new installation", 1),
    "reading": Benchmark("speed", "a large CSV beside polars", 1),
    "accuracy": Benchmark(
        "learning", "all shared binary tables beside peers: accuracy, AUC, rules, literals, time", 90, WRITE
    ),
    "default_rules": Benchmark(
        "learning", "the default on several and rare classes beside trees; its stability", 12, BOTH
    ),
    "curves": Benchmark("learning", "accuracy against size", 10, WRITE, ("--curves",), "accuracy"),
    "small_models": Benchmark(
        "learning", "20 units or rules beside HistGradientBoosting, FIGS and FasterRisk", 20, WRITE
    ),
    "paper_cnll": Benchmark(
        "learning", "the tables of the CNLL paper and adult, beside AdaBoost, a tree and boosting", 10, WRITE
    ),
    "paper_uci": Benchmark("learning", "the CNLL paper's UCI tables beside AdaBoost and a random forest", 30, WRITE),
    "paper_boosting": Benchmark(
        "learning", "AdaBoost on adult as in its source, the forms before it, beside scikit-learn's", 8, WRITE
    ),
    "paper_noisy_or": Benchmark(
        "learning", "the noisy-or paper's tables on Reuters beside peers, and readable variants", 10, WRITE
    ),
    "paper_ltu": Benchmark(
        "learning", "LTU trees, Madaline and Winnow on the five bits of their paper, drawn as its figures", 10, BOTH
    ),
    "paper_mcmc": Benchmark("learning", "random walks over rule sets: known causes, adult in two minutes", 9, WRITE),
    "ltu_targets": Benchmark("learning", "whether trees of units find rules that are known", 10, WRITE),
    "oblique": Benchmark(
        "learning", "trees of units on real tables beside oblique trees, CART, logistic regression and CNLL", 20, WRITE
    ),
    "noisy_family": Benchmark(
        "learning", "every noisy-or on data of known models, and ranked classes of wine beside mord", 10
    ),
    "noisy_or_learner": Benchmark("learning", "noisy-ors with conjunctions and inhibitors on all binary tables", 20),
    "noisy_or_texts": Benchmark(
        "learning", "the same on topics of Reuters", 2, frozenset(), ("--texts",), "noisy_or_learner"
    ),
    "teachers": Benchmark("learning", "rules from models that nobody can read, beside a tree of the same labels", 60),
    "teachers_few": Benchmark(
        "learning", "the same from 300 rows on five tables", 15, frozenset(), ("--few",), "teachers"
    ),
    "missing_values": Benchmark("learning", "noisy-ors where 30 % of all values are deleted, beside imputation", 15),
    "logical": Benchmark("learning", "tic_tac_toe and kr_vs_kp, ten folds", 3, WRITE),
    "constraints": Benchmark(
        "proofs", "promises of learned models: kept, proved, and what they cost", 12, frozenset({"--small"})
    ),
    "drift": Benchmark(
        "proofs", "rows unlike those of training: are twelve shifts named, false alarms", 12, frozenset({"--small"})
    ),
    "limits": Benchmark(
        "proofs",
        "each command on 5,000 rules, each learner on large tables, within a limit",
        30,
        frozenset({"--small"}),
    ),
    "forests": Benchmark(
        "proofs",
        "forests of scikit-learn as rule graphs: decisions, and a promise, held to onnxruntime",
        5,
        frozenset({"--small"}),
    ),
    "runtimes": Benchmark("proofs", "every ONNX export in every runtime (make runtimes installs them)", 12, WRITE),
    "mutations": Benchmark("proofs", "500 single faults in exports: does verify catch each that matters?", 15, WRITE),
    "parity": Benchmark("proofs", "every model x every way to run it on adversarial rows", 2),
}


def command(name: str, given: Sequence[str] = ()) -> list[str]:
    """The arguments after `python` that run a benchmark with those of the given options that it knows."""
    found = BENCHMARKS[name]
    return [
        "-m",
        f"benchmarks.{found.folder}.{found.module or name}",
        *found.arguments,
        *(o for o in given if o in found.knows),
    ]


def main() -> None:
    """Run the named benchmarks, or all; exit with 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="of " + ", ".join(BENCHMARKS))
    parser.add_argument("--small", action="store_true", help="smaller runs where there are some")
    parser.add_argument("--write", action="store_true", help="write the sections of docs/benchmarks/")
    parser.add_argument("--list", action="store_true", help="print the commands and their minutes, run nothing")
    arguments = parser.parse_args()
    names = arguments.names or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        parser.error(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    given = [option for option in ("--small", "--write") if getattr(arguments, option[2:])]
    if arguments.list:
        for name in names:
            print(f"{BENCHMARKS[name].minutes:4g} min   python {' '.join(command(name, given))}")
        return
    failed = []
    for name in names:
        found = BENCHMARKS[name]
        small = "" if "--small" in given and "--small" in found.knows else f", about {found.minutes:g} minutes"
        print(f"\n== {name}: {found.what}{small}", flush=True)
        begun = time.monotonic()
        if subprocess.run([sys.executable, *command(name, given)], check=False).returncode:
            failed.append(name)
        print(f"== {name}: {'failed' if name in failed else 'done'} after {time.monotonic() - begun:.0f} s", flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
