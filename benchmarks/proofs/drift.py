"""Rows that are not like those of training: is each of twelve injected shifts named, and how often is there none?

    python -m benchmarks.proofs.drift [--small] [--data ../shared/data]

Each shift is injected into every column of held-out rows that the model reads and that can have it; told is how often
it was called by its name, and what was found elsewhere. Then each table is split 100 times, a model is trained on one
part and the other part is compared with it: an alarm is a false one. Exits with 1 where a shift is nowhere named, or
alarms are more frequent than is stated (5 of 100 at a rate of 1 % would be by chance once in 290 such tables).
"""

from __future__ import annotations

import argparse
import itertools
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from rulekit import monitor
from rulekit.audit.drift.findings import RATE, Drift
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, train

SAMPLES = Path(__file__).parents[2] / "samples"
TABLES = {
    "loans": ("loans.csv", "default"),
    "breast_cancer": ("breast_cancer.csv", "diagnosis"),
    "german_credit": ("german_credit.csv.gz", "target"),
    "adult_train": ("adult_train.csv.gz", "target"),
}
MOST_ALARMS = 4
Shift = Callable[[pl.DataFrame, str], pl.DataFrame]


def read(name: str, data: Path) -> tuple[pl.DataFrame, str]:
    """A table with its label column: a sample of this project, or one of the shared data."""
    file, target = TABLES[name]
    path = SAMPLES / file if (SAMPLES / file).exists() else data / file
    return pl.read_csv(path, infer_schema_length=None), target


def parts(frame: pl.DataFrame, seed: int, share: float = 0.5) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows to train on and others."""
    picked = np.random.default_rng(seed).random(len(frame)) < share
    return frame.filter(picked), frame.filter(~picked)


def trained(frame: pl.DataFrame, target: str, size: int | None = None, learner: str = "rules") -> RuleGraph:
    """A model of some rows; size: of so many rules a class, which is fast."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.write_csv(path)
        return train(TrainingRequest(path, ReadingOptions(target=target), learner, size=size)).model


# Twelve shifts -------------------------------------------------------------------------------------------------------


def _numbers(change: Callable[[Any, np.random.Generator], Any]) -> Shift:
    def shift(frame: pl.DataFrame, column: str) -> pl.DataFrame:
        values = frame[column].cast(pl.Float64).to_numpy().astype(np.float64)
        changed = np.asarray(change(values, np.random.default_rng(0)), dtype=np.float64)
        return frame.with_columns(pl.Series(column, changed).fill_nan(None))

    return shift


def _new_levels(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    return frame.with_columns((pl.lit("x") + pl.col(column).cast(pl.String)).alias(column))


def _half_missing(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    gone = pl.Series(np.arange(len(frame)) % 2 == 0)
    return frame.with_columns(pl.when(gone).then(None).otherwise(pl.col(column)).alias(column))


def _level_gone(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The most frequent level becomes the next one."""
    levels = frame[column].drop_nulls().value_counts(sort=True)[column].to_list()
    return frame.with_columns(pl.col(column).replace(levels[0], levels[1]))


def _constant(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    first = frame[column].drop_nulls()[0]
    return frame.with_columns(pl.lit(first).alias(column))


def _spread(values: Any, _: np.random.Generator) -> Any:
    middle = np.nanmedian(values)
    return middle + 2.0 * (values - middle)


def _sentinel(values: Any, rng: np.random.Generator) -> Any:
    return np.where(rng.random(len(values)) < 0.05, -999.0, values)


def _rounded(values: Any, _: np.random.Generator) -> Any:
    """To one digit less than the spread needs, which is coarser than any of these columns is."""
    unit = 10.0 ** np.floor(np.log10(np.nanstd(values)))
    return np.round(values / unit) * unit


SHIFTS: Mapping[str, tuple[str, str, Shift]] = {
    "new levels": ("category", "new levels", _new_levels),
    "half missing": ("any", "missing", _half_missing),
    "times 100": ("number", "times", _numbers(lambda v, _: v * 100.0)),
    "sign changed": ("number", "sign", _numbers(lambda v, _: -v)),
    "another unit": ("number", "unit", _numbers(lambda v, _: v * 1.8 + 32.0)),
    "a level gone": ("category", "gone", _level_gone),
    "constant": ("any", "constant", _constant),
    "mean shifted": ("number", "shift", _numbers(lambda v, _: v + 0.75 * np.nanstd(v))),
    "spread wider": ("number", "spread", _numbers(_spread)),
    "-999 in 5 %": ("number", "sentinel", _numbers(_sentinel)),
    "rounded": ("number", "rounded", _numbers(_rounded)),
}


def fits(feature: Feature, of: str, frame: pl.DataFrame) -> bool:
    """Whether a column can have a shift: numbers of many values, of which none has half of the rows, or categories."""
    if of == "category":
        return feature.kind == "categorical"
    if of == "any" or feature.kind != "numeric":
        return of == "any"
    counts = frame[feature.name].drop_nulls().value_counts(sort=True)["count"]
    return len(counts) > 20 and counts[0] < len(frame) / 2


def kinds(drift: Drift, column: str) -> list[str]:
    """What happened to a column, as words for machines."""
    return [change.kind for own in drift.columns if own.name == column for change in own.changes]


def swapped_pairs(graph: RuleGraph, frame: pl.DataFrame) -> list[tuple[str, str]]:
    """Neighbouring numeric columns of the model."""
    names = [name for name in graph.used_features if fits(graph.schema[name], "number", frame)]
    return list(itertools.pairwise(names))


def named(graph: RuleGraph, frame: pl.DataFrame, target: str) -> dict[str, list[tuple[str, list[str]]]]:
    """By shift each column that has it, with what was found of it there."""
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for shift, (of, _, change) in SHIFTS.items():
        columns = [name for name in graph.used_features if fits(graph.schema[name], of, frame)]
        found[shift] = [(name, kinds(monitor(graph, change(frame, name)), name)) for name in columns]
    found["swapped"] = []
    for a, b in swapped_pairs(graph, frame):
        drift = monitor(graph, frame.with_columns(pl.col(a).alias(b), pl.col(b).alias(a)))
        found["swapped"].append((f"{a} and {b}", sorted({*kinds(drift, a), *kinds(drift, b)})))
    found["class share"] = [(target, class_share(graph, frame, target))]
    return found


def class_share(graph: RuleGraph, frame: pl.DataFrame, target: str) -> list[str]:
    """Which shares are said to have changed where two thirds of the rows of the last class are left out."""
    last = str(graph.classes[-1])
    kept = (frame[target].cast(pl.String) != last).to_numpy() | (np.arange(len(frame)) % 3 == 0)
    fewer = frame.filter(kept)
    labels = fewer[target].cast(pl.String).to_list() if isinstance(graph.classes[-1], str) else fewer[target].to_list()
    drift = monitor(graph, fewer, labels)
    return sorted({"class share" for part in drift.classes if part.changed})


WANTED = {shift: kind for shift, (_, kind, _) in SHIFTS.items()} | {"swapped": "swapped", "class share": "class share"}


def false_alarms(frame: pl.DataFrame, target: str, splits: int) -> list[str]:
    """What was found on fresh rows of the same table, a model for each split."""
    found = []
    for seed in range(splits):
        training, fresh = parts(frame, 1000 + seed, 0.7)
        graph = trained(training, target, size=3)
        labels = fresh[target].cast(pl.String).to_list()
        drift = monitor(graph, fresh, labels if isinstance(graph.classes[-1], str) else fresh[target].to_list())
        if not drift.alike:
            found.append(", ".join(f"{what} {name}" for what, name in drift.found()))
    return found


def main() -> None:
    """Print both tables; exit with 1 where a shift was not named or alarms are too frequent."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="10 splits")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    failed = False
    for name in TABLES:
        try:
            frame, target = read(name, arguments.data)
        except FileNotFoundError:
            print(f"{name}: no data, passed over")
            continue
        training, fresh = parts(frame, 0)
        graph = trained(training, target)
        print(f"\n{name}: {len(training)} training rows, {len(fresh)} others, reads {', '.join(graph.used_features)}")
        for shift, columns in named(graph, fresh, target).items():
            right = [column for column, found in columns if WANTED[shift] in found]
            missed = {column: found for column, found in columns if WANTED[shift] not in found}
            failed |= bool(columns) and not right
            print(f"  {shift:14} named in {len(right)} of {len(columns)}  {missed or ''}")
        splits = 10 if arguments.small else 100
        alarms = false_alarms(frame, target, splits)
        failed |= len(alarms) > MOST_ALARMS
        print(f"  false alarms at a rate of {RATE * 100:g} %: {len(alarms)} of {splits} {alarms or ''}")
    sys.exit(int(failed))


if __name__ == "__main__":
    main()
