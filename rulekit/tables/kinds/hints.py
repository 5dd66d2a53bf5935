"""What a column looks like beside its kind (ids, dates, scales, codes that mean missing): said, and never acted on."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np

from rulekit.arrays import pl
from rulekit.schema import FIRST_LEVEL_CODE, Feature
from rulekit.tables.kinds.dates import digits_of_dates, parse_dates, parse_moments
from rulekit.tables.kinds.dress import dress_of, may_mean_missing, note_of, option
from rulekit.tables.raw.columns import BLANKS
from rulekit.tables.table import Array, parts_of

MOST_NOTES = 5
_LEAST_DATE = 101_1900  # the digits of the first of January 1900
MANY_NAMES = 20
MANY_LEVELS = 100
_MOST_NAMED = 6
_FIRST = 64

_NUMBER = r"[$€£]?\s*-?\d[\d,.]*\s*[k%]?"
_RANGE = re.compile(
    rf"\D*?({_NUMBER})\s*(?:-|\u2013|\u2014|to|\.\.|:|;|,|and|<=?\s*\w+\s*<=?)\s*({_NUMBER})\D*", re.IGNORECASE
)
_BELOW = re.compile(rf"(?:<=?|≤|under|below|up to|less than|at most)\s*({_NUMBER})\D*", re.IGNORECASE)
_ABOVE = re.compile(
    rf"(?:(?:>=?|≥|over|above|more than|at least)\s*({_NUMBER})\D*)"
    rf"|(?:({_NUMBER})\s*\w*\s*(?:\+|and over|and more|and above|or more|or over|more|plus)\D*)",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"(\d+)\s*(?:st|nd|rd|th|[ _-][a-z]+)", re.IGNORECASE)
_ALONE = re.compile(_NUMBER)
_LONGEST_BAND = 40
# Words of scales, from low to high; words between bars mean the same step.
_SCALES = tuple(
    {word: step for step, words in enumerate(scale.split(", ")) for word in words.split("|")}
    for scale in (
        "none|no, very low|vlow, low, medium low, medium|med|mid|middle|moderate|normal|average, medium high, "
        "high, very high|vhigh, extreme|extremely high",
        "never, rarely|seldom|almost never, occasionally|sometimes, often, usually|frequently|very often, always",
        "none|no|normal, minimal|trace, mild|slight|minor|light, moderate|medium, marked, major|severe|serious, "
        "critical|extreme, fatal",
        "very poor|very bad, poor|bad|unsatisfactory, fair|acceptable|ok|average|sufficient|satisfactory, good, "
        "very good, excellent|outstanding",
        "strongly disagree, disagree, neutral|neither|undecided, agree, strongly agree",
        "xxs, xs, s, m, l, xl, xxl, xxxl",
        "tiny, extra small, very small, small, medium|med|mid, large|big, very large, extra large, huge",
        "preschool, primary|primary school|elementary, secondary|middle school, high school, college, "
        "tertiary|bachelor|bachelors|graduate, master|masters|postgraduate, doctorate|phd",
        "junior, mid|middle|intermediate, senior, lead|principal",
        "bronze, silver, gold, platinum, diamond",
        "first, second, third, fourth, fifth, sixth, seventh, eighth, ninth, tenth",
        "jan|january, feb|february, mar|march, apr|april, may, jun|june, jul|july, aug|august, "
        "sep|sept|september, oct|october, nov|november, dec|december",
        "mon|monday, tue|tues|tuesday, wed|wednesday, thu|thur|thurs|thursday, fri|friday, sat|saturday, sun|sunday",
    )
)


@dataclass(frozen=True, slots=True)
class Hint:
    """What a column looks like; kind: the kind that it may be declared to be, "" where there is none to declare.

    levels: of a category that looks ordered, from low to high. missing: cells that would then mean missing. note: what
    to do about this column alone.
    """

    look: str
    kind: str = ""
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        kind = self.kind or "numbers in several units or no known form"
        return _LOOKS[self.look].format(kind=kind, levels=", ".join(self.levels), missing=", ".join(self.missing))


_LOOKS = {
    "dressed": "looks like {kind}",
    "ordered": "looks ordered: {levels}",
    "codes": "{missing} may mean missing",
    "dates": "looks like dates",
    "an id": "looks like an id, or the number of the row",
    "constant": "has one value only",
    "infinite": "has infinite values",
    "thousands": "fractions of three digits may be thousands",
    "digits of dates": "looks like dates, written as digits",
    "many levels": "has many levels",
}


def hints_of(features: Sequence[Feature], arrays: Sequence[Array]) -> dict[str, Hint]:
    """A hint for each column that deserves one, in memory or on disk."""
    looks = {"categorical": _look_of_levels, "numeric": _look_of_numbers, "boolean": _look_of_numbers}
    known = ((f, parts) for f, parts in zip(features, parts_of(arrays), strict=True) if f.kind != "text")
    return {f.name: hint for f, parts in known if (hint := looks[f.kind](f, parts)) is not None}


def notes_of(hints: Mapping[str, Hint], others: Sequence[str] = ()) -> list[str]:
    """A line for each kind of hint that says what to do about its columns.

    What is read wrongly, it seems, comes first; then what else is known of the columns, `others`.
    """
    by_look: dict[str, list[str]] = {}
    for name, hint in hints.items():
        by_look.setdefault(hint.look, []).append(name)
    coded = by_look.pop("codes", [])
    coded = coded if len(coded) > 1 else []
    notes = [hint.note for name, hint in hints.items() if hint.note and name not in coded]
    if coded:
        codes = dict.fromkeys(code for name in coded for code in hints[name].missing)
        given = " ".join(f"--missing={code}" for code in codes)
        what = f"{', '.join(codes)} may mean missing; if so, {given}, or COL=CODE for one column"
        notes.append(f"{_listed(coded)}: {what}")
    notes += others
    for look, names in by_look.items():
        says = {
            "dates": f"dates; --type {names[0]}={hints[names[0]].kind} compares them as such",
            "an id": f"ids or row numbers, it seems; leave out what only names rows: --ignore {names[0]}",
            "ordered": "levels seem ordered; rulekit describe --types-out FILE writes a file for --types",
        }
        notes += [f"{_listed(names)}: {says[look]}"] if look in says else []
    return notes


def foremost(notes: Sequence[str], more: str) -> tuple[str, ...]:
    """At most five notes: those that name an option first, and how to see the others."""
    ordered = sorted(notes, key=lambda note: "--" not in note)
    if len(ordered) <= MOST_NOTES:
        return tuple(ordered)
    shown = ordered[: MOST_NOTES - 1]
    return (*shown, f"{len(ordered) - len(shown)} more notes: {more}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_NAMED]))
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"column{'s' * (len(names) > 1)} {shown}{more}"


def _look_of_levels(feature: Feature, parts: Callable[[], Iterator[Array]]) -> Hint | None:
    levels = feature.levels
    if feature.ordered or not levels:
        return None
    if len(levels) == 1:
        return Hint("constant")
    cells = pl.Series(levels, dtype=pl.String).str.strip_chars(BLANKS)
    begun = levels[0].strip()[:1].isdigit()  # as every moment
    if begun and not parse_moments(cells[:_FIRST]).null_count() and not parse_moments(cells).null_count():
        return Hint("dates", "datetime" if parse_dates(cells).null_count() else "date")
    size = FIRST_LEVEL_CODE + len(levels)
    counts = sum((np.bincount(part, minlength=size) for part in parts()), np.zeros(size, np.int64))[FIRST_LEVEL_CODE:]
    single = len(levels) >= MANY_NAMES and int(counts.max()) <= 1
    dress, order = dress_of(levels, single), likely_order(levels)
    if order and (dress is None or not dress.kind or (dress.units and len(order) < MANY_NAMES)):
        return Hint("ordered", "ordered", order)
    if dress is not None:
        rows = dict(zip(levels, counts.tolist(), strict=True))
        missing = tuple(text for text in dress.unread if may_mean_missing(text))
        note = note_of(feature.name, dress, [rows[text] for text in dress.unread])
        return Hint("dressed", "" if dress.units or not dress.kind else dress.declared, missing=missing, note=note)
    if single:
        return Hint("an id", "ignore")
    return Hint("many levels") if len(levels) >= MANY_LEVELS else None


def likely_order(levels: Sequence[str]) -> tuple[str, ...]:
    """Levels from low to high where at least three are steps of a known scale or bands of numbers, else ().

    One level that fits in nowhere may come first, as `no account` among balances.
    """
    odd, steps = _odd_and_steps(levels)
    return () if all(_ALONE.fullmatch(level) for level in steps) else (*odd, *steps)


def steps_of(levels: Sequence[str]) -> tuple[str, ...]:
    """Likewise of steps, bands or plain numbers, without a level that fits in nowhere."""
    return _odd_and_steps(levels)[1]


def _odd_and_steps(levels: Sequence[str]) -> tuple[Sequence[str], tuple[str, ...]]:
    """At most one level that fits in nowhere, and the others from low to high; none where there is no order."""
    if len(levels) > MANY_LEVELS:
        return (), ()
    real = [level for level in levels if not may_mean_missing(level) or level.lower() == "none"]
    words = {level: re.sub(r"[\W_]+", " ", level.lower()).strip() for level in real}
    for scale in _SCALES:
        steps = {scale.get(text) for text in words.values()}
        if len(real) >= 3 and None not in steps and len(steps) == len(real):
            return (), tuple(sorted(real, key=lambda level: scale[words[level]]))
    places = {level: place for level in real if (place := _band(level)) is not None}
    odd = [level for level in real if level not in places]
    if len(places) < 3 or len(odd) > 1 or len(set(places.values())) < len(places):
        return (), ()
    return odd, tuple(sorted(places, key=lambda level: places[level]))


def _band(level: str) -> tuple[float, int] | None:
    """Where a band of numbers begins, and whether it lies below (-1), between (0) or above (1); None of no band."""
    text = level.strip()
    if len(text) > _LONGEST_BAND:
        return None
    for side, pattern in ((-1, _BELOW), (0, _ALONE), (0, _RANGE), (1, _ABOVE), (0, _COUNTED)):
        if match := pattern.fullmatch(text):
            numbers = [_value(part) for part in match.groups() or (text,) if part]
            return (numbers[0], side) if numbers == sorted(numbers) and not math.isnan(sum(numbers)) else None
    return None


def _value(text: str) -> float:
    """The number that a text means, NaN where it is none, as of 1.2.3."""
    digits = re.sub(r"[$€£\s%,]", "", text)
    try:
        return (1000.0 if digits[-1:].lower() == "k" else 1.0) * float(digits.rstrip("kK").rstrip("."))
    except ValueError:
        return math.nan


FEWEST_IDS = 20
_HEAD = 64
_FEWEST_VALUES = 10
_COLLISIONS = 8.0
"""How many equal cells chance would give, of which ids have none."""
_RUNS = tuple(int(digit * places) for places in range(2, 7) for digit in "9876")
_LARGE_CODES = frozenset((*_RUNS, *(run - step for run in _RUNS if str(run)[0] == "9" for step in (1, 2, 3))))
_SMALL_CODES = frozenset(range(-9, 0))
_ID_NAME = re.compile(r"(?:.*[\W_])?(?:id|nr|no|number|key|index|uid)|.*[a-z]I[dD]", re.IGNORECASE)


def _coded(look: str, feature: Feature, codes: tuple[tuple[float, int], ...]) -> Hint:
    """A hint that names codes, with their rows, and the option that makes them missing."""
    cells = " and ".join(f"{count} cells {code:.0f}" for code, count in codes)
    given = " ".join(option("--missing", feature.name, f"{code:.0f}") for code, _ in codes)
    which = "it means" if len(codes) == 1 else "they mean"
    note = f"column {feature.name!r} has {cells}; if {which} missing, {given}"
    kind = "money" if feature.display == "money" else "numeric"
    return Hint(look, kind, missing=tuple(f"{code:.0f}" for code, _ in codes), note=note)


def _look_of_numbers(feature: Feature, parts: Callable[[], Iterator[Array]]) -> Hint | None:
    """What a numeric or Boolean column looks like; of most columns the lowest and highest values say enough."""
    head, n, n_missing, low, high, rises = np.zeros(0), 0, 0, np.inf, -np.inf, True
    for part in parts():
        gone = np.isnan(part)
        known = part[~gone] if gone.any() else part
        n, n_missing = n + len(part), n_missing + len(part) - len(known)
        if not len(known):
            continue
        head = known[:_HEAD] if not len(head) else head
        rises = rises and bool(n_missing == 0 and part[0] > high and np.all(part[1:] > part[:-1]))
        low, high = min(low, float(known.min())), max(high, float(known.max()))
    if not len(head):
        return None
    if low == high:
        return Hint("constant")
    if feature.kind == "boolean" or feature.dated:
        return None
    if np.isinf((low, high)).any():
        counts = [(code, sum(int(np.count_nonzero(p == code)) for p in parts())) for code in (-np.inf, np.inf)]
        return _coded("infinite", feature, tuple((code, count) for code, count in counts if count))
    if codes := _codes(low, high, parts):
        return _coded("codes", feature, codes)
    if np.any(np.rint(head) != head):
        if not (_in_thousands(head, whole=False) and _in_thousands(_distinct(parts)[0])):
            return None
        either = " or ".join(option("--type", feature.name, f"numeric:{example}") for example in ("1.234,5", "1,234.5"))
        ask = "whole numbers beside fractions of three digits each: are their marks of thousands?"
        return Hint("thousands", note=f"column {feature.name!r}: {ask} {either} reads them")
    if len(np.unique(head)) == len(head) and n_missing == 0 and n >= FEWEST_IDS:
        distinct, _ = _distinct(parts)
        crowded = n * n / (2.0 * (high - low + 1.0)) >= _COLLISIONS
        if len(distinct) == n and (rises or crowded or _ID_NAME.fullmatch(feature.name)):
            return Hint("an id", "ignore") if np.all(np.rint(distinct) == distinct) else None
    if low < _LEAST_DATE or not (examples := digits_of_dates(low, high, head)):
        return None
    either = " or ".join(option("--type", feature.name, f"date:{example}") for example in examples)
    note = f"column {feature.name!r}: dates as digits, it seems; {either} reads them"
    return Hint("digits of dates", f"date:{examples[0]}", note=note)


def _distinct(parts: Callable[[], Iterator[Array]]) -> tuple[Array, Array]:
    """The values in ascending order, and the rows of each."""
    values, counts = np.unique(np.concatenate([np.zeros(0), *parts()]), return_counts=True)
    known = ~np.isnan(values)
    return values[known], counts[known]


def _codes(low: float, high: float, parts: Callable[[], Iterator[Array]]) -> tuple[tuple[float, int], ...]:
    """Numbers at one end that stand apart from all others, are written as codes are, and stand in two rows or more."""
    if not (low in _SMALL_CODES or -low in _LARGE_CODES or high in _LARGE_CODES):
        return ()
    values, counts = (found.tolist() for found in _distinct(parts))
    rows = dict(zip(values, counts, strict=True))
    below = list(takewhile(lambda value: value in _SMALL_CODES or -value in _LARGE_CODES, values))
    rest = values[len(below) :]
    if below and rest:
        small = [code for code in below if code in _SMALL_CODES]
        apart = rest[0] >= 0 and len(rest) >= _FEWEST_VALUES and rest[-1] >= _FEWEST_VALUES
        if apart if small else rest[0] > below[-1] / 2:
            return tuple((code, rows[code]) for code in below if rows[code] > 1)
    above = list(takewhile(_LARGE_CODES.__contains__, values[::-1]))[::-1]
    rest = values[: len(values) - len(above)]
    if above and len(rest) >= 2 and max(map(abs, rest)) <= above[0] / 2:
        return tuple((code, rows[code]) for code in above if rows[code] > 1)
    return ()


def _in_thousands(values: Array, whole: bool = True) -> bool:
    """Whether the fractions have three digits each and the whole numbers at most three, as 2.331 beside 550.

    whole: there must be a number of three digits, without which a thousand parts would be as good.
    """
    values = np.abs(values.astype(np.float64))
    fractions = values[np.rint(values) != values]
    thousands = fractions * 1000.0
    digits = np.rint(thousands)
    if not len(fractions) or values.max() >= 1000.0 or fractions.min() < 1.0 or np.abs(thousands - digits).max() > 0.05:
        return False
    others = values[np.rint(values) == values]
    return np.mean(digits % 10 != 0) > 0.75 and (not whole or bool(len(others) and others.max() >= 100.0))
