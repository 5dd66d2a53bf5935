"""The ladder of sizes on the shared binary tables: what its errors are worth, and what it costs.

For each table, on a random half of the rows (at most so many) as training rows and the rest as test rows: the default
row and the one-standard-error row with rules, literals, cross-validated and test error, and whether the two errors of
the latter are within two standard errors of their difference; then the seconds of a training by `rulekit.work` with
ladder and baselines over those without baselines.

    python -m benchmarks.learning.ladder ../shared/data --rows 6000 [--tables titanic adult]
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.learning.peers.data import FOLD_TABLES, BinaryTable, load
from rulekit.graph.model_parts import Rung
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, train


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the ladder with its test error, as rates."""

    rung: Rung
    test_error: float

    def __str__(self) -> str:
        error = math.nan if self.rung.error is None else self.rung.error
        return f"{self.rung.rules:>3} {self.rung.literals:>4} {100 * error:6.1f} {100 * self.test_error:6.1f}"


@dataclass(frozen=True, slots=True)
class Measured:
    """The default row and the smallest that is not worse; seconds with baselines and without; test rows."""

    default: Row
    smallest: Row
    seconds: float
    plain_seconds: float
    n_test: int

    @property
    def agrees(self) -> bool:
        """Whether the cross-validated error of the smallest row is within two standard errors of its test error."""
        rung, rate = self.smallest.rung, self.smallest.test_error
        if rung.error is None or rung.standard_error is None:
            return False
        deviation = math.hypot(rung.standard_error, math.sqrt(rate * (1.0 - rate) / self.n_test))
        return abs(rung.error - rate) <= 2.0 * deviation


def measured(table: BinaryTable, rows: int, seed: int = 0) -> Measured | None:
    """A table; None where the model has no row that is not worse (it has no rule)."""
    order = np.random.default_rng(seed).permutation(len(table.labels))[: 2 * rows]
    half = len(order) // 2
    frame = table.frame.with_columns(target_=pl.Series(table.labels))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "train.parquet"
        frame[order[:half].tolist()].write_parquet(path)
        request = TrainingRequest(path, ReadingOptions(target="target_", positive="1"))
        begun = time.process_time()
        train(request)
        plain = time.process_time() - begun
        begun = time.process_time()
        model = train(TrainingRequest(path, request.reading, baselines=True)).model
        seconds = time.process_time() - begun
    ladder = model.ladder
    if ladder is None or ladder.smallest is None or not ladder.chosen:
        return None
    test, labels = frame[order[half:].tolist()], table.labels[order[half:]]
    errors = {
        size: Row(ladder.at(size), float(np.mean(ladder.at(size).model.predict(test).astype(np.int8) != labels)))
        for size in {ladder.chosen, ladder.smallest}
    }
    return Measured(errors[ladder.chosen], errors[ladder.smallest], seconds, plain, len(labels))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("data", type=Path, help="the folder of the shared data")
    parser.add_argument("--rows", type=int, default=6000, help="most training rows")
    parser.add_argument("--tables", nargs="*", default=list(FOLD_TABLES))
    asked = parser.parse_args()
    head = "default: rules, literals, cv, test %   smallest: the same"
    print(f"{'':<24} {head}   within two   seconds / without baselines")
    measured(load(asked.tables[0], asked.data), 200)  # what is compiled once is no part of any table's time
    found = []
    for name in asked.tables:
        result = measured(load(name, asked.data), asked.rows)
        if result is None:
            print(f"{name:<24} no rule")
            continue
        found.append(result)
        ratio = result.seconds / result.plain_seconds
        print(f"{name:<24} {result.default}   {result.smallest}   {result.agrees!s:<5} {ratio:.2f}", flush=True)
    if found:
        share = float(np.mean([each.agrees for each in found]))
        mean = [
            float(np.mean([getattr(each, which).test_error for each in found])) for which in ("default", "smallest")
        ]
        print(f"within two standard errors: {share:.0%}; mean test error {mean[0]:.4f}, smallest {mean[1]:.4f}")


if __name__ == "__main__":
    main()
