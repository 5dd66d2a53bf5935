"""What is found when rows are compared with those of training: as values and JSON, as lines and tables for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from rulekit.audit import Said
from rulekit.graph.language.words import counted, name, percent, quoted

WORD = 12
"""Columns of a line that its first word takes."""

_TOLD = 3

RATE = 0.01
"""The probability that rows like those of training are said to be otherwise, of a whole table with all its tests."""


@dataclass(frozen=True, slots=True)
class Shift:
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
    changes: tuple[Shift, ...] = ()


@dataclass(frozen=True, slots=True)
class ShareDrift:
    """A share of the rows, then and now, and whether it changed: of those on which a rule fires (name: its id, label:
    its class), or those of a class, as the model decides (name: "predicted") or as they are ("actual").
    """

    name: str
    label: Any
    then: float
    now: float
    changed: bool = False

    @property
    def text(self) -> str:
        verbs = {"predicted": "decided in", "actual": "is the class of"}
        said = f"{quoted(self.label)} {verbs[self.name]}" if self.name in verbs else f"{self.name} holds in"
        return f"{said} {percent(self.now)} of rows ({percent(self.then)} in training)"

    def as_dict(self, key: str) -> dict[str, Any]:
        """JSON values, the name under a key."""
        return {key: self.name, "class": self.label, "then": self.then, "now": self.now, "changed": self.changed}


@dataclass(frozen=True, slots=True)
class Drift:
    """Rows beside those that trained a model. few: so few rows that only single facts are told."""

    rows: int
    training_rows: int
    columns: tuple[ColumnDrift, ...]
    rules: tuple[ShareDrift, ...]
    classes: tuple[ShareDrift, ...]
    few: bool = False
    tests: int = 0

    @property
    def alike(self) -> bool:
        """Whether nothing was found."""
        return not any(self.found())

    def found(self) -> Iterator[tuple[str, str]]:
        """What changed, as pairs of "column", "rule" or "class" and a name."""
        yield from (("column", column.name) for column in self.columns if column.changes)
        yield from (("rule", rule.name) for rule in self.rules if rule.changed)
        yield from (("class", str(part.label)) for part in self.classes if part.changed)

    def __str__(self) -> str:
        """What changed, a line each."""
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
            "columns": [{**asdict(each), "changes": list(map(asdict, each.changes))} for each in self.columns],
            "rules": [rule.as_dict("id") for rule in self.rules],
            "classes": [part.as_dict("of") for part in self.classes],
        }


def drift_lines(drift: Drift) -> Iterator[Said]:
    """What changed, the columns first, in full."""
    beside = f"{counted(drift.rows, 'row')} beside the {drift.training_rows} that trained the model"
    if drift.alike and drift.few:
        yield "few rows", f"{beside}: too few to compare distributions; no value is new, missing or out of range"
        return
    if drift.alike:
        chance = f"by {drift.tests} tests, which find a difference in {percent(RATE)} of tables where there is none"
        yield "alike", f"{beside}, {chance}"
        return
    yield "not alike", beside
    for column in _worst_first(drift):
        for k, change in enumerate(column.changes):
            yield "" if k else "column", f"  {change.text}" if k else f"{name(column.name)}: {change.text}"
    yield from (("rule", rule.text) for rule in drift.rules if rule.changed)
    yield from (("class", part.text) for part in drift.classes if part.changed)


def _worst_first(drift: Drift) -> list[ColumnDrift]:
    changed = [column for column in drift.columns if column.changes]
    return sorted(changed, key=lambda column: -max(change.size for change in column.changes))


def drift_line(drift: Drift, command: str) -> str:
    """One line for what is worst, or "" where nothing is odd; command: what shows all."""
    if drift.alike:
        return ""
    told = [f"{name(column.name)}: {column.changes[0].text}" for column in _worst_first(drift)]
    noun = "column" if told else "change"
    if not told:
        told = [part.text for part in drift.classes if part.changed]
        told += [f"rule {rule.text}" for rule in drift.rules if rule.changed]
    more = [counted(len(told) - _TOLD, f"more {noun}")] if len(told) > _TOLD else []
    what = "this row is" if drift.rows == 1 else "these rows are"
    return f"{what} not like those of training: {'; '.join([*told[:_TOLD], *more])}. {command} shows all"


def column_rows(drift: Drift) -> list[list[str]]:
    """The table of columns: a header and a row for each."""
    rows = [["column", "missing then", "now", "new rows", "below", "above", "PSI", ""]]
    for column in drift.columns:
        cells = [percent(column.missing_then), percent(column.missing_now)]
        counts = [str(n or "-") for n in (column.new_rows, column.below, column.above)]
        rows.append([name(column.name), *cells, *counts, f"{column.psi:.2f}", "*" if column.changes else ""])
    return rows


def rule_rows(drift: Drift) -> list[list[str]]:
    """The table of rules and classes: the share of the rows of each, then and now."""
    rows = [["rule", "for", "then", "now", ""]]
    for each in (*drift.rules, *drift.classes):
        shares = percent(each.then), percent(each.now)
        rows.append([each.name, quoted(each.label), *shares, "*" if each.changed else ""])
    return rows
