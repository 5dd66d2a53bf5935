"""Kinds: what a column is taken for, decided from its distinct cells and counts, wherever the rows are kept.

Boolean: bools, true/false text in any case, numbers that are all 0 or 1. Numeric: numbers and text that is all
numbers. Text: sentences, hardly any of them twice. Categorical: other text with at least one cell that is no number.
Width: float32 where it tells the numbers apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.schema import Display, Feature, Precision
from rulekit.tables.kinds.encoding import blank_numbers
from rulekit.tables.kinds.forms import is_currency
from rulekit.tables.raw.columns import (
    BLANKS,
    LARGEST_EXACT_INTEGER,
    Floats,
    NumberColumn,
    TextColumn,
    as_floats,
    bare,
    canonical_key,
    natural_order,
    parse_booleans,
    parse_numbers,
)

LIKELY_TOKENS = frozenset(["na", "n/a", "n.a.", "<na>", "nan", "null", "nil", "none", "unknown", "tbd"]) | {
    "missing",
    "undefined",
    "(blank)",
    "not available",
}
_ERRORS = frozenset(["#n/a", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#error!", "#spill!"]) | {
    f"{sign}1.#{what}" for sign in ("", "-") for what in ("inf", "ind", "qnan", "snan")
}
"""What spreadsheets write where a formula fails."""

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DecidedFeature:
    """A feature, with what a user should hear about it."""

    feature: Feature
    notes: tuple[str, ...] = ()
    merged: int = 0
    suspects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class KeyReading:
    """What the distinct texts of a column say: numbers or truth values, one for each key, or else levels.

    lookup [keys]: the position of each key among the levels.
    """

    decided: DecidedFeature
    values: Floats | None = None
    lookup: Counts | None = None


def decide_numbers(feature: Feature, display: Display, chosen: Width | None, time: bool) -> DecidedFeature:
    """A numeric feature; chosen: its width, None if no cell has a value."""
    name = feature.name
    if chosen is None:
        return DecidedFeature(feature, (f"column {name!r} has no values; it is kept as numeric",))
    if time and display != "date":
        display = "datetime"
    if display == "datetime":
        chosen = Width("float64", chosen.integral)
    if display == "plain" and chosen.integral:
        display = "integer"
    feature = replace(feature, precision=chosen.precision, display=shown_in(feature.unit, display))
    notes = []
    if chosen.precision == "float64" and display != "datetime":
        notes.append(f"column {name!r} is kept in float64, since float32 would merge its values")
    return DecidedFeature(feature, tuple(notes), chosen.merged)


def shown_in(unit: str, display: Display) -> Display:
    """How a number is shown that has a unit: in a currency it is money."""
    return "money" if is_currency(unit) and display in ("plain", "integer") else display


def is_boolean(column: NumberColumn, values: npt.NDArray[Any]) -> bool:
    """Whether a number column holds bools, or nothing but 0 and 1."""
    if column.values.dtype.kind == "b":
        return True
    head = values[:64]
    if np.any((head != 0.0) & (head != 1.0) & ~np.isnan(head)):
        return False
    present = ~np.isnan(values)
    return bool(present.any() and not np.any(present & (values != 0.0) & (values != 1.0)))


def read_keys(feature: Feature, keys: list[str], counts: Counts, decimal: str) -> KeyReading:
    """The kind of a text column, judged by its distinct cells and how often each occurs.

    The feature of numbers is not decided yet, but for whether it is Boolean; numbers that are missing tokens are NaN.
    """
    import polars as pl

    cells = bare(TextColumn(feature.name, pl.Series(keys, dtype=pl.String), decimal), feature.missing_tokens)
    numbers = parse_numbers(cells)
    is_number, is_empty = numbers.is_not_null().to_numpy(), cells.cells.is_null().to_numpy()
    only_empty = bool(len(keys)) and bool(is_empty.all())
    if (is_number | is_empty).all() and not only_empty:
        values = blank_numbers(as_floats(numbers), feature.missing_tokens)
        boolean = is_boolean(NumberColumn(feature.name, values), values)
        return KeyReading(DecidedFeature(replace(feature, kind="boolean") if boolean else feature), values)
    booleans = parse_booleans(cells.cells)
    if booleans.null_count() == cells.cells.null_count() and not only_empty:
        return KeyReading(DecidedFeature(replace(feature, kind="boolean")), as_floats(booleans))
    decided, lookup = decide_levels(feature, keys, counts)
    return KeyReading(decided, lookup=lookup)


def decide_levels(
    feature: Feature, keys: list[str], counts: Counts, *, listed: bool = False, ordered: bool = False
) -> tuple[DecidedFeature, Counts]:
    """A category, and the position of each key among its levels; listed: the keys are its levels, in their order."""
    if listed:
        levels, lookup = keys, np.arange(len(keys))
    else:
        shown = _shown_keys(keys)
        levels = natural_order(shown if shown is keys else list(dict.fromkeys(shown)))
        if levels == keys:  # as text mostly is: its keys come in order
            lookup = np.arange(len(keys))
        else:
            rank = {level: i for i, level in enumerate(levels)}
            lookup = np.array([rank[key] for key in shown], dtype=np.int64)
    feature = replace(feature, kind="categorical", levels=tuple(levels), ordered=ordered)
    rows = np.bincount(lookup, weights=counts, minlength=len(levels))
    suspects = [
        f"{feature.name} {level!r} ({int(n)})" for level, n in zip(levels, rows, strict=True) if may_mean_missing(level)
    ]
    return DecidedFeature(feature, suspects=tuple(suspects)), lookup


def may_mean_missing(level: str) -> bool:
    """Whether a text is blank, a common word for a missing value, or an error of a spreadsheet."""
    text = level.strip(BLANKS).lower()
    return not text.strip("-._?") or text in LIKELY_TOKENS or text in _ERRORS


FEWEST_TEXTS = 20
MEAN_WORDS = 6
_BEGINNING = 4096  # characters of a text whose words are counted


def are_sentences(keys: list[str], counts: Counts) -> bool:
    """Whether texts are free text: at least 20, half of them distinct, of six words or more on average."""
    import polars as pl

    from rulekit.tables.token_sets import tokenised

    rows = int(counts.sum())
    if rows < FEWEST_TEXTS or 2 * len(keys) < rows or sum(map(len, keys)) < 2 * MEAN_WORDS * len(keys):
        return False
    _, lengths = tokenised(pl.Series(keys, dtype=pl.String).str.slice(0, _BEGINNING))
    return int((lengths * counts).sum()) >= MEAN_WORDS * rows


def ranks_of_keys(feature: Feature, keys: list[str]) -> Counts:
    """The position [keys] of each key among declared levels, -1 where it is none of them."""
    rank = {level: i for i, level in enumerate(feature.levels)}
    return np.array([rank.get(key, rank.get(canonical_key(key), -1)) for key in keys], dtype=np.int64)


def _shown_keys(keys: list[str]) -> list[str]:
    """`3.0` is the level `3`, and `True` is `true`, where the whole column is numbers or Booleans."""
    if all(canonical_key(key) in ("true", "false") for key in keys) or all(is_number(key) for key in keys):
        return [canonical_key(key) for key in keys]
    return keys


def is_number(key: str) -> bool:
    """Whether a text writes a number."""
    try:
        float(key)
    except ValueError:
        return False
    return True


FIXED_DECIMALS = range(1, 7)


@dataclass(frozen=True, slots=True)
class Width:
    """The chosen precision, whether all finite values are integers, and how many distinct values were merged."""

    precision: Precision
    integral: bool
    merged: int = 0


def width_of(
    integral: bool, declared: str | None, merged_values: Callable[[], int], fixed_decimal: Callable[[], bool]
) -> Width:
    """float64 only if the values are integers or fixed decimals that collide in float32.

    integral: all finite values are integers of at most 2^53. merged_values: how many distinct values fewer there are
    in float32; fixed_decimal: whether all are decimals of few places; both are costly, and asked for where they count.
    """
    if declared == "float64":
        return Width("float64", integral)
    merged = merged_values()
    if merged and declared is None and (integral or fixed_decimal()):
        return Width("float64", integral)
    return Width("float32", integral, merged)


def has_decimals(finite: Floats, places: int) -> bool:
    """Whether all values are the doubles nearest decimals of so many places."""
    scale = 10.0**places
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.rint(finite * scale)
        fits = (np.abs(scaled) <= LARGEST_EXACT_INTEGER) & (scaled / scale == finite)
    return bool(fits.all())
