"""What rows tell beside their rules: an order that means something, columns that give the label away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.names import column_title
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.kinds.dress import quoted_word
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Array, held_columns

_FEWEST, _MOST, _COLUMNS = 100, 50_000, 200
_DEVIATIONS = 6.0
_EXCESS, _JOINS = 0.1, 20
_SORTED = 10  # distinct values of a column in whose order rows stand


def order_note(rows: LabelledTable) -> str | None:
    """One line that names --time, where the order of the rows (the first 50,000) tells something; else None."""
    n = min(len(rows), _MOST)
    if n < _FEWEST or rows.time is not None or rows.group is not None:
        return None
    label = rows.y[:n]
    changes = int(np.count_nonzero(np.diff(label)))
    if changes < len(np.unique(label)):
        return f"the rows are sorted by {column_title(rows.target)}: their order is no order of time"
    numbers = [
        (feature.name, np.asarray(array[:n]))
        for feature, array in list(zip(rows.table.features, rows.table.arrays, strict=True))[:_COLUMNS]
        if feature.kind != "text" and len(feature.levels) != 1
    ]
    along = next((name for name, values in numbers if _is_sorted(values)), None)
    alike = [] if _alike(label) == 0.0 else [rows.target]
    alike += [name for name, values in numbers if name != along and _correlated(values)]
    if not alike:
        return None
    named = ", ".join(map(column_title, alike[:3])) + (f" and {len(alike) - 3} more" if len(alike) > 3 else "")
    why = f"neighbouring rows are alike in {named}, more than by chance"
    if along is not None:
        return f"{why}, and the rows are in the order of {column_title(along)}; if that is time, give --time {along}"
    return (
        f"{why}; if their order is one of time, give --time COL or --time rows, if they are of one group, --group COL"
    )


def _alike(codes: npt.NDArray[Any]) -> float:
    """How much more often neighbours have one code than by chance, from 0 (not shown) to 1."""
    n, counts = float(len(codes)), np.bincount(codes).astype(np.float64)
    squares, cubes = float((counts**2).sum()), float((counts**3).sum())
    runs = 1.0 + float(np.count_nonzero(np.diff(codes)))
    mean = 1.0 + n - squares / n
    variance = (squares * (squares + n * (n + 1.0)) - 2.0 * n * cubes - n**3) / (n**2 * (n - 1.0))
    excess = (mean - runs) / max(mean - 1.0, 1.0)
    shown = mean - runs >= max(_DEVIATIONS * np.sqrt(max(variance, 0.0)), _JOINS)
    return excess if shown and excess >= _EXCESS else 0.0


def _correlated(values: npt.NDArray[Any]) -> bool:
    """Whether neighbours are alike in a column: numbers, or codes of a category."""
    if values.dtype.kind == "f":
        known = values[~np.isnan(values)]
        distinct, rank, counts = np.unique(known, return_inverse=True, return_counts=True)
        if len(known) < _FEWEST or len(distinct) < 2:
            return False
        place = (np.cumsum(counts) - counts / 2.0)[rank]
        place -= place.mean()
        correlation = float((place[1:] * place[:-1]).sum() / (place**2).sum())
        return correlation >= max(2.0 * _EXCESS, _DEVIATIONS / float(np.sqrt(len(known))))
    return _alike(values) >= 2.0 * _EXCESS


def _is_sorted(values: npt.NDArray[Any]) -> bool:
    if values.dtype.kind != "f" or np.isnan(values).any():
        return False
    steps = np.diff(values)
    return bool(np.all(steps >= 0) or np.all(steps <= 0)) and len(np.unique(values)) >= _SORTED


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
    told = []
    for feature, column in zip(features, held_columns(arrays), strict=True):
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


def _wrong(cells: Array, labels: Ints, categorical: int) -> int:
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
