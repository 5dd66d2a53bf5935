"""Axes to draw on, their colours and texts, and labelled rows to draw; what all pictures share.

Colours are those of Okabe and Ito (Color universal design, 2008), which people of every colour vision tell apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.figures.curves import require_matplotlib
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.tables.kinds.classes import class_key

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
