"""Names for what was done to the numbers of a column: a change that can be undone, so that they are as in training."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Array
from rulekit.audit.drift.significance import stability_index
from rulekit.graph.language.words import rounded_amount
from rulekit.schema import Feature
from rulekit.shown.statistics import bin_counts
from rulekit.shown.table_figures import KnownNumbers

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
class Undoing:
    """What was done, in words, and the stability index that is left when it is undone."""

    kind: str
    text: str
    left: float


@dataclass(frozen=True, slots=True)
class _Affine:
    """now = factor * then + offset."""

    kind: str
    text: str
    factor: float
    offset: float = 0.0


def undoing(feature: Feature, known: KnownNumbers, known_rows: float, values: Array) -> Undoing | None:
    """What was done to the values [n] of a column, so that without it they are as in training; None: nothing simple."""
    before = known.shares * known_rows * (1.0 - known.missing)
    raw = index_of(values, known, before)
    enough = near(known, before, len(values), raw)
    for candidates in (_exact(feature), _fitted(feature, known, before, values)):
        found = [Undoing(way.kind, way.text, _left(way, known, before, values)) for way in candidates]
        if found:
            best = min(way.left for way in found)
            if best <= enough:  # of about equally good ones the first, which is the simplest
                alike = max(best + enough / 10.0, min(noise_of(known, before, len(values)), enough))
                return next(way for way in found if way.left <= alike)
    return None


def _left(way: _Affine, known: KnownNumbers, before: Array, values: Array) -> float:
    """The stability index of values of which a change is undone."""
    return index_of((values - way.offset) / way.factor, known, before)


def near(known: KnownNumbers, before: Array, n: int, raw: float) -> float:
    """Below which index values count as those of training, where they have the index `raw` as they are."""
    return min(max(0.05, 2.0 * noise_of(known, before, n)), raw / 3.0)


def noise_of(known: KnownNumbers, before: Array, n: int) -> float:
    """The stability index that n values of the same distribution have on the average."""
    return (len(known.shares) - 1) * (1.0 / max(n, 1) + 1.0 / max(float(before.sum()), 1.0))


def index_of(values: Array, known: KnownNumbers, before: Array) -> float:
    """The stability index of values against the bins of training with so many rows."""
    return stability_index(bin_counts(np.asarray(values, dtype=np.float64), known.cuts).astype(np.float64), before)


def quantiles_of(known: KnownNumbers, at: Array) -> Array:
    """Quantiles of the training rows, straight lines within a bin."""
    ends = np.concatenate([[known.low], np.clip(known.cuts, known.low, known.high), [known.high]])
    return np.asarray(np.interp(at, np.concatenate([[0.0], np.cumsum(known.shares)]), ends))


def _exact(feature: Feature) -> Iterator[_Affine]:
    """What has no number of its own: a sign, a power of ten, another unit."""
    if feature.kind == "boolean":
        yield _Affine("exchanged", "yes and no are exchanged", -1.0, 1.0)
        return
    yield _Affine("sign", "the sign is changed", -1.0)
    for power in _POWERS:
        yield _Affine("times", f"{power:,.0f} times the values of training", power)
        yield _Affine("times", f"a {power:,.0f}th of the values of training", 1.0 / power)
    for factor, words in _FACTORS:
        small, large = words.split(", or ")[0].split(" in ")
        yield _Affine("unit", f"{factor:g} times the values of training, as {words}", factor)
        yield _Affine("unit", f"{1.0 / factor:.4g} times the values of training, as {large} in {small}", 1.0 / factor)
    for factor, offset, words in _OFFSETS:
        yield _Affine("unit", f"in another unit, as {words}", factor, offset)


def _fitted(feature: Feature, known: KnownNumbers, before: Array, values: Array) -> Iterator[_Affine]:
    """A shift, a wider spread, a factor, and both a shift and a spread: each by quantiles, and then as fits best."""
    if feature.kind == "boolean" or len(values) < 2:
        return
    then, now = quantiles_of(known, _QUANTILES), np.quantile(values, _QUANTILES)
    middle, there = float(then[4]), then != 0.0
    moves = now[7] > now[1] and then[7] > then[1]
    slope, level = (float(v) for v in np.polyfit(then, now, 1)) if moves else (0.0, 0.0)

    def shift(by: float) -> _Affine:
        return _Affine("shift", f"{_larger(by, feature)} than in training", 1.0, by)

    def spread(k: float) -> _Affine:
        return _Affine("spread", f"spread about {k:g} times as wide as in training", k, middle * (1.0 - k))

    def times(k: float) -> _Affine:
        return _Affine("times", f"about {k:g} times the values of training", k)

    def both(k: float) -> _Affine:
        offset = level + (slope - k) * middle
        words = _larger(float(f"{offset + (k - 1.0) * middle:.2g}"), feature)
        words = f"{words}, and spread about {k:g} times as wide, than in training"
        return _Affine("shift and spread", words, k, offset)

    noise = noise_of(known, before, len(values))
    ratio = float(np.median(now[there] / then[there])) if there.any() else 0.0
    for start, way in ((float(np.median(now - then)), shift), (slope, spread), (ratio, times), (slope, both)):
        if start and math.isfinite(start) and (start > 0.0 or way in (shift, times)):
            best = start
            if _left(way(start), known, before, values) > noise:
                left = [_left(way(start * (1.0 + step)), known, before, values) for step in _STEPS]
                best = start * (1.0 + _STEPS[int(np.argmin(left))])
            shortened = dict.fromkeys(float(f"{best:.{digits}g}") for digits in (1, 2, 4))
            yield from (way(value) for value in shortened if abs(value - best) <= _ROUNDING * abs(best))


def _larger(by: float, feature: Feature) -> str:
    return f"{'larger' if by > 0 else 'smaller'} by about {_difference(by, feature)}"


def _difference(by: float, feature: Feature) -> str:
    """An amount by which a column is shifted: of dates so many days or seconds."""
    unit = {"date": "days", "datetime": "seconds"}.get(feature.display)
    return f"{abs(by):,.12g} {unit}" if unit else rounded_amount(abs(by), feature)
