"""Accuracy against size, drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.learning.peers.ranking import cells
from benchmarks.learning.peers.results import Results

SIZES = (1, 2, 3, 5, 7, 10, 15, 20, 30)
# Of these families one fit passes through all sizes.
WITH_PATH = ("rulekit", "AdaBoost")
FAMILIES: Mapping[str, tuple[str, str]] = {
    "rulekit": ("rulekit, units", "#c0392b"),
    "FIGS": ("FIGS, splits", "#2471a3"),
    "CART": ("CART, splits", "#229954"),
    "AdaBoost": ("AdaBoost, stumps", "#b7950b"),
}
TABLES = ("adult", "heloc", "magic_telescope", "german_credit", "breast_cancer_wisconsin", "tic_tac_toe")


def draw(results: Results, path: Path, tables: Sequence[str] = TABLES) -> None:
    """One panel for each table: test accuracy, mean and standard error over folds, against size."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    drawn = [name for name in tables if any(row["table"] == name for row in results.rows.values())]
    figure, axes = plt.subplots(2, -(-len(drawn) // 2), figsize=(11, 6.2), squeeze=False, constrained_layout=True)
    for axis, table in zip(axes.flat, drawn, strict=False):
        for family, (label, colour) in FAMILIES.items():
            points = [(size, *mean_and_error(results, table, family, size)) for size in SIZES]
            points = [point for point in points if np.isfinite(point[1])]
            if points:
                sizes, means, errors = np.array(points).T
                axis.fill_between(sizes, means - errors, means + errors, color=colour, alpha=0.12, linewidth=0)
                axis.plot(sizes, means, marker="o", markersize=3, color=colour, label=label)
        boosted = cells(results).get((table, "HistGB 100"))
        if boosted and boosted.finished:
            axis.axhline(boosted.accuracy, color="0.35", linewidth=1, linestyle="--", label="HistGB, 100 rounds")
        axis.set_xscale("log")
        axis.set_xticks(SIZES, [str(size) for size in SIZES])
        axis.minorticks_off()
        axis.set_title(table)
        axis.grid(alpha=0.25)
    for axis in axes.flat[len(drawn) :]:
        axis.remove()
    for axis in axes[:, 0]:
        axis.set_ylabel("test accuracy")
    figure.supxlabel("tests in the model (units, splits or stumps)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def curve_report(results: Results, tables: Sequence[str], missing: Mapping[str, str], splits: str) -> list[str]:
    """The lines of the page: each table's accuracies by size, the best of each size in bold, and what is missing."""
    lines = [
        f"{splits}; test accuracy in %, ± the standard error over folds; the best of each size in bold. Bands in the "
        "picture are one standard error.",
        "",
        "![test accuracy against size](pictures/accuracy_size.png)",
        "",
    ]
    found = cells(results)
    for table in tables:
        boosted = found.get((table, "HistGB 100"))
        mark = f" (HistGB 100: {100 * boosted.accuracy:.2f})" if boosted and boosted.finished else ""
        points = {f: [mean_and_error(results, table, f, size) for size in SIZES] for f in FAMILIES}
        best = [
            max((points[f][k][0] for f in FAMILIES), key=lambda v: -1.0 if np.isnan(v) else v)
            for k in range(len(SIZES))
        ]
        lines += [f"| {table}{mark} | {' | '.join(map(str, SIZES))} |", "|---|" + "--:|" * len(SIZES)]
        for family, (label, _) in FAMILIES.items():
            shown = [_cell(*point, first) for point, first in zip(points[family], best, strict=True)]
            lines.append(f"| {label} | {' | '.join(shown)} |")
        lines.append("")
    missed = [
        f"- {peer} on {table}: {cell.why}; {cell.skipped} of {cell.finished + cell.skipped} folds without a result"
        for (table, peer), cell in found.items()
        if table in tables and cell.skipped
    ]
    missed += [f"- not installed: {name} ({why})" for name, why in missing.items()]
    return [*lines, "**Not finished, failed or not installed**", "", *(missed or ["- none"])]


def _cell(mean: float, error: float, best: float) -> str:
    if np.isnan(mean):
        return "-"
    text = f"{100 * mean:.2f} ± {100 * error:.2f}"
    return f"**{text}**" if round(mean, 9) == round(best, 9) else text


def mean_and_error(results: Results, table: str, family: str, size: int) -> tuple[float, float]:
    """Mean accuracy over folds and its standard error; NaN where a fold is missing.

    A fit that passed through all sizes gives them all; one that stopped before keeps its last model.
    """
    largest = f"{family} {SIZES[-1]}"
    rows = [row for row in results.rows.values() if row["table"] == table and row["peer"] == largest]
    if not rows or "path" not in rows[0]:
        rows = [row for row in results.rows.values() if row["table"] == table and row["peer"] == f"{family} {size}"]
    if not rows or any(row["status"] != "ok" for row in rows):
        return float("nan"), float("nan")
    values = np.array([[row["accuracy"], *row.get("path", ())][min(size, len(row.get("path", ())))] for row in rows])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
