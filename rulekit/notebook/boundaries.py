"""Axes to draw on, which all pictures share, and the plane of two numeric columns as a model decides it.

Colours are those of Okabe and Ito (Color universal design, 2008), which people of every colour vision tell apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.figures.curves import require_matplotlib
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names, printable
from rulekit.tables.kinds.classes import class_key
from rulekit.tables.table import Table

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")

_INK = "#7A7A7A"
"""Grey that reads on white and on the dark paper of a notebook (contrast 4.3 on both)."""


def new_axes(ax: Any, size: tuple[float, float]) -> Any:
    """The axes that are given, or new ones of a figure of this size; raises InputError without matplotlib."""
    require_matplotlib("plot")
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained", facecolor="none")[1]


def new_panels(n: int) -> list[Any]:
    """Axes for n panels, at most three in a row."""
    require_matplotlib("plot")
    from matplotlib import pyplot

    across = min(3, n)
    down = -(-n // across)
    size = (6.4, 4.0) if n == 1 else (4.2 * across, 3.4 * down)
    panels = (
        pyplot.subplots(down, across, figsize=size, layout="constrained", squeeze=False, facecolor="none")[1]
        .ravel()
        .tolist()
    )
    for panel in panels[n:]:
        panel.set_visible(False)
    return list(panels[:n])


def finished(ax: Any) -> Any:
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


def make_room(ax: Any) -> None:
    """Room for what stands to the right of the axes."""
    engine = ax.figure.get_layout_engine()
    if engine is not None and hasattr(engine, "set"):
        engine.set(rect=(0, 0, 0.99, 1))


def plain_text(text: str) -> str:
    """Foreign text, in which a dollar sign begins no formula."""
    return "\n".join(map(printable, text.split("\n"))).replace("$", r"\$")


def labelled_rows(graph: RuleGraph, data: Any, y: Any, weight: Any) -> tuple[Any, Ints, Floats | None]:
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


# The plane of two columns ---------------------------------------------------------------------------------------------


_POINTS, _MOST_ROWS = 400, 3000
_BESIDE = 0.04


def plot_boundary(graph: RuleGraph, columns: tuple[str, str], data: Any, y: Any, ax: Any = None) -> Any:
    """Draw what is decided over two numeric columns, the others held at their medians (extra `plot`).

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

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        Where a column is not a numeric one of the model.

    """
    from matplotlib.colors import ListedColormap

    table, classes, _ = labelled_rows(graph, data, y, None)
    if len(columns) != 2 or columns[0] == columns[1]:
        raise InputError("a boundary is drawn over two columns", where="columns", fix="name two")
    places = [_place(graph, name) for name in columns]
    ax = new_axes(ax, (6.0, 4.4))
    shown = np.flatnonzero(~(np.isnan(table.arrays[places[0]]) | np.isnan(table.arrays[places[1]])))
    if not len(shown):
        raise InputError(f"no row has both {columns[0]} and {columns[1]}", where="data", fix="name other columns")
    ranges = [_range(table.arrays[place][shown]) for place in places]
    lines = [np.linspace(low, high, _POINTS) for low, high in ranges]
    across, up = (grid.ravel() for grid in np.meshgrid(*lines))
    decided = decide(graph, _held(table, dict(zip(places, (across, up), strict=True)))).reshape(_POINTS, _POINTS)
    colours = ListedColormap([COLOURS[k % len(COLOURS)] for k in range(len(graph.classes))])
    extent = (*ranges[0], *ranges[1])
    last = max(1, len(graph.classes) - 1)
    ax.imshow(decided, extent=extent, origin="lower", aspect="auto", cmap=colours, vmin=0, vmax=last, alpha=0.18)
    shown = shown[np.linspace(0, len(shown) - 1, min(len(shown), _MOST_ROWS)).astype(np.int64)]
    for k, label in enumerate(graph.classes):
        own = shown[classes[shown] == k]
        points = (table.arrays[place][own] for place in places)
        ax.plot(*points, ".", color=COLOURS[k % len(COLOURS)], markersize=4, label=plain_text(quoted(label)))
    ax.set_xlabel(plain_text(columns[0]))
    ax.set_ylabel(plain_text(columns[1]))
    ax.set_xlim(*ranges[0])
    ax.set_ylim(*ranges[1])
    ax.spines[["top", "right"]].set_visible(False)
    named = plain_text(graph.schema.target)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0), title=named)
    ax.set_title("points: rows; areas: decisions", loc="left", fontsize=10)
    ax.locator_params(nbins=4)  # numbers of six digits run into each other on a small picture
    return finished(ax)


def _place(graph: RuleGraph, name: str) -> int:
    names = [feature.name for feature in graph.schema]
    numeric = [feature.name for feature in graph.schema if feature.kind == "numeric"]
    if name not in numeric:
        near = near_names(name, numeric)
        fix = f"did you mean {' or '.join(near)}?" if near else f"one of {', '.join(numeric) or '(there is none)'}"
        raise InputError(f"{name!r} is no numeric column of the model", where="columns", fix=fix)
    return names.index(name)


def _range(values: Any) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = _BESIDE * ((high - low) or 1.0)
    return low - room, high + room


def _held(table: Table, free: dict[int, Any]) -> Table:
    """A table of as many rows as the free columns have values [m], whose other columns are the same on all of them."""
    first = table.take(np.zeros(len(next(iter(free.values()))), dtype=np.int64))
    arrays = list(first.arrays)
    for place, array in enumerate(table.arrays):
        if place in free:
            arrays[place] = free[place].astype(array.dtype)
        elif table.features[place].kind != "text":
            arrays[place] = np.full(first.n_rows, _usual(array), dtype=array.dtype)
    return replace(first, arrays=tuple(arrays))


def _usual(array: Any) -> Any:
    """The median of numbers that are known, the most frequent code of a category."""
    if array.dtype.kind != "f":
        return np.bincount(array).argmax()
    known = np.sort(array[~np.isnan(array)])
    return known[len(known) // 2] if len(known) else np.nan
