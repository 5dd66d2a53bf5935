"""A rule model that decides "default", in plain Python (made by rulekit).

classes
    "no"
    "yes"
columns that the rules read
    "income" (numeric)
    "amount" (numeric)
    "late_payments" (numeric)
    "homeowner" (boolean)
    "purpose" (categorical)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv

digest 9687d505d46d790ec9c242eb276275a5598ee1113ccdabe5bceba9b1ddc6e1bd
"""

from __future__ import annotations

import csv
import datetime
import io
import itertools
import math
import os
import re
import sys
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from math import nan
from typing import Any

DIGEST = "9687d505d46d790ec9c242eb276275a5598ee1113ccdabe5bceba9b1ddc6e1bd"
CLASSES = ("no", "yes")
# All columns, in schema order.
COLUMNS = ("income", "amount", "late_payments", "age", "homeowner", "purpose", "employment")
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "income", "number", ()),
    (1, "amount", "number", ()),
    (2, "late_payments", "number", ()),
    (4, "homeowner", "flag", ()),
    (5, "purpose", "level", ()),
)


def decide(
    row: Any,
    income: Any = "income",
    amount: Any = "amount",
    late_payments: Any = "late_payments",
    homeowner: Any = "homeowner",
    purpose: Any = "purpose",
) -> int:
    """Class index of a row; its cells bear the names of the columns, or other keys, or places."""
    purpose = row[purpose]
    if type(purpose) is not str:
        purpose = level(purpose)
    positive = (
        # rb2629c: purpose in {gambling}
        purpose in {"gambling"}
        # ra3b540: late_payments > 2 and not homeowner
        or (row[late_payments] > 2.0000001192092896 and row[homeowner] <= 0.5)
        # r861e5b: income <= 24900 and amount > 7900
        or (row[income] <= 24900.0009765625 and row[amount] > 7900.000244140625)
    )
    return 1 if positive else 0


def probabilities(
    row: Any,
    income: Any = "income",
    amount: Any = "amount",
    late_payments: Any = "late_payments",
    homeowner: Any = "homeowner",
    purpose: Any = "purpose",
) -> list[float]:
    """Probability of each class; see `decide`."""
    purpose = row[purpose]
    if type(purpose) is not str:
        purpose = level(purpose)
    p1 = 0.8939622358116216 if row[income] <= 24900.0009765625 else 0.046818326960899735
    p2 = 0.999 if row[amount] > 7900.000244140625 else 0.06391843451031691
    p3 = p1 * p2
    p4 = 1.0 - p3
    # rb2629c: purpose in {gambling}
    p5 = 0.12532145319571253 if purpose in {"gambling"} else 0.9702180354767056
    p6 = p4 * p5
    p7 = 0.8334393069724678 if row[late_payments] > 2.0000001192092896 else 0.001
    p8 = 0.999 if row[homeowner] <= 0.5 else 0.13329871851809763
    p9 = p7 * p8
    p10 = 1.0 - p9
    p11 = p6 * p10
    p12 = 1.0 - p11
    positive = p12
    return [1.0 - positive, positive]


def decide_many(np: Any, n: int, income: Any, amount: Any, late_payments: Any, homeowner: Any, purpose: Any) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    purpose = levels_of(purpose)
    positive = (
        # rb2629c: purpose in {gambling}
        among(np, purpose, {"gambling"})
        # ra3b540: late_payments > 2 and not homeowner
        | ((late_payments > 2.0000001192092896) & (homeowner <= 0.5))
        # r861e5b: income <= 24900 and amount > 7900
        | ((income <= 24900.0009765625) & (amount > 7900.000244140625))
    )
    return np.where(positive, 1, 0)


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        if isinstance(row, dict):
            return CLASSES[decide(row)]
        if len(row) == 7:
            return CLASSES[decide(row, 0, 1, 2, 4, 5)]
    except (TypeError, LookupError):  # missing or textual cells, absent columns, other kinds of mapping
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED), *range(len(USED)))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    try:
        if isinstance(row, dict):
            return probabilities(row)
        if len(row) == 7:
            return probabilities(row, 0, 1, 2, 4, 5)
    except (TypeError, LookupError):  # missing or textual cells, absent columns, other kinds of mapping
        pass
    return probabilities(cells(row, len(COLUMNS), USED), *range(len(USED)))


def predict_many(data: Any) -> list[str]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

Used = tuple[int, str, str, tuple[str, ...]]
NUMBER = re.compile(r"[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
MOMENT = re.compile(
    "([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[T ]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.][0-9]{1,6})?)?)"
    "(Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
EPOCH = datetime.datetime(1970, 1, 1)


def number(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a numeric column as a double, NaN where it is missing.

    Raises ValueError for other text and for an integer beyond 2^53, which would be rounded.
    """
    if absent(value):
        return nan
    if isinstance(value, str):
        if value == "" or value in tokens:
            return nan
        if not NUMBER.fullmatch(value.strip()):
            raise ValueError(f"column {column!r}: {value!r} is not a number")
        value = float(value) if not value.strip().lstrip("+-").isdigit() else int(value)
    if isinstance(value, int) and abs(value) > 2**53:
        raise ValueError(f"column {column!r}: the integer {value!r:.40} is beyond 2^53 and would be rounded")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"column {column!r}: {value!r} is not a number") from None


def day(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a date column as days since 1970-01-01: an ISO date, a date or time of Python, or a number."""
    if isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", value) and value not in tokens:
        try:
            value = datetime.date.fromisoformat(value)
        except ValueError:
            raise ValueError(f"column {column!r}: {value!r} is not a date (2024-05-31)") from None
    if isinstance(value, datetime.date):
        return moment(value, column, tokens) / 86400.0
    return number(value, column, tokens)


def moment(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a column of moments as seconds since 1970-01-01T00:00 (UTC where it has a time zone).

    An ISO date with or without a time of day, a date or time of Python, or a number; raises ValueError for other text.
    """
    if isinstance(value, str) and value not in tokens and (parts := MOMENT.fullmatch(value)):
        date, time, zone = parts.groups()
        hours, minutes = (0, 0) if zone in (None, "Z") else (int(zone[:3]), int(zone[0] + zone[-2:]))
        try:
            local = datetime.datetime.fromisoformat(f"{date}T{time or '00:00'}")
            value = local - datetime.timedelta(hours=hours, minutes=minutes)
        except (ValueError, OverflowError):
            raise ValueError(f"column {column!r}: {value!r} is not a date (2024-05-31T12:00)") from None
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return (value.toordinal() - EPOCH.toordinal()) * 86400.0
    return number(value, column, tokens)


def flag(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a Boolean column as a double, NaN where it is missing: Booleans, numbers, true or false as text."""
    if isinstance(value, str) and value.lower() in ("true", "false") and value not in tokens:
        return 1.0 if value.lower() == "true" else 0.0
    return number(value, column, tokens)


def level(value: Any, known: Container[str | None] = (), tokens: Sequence[str] = ()) -> str | None:
    """The cell of a category as text, None where it is missing: the number 3.0 is "3", True is "true".

    known: the levels and missing tokens of the column, where some are integers, true or false; then a text that is
    none of them as it stands means the level "3" if it is "3.0", "true" if it is "True" or "TRUE", and nothing else but
    itself. tokens: those of the known that mean missing, which have no such look-alikes.
    """
    if absent(value):
        return None
    if not isinstance(value, str | bool | int | float) and hasattr(value, "item"):
        value = value.item()  # a numpy scalar
    if isinstance(value, bool):
        truth = "true" if value else "false"
        return truth if truth in known or known == () else str(int(value))
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    text = str(value)
    if text in known or known == ():
        return text
    meant = {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}.get(text, text)
    if re.fullmatch("-?[0-9]+[.]0", text):
        meant = text[:-2]
    return text if meant in tokens else meant


def absent(value: Any) -> bool:
    """Whether a cell is None, NaN or the missing value of a data frame."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return not isinstance(value, str) and math.isnan(value)
    except (TypeError, ValueError, OverflowError):
        return False


def cell(value: Any, column: str, kind: str, tokens: Sequence[str]) -> Any:
    """A cell as the rules take it; raises ValueError naming the column."""
    if kind == "level":
        return None if absent(value) else value
    return {"flag": flag, "day": day, "moment": moment}.get(kind, number)(value, column, tokens)


def cells(row: Any, width: int, used: Sequence[Used]) -> list[Any]:
    """The used cells of a row, a mapping by column name or a sequence of `width` cells in schema order.

    Raises KeyError where a used column is absent, ValueError where a cell or the number of cells is wrong.
    """
    if hasattr(row, "keys"):
        names = row.keys()
        for _, name, _, _ in used:
            if name not in names:
                raise KeyError(name)
        return [cell(row[name], name, kind, tokens) for _, name, kind, tokens in used]
    if isinstance(row, str | bytes) or not hasattr(row, "__len__"):
        raise TypeError(f"a row is a mapping or a sequence of {width} cells, not {type(row).__name__}")
    if len(row) != width:
        raise ValueError(f"a row has {width} cells in the order of COLUMNS, not {len(row)}")
    return [cell(row[position], name, kind, tokens) for position, name, kind, tokens in used]


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
    Raises KeyError, ValueError.
    """
    if not hasattr(data, "keys") and not hasattr(data, "columns") and data.shape[1] != width:
        raise ValueError(f"a row has {width} cells in the order of COLUMNS, not {data.shape[1]}")
    found = []
    for position, name, kind, tokens in used:
        if hasattr(data, "keys") or hasattr(data, "columns"):
            if name not in (data.keys() if hasattr(data, "keys") else data.columns):
                raise KeyError(name)
            values = array_of(np, data[name], kind)
        else:
            values = np.asarray(data[:, position])
        if kind == "level":
            found.append(distinct(np, values))
        elif values.dtype.kind in "bf" or (values.dtype.kind in "iu" and not (abs(values) > 2**53).any()):
            found.append(values.astype(np.float64))
        elif values.dtype.kind == "M" and kind in ("day", "moment"):
            unit = np.timedelta64(1, "D" if kind == "day" else "s")
            found.append(np.asarray((values - np.datetime64(0, "s")) / unit, dtype=np.float64))
        else:
            found.append(np.array([cell(value, name, kind, tokens) for value in values.tolist()], dtype=np.float64))
    return found


def array_of(np: Any, column: Any, kind: str) -> Any:
    """A column as an array; a list keeps its cells as they are: numpy would make NaN beside text the text "nan"."""
    if isinstance(column, list | tuple) and (kind == "level" or len(set(map(type, column))) > 1):
        values = np.empty(len(column), dtype=object)
        values[:] = column
        return values
    return np.asarray(column)


def distinct(np: Any, values: Any) -> Any:
    """A category's column as (index [n], distinct cells), where 1, 1.0 and True are apart."""
    index: dict[Any, int] = {}
    found = [None if absent(value) else value for value in values.tolist()]
    places = [index.setdefault((type(value), value), len(index)) for value in found]
    return np.array(places, dtype=np.intp), [value for _, value in index]


def levels_of(column: Any, known: Container[str | None] = (), tokens: Sequence[str] = ()) -> Any:
    """A category's column with its distinct cells brought to text."""
    return column[0], [value if value in known else level(value, known, tokens) for value in column[1]]


def rows_of(data: Any) -> Any:
    """The rows of a mapping or frame of columns, or of an array; other data are rows already."""
    if hasattr(data, "keys") or hasattr(data, "columns"):
        names = list(data.keys() if hasattr(data, "keys") else data.columns)
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
    """The number of rows of a mapping or frame of columns, or of an array."""
    if hasattr(data, "shape"):
        return int(data.shape[0])
    return max((len(column) for column in data.values()), default=0)


def among(np: Any, column: Any, levels: Container[str | None]) -> Any:
    """Where a category is one of the levels."""
    holds = np.array([value in levels for value in column[1]], dtype=bool)
    return holds[column[0]]


def csv_rows(lines: Iterable[str], delimiter: str, used: Sequence[Used]) -> Iterator[list[Any]]:
    """The used cells of each row under a header; order is free, other columns and spaces around cells are ignored.

    Raises ValueError naming the line where a column is missing or stands twice, a cell is not a number, or a row is
    longer or shorter than the header.
    """
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        header = next(reader, None)
        if header is None:
            raise ValueError("there is no header line")
        names = {name for _, name, _, _ in used}
        header = [name if name in names else name.strip(" \t\r") for name in header]
        for _, name, _, _ in used:
            if header.count(name) != 1:
                raise ValueError(
                    f"{'no column' if name not in header else 'more than one column'} {name!r} in the header"
                )
        picked = [(header.index(name), name, kind, tokens) for _, name, kind, tokens in used]
        for row in reader:
            if not row and len(header) > 1:
                continue
            row = row or [""]
            if len(row) != len(header):
                raise ValueError(f"{len(row)} cells, the header has {len(header)}")
            yield [cell(row[position].strip(" \t\r"), name, kind, tokens) for position, name, kind, tokens in picked]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {max(reader.line_num, 1)}: {error}") from None


def score_csv(
    arguments: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    decide: Callable[..., int],
    probabilities: Callable[..., list[float]],
) -> int:
    """Score CSV from standard input to standard output: label and probabilities of each row. Returns the exit status.

    0: done; 2: bad input or usage, said in one line on standard error.
    """
    delimiter = ","
    if len(arguments) == 2 and arguments[0] == "--delimiter" and len(arguments[1]) == 1:
        delimiter = arguments[1]
    elif arguments:
        helped = list(arguments) in (["-h"], ["--help"])
        print("usage: [--delimiter C] < rows.csv > predictions.csv", file=sys.stdout if helped else sys.stderr)
        return 0 if helped else 2
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    sink = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    writer = csv.writer(sink, lineterminator="\n")
    names = [str(label).lower() if isinstance(label, bool) else str(label) for label in classes]
    try:
        rows = csv_rows(source, delimiter, used)
        first = next(rows, None)
        writer.writerow(["label", *(f"probability({name})" for name in names)])
        places = range(len(used))
        for row in itertools.chain([] if first is None else [first], rows):
            writer.writerow([names[decide(row, *places)], *map(repr, probabilities(row, *places))])
        sink.flush()
    except BrokenPipeError:  # the reader of our output has gone; silence the interpreter's own flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:  # UnicodeDecodeError is a ValueError
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"standard input: {error}")
        sink.flush()
        print(message, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(score_csv(sys.argv[1:], USED, CLASSES, decide, probabilities))


# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# | rulekit rules 1
# | # digest 9687d505d46d790ec9c242eb276275a5598ee1113ccdabe5bceba9b1ddc6e1bd (for information: reading computes it anew)
# |
# | column income: numeric, integer
# | column amount: numeric, integer
# | column late_payments: numeric, integer
# | column age: numeric, integer
# | column homeowner: boolean
# | column purpose: categorical {car, education, furniture, gambling, home}
# | column employment: categorical {employed, retired, self-employed, unemployed}
# | label "default": {no, yes}
# | default no
# |
# | decide yes when any of (
# |   purpose in {gambling},                # rb2629c  covers 4.5 %, right 100.0 %  held_out: covers 5.0 %, right 88.0 %
# |   late_payments > 2 and not homeowner,  # ra3b540  covers 6.5 %, right 99.0 %  held_out: covers 9.2 %, right 97.8 %
# |   income <= 24900 and amount > 7900,    # r861e5b  covers 15.2 %, right 93.0 %  held_out: covers 11.8 %, right 91.5 %
# | )
# | report yes with probability of any of (
# |   all of (
# |     H1 fires with probability 0.8939622358116216 (else 0.046818326960899735) when income <= 24900,
# |     H3 fires with probability 0.999 (else 0.06391843451031691) when amount > 7900,
# |   ),
# |   H2 fires with probability 0.8746785468042875 (else 0.02978196452329438) when purpose in {gambling},
# |   all of (
# |     H4 fires with probability 0.8334393069724678 (else 0.001) when late_payments > 2,
# |     H5 fires with probability 0.999 (else 0.13329871851809763) when not homeowner,
# |   ),
# | )
# |
# rules: end
