"""What numbers look like: ids, codes that mean missing, thousands read as fractions, dates as digits, infinities."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

import numpy as np

from rulekit.dates import is_dated
from rulekit.schema import Feature
from rulekit.tables.kinds.dates import digits_of_dates
from rulekit.tables.kinds.dress import option
from rulekit.tables.table import Array

FEWEST_IDS = 20
_HEAD = 64
_FEWEST_VALUES = 10
_COLLISIONS = 8.0
"""How many equal cells chance would give, of which ids have none."""
_RUNS = tuple(int(digit * places) for places in range(2, 7) for digit in "9876")
_LARGE_CODES = frozenset((*_RUNS, *(run - step for run in _RUNS if str(run)[0] == "9" for step in (1, 2, 3))))
_SMALL_CODES = frozenset(range(-9, 0))
_ID_NAME = re.compile(r"(?:.*[\W_])?(?:id|nr|no|number|key|index|uid)|.*[a-z]I[dD]", re.IGNORECASE)

Look = Literal[
    "an id",
    "constant",
    "codes",
    "thousands",
    "digits of dates",
    "infinite",
    "dressed",
    "dates",
    "ordered",
    "many levels",
]


@dataclass(frozen=True, slots=True)
class Hint:
    """What a column looks like; kind: the kind that it may be declared to be, "" where there is none to declare.

    levels: of a category that looks ordered, from low to high. missing: cells that would then mean missing. note: what
    to do about this column alone.
    """

    look: Look
    kind: str = ""
    levels: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    note: str = ""

    def __str__(self) -> str:
        return {
            "dressed": f"looks like {self.kind}"
            if self.kind
            else "looks like numbers in several units or no known form",
            "dates": "looks like dates",
            "an id": "looks like an id, or the number of the row",
            "ordered": f"looks ordered: {', '.join(self.levels)}",
            "constant": "has one value only",
            "codes": f"{', '.join(self.missing)} may mean missing",
            "infinite": "has infinite values",
            "thousands": "fractions of three digits may be thousands",
            "digits of dates": "looks like dates, written as digits",
            "many levels": "has many levels",
        }[self.look]


def _coded(look: Look, feature: Feature, codes: tuple[tuple[float, int], ...]) -> Hint:
    """A hint that names codes, with their rows, and the option that makes them missing."""
    cells = " and ".join(f"{count} cells {code:.0f}" for code, count in codes)
    given = " ".join(option("--missing", feature.name, f"{code:.0f}") for code, _ in codes)
    which = "it means" if len(codes) == 1 else "they mean"
    note = f"column {feature.name!r} has {cells}; if {which} missing, {given}"
    kind = "money" if feature.display == "money" else "numeric"
    return Hint(look, kind, missing=tuple(f"{code:.0f}" for code, _ in codes), note=note)


def look_of_numbers(feature: Feature, parts: Callable[[], Iterator[Array]]) -> Hint | None:
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
    if feature.kind == "boolean" or is_dated(feature):
        return None
    if np.isinf((low, high)).any():
        counts = [(code, sum(int(np.count_nonzero(p == code)) for p in parts())) for code in (-np.inf, np.inf)]
        return _coded("infinite", feature, tuple((code, count) for code, count in counts if count))
    if codes := _codes(low, high, parts):
        return _coded("codes", feature, codes)
    if np.any(np.rint(head) != head):
        return _thousands(feature.name) if _in_thousands(head, whole=False) and _in_thousands(_values(parts)) else None
    if len(np.unique(head)) == len(head) and n_missing == 0 and n >= FEWEST_IDS:
        distinct = _values(parts)
        crowded = n * n / (2.0 * (high - low + 1.0)) >= _COLLISIONS
        if len(distinct) == n and (rises or crowded or _ID_NAME.fullmatch(feature.name)):
            return Hint("an id", "ignore") if np.all(np.rint(distinct) == distinct) else None
    examples = digits_of_dates(low, high, head)
    if not examples:
        return None
    either = " or ".join(option("--type", feature.name, f"date:{example}") for example in examples)
    note = f"column {feature.name!r}: dates as digits, it seems; {either} reads them"
    return Hint("digits of dates", f"date:{examples[0]}", note=note)


def _thousands(name: str) -> Hint:
    either = " or ".join(option("--type", name, f"numeric:{example}") for example in ("1.234,5", "1,234.5"))
    ask = "whole numbers beside fractions of three digits each: are their marks of thousands?"
    return Hint("thousands", note=f"column {name!r}: {ask} {either} reads them")


def _values(parts: Callable[[], Iterator[Array]]) -> Array:
    """The distinct values."""
    found = np.unique(np.concatenate([np.zeros(0), *parts()]))
    known: Array = found[~np.isnan(found)]
    return known


def _codes(low: float, high: float, parts: Callable[[], Iterator[Array]]) -> tuple[tuple[float, int], ...]:
    """Numbers at one end that stand apart from all others, are written as codes are, and stand in two rows or more."""
    if not (low in _SMALL_CODES or -low in _LARGE_CODES or high in _LARGE_CODES):
        return ()
    distinct, counts = np.unique(np.concatenate([np.zeros(0), *parts()]), return_counts=True)
    values = distinct[~np.isnan(distinct)].tolist()
    rows = dict(zip(values, counts.tolist(), strict=False))
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
