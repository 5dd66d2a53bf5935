"""Pictures of results: lines, bars beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
_MARKS = ("o", "s", "^", "D", "v")
_OURS, _PEERS = "#c0392b", "#7f8c8d"

Range = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: lines by name, each a list of (x, low, median, high)."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float, float, float]]]


@dataclass(frozen=True, slots=True)
class Bars:
    """One diagram: horizontal bars by name, each (low, median, high); those named in `ours` stand out."""

    title: str
    x: str
    bars: Mapping[str, Range]
    ours: frozenset[str] = frozenset()


def draw_lines(path: Path, panels: Sequence[Sequence[Panel]], scale: str = "log", columns: int | None = None) -> None:
    """Rows of panels as a picture, both axes of one scale, ranges as thin bars; a name has one colour throughout.

    scale: "log" or "linear", which begins at 0; columns: of the legend (as many as there are names).
    """
    plt = _pyplot()
    wide = max(len(row) for row in panels)
    size = (4.4 * wide, 3.4 * len(panels))
    figure, axes = plt.subplots(len(panels), wide, figsize=size, squeeze=False, layout="constrained")
    names = list(dict.fromkeys(name for row in panels for panel in row for name in panel.lines))
    shown: dict[str, Any] = {}
    for row, places in zip(panels, axes, strict=True):
        for panel, axis in zip(row, places, strict=False):
            sizes = sorted({point[0] for points in panel.lines.values() for point in points})
            for name, points in panel.lines.items():
                at = names.index(name)
                x, low, middle, high = (list(values) for values in zip(*points, strict=True))
                below = [m - v for m, v in zip(middle, low, strict=True)]
                above = [v - m for m, v in zip(middle, high, strict=True)]
                shown[name] = axis.errorbar(
                    x, middle, yerr=(below, above), marker=_MARKS[at % 5], color=f"C{at}", markersize=4, linewidth=1.2
                )
            axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y, xscale=scale, yscale=scale)
            if scale == "linear":
                axis.set_ylim(bottom=0.0)
            axis.set_xticks(sizes, [_short(size) for size in sizes])
            axis.xaxis.minorticks_off()
            axis.grid(True, which="major", linewidth=0.4)
        for axis in places[len(row) :]:
            axis.remove()
    figure.legend(shown.values(), shown, loc="outside upper center", ncols=columns or len(shown), frameon=False)
    _save(figure, path)


def draw_bars(path: Path, title: str, x: str, bars: Mapping[str, Range]) -> None:
    """Horizontal bars by name, each (low, median, high), on a logarithmic axis."""
    draw_bar_panels(path, [Bars(title, x, bars)])


def draw_bar_panels(path: Path, panels: Sequence[Bars]) -> None:
    """Diagrams of the same names side by side, on logarithmic axes, the median at the end of each bar."""
    plt = _pyplot()
    names = list(dict.fromkeys(name for panel in panels for name in panel.bars))[::-1]
    size = (3.5 + 4.2 * len(panels), 0.42 * len(names) + 1.3)
    figure, axes = plt.subplots(1, len(panels), figsize=size, squeeze=False, sharey=True, layout="constrained")
    for axis, panel in zip(axes[0], panels, strict=True):
        for place, name in enumerate(names):
            if name not in panel.bars:
                continue
            low, middle, high = panel.bars[name]
            colour = _OURS if name in panel.ours else _PEERS if panel.ours else "C0"
            error = ([middle - low], [high - middle])
            axis.barh(place, middle, xerr=error, height=0.6, color=colour, error_kw={"linewidth": 1})
            axis.annotate(f" {_short(middle)}", (high, place), va="center", fontsize=8)
        axis.set(title=panel.title, xlabel=panel.x, xscale="log")
        axis.set_yticks(range(len(names)), names)
        axis.margins(x=0.18)
        axis.grid(True, axis="x", which="major", linewidth=0.4)
        axis.set_axisbelow(True)
    _save(figure, path)


def _short(value: float) -> str:
    """Three digits; thousands as k, millions as M."""
    for least, thousand, letter in ((1e6, 1e6, "M"), (1e4, 1e3, "k")):
        if value >= least:
            return f"{value / thousand:.3g}{letter}"
    return f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"


def _save(figure: Any, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    _pyplot().close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
