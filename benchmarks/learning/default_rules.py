"""The default learner beside trees: several classes, rare classes, and how stable its rules are.

    python -m benchmarks.learning.default_rules [several] [rare] [stability] [--data ../shared/data] [--small] [--write]

`several`: five stratified folds (seed 0) of at most 6,000 rows; beside it a tree of depth 8 that may have as many
leaves as the rules have literals. Two tables are made here: five classes ranked by a hierarchy over eight categories,
and 26 classes of 14,000 rows over 16 whole numbers. `rare`: the rarer of two classes thinned to 1, 3 and 6 % (three of
five folds, seed 0); the macro F1 of the rules beside that of a tree of depth 4. `stability`: the Dice index of the
rules of five samples of 80 % of at most 2,000 rows, a mean over all pairs. Without names all are measured.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.learning.peers.data import FOLD_TABLES, load
from benchmarks.learning.peers.splits import stratified_folds
from benchmarks.learning.several_classes import FOLDS, PARTS, THINNED, thinned
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import add_options, markdown, publish
from rulekit import RulesClassifier
from rulekit.audit.rule_matching import Alike, rule_parts
from rulekit.audit.stability import dice_of_pairs
from rulekit.errors import DataWarning
from rulekit.graph.rules import counts
from rulekit.tables.kinds.inference import infer

Array = npt.NDArray[Any]
Rows = tuple[pl.DataFrame, Array]

SHARED = ("car_evaluation", "wine_quality", "splice", "covertype_93k")
MOST, SAMPLED, SAMPLES = 6000, 2000, 5


def shared(name: str, folder: Path) -> Rows:
    """All classes of a shared table, of at most 6,000 rows drawn with seed 0."""
    frame = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None)
    if len(frame) > MOST:
        frame = frame[np.sort(np.random.RandomState(0).permutation(len(frame))[:MOST]).tolist()]
    return frame.drop("target"), frame["target"].cast(pl.String).to_numpy()


def five_classes(n: int = 4000) -> Rows:
    """Five ranked classes by a hierarchy over eight categories of four levels."""
    at = np.random.RandomState(5).randint(0, 4, (n, 8))
    lowest = (at[:, 2] == 3) | ((at[:, 3] == 0) & (at[:, 4] == 0))
    rank = np.clip(at[:, 0] + at[:, 1] - 1 + (at[:, 5] == 3) * (at[:, 6] > 1), 1, 4)
    levels = np.array(["low", "mid", "high", "top"])
    frame = pl.DataFrame({f"c{j}": levels[at[:, j]] for j in range(8)})
    return frame, np.array([f"v{rank}" for rank in np.where(lowest, 0, rank)])


def letters(n: int = 14_000) -> Rows:
    """26 classes over 16 whole numbers from 0 to 15: each has three prototypes, of which some columns count."""
    random = np.random.RandomState(3)
    centres, counted = random.randint(0, 16, (78, 16)), random.rand(78, 16) < 0.6
    of = random.randint(0, 78, n)
    near = np.clip(np.rint(centres[of] + random.randn(n, 16) * 1.6), 0, 15)
    noise = np.clip(np.rint(random.randn(n, 16) * 4 + 8), 0, 15)
    values = np.where(counted[of], near, noise).astype(int)
    return pl.DataFrame({f"x{j}": values[:, j] for j in range(16)}), np.array([chr(65 + k // 3) for k in of])


def coded(frame: pl.DataFrame) -> Array:
    """The rows as numbers for a tree: levels one-hot, missing below all others."""
    columns: list[Array] = []
    for column in frame:
        if column.dtype == pl.String:
            levels = column.fill_null("?").to_numpy()
            columns += [levels == level for level in np.unique(levels)]
        else:
            columns.append(column.cast(pl.Float64).fill_null(-1e9).to_numpy())
    return np.column_stack(columns)


def several(folder: Path, small: bool) -> list[str]:
    """Errors of the rules and of a tree with as many leaves."""
    made: dict[str, Callable[[], Rows]] = {"five classes": five_classes, "26 classes": letters}
    rows = []
    for name in (*SHARED, *made):
        frame, labels = made[name]() if name in made else shared(name, folder)
        numbers, found = coded(frame), []
        folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(numbers, labels))
        for train, test in folds[: 1 if small else 5]:
            begun = time.process_time()
            model = RulesClassifier(n_threads=1).fit(frame[train.tolist()], labels[train])
            seconds = time.process_time() - begun
            size, truth = counts(model.rule_graph_), labels[test]
            tree = DecisionTreeClassifier(max_depth=8, max_leaf_nodes=max(2, size.literals), random_state=0)
            tree.fit(numbers[train], labels[train])
            decided = (model.predict(frame[test.tolist()]), tree.predict(numbers[test]))
            found.append([*(100 * np.mean(each != truth) for each in decided), size.rules, size.literals, seconds])
        errors = np.array(found)
        apart = errors[:, 0] - errors[:, 1]
        deviation = apart.std(ddof=1) / np.sqrt(len(apart)) if len(apart) > 1 else np.nan
        rows.append((name, *(f"{v:.1f}" for v in errors.mean(axis=0)[:4]), f"{apart.mean():+.2f} ± {deviation:.2f}"))
        rows[-1] = (*rows[-1], f"{errors[:, 4].mean():.1f}")
        print(*rows[-1], flush=True)
    titles = ("", "error %", "tree of depth 8, error %", "rules", "literals", "rules less tree", "CPU seconds")
    return markdown(titles, rows)


def rare(folder: Path, small: bool) -> list[str]:
    """Macro F1 of the rules and of a tree of depth 4 on thinned classes."""
    rows, won = [], 0
    for name, part in itertools.product(THINNED, PARTS):
        frame, labels = thinned(name, part, folder)
        numbers, found = coded(frame), []
        for fold in stratified_folds(labels, 5, 0)[: 1 if small else FOLDS]:
            model = RulesClassifier(positive=1, n_threads=1).fit(frame[fold.train.tolist()], labels[fold.train])
            tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(numbers[fold.train], labels[fold.train])
            decided = (model.predict(frame[fold.test.tolist()]), tree.predict(numbers[fold.test]))
            found.append([f1_score(labels[fold.test], each, average="macro") for each in decided])
        own, other = np.mean(found, axis=0)
        won += own >= other
        rows.append((f"{name} {100 * part:g} %", f"{own:.3f}", f"{other:.3f}"))
        print(*rows[-1], flush=True)
    said = f"The rules have at least the macro F1 of the tree on {won} of {len(rows)} tasks."
    return [*markdown(("", "rules, macro F1", "tree of depth 4"), rows), "", said]


def stability(folder: Path, small: bool) -> list[str]:
    """The mean Dice index of the rules of two samples."""
    rows = []
    for name in FOLD_TABLES[:3] if small else FOLD_TABLES:
        table = load(name, folder)
        kept = np.sort(np.random.RandomState(0).permutation(len(table.labels))[:SAMPLED])
        frame, labels = table.frame[kept.tolist()], table.labels[kept]
        found = [rule_parts(model.rule_graph_) for model in resampled(frame, labels)]
        alike = Alike(infer({column: frame[column] for column in frame.columns}))
        alike.know(itertools.chain(*found))
        rows.append((name, f"{np.mean([*dice_of_pairs(alike, found).values()]):.3f}"))
        print(*rows[-1], flush=True)
    rows.append(("mean", f"{np.mean([float(dice) for _, dice in rows]):.3f}"))
    return markdown(("", "Dice"), rows)


def resampled(frame: pl.DataFrame, labels: Array) -> Iterator[RulesClassifier]:
    """A model for each sample of 80 % of the rows."""
    for seed in range(SAMPLES):
        kept = np.sort(np.random.RandomState(100 + seed).permutation(len(labels))[: int(0.8 * len(labels))])
        yield RulesClassifier(positive=1, n_threads=1).fit(frame[kept.tolist()], labels[kept])


PARTS_OF_IT: dict[str, Callable[[Path, bool], list[str]]] = {"several": several, "rare": rare, "stability": stability}


def main() -> None:
    """Measure, print, and with --write put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="of " + ", ".join(PARTS_OF_IT))
    add_options(parser)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    for name in arguments.parts or PARTS_OF_IT:
        lines = PARTS_OF_IT[name](arguments.data, arguments.small)
        publish(arguments, f"default {name}", [stamp(), "", *lines])


if __name__ == "__main__":
    main()
