"""Run-time helpers of generated modules: reading cells, the vocabulary's arithmetic.

The functions that a module needs are copied from this file, word for word (rulekit_exporters.python), so
what is tested here is what is shipped. They use the standard library alone. A cell that is missing is NaN for numbers
and Booleans and None (or one of the column's missing tokens) for categories.
"""

from __future__ import annotations

import datetime
import math
import re
import struct
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from decimal import Decimal
from math import inf, nan
from typing import Any

from rulekit.tokens import SMALL_LETTERS, TOKEN

NUMBER = re.compile(r"(?ai)[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)")
DAY = re.compile("([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
MOMENT = re.compile(
    "([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?)"
    "(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
TEXTS = (str, bool, int, float, type(None))
EPOCH = datetime.datetime(1970, 1, 1)
BLANKS = " \t\n\r\v\f"  # what a text may have around the number or date that it writes
SINGLE = struct.Struct("<f")


def plain(value: Any) -> Any:
    """A cell as text (of a Decimal, too), truth value, number or date, None where it is missing; raises TypeError."""
    kind = kind_of(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (kind in ("M", "m") and str(value) == "NaT"):
        return None
    if kind == "m":
        return float(value / type(value)(1, "s"))
    if kind:
        value = value if kind == "M" else float(value) if kind == "f" else value.item()
    if isinstance(value, Decimal):
        return None if value.is_nan() else str(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.date) or kind == "M":
        return value
    raise TypeError(f"{type(value).__name__} is no text, number, truth value or date")


def kind_of(value: Any) -> str:
    """The letter of numpy for the type of its scalar, "" for all else."""
    kind = "" if hasattr(value, "__len__") else str(getattr(getattr(value, "dtype", None), "kind", ""))
    return kind if kind in "biufMm" else ""


def seconds_of(value: Any) -> float | None:
    """Seconds since 1970-01-01T00:00 of a date, in UTC where it has a time zone; None for a cell that is no date."""
    if kind_of(value) == "M":
        return float(plain(value - type(value)(0, "s")))
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).total_seconds()
    return None


def number(value: Any, tokens: Sequence[str]) -> float:
    """The cell of a numeric column as a double, NaN where it is missing; raises ValueError."""
    value = plain(value)
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if text == "" or text in tokens or value in tokens:
            return nan
        if not NUMBER.fullmatch(text):
            raise ValueError(f"{value!r} is not a number")
        value = int(text) if text.lstrip("+-").isdigit() else float(text)
    if value is None:
        return nan
    if not isinstance(value, int | float):
        raise TypeError(f"the date {value} is not a number")
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError(f"the integer {value!r:.40} is beyond 2^53 and would be rounded")
    return float(value)


def day(value: Any, tokens: Sequence[str]) -> float:
    """The cell of a date column as days since 1970-01-01: an ISO date, a date or time of Python, or a number."""
    value = plain(value)
    if isinstance(value, str) and value not in tokens and (parts := DAY.fullmatch(value.strip(BLANKS))):
        try:
            value = datetime.date(*map(int, parts.groups()))
        except ValueError:
            raise ValueError(f"{value!r} is not a date (2024-05-31)") from None
    seconds = seconds_of(value)
    return no_digits(number(value, tokens)) if seconds is None else seconds / 86400.0


def moment(value: Any, tokens: Sequence[str]) -> float:
    """The cell of a column of moments as seconds since 1970-01-01T00:00 (UTC where it has a time zone).

    An ISO date with or without a time of day, a date or time of Python, or a number; raises ValueError for other text.
    """
    value = plain(value)
    if isinstance(value, str) and value not in tokens and (parts := MOMENT.fullmatch(value.strip(BLANKS))):
        date, time, zone = parts.groups()
        hours, minutes = (0, 0) if zone in (None, "Z") else (int(zone[:3]), int(zone[0] + zone[-2:]))
        try:
            local = datetime.datetime.fromisoformat(f"{date}T{time or '00:00'}")
            value = local - datetime.timedelta(hours=hours, minutes=minutes)
        except (ValueError, OverflowError):
            raise ValueError(f"{value!r} is not a date (2024-05-31T12:00)") from None
    seconds = seconds_of(value)
    return no_digits(number(value, tokens)) if seconds is None else seconds


def no_digits(value: float) -> float:
    """A number of days or seconds; raises ValueError for one that is the digits of a date, such as 20240531."""
    digits = str(int(value)) if not math.isnan(value) and abs(value) < 1e15 and value == int(value) else ""
    if re.fullmatch("[1-9][0-9]{3}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(([01][0-9]|2[0-3])([0-5][0-9]){2})?", digits):
        written = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
        raise ValueError(f"{digits} would count from 1970-01-01: write the date as {written}")
    return value


def flag(value: Any, tokens: Sequence[str]) -> float:
    """The cell of a Boolean column as a number, NaN where it is missing."""
    value = plain(value)
    text = value.strip(BLANKS) if isinstance(value, str) else ""
    if text.lower() in ("true", "false") and text not in tokens and value not in tokens:
        return float(text.lower() == "true")
    return number(value, tokens)


def word(value: Any, tokens: Sequence[str]) -> str | None:
    """The cell of a category whose levels are words."""
    value = plain(value)
    return None if value is None else str(value)


def level(value: Any, known: Container[str | None] = (), tokens: Sequence[str] = ()) -> str | None:
    """The cell of a category as text, None where it is missing: the number 3.0 is "3", True is "true".

    known: the levels and missing tokens of the column, where some are integers, true or false; then a text that is
    none of them as it stands means the level "3" if it is "3.0", "true" if it is "True" or "TRUE", and nothing else but
    itself. tokens: those of the known that mean missing, which have no such look-alikes.
    """
    if kind_of(value) == "f" and value.dtype.itemsize < 8:
        value = float(str(value))  # the level of a narrow float is its own shortest decimal
    value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool):
        truth = "true" if value else "false"
        return truth if truth in known or known == () else str(int(value))
    if isinstance(value, float):
        return number_text(value)
    seconds = seconds_of(value)
    if seconds is not None:
        return date_text(seconds)
    text = str(value)
    if text in known or known == ():
        return text
    meant = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}.get(text, text)
    if re.fullmatch("-?[0-9]+[.]0", text):
        meant = text[:-2]
    return text if meant in tokens else meant


def number_text(value: float) -> str:
    """The level of a number: 3.0 is "3"."""
    return str(int(value)) if value.is_integer() else repr(value)


def date_text(seconds: float) -> str:
    """The level of a date: 2024-05-31 at midnight, else 2024-05-31T12:00; its seconds where no text gives them back."""
    try:
        date = EPOCH + datetime.timedelta(seconds=seconds)
    except OverflowError:
        return number_text(seconds)
    if (date - EPOCH).total_seconds() != seconds:
        return number_text(seconds)
    if date.time() == datetime.time():
        return date.date().isoformat()
    return date.isoformat(timespec="auto" if date.second or date.microsecond else "minutes")


def words(value: Any, tokens: Sequence[str] = ()) -> set[str | None]:
    """The words of the cell of a text column, the set of None where it is missing; a number is its text, 3.0 is "3"."""
    text = level(value)
    if text is None or text == "" or text in tokens:
        return {None}
    return set(TOKEN.findall(text.translate(SMALL_LETTERS)))


def level_cell(value: Any, tokens: Sequence[str]) -> Any:
    """The cell of a category or text column as `level` takes it, None where it is missing; raises TypeError."""
    return level(value) if kind_of(value) in ("f", "M") else plain(value)


def cell(value: Any, column: str, kind: str, tokens: Sequence[str]) -> Any:
    """A cell as the rules take it; raises ValueError naming the column."""
    try:
        return READERS[kind](value, tokens)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {column!r}: {error}") from None


def read(row: Any) -> list[Any]:
    """The cells of USED of any row; raises KeyError, TypeError or ValueError."""
    if hasattr(row, "keys"):
        names = row.keys()
        row = {name: row[name] for name in COLUMNS if name in names}
    elif isinstance(row, str | bytes | bytearray) or not hasattr(row, "__len__"):
        raise TypeError(f"a row is a mapping or a sequence of {len(COLUMNS)} cells, not {type(row).__name__}")
    elif len(row) != len(COLUMNS):
        raise ValueError(f"a row has {len(COLUMNS)} cells in the order of COLUMNS, not {len(row)}")
    else:
        row = dict(zip(COLUMNS, row, strict=True))
    return [cell(row[name], name, kind, tokens) for name, kind, tokens in USED]


def unknown(value: Any, column: str) -> ValueError:
    """The error for a level that training never saw, in a column that does not allow it."""
    return ValueError(f"column {column!r}: the level {value!r} is unknown")


def clipped(value: float, missing: float, low: float, high: float, step: float) -> float:
    """The value clipped to [low, high], then rounded half-even to a multiple of the power of two `step` (0: not)."""
    if not value <= inf:
        return missing
    value = min(max(float(value), low), high)
    if step == 0.0:
        return value
    steps = value / step
    return (steps if abs(steps) >= 2.0**52 else float(round(steps))) * step


def clipped_float32(value: float, missing: float, low: float, high: float, step: float) -> float:
    """`clipped` of the float32 nearest to a number, in one call; raises TypeError for anything else."""
    if not value <= inf:
        return missing
    try:
        (single,) = SINGLE.unpack(SINGLE.pack(value))
    except OverflowError:
        single = inf if value > 0 else -inf
    single = low if single < low else high if single > high else single
    if step == 0.0:
        return float(single)
    steps = single / step
    return float((steps if abs(steps) >= 2.0**52 else round(steps)) * step)


def logistic(z: float) -> float:
    """1 / (1 + exp(-z))."""
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0


def exponentials(none: float, *some: float) -> float:
    """exp(-strength) of the first strength, times 1 - exp(-strength) of the others, without loss where it is small."""
    result = math.exp(-none)
    for strength in some:
        result *= -math.expm1(-strength)
    return result


def at_least(chances: Sequence[float], most: int) -> list[float]:
    """The probability that at least 0, 1, ... `most` of independent events happen, the last event taken first."""
    tails = [1.0] + [0.0] * most
    for i, chance in enumerate(reversed(chances), start=1):
        rest = 1.0 - chance
        for j in range(min(i, most), 0, -1):
            tails[j] = chance * tails[j - 1] + rest * tails[j]
    return tails


def normalised(values: Sequence[float], default: int) -> list[float]:
    """The values divided by their sum; where all are zero, the default class has probability 1."""
    total = 0.0
    for value in values:
        total += value
    if total == 0.0:
        return one_hot(default, len(values))
    return [value / total for value in values]


def one_hot(chosen: int, classes: int) -> list[float]:
    """Probability 1 for the chosen class."""
    return [1.0 if k == chosen else 0.0 for k in range(classes)]


def counts_of(
    found: Iterable[tuple[int, Sequence[Any]]], rules: Sequence[str], classes: Sequence[str]
) -> dict[str, Any]:
    """How many rows there are, on how many of them each rule holds, and for how many each class is decided."""
    by_rule, by_class, n = [0] * len(rules), [0] * len(classes), 0
    for decided, holding in found:
        by_class[decided] += 1
        by_rule = [count + bool(holds) for count, holds in zip(by_rule, holding, strict=True)]
        n += 1
    return {
        "rows": n,
        "rules": dict(zip(rules, by_rule, strict=True)),
        "classes": dict(zip(classes, by_class, strict=True)),
    }


# Tables --------------------------------------------------------------------------------------------------------------


def rows_of(data: Any) -> Any:
    """The rows of a mapping or frame of columns, or of an array; other data are rows already."""
    names = getattr(data, "columns", data if hasattr(data, "keys") else None)
    if names is None and not hasattr(data, "shape"):
        return data
    if names is None and data.shape[1:] != (len(COLUMNS),):
        raise ValueError(f"the shape {tuple(data.shape)}: rows have {len(COLUMNS)} cells in the order of COLUMNS")
    if names is None and str(data.dtype)[:5] in ("float", "int64") and "level" not in [kind for _, kind, _ in USED]:
        return (row.tolist() for row in data)
    columns = dict(zip(COLUMNS, data.T, strict=True)) if names is None else {name: data[name] for name in names}
    for name, column in columns.items():
        listed = hasattr(column, "__getitem__") and not isinstance(column, str | bytes | bytearray | Mapping)
        if not listed or len(getattr(column, "shape", "1")) != 1:
            raise ValueError(f"column {name!r}: a {type(column).__name__}: give one value per row")
    lengths = {len(column): name for name, column in columns.items()}
    if len(lengths) > 1:
        raise ValueError(f"columns of unequal lengths: {lengths}")
    used = {name: column_of(columns[name], kind) for name, kind, _ in USED} or columns
    return (dict(zip(used, cells, strict=True)) for cells in zip(*used.values(), strict=True))


def column_of(column: Any, kind: str) -> Sequence[Any]:
    """The cells of a column; of numpy, dates and levels stay its scalars."""
    if kind == "level" and hasattr(column, "to_numpy"):
        column = column.to_numpy()
    scalars = kind == "level" or getattr(getattr(column, "dtype", None), "kind", "") in ("M", "m")
    return list(column) if scalars or not hasattr(column, "tolist") else column.tolist()


# A module has its own.
decide: Callable[..., int] = len
probabilities: Callable[..., list[float]] = list
CLASSES: tuple[Any, ...] = ()
COLUMNS: tuple[str, ...] = ()
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = ()
READERS: dict[str, Any] = {
    "number": number,
    "flag": flag,
    "day": day,
    "moment": moment,
    "level": level_cell,
    "word": word,
}
