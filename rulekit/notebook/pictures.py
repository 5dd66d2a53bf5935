"""Pictures of models: error by size, what each rule is worth, calibration, the operating characteristic.

All need the extra `plot` (matplotlib). Each draws on the axes that it is given, or on a new figure of pyplot, which a
notebook shows, and returns the axes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.audit.figures.curves import draw_curve
from rulekit.audit.figures.intervals import calibration, operating_points
from rulekit.audit.figures.metrics import area_under_curve
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.words import counted, percent, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.notebook.boundaries import COLOURS, finished, labelled_rows, make_room, new_axes, new_panels, plain_text
from rulekit.shown.rule_rows import Row
from rulekit.shown.sections import sections

if TYPE_CHECKING:
    from rulekit.graph.model_parts import Ladder
    from rulekit.learners.sizes.path import ModelPath

TRAINING, HELD_OUT = COLOURS[0], COLOURS[1]
_MOST_CLASSES = len(COLOURS)
_MOST_RULES = 40
_SHARES = ("mean_probability", "happened")
_WIDEST, _MOST_LINES = 48, 4


def plot_path(path: ModelPath, ax: Any = None) -> Any:
    """Draw held-out and training error by the size of the model (extra `plot`).

    Parameters
    ----------
    path : ModelPath
        The sizes of a fit, `path_` of an estimator.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    Returns
    -------
    Axes
        Of several classes an array of axes, a panel for each.

    """
    labels = list(dict.fromkeys(point.label for point in path.points))[:_MOST_CLASSES]
    panels = [ax] if ax is not None else new_panels(len(labels))
    for i, (panel, label) in enumerate(zip(panels, labels, strict=False)):
        draw_curve(panel, [point for point in path.points if point.label == label], path.noun)
        panel.set_title(plain_text(f"{path.frame.schema.target} is {quoted(label)}"), fontsize=10)
        panel.set_xlabel(f"{path.noun}s")
        panel.set_ylabel("error (% of rows)")
        if i == 0:
            panel.legend(frameon=False, fontsize=8)
    finished(panels[0])
    return panels[0] if len(panels) == 1 else np.array(panels, dtype=object)


def plot_ladder(ladder: Ladder, ax: Any = None) -> Any:
    """Draw the cross-validated error by the number of rules, and the sizes that stand out (extra `plot`).

    Parameters
    ----------
    ladder : Ladder
        The sizes of a model.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    Returns
    -------
    Axes

    """
    from matplotlib.ticker import MaxNLocator

    rungs = [rung for rung in ladder.rungs if rung.error is not None]
    if not rungs:
        raise InputError("no size has an error", where="plot", fix="train with cross-validation")
    ax = new_axes(ax, (6.4, 4.0))
    rules = [rung.rules for rung in rungs]
    error = 100 * np.array([rung.error for rung in rungs], dtype=float)
    spread = 100 * np.array([rung.standard_error or 0.0 for rung in rungs])
    ax.errorbar(rules, error, spread, fmt="-o", color=TRAINING, markersize=4, capsize=3, label="± 1 standard error")
    marks = {ladder.smallest: ("as good, and smallest", COLOURS[2], 15), ladder.chosen: ("taken", HELD_OUT, 9)}
    for size, (what, colour, width) in marks.items():
        for rung, value in zip(rungs, error, strict=True):
            if rung.size == size:
                said = f"{what}: {counted(rung.rules, 'rule')}, {value:.1f} %"
                ax.plot(rung.rules, value, "o", color=colour, markersize=width, fillstyle="none", mew=1.8, label=said)
    ax.set_xlabel("rules")
    ax.set_ylabel("cross-validated error (% of rows)")
    ax.set_ylim(bottom=max(0.0, ax.get_ylim()[0]))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9)
    return finished(ax)


def plot_rules(graph: RuleGraph, ax: Any = None) -> Any:
    """Draw for each rule the share of its rows that is right, for each term of a sum its points (extra `plot`).

    Parameters
    ----------
    graph : RuleGraph
        The model.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    Returns
    -------
    Axes

    """
    rows = [row for part in sections(graph) for row in part.rows if row.weight or _shares(row)]
    if not rows:
        fix = "fit the model on a table, or read the whole formula with rulekit.show(graph)"
        raise InputError("no rule has figures of its own", where="plot_rules", fix=fix)
    rows = rows[:_MOST_RULES]
    labels = [_rule_label(graph, row) for row in rows]
    heights = [1.0 + 0.55 * label.count("\n") for label in labels]
    ax = new_axes(ax, (8.4, 1.3 + 0.42 * sum(heights)))
    places = np.cumsum(heights) - np.array(heights) / 2
    if rows[0].weight is not None:
        _draw_points(ax, rows, places)
    else:
        _draw_shares(ax, rows, places)
    ax.set_yticks(places, labels, fontsize=9)
    ax.set_ylim(sum(heights), 0)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(plain_text(f"Rules for {graph.schema.target}"), loc="left", fontsize=11)
    make_room(ax)
    return finished(ax)


def plot_roc(graph: RuleGraph, data: Any, y: Any, weight: Any = None, ax: Any = None) -> Any:
    """Draw the receiver operating characteristic, and where the model decides (extra `plot`).

    Of two classes the curve of the positive one, of more one for each against the rest.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows; only the columns that the model reads must be there, in any order where they have names.
    y : array [n]
        Their labels.
    weight : array [n] or None
        Weights of the rows.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    Returns
    -------
    Axes

    """
    table, true, weights = labelled_rows(graph, data, y, weight)
    chances, decided = probabilities(graph, table), decide(graph, table)
    mass = np.ones(len(true)) if weights is None else weights
    classes = [1] if len(graph.classes) == 2 else list(range(len(graph.classes)))[:_MOST_CLASSES]
    ax = new_axes(ax, (5.2, 5.0))
    ax.plot([0, 1], [0, 1], "--", color="0.7", linewidth=1, label="by chance")
    for colour, k in zip(COLOURS, classes, strict=False):
        truth = true == k
        points = operating_points(truth, chances[:, k], weights)
        if not points:
            raise InputError(f"all rows or none are {graph.classes[k]!r}", where="y", fix="give rows of every class")
        wrong, right = [p.false_positive_rate for p in points], [p.true_positive_rate for p in points]
        area = area_under_curve(truth, chances[:, k], mass)
        label = plain_text(f"{quoted(graph.classes[k])}: AUC {area:.3f}")
        ax.plot(wrong, right, color=colour, linewidth=1.8, label=label)
        at = [float(np.average(decided[among] == k, weights=mass[among])) for among in (~truth, truth)]
        ax.plot(*at, "o", color=colour, markersize=8, fillstyle="none", markeredgewidth=1.8)
        if len(classes) == 1:
            said = f"decides here: finds {percent(at[1])},\nwrongly {percent(at[0])} of the others"
            ax.annotate(said, at, textcoords="offset points", xytext=(12, -26), fontsize=8, color=colour)
    ax.set_xlabel("false positive rate")
    ax.set_ylabel("true positive rate")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
    ax.set_title(plain_text(f"{graph.schema.target}, {counted(len(true), 'row')}"), loc="left", fontsize=11)
    return finished(ax)


def plot_calibration(graph: RuleGraph, data: Any, y: Any, weight: Any = None, ax: Any = None) -> Any:
    """Draw how often a class occurs where the model reports a probability of it (extra `plot`).

    Of two classes for the positive one; of more for the most probable one of each row, whichever it is. The rows are
    grouped by tenths of the reported probability. The expected calibration error is their mean distance from the
    diagonal (C. Guo, G. Pleiss, Y. Sun and K. Weinberger, On Calibration of Modern Neural Networks, 2017, equation 3).

    Parameters
    ----------
    graph : RuleGraph
        The model.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows; only the columns that the model reads must be there, in any order where they have names.
    y : array [n]
        Their labels.
    weight : array [n] or None
        Weights of the rows.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    Returns
    -------
    Axes

    """
    table, true, weights = labelled_rows(graph, data, y, weight)
    chances = probabilities(graph, table)
    two = len(graph.classes) == 2
    reported = chances[:, 1] if two else chances.max(axis=1)
    happened = (true == 1) if two else (true == chances.argmax(axis=1))
    what = quoted(graph.classes[1]) if two else "the most probable class"
    found = calibration(happened, reported, weights)
    mean, share = (100 * np.array([getattr(each, name) for each in found.bins]) for name in _SHARES)
    spread = np.abs(100 * np.array([(each.low, each.high) for each in found.bins]).T - share)
    ax = new_axes(ax, (5.2, 5.0))
    ax.plot([0, 100], [0, 100], "--", color="0.7", linewidth=1, label="calibrated")
    ax.errorbar(mean, share, spread, fmt="none", color=TRAINING, linewidth=1.3, capsize=3)
    sizes = [25 + 275 * each.share_of_rows for each in found.bins]
    ax.scatter(mean, share, sizes, color=TRAINING, alpha=0.85, linewidths=0, label="larger: more rows")
    ax.set_xlabel(plain_text(f"reported probability of {what} (%)"))
    ax.set_ylabel(plain_text(f"rows that are {what} (%)") if two else "rows where it is right (%)")
    ax.set_xlim(-2, 102)
    ax.set_ylim(-2, 102)
    ax.set_aspect("equal")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="upper left")
    title = f"{graph.schema.target}, {counted(len(true), 'row')}: calibration error {percent(found.error)}"
    ax.set_title(plain_text(title), loc="left", fontsize=11)
    return finished(ax)


# Rules ---------------------------------------------------------------------------------------------------------------


def _shares(row: Row) -> bool:
    return any(figures.share is not None for figures in row.figures)


def _rule_label(graph: RuleGraph, row: Row) -> str:
    several = len(graph.classes) > 2 and row.weight is None
    text = row.text + (f"  → {quoted(graph.classes[row.class_index])}" if several else "")
    lines = textwrap.wrap(printable(text), _WIDEST)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: _WIDEST - 4]} ..."]
    return plain_text("\n".join(lines))


def _draw_shares(ax: Any, rows: Sequence[Row], places: Floats) -> None:
    """A bar for each table that says something of the rule, its interval, and the rows that it covers."""
    tables = list(dict.fromkeys(figures.table for row in rows for figures in row.figures))[:2]
    height = 0.62 / len(tables)
    for j, (table, colour) in enumerate(zip(tables, (TRAINING, HELD_OUT), strict=False)):
        found = [(p, f) for row, p in zip(rows, places, strict=True) for f in row.figures if f.table == table]
        found = [(place, f) for place, f in found if f.share is not None and f.low is not None and f.high is not None]
        at = np.array([place for place, _ in found]) + (j - (len(tables) - 1) / 2) * height
        share = 100 * np.array([f.share for _, f in found], dtype=float)
        low, high = (100 * np.array([getattr(f, end) for _, f in found], dtype=float) for end in ("low", "high"))
        ax.barh(at, share, height * 0.9, color=colour, alpha=0.35, linewidth=0)
        ax.errorbar(share, at, xerr=[share - low, high - share], fmt="o", color=colour, markersize=4, label=table)
        for place, (_, f) in zip(at, found, strict=True):
            ax.annotate(counted(f.n, "row"), (103, place), fontsize=8, va="center", color=colour, annotation_clip=False)
    rates = {(f.word, f.base_rate) for row in rows for f in row.figures[:1] if f.base_rate is not None}
    if len(rates) == 1:  # of several classes each has its own
        ax.axvline(100 * rates.pop()[1], color="0.45", linestyle="--", linewidth=1, label="base rate")
    ax.set_xlim(0, 101)
    ax.set_xlabel("rows of the rule that are right (%), with 95 % interval")
    ax.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)


def _draw_points(ax: Any, rows: Sequence[Row], places: Floats) -> None:
    """What each term adds to the sum."""
    points = np.array([row.weight or 0.0 for row in rows])
    ax.barh(places, points, 0.6, color=np.where(points > 0, TRAINING, HELD_OUT), linewidth=0)
    ax.axvline(0, color="0.3", linewidth=1)
    for place, value in zip(places, points, strict=True):
        side = 1 if value >= 0 else -1
        anchor = {"textcoords": "offset points", "xytext": (4 * side, 0), "ha": "left" if side > 0 else "right"}
        ax.annotate(f"{value:+.3g}", (value, place), va="center", fontsize=8, **anchor)
    ax.margins(x=0.14)
    ax.set_xlabel("points")
