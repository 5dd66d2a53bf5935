"""Noisy-ors where 30 % of all values are deleted: summed out, as a level of their own, and the most frequent value.

    python -m benchmarks.learning.missing_values [table ...] [--splits 20] [--family or] [--data ../shared/data]

noisy-or-paper at its defaults, but that all causes stay: the size is chosen by errors, and errors are not what is
measured. 70 % of the rows to learn from. Prints the area under the ROC curve of the complete
tables in per cent, and the points of it that each way loses, with the standard error over the splits. First, cells are
deleted at random from training and test rows: each way of `missing_values`, and the most frequent value (floating-point
columns: the median) in their place. Then from test rows alone: `missing_values=always` and the most frequent value. The
ratios are those of the losses of summing out over those of the most frequent value, with jackknife standard errors.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.metrics import roc_auc_score

from rulekit.learners.papers.noisy_or.estimators import PaperNoisyOrClassifier

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
SHARE, ALL = 0.3, 20
WAYS = ("summed out", "own level", "chosen", "most frequent")
OF_TEST_ROWS = ("summed out", "most frequent")


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


def areas(name: str, folder: Path, splits: int, family: str) -> dict[str, npt.NDArray[np.float64]]:
    """The area [splits] under the curve of the complete table and of each way, in per cent."""
    frame, positive = table(name, folder)
    found: dict[str, list[float]] = {}

    def fitted(train: pl.DataFrame, way: str) -> PaperNoisyOrClassifier:
        model = PaperNoisyOrClassifier(positive=True, size=ALL, family=family, missing_values=way)
        return model.fit(train, positive[rows])

    def note(way: str, model: PaperNoisyOrClassifier, test: pl.DataFrame) -> None:
        area = roc_auc_score(positive[held], model.predict_proba(test)[:, 1])
        found.setdefault(way, []).append(100.0 * float(area))

    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(frame.height)
        rows, held = np.split(order, [int(0.7 * frame.height)])
        gaps = deleted(frame, rng)
        complete, train, test = frame[rows], gaps[rows], gaps[held]
        for way, value in (("summed out", "sum"), ("own level", "level"), ("chosen", "auto")):
            note(way, fitted(train, value), test)
        note("most frequent", fitted(imputed(train, train), "auto"), imputed(test, train))
        note("complete", fitted(complete, "auto"), frame[held])
        model = fitted(complete, "always")
        note("complete, summed out", model, frame[held])
        note("test: summed out", model, test)
        note("test: most frequent", model, imputed(test, complete))
    return {way: np.array(values) for way, values in found.items()}


def ratio(some: npt.NDArray[np.float64], others: npt.NDArray[np.float64]) -> tuple[float, float]:
    """The mean of some [n] over that of others [n], and its jackknife standard error."""
    n = len(some)
    left = (some.sum() - some) / (others.sum() - others)
    return float(some.mean() / others.mean()), float(np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=list(POSITIVE))
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--family", default="auto", help="auto (default), or, and")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    for name in options.tables:
        found = areas(name, options.data, options.splits, options.family)
        losses = {way: found["complete"] - found[way] for way in WAYS}
        of_test = {way: found["complete, summed out"] - found[f"test: {way}"] for way in OF_TEST_ROWS}
        share, error = ratio(losses["summed out"], losses["most frequent"])
        verdict = "" if name not in ASKED else "  met" if share <= LARGEST else "  NOT met"
        print(
            f"{name:24} {found['complete'].mean():5.1f}  {_shown(losses)}  ratio {share:4.2f} +- {error:4.2f}{verdict}"
        )
        share, error = ratio(of_test["summed out"], of_test["most frequent"])
        print(f"  test rows alone        {_shown(of_test)}  ratio {share:4.2f} +- {error:4.2f}", flush=True)


def _shown(losses: dict[str, npt.NDArray[np.float64]]) -> str:
    parts = [
        f"{way} -{each.mean():4.1f} +- {each.std(ddof=1) / np.sqrt(len(each)):3.1f}" for way, each in losses.items()
    ]
    return "  ".join(parts)


if __name__ == "__main__":
    main()
