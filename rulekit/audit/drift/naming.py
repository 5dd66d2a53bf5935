"""What happened to each column whose rows are not like those of training, in words and as a word for machines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.audit.drift.findings import Shift
from rulekit.audit.drift.observed import ColumnOfToday, RowsOfToday
from rulekit.audit.drift.significance import share_test, stability_index
from rulekit.audit.drift.transformations import index_of, near, quantiles_of, undoing
from rulekit.graph.language.words import counted, listed, name, percent, quoted, rounded_amount
from rulekit.names import blanks_hint
from rulekit.schema import Feature, Schema
from rulekit.shown.statistics import UNITS_OF_GRIDS, on_grid
from rulekit.shown.table_figures import KnownLevels, KnownNumbers, KnownTable, KnownTexts

Alarms = frozenset[str]
"""Which tests of a column found a difference: "missing", "new levels", "gone", "out of range", "distribution", ..."""

_NAMED = 3
_ALL = 0.999
_UNNAMED = Shift("distribution", "distributed otherwise than in training")


def changes_of(
    schema: Schema,
    known: KnownTable,
    columns: Mapping[str, ColumnOfToday],
    alarms: Mapping[str, Alarms],
    rows: RowsOfToday,
) -> dict[str, tuple[Shift, ...]]:
    """By column what happened, for those of which a test says that something did."""
    odd = {own: tests for own, tests in alarms.items() if tests}
    partners = swapped(schema, known, columns, odd) if len(odd) > 1 else {}
    return {
        own: tuple(_changes(schema[own], known, columns[own], tests, rows, partners)) or (_UNNAMED,)
        for own, tests in odd.items()
    }


def _changes(
    feature: Feature,
    known: KnownTable,
    seen: ColumnOfToday,
    tests: Alarms,
    rows: RowsOfToday,
    partners: Mapping[str, str],
) -> Iterator[Shift]:
    then = known.columns[feature.name]
    if "missing" in tests:
        now = seen.missing / rows.size
        words = f"missing in {percent(now)} of rows ({percent(then.missing)} in training)"
        yield Shift("missing", "missing, as in no row of training" if rows.every.n_rows == 1 else words, now)
    if feature.name in partners:
        yield Shift("swapped", f"exchanged with {name(partners[feature.name])}", 1.0)
    elif isinstance(then, KnownNumbers):
        yield from _numbers(feature, known, then, seen, tests, rows)
    elif isinstance(then, KnownLevels):
        yield from _levels(known, then, seen, tests, rows)
    else:
        yield from _words(then, seen, tests, rows)


# Numbers -------------------------------------------------------------------------------------------------------------


def _numbers(
    feature: Feature, known: KnownTable, then: KnownNumbers, seen: ColumnOfToday, tests: Alarms, rows: RowsOfToday
) -> Iterator[Shift]:
    values = seen.values
    if "distribution" in tests or "steps" in tests:
        lone = _constant(feature, seen)
        if lone is not None:
            yield lone
            return
    steps = grid_change(then, values, known) if "steps" in tests else None
    sentinel = _sentinel(then, seen, steps is not None) if "out of range" in tests else None
    if sentinel is not None:
        share = float((values == sentinel).mean()) * (1.0 - seen.missing / rows.size)
        where = "below" if sentinel < then.low else "above"
        shown = rounded_amount(sentinel, feature)
        yield Shift("sentinel", f"{shown} in {percent(share)} of rows, {where} all of training", share)
        values = values[values != sentinel]
    before = then.shares * known.size * (1.0 - then.missing)
    raw = index_of(values, then, before)
    if "distribution" in tests and (sentinel is None or raw > 2.0 * near(then, before, len(values), np.inf)):
        done = undoing(feature, then, known.size, values)
        if done is not None:
            yield Shift(done.kind, done.text, min(1.0, raw))
            return
        if steps is not None and steps.now > steps.then and _moved(then, values) <= steps.unit:
            yield _stepped(steps)
            return
        yield Shift("distribution", _otherwise(feature, then, values), min(1.0, raw))
    elif "out of range" in tests and sentinel is None and not _within_a_step(then, seen, steps):
        yield Shift("out of range", _outside(feature, then, seen, rows), (seen.below + seen.above) / rows.every.n_rows)
    if steps is not None and sentinel is None:
        yield _stepped(steps)


def _within_a_step(then: KnownNumbers, seen: ColumnOfToday, steps: GridChange | None) -> bool:
    """Whether values lie outside the range of training by no more than a rounding."""
    return steps is not None and seen.lowest >= then.low - steps.unit and seen.highest <= then.high + steps.unit


def _constant(feature: Feature, seen: ColumnOfToday) -> Shift | None:
    values = seen.values
    if len(values) < 2 or (values != values[0]).any():
        return None
    shown = rounded_amount(float(values[0]), feature)
    if feature.kind == "boolean":
        shown = "yes" if values[0] else "no"
    return Shift("constant", f"the same in every row, {shown}", 1.0)


def _sentinel(then: KnownNumbers, seen: ColumnOfToday, rounded: bool) -> float | None:
    """The one value that most values outside the range of training are, if it is no ordinary one a little beyond."""
    outside = seen.values[(seen.values < then.low) | (seen.values > then.high)]
    if len(outside) < 3:
        return None
    values, counts = np.unique(outside, return_counts=True)
    most = int(np.argmax(counts))
    repeated = counts[most] >= max(3, 0.6 * len(outside)) and counts[most] < 0.9 * len(seen.values)
    value, width = float(values[most]), then.high - then.low
    far = value < then.low - width / 2.0 or value > then.high + width / 2.0
    odd = value < 0.0 <= then.low or set(f"{abs(value):.12g}") == {"9"} or (value == 0.0 and not rounded)
    return value if repeated and (far or odd) else None


def _outside(feature: Feature, then: KnownNumbers, seen: ColumnOfToday, rows: RowsOfToday) -> str:
    parts, n = [], rows.every.n_rows
    for count, bound, value, side, far in (
        (seen.below, then.low, seen.lowest, "below", "down to"),
        (seen.above, then.high, seen.highest, "above", "up to"),
    ):
        if count and n == 1:
            most = f"{rounded_amount(bound, feature)} at {'least' if side == 'below' else 'most'}"
            parts.append(f"{rounded_amount(value, feature)}, {side} all of training ({most})")
        elif count:
            share = counted(count, "row") if n < 1000 else f"{percent(count / n)} of rows"
            shown = f"{rounded_amount(bound, feature)}, {far} {rounded_amount(value, feature)}"
            parts.append(f"{share} {side} all of training, {shown}")
    return listed(parts)


def _moved(then: KnownNumbers, values: Floats) -> float:
    """How far the middle deciles are from those of training."""
    at = np.array([0.2, 0.4, 0.6, 0.8])
    return float(np.abs(np.quantile(values, at) - quantiles_of(then, at)).max()) if len(values) else 0.0


def _otherwise(feature: Feature, then: KnownNumbers, values: Floats) -> str:
    if feature.kind == "boolean":
        return f"yes in {percent(float((values > 0.5).mean()))} of rows ({percent(float(then.shares[-1]))} in training)"
    median = rounded_amount(float(np.median(values)), feature)
    unit = next((unit for unit, share in sorted(then.grid.items()) if share >= _ALL), 0.0)
    middle = float(quantiles_of(then, np.array([0.5]))[0])
    before = rounded_amount(round(middle / unit) * unit if unit else middle, feature)
    return f"distributed otherwise: median {median} ({before} in training)"


def _stepped(steps: GridChange) -> Shift:
    unit = f"{steps.unit:,g}"
    if steps.now > steps.then:
        words = f"multiples of {unit} in {percent(steps.now)} of rows ({percent(steps.then)} in training)"
        return Shift("rounded", f"rounded: {words}", steps.now - steps.then)
    what = "whole numbers" if steps.unit == 1.0 else f"multiples of {unit}"
    words = f"{percent(steps.now)} of rows are {what} ({percent(steps.then)} in training)"
    return Shift("fractions", f"less rounded: {words}", steps.then - steps.now)


# Levels and words ----------------------------------------------------------------------------------------------------


def _levels(
    known: KnownTable, then: KnownLevels, seen: ColumnOfToday, tests: Alarms, rows: RowsOfToday
) -> Iterator[Shift]:
    told = False
    if "new levels" in tests or (seen.unseen_share >= 0.5 and "distribution" in tests):
        yield _new(then, seen, rows)
        told = True
    shares = seen.counts / seen.n if seen.n else seen.counts
    if "distribution" in tests and seen.counts.max(initial=0.0) >= seen.n > 1.0 and then.shares.max() < 1.0:
        level = then.levels[int(np.argmax(seen.counts))]
        yield Shift("constant", f"the same in every row, {quoted(level)}", 1.0)
        return
    expected = then.shares * seen.n
    gone = [k for k in np.argsort(-then.shares).tolist() if not seen.counts[k] and expected[k] >= 5.0]
    everything_new = seen.unseen_share > 0.9
    if gone and ("gone" in tests or "distribution" in tests) and not everything_new:
        levels = [f"{quoted(then.levels[k])} ({percent(float(then.shares[k]))} in training)" for k in gone]
        more = [f"{len(levels) - _NAMED} more levels"] if len(levels) > _NAMED else []
        yield Shift("gone", f"no row has {listed([*levels[:_NAMED], *more], 'or')}", float(then.shares[gone].sum()))
        told = True
    if "distribution" in tests and not told:
        most = int(np.argmax(np.abs(shares - then.shares)))
        words = f"{quoted(then.levels[most])} in {percent(float(shares[most]))} of rows"
        words += f" ({percent(float(then.shares[most]))} in training)"
        yield Shift("distribution", words, float(np.abs(shares - then.shares).sum() / 2.0))


def _new(then: KnownLevels, seen: ColumnOfToday, rows: RowsOfToday) -> Shift:
    n = rows.every.n_rows
    if n == 1 and seen.new:
        return Shift("new levels", f"new level {quoted(next(iter(seen.new)))}", 1.0)
    share = "every row" if seen.unseen == n else f"{percent(seen.unseen / n)} of rows" if n >= 20 else ""
    share = share or counted(seen.unseen, "row")
    alike = {_plain(level): level for level in then.levels}
    respelled = [(level, alike[_plain(level)]) for level in seen.new if _plain(level) in alike]
    if respelled and sum(seen.new[level] for level, _ in respelled) >= 0.9 * seen.unseen:
        pairs = [f"{quoted(level)} for {quoted(known)}" for level, known in respelled[:_NAMED]]
        hint = blanks_hint(respelled)
        words = f"levels spelled otherwise in {share}: {', '.join(pairs)}{hint and f' ({hint})'}"
        return Shift("new levels", words, seen.unseen / n)
    named = [f"{quoted(level)} ({counted(count, 'row')})" for level, count in list(seen.new.items())[:_NAMED]]
    more = [f"{len(seen.new) - _NAMED} more"] if len(seen.new) > _NAMED else []
    words = f"new levels in {share}"
    return Shift("new levels", f"{words}: {listed([*named, *more])}" if named else words, seen.unseen / n)


def _plain(level: str) -> str:
    return "".join(level.split()).casefold().replace("_", "").replace("-", "")


def _words(then: KnownTexts, seen: ColumnOfToday, tests: Alarms, rows: RowsOfToday) -> Iterator[Shift]:
    if "words" not in tests:
        return
    now = seen.counts / rows.size
    without = seen.wordless / rows.size
    if without - then.wordless >= 0.1:
        words = f"no word of the rules in {percent(without)} of rows ({percent(then.wordless)} in training)"
        yield Shift("words", words, without - then.wordless)
        return
    apart = np.abs(now - then.shares)
    for k in np.argsort(-apart)[:_NAMED].tolist():
        if apart[k] >= max(0.02, apart.max() / 2.0):
            words = f"{quoted(then.words[k])} in {percent(float(now[k]))} of rows"
            yield Shift("words", f"{words} ({percent(float(then.shares[k]))} in training)", float(apart[k]))


_MOST = 40  # columns of which all pairs are looked at


def swapped(
    schema: Schema, known: KnownTable, columns: Mapping[str, ColumnOfToday], odd: Mapping[str, frozenset[str]]
) -> dict[str, str]:
    """By column the one with which it was exchanged, among those that are odd."""
    suspects = [own for own, tests in odd.items() if tests & {"distribution", "new levels", "out of range"}][:_MOST]
    pairs = []
    for a, b in itertools.combinations(suspects, 2):
        if schema[a].kind == schema[b].kind:
            left = max(_as_other(known, columns, a, b), _as_other(known, columns, b, a))
            if left <= 1.0:
                pairs.append((left, a, b))
    found: dict[str, str] = {}
    for _, a, b in sorted(pairs):
        if a not in found and b not in found:
            found |= {a: b, b: a}
    return found


def _as_other(known: KnownTable, columns: Mapping[str, ColumnOfToday], a: str, b: str) -> float:
    """How far a column is from what the other one was; up to 1 where it may be that."""
    own, other, seen = known.columns[a], known.columns[b], columns[a]
    if isinstance(own, KnownNumbers) and isinstance(other, KnownNumbers) and len(seen.values):
        before = own.shares * known.size * (1.0 - own.missing)
        theirs = other.shares * known.size * (1.0 - other.missing)
        raw = index_of(seen.values, own, before)
        return index_of(seen.values, other, theirs) / max(near(other, theirs, len(seen.values), raw), 1e-12)
    if isinstance(own, KnownLevels) and isinstance(other, KnownLevels):
        held = dict(zip(own.levels, seen.counts.tolist(), strict=True)) | {k: float(v) for k, v in seen.new.items()}
        now = np.array([*(held.get(level, 0.0) for level in other.levels), 0.0])
        now[-1] = max(0.0, sum(held.values()) - now.sum())
        theirs = np.append(other.shares * known.size * (1.0 - other.missing), 0.0)
        noise = len(now) * (1.0 / max(float(now.sum()), 1.0) + 1.0 / known.size)
        return stability_index(now, theirs) / max(0.05, 2.0 * noise)
    return float("inf")


_KNOWN_ROWS = 2048  # at least so many of the training rows were looked at, where there were as many
_LEAST_CHANGE = 0.2
_MOST_VALUES = 1 << 12


@dataclass(frozen=True, slots=True)
class GridChange:
    """The share of the values that are multiples of a unit, then and now, and the probability of such a change."""

    unit: float
    then: float
    now: float
    chance: float


def grid_change(known: KnownNumbers, values: Array, rows: KnownTable) -> GridChange | None:
    """How values are rounded more or less: the largest unit of which much more, or fewer, are multiples; or None.

    The probability is that of any of the units.
    """
    some = values[:: max(1, len(values) // _MOST_VALUES)]
    then_rows = min(_KNOWN_ROWS, rows.rows * (1.0 - known.missing))
    finest = min(known.grid, default=0.0)
    for unit in UNITS_OF_GRIDS if len(some) else ():
        then = known.grid.get(unit, 1.0 if unit < finest else 0.0)
        now = float(on_grid(some, unit).mean())
        if abs(now - then) >= _LEAST_CHANGE:
            chance = share_test(now * len(some), len(some), then * then_rows, then_rows)
            return GridChange(unit, then, now, min(1.0, chance * len(UNITS_OF_GRIDS)))
    return None
