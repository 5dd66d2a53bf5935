"""Columns that tell the label all by themselves, which are often not known when a decision is to be made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.kinds.dress import quoted_word
from rulekit.tables.table import Array, StoredArrays

ERROR = 0.001
_SAMPLE = 20_000
_FEWEST_ROWS = 20
_FEWEST_OF_A_CLASS = 10
_ROWS_A_VALUE = 5
_FEW_VALUES = 20
_MOST_NAMED = 3


def near_label_notes(features: Sequence[Feature], arrays: Sequence[Array], y: npt.NDArray[np.integer]) -> list[str]:
    """A note where one column, by its levels or one threshold, is wrong on at most .1 % of the rows; y [n]: classes.

    Of many rows some are looked at, evenly spread. Says nothing where a class has fewer than ten rows.
    """
    step = max(1, len(y) // _SAMPLE)
    labels = np.asarray(y[::step], dtype=np.int64)
    sums = np.bincount(labels)
    if len(labels) < _FEWEST_ROWS or np.sort(sums)[-2:][0] < _FEWEST_OF_A_CLASS:
        return []
    held: Sequence[Any] = arrays.columns if isinstance(arrays, StoredArrays) else arrays
    told = []
    for feature, column in zip(features, held, strict=True):
        if feature.kind == "text" or feature.role != "use":
            continue
        cells = (column.read() if hasattr(column, "read") else column)[::step]
        wrong = _wrong(cells, labels, int(feature.kind == "categorical"))
        if wrong <= ERROR * len(labels) and len(labels) - int(sums.max()) > 10 * wrong:
            told.append((feature.name, wrong))
    if not told:
        return []
    name, wrong = told[0]
    shown = ", ".join(repr(name) for name, _ in told[:_MOST_NAMED]) + ", ..." * (len(told) > _MOST_NAMED)
    many = len(told) > 1
    return [
        f"column{'s' * many} {shown} {'each tell' if many else 'tells'} the label alone ({wrong} of {len(labels)} rows "
        f"wrong): known before the decision? if not, --ignore {quoted_word(name)}"
    ]


def _wrong(cells: Array, labels: npt.NDArray[np.int64], categorical: int) -> int:
    """The rows on which the best answer by value, or by one threshold between two classes, is wrong."""
    missing = cells < FIRST_LEVEL_CODE if categorical else np.isnan(cells)
    known, classes = cells[~missing], labels[~missing]
    of_missing = np.bincount(labels[missing], minlength=1)
    wrong = int(of_missing.sum() - of_missing.max())
    values, places = np.unique(known, return_inverse=True)
    n_classes = int(labels.max()) + 1
    if len(values) <= max(_FEW_VALUES, n_classes) and _ROWS_A_VALUE * len(values) <= len(known):
        table = np.bincount(places * n_classes + classes, minlength=len(values) * n_classes).reshape(-1, n_classes)
        return wrong + int(table.sum() - table.max(axis=1).sum())
    if categorical or n_classes != 2:
        return len(labels)
    # rows of the second class at or below each value, less those of the first: the best cut is at either extreme
    balance = np.cumsum(np.bincount(places, np.where(classes == 1, 1.0, -1.0), len(values)))
    ones, zeros = int(classes.sum()), int(len(classes) - classes.sum())
    return wrong + int(min(zeros + min(balance.min(), 0.0), ones - max(balance.max(), 0.0)))
