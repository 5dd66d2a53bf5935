"""What a model file says of tables of rows (its `statistics`), read without trust: the one reader of that block.

`rulekit.shown.statistics` writes it. The figures of rules are read by `rulekit.graph.language.figures`, as the text of
a model shows them. What is malformed is taken for not told.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.arrays import Floats
from rulekit.graph.files.safe_files import count, entries, mapping, number, numbers, share, shares
from rulekit.graph.language.figures import TABLES
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import printable
from rulekit.schema import Feature


@dataclass(frozen=True, slots=True)
class ColumnFigures:
    """What a table says of a column: the share of missing cells, the range, levels with their shares, new levels."""

    entry: Mapping[str, Any]

    @property
    def missing(self) -> float | None:
        return share(self.entry.get("missing"))

    @property
    def range(self) -> tuple[float, float] | None:
        low, high = number(self.entry.get("low")), number(self.entry.get("high"))
        return None if low is None or high is None else (low, high)

    @property
    def levels(self) -> dict[str, float] | None:
        """By level its share; None of a column without levels."""
        levels = self.entry.get("levels")
        if not isinstance(levels, Mapping):
            return None
        return {level: part for level, value in levels.items() if (part := share(value)) is not None}

    @property
    def unseen(self) -> float | None:
        return share(self.entry.get("unseen"))


Block = Mapping[str, Any]
"""What a model file says of one table."""


def known_columns(block: Block) -> dict[str, ColumnFigures]:
    """What is said of each column."""
    found = mapping(block.get("columns"))
    return {name: ColumnFigures(entry) for name, entry in found.items() if isinstance(entry, Mapping)}


def effective_rows_of(block: Block) -> dict[tuple[str, int], float]:
    """By rule and covered rows, how many rows of equal weight say as much, where rows have weights."""
    found: dict[tuple[str, int], float] = {}
    for entry in entries(block.get("rules")):
        name, n, effective = entry.get("id"), count(entry.get("n")), number(entry.get("effective_n"))
        if isinstance(name, str) and n is not None and effective is not None and effective > 0:
            found.setdefault((name, n), effective)
    return found


def totals_of(block: Block) -> dict[float, tuple[float, float | None]]:
    """By total of a sum the share of the rows, and that of the positive class among them."""
    found: dict[float, tuple[float, float | None]] = {}
    for entry in entries(block.get("totals")):
        total, part, observed = (number(entry.get(name)) for name in ("total", "share", "observed"))
        if total is not None and part is not None:
            found[total] = part, observed
    return found


def tables_of(graph: RuleGraph) -> dict[str, Block]:
    """The tables of which a model file says something, by name: first `training`, `held out` or another."""
    blocks = {"train": graph.statistics, **graph.statistics}.items()
    return {TABLES.get(title, printable(title)): block for title, block in blocks if isinstance(block, Mapping)}


# Distributions, which later rows are compared with -----------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumn:
    """The share of missing cells, and the shares [m] of bins or levels among known cells, of words among all rows.

    names [m]: the levels or words; wordless: the share of texts without any word of the model. Of numbers the range,
    the cuts [m - 1] between bins, and grid: by unit the share of the values that are multiples of it.
    """

    missing: float
    shares: Floats
    names: tuple[str, ...] = ()
    wordless: float = 0.0
    low: float = 0.0
    high: float = 0.0
    cuts: Floats = field(default_factory=lambda: np.zeros(0))
    grid: Mapping[float, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class KnownTable:
    """The training rows of a model: how many, and what is known of columns, rules (by id) and classes [K].

    rows: the rows; size: how many of equal weight say as much; together: how many rows go one way with a row when rows
    are held out, so that so many say as much as one. predicted, actual: None where they are not known.
    """

    rows: int
    size: float
    columns: Mapping[str, KnownColumn]
    rules: Mapping[str, float]
    predicted: Floats | None
    actual: Floats | None
    together: float = 1.0


def known_of(graph: RuleGraph) -> KnownTable | None:
    """The distributions of the training rows; None where nothing is said of rows and columns."""
    block = graph.statistics
    rows = count(block.get("rows"))
    size, together = (number(block.get(key)) for key in ("effective_rows", "rows_together"))
    if not rows or not isinstance(block.get("columns"), Mapping):
        return None
    together = together if together is not None and 1.0 <= together <= rows else 1.0
    columns = known_columns(block)
    found = {name: _known(graph.schema[name], columns[name]) for name in graph.used_features if name in columns}
    ids = {rule.id for rule in rules_of(graph)}
    covered = {entry.get("id"): share(entry.get("coverage")) for entry in entries(block.get("rules"))}
    classes = entries(block.get("classes"))
    in_order = [entry.get("class") for entry in classes] == list(graph.classes)
    predicted, actual = (_array([entry.get(key) for entry in classes]) for key in ("predicted", "actual"))
    return KnownTable(
        rows,
        (size if size is not None and 0.0 < size <= rows else float(rows)) / together,
        {name: column for name, column in found.items() if column is not None},
        {key: part for key, part in covered.items() if isinstance(key, str) and key in ids and part is not None},
        predicted if in_order else None,
        actual if in_order else None,
        together,
    )


def _array(values: object) -> Floats | None:
    """Shares as an array; None where one is none."""
    found = shares(values)
    return None if found is None else np.array(found, dtype=np.float64)


def _known(feature: Feature, column: ColumnFigures) -> KnownColumn | None:
    missing, entry, numeric = column.missing, column.entry, feature.kind in ("numeric", "boolean")
    told = mapping(entry.get("words" if feature.kind == "text" else "levels"))
    parts = _array(entry.get("shares") if numeric else [told.get(level) for level in feature.levels])
    if missing is None or parts is None:
        return None
    if feature.kind == "text":
        wordless = share(entry.get("wordless"))
        return None if wordless is None else KnownColumn(missing, parts, feature.levels, wordless)
    if parts.sum() <= 0.0:
        return None
    if not numeric:
        return KnownColumn(missing, parts / parts.sum(), feature.levels)
    cuts, ends = numbers(entry.get("cuts")), column.range
    if ends is None or cuts is None or len(parts) != len(cuts) + 1 or (np.diff(cuts) <= 0.0).any():
        return None
    grid = {}
    for text, value in mapping(entry.get("grid", {})).items():
        with suppress(TypeError, ValueError):
            unit, part = number(float(text)), share(value)
            if part is not None and unit is not None and unit > 0.0:
                grid[unit] = part
    return KnownColumn(missing, parts / parts.sum(), (), 0.0, *ends, np.array(cuts, dtype=np.float64), grid)
