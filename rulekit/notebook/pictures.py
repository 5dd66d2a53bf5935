"""Pictures of models: error by size, what each rule is worth, calibration, the operating characteristic, boundaries.

All need the extra `plot` (matplotlib). Each draws on the axes that it is given, or on a new figure of pyplot, which a
notebook shows, and returns these axes. Colours are those of Okabe and Ito (Color universal design, 2008), which people
of every colour vision tell apart.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.figures.curves import draw_calibration, draw_operating, draw_sizes, require_matplotlib, whole_sizes
from rulekit.audit.figures.metrics import area_under_curve
from rulekit.audit.figures.rates import calibration, decided_at, happened_where_reported, operating_points
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.words import counted, percent, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names, printable
from rulekit.shown.rule_rows import Row
from rulekit.shown.sections import sections
from rulekit.tables.labels import class_key
from rulekit.tables.table import Table

if TYPE_CHECKING:
    from rulekit.graph.model_parts import Ladder
    from rulekit.learners.sizes.path import ModelPath

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
TRAINING, HELD_OUT = COLOURS[:2]
_MOST_CLASSES = len(COLOURS)
_MOST_RULES = 40
_WIDEST, _MOST_LINES = 48, 4
_POINTS, _MOST_ROWS = 400, 3000
_BESIDE = 0.04
_INK = "#7A7A7A"
"""Grey that reads on white and on the dark paper of a notebook (contrast 4.3 on both)."""


def plot_path(path: ModelPath, ax: Any = None) -> Any:
    """Draw held-out and training error by the size of the model (extra `plot`).

    Of several classes an array of axes is returned, a panel for each.

    Parameters
    ----------
    path : ModelPath
        The sizes of a fit, `path_` of an estimator.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    """
    labels = list(dict.fromkeys(point.label for point in path.points))[:_MOST_CLASSES]
    across = min(3, len(labels))
    down = -(-len(labels) // across)
    size = (6.4, 4.0) if len(labels) == 1 else (4.2 * across, 3.4 * down)
    made = np.atleast_1d(_axes(ax, size, nrows=down, ncols=across)).ravel()
    for panel in made[len(labels) :]:
        panel.set_visible(False)
    panels = made[: len(labels)].tolist()
    titles = [_plain(f"{path.frame.schema.target} is {quoted(label)}") for label in labels]
    draw_sizes(panels, path.points, titles, path.noun)
    _finished(panels[0])
    return panels[0] if len(panels) == 1 else made[: len(labels)]


def plot_ladder(ladder: Ladder, ax: Any = None) -> Any:
    """Draw the cross-validated error by the number of rules, and the sizes that stand out (extra `plot`).

    Parameters
    ----------
    ladder : Ladder
        The sizes of a model.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    """
    rungs = [rung for rung in ladder.rungs if rung.error is not None]
    if not rungs:
        raise InputError("no size has an error", where="plot", fix="train with cross-validation")
    ax = _axes(ax, (6.4, 4.0))
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
    ax.set(xlabel="rules", ylabel="cross-validated error (% of rows)")
    whole_sizes(ax)
    ax.legend(frameon=False, fontsize=9)
    return _finished(ax)


def plot_rules(graph: RuleGraph, ax: Any = None) -> Any:
    """Draw for each rule the share of its rows that is right, for each term of a sum its points (extra `plot`).

    Parameters
    ----------
    graph : RuleGraph
        The model.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    """
    rows = [
        row
        for part in sections(graph)
        for row in part.rows
        if row.weight or any(figures.share is not None for figures in row.figures)
    ][:_MOST_RULES]
    if not rows:
        fix = "fit the model on a table, or read the whole formula with rulekit.show(graph)"
        raise InputError("no rule has figures of its own", where="plot_rules", fix=fix)
    labels = [_rule_label(graph, row) for row in rows]
    heights = [1.0 + 0.55 * label.count("\n") for label in labels]
    ax = _axes(ax, (8.4, 1.3 + 0.42 * sum(heights)))
    places = np.cumsum(heights) - np.array(heights) / 2
    (_draw_shares if rows[0].weight is None else _draw_points)(ax, rows, places)
    ax.set_yticks(places, labels, fontsize=9)
    ax.set_ylim(sum(heights), 0)
    ax.tick_params(axis="y", length=0)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_title(_plain(f"Rules for {graph.schema.target}"), loc="left", fontsize=11)
    engine = ax.figure.get_layout_engine()
    if engine is not None and hasattr(engine, "set"):
        engine.set(rect=(0, 0, 0.99, 1))  # room for what stands to the right of the axes
    return _finished(ax)


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

    """
    table, true, weights = _labelled_rows(graph, data, y, weight)
    chances, decided = probabilities(graph, table), decide(graph, table)
    mass = np.ones(len(true)) if weights is None else weights
    curves = []
    for k in range(len(graph.classes) == 2, min(len(graph.classes), _MOST_CLASSES)):
        truth = true == k
        points = operating_points(truth, chances[:, k], weights)
        if not points:
            raise InputError(f"all rows or none are {graph.classes[k]!r}", where="y", fix="give rows of every class")
        area = area_under_curve(truth, chances[:, k], mass)
        name = _plain(f"{quoted(graph.classes[k])}: AUC {area:.3f}")
        curves.append((name, points, decided_at(truth, decided == k, mass)))
    ax = _axes(ax, (5.2, 5.0))
    draw_operating(ax, curves, COLOURS, "0.7")
    at = curves[0][2]
    if len(curves) == 1 and at is not None:
        said = f"decides here: finds {percent(at[1])},\nwrongly {percent(at[0])} of the others"
        ax.annotate(said, at, textcoords="offset points", xytext=(12, -26), fontsize=8, color=COLOURS[0])
    ax.set_title(_plain(f"{graph.schema.target}, {counted(len(true), 'row')}"), loc="left", fontsize=11)
    return _finished(ax)


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

    """
    table, true, weights = _labelled_rows(graph, data, y, weight)
    happened, reported, what = happened_where_reported(true, probabilities(graph, table), graph.classes)
    found = calibration(happened, reported, weights)
    ax = _axes(ax, (5.2, 5.0))
    draw_calibration(ax, found, TRAINING, "0.7")
    ax.set(xlabel=_plain(f"reported probability of {what}"), ylabel="share of the rows where that is so")
    title = f"{graph.schema.target}, {counted(len(true), 'row')}: calibration error {percent(found.error)}"
    ax.set_title(_plain(title), loc="left", fontsize=11)
    return _finished(ax)


def plot_boundary(graph: RuleGraph, columns: tuple[str, str], data: Any, y: Any, ax: Any = None) -> Any:
    """Draw what is decided over two numeric columns, the others held at their medians (extra `plot`).

    Raises InputError where a column is not a numeric one of the model.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    columns : tuple of two str
        The columns of the horizontal and of the vertical axis.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows, which are drawn as points; only the columns that the model reads must be there.
    y : array [n]
        Their labels.
    ax : Axes or None
        Axes of matplotlib; None makes a figure.

    """
    from matplotlib.colors import ListedColormap

    table, classes, _ = _labelled_rows(graph, data, y, None)
    if len(columns) != 2 or columns[0] == columns[1]:
        raise InputError("a boundary is drawn over two columns", where="columns", fix="name two")
    places = [_place(graph, name) for name in columns]
    ax = _axes(ax, (6.0, 4.4))
    shown = np.flatnonzero(~(np.isnan(table.arrays[places[0]]) | np.isnan(table.arrays[places[1]])))
    if not len(shown):
        raise InputError(f"no row has both {columns[0]} and {columns[1]}", where="data", fix="name other columns")
    ranges = []
    for place in places:
        low, high = float(table.arrays[place][shown].min()), float(table.arrays[place][shown].max())
        room = _BESIDE * ((high - low) or 1.0)
        ranges.append((low - room, high + room))
    across, up = (grid.ravel() for grid in np.meshgrid(*(np.linspace(*ends, _POINTS) for ends in ranges)))
    decided = decide(graph, _held(table, dict(zip(places, (across, up), strict=True)))).reshape(_POINTS, _POINTS)
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(graph.classes))]
    shades = {"cmap": ListedColormap(colours), "vmin": 0, "vmax": max(1, len(colours) - 1), "alpha": 0.18}
    ax.imshow(decided, extent=(*ranges[0], *ranges[1]), origin="lower", aspect="auto", **shades)
    shown = shown[np.linspace(0, len(shown) - 1, min(len(shown), _MOST_ROWS)).astype(np.int64)]
    for k, label in enumerate(graph.classes):
        own = shown[classes[shown] == k]
        points = (table.arrays[place][own] for place in places)
        ax.plot(*points, ".", color=colours[k], markersize=4, label=_plain(quoted(label)))
    ax.set(xlabel=_plain(columns[0]), ylabel=_plain(columns[1]), xlim=ranges[0], ylim=ranges[1])
    ax.spines[["top", "right"]].set_visible(False)
    where = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "title": _plain(graph.schema.target)}
    ax.legend(frameon=False, fontsize=8, **where)
    ax.set_title("points: rows; areas: decisions", loc="left", fontsize=10)
    ax.locator_params(nbins=4)  # numbers of six digits run into each other on a small picture
    return _finished(ax)


# Axes and rows -------------------------------------------------------------------------------------------------------


def _axes(ax: Any, size: tuple[float, float], **grid: int) -> Any:
    """The axes that are given, or new ones of a figure of this size; raises InputError without matplotlib."""
    require_matplotlib("plot")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(**grid, figsize=size, layout="constrained", facecolor="none")[1]


def _finished(ax: Any) -> Any:
    """The axes, whose texts and lines read on dark paper too where the figure is one of our own."""
    from matplotlib.colors import to_rgba
    from matplotlib.text import Text

    if ax.figure.get_facecolor() == to_rgba("none"):
        for panel in ax.figure.axes:
            panel.set_facecolor("none")
            panel.tick_params(colors=_INK)
            panel.spines[:].set_edgecolor(_INK)
            for text in panel.findobj(Text):
                if text.get_color() in ("black", "k"):
                    text.set_color(_INK)
    return ax


def _plain(text: str) -> str:
    """Foreign text, in which a dollar sign begins no formula."""
    return "\n".join(map(printable, text.split("\n"))).replace("$", r"\$")


def _labelled_rows(graph: RuleGraph, data: Any, y: Any, weight: Any) -> tuple[Any, Ints, Floats | None]:
    """The rows as a table, the index [n] of the class of each, and their weights [n] or None."""
    from rulekit.learners.data.inputs import checked_weights

    require_matplotlib("plot")
    table = graph.table(data)
    place = {class_key(label): k for k, label in enumerate(graph.classes)}
    cells = np.asarray(y).ravel().tolist()
    if len(cells) != table.n_rows:
        raise InputError(f"{len(cells)} labels for {table.n_rows} rows", where="y", fix="give one for each row")
    strange = next((cell for cell in cells if class_key(cell) not in place), None)
    if strange is not None:
        raise InputError(f"label {strange!r} is no class of the model", where="y", fix="give labels of the model")
    weights = None if weight is None else checked_weights(weight, table.n_rows)
    return table, np.array([place[class_key(cell)] for cell in cells], dtype=np.int64), weights


# Rules ---------------------------------------------------------------------------------------------------------------


def _rule_label(graph: RuleGraph, row: Row) -> str:
    several = len(graph.classes) > 2 and row.weight is None
    text = row.text + (f"  → {quoted(graph.classes[row.class_index])}" if several else "")
    lines = textwrap.wrap(printable(text), _WIDEST)
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: _WIDEST - 4]} ..."]
    return _plain("\n".join(lines))


def _draw_shares(ax: Any, rows: Sequence[Row], places: Floats) -> None:
    """A bar for each table that says something of the rule, its interval, and the rows that it covers."""
    tables = list(dict.fromkeys(figures.table for row in rows for figures in row.figures))[:2]
    height = 0.62 / len(tables)
    for j, (table, colour) in enumerate(zip(tables, (TRAINING, HELD_OUT), strict=False)):
        found = [(p, f) for row, p in zip(rows, places, strict=True) for f in row.figures if f.table == table]
        found = [(place, f) for place, f in found if f.share is not None and f.low is not None and f.high is not None]
        at = np.array([place for place, _ in found]) + (j - (len(tables) - 1) / 2) * height
        share, low, high = 100 * np.array([(f.share, f.low, f.high) for _, f in found], dtype=float).reshape(-1, 3).T
        ax.barh(at, share, height * 0.9, color=colour, alpha=0.35, linewidth=0)
        ax.errorbar(share, at, xerr=[share - low, high - share], fmt="o", color=colour, markersize=4, label=table)
        for place, (_, f) in zip(at, found, strict=True):
            ax.annotate(counted(f.n, "row"), (103, place), fontsize=8, va="center", color=colour, annotation_clip=False)
    rates = {(f.word, f.base_rate) for row in rows for f in row.figures[:1] if f.base_rate is not None}
    if len(rates) == 1:  # of several classes each has its own
        ax.axvline(100 * rates.pop()[1], color="0.45", linestyle="--", linewidth=1, label="base rate")
    ax.set(xlim=(0, 101), xlabel="rows of the rule that are right (%), with 95 % interval")
    ax.legend(frameon=False, fontsize=8, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, borderaxespad=0.1)


def _draw_points(ax: Any, rows: Sequence[Row], places: Floats) -> None:
    points = np.array([row.weight or 0.0 for row in rows])
    ax.barh(places, points, 0.6, color=np.where(points > 0, TRAINING, HELD_OUT), linewidth=0)
    ax.axvline(0, color="0.3", linewidth=1)
    for place, value in zip(places, points, strict=True):
        side = 1 if value >= 0 else -1
        anchor = {"textcoords": "offset points", "xytext": (4 * side, 0), "ha": "left" if side > 0 else "right"}
        ax.annotate(f"{value:+.3g}", (value, place), va="center", fontsize=8, **anchor)
    ax.margins(x=0.14)
    ax.set_xlabel("points")


# The plane of two columns ---------------------------------------------------------------------------------------------


def _place(graph: RuleGraph, name: str) -> int:
    numeric = [feature.name for feature in graph.schema if feature.kind == "numeric"]
    if name not in numeric:
        near = near_names(name, numeric)
        fix = f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(numeric) or '(there is none)'}"
        raise InputError(f"{name!r} is no numeric column of the model", where="columns", fix=fix)
    return [feature.name for feature in graph.schema].index(name)


def _held(table: Table, free: dict[int, Any]) -> Table:
    """A table of as many rows as the free columns have values [m], whose other columns are the same on all of them.

    These are the median of numbers that are known, the most frequent code of a category.
    """
    first = table.take(np.zeros(len(next(iter(free.values()))), dtype=np.int64))
    arrays = list(first.arrays)
    for place, array in enumerate(table.arrays):
        if place in free:
            arrays[place] = free[place].astype(array.dtype)
        elif table.features[place].kind != "text":
            known = np.append(np.sort(array[~np.isnan(array)]), np.nan)  # of no number, no number
            usual = known[(len(known) - 1) // 2] if array.dtype.kind == "f" else np.bincount(array).argmax()
            arrays[place] = np.full(first.n_rows, usual, dtype=array.dtype)
    return replace(first, arrays=tuple(arrays))
