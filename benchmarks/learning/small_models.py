"""Models of 20 units or rules beside HistGradientBoosting, FIGS and FasterRisk on the same rows, in one run.

    python -m benchmarks.learning.small_models [TABLE ...] [--environment build/peers] [--results FILE] [--write]

adult with its official test file; heloc and magic 6 splits, german_credit and breast_cancer_wisconsin 20 (30 % held out
of each class, named seeds); the logical set `dnf`, 6 splits. Prints what was asked beside what was found, then paired
differences with standard errors, sizes, and the ratio of CPU time. Finished fits are kept in the results file;
`--only ours` does ours and HistGradientBoosting anew. The page is written with `--write`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.learning.peers.catalogue import OUR_NAMES
from benchmarks.learning.peers.comparison import Comparison
from benchmarks.learning.peers.data import BinaryTable, load, logical
from benchmarks.learning.peers.runner import Task
from benchmarks.learning.peers.small_report import NAMES, REFERENCE, SPLITS, report
from benchmarks.learning.peers.splits import held_out, two_files


def tasks(names: Sequence[str], folder: Path) -> Iterator[Task]:
    """The tables and splits of this benchmark."""
    for name in names:
        if name == "adult":
            train, test = load("adult", folder), load("adult_test", folder)
            whole = BinaryTable(name, pl.concat([train.frame, test.frame]), np.concatenate([train.labels, test.labels]))
            yield Task(whole, two_files(len(train.labels), len(test.labels)), with_rows=True)
        else:
            table = logical() if name == "dnf" else load(name, folder)
            for seed in range(SPLITS[name]):
                yield Task(table, held_out(table.labels, seed))


def main() -> None:
    """Measure, print, and write the section of the page."""
    assert __doc__
    ours, file = (*OUR_NAMES, REFERENCE), "small_models.jsonl"
    Comparison(__doc__, "small models", tuple(SPLITS), NAMES, ours, file, 30.0, tasks, report).main()


if __name__ == "__main__":
    main()
