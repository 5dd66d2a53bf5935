"""How often models that were learned from other rows decide a row alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.rule_graph import ClassLabel

MOST_SHOWN = 5
LEVELS = (1.0, 0.9, 0.75, 0.5)
"""Shares of models by which rows are counted."""


@dataclass(frozen=True, slots=True)
class DoubtfulRow:
    """A row, its number in the table from 1, what the model decides and the share of the others that do so."""

    row: int
    label: ClassLabel
    share: float
    other: ClassLabel


@dataclass(frozen=True, slots=True)
class Agreement:
    """mean: over the rows the share of the models that decide as the model does; never_in_doubt: the share of the rows
    that all decide so. at_least: by a share of the models the share of the rows that so many decide alike. worst: the
    rows that fewest do, at most five.
    """

    mean: float
    never_in_doubt: float
    at_least: tuple[tuple[float, float], ...]
    worst: tuple[DoubtfulRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        worst = [{"row": w.row, "label": w.label, "share": w.share, "most_others": w.other} for w in self.worst]
        at_least = [{"models": level, "rows": rows} for level, rows in self.at_least]
        return {
            "mean": self.mean,
            "never_in_doubt": self.never_in_doubt,
            "rows_decided_alike_by_at_least": at_least,
            "worst": worst,
        }


def agreement_of(
    own: npt.NDArray[np.int64], others: npt.NDArray[np.int64], classes: tuple[ClassLabel, ...]
) -> Agreement:
    """The agreement of what a model decides, own [n], with what models of other rows do, others [m, n]."""
    share = (others == own).mean(axis=0)
    worst = []
    for row in np.argsort(share, kind="stable")[:MOST_SHOWN].tolist():
        if share[row] < 1.0:
            different = others[:, row][others[:, row] != own[row]]
            most = int(np.bincount(different).argmax())
            worst.append(DoubtfulRow(row + 1, classes[int(own[row])], float(share[row]), classes[most]))
    at_least = tuple((level, float((share >= level).mean())) for level in LEVELS)
    return Agreement(float(share.mean()), float((share == 1.0).mean()), at_least, tuple(worst))
