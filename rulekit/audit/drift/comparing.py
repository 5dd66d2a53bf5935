"""Rows compared with those that trained a model: every column, rule and class, with one rate of false alarms for all.

Every test has a probability under the hypothesis that rows of today and of training are drawn alike
(rulekit.audit.drift.significance). Holm's procedure over all tests of a table keeps the probability of any false alarm
at RATE; so that a table of millions of rows does not alarm for a trifle, a change must also be of some size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array, Ints
from rulekit.audit.drift.findings import RATE, ClassDrift, ColumnDrift, Drift, RuleDrift
from rulekit.audit.drift.naming import Alarms, changes_of, grid_change
from rulekit.audit.drift.observed import ColumnOfToday, NewLevels, RowsOfToday, RuleCounts, new_levels, rows_of, seen
from rulekit.audit.drift.significance import all_in_one, at_least, homogeneity, rejected, share_test, stability_index
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import firing, rule_values, rules_of
from rulekit.schema import Feature
from rulekit.shown.table_figures import KnownLevels, KnownNumbers, KnownTable, KnownTexts, known_of
from rulekit.tables.kinds.classes import class_key
from rulekit.tables.kinds.encoding import encode
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


@dataclass(frozen=True, slots=True)
class _Test:
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
    rows = rows_of(graph, table, known.together, weight, y, labels, new, most)
    columns = {name: seen(rows, graph.schema[name], column) for name, column in known.columns.items()}
    drifts = {name: _column(name, known, column, rows) for name, column in columns.items()}
    rules, classes = tuple(_rules(graph, known, rows)), tuple(_classes(graph, known, rows))
    few = table.n_rows < LEAST_ROWS
    tests: list[_Test] = []
    if few:
        alarms = {name: _facts(known, name, column, rows) for name, column in columns.items()}
    else:
        for name, column in columns.items():
            tests += _column_tests(graph.schema[name], known, column, drifts[name], rows)
        rules, classes, found = _judged(rules, classes, tests, known, rows.size)
        alarms = {name: frozenset(kind for kind in _OF_COLUMNS if (kind, name) in found) for name in columns}
    changes = changes_of(graph.schema, known, columns, alarms, rows) if any(alarms.values()) else {}
    done = tuple(replace(drift, changes=changes.get(name, ())) for name, drift in drifts.items())
    return Drift(table.n_rows, known.rows, done, rules, classes, few, len(tests))


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
    rules = tuple(
        RuleDrift(key, of[key], known.rules[key], count / counted.rows)
        for key, count in counted.rules.items()
        if key in known.rules
    )
    classes: tuple[ClassDrift, ...] = ()
    if known.predicted is not None and counted.classes is not None:
        pairs = zip(graph.classes, known.predicted.tolist(), counted.classes, strict=True)
        classes = tuple(ClassDrift(label, "predicted", then, count / counted.rows) for label, then, count in pairs)
    few = counted.rows < LEAST_ROWS
    tests: list[_Test] = []
    if not few:
        rules, classes, _ = _judged(rules, classes, tests, known, counted.rows / known.together)
    return Drift(counted.rows, known.rows, (), rules, classes, few, len(tests))


def _judged(
    rules: tuple[RuleDrift, ...], classes: tuple[ClassDrift, ...], tests: list[_Test], known: KnownTable, size: float
) -> tuple[tuple[RuleDrift, ...], tuple[ClassDrift, ...], frozenset[tuple[str, str]]]:
    """Rules and classes, which say whether they changed, and the kinds and names of all differences of some size that
    are none by chance; tests: those of columns, to which those of rules and classes are added.
    """
    for rule in rules:
        chance = share_test(rule.now * size, size, rule.then * known.size, known.size)
        tests.append(_Test("rule", rule.id, chance, matters(rule.then, rule.now)))
    for of in dict.fromkeys(part.of for part in classes):
        parts = [part for part in classes if part.of == of]
        now = np.array([part.now for part in parts]) * size
        then = np.array([part.then for part in parts]) * known.size
        tests.append(_Test("class", of, homogeneity(now, then, in_order=False), any(map(_much, parts))))
    holds = rejected([test.chance for test in tests], RATE)
    found = frozenset((test.kind, test.name) for test, odd in zip(tests, holds, strict=True) if odd and test.matters)
    return (
        tuple(replace(rule, changed=("rule", rule.id) in found) for rule in rules),
        tuple(replace(part, changed=("class", part.of) in found and _much(part)) for part in classes),
        found,
    )


def matters(then: float, now: float) -> bool:
    """Whether a share changed by two points of percent, or by half a point to the double or the half."""
    change = abs(now - then)
    return change >= 0.02 or (change >= 0.005 and not then / 2.0 < now < 2.0 * then)


def _much(part: ClassDrift) -> bool:
    return matters(part.then, part.now)


# What is counted -----------------------------------------------------------------------------------------------------


def _column(name: str, known: KnownTable, column: ColumnOfToday, rows: RowsOfToday) -> ColumnDrift:
    shares = known.columns[name].missing, column.missing / rows.size
    rows_outside = column.unseen, column.below, column.above
    return ColumnDrift(name, *shares, dict(column.new), *rows_outside, _index(known, name, column, rows))


def _index(known: KnownTable, name: str, column: ColumnOfToday, rows: RowsOfToday) -> float:
    """The stability index; of a text the largest of its words'."""
    then = known.columns[name]
    if isinstance(then, KnownTexts):
        return max(
            stability_index(np.array([now, rows.size - now]), known.size * np.array([share, 1.0 - share]))
            for share, now in _words(then, column)
        )
    return stability_index(*_counts(known, name, column)) if column.n > 0.0 else 0.0


def _words(then: KnownTexts, column: ColumnOfToday) -> list[tuple[float, float]]:
    """Of texts without a word, and of those with each word, the share in training and how many there are today."""
    return [(then.wordless, column.wordless), *zip(then.shares.tolist(), column.counts.tolist(), strict=True)]


def _counts(known: KnownTable, name: str, column: ColumnOfToday) -> tuple[Array, Array]:
    """The known cells by bin or level, now and then; the new levels are one more."""
    then = known.columns[name]
    before = then.shares * known.size * (1.0 - then.missing)
    if isinstance(then, KnownLevels):
        new = max(0.0, column.n - float(column.counts.sum()))
        return np.append(column.counts, new), np.append(before, 0.0)
    return column.counts, before


def _rules(graph: RuleGraph, known: KnownTable, rows: RowsOfToday) -> Iterator[RuleDrift]:
    rules = tuple(rule for rule in rules_of(graph) if rule.id in known.rules)
    fired, start = np.zeros(len(rules)), 0
    for block in rows.counted.blocks(graph.used_features, _TOGETHER) if rules else ():
        active = firing(rules, rule_values(rules, block), block.n_rows)
        weight = np.ones(block.n_rows) if rows.weight is None else rows.weight[start : start + block.n_rows]
        fired += weight @ active
        start += block.n_rows
    total = float(rows.counted.n_rows) if rows.weight is None else float(rows.weight.sum())
    for rule, weight_of in zip(rules, fired.tolist(), strict=True):
        yield RuleDrift(rule.id, graph.classes[rule.class_index], known.rules[rule.id], weight_of / total)


def _classes(graph: RuleGraph, known: KnownTable, rows: RowsOfToday) -> Iterator[ClassDrift]:
    for of, then, codes in (("predicted", known.predicted, rows.labels), ("actual", known.actual, rows.y)):
        if then is not None and codes is not None and len(then) == len(graph.classes):
            now = rows.sums(codes, len(then)) / rows.size
            for label, before, share in zip(graph.classes, then.tolist(), now.tolist(), strict=True):
                yield ClassDrift(label, of, before, share)


# Tests ---------------------------------------------------------------------------------------------------------------

_OF_COLUMNS = frozenset({"missing", "new levels", "gone", "out of range", "distribution", "steps", "words"})


def _column_tests(
    feature: Feature, known: KnownTable, column: ColumnOfToday, drift: ColumnDrift, rows: RowsOfToday
) -> Iterator[_Test]:
    name, then = feature.name, known.columns[feature.name]
    chance = share_test(column.missing, rows.size, then.missing * known.size, known.size)
    yield _Test("missing", name, chance, matters(then.missing, drift.missing_now))
    if isinstance(then, KnownTexts):
        for share, count in _words(then, column):
            chance = share_test(count, rows.size, share * known.size, known.size)
            yield _Test("words", name, chance, matters(share, count / rows.size))
        return
    now, before = _counts(known, name, column)
    chance = homogeneity(now, before, in_order=isinstance(then, KnownNumbers))
    yield _Test("distribution", name, chance, drift.psi >= LEAST_PSI)
    if isinstance(then, KnownLevels):
        total = known.size + rows.size
        chance = _chance_of_new(column, before, total, rows)
        yield _Test("new levels", name, chance, column.unseen_share >= LEAST_SHARE)
        gone = [all_in_one(round(n), known.size, total) for n, own in zip(before, now, strict=True) if n and not own]
        missed = [share for share, own in zip(then.shares, now, strict=False) if share and not own]
        chance = min(1.0, len(then.levels) * min(gone, default=1.0))
        yield _Test("gone", name, chance, max(missed, default=0.0) >= _GONE_SHARE)
        return
    for beyond, far in ((column.below, column.far_below), (column.above, column.far_above)):
        chance = _chance_beyond(beyond, far, known, rows)
        much = beyond / rows.every.n_rows >= LEAST_SHARE or far >= beyond * _FAR
        yield _Test("out of range", name, chance, much)
    if then.grid:
        change = grid_change(then, column.values, known)
        yield _Test("steps", name, 1.0 if change is None else change.chance, change is not None)


def _chance_beyond(beyond: int, far: float, known: KnownTable, rows: RowsOfToday) -> float:
    """How likely it is that the most extreme rows are all among today's, and that far from those of training.

    The first is by division alone. A value m widths of the range beyond it counts as one of m, which holds of tails no
    heavier than that of 1 / x.
    """
    n = float(rows.every.n_rows)
    return all_in_one(beyond, n, n + known.rows) * math.exp(-far) if beyond else 1.0


def _chance_of_new(column: ColumnOfToday, before: Array, total: float, rows: RowsOfToday) -> float:
    """How likely so many levels, or so frequent a one, are all in today's rows by chance.

    A level of t rows in all is with probability (n)_t / (N)_t; the number of such levels is taken for Poisson.
    """
    if not column.unseen:
        return 1.0
    new = list(column.new.values()) or [column.unseen]
    n = float(rows.every.n_rows)
    n_all = n + total - rows.size
    known = [round(a + b) for a, b in zip(before, column.counts, strict=False)]
    chances = {t: all_in_one(t, n, n_all) for t in {*known, *new}}

    def mean(least: int) -> float:
        return sum(chances[t] for t in (*known, *new) if t >= least)

    many, frequent = at_least(len(new), mean(1)), at_least(1, mean(max(new)))
    return min(1.0, 2.0 * min(many, frequent))


def _facts(known: KnownTable, name: str, column: ColumnOfToday, rows: RowsOfToday) -> Alarms:
    """What is odd about a few rows, each by itself."""
    sides = ((column.below, column.far_below), (column.above, column.far_above))
    odd = {
        "new levels": column.unseen,
        "missing": column.missing and not known.columns[name].missing,
        "out of range": min(_chance_beyond(*side, known, rows) for side in sides) <= _RARE,
    }
    return frozenset(kind for kind, holds in odd.items() if holds)
