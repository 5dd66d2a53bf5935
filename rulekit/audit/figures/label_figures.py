"""Figures of models that each tell one label from the rest: by label, and their macro and micro averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
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
