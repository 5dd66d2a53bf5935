"""What a table holds, in a few lines: how many rows, which columns of which kind, which of them have gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from rulekit.dates import is_dated
from rulekit.graph.language.readable import counted
from rulekit.names import printable

if TYPE_CHECKING:
    from rulekit.tables.labels import LabelledTable

_KINDS = ("numeric", "date", "datetime", "categorical", "boolean")


@dataclass(frozen=True, slots=True)
class TableSummary:
    """Rows, the names of the columns by kind, and those with missing values."""

    n_rows: int
    columns: Mapping[str, tuple[str, ...]]
    gaps: tuple[str, ...]

    def lines(self, width: int) -> list[str]:
        """One line of counts, then the names by kind, cut to the width."""
        kinds = ", ".join(f"{len(names)} {kind}" for kind, names in self.columns.items())
        text = ""
        if self.gaps:
            more = f" and {len(self.gaps) - 1} more" if len(self.gaps) > 1 else ""
            text = f" ({printable(self.gaps[0])}{more} {'have' if more else 'has'} missing values)"
        n_columns = sum(map(len, self.columns.values()))
        lines = [f"{counted(self.n_rows, 'row')}, {counted(n_columns, 'column')}: {kinds}{text}"]
        for kind, names in self.columns.items():
            head = f"  {kind:<12} "
            lines.append(head + _fitting([*map(printable, names)], width - len(head)))
        return lines


def _fitting(names: list[str], width: int) -> str:
    """The names, or the first of them and how many more there are; a name that is too long by itself is cut."""
    text = ", ".join(names)
    if len(text) <= width:
        return text
    room = width - len(f" and {len(names):,} more") + len(", ")
    fit = sum(end <= room for end in accumulate(len(name) + len(", ") for name in names))
    return f"{', '.join(names[:fit])} and {len(names) - fit:,} more" if fit else f"{text[: width - 4]} ..."


def summary_of(rows: LabelledTable) -> TableSummary:
    """The summary of labelled rows; the label column is none of the columns."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    gaps = []
    for feature, array in zip(rows.table.features, rows.table.arrays, strict=True):
        by_kind[feature.display if is_dated(feature) else feature.kind].append(feature.name)
        if (np.isnan(array) if array.dtype.kind == "f" else array == 0).any():
            gaps.append(feature.name)
    return TableSummary(len(rows), {kind: tuple(names) for kind, names in by_kind.items() if names}, tuple(gaps))
