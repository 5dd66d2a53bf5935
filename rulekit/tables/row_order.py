"""Whether the order of rows tells something: neighbouring rows are alike in their label or in columns beyond chance.

Labels and categories by the number of runs, whose mean and variance under a random order are exact (A. Mood, The
Distribution Theory of Runs, 1940); numbers by the correlation of ranks of neighbours (A. Wald and J. Wolfowitz, An
Exact Test for Randomness, 1943). Six standard deviations, at most 200 columns: fewer than one random order in 10,000
is noted. What many rows show but is too small to matter is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.names import column_title
from rulekit.tables.labels import LabelledTable

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
