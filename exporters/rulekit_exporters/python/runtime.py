"""Run-time helpers of generated modules: reading cells, the vocabulary's arithmetic.

The functions that a module needs are copied from this file, word for word (rulekit_exporters.python.assembly), so
what is tested here is what is shipped. They use the standard library alone; numpy comes in as the argument `np` of
the vectorised ones. A cell that is missing is NaN for numbers and Booleans and None (or one of the column's missing
tokens) for categories.
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

# A column that the rules read: position in the schema, name, kind, cells that mean missing.
Used = tuple[int, str, str, tuple[str, ...]]
Readers = dict[str, Callable[[Any, str, Sequence[str]], float]]
NUMBER = re.compile(r"[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
DAY = re.compile("([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})")
MOMENT = re.compile(
    "([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?)"
    "(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
LARGEST = 2**53
SMALLEST = -LARGEST
OTHERS = (bool, int, float, type(None))
EPOCH = datetime.datetime(1970, 1, 1)
BLANKS = " \t\n\r\v\f"  # what a text may have around the number or date that it writes
SINGLE = struct.Struct("<f")


def plain(value: Any) -> Any:
    """A cell as Python's own text, truth value, number, date or span, None where it is missing.

    Scalars of numpy and pandas are such cells too, and a Decimal is its text. A date of numpy stays as it is, since it
    may count nanoseconds. Raises TypeError for bytes, a time of day, lists and all else.
    """
    if value is None or type(value) in (str, bool, int):
        return value
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, Decimal):
        return None if value.is_nan() else str(value)
    scalar = kind_of(value)
    if scalar:
        if scalar in "Mm" and str(value) == "NaT":
            return None
        if scalar == "M":
            return value
        of_kind: dict[str, Callable[[Any], Any]] = {"m": in_seconds, "f": float, "U": str, "b": bool}
        value = of_kind.get(scalar, int)(value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int(value)
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, datetime.date):
        return value
    raise TypeError(f"{type(value).__name__} is no text, number, truth value or date")


def kind_of(value: Any) -> str:
    """The letter of numpy for the type of its scalar, "" for all else."""
    is_scalar = hasattr(value, "dtype") and any(base.__name__ == "generic" for base in type(value).__mro__)
    kind = str(value.dtype.kind) if is_scalar else ""
    return kind if kind and kind in "biufUMm" else ""


def in_seconds(span: Any) -> float:
    """The seconds of a span of numpy."""
    return float(span / type(span)(1, "s"))


def seconds_of(value: Any) -> float | None:
    """Seconds since 1970-01-01T00:00 of a date, in UTC where it has a time zone; None for a cell that is no date."""
    if kind_of(value) == "M":
        return in_seconds(value - type(value)(0, "s"))
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).total_seconds()
    return None


def number(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a numeric column as a double, NaN where it is missing.

    Raises ValueError for other text, for a date, and for an integer beyond 2^53, which would be rounded.
    """
    value = plain(value)
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if text == "" or text in tokens or value in tokens:
            return nan
        if not NUMBER.fullmatch(text):
            raise ValueError(f"column {column!r}: {value!r} is not a number")
        value = float(text) if not text.lstrip("+-").isdigit() else int(text)
    if value is None:
        return nan
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"column {column!r}: the integer {value!r:.40} is beyond 2^53 and would be rounded")
    if not isinstance(value, int | float):
        raise TypeError(f"the date {value} is not a number")
    return float(value)


def day(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a date column as days since 1970-01-01: an ISO date, a date or time of Python, or a number."""
    value = plain(value)
    if isinstance(value, str) and value not in tokens and (parts := DAY.fullmatch(value.strip(BLANKS))):
        try:
            value = datetime.date(*map(int, parts.groups()))
        except ValueError:
            raise ValueError(f"column {column!r}: {value!r} is not a date (2024-05-31)") from None
    seconds = seconds_of(value)
    return no_digits(number(value, column, tokens), column) if seconds is None else seconds / 86400.0


def moment(value: Any, column: str, tokens: Sequence[str]) -> float:
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
            raise ValueError(f"column {column!r}: {value!r} is not a date (2024-05-31T12:00)") from None
    seconds = seconds_of(value)
    return no_digits(number(value, column, tokens), column) if seconds is None else seconds


def no_digits(value: float, column: str) -> float:
    """A number of days or seconds; raises ValueError for one that is the digits of a date, such as 20240531."""
    digits = str(int(value)) if not math.isnan(value) and abs(value) < 1e15 and value == int(value) else ""
    if re.fullmatch("[1-9][0-9]{3}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(([01][0-9]|2[0-3])([0-5][0-9]){2})?", digits):
        written = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
        raise ValueError(f"column {column!r}: {digits} would count from 1970-01-01: write the date as {written}")
    return value


def flag(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a Boolean column as a double, NaN where it is missing: Booleans, numbers, true or false as text."""
    value = plain(value)
    text = value.strip(BLANKS).lower() if isinstance(value, str) else ""
    if text in ("true", "false") and not {value, value.strip(BLANKS)}.intersection(tokens):
        return 1.0 if text == "true" else 0.0
    return number(value, column, tokens)


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


def cell(value: Any, column: str, kind: str, tokens: Sequence[str]) -> Any:
    """A cell as the rules take it; raises ValueError naming the column."""
    try:
        if kind == "level":
            return level_cell(value)
        return READERS[kind](value, column, tokens)
    except TypeError as error:
        raise ValueError(f"column {column!r}: {error}") from None


def level_cell(value: Any) -> Any:
    """The cell of a category or text column as `level` takes it, None where it is missing; raises TypeError."""
    if type(value) is str:
        return value
    return level(value) if kind_of(value) in ("f", "M") else plain(value)


def cells(row: Any, width: int, used: Sequence[Used]) -> dict[str, Any]:
    """The used cells of a row by name; the row is a mapping, or a sequence of `width` cells in schema order.

    Raises KeyError where a used column is absent, ValueError where a cell or the number of cells is wrong.
    """
    if hasattr(row, "keys"):
        names = row.keys()
        for _, name, _, _ in used:
            if name not in names:
                raise KeyError(name)
        return {name: cell(row[name], name, kind, tokens) for _, name, kind, tokens in used}
    if isinstance(row, str | bytes | bytearray) or not hasattr(row, "__len__"):
        raise TypeError(f"a row is a mapping or a sequence of {width} cells, not {type(row).__name__}")
    if len(row) != width:
        raise ValueError(f"a row has {width} cells in the order of COLUMNS, not {len(row)}")
    return {name: cell(row[position], name, kind, tokens) for position, name, kind, tokens in used}


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
    rows: Iterable[Any],
    cells_of: Callable[[Any], Any],
    decide: Callable[[Any], int],
    holding: Callable[[Any], Sequence[Any]],
    rules: Sequence[str],
    classes: Sequence[str],
) -> dict[str, Any]:
    """How many rows there are, on how many of them each rule holds, and for how many each class is decided."""
    by_rule, by_class, n = [0] * len(rules), [0] * len(classes), 0
    for row in rows:
        known = cells_of(row)
        by_class[decide(known)] += 1
        by_rule = [count + bool(holds) for count, holds in zip(by_rule, holding(known), strict=True)]
        n += 1
    return {
        "rows": n,
        "rules": dict(zip(rules, by_rule, strict=True)),
        "classes": dict(zip(classes, by_class, strict=True)),
    }


# Columns of numpy ----------------------------------------------------------------------------------------------------


def numpy_or_none() -> Any:
    """The numpy package where it is installed."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def columns_of(np: Any, data: Any, width: int, used: Sequence[Used]) -> list[Any]:
    """The used columns of a mapping or frame of columns, or of a two-dimensional array in schema order.

    A number is a float64 array; a category is a pair (index of each row's level, distinct cells).
    Raises KeyError, and ValueError where a cell or the length of a column is wrong.
    """
    n_rows = length_of(data)
    named = hasattr(data, "keys") or hasattr(data, "columns")
    if not named and (len(data.shape) != 2 or data.shape[1] != width):
        raise ValueError(f"rows have {width} cells in the order of COLUMNS, not the shape {tuple(data.shape)}")
    found = []
    for position, name, kind, tokens in used:
        if named and name not in (data.keys() if hasattr(data, "keys") else data.columns):
            raise KeyError(name)
        values = array_of(np, data[name]) if named else np.asarray(data[:, position])
        if values.shape != (n_rows,):
            raise ValueError(f"column {name!r}: the shape {values.shape} where there are {n_rows} rows: one cell each")
        if kind == "level":
            found.append(distinct(np, values, name))
        elif values.dtype.kind in "biuf":
            odd = np.zeros(n_rows, dtype=bool)
            if values.dtype.kind in "iu":
                odd = (values > LARGEST) | (values < -LARGEST)
            if kind in ("day", "moment"):
                odd = odd | (values >= 10000101)  # the digits of a date
            for value in values[odd].tolist():
                cell(value, name, kind, tokens)
            found.append(values.astype(np.float64))
        elif values.dtype.kind == "M" and kind in ("day", "moment"):
            unit = np.timedelta64(1, "s")
            found.append((values - np.datetime64(0, "s")) / unit / (86400.0 if kind == "day" else 1.0))
        else:
            found.append(np.array([cell(value, name, kind, tokens) for value in cells_of(values)], dtype=np.float64))
    return found


def array_of(np: Any, column: Any) -> Any:
    """A column as an array, whose cells stay as they are: numpy would make NaN beside text the text "nan"."""
    if isinstance(column, list | tuple):
        if set(map(type, column)) == {float}:
            return np.array(column)
        values = np.empty(len(column), dtype=object)
        for row, value in enumerate(column):
            values[row] = value
        return values
    return np.asarray(column)


def cells_of(values: Any) -> Any:
    """The cells of an array; dates, spans and narrow floats stay scalars of numpy, which know what they are."""
    narrow = values.dtype.kind == "f" and values.dtype.itemsize < 8
    return list(values) if narrow or values.dtype.kind in "Mm" else values.tolist()


def distinct(np: Any, values: Any, name: str) -> Any:
    """A category's column as (index [n], distinct cells), where 1, 1.0 and True are apart."""
    index: dict[Any, int] = {}
    found = [cell(value, name, "level", ()) for value in cells_of(values)]
    places = [index.setdefault((type(value), value), len(index)) for value in found]
    return np.array(places, dtype=np.intp), [value for _, value in index]


def levels_of(column: Any, known: Container[str | None] = (), tokens: Sequence[str] = ()) -> Any:
    """A category's column with its distinct cells brought to text."""
    return column[0], [value if value in known else level(value, known, tokens) for value in column[1]]


def refuse_unknown(column: Any, known: Container[str | None], name: str) -> None:
    """Raises ValueError for a level that training never saw, in a column that does not allow it."""
    for value in column[1]:
        if value not in known:
            raise unknown(value, name)


def blanked(np: Any, column: Any, tokens: Sequence[float]) -> Any:
    """A column of numbers, NaN where it holds a number that means missing."""
    return np.where(np.isin(column, tokens), np.nan, column)


def rows_of(data: Any) -> Any:
    """The rows of a mapping or frame of columns, or of an array; other data are rows already.

    Raises ValueError for columns of unequal lengths.
    """
    if hasattr(data, "keys") or hasattr(data, "columns"):
        names = list(data.keys() if hasattr(data, "keys") else data.columns)
        length_of(data)
        return [dict(zip(names, row, strict=True)) for row in zip(*(data[name] for name in names), strict=True)]
    return data.tolist() if hasattr(data, "tolist") else data


def in_blocks(np: Any, decide: Callable[..., Any], columns: Sequence[Any], n_rows: int) -> list[int]:
    """decide(np, rows, columns...) on blocks that fit the processor's cache; the class index of every row."""
    chosen: list[int] = []
    for start in range(0, n_rows, 4096):
        rows = slice(start, min(start + 4096, n_rows))
        block = [(column[0][rows], column[1]) if isinstance(column, tuple) else column[rows] for column in columns]
        n = rows.stop - start
        chosen.extend(np.broadcast_to(decide(np, n, *block), n).tolist())
    return chosen


def length_of(data: Any) -> int:
    """The number of rows of a mapping or frame of columns, or of an array; raises ValueError where columns differ."""
    if hasattr(data, "shape"):
        return int(data.shape[0]) if data.shape else 0
    n_rows = -1
    for name in data:
        column = data[name]
        if isinstance(column, str | bytes | bytearray) or hasattr(column, "keys") or not hasattr(column, "__getitem__"):
            raise ValueError(f"column {name!r}: a {type(column).__name__}: give one value per row")
        shape = getattr(column, "shape", None)
        if shape is not None and len(shape) != 1:
            raise ValueError(f"column {name!r}: the shape {tuple(shape)}: give one value per row")
        if n_rows not in (-1, len(column)):
            raise ValueError(f"column {name!r}: {len(column)} cells, but {n_rows} in the first column")
        n_rows = len(column)
    return max(n_rows, 0)


def among(np: Any, column: Any, levels: Container[str | None]) -> Any:
    """Where a category is one of the levels."""
    holds = np.array([value in levels for value in column[1]], dtype=bool)
    return holds[column[0]]


def words_of(np: Any, column: Any, tokens: Sequence[str] = ()) -> Any:
    """The words of each row of a text column, which came as (index [n], distinct cells)."""
    found = np.empty(len(column[0]), dtype=object)
    found[:] = [words(column[1][place], tokens) for place in column[0].tolist()]
    return found


def containing(np: Any, column: Any, wanted: Container[str | None]) -> Any:
    """Where a text has one of the words; None stands for missing."""
    return np.array([not own.isdisjoint(wanted) for own in column], dtype=bool)


def pointed(np: Any, column: Any, points: Mapping[Any, float], unseen: float) -> Any:
    """The points of a category's levels."""
    return np.array([points.get(value, unseen) for value in column[1]], dtype=np.float64)[column[0]]


def count(np: Any, conditions: Iterable[Any]) -> Any:
    """How many of the conditions hold, row by row."""
    total = np.int64(0)
    for condition in conditions:
        total = total + np.where(condition, 1, 0)
    return total


def float32_column(np: Any, column: Any) -> Any:
    """A column rounded to float32, as doubles."""
    with np.errstate(over="ignore"):
        return column.astype(np.float32).astype(np.float64)


def clipped_column(np: Any, column: Any, missing: float, low: float, high: float, step: float) -> Any:
    """`clipped` for a column."""
    values = np.clip(column, low, high)
    if step != 0.0:
        with np.errstate(over="ignore"):
            values = np.rint(values / step) * step
    return np.where(np.isnan(column), missing, values)


def stepped(np: Any, column: Any, cuts: Sequence[float], values: Sequence[float], missing: float) -> Any:
    """A step function of a column: the value at the number of cuts that lie below."""
    present = column <= inf
    return np.where(present, np.array(values)[np.searchsorted(cuts, np.where(present, column, 0.0))], missing)


def at_least_columns(np: Any, n: int, chances: Sequence[Any], most: int) -> Any:
    """As `at_least`, for n rows at once: [most + 1, n]."""
    tails = np.zeros((most + 1, n))
    tails[0] = 1.0
    for i, chance in enumerate(reversed(chances), start=1):
        top = min(i, most)
        moved = chance * tails[:top]
        tails[1 : top + 1] *= 1.0 - chance
        tails[1 : top + 1] += moved
    return tails


def logistic_column(np: Any, z: Any) -> Any:
    """`logistic` for a column."""
    return np.array([logistic(value) for value in z.tolist()], dtype=np.float64)


# A module has those of its own columns.
READERS: Readers = {"number": number, "flag": flag, "day": day, "moment": moment}
