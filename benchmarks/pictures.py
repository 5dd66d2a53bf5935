"""Pictures of results: lines on logarithmic axes, bars beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
_MARKS = ("o", "s", "^", "D", "v")


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: lines by name, each a list of (x, low, median, high)."""

    title: str
    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, float, float, float]]]


def draw_logarithmic(path: Path, panels: Sequence[Panel]) -> None:
    """The panels side by side as a picture, both axes logarithmic, ranges as thin bars."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.8), squeeze=False, layout="constrained")
    for axis, panel in zip(axes[0], panels, strict=True):
        for mark, (name, points) in zip(_MARKS, panel.lines.items(), strict=False):
            x, low, middle, high = (list(values) for values in zip(*points, strict=True))
            below = [m - v for m, v in zip(middle, low, strict=True)]
            above = [v - m for m, v in zip(middle, high, strict=True)]
            axis.errorbar(x, middle, yerr=(below, above), marker=mark, markersize=4, linewidth=1.2, label=name)
        axis.set(title=panel.title, xlabel=panel.x, ylabel=panel.y, xscale="log", yscale="log")
        axis.grid(True, which="major", linewidth=0.4)
        axis.legend(frameon=False, fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def draw_bars(path: Path, title: str, x: str, bars: Mapping[str, tuple[float, float, float]]) -> None:
    """Horizontal bars by name, each (low, median, high), on a logarithmic axis."""
    plt = _pyplot()
    figure, axis = plt.subplots(figsize=(7.5, 0.42 * len(bars) + 1.2), layout="constrained")
    names = list(bars)[::-1]
    middle = [bars[name][1] for name in names]
    below = [bars[name][1] - bars[name][0] for name in names]
    above = [bars[name][2] - bars[name][1] for name in names]
    axis.barh(names, middle, xerr=(below, above), height=0.6, error_kw={"linewidth": 1})
    axis.set(title=title, xlabel=x, xscale="log")
    axis.grid(True, axis="x", which="major", linewidth=0.4)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
