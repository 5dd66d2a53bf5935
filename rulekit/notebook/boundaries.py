"""The plane of two numeric columns as a model decides it, with rows on it.

Needs the extra `plot` (matplotlib), as the other pictures do.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import near_names
from rulekit.notebook.axes import COLOURS, finished, labelled_rows, new_axes, plain_text
from rulekit.tables.table import Table

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
