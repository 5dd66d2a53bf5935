"""Figures of models that each tell one label from the rest: by label, their averages, and against one threshold."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.audit.figures.curves import PICTURES, picture_bytes
from rulekit.graph.rule_graph import ClassLabel


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
    return picture_bytes(_figure(curve), ending[1:]) if ending in PICTURES else _numbers(curve)


def _numbers(curve: ThresholdCurve) -> bytes:
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
