"""The UCI tables of the CNLL paper (Tables 2 and 3, Figure 5), with AdaBoost and a random forest on the same splits.

    python -m benchmarks.learning.paper_uci [cancer] [iono] [ocr49] [splice] [--splits N] [--only stumps] [--write]

Random splits in the paper's sizes, by named seeds. Each table has one configuration that was fixed before the run, and
the common default beside it; the number of units is chosen by five-fold cross-validation inside the training rows, up
to the stated limit. Finished splits are kept in the results file, so that a run can go on where it stopped; --write
draws the pictures (extra `plot`) and replaces the section of docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier

from benchmarks.learning.paper_tables import STUDIES, Configuration, Study, numbers, prepared, split, table
from benchmarks.learning.peers.pages import FOLDER, replace_section
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import markdown, publish
from rulekit.graph.rules import counts
from rulekit.learners.contract import find_estimator
from rulekit.learners.papers.early_boosting import PaperAdaBoostClassifier
from rulekit.learners.sizes.choice import Curve

Array = npt.NDArray[Any]
Record = dict[str, Any]

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
STUMPS = (15, 30, 500)
FOREST = 300
PEERS = "peers"
OWN_STUMPS = "our stumps"
PURE_STUMPS = "our stumps, gini"
CURVE = "curve"


# Fits ----------------------------------------------------------------------------------------------------------------


def fit_configuration(
    configuration: Configuration, train: tuple[pl.DataFrame, Array], test: tuple[pl.DataFrame, Array]
) -> Iterator[Record]:
    """One record per limit and fixed number of units, and one with the errors by the number of units."""
    make = find_estimator(configuration.learner)
    model = make(max(configuration.limits), n_threads=1, **configuration.parameters)
    rows, rows_test = prepared(configuration.columns, train[0], test[0])
    graphs = list(model.fit(rows, train[1]).path_)
    errors = [[error(graph.predict(x), y) for graph in graphs] for x, y in ((rows, train[1]), (rows_test, test[1]))]
    held_out = model.curve_[0]

    def at(title: str, units: int) -> Record:
        units = min(units, len(graphs))
        record = {"model": f"{configuration.name}, {title}", "units": units}
        record["literals"] = counts(graphs[units - 1]).literals
        return {**record, "train": errors[0][units - 1], "test": errors[1][units - 1]}

    for limit in configuration.limits:
        # The same as a fit with n_units=limit: its path, and its curve, are the first part of these.
        best = 1 if held_out is None else Curve(held_out.wrong[:, :limit], held_out.weights).best()
        yield at(f"up to {limit} units", best)
    for units in configuration.fixed:
        yield at(f"{units} units, no cross-validation", units)
    held = [] if held_out is None else held_out.error.tolist()
    yield {"model": CURVE, "train": errors[0], "test": errors[1], "held out": held}


def error(predicted: Array, labels: Array) -> float:
    return float(np.mean(predicted.astype(np.int64) != labels))


def fit_own_stumps(
    train: tuple[pl.DataFrame, Array], test: tuple[pl.DataFrame, Array], weak: str = "exact"
) -> Iterator[Record]:
    """PaperAdaBoostClassifier at 15, 30 and 500 rounds, the levels and the missing cells as they are."""
    settings: dict[str, Any] = {"stopping": "none", "max_bins": None, "min_rows": 0, "weak": weak}
    model = PaperAdaBoostClassifier(max(STUMPS), n_threads=1, **settings).fit(*train)
    name = "our AdaBoost" if weak == "exact" else f"our AdaBoost, {weak}"
    graphs = list(model.path_)
    for rounds in STUMPS:
        graph = graphs[min(rounds, len(graphs)) - 1]
        answers = [graph.predict(rows) for rows, _ in (train, test)]
        yield _of_stumps(f"{name}, {rounds} stumps", min(rounds, len(graphs)), answers, train[1], test[1])


def fit_stumps(train: tuple[pl.DataFrame, Array], test: tuple[pl.DataFrame, Array]) -> Iterator[Record]:
    """scikit-learn's AdaBoost of stumps at 15, 30 and 500 rounds, on one-hot columns; missing is the median."""
    x, x_test = numbers(train[0], test[0])
    boosted = AdaBoostClassifier(n_estimators=max(STUMPS), random_state=0).fit(x, train[1])
    stages = [list(boosted.staged_predict(rows)) for rows in (x, x_test)]
    for rounds in STUMPS:
        at = min(rounds, len(stages[0]))
        answers = [stage[at - 1] for stage in stages]
        yield _of_stumps(f"AdaBoost, {rounds} stumps", at, answers, train[1], test[1])


def _of_stumps(model: str, rounds: int, answers: Sequence[Array], y: Array, y_test: Array) -> Record:
    errors = {"train": error(answers[0], y), "test": error(answers[1], y_test)}
    return {"model": model, "units": rounds, "literals": rounds, **errors}


def fit_forest(train: tuple[pl.DataFrame, Array], test: tuple[pl.DataFrame, Array]) -> Iterator[Record]:
    """A random forest on one-hot columns; missing is the median."""
    x, x_test = numbers(train[0], test[0])
    forest = RandomForestClassifier(FOREST, random_state=0).fit(x, train[1])
    yield {
        "model": f"random forest, {FOREST} trees",
        "units": FOREST,
        "literals": int(sum(tree.tree_.n_leaves - 1 for tree in forest.estimators_)),
        "train": error(forest.predict(x), train[1]),
        "test": error(forest.predict(x_test), test[1]),
    }


OTHERS: Mapping[str, Callable[..., Iterator[Record]]] = {
    PEERS: fit_stumps,
    OWN_STUMPS: fit_own_stumps,
    PURE_STUMPS: partial(fit_own_stumps, weak="gini"),
    "forest": fit_forest,
}


# Runs ----------------------------------------------------------------------------------------------------------------


def run_split(study: Study, data: tuple[pl.DataFrame, Array], seed: int, done: Set[str]) -> Iterator[list[Record]]:
    """The records of one split, those of the peers and of each configuration that is not done yet together."""
    frame, labels = data
    rows, rows_test = split(study, len(labels), seed)
    train, test = (frame[rows], labels[rows]), (frame[rows_test], labels[rows_test])
    for of, fit in OTHERS.items():
        if of not in done:
            yield [{"table": study.name, "seed": seed, "of": of, **record} for record in fit(train, test)]
    for configuration in study.configurations:
        if configuration.name not in done:
            records = fit_configuration(configuration, train, test)
            yield [{"table": study.name, "seed": seed, "of": configuration.name, **record} for record in records]


def run(
    study: Study, folder: Path, seeds: Sequence[int], results: Path | None = None, only: Set[str] | None = None
) -> list[Record]:
    """The records of these seeds; those that the results file (JSON lines) has are not made again.

    only: the fits that are wanted (None: all).
    """
    kept = [] if results is None or not results.exists() else [json.loads(x) for x in results.read_text().splitlines()]
    order = [*OTHERS, *(configuration.name for configuration in study.configurations)]
    wanted = set(order) if only is None else set(only)
    found = [r for r in kept if r["table"] == study.name and r["seed"] in seeds and r["of"] in wanted]
    data = table(study, folder)
    for seed in seeds:
        for records in run_split(
            study, data, seed, (set(order) - wanted) | {record["of"] for record in found if record["seed"] == seed}
        ):
            found.extend(records)
            if results is not None:
                with results.open("a") as file:
                    file.writelines(json.dumps(record) + "\n" for record in records)
    return sorted(found, key=lambda record: order.index(record["of"]))


# Reports -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One model over the splits: means, the standard error of the test error, and what it is beyond AdaBoost's (500).

    Errors in %; held_out: that of the cross-validation inside the training rows, NaN where there was none, the only one
    by which configurations may be compared before they are chosen. The standard errors take overlapping splits as
    independent, which makes them too small.
    """

    model: str
    units: float
    literals: float
    train: float
    test: float
    test_error: float
    beyond: float
    beyond_error: float
    held_out: float = float("nan")


def lines(records: Sequence[Record]) -> list[Line]:
    """One line per model, in the order of the records."""
    models = list(dict.fromkeys(record["model"] for record in records if record["model"] != CURVE))
    reference = _by_seed(records, f"AdaBoost, {STUMPS[-1]} stumps", "test")
    found = []
    for model in models:
        test = _by_seed(records, model, "test")
        mean = {key: float(_by_seed(records, model, key).mean()) for key in ("units", "literals", "train")}
        beyond = test - reference
        found.append(
            Line(
                model,
                mean["units"],
                mean["literals"],
                100 * mean["train"],
                100 * float(test.mean()),
                100 * _standard_error(test),
                100 * float(beyond.mean()),
                100 * _standard_error(beyond),
                100 * _held_out(records, model),
            )
        )
    return found


def _by_seed(records: Sequence[Record], model: str, key: str) -> npt.NDArray[np.float64]:
    chosen = sorted((r["seed"], r[key]) for r in records if r["model"] == model)
    return np.array([value for _, value in chosen], dtype=np.float64)


def _held_out(records: Sequence[Record], model: str) -> float:
    """The mean held-out error of a model at its size, from the curves of its fits."""
    curves = {(r["of"], r["seed"]): r.get("held out", []) for r in records if r["model"] == CURVE}
    chosen = [(curves.get((r["of"], r["seed"]), []), r["units"]) for r in records if r["model"] == model]
    return float(np.mean([held[units - 1] if held else float("nan") for held, units in chosen]))


def _standard_error(values: npt.NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def curve(records: Sequence[Record], configuration: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean training and test error [T] by units; a path that ended early goes on as it was."""
    curves = [record for record in records if record["model"] == CURVE and record["of"] == configuration]
    length = max(len(record["test"]) for record in curves)
    train, test = (
        np.array([record[key] + record[key][-1:] * (length - len(record[key])) for record in curves])
        for key in ("train", "test")
    )
    return train.mean(axis=0), test.mean(axis=0)


def report(study: Study, records: Sequence[Record]) -> list[str]:
    """The table of one study in markdown."""
    seeds = sorted({record["seed"] for record in records})
    paper = study.paper
    rows = [
        "",
        f"### {study.name}",
        "",
        f"{study.file}: {study.n_train} training and {study.n_test} test rows, {len(seeds)} random splits "
        f"(seeds {seeds[0]} to {seeds[-1]}). The paper: CNLL {paper.error} % with about {paper.units} features, "
        f"AdaBoost (500) {paper.boosted} %.",
        "",
        "| model | test error % | less AdaBoost 500, paired | training error % | held out % | units | literals |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for line in lines(records):
        held_out = "" if np.isnan(line.held_out) else f"{line.held_out:.2f}"
        rows.append(
            f"| {line.model} | {line.test:.2f} ± {line.test_error:.2f} | {line.beyond:+.2f} ± {line.beyond_error:.2f} "
            f"| {line.train:.2f} | {held_out} | {line.units:.1f} | {line.literals:.1f} |"
        )
    return rows


FINDINGS = {
    "cancer": (5.02, 4.76, 5.00),
    "iono": (11.0, 10.1, 8.38),
    "ocr49": (9.29, 7.59, 5.74),
    "splice": (7.66, 6.84, 7.71),
}
"""Test errors in % of 15, 30 and 500 stumps that the first study of these tables measured, on other splits."""


def stumps_report(found: Mapping[str, Sequence[Record]]) -> list[str]:
    """Our AdaBoost beside scikit-learn's: test errors in %, and their difference on the same splits."""
    rows = []
    for name, records in found.items():
        for rounds, before in zip(STUMPS, FINDINGS[name], strict=True):
            models = ("our AdaBoost", "our AdaBoost, gini", "AdaBoost")
            errors = [100 * _by_seed(records, f"{model}, {rounds} stumps", "test") for model in models]
            cells = [f"{v.mean():.2f} ± {_standard_error(v):.2f}" for v in errors]
            less = [f"{v.mean():+.2f} ± {_standard_error(v):.2f}" for v in (one - errors[2] for one in errors[:2])]
            rows.append((f"{name}, {rounds} rounds", str(len(errors[0])), *cells, *less, f"{before:.2f}"))
    titles = ("least error", "least Gini impurity", "scikit-learn's", "first less third, paired", "second less third")
    return markdown(("", "splits", *titles, "first study"), rows)


def draw(studies: Mapping[str, Sequence[Record]], folder: Path) -> list[Path]:
    """One picture per table: mean training and test error against units, as Figure 5 of the paper."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    made = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in studies.items():
        study, levels = STUDIES[name], {line.model: line.test for line in lines(records)}
        train, test = (100 * values for values in curve(records, study.configurations[0].name))
        units = np.arange(1, len(test) + 1)
        figure, axis = pyplot.subplots(figsize=(4.6, 3.4), layout="constrained")
        axis.plot(units, test, color="#b03a2e", label="test")
        axis.plot(units, train, color="#1f618d", linestyle="--", label="training")
        boosted = levels[f"AdaBoost, {STUMPS[-1]} stumps"]
        axis.axhline(boosted, color="#7f8c8d", linewidth=0.9, linestyle=":", label="AdaBoost 500, test")
        axis.plot([study.paper.units], [study.paper.error], "x", color="black", label="the paper's CNLL, test")
        axis.set(
            title=f"{name}: {study.configurations[0].name}",
            xlabel="units",
            ylabel="error (%)",
            ylim=(0, None),
            xlim=(0.5, len(test) + 0.5),
        )
        axis.title.set_fontsize(9)
        axis.grid(True, linewidth=0.3)
        axis.legend(frameon=False, fontsize=8)
        path = folder / f"figure5_{name}.png"
        figure.savefig(path, dpi=110, metadata={"Software": None})
        pyplot.close(figure)
        made.append(path)
    return made


def main() -> None:
    """Run the named tables (all), print their reports, and with --write put them into the documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=[*STUDIES, []], default=[])
    parser.add_argument("--splits", type=int, help="fewer splits than 60, 60, 10 and 10")
    parser.add_argument("--only", choices=["stumps"], help="the two AdaBoosts alone, and their section")
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--results", type=Path, default=Path("build/paper_uci.jsonl"))
    parser.add_argument("--write", action="store_true", help="the pictures, and the section of docs/benchmarks/")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    arguments.results.parent.mkdir(parents=True, exist_ok=True)
    only = frozenset((PEERS, OWN_STUMPS, PURE_STUMPS)) if arguments.only else None
    found: dict[str, list[Record]] = {}
    text: list[str] = []
    for name in arguments.tables or list(STUDIES):
        study = replace(STUDIES[name], splits=arguments.splits or STUDIES[name].splits)
        seeds = range(arguments.first_seed, arguments.first_seed + study.splits)
        found[name] = run(study, arguments.data, seeds, arguments.results, only)
        made = report(study, found[name])
        print("\n".join(made), flush=True)
        text.extend(made)
    publish(arguments, "paper uci stumps", [stamp(), "", *stumps_report(found)])
    if arguments.write and only is None:
        draw(found, PICTURES)
        pictures = [f"![{name}](pictures/figure5_{name}.png)" for name in found]
        replace_section(arguments.page, "paper uci", [stamp(), *text, "", " ".join(pictures)])


if __name__ == "__main__":
    main()
