"""What happened to each column whose rows are not like those of training, in words and as a word for machines.

What was done to the numbers of a column has a name where it can be undone, so that they are as in training.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Array, Floats
from rulekit.audit.drift.findings import Shift
from rulekit.audit.drift.observed import ColumnOfToday
from rulekit.audit.drift.significance import share_test, stability_index
from rulekit.graph.language.words import counted, listed, name, percent, quoted, rounded_amount
from rulekit.names import blanks_hint
from rulekit.schema import Feature
from rulekit.shown.statistics import UNITS_OF_GRIDS, bin_counts, on_grid
from rulekit.shown.table_figures import KnownColumn

Alarms = frozenset[str]
"""Which tests of a column found a difference: "missing", "new levels", "gone", "out of range", "distribution", ..."""

_NAMED = 3
_ALL = 0.999
_UNNAMED = Shift("distribution", "distributed otherwise than in training")


def changes_of(columns: Sequence[ColumnOfToday], alarms: Set[tuple[str, str]]) -> dict[str, tuple[Shift, ...]]:
    """Name the changes of each column that a test found different; alarms: the kind of each such test, its column."""
    tests = {column.name: frozenset(kind for kind, name in alarms if name == column.name) for column in columns}
    odd = [column for column in columns if tests[column.name]]
    partners = swapped(odd, tests)
    return {own.name: tuple(_changes(own, tests[own.name], partners)) or (_UNNAMED,) for own in odd}


def _changes(column: ColumnOfToday, tests: Alarms, partners: Mapping[str, str]) -> Iterator[Shift]:
    then, rows = column.then, column.rows
    if "missing" in tests:
        now = column.missing / rows.size
        words = f"missing in {_beside(now, then.missing)}"
        yield Shift("missing", "missing, as in no row of training" if rows.every.n_rows == 1 else words, now)
    if column.name in partners:
        yield Shift("swapped", f"exchanged with {name(partners[column.name])}", 1.0)
    elif column.feature.kind == "categorical":
        yield from _levels(column, then, tests)
    elif column.feature.kind != "text":
        yield from _numbers(column, then, tests)
    elif "words" in tests:
        yield from _words(column, then)


def _beside(now: float, then: float) -> str:
    return f"{percent(now)} of rows ({percent(then)} in training)"


# Numbers -------------------------------------------------------------------------------------------------------------


def _numbers(column: ColumnOfToday, then: KnownColumn, tests: Alarms) -> Iterator[Shift]:
    values, feature = column.values, column.feature
    if ("distribution" in tests or "steps" in tests) and len(values) > 1 and (values == values[0]).all():
        shown = "yes" if values[0] else "no"
        shown = shown if feature.kind == "boolean" else rounded_amount(float(values[0]), feature)
        yield Shift("constant", f"the same in every row, {shown}", 1.0)
        return
    steps = grid_change(column, values) if "steps" in tests else None
    sentinel = _sentinel(column, then, steps is not None) if "out of range" in tests else None
    if sentinel is not None:
        share = float((values == sentinel).mean()) * (1.0 - column.missing / column.rows.size)
        where = "below" if sentinel < then.low else "above"
        shown = rounded_amount(sentinel, feature)
        yield Shift("sentinel", f"{shown} in {percent(share)} of rows, {where} all of training", share)
        values = values[values != sentinel]
    raw = index_of(values, column)
    if "distribution" in tests and (sentinel is None or raw > 2.0 * near(column, len(values), np.inf)):
        done = undoing(column, values)
        if done is not None:
            yield Shift(done.kind, done.text, min(1.0, raw))
            return
        if steps is not None and steps.now > steps.then and _moved(then, values) <= steps.unit:
            yield _stepped(steps)
            return
        yield Shift("distribution", _otherwise(feature, then, values), min(1.0, raw))
    elif "out of range" in tests and sentinel is None:
        low, high = column.below.extreme, column.above.extreme
        # a rounding puts values outside of the range of training, too
        if steps is None or low < then.low - steps.unit or high > then.high + steps.unit:
            beyond = (column.below.rows + column.above.rows) / column.rows.every.n_rows
            yield Shift("out of range", _outside(column, then), beyond)
    if steps is not None and sentinel is None:
        yield _stepped(steps)


def _sentinel(column: ColumnOfToday, then: KnownColumn, rounded: bool) -> float | None:
    """The one value that most values outside the range of training are, if it is no ordinary one a little beyond."""
    outside = column.values[(column.values < then.low) | (column.values > then.high)]
    if len(outside) < 3:
        return None
    values, counts = np.unique(outside, return_counts=True)
    most = int(np.argmax(counts))
    repeated = counts[most] >= max(3, 0.6 * len(outside)) and counts[most] < 0.9 * len(column.values)
    value, width = float(values[most]), then.high - then.low
    far = value < then.low - width / 2.0 or value > then.high + width / 2.0
    odd = value < 0.0 <= then.low or set(f"{abs(value):.12g}") == {"9"} or (value == 0.0 and not rounded)
    return value if repeated and (far or odd) else None


def _outside(column: ColumnOfToday, then: KnownColumn) -> str:
    parts, n = [], column.rows.every.n_rows
    sides = (column.below, then.low, "below", "down to", "least"), (column.above, then.high, "above", "up to", "most")
    for beyond, bound, side, far, end in sides:
        most, value = (rounded_amount(each, column.feature) for each in (bound, beyond.extreme))
        if beyond.rows and n == 1:
            parts.append(f"{value}, {side} all of training ({most} at {end})")
        elif beyond.rows:
            share = counted(beyond.rows, "row") if n < 1000 else f"{percent(beyond.rows / n)} of rows"
            parts.append(f"{share} {side} all of training, {most}, {far} {value}")
    return listed(parts)


def _moved(then: KnownColumn, values: Floats) -> float:
    at = np.array([0.2, 0.4, 0.6, 0.8])
    return float(np.abs(np.quantile(values, at) - quantiles_of(then, at)).max()) if len(values) else 0.0


def _otherwise(feature: Feature, then: KnownColumn, values: Floats) -> str:
    if feature.kind == "boolean":
        return f"yes in {_beside(float((values > 0.5).mean()), float(then.shares[-1]))}"
    median = rounded_amount(float(np.median(values)), feature)
    unit = next((unit for unit, share in sorted(then.grid.items()) if share >= _ALL), 0.0)
    middle = float(quantiles_of(then, np.array([0.5]))[0])
    before = rounded_amount(round(middle / unit) * unit if unit else middle, feature)
    return f"distributed otherwise: median {median} ({before} in training)"


# Levels and words ----------------------------------------------------------------------------------------------------


def _levels(column: ColumnOfToday, then: KnownColumn, tests: Alarms) -> Iterator[Shift]:
    told = False
    if "new levels" in tests or (column.unseen_share >= 0.5 and "distribution" in tests):
        yield _new(column, then)
        told = True
    shares = column.counts / column.n if column.n else column.counts
    if "distribution" in tests and column.counts.max(initial=0.0) >= column.n > 1.0 and then.shares.max() < 1.0:
        level = then.names[int(np.argmax(column.counts))]
        yield Shift("constant", f"the same in every row, {quoted(level)}", 1.0)
        return
    expected = then.shares * column.n
    gone = [k for k in np.argsort(-then.shares).tolist() if not column.counts[k] and expected[k] >= 5.0]
    if gone and tests & {"gone", "distribution"} and column.unseen_share <= 0.9:
        levels = [f"{quoted(then.names[k])} ({percent(float(then.shares[k]))} in training)" for k in gone]
        more = [f"{len(levels) - _NAMED} more levels"] if len(levels) > _NAMED else []
        yield Shift("gone", f"no row has {listed([*levels[:_NAMED], *more], 'or')}", float(then.shares[gone].sum()))
        told = True
    if "distribution" in tests and not told:
        apart = np.abs(shares - then.shares)
        k = int(np.argmax(apart))
        words = f"{quoted(then.names[k])} in {_beside(float(shares[k]), float(then.shares[k]))}"
        yield Shift("distribution", words, float(apart.sum() / 2.0))


def _new(column: ColumnOfToday, then: KnownColumn) -> Shift:
    n, new = column.rows.every.n_rows, column.new
    if n == 1 and new:
        return Shift("new levels", f"new level {quoted(next(iter(new)))}", 1.0)
    share = counted(column.unseen, "row") if n < 20 else f"{percent(column.unseen / n)} of rows"
    share = "every row" if column.unseen == n else share
    alike = {_plain(level): level for level in then.names}
    respelled = [(level, alike[_plain(level)]) for level in new if _plain(level) in alike]
    words = f"new levels in {share}"
    if respelled and sum(new[level] for level, _ in respelled) >= 0.9 * column.unseen:
        pairs = [f"{quoted(level)} for {quoted(known)}" for level, known in respelled[:_NAMED]]
        hint = blanks_hint(respelled)
        words = f"levels spelled otherwise in {share}: {', '.join(pairs)}{hint and f' ({hint})'}"
    elif new:
        named = [f"{quoted(level)} ({counted(count, 'row')})" for level, count in list(new.items())[:_NAMED]]
        words += f": {listed([*named, *[f'{len(new) - _NAMED} more'] * (len(new) > _NAMED)])}"
    return Shift("new levels", words, column.unseen / n)


def _plain(level: str) -> str:
    return "".join(level.split()).casefold().replace("_", "").replace("-", "")


def _words(column: ColumnOfToday, then: KnownColumn) -> Iterator[Shift]:
    now, without = column.counts / column.rows.size, column.wordless / column.rows.size
    if without - then.wordless >= 0.1:
        words = f"no word of the rules in {_beside(without, then.wordless)}"
        yield Shift("words", words, without - then.wordless)
        return
    apart = np.abs(now - then.shares)
    for k in np.argsort(-apart)[:_NAMED].tolist():
        if apart[k] >= max(0.02, apart.max() / 2.0):
            words = f"{quoted(then.names[k])} in {_beside(float(now[k]), float(then.shares[k]))}"
            yield Shift("words", words, float(apart[k]))


# Columns that were exchanged -----------------------------------------------------------------------------------------

_MOST = 40  # columns of which all pairs are looked at


def swapped(odd: Sequence[ColumnOfToday], tests: Mapping[str, Alarms]) -> dict[str, str]:
    """By column the one with which it was exchanged, among those that are odd."""
    suspects = [own for own in odd if tests[own.name] & {"distribution", "new levels", "out of range"}][:_MOST]
    pairs = []
    for a, b in itertools.combinations(suspects, 2):
        if a.feature.kind == b.feature.kind and (left := max(_as_other(a, b), _as_other(b, a))) <= 1.0:
            pairs.append((left, a.name, b.name))
    found: dict[str, str] = {}
    for _, one, other in sorted(pairs):
        if one not in found and other not in found:
            found |= {one: other, other: one}
    return found


def _as_other(column: ColumnOfToday, other: ColumnOfToday) -> float:
    """How far a column is from what the other one was; up to 1 where it may be that."""
    n = len(column.values)
    if column.feature.kind != "categorical":
        if not n:  # texts, too
            return math.inf
        return index_of(column.values, other) / max(near(other, n, index_of(column.values, column)), 1e-12)
    held = dict(zip(column.then.names, column.counts.tolist(), strict=True)) | dict(column.new)
    now = np.array([*(held.get(level, 0.0) for level in other.then.names), 0.0])
    now[-1] = max(0.0, sum(held.values()) - now.sum())
    noise = len(now) * (1.0 / max(float(now.sum()), 1.0) + 1.0 / other.rows.known.size)
    return stability_index(now, np.append(other.before, 0.0)) / max(0.05, 2.0 * noise)


# Roundings -----------------------------------------------------------------------------------------------------------

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


def grid_change(column: ColumnOfToday, values: Array) -> GridChange | None:
    """How values are rounded more or less: the largest unit of which much more, or fewer, are multiples; or None.

    The probability is that of any of the units.
    """
    grid, some = column.then.grid, values[:: max(1, len(values) // _MOST_VALUES)]
    then_rows = min(_KNOWN_ROWS, column.rows.known.rows * (1.0 - column.then.missing))
    finest = min(grid, default=0.0)
    for unit in UNITS_OF_GRIDS if len(some) else ():
        then, now = grid.get(unit, 1.0 if unit < finest else 0.0), float(on_grid(some, unit).mean())
        if abs(now - then) >= _LEAST_CHANGE:
            chance = share_test(now * len(some), len(some), then * then_rows, then_rows)
            return GridChange(unit, then, now, min(1.0, chance * len(UNITS_OF_GRIDS)))
    return None


def _stepped(steps: GridChange) -> Shift:
    unit = f"multiples of {steps.unit:,g}"
    if steps.now > steps.then:
        return Shift("rounded", f"rounded: {unit} in {_beside(steps.now, steps.then)}", steps.now - steps.then)
    what = "whole numbers" if steps.unit == 1.0 else unit
    words = f"{percent(steps.now)} of rows are {what} ({percent(steps.then)} in training)"
    return Shift("fractions", f"less rounded: {words}", steps.then - steps.now)


# What was done to numbers --------------------------------------------------------------------------------------------

_FACTORS = (
    (2.54, "inches in centimetres"),
    (25.4, "inches in millimetres"),
    (3.28084, "metres in feet"),
    (1.609344, "miles in kilometres"),
    (2.2046226, "kilograms in pounds"),
    (28.349523, "ounces in grams"),
    (3.7854118, "gallons in litres"),
    (12.0, "years in months"),
    (7.0, "weeks in days"),
    (24.0, "days in hours"),
    (365.25, "years in days"),
    (60.0, "minutes in seconds, or hours in minutes"),
    (3600.0, "hours in seconds"),
    (86400.0, "days in seconds"),
    (57.29578, "radians in degrees"),
    (4.184, "calories in joules"),
    (18.0156, "mmol/l of glucose in mg/dl"),
)
_OFFSETS = (
    (1.8, 32.0, "degrees Celsius in degrees Fahrenheit"),
    (1.0 / 1.8, -32.0 / 1.8, "degrees Fahrenheit in degrees Celsius"),
    (1.0, 273.15, "degrees Celsius in kelvin"),
    (1.0, -273.15, "kelvin in degrees Celsius"),
)
_POWERS = tuple(10.0**k for k in range(1, 10))
_STEPS = tuple(k / 50.0 for k in range(-12, 13))  # around what quantiles say, in parts of it
_ROUNDING = 0.05
_QUANTILES = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])


@dataclass(frozen=True, slots=True)
class Affine:
    """What may have been done, in words: now = factor * then + offset."""

    kind: str
    text: str
    factor: float
    offset: float = 0.0


def undoing(column: ColumnOfToday, values: Floats) -> Affine | None:
    """What was done to the values [n] of a column, so that without it they are as in training; None: nothing simple."""
    enough = near(column, len(values), index_of(values, column))
    for candidates in (_exact(column.feature), _fitted(column, values)):
        found = [(way, _left(way, column, values)) for way in candidates]
        best = min((left for _, left in found), default=math.inf)
        if best <= enough:  # of about equally good ones the first, which is the simplest
            alike = max(best + enough / 10.0, min(noise_of(column, len(values)), enough))
            return next(way for way, left in found if left <= alike)
    return None


def _left(way: Affine, column: ColumnOfToday, values: Floats) -> float:
    return index_of((values - way.offset) / way.factor, column)


def near(column: ColumnOfToday, n: int, raw: float) -> float:
    """Below which index values count as those of training, where they have the index `raw` as they are."""
    return min(max(0.05, 2.0 * noise_of(column, n)), raw / 3.0)


def noise_of(column: ColumnOfToday, n: int) -> float:
    """The stability index that n values of the same distribution have on the average."""
    return (len(column.before) - 1) * (1.0 / max(n, 1) + 1.0 / max(float(column.before.sum()), 1.0))


def index_of(values: Floats, column: ColumnOfToday) -> float:
    """The stability index of values against the bins of a column in training."""
    return stability_index(bin_counts(values, column.then.cuts).astype(np.float64), column.before)


def quantiles_of(known: KnownColumn, at: Array) -> Array:
    """Quantiles of the training rows, straight lines within a bin."""
    ends = np.concatenate([[known.low], np.clip(known.cuts, known.low, known.high), [known.high]])
    return np.asarray(np.interp(at, np.concatenate([[0.0], np.cumsum(known.shares)]), ends))


def _exact(feature: Feature) -> Iterator[Affine]:
    """What has no number of its own: a sign, a power of ten, another unit."""
    if feature.kind == "boolean":
        yield Affine("exchanged", "yes and no are exchanged", -1.0, 1.0)
        return
    yield Affine("sign", "the sign is changed", -1.0)
    for power in _POWERS:
        yield Affine("times", f"{power:,.0f} times the values of training", power)
        yield Affine("times", f"a {power:,.0f}th of the values of training", 1.0 / power)
    for factor, words in _FACTORS:
        small, large = words.split(", or ")[0].split(" in ")
        yield Affine("unit", f"{factor:g} times the values of training, as {words}", factor)
        yield Affine("unit", f"{1.0 / factor:.4g} times the values of training, as {large} in {small}", 1.0 / factor)
    for factor, offset, words in _OFFSETS:
        yield Affine("unit", f"in another unit, as {words}", factor, offset)


def _fitted(column: ColumnOfToday, values: Floats) -> Iterator[Affine]:
    """A shift, a wider spread, a factor, and both a shift and a spread: each by quantiles, and then as fits best."""
    feature, known = column.feature, column.then
    if feature.kind == "boolean" or len(values) < 2:
        return
    then, now = quantiles_of(known, _QUANTILES), np.quantile(values, _QUANTILES)
    middle, there = float(then[4]), then != 0.0
    moves = now[7] > now[1] and then[7] > then[1]
    slope, level = (float(v) for v in np.polyfit(then, now, 1)) if moves else (0.0, 0.0)

    def shift(by: float) -> Affine:
        return Affine("shift", f"{_larger(by, feature)} than in training", 1.0, by)

    def spread(k: float) -> Affine:
        return Affine("spread", f"spread about {k:g} times as wide as in training", k, middle * (1.0 - k))

    def times(k: float) -> Affine:
        return Affine("times", f"about {k:g} times the values of training", k)

    def both(k: float) -> Affine:
        offset = level + (slope - k) * middle
        words = _larger(float(f"{offset + (k - 1.0) * middle:.2g}"), feature)
        words = f"{words}, and spread about {k:g} times as wide, than in training"
        return Affine("shift and spread", words, k, offset)

    noise = noise_of(column, len(values))
    ratio = float(np.median(now[there] / then[there])) if there.any() else 0.0
    for start, way in ((float(np.median(now - then)), shift), (slope, spread), (ratio, times), (slope, both)):
        if start and math.isfinite(start) and (start > 0.0 or way in (shift, times)):
            best = start
            if _left(way(start), column, values) > noise:
                left = [_left(way(start * (1.0 + step)), column, values) for step in _STEPS]
                best = start * (1.0 + _STEPS[int(np.argmin(left))])
            shortened = dict.fromkeys(float(f"{best:.{digits}g}") for digits in (1, 2, 4))
            yield from (way(value) for value in shortened if abs(value - best) <= _ROUNDING * abs(best))


def _larger(by: float, feature: Feature) -> str:
    """By how much a column is shifted: of dates so many days or seconds."""
    unit = {"date": "days", "datetime": "seconds"}.get(feature.display)
    shown = f"{abs(by):,.12g} {unit}" if unit else rounded_amount(abs(by), feature)
    return f"{'larger' if by > 0 else 'smaller'} by about {shown}"
