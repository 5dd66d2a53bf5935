"""Noisy-ors where 30 % of all values are deleted: summed out, as a level of their own, and the most frequent value.

    python -m benchmarks.learning.missing_values [table ...] [--splits 6] [--data ../shared/data]

Cells are deleted at random from the training and the test rows (70 % and 30 %). Prints the area under the ROC curve of
the complete tables in per cent, and the points of it that each way loses, with the standard error over the splits; the
last figure is the loss of summing out over that of the most frequent value (numeric columns: the median). Of test rows
alone nothing is measured: a column that is complete in training is not summed out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.metrics import roc_auc_score

from rulekit import NoisyOrClassifier

POSITIVE = {
    "heart_cleveland": "present",
    "german_credit": "bad",
    "house_votes_84": "republican",
    "car_evaluation": "acc",
    "tic_tac_toe": "positive",
    "titanic": "1",
    "pima_diabetes": "1",
    "breast_cancer_wisconsin": "malignant",
}
ASKED, LARGEST = ("tic_tac_toe", "titanic", "house_votes_84"), 0.65
SHARE = 0.3
WAYS = ("summed out", "own level", "most frequent")
SETTINGS: dict[str, Any] = {"stopping": "none", "positive": True}


def table(name: str, folder: Path) -> tuple[pl.DataFrame, npt.NDArray[np.bool_]]:
    """The columns and whether a row is of the positive class (cars: of any but unacc)."""
    frame = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None)
    labels = frame["target"].cast(pl.String)
    positive = labels != "unacc" if name == "car_evaluation" else labels == POSITIVE[name]
    return frame.drop("target", "id", strict=False), positive.to_numpy()


def deleted(frame: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """The frame without a share of its cells."""
    return frame.select(
        pl.when(pl.Series(rng.random(frame.height) >= SHARE)).then(pl.col(name)).otherwise(None).alias(name)
        for name in frame.columns
    )


def imputed(frame: pl.DataFrame, train: pl.DataFrame) -> pl.DataFrame:
    """The frame with the most frequent value, or the median, of the training rows where a cell is missing."""
    values = {
        name: column.median() if column.dtype.is_float() else column.drop_nulls().mode().sort().first()
        for name, column in ((name, train[name]) for name in train.columns)
    }
    return frame.with_columns(pl.col(name).fill_null(value) for name, value in values.items() if value is not None)


def areas(name: str, folder: Path, splits: int) -> dict[str, npt.NDArray[np.float64]]:
    """The area [splits] under the curve of the complete table and of each way, in per cent."""
    frame, positive = table(name, folder)
    found: dict[str, list[float]] = {way: [] for way in ("complete", *WAYS)}

    def area(train: pl.DataFrame, test: pl.DataFrame, **more: Any) -> float:
        model = NoisyOrClassifier(**{**SETTINGS, **more}).fit(train, positive[rows])
        return 100.0 * float(roc_auc_score(positive[held], model.predict_proba(test)[:, 1]))

    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(frame.height)
        rows, held = np.split(order, [int(0.7 * frame.height)])
        gaps = deleted(frame, rng)
        train, test = gaps[rows], gaps[held]
        found["complete"].append(area(frame[rows], frame[held]))
        found["summed out"].append(area(train, test))
        found["own level"].append(area(train, test, missing_values="level"))
        found["most frequent"].append(area(imputed(train, train), imputed(test, train)))
    return {way: np.array(values) for way, values in found.items()}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(POSITIVE))
    parser.add_argument("--splits", type=int, default=6)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    for name in options.tables:
        found = areas(name, options.data, options.splits)
        complete = found["complete"]
        losses = {way: complete - found[way] for way in WAYS}
        parts = [
            f"{way} -{each.mean():4.1f} +- {each.std(ddof=1) / np.sqrt(len(each)):3.1f}" for way, each in losses.items()
        ]
        ratio = losses["summed out"].mean() / losses["most frequent"].mean()
        verdict = "" if name not in ASKED else "  met" if ratio <= LARGEST else "  NOT met"
        print(f"{name:24} {complete.mean():5.1f}  {'  '.join(parts)}  ratio {ratio:4.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
