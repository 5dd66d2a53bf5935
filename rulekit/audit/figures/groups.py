"""Figures of a model by group of rows, and how far each group is from the group of reference.

One class is the one that is asked about (of two classes the positive one): a row is selected where the model decides
for it. Five rates: selection rate, true positive rate, false positive rate, accuracy and precision, in the sense of
S. Barocas, M. Hardt and A. Narayanan, Fairness and Machine Learning (2023), chapter 3: independence compares the first,
separation the next two, sufficiency the last. The reference is the group of most weight.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.audit.figures.intervals import difference_bounds, exact_bounds, ratio_bounds
from rulekit.errors import InputError
from rulekit.graph.language.figures import finite
from rulekit.graph.language.words import name, quoted, rounded_amount
from rulekit.graph.rule_graph import ClassLabel
from rulekit.names import printable, wrapped
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Feature

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
    theirs = share[reference], n[reference]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (share / share[reference], *ratio_bounds(share, n, *theirs))
    difference = (share - share[reference], *difference_bounds(share, n, *theirs))

    own = (share, *exact_bounds(share, n))

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
            own = compared_text(ComparedRate(rate.share, rate.low, rate.high), 100.0)
            said = f"{group.name:<{first}}  {rate.rows:>7}  {own:<18}  "
            if group.name == found.reference:
                lines.append(f"{said}reference")
            else:
                difference = compared_text(rate.difference, 100.0, signed=True)
                ratio = compared_text(rate.ratio, places=2) if wide else ""
                lines.append(f"{said}{difference:<20}  {ratio}".rstrip())
    small = [group.name for group in found.groups if group.effective_n < SMALL]
    if small:
        lines += wrapped(f"fewer than {SMALL} rows, of which little can be said: {', '.join(small)}", width, "  ")
    return lines


def compared_text(found: ComparedRate | None, scale: float = 1.0, signed: bool = False, places: int = 1) -> str:
    """`+1.2 (-3.4, 5.6)`; `-` of nothing; without an upper end `(0.4, no limit)`."""
    if found is None or (found.value is None and found.low is None):
        return "-"
    sign = "+" if signed else ""
    value = "-" if found.value is None else f"{scale * found.value:{sign}.{places}f}"
    if found.low is None:
        return value
    high = "no limit" if found.high is None else f"{scale * found.high:.{places}f}"
    return f"{value} ({scale * found.low:.{places}f}, {high})"
