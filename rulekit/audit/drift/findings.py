"""What is found when rows are compared with those of training, as values that a table, a line and JSON show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

WORD = 12
"""Columns of a line that its first word takes."""

RATE = 0.01
"""The probability that rows like those of training are said to be otherwise, of a whole table with all its tests."""


@dataclass(frozen=True, slots=True)
class Change:
    """What happened, for machines one of the words of docs/drift.md, in words, and how much of the rows it touches."""

    kind: str
    text: str
    size: float = 0.0


@dataclass(frozen=True, slots=True)
class ColumnDrift:
    """A column then and now: shares of missing cells, levels that training never saw with their rows, rows outside
    its range, the population stability index, and what happened; no change where it is alike.
    """

    name: str
    missing_then: float
    missing_now: float
    new_levels: dict[str, int]
    new_rows: int
    below: int
    above: int
    psi: float
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleDrift:
    """The share of the rows on which a rule fires, then and now, and whether that is another share."""

    id: str
    label: Any
    then: float
    now: float
    changed: bool = False


@dataclass(frozen=True, slots=True)
class ClassDrift:
    """The share of the rows of a class, as the model decides (predicted) or as they are (actual), then and now."""

    label: Any
    of: str
    then: float
    now: float
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Drift:
    """Rows beside those that trained a model. few: so few rows that only single facts are told."""

    rows: int
    training_rows: int
    columns: tuple[ColumnDrift, ...]
    rules: tuple[RuleDrift, ...]
    classes: tuple[ClassDrift, ...]
    few: bool = False
    tests: int = 0

    @property
    def alike(self) -> bool:
        """Whether nothing was found."""
        return not any(True for _ in self.found())

    def found(self) -> Iterator[tuple[str, str]]:
        """What changed, as pairs of "column", "rule" or "class" and a name."""
        yield from (("column", column.name) for column in self.columns if column.changes)
        yield from (("rule", rule.id) for rule in self.rules if rule.changed)
        yield from (("class", str(part.label)) for part in self.classes if part.changed)

    def __str__(self) -> str:
        """What changed, a line each."""
        from rulekit.audit.drift.drift_lines import drift_lines

        return "\n".join(f"{word:{WORD}}{text}" for word, text in drift_lines(self))

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "rows": self.rows,
            "training_rows": self.training_rows,
            "alike": self.alike,
            "false_alarm_rate": RATE,
            "few_rows": self.few,
            "tests": self.tests,
            "columns": [
                {**asdict(column), "changes": [asdict(change) for change in column.changes]} for column in self.columns
            ],
            "rules": [{("class" if key == "label" else key): v for key, v in asdict(r).items()} for r in self.rules],
            "classes": [
                {("class" if key == "label" else key): v for key, v in asdict(part).items()} for part in self.classes
            ],
        }
