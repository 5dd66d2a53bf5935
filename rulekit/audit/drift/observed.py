"""What the rows of today hold, counted as the model file counted the training rows.

Or as an artifact counted its rules where the rows are: SQL as CSV, Python as JSON.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import label_text
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.shown.statistics import bin_codes, bin_counts
from rulekit.shown.table_figures import KnownColumn, KnownLevels, KnownNumbers, KnownTexts
from rulekit.tables.raw.columns import RawTable, factorize, take_column
from rulekit.tables.table import Table, absent

MOST_VALUES = 1 << 15
"""Of so many values, evenly taken, changes are named."""


NewLevels = Mapping[str, Mapping[str, int]]
"""By column how many rows have each level that training never saw, the most frequent first."""


@dataclass(frozen=True, slots=True, eq=False)
class RowsOfToday:
    """Rows to be compared: all of them, those of which distributions are counted, and the weights [n] of the latter.

    size: how many rows of equal weight say as much as those that are counted. labels, y: the classes that the model
    decides and that the counted rows have, by index, or None. new: levels that training never saw, by name, or None
    where names are not known.
    """

    every: Table
    counted: Table
    weight: Floats | None
    size: float
    labels: Array
    y: Array | None = None
    new: NewLevels | None = None

    def sums(self, codes: Array, n_codes: int) -> Floats:
        """The rows of each code [n] below n_codes, in rows of equal weight."""
        found = np.bincount(codes, self.weight, n_codes).astype(np.float64)
        total = found.sum()
        return found * (self.size / total) if total > 0.0 else found


def rows_of(
    graph: RuleGraph,
    table: Table,
    together: float,
    weight: Array | None = None,
    y: Array | None = None,
    labels: Array | None = None,
    new: NewLevels | None = None,
    most: int | None = None,
) -> RowsOfToday:
    """Rows of which about `most`, evenly taken, are counted; the model labels them where `labels` is None.

    together: how many rows say as much as one, as equal ones came together.
    """
    stride = 1 if most is None else max(1, table.n_rows // most)
    counted = table
    if stride > 1:
        picked = np.arange(0, table.n_rows, stride)
        counted = table.take(picked)
        weight, y, labels = (None if part is None else part[picked] for part in (weight, y, labels))
    scaled = None if weight is None or (weight == weight[:1]).all() else np.asarray(weight, dtype=np.float64)
    size = float(counted.n_rows)
    if scaled is not None:
        scaled = scaled / scaled.max()
        size = float(scaled.sum() ** 2 / (scaled**2).sum())
    decided = decide(graph, counted) if labels is None else labels
    return RowsOfToday(table, counted, scaled, size / together, decided, y, new)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnOfToday:
    """A column of today, in rows of equal weight: the missing cells, and of the known ones each bin, level or word [m].

    Of all rows, by number: below and above the range of training, with the lowest and the highest value, and far_below
    and far_above, the sum of the logarithms of how many widths of the range they lie beyond it; new: the levels that
    training never saw, unseen: their rows. values: some known numbers, for names. n: the known cells. wordless: the
    texts without a word of the model.
    """

    missing: float
    counts: Floats
    n: float
    below: int = 0
    above: int = 0
    lowest: float = 0.0
    highest: float = 0.0
    far_below: float = 0.0
    far_above: float = 0.0
    unseen: int = 0
    unseen_share: float = 0.0
    new: Mapping[str, int] = field(default_factory=dict)
    values: Floats = field(default_factory=lambda: np.zeros(0))
    wordless: float = 0.0


def seen(rows: RowsOfToday, feature: Feature, known: KnownColumn) -> ColumnOfToday:
    """Count a column."""
    if isinstance(known, KnownNumbers):
        return _numbers(rows, feature, known)
    return _levels(rows, feature, known) if isinstance(known, KnownLevels) else _words(rows, feature, known)


def _numbers(rows: RowsOfToday, feature: Feature, known: KnownNumbers) -> ColumnOfToday:
    every, values = rows.every.array(feature.name), rows.counted.array(feature.name)
    gone = absent(values)
    missing = float(rows.sums(gone.astype(np.int64), 2)[1])
    if rows.weight is None:
        counts = bin_counts(values, known.cuts).astype(np.float64)
    else:
        codes = np.where(gone, len(known.shares), bin_codes(values, known.cuts))
        counts = rows.sums(codes, len(known.shares) + 1)[:-1]
    there = values[~gone]
    some = there[:: max(1, len(there) // MOST_VALUES)].astype(np.float64)
    found = ColumnOfToday(missing, counts, float(counts.sum()), values=some[np.isfinite(some)])
    if not len(there) and bool(absent(every).all()):
        return found
    low, high = float(np.nanmin(every)), float(np.nanmax(every))
    below = every[every < known.low] if low < known.low else every[:0]
    above = every[every > known.high] if high > known.high else every[:0]
    width = known.high - known.low
    return replace(
        found,
        below=len(below),
        above=len(above),
        lowest=low,
        highest=high,
        far_below=_far(known.low - below.astype(np.float64), width),
        far_above=_far(above.astype(np.float64) - known.high, width),
    )


def _far(beyond: Floats, width: float) -> float:
    """The sum of the logarithms of distances [k] beyond a range in widths of it, each at least one."""
    return float(np.log(np.maximum(beyond / width, 1.0)).sum()) if width > 0.0 and len(beyond) else 0.0


def _levels(rows: RowsOfToday, feature: Feature, known: KnownLevels) -> ColumnOfToday:
    codes = rows.counted.array(feature.name)
    sums = rows.sums(codes, FIRST_LEVEL_CODE + len(known.levels))
    new = dict((rows.new or {}).get(feature.name, {}))
    every = rows.every.array(feature.name)
    unseen = sum(new.values()) or int((every == UNSEEN_CODE).sum())
    share = unseen / max(1, rows.every.n_rows)
    missing = float(sums[MISSING_CODE])
    if feature.unseen == "missing":  # encoded as missing, and told apart by their names
        missing = max(0.0, missing - share * rows.size)
    known_cells = sums[FIRST_LEVEL_CODE:]
    return ColumnOfToday(missing, known_cells, float(rows.size - missing), unseen=unseen, unseen_share=share, new=new)


def _words(rows: RowsOfToday, feature: Feature, known: KnownTexts) -> ColumnOfToday:
    sets: Any = rows.counted.array(feature.name)
    own = next(other for other in rows.counted.features if other.name == feature.name)
    numbers = [own.levels.index(word) for word in known.words]
    missing = float(rows.sums(sets.missing.astype(np.int64), 2)[1])
    some = sets.contains(numbers) | sets.missing
    wordless = float(rows.sums((~some).astype(np.int64), 2)[1])
    counts = [float(rows.sums(sets.contains([number]).astype(np.int64), 2)[1]) for number in numbers]
    return ColumnOfToday(missing, np.array(counts), rows.size, wordless=wordless)


def new_levels(raw: RawTable, table: Table, schema: Schema, used: tuple[str, ...]) -> NewLevels:
    """What the rows of a raw table that was encoded as `table` hold beside the levels of the schema."""
    found = {}
    by_name = {column.name: column for column in raw.columns}
    for name in used:
        feature = schema[name]
        code = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
        rows = np.flatnonzero(table.array(name) == code) if feature.kind == "categorical" else np.array([], dtype=int)
        if len(rows):
            column = raw.columns[schema.positions[name]] if raw.positional else by_name[name]
            keys, index = factorize(take_column(column, rows), feature.missing_tokens)
            counts = np.bincount(index[index >= 0], minlength=len(keys)).tolist()
            named = sorted(zip(keys, counts, strict=True), key=lambda pair: (-pair[1], pair[0]))
            found[name] = {key: count for key, count in named if count}
    return {name: levels for name, levels in found.items() if levels}


# Counts of an artifact -----------------------------------------------------------------------------------------------

_FIX = "give what count_rules of a Python export returns, as JSON, or the result of a query with --counts, as CSV"


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """So many rows, by id on how many each rule fired, and for how many each class [K] was decided; None: not known."""

    rows: int
    rules: Mapping[str, int]
    classes: tuple[int, ...] | None = None


def read_counts(text: str, graph: RuleGraph, where: str) -> RuleCounts:
    """The counts of a JSON or CSV text; raises InputError where it is neither, or of other rules than the model's."""
    entries = list(_of_json(text, where) if text.lstrip().startswith("{") else _of_csv(text, where))
    rules = {name: count for what, name, count in entries if what == "rule"}
    classes = {name: count for what, name, count in entries if what == "class"}
    totals = [count for what, _, count in entries if what == "rows"]
    ids, labels = {rule.id for rule in rules_of(graph)}, [label_text(label) for label in graph.classes]
    strange = [name for name in rules if name not in ids] or [name for name in classes if name not in labels]
    if strange:
        raise InputError(
            f"{strange[0]!r} is no rule or class of the model", where=where, fix="count with its own export"
        )
    rows = totals[0] if totals else sum(classes.values())
    if rows < 1 or any(count > rows for count in (*rules.values(), *classes.values())):
        raise InputError("the number of rows is missing, or too small for the counts", where=where, fix=_FIX)
    complete = set(classes) == set(labels) and sum(classes.values()) == rows
    return RuleCounts(rows, rules, tuple(classes[label] for label in labels) if complete else None)


def _of_json(text: str, where: str) -> Iterable[tuple[str, str, int]]:
    try:
        found = json.loads(text)
    except ValueError:
        raise InputError("this is no JSON", where=where, fix=_FIX) from None
    yield "rows", "", _count(found.get("rows"), where)
    for what, key in (("rule", "rules"), ("class", "classes")):
        part = found.get(key, {})
        if not isinstance(part, Mapping):
            raise InputError(f"{key!r} is no object", where=where, fix=_FIX)
        for name, count in part.items():
            yield what, str(name), _count(count, where)


def _of_csv(text: str, where: str) -> Iterable[tuple[str, str, int]]:
    reader = csv.DictReader(io.StringIO(text))
    if not {"what", "name", "count"} <= set(reader.fieldnames or ()):
        raise InputError("there are no columns what, name and count", where=where, fix=_FIX)
    for row in reader:
        yield str(row["what"]), str(row["name"] or ""), _count(row["count"], where)


def _count(value: Any, where: str) -> int:
    try:
        count = int(value)
    except (TypeError, ValueError):
        count = -1
    if count < 0 or isinstance(value, bool):
        raise InputError(f"{value!r} is no count", where=where, fix=_FIX)
    return count
