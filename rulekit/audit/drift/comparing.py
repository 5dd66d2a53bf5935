"""Rows compared with those that trained a model: every column, rule and class, with one rate of false alarms for all.

Every test has a probability under the hypothesis that rows of today and of training are drawn alike
(rulekit.audit.drift.significance). Holm's procedure over all tests of a table keeps the probability of any false alarm
at RATE; so that a table of millions of rows does not alarm for a trifle, a change must also be of some size.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rulekit.arrays import Array
from rulekit.audit.drift.counted import RuleCounts
from rulekit.audit.drift.findings import RATE, ClassDrift, ColumnDrift, Drift, RuleDrift
from rulekit.audit.drift.naming import Alarms, changes_of, grid_change
from rulekit.audit.drift.observed import ColumnOfToday, RowsOfToday, rows_of, seen
from rulekit.audit.drift.significance import all_in_one, at_least, homogeneity, rejected, share_test, stability_index
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import firing, rule_values, rules_of
from rulekit.schema import Feature
from rulekit.shown.table_figures import KnownLevels, KnownNumbers, KnownTable, KnownTexts, known_of
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
    new: Mapping[str, Mapping[str, int]] | None = None,
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
    rows = rows_of(
        table, labels, lambda part: decide(graph, part), weight=weight, y=y, new=new, most=most, together=known.together
    )
    columns = {name: seen(rows, graph.schema[name], column) for name, column in known.columns.items()}
    drifts = {name: _column(name, known, columns[name], rows) for name in known.columns}
    rules, classes = tuple(_rules(graph, known, rows)), tuple(_classes(graph, known, rows))
    few = table.n_rows < LEAST_ROWS
    tests: list[_Test] = []
    if few:
        alarms = {name: _facts(known, name, columns[name], rows) for name in known.columns}
    else:
        for name, column in columns.items():
            tests += _column_tests(graph.schema[name], known, column, drifts[name], rows)
        tests += [*_rule_tests(rules, known, rows.size), *_class_tests(classes, known, rows.size)]
        found = _found(tests)
        alarms = {name: frozenset(kind for kind in _OF_COLUMNS if (kind, name) in found) for name in columns}
        rules, classes = _marked(rules, classes, found)
    changes = changes_of(graph.schema, known, columns, alarms, rows) if any(alarms.values()) else {}
    done = tuple(replace(drift, changes=changes.get(name, ())) for name, drift in drifts.items())
    return Drift(table.n_rows, known.rows, done, rules, classes, few, len(tests))


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
    size = counted.rows / known.together
    tests = [] if few else [*_rule_tests(rules, known, size), *_class_tests(classes, known, size)]
    rules, classes = _marked(rules, classes, _found(tests))
    return Drift(counted.rows, known.rows, (), rules, classes, few, len(tests))


def _found(tests: Sequence[_Test]) -> frozenset[tuple[str, str]]:
    """The kinds and names of the differences that are none by chance, and of some size."""
    holds = rejected([test.chance for test in tests], RATE)
    return frozenset((test.kind, test.name) for test, odd in zip(tests, holds, strict=True) if odd and test.matters)


def _marked(
    rules: tuple[RuleDrift, ...], classes: tuple[ClassDrift, ...], found: frozenset[tuple[str, str]]
) -> tuple[tuple[RuleDrift, ...], tuple[ClassDrift, ...]]:
    return (
        tuple(replace(rule, changed=("rule", rule.id) in found) for rule in rules),
        tuple(replace(part, changed=("class", part.of) in found and _much(part)) for part in classes),
    )


def matters(then: float, now: float) -> bool:
    """Whether a share changed by two points of percent, or by half a point to the double or the half."""
    change = abs(now - then)
    return change >= 0.02 or (change >= 0.005 and not then / 2.0 < now < 2.0 * then)


def _much(part: ClassDrift) -> bool:
    return matters(part.then, part.now)


# What is counted -----------------------------------------------------------------------------------------------------


def _column(name: str, known: KnownTable, column: ColumnOfToday, rows: RowsOfToday) -> ColumnDrift:
    then = known.columns[name]
    return ColumnDrift(
        name,
        then.missing,
        column.missing / rows.size,
        dict(column.new),
        column.unseen,
        column.below,
        column.above,
        _index(known, name, column, rows),
    )


def _index(known: KnownTable, name: str, column: ColumnOfToday, rows: RowsOfToday) -> float:
    """The stability index; of a text the largest of its words'."""
    then = known.columns[name]
    if isinstance(then, KnownTexts):
        pairs = [(then.wordless, column.wordless), *zip(then.shares, column.counts, strict=True)]
        halves = [
            (np.array([now, rows.size - now]), known.size * np.array([share, 1.0 - share])) for share, now in pairs
        ]
        return max(stability_index(now, before) for now, before in halves)
    return stability_index(*_counts(known, name, column)) if column.n > 0.0 else 0.0


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
        yield from _word_tests(name, known, then, column, rows)
        return
    now, before = _counts(known, name, column)
    chance = homogeneity(now, before, in_order=isinstance(then, KnownNumbers))
    yield _Test("distribution", name, chance, drift.psi >= LEAST_PSI)
    if isinstance(then, KnownLevels):
        total = known.size + rows.size
        yield _Test("new levels", name, _chance_of_new(column, before, total, rows), column.unseen_share >= LEAST_SHARE)
        gone = [all_in_one(round(n), known.size, total) for n, own in zip(before, now, strict=True) if n and not own]
        missed = [share for share, own in zip(then.shares, now, strict=False) if share and not own]
        yield _Test(
            "gone", name, min(1.0, len(then.levels) * min(gone, default=1.0)), max(missed, default=0.0) >= _GONE_SHARE
        )
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


def _word_tests(
    name: str, known: KnownTable, then: KnownTexts, column: ColumnOfToday, rows: RowsOfToday
) -> Iterator[_Test]:
    pairs = [(then.wordless, column.wordless), *zip(then.shares.tolist(), column.counts.tolist(), strict=True)]
    for share, now in pairs:
        chance = share_test(now, rows.size, share * known.size, known.size)
        yield _Test("words", name, chance, matters(share, now / rows.size))


def _rule_tests(rules: tuple[RuleDrift, ...], known: KnownTable, size: float) -> Iterator[_Test]:
    for rule in rules:
        chance = share_test(rule.now * size, size, rule.then * known.size, known.size)
        yield _Test("rule", rule.id, chance, matters(rule.then, rule.now))


def _class_tests(classes: tuple[ClassDrift, ...], known: KnownTable, size: float) -> Iterator[_Test]:
    for of in ("predicted", "actual"):
        parts = [part for part in classes if part.of == of]
        if parts:
            now = np.array([part.now for part in parts]) * size
            then = np.array([part.then for part in parts]) * known.size
            yield _Test("class", of, homogeneity(now, then, in_order=False), any(map(_much, parts)))


def _facts(known: KnownTable, name: str, column: ColumnOfToday, rows: RowsOfToday) -> Alarms:
    """What is odd about a few rows, each by itself."""
    then, found = known.columns[name], set[str]()
    if column.unseen:
        found.add("new levels")
    if column.missing and not then.missing:
        found.add("missing")
    if isinstance(then, KnownNumbers) and (column.below or column.above):
        sides = ((column.below, column.far_below), (column.above, column.far_above))
        if min(_chance_beyond(*side, known, rows) for side in sides) <= _RARE:
            found.add("out of range")
    return frozenset(found)
