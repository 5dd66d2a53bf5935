"""The error against the size of a model, and figures of models that each tell one label from the rest.

As numbers (CSV) or drawn (an extra, `plot`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import ClassLabel
from rulekit.shown.path_points import PathPoint


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


PICTURES = (".png", ".svg", ".pdf")
_MOST_PANELS = 12


def check_curve(path: Path) -> None:
    """Raises InputError, before anything is learned, where no curve can be written to this file."""
    ending = path.suffix.lower()
    if ending not in (*PICTURES, ".csv"):
        raise InputError(
            f"a curve is no {ending or 'file without an ending'}",
            where=str(path),
            fix=f"call it {path.stem}.png or {path.stem}.csv",
        )
    if ending in PICTURES:
        require_matplotlib(str(path), ", or write the numbers with --curve curve.csv")


def require_matplotlib(where: str, instead: str = "") -> None:
    """Raises InputError where no picture can be drawn; instead: what else would do."""
    if find_spec("matplotlib") is None:
        raise InputError(
            "pictures need matplotlib, which is not installed",
            where=where,
            fix=f"pip install 'rulekit-portable[plot]'{instead}",
        )


def curve_bytes(path: Path, points: Sequence[PathPoint], target: str, noun: str = "unit") -> bytes:
    """The content of the file, by its ending numbers or a picture; noun: what the size of a model is counted in."""
    ending = path.suffix.lower()
    return _numbers(points) if ending == ".csv" else _picture(points, target, noun, ending[1:])


def _numbers(points: Sequence[PathPoint]) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    names = ("units", "objective", "training_error", "held_out_error", "standard_error", "smoothed")
    rows.writerow(("class", *names, "chosen"))
    for point in points:
        values = (getattr(point, name) for name in names)
        rows.writerow((point.label, *("" if value is None else value for value in values), int(point.chosen)))
    return text.getvalue().encode()


def _picture(points: Sequence[PathPoint], target: str, noun: str, ending: str) -> bytes:
    """One panel per formula: held-out error with a band of one standard error, training error, the chosen size."""
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(point.label for point in points))[:_MOST_PANELS]
    across = min(3, len(labels))
    down = -(-len(labels) // across)
    figure = Figure(figsize=(6.4 if across == 1 else 4.2 * across, 4.0 if down == 1 else 3.2 * down))
    for i, label in enumerate(labels):
        panel = figure.add_subplot(down, across, i + 1)
        draw_curve(panel, [point for point in points if point.label == label], noun)
        panel.set_title(f"{target} = {label}", fontsize=10)
        panel.set_xlabel(f"{noun}s")
        if i % across == 0:
            panel.set_ylabel("error (% of rows)")
        if i == 0:
            panel.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return picture_bytes(figure, ending)


def draw_curve(panel: Any, points: Sequence[PathPoint], noun: str) -> None:
    """The errors of one question on axes of matplotlib; noun: what the size of a model is counted in."""
    from matplotlib.ticker import MaxNLocator

    training = [100 * point.training_error for point in points]
    panel.plot([point.units for point in points], training, "--", color="0.55", label="training rows")
    held = [p for p in points if p.held_out_error is not None]
    if held:
        at, error, low, high = zip(*map(_held_out, held), strict=True)
        panel.fill_between(at, low, high, color="tab:blue", alpha=0.18, linewidth=0, label="± 1 standard error")
        panel.plot(at, error, "-o", color="tab:blue", markersize=3, label="held-out rows")
    first, last = points[0].units, points[-1].units
    for point in points:
        if point.chosen:
            value = 100 * (point.training_error if point.held_out_error is None else point.held_out_error)
            right = point.units <= (first + last) / 2
            panel.plot([point.units], [value], "o", color="tab:red", markersize=8, fillstyle="none", mew=1.8)
            panel.annotate(
                f"{counted(point.units, noun)}, {value:.1f} %",
                (point.units, value),
                textcoords="offset points",
                xytext=(5 if right else -5, 9),
                ha="left" if right else "right",
                fontsize=8,
                color="tab:red",
                bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.85},
            )
    panel.margins(y=0.12)
    panel.set_ylim(bottom=max(0.0, panel.get_ylim()[0]))
    panel.set_xlim(first - 0.6, last + 0.6)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    panel.spines[["top", "right"]].set_visible(False)


def _held_out(point: PathPoint) -> tuple[int, float, float, float]:
    """Units, held-out error and the ends of the band, in percent."""
    error, deviation = 100 * (point.held_out_error or 0.0), 100 * (point.standard_error or 0.0)
    return point.units, error, error - deviation, error + deviation


# Labels ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LabelRates:
    """Precision, recall and their harmonic mean F1, each in [0, 1], and 0 where it has no denominator."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, right: float, predicted: float, support: float) -> LabelRates:
        """The rates of weighted counts: of the rows that have a label and are given it, are given it, have it."""
        return cls(_quotient(right, predicted), _quotient(right, support), _quotient(2.0 * right, predicted + support))


@dataclass(frozen=True, slots=True)
class LabelFigures:
    """Weighted counts and rates of one label; accuracy: the share of the rows on which its model is right."""

    label: ClassLabel
    support: float
    predicted: float
    right: float
    accuracy: float

    @property
    def rates(self) -> LabelRates:
        return LabelRates.of(self.right, self.predicted, self.support)

    @classmethod
    def of(cls, label: ClassLabel, has: Bools, given: Bools, weight: Floats | None = None) -> LabelFigures:
        """The figures of a label; has, given [n]: which rows have it, and which its model gives it."""
        weights = np.ones(len(has)) if weight is None else weight
        support, predicted, right = (float(weights[rows].sum()) for rows in (has, given, has & given))
        return cls(
            label, support, predicted, right, _quotient(float(weights[has == given].sum()), float(weights.sum()))
        )

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        counts = {"label": self.label, "support": self.support, "predicted": self.predicted}
        return {**counts, **asdict(self.rates), "accuracy": self.accuracy}


def macro_average(figures: Sequence[LabelFigures]) -> LabelRates:
    """The mean of the rates over the labels, each counting alike; that of F1 is the mean of theirs."""
    rates = [each.rates for each in figures]
    return LabelRates(
        *(float(np.mean([getattr(each, name) for each in rates])) for name in ("precision", "recall", "f1"))
    )


def micro_average(figures: Sequence[LabelFigures]) -> LabelRates:
    """The rates of the counts of all labels together, so that each label given or missed counts alike."""
    return LabelRates.of(*(sum(getattr(each, name) for each in figures) for name in ("right", "predicted", "support")))


def _quotient(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


Judged = tuple[Bools, Floats, Floats | None]
"""Of one label: which rows [n] have it, the probability [n] that is reported of it, and the weights [n]."""


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The threshold at which precision and recall are nearest to each other, and their mean there."""

    threshold: float
    rate: float


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
    def break_even(self) -> BreakEven:
        """Where precision equals recall, or nearly."""
        k = int(np.argmin(np.abs(self.precision - self.recall)))
        return BreakEven(float(self.thresholds[k]), float(self.precision[k] + self.recall[k]) / 2.0)


def threshold_curve(labels: Iterable[Judged]) -> ThresholdCurve:
    """The curve of some labels together, each of which is given where its probability is above the threshold."""
    has, chance, weight = (
        np.concatenate(part)
        for part in zip(
            *((yes, p, np.ones(len(yes)) if weight is None else weight) for yes, p, weight in labels), strict=True
        )
    )
    values, place = np.unique(chance, return_inverse=True)
    given = np.bincount(place, weight, len(values))[::-1].cumsum()[::-1]
    right = np.bincount(place, weight * has, len(values))[::-1].cumsum()[::-1]
    below = np.concatenate([[0.0], values[:-1]])
    tiny = np.finfo(float).tiny
    return ThresholdCurve((below + values) / 2.0, right / np.maximum(given, tiny), right / max(float(right[0]), tiny))


def threshold_curve_bytes(path: Path, curve: ThresholdCurve) -> bytes:
    """The content of the file, by its ending numbers or a picture."""
    ending = path.suffix.lower()
    return picture_bytes(_figure(curve), ending[1:]) if ending in PICTURES else _rates_by_threshold(curve)


def _rates_by_threshold(curve: ThresholdCurve) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(("threshold", "precision", "recall"))
    rows.writerows(zip(curve.thresholds.tolist(), curve.precision.tolist(), curve.recall.tolist(), strict=True))
    return text.getvalue().encode()


def _figure(curve: ThresholdCurve) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.0))
    panel = figure.add_subplot()
    for name, values, style in (("precision", curve.precision, "-"), ("recall", curve.recall, "--")):
        panel.plot(
            curve.thresholds, 100.0 * values, style, label=name, color="tab:blue" if style == "-" else "tab:orange"
        )
    found = curve.break_even
    panel.plot([found.threshold], [100.0 * found.rate], "o", color="tab:red", markersize=8, fillstyle="none", mew=1.8)
    panel.annotate(
        f"{100.0 * found.rate:.1f} % at {found.threshold:.2f}",
        (found.threshold, 100.0 * found.rate),
        textcoords="offset points",
        xytext=(8, -12),
        fontsize=8,
        color="tab:red",
    )
    panel.set_xlabel("a label is given above this probability")
    panel.set_ylabel("micro-average (%)")
    panel.set_xlim(0.0, 1.0)
    panel.legend(frameon=False, fontsize=8)
    panel.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return figure
