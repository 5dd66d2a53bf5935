"""Rows compared with those that trained a model: every column, rule and class, with one rate of false alarms for all.

Every test has a probability under the hypothesis that rows of today and of training are drawn alike
(rulekit.audit.drift.significance). Holm's procedure over all tests of a table keeps the probability of any false alarm
at RATE; so that a table of millions of rows does not alarm for a trifle, a change must also be of some size.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from rulekit.arrays import Array, Ints
from rulekit.audit.drift.findings import RATE, ColumnDrift, Drift, ShareDrift
from rulekit.audit.drift.naming import Alarms, changes_of, grid_change
from rulekit.audit.drift.observed import Beyond, ColumnOfToday, NewLevels, RowsOfToday, new_levels, seen
from rulekit.audit.drift.significance import all_in_one, at_least, homogeneity, rejected, share_test, stability_index
from rulekit.audit.figures.rates import effective_rows
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import firing, rule_values, rules_of
from rulekit.names import label_text
from rulekit.shown.table_figures import KnownTable, known_of
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.labels import class_key
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table

LEAST_ROWS = 20
"""Of fewer rows only single facts are told: new levels, values out of range, what was never missing."""

LEAST_PSI = 0.1
LEAST_SHARE = 0.001
_GONE_SHARE = 0.005
_RARE = 0.005
_FAR = math.log(10.0)
_TOGETHER = 1 << 15
_CLASSES = ("predicted", "actual")


class _Test(NamedTuple):
    """A hypothesis: of what, its probability, and whether the difference is of some size."""

    kind: str
    name: str
    chance: float
    matters: bool


def compare(
    graph: RuleGraph,
    table: Table,
    *,
    weight: Array | None = None,
    y: Array | None = None,
    labels: Array | None = None,
    new: NewLevels | None = None,
    most: int | None = None,
) -> Drift | None:
    """How the rows of a table differ from those that trained a model; None where the model says nothing of these.

    weight, y (class indices), labels (as the model decides): [n] or None. new: levels that training never saw, by
    column and name. most: of about so many rows, evenly taken, distributions, rules and classes are counted; levels
    that are new and values out of range are sought in all.
    """
    known = known_of(graph)
    if known is None or not table.n_rows:
        return None
    counted = table
    if most is not None and table.n_rows // most > 1:
        picked = np.arange(0, table.n_rows, table.n_rows // most)
        counted = table.take(picked)
        weight, y, labels = (None if part is None else part[picked] for part in (weight, y, labels))
    weight = None if weight is None or (weight == weight[:1]).all() else np.asarray(weight / weight.max(), dtype=float)
    size = float(counted.n_rows) if weight is None else effective_rows(weight, counted.n_rows)
    rows = RowsOfToday(known, table, counted, weight, size / known.together, new or {})
    columns = [seen(rows, graph.schema[name]) for name in known.columns]
    decided = decide(graph, counted) if labels is None else labels
    shares = [*_rules(graph, rows), *_classes(graph, rows, "predicted", decided), *_classes(graph, rows, "actual", y)]
    return _drift(table.n_rows, known, rows.size, shares, columns)


def monitor(graph: RuleGraph, data: Any, y: Any = None) -> Drift:
    """Compare rows with those that trained the model.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows; only the columns that the model reads must be there, in any order where they have names.
    y : array [n] or None
        Their labels.

    Returns
    -------
    Drift
        What changed, by column, rule and class (rulekit.audit.drift.findings); print it, or take `as_dict()`.

    Raises
    ------
    InputError
        Where the model has no statistics of the rows that trained it.

    """
    if isinstance(data, Table):  # new levels have no names any more
        table, new = graph.table(data), None
    else:
        raw = raw_table(data)
        table = encode(raw, graph.schema, graph.used_features)
        new = new_levels(raw, table, graph.schema, graph.used_features)
    drift = compare(graph, table, y=None if y is None else _indices(graph, y, table.n_rows), new=new)
    if drift is None:
        raise InputError("the model does not say what trained it", fix="count its statistics on the training rows")
    return drift


def _indices(graph: RuleGraph, y: Any, n_rows: int) -> Ints:
    place = {class_key(label): k for k, label in enumerate(graph.classes)}
    cells = np.asarray(y).tolist()
    strange = next((cell for cell in cells if class_key(cell) not in place), None)
    if strange is not None or len(cells) != n_rows:
        what = f"{len(cells)} labels for {n_rows} rows" if strange is None else f"{strange!r} is no class of the model"
        raise InputError(what, where="y", fix=f"classes are {', '.join(map(repr, graph.classes[:8]))}")
    return np.array([place[class_key(cell)] for cell in cells], dtype=np.int64)


def compare_counts(graph: RuleGraph, counted: RuleCounts) -> Drift | None:
    """As `compare`, where only how often each rule fires and each class is decided is known of the rows of today."""
    known = known_of(graph)
    if known is None:
        return None
    of = {rule.id: graph.classes[rule.class_index] for rule in rules_of(graph)}
    told = ((key, count) for key, count in counted.rules.items() if key in known.rules)
    shares = [ShareDrift(key, of[key], known.rules[key], count / counted.rows) for key, count in told]
    if known.predicted is not None and counted.classes is not None:
        pairs = zip(graph.classes, known.predicted.tolist(), counted.classes, strict=True)
        shares += [ShareDrift("predicted", label, then, count / counted.rows) for label, then, count in pairs]
    return _drift(counted.rows, known, counted.rows / known.together, shares)


def _drift(
    n: int, known: KnownTable, size: float, shares: Sequence[ShareDrift], columns: Sequence[ColumnOfToday] = ()
) -> Drift:
    """What changed of columns and shares: differences of some size that, of all tests together, are none by chance."""
    drifts = [_column(column) for column in columns]
    tests: list[_Test] = []
    if n < LEAST_ROWS:
        found = {(kind, column.name) for column in columns for kind in _facts(column)}
    else:
        for column, drift in zip(columns, drifts, strict=True):
            tests += _column_tests(column, drift)
        tests += _share_tests(shares, known, size)
        holds = rejected([test.chance for test in tests], RATE)
        found = {(test.kind, test.name) for test, odd in zip(tests, holds, strict=True) if odd and test.matters}
    changes = changes_of(columns, {(kind, name) for kind, name in found if kind != "share"}) if found else {}
    judged = [replace(each, changed=("share", each.name) in found and matters(each.then, each.now)) for each in shares]
    return Drift(
        n,
        known.rows,
        tuple(replace(drift, changes=changes.get(drift.name, ())) for drift in drifts),
        tuple(share for share in judged if share.name not in _CLASSES),
        tuple(share for share in judged if share.name in _CLASSES),
        n < LEAST_ROWS,
        len(tests),
    )


def _share_tests(shares: Sequence[ShareDrift], known: KnownTable, size: float) -> Iterator[_Test]:
    for name in dict.fromkeys(share.name for share in shares):
        own = [share for share in shares if share.name == name]
        now, then = np.array([share.now for share in own]), np.array([share.then for share in own])
        if name in _CLASSES:
            chance = homogeneity(now * size, then * known.size, in_order=False)
        else:
            chance = share_test(now[0] * size, size, then[0] * known.size, known.size)
        yield _Test("share", name, chance, any(matters(share.then, share.now) for share in own))


def matters(then: float, now: float) -> bool:
    """Whether a share changed by two points of percent, or by half a point to the double or the half."""
    change = abs(now - then)
    return change >= 0.02 or (change >= 0.005 and not then / 2.0 < now < 2.0 * then)


# What is counted -----------------------------------------------------------------------------------------------------


def _column(column: ColumnOfToday) -> ColumnDrift:
    """What is counted of a column; its index is of a text the largest of its words'."""
    then, size, known = column.then, column.rows.size, column.rows.known.size
    index = 0.0
    if column.feature.kind == "text":
        for share, now in _words(column):
            psi = stability_index(np.array([now, size - now]), known * np.array([share, 1.0 - share]))
            index = max(index, psi)
    elif column.n > 0.0:
        index = stability_index(*_counts(column))
    rows = column.unseen, column.below.rows, column.above.rows
    return ColumnDrift(column.name, then.missing, column.missing / size, dict(column.new), *rows, index)


def _words(column: ColumnOfToday) -> list[tuple[float, float]]:
    """Of texts without a word, and of those with each word, the share in training and how many there are today."""
    shares = zip(column.then.shares.tolist(), column.counts.tolist(), strict=True)
    return [(column.then.wordless, column.wordless), *shares]


def _counts(column: ColumnOfToday) -> tuple[Array, Array]:
    """The known cells by bin or level, now and then; the new levels are one more."""
    if column.feature.kind == "categorical":
        new = max(0.0, column.n - float(column.counts.sum()))
        return np.append(column.counts, new), np.append(column.before, 0.0)
    return column.counts, column.before


def _rules(graph: RuleGraph, rows: RowsOfToday) -> Iterator[ShareDrift]:
    known, n, weights = rows.known, rows.counted.n_rows, rows.weight
    rules = tuple(rule for rule in rules_of(graph) if rule.id in known.rules)
    fired, start = np.zeros(len(rules)), 0
    weights = np.ones(n) if weights is None else weights
    for block in rows.counted.blocks(graph.used_features, _TOGETHER) if rules else ():
        active = firing(rules, rule_values(rules, block), block.n_rows)
        fired += weights[start : start + block.n_rows] @ active
        start += block.n_rows
    for rule, share in zip(rules, (fired / weights.sum()).tolist(), strict=True):
        yield ShareDrift(rule.id, graph.classes[rule.class_index], known.rules[rule.id], share)


def _classes(graph: RuleGraph, rows: RowsOfToday, name: str, codes: Array | None) -> Iterator[ShareDrift]:
    then = getattr(rows.known, name)
    if then is not None and codes is not None and len(then) == len(graph.classes):
        now = rows.sums(codes, len(then)) / rows.size
        for label, before, share in zip(graph.classes, then.tolist(), now.tolist(), strict=True):
            yield ShareDrift(name, label, before, share)


# Tests ---------------------------------------------------------------------------------------------------------------


def _column_tests(column: ColumnOfToday, drift: ColumnDrift) -> Iterator[_Test]:
    name, kind, then, rows = column.name, column.feature.kind, column.then, column.rows
    known = rows.known.size
    chance = share_test(column.missing, rows.size, then.missing * known, known)
    yield _Test("missing", name, chance, matters(then.missing, drift.missing_now))
    if kind == "text":
        for share, count in _words(column):
            chance = share_test(count, rows.size, share * known, known)
            yield _Test("words", name, chance, matters(share, count / rows.size))
        return
    now, before = _counts(column)
    chance = homogeneity(now, before, in_order=kind != "categorical")
    yield _Test("distribution", name, chance, drift.psi >= LEAST_PSI)
    if kind == "categorical":
        yield _Test("new levels", name, _chance_of_new(column), column.unseen_share >= LEAST_SHARE)
        left = (round(n) for n, own in zip(before, now, strict=True) if n and not own)
        gone = [all_in_one(n, known, known + rows.size) for n in left]
        missed = [share for share, own in zip(then.shares, now, strict=False) if share and not own]
        chance = min(1.0, len(then.names) * min(gone, default=1.0))
        yield _Test("gone", name, chance, max(missed, default=0.0) >= _GONE_SHARE)
        return
    for side in (column.below, column.above):
        much = side.rows / rows.every.n_rows >= LEAST_SHARE or side.far >= side.rows * _FAR
        yield _Test("out of range", name, _chance_beyond(side, rows), much)
    if then.grid:
        change = grid_change(column, column.values)
        yield _Test("steps", name, 1.0 if change is None else change.chance, change is not None)


def _chance_beyond(side: Beyond, rows: RowsOfToday) -> float:
    """How likely it is that the most extreme rows are all among today's, and that far from those of training.

    The first is by division alone. A value m widths of the range beyond it counts as one of m, which holds of tails no
    heavier than that of 1 / x.
    """
    n = float(rows.every.n_rows)
    return all_in_one(side.rows, n, n + rows.known.rows) * math.exp(-side.far) if side.rows else 1.0


def _chance_of_new(column: ColumnOfToday) -> float:
    """How likely so many levels, or so frequent a one, are all in today's rows by chance.

    A level of t rows in all is with probability (n)_t / (N)_t; the number of such levels is taken for Poisson.
    """
    if not column.unseen:
        return 1.0
    new = list(column.new.values()) or [column.unseen]
    n = float(column.rows.every.n_rows)
    chances = [
        (t, all_in_one(t, n, n + column.rows.known.size))
        for t in (*(round(a + b) for a, b in zip(column.before, column.counts, strict=True)), *new)
    ]
    many, frequent = (sum(chance for t, chance in chances if t >= least) for least in (1, max(new)))
    return min(1.0, 2.0 * min(at_least(len(new), many), at_least(1, frequent)))


def _facts(column: ColumnOfToday) -> Alarms:
    odd = {
        "new levels": column.unseen,
        "missing": column.missing and not column.then.missing,
        "out of range": min(_chance_beyond(side, column.rows) for side in (column.below, column.above)) <= _RARE,
    }
    return frozenset(kind for kind, holds in odd.items() if holds)


# Counts of an artifact -----------------------------------------------------------------------------------------------

_FIX = "give what count_rules of a Python export returns, as JSON, or the result of a query with --counts, as CSV"


@dataclass(frozen=True, slots=True)
class RuleCounts:
    """So many rows, by id on how many each rule fired, and for how many each class [K] was decided; None: not known."""

    rows: int
    rules: Mapping[str, int]
    classes: tuple[int, ...] | None = None


def read_counts(text: str, graph: RuleGraph, where: str) -> RuleCounts:
    """The counts that an artifact made where the rows are: SQL as CSV, Python as JSON.

    Raises InputError where the text is neither, or of other rules than the model's.
    """
    counts: dict[str, dict[str, int]] = {"rows": {}, "rule": {}, "class": {}}
    for what, name, value in _of_json(text, where) if text.lstrip().startswith("{") else _of_csv(text, where):
        try:
            count = -1 if isinstance(value, bool) else int(value)
        except (TypeError, ValueError):
            count = -1
        if count < 0:
            raise InputError(f"{value!r} is no count", where=where, fix=_FIX)
        counts.get(what, {})[name] = count
    rules, classes = counts["rule"], counts["class"]
    ids, labels = {rule.id for rule in rules_of(graph)}, [label_text(label) for label in graph.classes]
    strange = [name for name in rules if name not in ids] or [name for name in classes if name not in labels]
    if strange:
        fix = "count with its own export"
        raise InputError(f"{strange[0]!r} is no rule or class of the model", where=where, fix=fix)
    rows = next(iter(counts["rows"].values()), sum(classes.values()))
    if rows < 1 or any(count > rows for count in (*rules.values(), *classes.values())):
        raise InputError("the number of rows is missing, or too small for the counts", where=where, fix=_FIX)
    complete = set(classes) == set(labels) and sum(classes.values()) == rows
    return RuleCounts(rows, rules, tuple(classes[label] for label in labels) if complete else None)


def _of_json(text: str, where: str) -> Iterator[tuple[str, str, Any]]:
    try:
        found = json.loads(text)
    except ValueError:
        raise InputError("this is no JSON", where=where, fix=_FIX) from None
    yield "rows", "", found.get("rows")
    for what, key in (("rule", "rules"), ("class", "classes")):
        part = found.get(key, {})
        if not isinstance(part, Mapping):
            raise InputError(f"{key!r} is no object", where=where, fix=_FIX)
        yield from ((what, str(name), count) for name, count in part.items())


def _of_csv(text: str, where: str) -> Iterator[tuple[str, str, Any]]:
    reader = csv.DictReader(io.StringIO(text))
    if not {"what", "name", "count"} <= set(reader.fieldnames or ()):
        raise InputError("there are no columns what, name and count", where=where, fix=_FIX)
    yield from ((row["what"], row["name"] or "", row["count"]) for row in reader)
