"""Describing a table: every column with its kind, its values and what it looks like; a file of types to be edited."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.audit.training_lines import TableSummary, summary_of
from rulekit.graph.files.model_files import check_outputs
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.words import amount, counted, percent
from rulekit.names import printable
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Feature
from rulekit.tables.kinds.hints import Hint, hints_of
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions, declaration, kind_of, types_text
from rulekit.tables.reading import read_table
from rulekit.tables.table import Array
from rulekit.tables.token_sets import TokenSets

SHOWN_LEVELS = 4


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """What a column holds.

    n_values: different values, of a text different words that rules may name; missing: cells without one. low, high,
    example: values as people read them, "" where there are none. levels: of a category, with the number of rows of
    each, in the order of the schema.
    """

    feature: Feature
    n_values: int
    missing: int
    low: str = ""
    high: str = ""
    example: str = ""
    levels: tuple[tuple[str, int], ...] = ()
    hint: Hint | None = None

    @property
    def kind(self) -> str:
        return kind_of(self.feature)

    def values(self, all_levels: bool = False) -> str:
        """The levels with their rows, the most frequent first unless they are ordered; or the range and an example."""
        if not self.levels:
            if self.feature.kind == "text":
                return self.example
            return f"{self.low} to {self.high}, such as {self.example}" if self.n_values > 1 else self.example
        levels = self.levels if self.feature.ordered else sorted(self.levels, key=lambda level: -level[1])
        shown = levels if all_levels or len(levels) <= SHOWN_LEVELS + 1 else levels[:SHOWN_LEVELS]
        more = f" and {len(levels) - len(shown)} more" * (len(shown) < len(levels))
        return ", ".join(f"{level} {count}" for level, count in shown) + more

    def as_dict(self, n_rows: int) -> dict[str, Any]:
        """JSON values."""
        return {
            "column": self.feature.name,
            "kind": self.kind,
            "role": self.feature.role,
            "unit": self.feature.unit,
            "values": self.n_values,
            "missing": self.missing,
            "missing_share": self.missing / n_rows,
            "low": self.low,
            "high": self.high,
            "example": self.example,
            "levels": dict(self.levels),
            "looks": None if self.hint is None else self.hint.look,
        }


@dataclass(frozen=True, slots=True)
class Description:
    """The columns of a table in their order, its summary, and what was noticed when it was read."""

    columns: tuple[ColumnDescription, ...]
    summary: TableSummary
    notes: tuple[str, ...]

    def types_text(self) -> str:
        """A file of the types that the columns have now; what they look like stands there as a comment."""
        remarks = {}
        for column in self.columns:
            gaps = f"{percent(column.missing / self.summary.n_rows)} missing" if column.missing else ""
            said = filter(None, [column.values(), gaps, str(column.hint or "")])
            remarks[column.feature.name] = printable("; ".join(said))
        likely = {
            column.feature.name: declaration(column.feature, column.hint.kind, column.hint.levels, column.hint.missing)
            for column in self.columns
            if column.hint is not None and column.hint.kind
        }
        return types_text([column.feature for column in self.columns], remarks, likely)


def describe(data: Path, reading: ReadingOptions = DEFAULT_OPTIONS, types_output: Path | None = None) -> Description:
    """Every column of a table file that is not ignored; its types are written where `types_output` says.

    Raises InputError for what is no table, and for a declaration that its cells contradict.
    """
    check_outputs([types_output], data)
    table = read_table(data, reading)
    hints = hints_of(table.features, table.arrays)
    columns = tuple(
        _described(feature, array, hints.get(feature.name))
        for feature, array in zip(table.features, table.arrays, strict=True)
    )
    description = Description(columns, summary_of(table), table.notes)
    if types_output is not None:
        write_atomically(types_output, description.types_text().encode())
    return description


def _described(feature: Feature, array: Array, hint: Hint | None) -> ColumnDescription:
    if feature.kind == "categorical":
        counts = np.bincount(array, minlength=FIRST_LEVEL_CODE + len(feature.levels)).tolist()
        levels = tuple(zip(feature.levels, counts[FIRST_LEVEL_CODE:], strict=True))
        known = [level for level, count in levels if count]
        first = array[np.argmax(array >= FIRST_LEVEL_CODE)] - FIRST_LEVEL_CODE
        example = feature.levels[first] if known and first >= 0 else ""
        return ColumnDescription(feature, len(known), counts[MISSING_CODE], "", "", example, levels, hint)
    if isinstance(array, TokenSets):
        words = zip(feature.levels, array.rows_with().tolist(), strict=True)
        frequent = [word for word, _ in sorted(words, key=lambda word: (-word[1], word[0]))[:SHOWN_LEVELS]]
        example = f"{counted(len(feature.levels), 'word')}, such as {', '.join(frequent)}" if frequent else "no words"
        return ColumnDescription(feature, len(feature.levels), int(array.missing.sum()), example=example, hint=hint)
    known_values = array[~np.isnan(array)]
    missing = len(array) - len(known_values)
    if not len(known_values):
        return ColumnDescription(feature, 0, missing, hint=hint)
    if feature.kind == "boolean":
        true = int(np.count_nonzero(known_values))
        levels = (("false", len(known_values) - true), ("true", true))
        return ColumnDescription(feature, 1 + (0 < true < len(known_values)), missing, levels=levels, hint=hint)
    low, high, example = (amount(float(v), feature) for v in (known_values.min(), known_values.max(), known_values[0]))
    return ColumnDescription(feature, len(np.unique(known_values)), missing, low, high, example, (), hint)
