"""What is drawn (an extra, `plot`): errors by size, rates by threshold, the operating characteristic and calibration.

Curves are written to a file as numbers (CSV) or as a picture. Beside them stand the figures of models that each tell
one label from the rest.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.audit.figures.rates import Calibration, OperatingPoint
from rulekit.errors import InputError
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import ClassLabel
from rulekit.shown.path_points import PathPoint

PICTURES = (".png", ".svg", ".pdf")
_MOST_PANELS = 12
_DASHES = ("-", "--", "-.", ":")


def picture_bytes(figure: Any, ending: str) -> bytes:
    """A figure as png, svg or pdf, without time and random names."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    content = io.BytesIO()
    metadata: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
    with rc_context({"svg.hashsalt": "rulekit"}):
        figure.savefig(content, format=ending, dpi=150, metadata=metadata)
    return content.getvalue()


def check_curve(path: Path) -> None:
    """Raises InputError, before anything is learned, where no curve can be written to this file."""
    ending = path.suffix.lower()
    if ending not in (*PICTURES, ".csv"):
        what, fix = ending or "file without an ending", f"call it {path.stem}.png or {path.stem}.csv"
        raise InputError(f"a curve is no {what}", where=str(path), fix=fix)
    if ending in PICTURES:
        require_matplotlib(str(path), ", or write the numbers with --curve curve.csv")


def require_matplotlib(where: str, instead: str = "") -> None:
    """Raises InputError where no picture can be drawn; instead: what else would do."""
    if find_spec("matplotlib") is None:
        what, fix = "pictures need matplotlib, which is not installed", "pip install 'rulekit-portable[plot]'"
        raise InputError(what, where=where, fix=f"{fix}{instead}")


def _written(path: Path, header: Sequence[Any], rows: Iterable[Sequence[Any]], draw: Callable[[Any], None]) -> bytes:
    """The content of a file, by its ending the numbers or what is drawn on a figure."""
    ending = path.suffix.lower()
    if ending == ".csv":
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([header, *rows])
        return text.getvalue().encode()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0))
    draw(figure)
    figure.tight_layout()
    return picture_bytes(figure, ending[1:])


# Errors by size ------------------------------------------------------------------------------------------------------


def curve_bytes(path: Path, points: Sequence[PathPoint], target: str, noun: str = "unit") -> bytes:
    """The content of a file with the error of each size; noun: what the size of a model is counted in."""
    names = ("units", "objective", "training_error", "held_out_error", "standard_error", "smoothed")
    values = ((point.label, *(getattr(point, name) for name in names), int(point.chosen)) for point in points)

    def draw(figure: Any) -> None:
        labels = list(dict.fromkeys(point.label for point in points))[:_MOST_PANELS]
        across = min(3, len(labels))
        down = -(-len(labels) // across)
        figure.set_size_inches(6.4 if across == 1 else 4.2 * across, 4.0 if down == 1 else 3.2 * down)
        panels = [figure.add_subplot(down, across, k + 1) for k in range(len(labels))]
        draw_sizes(panels, points, [f"{target} = {label}" for label in labels], noun)

    return _written(path, ("class", *names, "chosen"), values, draw)


def draw_sizes(panels: Sequence[Any], points: Sequence[PathPoint], titles: Sequence[str], noun: str) -> None:
    """A panel for each question: held-out error with a band of one standard error, training error, the chosen size."""
    labels = dict.fromkeys(point.label for point in points)
    for panel, label, title in zip(panels, labels, titles, strict=False):
        _draw_curve(panel, [point for point in points if point.label == label], noun)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(f"{noun}s")
        if panel.get_subplotspec() is None or panel.get_subplotspec().is_first_col():
            panel.set_ylabel("error (% of rows)")
    panels[0].legend(frameon=False, fontsize=8)


def _draw_curve(panel: Any, points: Sequence[PathPoint], noun: str) -> None:
    training = [100 * point.training_error for point in points]
    panel.plot([point.units for point in points], training, "--", color="0.55", label="training rows")
    held = [
        (p.units, 100 * p.held_out_error, 100 * (p.standard_error or 0.0))
        for p in points
        if p.held_out_error is not None
    ]
    if held:
        at, error, spread = np.array(held).T
        band = {"color": "tab:blue", "alpha": 0.18, "linewidth": 0, "label": "± 1 standard error"}
        panel.fill_between(at, error - spread, error + spread, **band)
        panel.plot(at, error, "-o", color="tab:blue", markersize=3, label="held-out rows")
    first, last = points[0].units, points[-1].units
    for point in points:
        if point.chosen:
            value = 100 * (point.training_error if point.held_out_error is None else point.held_out_error)
            right = point.units <= (first + last) / 2
            box = {"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            where = {"xytext": (5 if right else -5, 9), "ha": "left" if right else "right", "bbox": box}
            _mark(panel, point.units, value, f"{counted(point.units, noun)}, {value:.1f} %", **where)
    panel.margins(y=0.12)
    panel.set_xlim(first - 0.6, last + 0.6)
    whole_sizes(panel)


def _mark(panel: Any, x: float, y: float, text: str, **how: Any) -> None:
    """A red ring with a text beside it."""
    panel.plot([x], [y], "o", color="tab:red", markersize=8, fillstyle="none", mew=1.8)
    panel.annotate(text, (x, y), textcoords="offset points", fontsize=8, color="tab:red", **how)


def whole_sizes(panel: Any) -> None:
    """Axes from sizes, which are whole numbers, to errors, of which none lies below 0."""
    from matplotlib.ticker import MaxNLocator

    panel.set_ylim(bottom=max(0.0, panel.get_ylim()[0]))
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    panel.spines[["top", "right"]].set_visible(False)


# Probabilities -------------------------------------------------------------------------------------------------------

Curve = tuple[str, Sequence[OperatingPoint], Sequence[float] | None]
"""The name of a class, its points, and at which rates it is decided."""


def draw_operating(
    panel: Any, curves: Sequence[Curve], colours: Sequence[str], quiet: str, paper: str = "none"
) -> None:
    """Operating characteristics, and the points at which the model decides."""
    panel.plot([0, 1], [0, 1], ":", color=quiet, linewidth=1, label="by chance")
    for (name, points, at), colour, dash in zip(curves, colours, cycle(_DASHES), strict=False):
        wrong, right = ([getattr(p, which) for p in points] for which in ("false_positive_rate", "true_positive_rate"))
        panel.plot(wrong, right, dash, color=colour, linewidth=1.8, label=name)
        if at is not None:
            said = "decided here" if name == curves[0][0] else None
            ring = {"markersize": 8, "markerfacecolor": paper, "markeredgewidth": 1.8, "label": said}
            panel.plot(*at, "o", color=colour, **ring)
    panel.set(xlabel="false positive rate", ylabel="true positive rate")
    _unit_square(panel, "lower right")


def draw_calibration(panel: Any, found: Calibration, colour: str, quiet: str) -> None:
    """What was observed against what was reported, with exact intervals of 95 %; larger where there are more rows."""
    mean, share = (np.array([getattr(each, key) for each in found.bins]) for key in ("mean_probability", "happened"))
    spread = np.abs(np.array([(each.low, each.high) for each in found.bins]).T - share)
    panel.plot([0, 1], [0, 1], ":", color=quiet, linewidth=1, label="as reported")
    panel.errorbar(mean, share, spread, fmt="none", color=colour, linewidth=1.4)
    sizes = [25 + 275 * each.share_of_rows for each in found.bins]
    panel.scatter(mean, share, sizes, color=colour, linewidths=0, label="rows, by tenths")
    panel.set(xlabel="reported probability", ylabel="observed share")
    _unit_square(panel, "upper left")


def _unit_square(panel: Any, legend: str) -> None:
    panel.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
    panel.spines[["top", "right"]].set_visible(False)
    panel.legend(frameon=False, fontsize=9, loc=legend)


# Labels ---------------------------------------------------------------------------------------------------------------


Rates = dict[str, float]
"""`precision`, `recall` and their harmonic mean `f1`, each in [0, 1], and 0 where it has no denominator."""


def _rates(right: float, predicted: float, support: float) -> Rates:
    """The rates of weighted counts: of the rows that have a label and are given it, are given it, have it."""
    parts = {"precision": (right, predicted), "recall": (right, support), "f1": (2.0 * right, predicted + support)}
    return {name: _quotient(*part) for name, part in parts.items()}


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Weighted counts and rates of one label; accuracy: the share of the rows on which its model is right."""

    label: ClassLabel
    support: float
    predicted: float
    right: float
    accuracy: float

    @property
    def rates(self) -> Rates:
        return _rates(self.right, self.predicted, self.support)

    @classmethod
    def of(cls, label: ClassLabel, has: Bools, given: Bools, weight: Floats | None = None) -> LabelFigures:
        """The figures of a label; has, given [n]: which rows have it, and which its model gives it."""
        weights = np.ones(len(has)) if weight is None else weight
        masses = (float(weights[rows].sum()) for rows in (has, given, has & given, has == given))
        support, predicted, right, same = masses
        return cls(label, support, predicted, right, _quotient(same, float(weights.sum())))

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        counts = {"label": self.label, "support": self.support, "predicted": self.predicted}
        return {**counts, **self.rates, "accuracy": self.accuracy}


def macro_average(figures: Sequence[LabelFigures]) -> Rates:
    """The mean of the rates over the labels, each counting alike; that of F1 is the mean of theirs."""
    rates = [each.rates for each in figures]
    return {name: float(np.mean([each[name] for each in rates])) for name in ("precision", "recall", "f1")}


def micro_average(figures: Sequence[LabelFigures]) -> Rates:
    """The rates of the counts of all labels together, so that each label given or missed counts alike."""
    return _rates(*(sum(getattr(each, name) for each in figures) for name in ("right", "predicted", "support")))


def _quotient(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


Judged = tuple[Bools, Floats, Floats | None]
"""Of one label: which rows [n] have it, the probability [n] that is reported of it, and the weights [n]."""


@dataclass(frozen=True, slots=True, eq=False)
class ThresholdCurve:
    """Micro-averaged precision and recall [k] where each label is given above a threshold [k], ascending.

    The thresholds lie half-way between two probabilities that occur; above the last one a row is given some label
    still.
    """

    thresholds: Floats
    precision: Floats
    recall: Floats

    @property
    def break_even(self) -> dict[str, float]:
        """The `threshold` at which precision and recall are nearest to each other, and the `rate`, their mean there."""
        k = int(np.argmin(np.abs(self.precision - self.recall)))
        return {"threshold": float(self.thresholds[k]), "rate": float(self.precision[k] + self.recall[k]) / 2.0}


def threshold_curve(labels: Iterable[Judged]) -> ThresholdCurve:
    """The curve of some labels together, each of which is given where its probability is above the threshold."""
    weighted = [(yes, p, np.ones(len(yes)) if weight is None else weight) for yes, p, weight in labels]
    has, chance, weight = map(np.concatenate, zip(*weighted, strict=True))
    values, place = np.unique(chance, return_inverse=True)
    given, right = (np.bincount(place, of, len(values))[::-1].cumsum()[::-1] for of in (weight, weight * has))
    below, tiny = np.concatenate([[0.0], values[:-1]]), np.finfo(float).tiny
    return ThresholdCurve((below + values) / 2.0, right / np.maximum(given, tiny), right / max(float(right[0]), tiny))


def threshold_curve_bytes(path: Path, curve: ThresholdCurve) -> bytes:
    """The content of a file with precision and recall by threshold."""
    columns = curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist()

    def draw(figure: Any) -> None:
        panel, (threshold, rate) = figure.add_subplot(), curve.break_even.values()
        panel.plot(curve.thresholds, 100.0 * curve.precision, "-", label="precision", color="tab:blue")
        panel.plot(curve.thresholds, 100.0 * curve.recall, "--", label="recall", color="tab:orange")
        _mark(panel, threshold, 100.0 * rate, f"{100.0 * rate:.1f} % at {threshold:.2f}", xytext=(8, -12))
        panel.set(xlabel="a label is given above this probability", ylabel="micro-average (%)", xlim=(0.0, 1.0))
        panel.legend(frameon=False, fontsize=8)
        panel.spines[["top", "right"]].set_visible(False)

    return _written(path, ("threshold", "precision", "recall"), zip(*columns, strict=True), draw)
