"""What a model file says of the rows that trained the model, read without trust: what is malformed is not compared."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.rules import rules_of
from rulekit.schema import Feature

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KnownNumbers:
    """The share of missing cells, the range, the cuts [m - 1] between bins and their shares [m] of the known cells.

    grid: by unit the share of the values that are multiples of it.
    """

    missing: float
    low: float
    high: float
    cuts: Floats
    shares: Floats
    grid: Mapping[float, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class KnownLevels:
    """The share of missing cells, and of each level [m] among the known ones."""

    missing: float
    levels: tuple[str, ...]
    shares: Floats


@dataclass(frozen=True, slots=True, eq=False)
class KnownWords:
    """The share of missing texts, of texts without any word of the model, and with each word [m], among all rows."""

    missing: float
    wordless: float
    words: tuple[str, ...]
    shares: Floats


KnownColumn = KnownNumbers | KnownLevels | KnownWords


@dataclass(frozen=True, slots=True, eq=False)
class Known:
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


def known_of(graph: RuleGraph) -> Known | None:
    """What the statistics of a model say; None where they say nothing of rows and columns."""
    statistics = graph.statistics
    rows, columns = statistics.get("rows"), statistics.get("columns")
    if not isinstance(rows, int) or isinstance(rows, bool) or rows < 1 or not isinstance(columns, Mapping):
        return None
    size = _number(statistics.get("effective_rows"))
    together = _number(statistics.get("rows_together"))
    together = together if together is not None and 1.0 <= together <= rows else 1.0
    found = {name: _column(graph.schema[name], columns.get(name)) for name in graph.used_features}
    classes = _entries(statistics.get("classes"))
    in_order = [entry.get("class") for entry in classes] == list(graph.classes)
    return Known(
        rows,
        (size if size is not None and 0.0 < size <= rows else float(rows)) / together,
        {name: column for name, column in found.items() if column is not None},
        _coverages(graph, statistics.get("rules")),
        _all_shares([entry.get("predicted") for entry in classes]) if in_order else None,
        _all_shares([entry.get("actual") for entry in classes]) if in_order else None,
        together,
    )


def _coverages(graph: RuleGraph, entries: object) -> dict[str, float]:
    ids = {rule.id for rule in rules_of(graph)}
    found = {entry.get("id"): _share(entry.get("coverage")) for entry in _entries(entries)}
    return {key: share for key, share in found.items() if isinstance(key, str) and key in ids and share is not None}


def _column(feature: Feature, entry: object) -> KnownColumn | None:
    if not isinstance(entry, Mapping):
        return None
    missing = _share(entry.get("missing"))
    if missing is None:
        return None
    if feature.kind == "categorical":
        return _levels(feature, entry, missing)
    return _words(feature, entry, missing) if feature.kind == "text" else _numbers(entry, missing)


def _numbers(entry: Mapping[str, Any], missing: float) -> KnownNumbers | None:
    low, high, cuts = _number(entry.get("low")), _number(entry.get("high")), _all_numbers(entry.get("cuts"))
    shares, grid = _all_shares(entry.get("shares")), entry.get("grid", {})
    if low is None or high is None or cuts is None or shares is None or len(shares) != len(cuts) + 1:
        return None
    if shares.sum() <= 0.0 or (np.diff(cuts) <= 0.0).any():
        return None
    units = {}
    for unit, share in grid.items() if isinstance(grid, Mapping) else ():
        part, number = _share(share), _number_of_text(unit)
        if part is not None and number is not None and number > 0.0:
            units[number] = part
    return KnownNumbers(missing, low, high, cuts, shares / shares.sum(), units)


def _levels(feature: Feature, entry: Mapping[str, Any], missing: float) -> KnownLevels | None:
    levels = entry.get("levels")
    shares = _all_shares([levels.get(level) for level in feature.levels]) if isinstance(levels, Mapping) else None
    if shares is None or shares.sum() <= 0.0:
        return None
    return KnownLevels(missing, feature.levels, shares / shares.sum())


def _words(feature: Feature, entry: Mapping[str, Any], missing: float) -> KnownWords | None:
    words, wordless = entry.get("words"), _share(entry.get("wordless"))
    shares = _all_shares([words.get(word) for word in feature.levels]) if isinstance(words, Mapping) else None
    if shares is None or wordless is None:
        return None
    return KnownWords(missing, wordless, feature.levels, shares)


def _entries(value: object) -> list[Mapping[str, Any]]:
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def _number(value: object) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else None  # type: ignore[arg-type]


def _number_of_text(value: object) -> float | None:
    try:
        return _number(float(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _share(value: object) -> float | None:
    number = _number(value)
    return number if number is not None and 0.0 <= number <= 1.0 else None


def _all_numbers(values: object) -> Floats | None:
    found = [_number(value) for value in values] if isinstance(values, list | tuple) else [None]
    return None if None in found else np.array(found, dtype=np.float64)


def _all_shares(values: object) -> Floats | None:
    found = [_share(value) for value in values] if isinstance(values, list | tuple) and values else [None]
    return None if None in found else np.array(found, dtype=np.float64)
