"""What a table holds, in a few lines: how many rows, which columns of which kind, which of them have gaps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rulekit.dates import is_dated
from rulekit.graph.language.words import counted
from rulekit.names import printable, wrapped
from rulekit.tables.table import Table, absent

MOST_LINES = 3
_KINDS = ("numeric", "date", "datetime", "categorical", "boolean", "text")


@dataclass(frozen=True, slots=True)
class TableSummary:
    """Rows, the names of the columns by kind, and those with missing values."""

    n_rows: int
    columns: Mapping[str, tuple[str, ...]]
    gaps: tuple[str, ...]

    def headline(self) -> str:
        """`2000 rows, 7 columns: 4 numeric, 3 categorical (income has missing values)`."""
        kinds = ", ".join(f"{len(names)} {kind}" for kind, names in self.columns.items())
        text = ""
        if self.gaps:
            more = f" and {len(self.gaps) - 1} more" if len(self.gaps) > 1 else ""
            text = f" ({printable(self.gaps[0])}{more} {'have' if more else 'has'} missing values)"
        n_columns = sum(map(len, self.columns.values()))
        return f"{counted(self.n_rows, 'row')}, {counted(n_columns, 'column')}: {kinds}{text}"

    def lines(self, width: int) -> list[str]:
        """The headline, then the names by kind where a few lines have room for all."""
        found = []
        for kind, names in self.columns.items():
            head = f"  {kind:<12} "
            texts = wrapped(", ".join(map(printable, names)), width - len(head))
            found += [f"{head if not i else ' ' * len(head)}{text}" for i, text in enumerate(texts)]
        if len(found) > MOST_LINES:
            return wrapped(f"{self.headline()}; rulekit describe shows each column", width, "  ")
        return [*wrapped(self.headline(), width, "  "), *found]


def summary_of(table: Table) -> TableSummary:
    """The summary of a table."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    gaps = []
    for feature, array in zip(table.features, table.arrays, strict=True):
        by_kind[feature.display if is_dated(feature) else feature.kind].append(feature.name)
        if absent(array).any():
            gaps.append(feature.name)
    return TableSummary(table.n_rows, {kind: tuple(names) for kind, names in by_kind.items() if names}, tuple(gaps))
