"""Additive rules on several classes: which probabilities are best, and accuracy and log loss beside scikit-learn.

    python -m benchmarks.learning.several_classes [--rare] [--small] [--data ../shared/data] [--write]

Three stratified folds, of tables with fewer than 1,000 rows with four seeds, of the others with one. The probability
of a class is the logistic function of its sum less an offset, divided by the total of all classes: without an offset
each class stands against all others, with a large one it is the soft-max of the sums. Takes about two minutes.

`--rare` instead thins the rarer of two classes to 1, 3 and 6 % beside 8,000 rows of the other, or all there are (seed
0, three of five folds): how well do additive rules rank beside HistGradientBoosting? Takes about two minutes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.learning.peers.data import load
from benchmarks.learning.peers.splits import stratified_folds
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import add_options, markdown, publish
from rulekit import AdditiveRulesClassifier
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.rules import counts

Array = npt.NDArray[Any]

SHIPPED = {"iris": load_iris, "wine": load_wine, "digits": load_digits}
SHARED = ("car_evaluation", "splice")
OFFSETS = (0.0, 1.0, 2.0, 3.0, 4.0, 20.0)
TITLES = ("one against the rest", "less 1", "less 2", "less 3", "less 4", "soft-max")
OURS, TREE = "additive rules", "tree of depth 4"
_FEW_ROWS = 1000
THINNED = ("adult", "bank_marketing", "spambase", "magic_telescope", "german_credit")
PARTS, FOLDS, OTHERS, FEW = (0.01, 0.03, 0.06), 3, 8000, 10


@dataclass(frozen=True, slots=True)
class Found:
    """Of the test rows of one split: log loss by offset, and accuracy and log loss by model."""

    by_offset: Sequence[float]
    models: Mapping[str, tuple[float, float]]


def tables(folder: Path) -> Iterator[tuple[str, pl.DataFrame, Array]]:
    """Name, columns and labels."""
    for name, shipped in SHIPPED.items():
        data = shipped()
        yield name, pl.DataFrame(data.data, schema=[f"x{j}" for j in range(data.data.shape[1])]), data.target
    for name in SHARED:
        frame = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None)
        yield name, frame.drop("target"), frame["target"].cast(pl.String).to_numpy()


def splits(frame: pl.DataFrame, labels: Array, seeds: int) -> Iterator[tuple[Array, Array]]:
    """Training and test rows."""
    for seed in range(seeds if len(labels) < _FEW_ROWS else 1):
        yield from StratifiedKFold(3, shuffle=True, random_state=seed).split(frame, labels)


def peers() -> dict[str, Any]:
    """scikit-learn's models, on one-hot columns and, the linear one, scaled numbers."""
    levels = (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_include=object))
    found = {}
    for name, model in {
        TREE: DecisionTreeClassifier(max_depth=4, random_state=0),
        "logistic regression": LogisticRegression(max_iter=2000),
        "HistGB 100": HistGradientBoostingClassifier(random_state=0),
    }.items():
        columns = make_column_transformer(levels, remainder=StandardScaler())
        found[name] = make_pipeline(columns, model)
    return found


def measure(frame: pl.DataFrame, labels: Array, train: Array, test: Array) -> Found:
    """One split."""
    model = AdditiveRulesClassifier().fit(frame[train.tolist()], labels[train])
    graph, rows = model.rule_graph_, frame[test.tolist()]
    sums = list(graph.decision.roots)
    values = evaluate_nodes(sums, graph.table(rows))
    scores = np.array([values[node] for node in sums]).T[:, np.argsort(graph.classes)]
    truth, classes = labels[test], np.sort(np.asarray(graph.classes))

    def loss(probabilities: Array) -> float:
        return float(log_loss(truth, probabilities, labels=classes))

    by_offset = []
    for offset in OFFSETS:
        own = 1.0 / (1.0 + np.exp(offset - scores))
        by_offset.append(loss(own / own.sum(axis=1, keepdims=True)))
    models = {OURS: (float(np.mean(model.predict(rows) == truth)), loss(model.predict_proba(rows)))}
    for name, peer in peers().items():
        peer.fit(frame[train.tolist()].to_pandas(), labels[train])
        shown = rows.to_pandas()
        models[name] = (float(np.mean(peer.predict(shown) == truth)), loss(peer.predict_proba(shown)))
    return Found(by_offset, models)


def report(found: Mapping[str, Sequence[Found]]) -> list[str]:
    """Both tables."""
    offsets = [
        (name, *(f"{value:.4f}" for value in np.mean([each.by_offset for each in of], axis=0)))
        for name, of in found.items()
    ]
    names = list(next(iter(found.values()))[0].models)
    models = [
        (name, *(" / ".join(f"{v:.4f}" for v in np.mean([each.models[one] for each in of], axis=0)) for one in names))
        for name, of in found.items()
    ]
    return [
        "Log loss of the test rows by what the probability of a class is, before it is divided by the total:",
        "",
        *markdown(("", *TITLES), offsets),
        "",
        "Accuracy / log loss of the test rows:",
        "",
        *markdown(("", *names), models),
    ]


def thinned(name: str, part: float, folder: Path) -> tuple[pl.DataFrame, Array]:
    """Rows of a shared table of which the rarer class is such a part, and whether each is of it."""
    table, random = load(name, folder), np.random.RandomState(0)
    rare = table.labels == int(table.labels.mean() <= 0.5)
    others = random.permutation(np.flatnonzero(~rare))[:OTHERS]
    own = random.permutation(np.flatnonzero(rare))[: round(part / (1.0 - part) * len(others))]
    rows = np.sort(np.concatenate([others, own]))
    return table.frame[rows.tolist()], rare[rows].astype(np.int8)


def ranking(frame: pl.DataFrame, labels: Array, train: Array, test: Array) -> Sequence[float]:
    """AUC, error, log loss, rules and literals of additive rules; then the first three of HistGradientBoosting."""
    model = AdditiveRulesClassifier(positive=1).fit(frame[train.tolist()], labels[train])
    levels = frame.to_pandas().apply(lambda of: of.astype("category").cat.codes if of.dtype.kind not in "biuf" else of)
    native = [frame.columns.index(c) for c in levels if frame[c].dtype == pl.String and frame[c].n_unique() < 255]
    peer = HistGradientBoostingClassifier(categorical_features=native, random_state=0)
    peer.fit(levels.iloc[train], labels[train])

    def figures(found: Array) -> list[float]:
        wrong = float(np.mean((found > 0.5) != labels[test]))
        return [roc_auc_score(labels[test], found), wrong, log_loss(labels[test], found, labels=[0, 1])]

    size = counts(model.rule_graph_)
    ours = figures(model.predict_proba(frame[test.tolist()])[:, 1])
    return [*ours, size.rules, size.literals, *figures(peer.predict_proba(levels.iloc[test])[:, 1])]


def rare_classes(folder: Path, small: bool) -> list[str]:
    """A row for each table and part, and their mean."""
    rows, found, enough = [], [], []
    for name in THINNED:
        for part in PARTS:
            frame, labels = thinned(name, part, folder)
            folds = stratified_folds(labels, 5, 0)[: 1 if small else FOLDS]
            found.append(np.mean([ranking(frame, labels, fold.train, fold.test) for fold in folds], axis=0))
            enough.append(labels.sum() * 0.8 >= FEW)
            rows.append((f"{name} {100 * part:g} %", str(round(labels.sum() * 0.8)), *_shown(found[-1])))
            print(*rows[-1], flush=True)
    rows.append(("mean", "", *_shown(np.mean(found, axis=0))))
    gap = np.array(found)[:, 0] - np.array(found)[:, 5]
    said = (
        f"The AUC of additive rules minus the AUC of HistGB 100: {gap.mean():+.4f} on the mean of the {len(gap)} tasks"
    )
    said += f"; {gap[enough].mean():+.4f} on the tasks with at least {FEW} rare training rows."
    both = [title for name in ("AUC", "error %", "log loss") for title in (name, "HistGB 100")]
    return [*markdown(("", "rare rows that train", *both, "rules", "literals"), rows), "", said]


def _shown(of: Array) -> tuple[str, ...]:
    auc, error, loss, rules, literals, *peer = of.tolist()
    pairs = ((auc, peer[0], ".3f"), (100 * error, 100 * peer[1], ".2f"), (loss, peer[2], ".4f"))
    return (*(format(value, how) for *both, how in pairs for value in both), f"{rules:.1f}", f"{literals:.1f}")


def main() -> None:
    """Measure, print, and with --write put it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rare", action="store_true", help="thinned classes of two")
    arguments = parser.parse_args()
    if arguments.rare:
        lines = rare_classes(arguments.data, arguments.small)
        publish(arguments, "rare classes", [stamp(), "", *lines])
        return
    found: dict[str, list[Found]] = {}
    for name, frame, labels in tables(arguments.data):
        seeds = 1 if arguments.small else 4
        found[name] = [measure(frame, labels, *rows) for rows in splits(frame, labels, seeds)]
        print(f"{name}: {len(found[name])} splits", flush=True)
    publish(arguments, "several classes", [stamp(), "", *report(found)])


if __name__ == "__main__":
    main()
