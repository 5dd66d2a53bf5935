"""Training of linear threshold units: a whole tree on few rows with many columns, one unit on a million rows.

    python -m benchmarks.speed.unit_fits [--rounds 5] [--small] [--write]

Each fit has a process of its own, in turn; compilation and imports are excluded. The tree is that of the defaults on
the function of Sahami's paper (benchmarks.learning.ltu_targets has how right it is). One unit is what a tree begins
with; it stands beside scikit-learn's logistic regression by L-BFGS on the same standardised columns, of which one or
two planes decide the label.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.shared.machine import stamp
from benchmarks.shared.measuring import Watch, cost_of, in_process, ratios, spread
from benchmarks.shared.sections import add_options, publish

COLUMNS, BITS = 28, 100
MOST_SECONDS, AIM, MOST_TIMES = 6.0, 3.0, 1.5
FLIPPED = 0.05

Floats = npt.NDArray[np.float64]


def planes(n: int, count: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Standard normal columns [n, 28]; labels [n]: above one plane, or above one of two, 5 % of them flipped."""
    rng = np.random.default_rng([11, count])
    X, sides = rng.standard_normal((n, COLUMNS)), rng.standard_normal((COLUMNS, count))
    y = ((X @ sides) / np.sqrt(COLUMNS) > (0.2, 1.0)[count - 1]).any(axis=1)
    return X, (y ^ (rng.random(n) < FLIPPED)).astype(np.int64)


def tree(rows: int, seed: int) -> dict[str, Any]:
    """LTUTreeClassifier on the five bits among 100."""
    from rulekit import LTUTreeClassifier
    from rulekit.synthetic import five_bits

    X, y = five_bits(rows, BITS, seed=seed)
    LTUTreeClassifier().fit(X[:200], y[:200])
    with Watch() as watch:
        model = LTUTreeClassifier().fit(X, y)
    test, truth = five_bits(4000, BITS, seed=seed + 1000)
    return {**cost_of(watch), "error": float((model.predict(test) != truth).mean())}


def unit(rows: int, count: int) -> dict[str, Any]:
    """The first unit of a tree."""
    X, y = planes(rows, count)
    one_unit(X[:1000], y[:1000])
    with Watch() as watch:
        found = one_unit(X, y)
    return {**cost_of(watch), "error": float(((X @ found[:-1] + found[-1] >= 0.0) != (y == 1)).mean())}


def one_unit(X: Floats, y: npt.NDArray[np.int64]) -> Floats:
    """The unit that splits the rows best, its bias last: looked for on 20,000 rows, then polished on all."""
    from rulekit.learners.ltu.growing import best_unit
    from rulekit.learners.ltu.loss import FitRows, TreeTraining, fitted
    from rulekit.learners.ltu.trees import Shape

    rows, training = FitRows(X, y.astype(np.float64), np.ones(len(X))), TreeTraining(1e-4, steps=100, tolerance=1e-5)
    few = rows.sampled(20_000, np.random.default_rng(0))
    found = best_unit(replace(few, inputs=few.inputs.astype(np.float32)), training, lambda: None)
    assert found is not None
    points, _ = fitted(rows, Shape.chain(1), found[None], replace(training, steps=20), lambda: None)
    return np.asarray(points[0], dtype=np.float64)


def logistic(rows: int, count: int) -> dict[str, Any]:
    """scikit-learn's LogisticRegression, whose default is L-BFGS."""
    from sklearn.linear_model import LogisticRegression

    X, y = planes(rows, count)
    LogisticRegression().fit(X[:1000], y[:1000])
    with Watch() as watch:
        model = LogisticRegression().fit(X, y)
    return {**cost_of(watch), "error": float((model.predict(X) != y).mean())}


def _measured(function: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return in_process(f"benchmarks.speed.unit_fits:{function}", arguments, limit=120.0)


def report(rounds: int, small: bool) -> list[str]:
    """The section as lines of Markdown."""
    rows = 100_000 if small else 1_000_000
    trees = [_measured("tree", {"rows": 3000, "seed": turn}) for turn in range(rounds)]
    table, words, others = list[str](), list[str](), [one["others"] for one in trees]
    seconds = spread(one["seconds"] for one in trees)
    errors = ", ".join(f"{100 * one['error']:.1f}" for one in trees)
    words.append(
        f"a tree on 3,000 x {BITS}: required at most {MOST_SECONDS:g} s, aim {AIM:g}; measured {seconds.text()} s: "
        f"{_verdict(seconds.median <= MOST_SECONDS)} (error in per cent by seed: {errors})"
    )
    for count, name in ((1, "one plane"), (2, "one of two planes")):
        ours, theirs = list[dict[str, Any]](), list[dict[str, Any]]()
        for _ in range(rounds):
            ours.append(_measured("unit", {"rows": rows, "count": count}))
            theirs.append(_measured("logistic", {"rows": rows, "count": count}))
        for who, runs in (("one unit", ours), ("LogisticRegression", theirs)):
            table.append(
                f"| {name} | {who} | {spread(r['seconds'] for r in runs).text()} | "
                f"{spread(r['processor'] for r in runs).text()} | {100 * runs[0]['error']:.1f} |"
            )
        others += [one["others"] for one in (*ours, *theirs)]
        times = ratios([r["seconds"] for r in ours], [r["seconds"] for r in theirs])
        words.append(
            f"one unit on {rows:,} x {COLUMNS}, {name}: required at most {MOST_TIMES:g} times logistic regression; "
            f"measured {times.text()}: {_verdict(times.median <= MOST_TIMES)}"
        )
    return [
        stamp(max(others)),
        "",
        f"{rounds} rounds in turn, medians and (ranges); {rows:,} x {COLUMNS} standard normal columns in double.",
        "",
        "| label | fit | wall seconds | CPU seconds | training error, % |",
        "|---|---|--:|--:|--:|",
        *table,
        "",
        *(f"- {line}" for line in words),
    ]


def _verdict(met: bool) -> str:
    return "met" if met else "NOT met"


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and with --write fill the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args(given)
    publish(arguments, "unit fits", report(arguments.rounds, arguments.small))


if __name__ == "__main__":
    main()
