"""What readable thresholds cost: one model with its thresholds placed in three ways (docs/numbers.md).

    python -m benchmarks.learning.thresholds [table ...] [--splits 20] [--data ../shared/data]

Prints the test error of each way in per cent, mean and standard error of the difference to the middle of the gap, and
the mean number of significant digits of a threshold.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import rulekit.learners.data.problem as conditions
from rulekit.dates import cut_between
from rulekit.graph.nodes import Compare
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier
from rulekit.numbers import separates, threshold_between
from rulekit.schema import Feature

TABLES = ("ionosphere", "banknote", "pima_diabetes", "heart_cleveland", "german_credit", "spambase", "heloc")
PARAMETERS: dict[str, Any] = {"brier": 1.0, "n_units": 15, "stopping": "none", "max_bins": 64}
MOST_ROWS = 20_000
Placing = Callable[[float, float, Feature], float]


def in_the_middle(low: float, high: float, feature: Feature) -> float:
    """The middle of the gap, with all its digits."""
    middle = low / 2 + high / 2
    return middle if separates(middle, low, high, feature.precision) else low


def in_the_middle_half(low: float, high: float, feature: Feature) -> float:
    """The shortest decimal in the middle half of the gap."""
    quarter = (high - low) / 4
    if not np.isfinite(quarter) or not separates(low + quarter, low, high, feature.precision):
        return threshold_between(low, high, feature.precision)
    return threshold_between(low + quarter, min(high, high - quarter), feature.precision)


PLACINGS: dict[str, Placing] = {
    "middle": in_the_middle,
    "shortest in middle half": in_the_middle_half,
    "shortest": cut_between,
}


def measure(path: Path, splits: int) -> dict[str, tuple[np.ndarray, float]]:
    """Test errors [splits] and the mean digits of thresholds; at least a third of the rows is held out."""
    frame = pl.read_csv(path, infer_schema_length=None).drop("sample_code_number", strict=False)
    labels, rows = frame["target"].cast(pl.String).to_numpy(), frame.drop("target")
    errors: dict[str, list[float]] = {name: [] for name in PLACINGS}
    digits: dict[str, list[int]] = {name: [] for name in PLACINGS}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(len(labels))
        train, test = np.split(order, [min(len(labels) * 2 // 3, MOST_ROWS)])
        for name, placing in PLACINGS.items():
            setattr(conditions, "cut_between", placing)  # noqa: B010
            model = CNLLPaperClassifier(**PARAMETERS).fit(rows[train], labels[train])
            errors[name].append(float(np.mean(model.predict(rows[test]) != labels[test])))
            values = [node.value for node in model.rule_graph_.nodes() if isinstance(node, Compare)]
            digits[name] += [len(Decimal(repr(value)).normalize().as_tuple().digits) for value in values]
    setattr(conditions, "cut_between", cut_between)  # noqa: B010
    return {name: (np.array(errors[name]), float(np.mean(digits[name] or [0]))) for name in PLACINGS}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    for table in options.tables:
        found = measure(options.data / f"{table}.csv.gz", options.splits)
        middle = found["middle"][0]
        for name, (errors, digits) in found.items():
            difference = errors - middle
            spread = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
            print(
                f"{table:20} {name:24} error {errors.mean():6.2%}  against it {difference.mean():+.2%} +- {spread:.2%}",
                f"  digits {digits:4.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
