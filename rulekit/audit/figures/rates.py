"""What a rate and a reported probability are worth: intervals, figures by group of rows, calibration.

A rate has the exact interval of Clopper and Pearson; a difference and a ratio of two rates of different rows join the
exact limits of both (method of variance estimates recovery), which holds 95 % where the same with the limits of Wilson
falls to 92 % on ten rows. Weighted rows count as their effective number, (sum w)^2 / sum w^2 (L. Kish, Survey Sampling,
1965), which need not be whole.

Of groups one class is asked about (of two classes the positive one): a row is selected where the model decides for it.
Five rates: selection rate, true positive rate, false positive rate, accuracy and precision, in the sense of S. Barocas,
M. Hardt and A. Narayanan, Fairness and Machine Learning (2023), chapter 3: independence compares the first, separation
the next two, sufficiency the last. The reference is the group of most weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Array, Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.graph.language.figures import finite
from rulekit.graph.language.words import name, quoted, rounded_amount
from rulekit.graph.rule_graph import ClassLabel
from rulekit.names import printable, wrapped
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Feature

LEVEL = 0.95


class IntervalEnds(NamedTuple):
    """The ends of intervals, arrays of one shape; infinite where nothing bounds a ratio, NaN where nothing is known."""

    low: Floats
    high: Floats


def effective_rows(weight: Array | None, n_rows: int) -> float:
    """How many rows of equal weight say as much as these weights [n]; 0 where all weigh nothing."""
    if weight is None:
        return float(n_rows)
    largest = float(np.max(weight, initial=0.0))
    if largest == 0.0:
        return 0.0
    scaled = np.asarray(weight, dtype=np.float64) / largest
    return float(scaled.sum() ** 2 / (scaled**2).sum())


def exact_bounds(share: npt.ArrayLike, n: npt.ArrayLike, level: float = LEVEL) -> IntervalEnds:
    """The intervals of shares seen on n rows; NaN where n is 0.

    C. Clopper and E. Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, 1934;
    by quantiles of the beta distribution, which takes an n that is not whole as well.
    """
    from scipy.special import betaincinv

    share, n = np.broadcast_arrays(np.asarray(share, dtype=np.float64), np.asarray(n, dtype=np.float64))
    tail = (1.0 - level) / 2.0
    known = (n > 0) & np.isfinite(share)
    rows = np.where(known, n, 1.0)
    right = np.where(known, share, 0.0) * rows
    right = np.where(np.abs(right - np.round(right)) < 1e-9 * rows, np.round(right), right)  # 3 / 7 * 7 is not 3
    wrong = rows - right
    some, most = right > 0, wrong > 0
    low = np.where(some, betaincinv(np.where(some, right, 1.0), wrong + 1.0, tail), 0.0)
    high = np.where(most, betaincinv(right + 1.0, np.where(most, wrong, 1.0), 1.0 - tail), 1.0)
    return IntervalEnds(np.where(known, low, np.nan), np.where(known, high, np.nan))


def compared_bounds(
    share: npt.ArrayLike, n: npt.ArrayLike, other: npt.ArrayLike, m: npt.ArrayLike, level: float = LEVEL
) -> tuple[IntervalEnds, IntervalEnds]:
    """The intervals of share - other and of share / other, rates seen on n and on m other rows.

    R. Newcombe, Interval estimation for the difference between independent proportions, 1998, method 10, with exact
    limits of the two rates in the place of Wilson's. The ratio: G. Zou and A. Donner, Construction of confidence limits
    about effect measures: a general approach, 2008, on the logarithms of exact limits; where a rate is 0, and has no
    logarithm, the outermost quotient of the limits. It has no upper end where other may be 0.
    """
    p, q = np.asarray(share, dtype=np.float64), np.asarray(other, dtype=np.float64)
    of, by = exact_bounds(p, n, level), exact_bounds(q, m, level)
    apart = IntervalEnds(p - q - np.hypot(p - of.low, by.high - q), p - q + np.hypot(of.high - p, q - by.low))
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = np.log(p / q)
        low = np.exp(middle - np.hypot(np.log(p / of.low), np.log(by.high / q)))
        high = np.exp(middle + np.hypot(np.log(of.high / p), np.log(q / by.low)))
        low = np.where(p == 0.0, 0.0, np.where(q == 0.0, of.low / by.high, low))
        high = np.where(by.low == 0.0, np.inf, np.where(p == 0.0, of.high / by.low, high))
    known = np.isfinite(of.low) & np.isfinite(by.low)
    return apart, IntervalEnds(np.where(known, low, np.nan), np.where(known, high, np.nan))


# Operating characteristic and calibration -----------------------------------------------------------------------------


BINS = 10
MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """The rates of deciding for a class where its probability is this threshold or more; None: nowhere."""

    threshold: float | None
    false_positive_rate: float
    true_positive_rate: float


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Rows whose reported probability lies in one tenth: their mean probability, and how often what it says happened.

    rows, share_of_rows: how many there are, and their share of the weight. low, high: the exact interval of `happened`.
    """

    rows: int
    share_of_rows: float
    mean_probability: float
    happened: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Tenths of the reported probability, and the mean distance between what is reported and what happens.

    error: C. Guo, G. Pleiss, Y. Sun and K. Weinberger, On Calibration of Modern Neural Networks, 2017, equation 3.
    brier: the mean squared distance (G. Brier, Verification of forecasts expressed in terms of probability, 1950).
    """

    bins: tuple[CalibrationBin, ...]
    error: float
    brier: float


def operating_points(is_label: Bools, chance: Floats, weight: Floats | None = None) -> tuple[OperatingPoint, ...]:
    """The operating characteristic from nowhere to everywhere; empty where all rows or none are of the class.

    is_label, chance, weight [n]. Of more than 200 points evenly spaced ones are kept.
    """
    mass = np.ones(len(is_label)) if weight is None else weight
    values, place = np.unique(chance, return_inverse=True)
    right, wrong = (np.bincount(place, mass * of, len(values))[::-1].cumsum() for of in (is_label, ~is_label))
    if not (right[-1] > 0 and wrong[-1] > 0):
        return ()
    kept = np.arange(len(values))
    if len(kept) > MOST_POINTS:
        kept = np.unique(np.linspace(0, len(kept) - 1, MOST_POINTS).round().astype(np.int64))
    thresholds = values[::-1]
    points = zip(thresholds[kept], wrong[kept] / wrong[-1], right[kept] / right[-1], strict=True)
    return (OperatingPoint(None, 0.0, 0.0), *(OperatingPoint(*map(float, point)) for point in points))


def decided_at(is_label: Bools, decided: Bools, mass: Floats) -> list[float] | None:
    """False and true positive rate of a decision [n] on rows of weights [n]; None where one is not defined."""
    sides = [(~is_label, mass[~is_label].sum()), (is_label, mass[is_label].sum())]
    return [float(mass[decided & rows].sum() / of) for rows, of in sides] if all(of for _, of in sides) else None


def happened_where_reported(y: Ints, chances: Floats, classes: Sequence[Any]) -> tuple[Bools, Floats, str]:
    """Where what was reported happened [n], how probable it was [n], and what it is: of two classes the positive one,
    else the likeliest.
    """
    if len(classes) == 2:
        return y == 1, chances[:, 1], quoted(classes[1])
    return y == chances.argmax(axis=1), chances.max(axis=1), "the most probable class"


def calibration(happened: Bools, chance: Floats, weight: Floats | None = None) -> Calibration:
    """How often it happened [n] where this probability [n] was reported, by tenths of it."""
    mass = np.ones(len(happened)) if weight is None else weight
    tenth = np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    total = np.bincount(tenth, mass, BINS)
    used = np.flatnonzero(total > 0)
    rows = np.bincount(tenth[mass > 0], minlength=BINS)
    largest = float(mass.max(initial=0.0)) or 1.0
    squares = np.bincount(tenth, (mass / largest) ** 2, BINS)

    def mean(values: Any) -> Floats:
        found: Floats = np.bincount(tenth, mass * values, BINS)[used] / total[used]
        return found

    reported, seen = mean(chance), mean(happened)
    low, high = exact_bounds(seen, (total[used] / largest) ** 2 / squares[used])
    share = total[used] / total.sum()
    bins = tuple(
        CalibrationBin(int(rows[bin_]), *map(float, values))
        for bin_, *values in zip(used, share, reported, seen, low, high, strict=True)
    )
    error = float((share * np.abs(reported - seen)).sum())
    return Calibration(bins, error, float(np.average((chance - happened) ** 2, weights=mass)))


# Groups --------------------------------------------------------------------------------------------------------------

MEASURES = ("selection rate", "true positive rate", "false positive rate", "accuracy", "precision")
SMALL = 30
"""Effective rows below which a rate is called small: its interval is wide, whatever it is."""


@dataclass(frozen=True, slots=True)
class ComparedRate:
    """A number beside that of the reference, with its interval of 95 %; None where it is not defined or not bounded."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class GroupRate:
    """One rate of one group.

    rows, effective_n: how many rows it is a share of, and how many of equal weight say as much. share: None of no rows.
    low, high: its interval of 95 %. difference, ratio: against the reference; None of the reference itself.
    """

    measure: str
    rows: int
    effective_n: float
    share: float | None
    low: float | None
    high: float | None
    difference: ComparedRate | None = None
    ratio: ComparedRate | None = None

    @property
    def compared(self) -> tuple[str, str]:
        """The difference in percentage points and the ratio in words."""
        return _compared_text(self.difference, 100.0, signed=True), _compared_text(self.ratio, places=2)


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The rates of one group in the order of MEASURES, its rows, and their share of the weight."""

    name: str
    rows: int
    effective_n: float
    share_of_rows: float
    rates: tuple[GroupRate, ...]

    def rate(self, measure: str) -> GroupRate:
        """The rate of a measure."""
        return self.rates[MEASURES.index(measure)]


@dataclass(frozen=True, slots=True)
class Parity:
    """The groups of a column, for one class; reference: the name of the group with which the others are compared."""

    column: str
    label: ClassLabel
    reference: str
    groups: tuple[GroupFigures, ...]

    @property
    def spread(self) -> dict[str, float | None]:
        """By measure the largest difference between two groups; None where fewer than two groups have it."""
        found: dict[str, float | None] = {}
        for measure in MEASURES:
            shares = [share for group in self.groups if (share := group.rate(measure).share) is not None]
            found[measure] = max(shares) - min(shares) if len(shares) > 1 else None
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Which group each row is in: the name of the column, those of the groups, and their index [n]."""

    column: str
    names: tuple[str, ...]
    codes: Ints


def parities(
    groupings: Iterable[Grouping], classes: Sequence[ClassLabel], y: Ints, decided: Ints, weight: Floats | None = None
) -> tuple[Parity, ...]:
    """The figures of every grouping for the positive class, or of more than two classes for each."""
    asked = range(1 if len(classes) == 2 else 0, len(classes))
    return tuple(parity(each, classes[k], y == k, decided == k, weight) for each in groupings for k in asked)


def parity(
    grouping: Grouping, label: ClassLabel, is_label: Bools, decided: Bools, weight: Floats | None = None
) -> Parity:
    """The rates of every group; is_label, decided, weight [n]: rows of the class, decided for it, and their weights."""
    codes, count = grouping.codes, len(grouping.names)
    mass = np.ones(len(codes)) if weight is None else weight
    everything = np.ones(len(codes), dtype=bool)
    total: Floats = np.bincount(codes, mass, count).astype(np.float64)
    place = int(np.argmax(total))
    asked = (  # what is found among which rows, in the order of MEASURES
        (decided, everything),
        (decided, is_label),
        (decided, ~is_label),
        (decided == is_label, everything),
        (is_label, decided),
    )
    rates = [
        _rates(measure, event, among, codes, mass, count, place)
        for measure, (event, among) in zip(MEASURES, asked, strict=True)
    ]
    groups = tuple(
        GroupFigures(name, of[0].rows, of[0].effective_n, float(total[g] / total.sum()) if total.sum() else 0.0, of)
        for g, (name, of) in enumerate(zip(grouping.names, zip(*rates, strict=True), strict=True))
    )
    return Parity(grouping.column, label, grouping.names[place], groups)


def _rates(
    measure: str, event: Bools, among: Bools, codes: Ints, mass: Floats, count: int, reference: int
) -> list[GroupRate]:
    """How often an event is found among some rows, group by group."""
    rows = np.bincount(codes[among & (mass > 0)], minlength=count)
    total, right = (np.bincount(codes, mass * where, count) for where in (among, among & event))
    largest = float(mass.max(initial=0.0)) or 1.0  # squares of tiny weights are 0
    squares = np.bincount(codes, (mass / largest) ** 2 * among, count)
    some = total > 0
    n = np.where(some, (total / largest) ** 2 / np.where(squares > 0, squares, 1.0), 0.0)
    share = np.where(some, right / np.where(some, total, 1.0), np.nan)
    apart, quotient = compared_bounds(share, n, share[reference], n[reference])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (share / share[reference], *quotient)
    own, difference = (share, *exact_bounds(share, n)), (share - share[reference], *apart)

    def compared(found: Sequence[Floats], g: int) -> ComparedRate:
        value, low, high = (finite(each[g]) for each in found)
        return ComparedRate(value, low, high)

    rates = []
    for g in range(count):
        seen, beside = compared(own, g), (compared(difference, g), compared(ratio, g)) if g != reference else ()
        rates.append(GroupRate(measure, int(rows[g]), float(n[g]), seen.value, seen.low, seen.high, *beside))
    return rates


MOST_GROUPS = 12
_FEW_NUMBERS = 6
_QUARTERS = (0.25, 0.5, 0.75)
MISSING, NEW = "(missing)", "(new level)"


def grouping_of(feature: Feature, array: Any) -> Grouping:
    """The groups of the rows of an encoded column [n]; groups without a row are left out.

    Of more than twelve levels the smallest are put together. Numbers of more than six values are parted at their
    quartiles. Raises InputError for a text.
    """
    if feature.kind == "text":
        raise InputError("a text has no groups", where=f"column {feature.name!r}", fix="group by another column")
    if feature.kind == "categorical":
        names = {MISSING_CODE: MISSING, MISSING_CODE + 1: NEW}
        names |= {FIRST_LEVEL_CODE + k: printable(level) for k, level in enumerate(feature.levels)}
        return _together(feature.name, names, np.asarray(array, dtype=np.int64), feature.ordered)
    values = np.asarray(array, dtype=np.float64)
    if feature.kind == "boolean":
        codes = np.where(np.isnan(values), 0, np.where(values > 0.5, 2, 1)).astype(np.int64)
        return _together(feature.name, {1: "false", 2: "true", 0: MISSING}, codes, True)
    return _of_numbers(feature, values)


def _of_numbers(feature: Feature, values: Floats) -> Grouping:
    known = values[~np.isnan(values)]
    cuts = np.unique(known)
    few, last = len(cuts) <= _FEW_NUMBERS, cuts[-1:]
    if not few:
        # a value of the column itself, so that the words say exactly who is in the group
        cuts = np.unique(np.quantile(known, _QUARTERS, method="inverted_cdf"))
        cuts = cuts[cuts < last]
    names = [rounded_amount(float(cut), feature) for cut in cuts]
    if not few:
        between = [f"above {low} up to {high}" for low, high in pairwise(names)]
        names = [f"up to {names[0]}", *between, f"above {names[-1]}"]
    codes = np.where(np.isnan(values), 0, np.searchsorted(cuts, values) + 1).astype(np.int64)
    return _together(feature.name, dict(enumerate(names, 1)) | {0: MISSING}, codes, True)


def _together(column: str, names: dict[int, str], codes: Ints, ordered: bool) -> Grouping:
    """The groups that have rows: in their order, or the largest first; missing and new levels last."""
    rows = np.bincount(codes, minlength=max(names) + 1)
    present = [code for code in names if rows[code]]
    if not ordered:
        present.sort(key=lambda code: -rows[code])
    present.sort(key=lambda code: names[code] in (MISSING, NEW) and code < FIRST_LEVEL_CODE)
    kept = present if len(present) <= MOST_GROUPS else present[: MOST_GROUPS - 1]
    place = np.full(max(names) + 1, len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    said = [names[code] for code in kept]
    rest = len(present) - len(kept)
    twice = {name for name in said if said.count(name) > 1}  # two numbers that round alike
    said = [f"{name} ({k + 1})" if name in twice else name for k, name in enumerate(said)]
    return Grouping(column, (*said, *([f"(the other {rest})"] if rest else [])), place[codes])


def group_lines(found: Parity, width: int = 80) -> list[str]:
    """For each rate a line a group: rows, the rate in percent, and how far it is from that of the reference.

    The ends of the intervals of 95 % stand behind each number; ratios are shown where there is room.
    """
    first = max(len(text) for text in (*MEASURES, *(group.name for group in found.groups)))
    wide = first + 2 + 7 + 2 + 20 + 22 + 20 <= width
    lines = [f"by {name(found.column)}, of {quoted(found.label)}; in %, with 95 % intervals"]
    against = ("difference", "ratio")[: 1 + wide]
    lines.append(f"{'':<{first}}  {'rows':>7}  {'rate':<18}  " + "  ".join(f"{word:<20}" for word in against).rstrip())
    for measure in MEASURES:
        lines.append(measure)
        for group in found.groups:
            rate = group.rate(measure)
            own = _compared_text(ComparedRate(rate.share, rate.low, rate.high), 100.0)
            said = f"{group.name:<{first}}  {rate.rows:>7}  {own:<18}  "
            if group.name == found.reference:
                lines.append(f"{said}reference")
            else:
                difference, ratio = rate.compared
                lines.append(f"{said}{difference:<20}  {ratio if wide else ''}".rstrip())
    small = [group.name for group in found.groups if group.effective_n < SMALL]
    if small:
        lines += wrapped(f"fewer than {SMALL} rows, of which little can be said: {', '.join(small)}", width, "  ")
    return lines


def _compared_text(found: ComparedRate | None, scale: float = 1.0, signed: bool = False, places: int = 1) -> str:
    """`+1.2 (-3.4, 5.6)`; `-` of nothing; without an upper end `(0.4, no limit)`."""
    if found is None or (found.value is None and found.low is None):
        return "-"
    sign = "+" if signed else ""
    value = "-" if found.value is None else f"{scale * found.value:{sign}.{places}f}"
    if found.low is None:
        return value
    high = "no limit" if found.high is None else f"{scale * found.high:.{places}f}"
    return f"{value} ({scale * found.low:.{places}f}, {high})"
