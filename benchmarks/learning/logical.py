"""Logical data: tic_tac_toe and kr_vs_kp, ten folds, formulas of 30 units; and the rule that tic_tac_toe is read as.

    python -m benchmarks.learning.logical [--seeds 200 201 202] [--write]

The labels of both tables follow from the columns without noise. One configuration for both, fixed before the run, is
beside the common default, a decision tree and HistGradientBoosting on the same folds. The rule is that of
the formula of all boards, and the plain DNF of all boards and of each training part.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.learning.peers.data import load
from benchmarks.learning.peers.pages import FOLDER, replace_section
from benchmarks.shared.machine import stamp
from rulekit import CNLLClassifier, RuleGraph, RulesClassifier
from rulekit.graph.nodes import Among, And, Node, Or
from rulekit.logic.prime_implicants import threshold_rule

Array = npt.NDArray[Any]

TABLES = ("tic_tac_toe", "kr_vs_kp")
UNITS = (10, 20, 30)
LOGICAL: Mapping[str, Any] = {"ridge": 1, "refit": 1, "backfit": 1, "min_rows": 1}
"""What is recommended for logical data: a small ridge, and a better condition looked for after every step."""
SETTINGS: Mapping[str, Mapping[str, Any]] = {"tree, Brier, ridge 1, backfit 1": LOGICAL, "the common default": {}}
CELLS = tuple(f"{row}_{column}" for row in ("top", "middle", "bottom") for column in ("left", "middle", "right"))
LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
EIGHT_LINES = frozenset(frozenset(CELLS[i] for i in line) for line in LINES)


def folds(labels: Array, seed: int) -> Iterator[tuple[Array, Array]]:
    """Ten stratified folds of one named seed."""
    yield from StratifiedKFold(10, shuffle=True, random_state=seed).split(np.zeros(len(labels)), labels)


def ours(frame: pl.DataFrame, labels: Array, seed: int, settings: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Training and test error at 10, 20 and 30 units, over the ten folds of a seed."""
    wrong, rows = np.zeros((2, len(UNITS))), np.zeros(2)
    for train, test in folds(labels, seed):
        model = CNLLClassifier(max(UNITS), stopping="none", **settings).fit(frame[train], labels[train])
        for j, units in enumerate(UNITS):
            graph = model.path_.graph_at(min(units, len(model.path_)))
            for i, part in enumerate((train, test)):
                wrong[i, j] += np.sum(graph.predict(frame[part]) != labels[part])
        rows += (len(train), len(test))
    train_error, test_error = wrong / rows[:, None]
    return train_error.tolist(), test_error.tolist()


def peers(frame: pl.DataFrame, labels: Array, seed: int) -> dict[str, float]:
    """Test error of peers on one-hot columns, over the ten folds of a seed."""
    bits = frame.to_dummies().to_numpy().astype(np.float64)
    made = {"decision tree": DecisionTreeClassifier, "HistGradientBoosting": HistGradientBoostingClassifier}
    wrong = dict.fromkeys(made, 0)
    for train, test in folds(labels, seed):
        for name, peer in made.items():
            fitted = peer(random_state=0).fit(bits[train], labels[train])
            wrong[name] += int(np.sum(fitted.predict(bits[test]) != labels[test]))
    return {name: count / len(labels) for name, count in wrong.items()}


# The eight lines -----------------------------------------------------------------------------------------------------


def rule_of(graph: RuleGraph) -> Node | None:
    """The shortest disjunctive normal form of the decision; None where it has more than 2,000 literals."""
    return threshold_rule(graph.probability[0].formula, 0.5, 2000, schema=graph.schema, budget=1 << 24)  # type: ignore[attr-defined]


def lines_of_x(rule: Node) -> frozenset[frozenset[str]] | None:
    """The clauses as sets of cells that hold an x; None where a condition says anything else."""
    clauses = (
        [part.children if isinstance(part, And) else (part,) for part in rule.children] if isinstance(rule, Or) else []
    )
    leaves = [leaf for clause in clauses for leaf in clause]
    if not leaves or not all(isinstance(leaf, Among) and tuple(leaf.levels) == ("x",) for leaf in leaves):
        return None
    return frozenset(frozenset(leaf.feature for leaf in clause) for clause in clauses)  # type: ignore[attr-defined]


def eight_lines(folder: Path) -> str:
    """What the formula of all 958 boards says once it makes no error, in a sentence."""
    table = load("tic_tac_toe", folder)
    model = CNLLClassifier(40, stopping="none", **LOGICAL).fit(table.frame, table.labels)
    wrong = [round(point.training_error * len(table.labels)) for point in model.path_.points]
    units = next((i + 1 for i, count in enumerate(wrong) if count == 0), None)
    if units is None:
        return f"Fitted to all 958 boards: {wrong[29]} errors at 30 units, {min(wrong)} at best up to 40 units."
    rule = rule_of(model.path_.graph_at(units))
    if rule is None:
        return f"Fitted to all 958 boards: no error from {units} units; the rule has more than 2,000 literals."
    if lines_of_x(rule) == EIGHT_LINES:
        return f"Fitted to all 958 boards: no error from {units} units; the rule is the eight lines of three x."
    clauses = len(rule.children) if isinstance(rule, Or) else 1
    return (
        f"Fitted to all 958 boards: no error from {units} units; the rule has {clauses} clauses, not the eight lines."
    )


def plain_lines(seeds: Sequence[int], folder: Path) -> str:
    """What the plain DNF of all boards and of every training part says, in a sentence."""
    table = load("tic_tac_toe", folder)
    frame, labels = table.frame, table.labels

    def learned(rows: Array) -> tuple[RulesClassifier, bool]:
        model = RulesClassifier(stopping="none").fit(frame[rows], labels[rows])
        return model, lines_of_x(model.rule_graph_.decision.roots[0]) == EIGHT_LINES

    whole, exact = learned(np.arange(len(labels)))
    errors = int(np.sum(whole.predict(frame) != labels))
    parts, wrong, found = 0, 0, 0
    for seed in seeds:
        for train, test in folds(labels, seed):
            model, same = learned(train)
            parts, found = parts + 1, found + same
            wrong += int(np.sum(model.predict(frame[test]) != labels[test]))
    said = "the eight lines of three x" if exact else "not the eight lines"
    return (
        f"Plain rules (the default) of all 958 boards: {errors} errors, {said}. Of {parts} "
        f"training parts {found} give the eight lines; {wrong} test errors in {parts // 10 * len(labels)} boards."
    )


def report(seeds: Sequence[int], folder: Path) -> list[str]:
    """The table of both data sets in markdown."""
    made = [
        f"Ten folds, fold seeds {', '.join(map(str, seeds))}; test error in %, in brackets training error.",
        "",
        "| table | learner | " + " | ".join(f"{units} units" for units in UNITS) + " |",
        "|---|---|" + "--:|" * len(UNITS),
    ]
    for name in TABLES:
        table = load(name, folder)
        for title, settings in SETTINGS.items():
            runs = np.array([ours(table.frame, table.labels, seed, settings) for seed in seeds])
            train, test = 100 * runs.mean(axis=0)
            cells = " | ".join(f"{b:.2f} ({a:.2f})" for a, b in zip(train, test, strict=True))
            made.append(f"| {name} | {title} | {cells} |")
            print(made[-1], flush=True)
        found = [peers(table.frame, table.labels, seed) for seed in seeds]
        for title in found[0]:
            made.append(f"| {name} | {title} | {100 * np.mean([f[title] for f in found]):.2f} | | |")
            print(made[-1], flush=True)
    return [*made, "", eight_lines(folder), "", plain_lines(seeds, folder)]


def main() -> None:
    """Print the table, and with --write put it into the documents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[200])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks/")
    arguments = parser.parse_args()
    lines = report(arguments.seeds, arguments.data)
    print("\n" + "\n".join(lines))
    if arguments.write:
        replace_section(FOLDER, "logical", [stamp(), "", *lines])


if __name__ == "__main__":
    main()
