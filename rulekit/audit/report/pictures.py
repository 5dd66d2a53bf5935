"""Pictures of a report as SVG that takes the colours and the type of the page (an extra, `plot`).

Text stays text. Colours are drawn as marks and become variables of the page's style, so that one picture serves light
and dark pages and print.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from rulekit.audit.figures.intervals import Calibration, OperatingPoint

NO_PICTURES = "Without matplotlib there are tables in the place of pictures: pip install 'rulekit-portable[plot]'."

INK, QUIET, PAPER = "#010101", "#020202", "#030303"
SERIES = ("#040401", "#040402", "#040403", "#040404", "#040405", "#040406")
_VARIABLES = {INK: "--ink", QUIET: "--quiet", PAPER: "--paper"} | {
    colour: f"--series-{k}" for k, colour in enumerate(SERIES, 1)
}
_DASHES = ("-", "--", "-.", ":")
MOST_CURVES = len(SERIES)

Curve = tuple[str, Sequence[OperatingPoint], Sequence[float] | None]
"""The name of a class, its points, and at which rates it is decided."""


def pictures_can_be_drawn() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def operating_picture(curves: Sequence[Curve]) -> str:
    """Operating characteristics, and the points at which the model decides."""
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], ":", color=QUIET, linewidth=1, label="by chance")
    for k, (name, points, at) in enumerate(curves[:MOST_CURVES]):
        wrong, right = ([getattr(p, which) for p in points] for which in ("false_positive_rate", "true_positive_rate"))
        axes.plot(wrong, right, _DASHES[k % len(_DASHES)], color=SERIES[k], linewidth=1.8, label=_plain(name))
        if at is not None:
            axes.plot(*at, "o", color=SERIES[k], markersize=8, markerfacecolor=PAPER, markeredgewidth=1.8)
    axes.plot([], [], "o", color=INK, markerfacecolor=PAPER, markersize=7, label="decided here")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    axes.legend(frameon=False, fontsize=9, loc="lower right", labelcolor=INK)
    return _svg(figure, "operating")


def calibration_picture(found: Calibration) -> str:
    """What was observed against what was reported, with exact intervals of 95 %; larger where there are more rows."""
    figure, axes = _axes()
    axes.plot([0, 1], [0, 1], ":", color=QUIET, linewidth=1, label="as reported")
    for each in found.bins:
        axes.plot([each.mean_probability] * 2, [each.low, each.high], "-", color=SERIES[0], linewidth=1.4)
    axes.scatter(
        [each.mean_probability for each in found.bins],
        [each.happened for each in found.bins],
        [25 + 275 * each.share_of_rows for each in found.bins],
        color=SERIES[0],
        linewidths=0,
        label="rows, by tenths",
    )
    axes.set_xlabel("reported probability")
    axes.set_ylabel("observed share")
    axes.legend(frameon=False, fontsize=9, loc="upper left", labelcolor=INK)
    return _svg(figure, "calibration")


def _axes() -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlim(-0.03, 1.03)
    axes.set_ylim(-0.03, 1.03)
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(QUIET)
    axes.tick_params(colors=INK, labelsize=9)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_color(INK)
    return figure, axes


def _plain(text: str) -> str:
    """A foreign name on one short line, in which a dollar sign begins no formula."""
    short = text if len(text) <= 40 else f"{text[:39]}…"
    return short.replace("$", r"\$")


def _svg(figure: Any, salt: str) -> str:
    """The figure as an element of a page: no prologue, no notes on its making, colours and type of the page."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    FigureCanvasSVG(figure)
    content = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    with rc_context({"svg.hashsalt": salt, "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    text = content.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r"<style.*?</style>", "", text, flags=re.DOTALL)  # it would hold for the whole page
    text = re.sub(r" ?font-family: [^;\"]*;?", "", text)
    text = re.sub(r'<g id="[^"]*"', "<g", text)  # two pictures on one page would have the same
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", text, count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    return re.sub(r"\s*\n\s*", "\n", text).strip()
