"""A rule model that decides "diagnosis", in plain Python (made by rulekit).

classes
    "benign"
    "malignant"
columns that the rules read
    "mean_texture" (numeric)
    "mean_concave_points" (numeric)
    "area_error" (numeric)
    "worst_texture" (numeric)
    "worst_perimeter" (numeric)
    "worst_area" (numeric)
    "worst_smoothness" (numeric)
    "worst_concavity" (numeric)
    "worst_concave_points" (numeric)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest 449b58b7987abf91bb6f9db5a4dfad7ee7dac84fac17b5213cbacb46732fe73c
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
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf, nan
from typing import Any

DIGEST = "449b58b7987abf91bb6f9db5a4dfad7ee7dac84fac17b5213cbacb46732fe73c"
CLASSES = ("benign", "malignant")
# All columns, in schema order.
COLUMNS = (
    "mean_radius", "mean_texture", "mean_perimeter", "mean_area", "mean_smoothness", "mean_compactness",
    "mean_concavity", "mean_concave_points", "mean_symmetry", "mean_fractal_dimension", "radius_error", "texture_error",
    "perimeter_error", "area_error", "smoothness_error", "compactness_error", "concavity_error", "concave_points_error",
    "symmetry_error", "fractal_dimension_error", "worst_radius", "worst_texture", "worst_perimeter", "worst_area",
    "worst_smoothness", "worst_compactness", "worst_concavity", "worst_concave_points", "worst_symmetry",
    "worst_fractal_dimension",
)
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (1, "mean_texture", "number", ()),
    (7, "mean_concave_points", "number", ()),
    (13, "area_error", "number", ()),
    (21, "worst_texture", "number", ()),
    (22, "worst_perimeter", "number", ()),
    (23, "worst_area", "number", ()),
    (24, "worst_smoothness", "number", ()),
    (26, "worst_concavity", "number", ()),
    (27, "worst_concave_points", "number", ()),
)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    # rfb4633: worst_area > 920 and worst_concavity > 0.24
    if row["worst_area"] > 920.0000305175781 and row["worst_concavity"] > 0.24000000208616254:
        return 1
    # rfe9e83: mean_texture > 19.3 and mean_concave_points > 0.043 and worst_perimeter > 107
    if (
        row["mean_texture"] > 19.300000190734863
        and row["mean_concave_points"] > 0.04300000332295894
        and row["worst_perimeter"] > 107.00000381469727
    ):
        return 1
    # re61807: worst_texture > 27.6 and worst_concave_points > 0.132
    if row["worst_texture"] > 27.60000133514404 and row["worst_concave_points"] > 0.13200000673532486:
        return 1
    return 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    worst_texture = row["worst_texture"]
    worst_concavity = row["worst_concavity"]
    worst_concave_points = row["worst_concave_points"]
    p1 = (
        (0.979 if row["worst_perimeter"] > 107.20000076293945 else 0.04511)
        * (0.999 if row["mean_concave_points"] > 0.04900000058114528 else 0.7034)
        * (0.999 if row["worst_area"] > 870.0000305175781 else 0.7984)
        * (0.999 if row["mean_texture"] > 16.830000877380368 else 0.8237)
    )
    p2 = (
        (1.0 - p1)
        * (0.7721 if row["worst_smoothness"] > 0.17500000447034833 else 0.999)
        * (0.7704 if worst_texture > 32.83000373840332 else 0.999)
        * (0.7777000000000001 if row["worst_smoothness"] > 0.17500000447034833 else 0.999)
    )
    p3 = (
        (1.0 - p2)
        * (0.999 if worst_texture > 20.77000141143799 else 0.7937)
        * (0.999 if worst_concavity > 0.1900000050663948 else 0.7942)
        * (0.999 if worst_concavity > 0.1900000050663948 else 0.7927)
        * (0.999 if worst_concavity > 0.21400000900030133 else 0.8322)
        * (0.999 if worst_texture > 20.77000141143799 else 0.775)
        * (0.999 if worst_concavity > 0.1900000050663948 else 0.791)
        * (0.999 if worst_texture > 20.77000141143799 else 0.7947)
    )
    p4 = (
        (1.0 - p3)
        * (0.7089 if worst_concave_points > 0.16200000792741776 else 0.999)
        * (0.8170999999999999 if row["area_error"] > 78.00000381469727 else 0.999)
        * (0.7733 if worst_concave_points > 0.17700000852346418 else 0.999)
        * (0.7775000000000001 if worst_concave_points > 0.17700000852346418 else 0.999)
        * (0.8034 if row["area_error"] > 78.00000381469727 else 0.999)
        * (0.8178 if row["area_error"] > 78.00000381469727 else 0.999)
    )
    p5 = 1.0 - p4
    positive = ((p5 if p5 > 0.501 else 0.501) if (row["worst_area"] > 920.0000305175781 and worst_concavity > 0.24000000208616254) or (row["mean_texture"] > 19.300000190734863 and row["mean_concave_points"] > 0.04300000332295894 and row["worst_perimeter"] > 107.00000381469727) or (worst_texture > 27.60000133514404 and worst_concave_points > 0.13200000673532486) else 0.499 if p5 > 0.499 else p5)
    return [1.0 - positive, positive]


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {} if (
                type(row) is dict
                and (type(x := row["mean_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["mean_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["area_error"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_perimeter"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_area"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_smoothness"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concavity"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                return CLASSES[decide(row)]
            case [*_] if (
                len(row) == 30  # no array
                and (type(x := row[1]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[7]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[13]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[21]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[22]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[23]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[24]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[26]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[27]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                # rfb4633
                if row[23] > 920.0000305175781 and row[26] > 0.24000000208616254:
                    return "malignant"
                # rfe9e83
                if row[1] > 19.300000190734863 and row[7] > 0.04300000332295894 and row[22] > 107.00000381469727:
                    return "malignant"
                # re61807
                if row[21] > 27.60000133514404 and row[27] > 0.13200000673532486:
                    return "malignant"
                return "benign"
    except LookupError:  # an absent column
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    try:
        match row:
            case {} if (
                type(row) is dict
                and (type(x := row["mean_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["mean_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["area_error"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_perimeter"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_area"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_smoothness"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concavity"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                return probabilities(row)
            case [*_] if (
                len(row) == 30  # no array
                and (type(x := row[1]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[7]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[13]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[21]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[22]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[23]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[24]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[26]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[27]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                # `probabilities` once more, on places: to name the cells first would take longer than the rules.
                worst_texture = row[21]
                worst_concavity = row[26]
                worst_concave_points = row[27]
                p1 = (
                    (0.979 if row[22] > 107.20000076293945 else 0.04511)
                    * (0.999 if row[7] > 0.04900000058114528 else 0.7034)
                    * (0.999 if row[23] > 870.0000305175781 else 0.7984)
                    * (0.999 if row[1] > 16.830000877380368 else 0.8237)
                )
                p2 = (
                    (1.0 - p1)
                    * (0.7721 if row[24] > 0.17500000447034833 else 0.999)
                    * (0.7704 if worst_texture > 32.83000373840332 else 0.999)
                    * (0.7777000000000001 if row[24] > 0.17500000447034833 else 0.999)
                )
                p3 = (
                    (1.0 - p2)
                    * (0.999 if worst_texture > 20.77000141143799 else 0.7937)
                    * (0.999 if worst_concavity > 0.1900000050663948 else 0.7942)
                    * (0.999 if worst_concavity > 0.1900000050663948 else 0.7927)
                    * (0.999 if worst_concavity > 0.21400000900030133 else 0.8322)
                    * (0.999 if worst_texture > 20.77000141143799 else 0.775)
                    * (0.999 if worst_concavity > 0.1900000050663948 else 0.791)
                    * (0.999 if worst_texture > 20.77000141143799 else 0.7947)
                )
                p4 = (
                    (1.0 - p3)
                    * (0.7089 if worst_concave_points > 0.16200000792741776 else 0.999)
                    * (0.8170999999999999 if row[13] > 78.00000381469727 else 0.999)
                    * (0.7733 if worst_concave_points > 0.17700000852346418 else 0.999)
                    * (0.7775000000000001 if worst_concave_points > 0.17700000852346418 else 0.999)
                    * (0.8034 if row[13] > 78.00000381469727 else 0.999)
                    * (0.8178 if row[13] > 78.00000381469727 else 0.999)
                )
                p5 = 1.0 - p4
                positive = ((p5 if p5 > 0.501 else 0.501) if (row[23] > 920.0000305175781 and worst_concavity > 0.24000000208616254) or (row[1] > 19.300000190734863 and row[7] > 0.04300000332295894 and row[22] > 107.00000381469727) or (worst_texture > 27.60000133514404 and worst_concave_points > 0.13200000673532486) else 0.499 if p5 > 0.499 else p5)
                return [1.0 - positive, positive]
    except LookupError:  # an absent column
        pass
    return probabilities(cells(row, len(COLUMNS), USED))


def predict_many(data: Any) -> list[str]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]


def decide_many(
    np: Any,
    n: int,
    mean_texture: Any,
    mean_concave_points: Any,
    area_error: Any,
    worst_texture: Any,
    worst_perimeter: Any,
    worst_area: Any,
    worst_smoothness: Any,
    worst_concavity: Any,
    worst_concave_points: Any,
) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    positive = (
        # rfb4633
        ((worst_area > 920.0000305175781) & (worst_concavity > 0.24000000208616254))
        # rfe9e83
        | (
            (mean_texture > 19.300000190734863)
            & (mean_concave_points > 0.04300000332295894)
            & (worst_perimeter > 107.00000381469727)
        )
        # re61807
        | ((worst_texture > 27.60000133514404) & (worst_concave_points > 0.13200000673532486))
    )
    return np.where(positive, 1, 0)


# How cells are read, and the arithmetic -- the same in every module -------------------------------------------------

Used = tuple[int, str, str, tuple[str, ...]]
Readers = dict[str, Callable[[Any, str, Sequence[str]], float]]
NUMBER = re.compile(r"[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)", re.ASCII | re.IGNORECASE)
LARGEST = 2**53
SMALLEST = -LARGEST
EPOCH = datetime.datetime(1970, 1, 1)
BLANKS = " \t\n\r\v\f"
HELP = """usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv
       python THIS.py --self-test

Reads CSV with a header from standard input (UTF-8; the order of columns is free, others than those of the rules are
ignored) and writes the label and the probability of each class of every row.

  --delimiter C  what stands between cells; "tab" is a tab
  --self-test    score the rows that this module carries in every form of input; status 1 where an answer differs
  --help         this text"""


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


def command_line(
    arguments: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    decide: Callable[[Any], int],
    probabilities: Callable[[Any], list[float]],
    self_test: Callable[[], int] | None,
) -> int:
    """Do what the arguments ask for; returns the exit status: 0 done, 1 the self-test failed, 2 bad input or usage."""
    if list(arguments) in (["-h"], ["--help"]):
        print(HELP)
        return 0
    if list(arguments) == ["--self-test"] and self_test is not None:
        return self_test()
    delimiter, fault = delimiter_of(arguments)
    if list(arguments) == ["--self-test"]:
        fault = "--self-test: this module was written without its rows"
    if fault:
        print(f"{fault}; --help tells more", file=sys.stderr)
        return 2
    return score_csv(delimiter, used, classes, decide, probabilities)


def delimiter_of(arguments: Sequence[str]) -> tuple[str, str]:
    """The delimiter that the arguments ask for, and what is wrong with them ("" where nothing is)."""
    delimiter = ","
    rest = iter(arguments)
    for text in rest:
        name, given, value = text.partition("=")
        if name == "--delimiter":
            value = value if given else next(rest, "")
            delimiter = {"tab": "\t", "\\t": "\t"}.get(value, value)
            if len(delimiter) != 1 or delimiter in '"\r\n\0':
                return "", "--delimiter takes one character, or tab"
        elif text in ("--self-test", "--help", "-h"):
            return "", f"{text} stands alone"
        else:
            return "", f"{text!r}: {'no such option' if text.startswith('-') else 'rows come on standard input'}"
    return delimiter, ""


def csv_rows(lines: Iterable[str], delimiter: str, used: Sequence[Used]) -> Iterator[dict[str, Any]]:
    """The used cells of each row under a header; order is free, other columns are ignored.

    Names lose the blanks around them, cells keep them. Raises ValueError naming the line where a column is missing or
    stands twice, a cell is not a number, a row is longer or shorter than the header, or there is none.
    """
    lines = iter(lines)
    head = reader = csv.reader(without_nul(lines), delimiter=delimiter, strict=True)
    try:
        header = next(head, None)
        if header is None:
            raise ValueError("there is no header line")
        header = [name.strip(BLANKS) for name in header]
        for _, name, _, _ in used:
            if header.count(name) != 1:
                raise ValueError(
                    f"{'no column' if name not in header else 'more than one column'} {name!r} in the header"
                )
        picked = [(header.index(name), name, kind, tokens) for _, name, kind, tokens in used]
        reader = csv.reader(without_nul(lines), delimiter=delimiter, strict=True)
        blank = 0  # empty lines are rows of a table of one column, but not at its end
        found = False
        for row in reader:
            if not row:
                blank += len(header) == 1
                continue
            for whole in [*[[""]] * blank, row]:
                if len(whole) != len(header):
                    raise ValueError(f"{len(whole)} cells, the header has {len(header)}")
                yield {name: cell(whole[at], name, kind, tokens) for at, name, kind, tokens in picked}
            blank, found = 0, True
        if not found:
            raise ValueError("there is a header but no row")
    except (ValueError, csv.Error) as error:
        number = reader.line_num + (head.line_num if reader is not head else 0)
        raise ValueError(f"line {max(number, 1)}: {error}") from None


def without_nul(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a text; raises ValueError where one holds a NUL."""
    for line in lines:
        if "\0" in line:
            raise ValueError("a NUL byte: this is no table of text")
        yield line


def score_csv(
    delimiter: str,
    used: Sequence[Used],
    classes: Sequence[Any],
    decide: Callable[[Any], int],
    probabilities: Callable[[Any], list[float]],
) -> int:
    """Score CSV from standard input to standard output: label and probabilities of each row. Returns the exit status.

    0: done; 2: bad input, said in one line on standard error.
    """
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    sink = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    writer = csv.writer(sink, lineterminator="\n")
    names = [str(label).lower() if isinstance(label, bool) else str(label) for label in classes]
    try:
        rows = csv_rows(source, delimiter, used)
        first = next(rows, None)
        writer.writerow(["label", *(f"probability({name})" for name in names)])
        for row in itertools.chain([] if first is None else [first], rows):
            writer.writerow([names[decide(row)], *map(repr, probabilities(row))])
        sink.flush()
    except BrokenPipeError:  # the reader of our output has gone; silence the interpreter's own flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:  # UnicodeDecodeError is a ValueError
        message = "".join(c if c.isprintable() else repr(c)[1:-1] for c in f"standard input: {error}")
        sink.flush()
        print(message, file=sys.stderr)
        return 2
    return 0


def check_rows(
    columns: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    ways: Mapping[str, Callable[[Any], Any]],
) -> int:
    """Score rows in every form of input; returns 0 where each answer is the model's, else 1. Says so in one line.

    rows: cells of the columns of `used`, class index and probabilities by the model. ways: the module's functions.
    """
    try:
        fault = first_difference(columns, used, classes, rows, ways)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        fault = f"{type(error).__name__}: {error}"
    note = "" if numpy_or_none() is not None else " (without numpy: columns were scored row by row)"
    print(f"self-test: {fault}" if fault else f"self-test: {len(rows)} rows, 0 different{note}")
    return 1 if fault else 0


def first_difference(
    columns: Sequence[str],
    used: Sequence[Used],
    classes: Sequence[Any],
    rows: Sequence[tuple[Sequence[Any], int, Sequence[float]]],
    ways: Mapping[str, Callable[[Any], Any]],
) -> str:
    """The first row that some function scores otherwise than the model, in words; "" where there is none."""
    names = [name for _, name, _, _ in used]
    given = [dict(zip(names, cells, strict=True)) for cells, _, _ in rows]
    predict, predict_proba, predict_many = ways["predict"], ways["predict_proba"], ways["predict_many"]
    by_column = {name: [row[name] for row in given] for name in names}
    of_columns = [predict_many(by_column), [predict(row) for row in rows_of(by_column)]] if names else []
    of_rows = predict_many(given)
    named = all(name == name.strip(BLANKS) for name in names)  # the header's names lose their blanks
    from_text = csv_rows(csv_lines(names, given), ",", used)
    for number, (row, (_, index, chances)) in enumerate(zip(given, rows, strict=True)):
        blank = {name: None if plain(value) is None else value for name, value in row.items()}
        in_order = [blank.get(name) for name in columns]
        texts = [repr(value) if isinstance(value, float) else value for value in in_order]
        labels = [
            ("predict of a mapping", predict(row)),
            ("predict of a mapping with None", predict(blank)),
            ("predict of a sequence", predict(in_order)),
            ("predict of a sequence of texts", predict(texts)),
            ("predict_many of rows", of_rows[number]),
            *(("predict_many of columns", found[number]) for found in of_columns),
        ]
        reports = [
            ("predict_proba of a mapping", predict_proba(row)),
            ("predict_proba of a sequence", predict_proba(in_order)),
        ]
        if names and named and is_plain(row.values()):
            cells = next(from_text)
            labels.append(("CSV", classes[ways["decide"](cells)]))
            reports.append(("CSV", ways["probabilities"](cells)))
        for way, label in labels:
            if repr(label) != repr(classes[index]):
                return f"row {number + 1}: {way} gives {label!r}, the model {classes[index]!r}: {blank}"
        for way, found in reports:
            if len(found) != len(chances) or any(abs(a - b) > 1e-12 for a, b in zip(found, chances, strict=True)):
                return f"row {number + 1}: {way} gives {found}, the model {list(chances)}: {blank}"
    return ""


def csv_lines(names: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """CSV of the rows that are the same after it."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(names)
    for row in rows:
        if is_plain(row.values()):
            writer.writerow(row.values())
    text.seek(0)
    return text


def is_plain(cells: Iterable[Any]) -> bool:
    """Whether no cell holds a NUL, which readers of CSV refuse."""
    return not any(isinstance(value, str) and "\0" in value for value in cells)


def test_rows(
    cells: Sequence[Sequence[Any]], chances: Sequence[Sequence[float]], rows: Sequence[Sequence[int]]
) -> list[tuple[list[Any], int, Sequence[float]]]:
    """Cells, class index and probabilities of each row, which is kept as indices: of these, then of each column's."""
    return [
        ([own[i] for own, i in zip(cells, places, strict=True)], index, chances[chance])
        for index, chance, *places in rows
    ]


READERS: Readers = {"number": number}


# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, -inf, inf, 0.0, 19.300000190734863, 19.300000190734867, 16.830000877380368, 16.83000087738037),
    (nan, -inf, inf, 0.0, 0.04300000332295894, 0.043000003322958946, 0.04900000058114528, 0.04900000058114529),
    (nan, -inf, inf, 0.0, 78.00000381469727, 78.00000381469728),
    (nan, -inf, inf, 0.0, 27.60000133514404, 20.77000141143799, 27.600001335144043, 32.83000373840332,
    32.83000373840333, 20.770001411437992, ),
    (nan, -inf, inf, 0.0, 107.20000076293945, 107.00000381469727, 107.00000381469728, 107.20000076293947),
    (nan, -inf, inf, 0.0, 920.0000305175781, 920.0000305175782, 870.0000305175781, 870.0000305175782),
    (nan, -inf, inf, 0.0, 0.17500000447034833, 0.17500000447034836),
    (nan, -inf, inf, 0.0, 0.24000000208616254, 0.24000000208616257, 0.21400000900030133, 0.1900000050663948,
    0.19000000506639483, 0.21400000900030136, ),
    (nan, -inf, inf, 0.0, 0.13200000673532486, 0.1320000067353249, 0.16200000792741776, 0.16200000792741778,
    0.17700000852346418, 0.1770000085234642, ),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.9892220071008, 0.0107779928992), (0.0041126507346, 0.9958873492654), (0.501, 0.499),
    (0.2467065451451, 0.7532934548549), (0.1891778627158, 0.8108221372842), (0.490208848149, 0.509791151851),
    (0.1830296205799, 0.8169703794201), (0.4281386742036, 0.5718613257964), (0.1373436711222, 0.8626563288778),
    (0.4895170661555, 0.5104829338445), (0.1896806205795, 0.8103193794205), (0.2252944786105, 0.7747055213895),
    (0.532181576218, 0.467818423782), (0.1479712620408, 0.8520287379592), (0.1231579420867, 0.8768420579133),
    (0.2090178136259, 0.7909821863741), (0.1812329679792, 0.8187670320208), (0.4425205006445, 0.5574794993555),
    (0.3140167997066, 0.6859832002934), (0.9103815894745, 0.0896184105255), (0.3467941588431, 0.6532058411569),
    (0.499, 0.501), (0.0714060949329, 0.9285939050671),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), (0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1), (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    (0, 0, 3, 3, 3, 3, 3, 3, 3, 3, 3), (0, 2, 3, 2, 4, 4, 4, 4, 2, 2, 2), (1, 3, 3, 2, 4, 4, 4, 5, 2, 2, 2),
    (0, 2, 2, 3, 2, 5, 4, 0, 2, 3, 4), (0, 2, 2, 3, 2, 5, 4, 3, 2, 3, 4), (0, 2, 3, 2, 4, 4, 4, 2, 2, 4, 2),
    (1, 3, 3, 2, 4, 4, 4, 2, 2, 5, 2), (0, 2, 2, 3, 2, 5, 4, 3, 2, 0, 4), (0, 2, 4, 2, 5, 1, 4, 4, 2, 6, 2),
    (1, 4, 5, 2, 5, 1, 4, 4, 2, 6, 2), (0, 2, 0, 3, 2, 5, 4, 3, 2, 3, 4), (0, 2, 3, 3, 2, 5, 4, 3, 2, 3, 4),
    (0, 2, 2, 4, 2, 5, 4, 3, 2, 3, 4), (1, 5, 2, 5, 2, 5, 4, 3, 2, 3, 4), (0, 2, 2, 0, 2, 5, 4, 3, 2, 3, 4),
    (0, 2, 2, 2, 5, 1, 5, 4, 2, 6, 2), (1, 4, 2, 2, 5, 1, 6, 4, 2, 6, 2), (0, 2, 2, 3, 2, 5, 0, 3, 2, 3, 4),
    (0, 2, 2, 3, 2, 5, 3, 3, 2, 3, 4), (0, 2, 4, 4, 4, 4, 2, 4, 4, 6, 2), (1, 6, 4, 4, 4, 6, 2, 4, 4, 6, 2),
    (0, 2, 2, 3, 2, 0, 4, 3, 2, 3, 4), (0, 2, 2, 3, 2, 3, 4, 3, 2, 3, 4), (0, 2, 4, 4, 4, 7, 2, 4, 4, 6, 4),
    (1, 7, 4, 4, 4, 7, 2, 4, 4, 6, 5), (0, 2, 2, 3, 2, 5, 4, 3, 2, 3, 0), (0, 2, 2, 3, 2, 5, 4, 3, 2, 3, 3),
    (1, 4, 2, 2, 5, 1, 4, 4, 2, 6, 2), (1, 8, 2, 2, 5, 1, 7, 4, 2, 6, 2), (1, 5, 2, 6, 2, 5, 4, 3, 2, 3, 4),
    (1, 9, 2, 7, 2, 5, 4, 3, 2, 3, 4), (1, 10, 2, 2, 5, 1, 4, 6, 2, 6, 2), (1, 4, 2, 2, 5, 1, 4, 7, 2, 6, 2),
    (1, 11, 6, 4, 4, 7, 2, 4, 4, 6, 2), (1, 6, 7, 4, 4, 7, 2, 4, 4, 6, 2), (0, 12, 2, 3, 2, 5, 4, 3, 4, 3, 4),
    (0, 2, 2, 3, 2, 5, 4, 3, 5, 3, 4), (0, 12, 2, 3, 2, 5, 4, 3, 0, 3, 4), (0, 12, 2, 3, 2, 5, 4, 3, 3, 3, 4),
    (1, 13, 2, 2, 5, 7, 4, 4, 2, 6, 2), (1, 14, 2, 2, 5, 8, 4, 4, 2, 6, 2), (1, 4, 2, 2, 5, 5, 4, 4, 2, 6, 2),
    (1, 13, 2, 2, 5, 9, 4, 4, 2, 6, 2), (1, 15, 2, 2, 5, 1, 4, 4, 2, 7, 2), (1, 4, 2, 2, 5, 1, 4, 4, 2, 8, 2),
    (1, 16, 2, 2, 5, 1, 4, 4, 2, 9, 2), (1, 17, 2, 2, 5, 1, 4, 4, 2, 6, 6), (1, 18, 2, 2, 5, 1, 4, 4, 2, 6, 7),
    (0, 19, 2, 3, 4, 5, 4, 3, 2, 3, 4), (0, 2, 2, 3, 5, 5, 4, 3, 2, 3, 4), (0, 19, 2, 3, 0, 5, 4, 3, 2, 3, 4),
    (0, 19, 2, 3, 3, 5, 4, 3, 2, 3, 4), (1, 18, 2, 2, 5, 1, 4, 4, 2, 6, 8), (1, 4, 2, 2, 5, 1, 4, 4, 2, 6, 9),
    (1, 20, 2, 2, 5, 5, 2, 6, 5, 6, 4), (1, 6, 4, 4, 4, 7, 2, 4, 4, 6, 2), (1, 21, 2, 6, 4, 7, 4, 4, 5, 2, 3),
    (1, 3, 3, 2, 4, 4, 4, 2, 2, 2, 2), (1, 22, 2, 2, 2, 2, 2, 4, 4, 6, 8), (0, 2, 2, 3, 2, 4, 2, 4, 4, 7, 2),
    (1, 21, 2, 6, 4, 7, 2, 6, 4, 7, 4),
)


def self_test() -> int:
    """Score the rows above in every form of input; returns 0 where all answers are the model's, else 1."""
    rows = test_rows(TEST_CELLS, TEST_CHANCES, TEST_ROWS)
    ways = {
        "decide": decide,
        "probabilities": probabilities,
        "predict": predict,
        "predict_proba": predict_proba,
        "predict_many": predict_many,
    }
    return check_rows(COLUMNS, USED, CLASSES, rows, ways)


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:], USED, CLASSES, decide, probabilities, self_test))


# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# | rulekit rules 1
# | # digest 449b58b7987abf91bb6f9db5a4dfad7ee7dac84fac17b5213cbacb46732fe73c (for information: reading computes it anew)
# |
# | column mean_radius: numeric
# | column mean_texture: numeric
# | column mean_perimeter: numeric
# | column mean_area: numeric
# | column mean_smoothness: numeric
# | column mean_compactness: numeric
# | column mean_concavity: numeric
# | column mean_concave_points: numeric
# | column mean_symmetry: numeric
# | column mean_fractal_dimension: numeric
# | column radius_error: numeric
# | column texture_error: numeric
# | column perimeter_error: numeric
# | column area_error: numeric
# | column smoothness_error: numeric
# | column compactness_error: numeric
# | column concavity_error: numeric
# | column concave_points_error: numeric
# | column symmetry_error: numeric
# | column fractal_dimension_error: numeric
# | column worst_radius: numeric
# | column worst_texture: numeric
# | column worst_perimeter: numeric
# | column worst_area: numeric
# | column worst_smoothness: numeric
# | column worst_compactness: numeric
# | column worst_concavity: numeric
# | column worst_concave_points: numeric
# | column worst_symmetry: numeric
# | column worst_fractal_dimension: numeric
# | label diagnosis: {benign, malignant}
# | default benign
# |
# | decide malignant when any of (
# |   worst_area > 920 and worst_concavity > 0.24,                                    # rfb4633  training: right 100.0 % of 123 rows, 97 to 100; held out: right 97.0 % of 33 rows, 85 to 99.5
# |   mean_texture > 19.3 and mean_concave_points > 0.043 and worst_perimeter > 107,  # rfe9e83  training: right 100.0 % of 106 rows, 97 to 100; held out: right 100.0 % of 31 rows, 89 to 100
# |   worst_texture > 27.6 and worst_concave_points > 0.132,                          # re61807  training: right 100.0 % of 89 rows, 96 to 100; held out: right 100.0 % of 25 rows, 87 to 100
# | )
# | report malignant with sided(probability of any of (
# |   all of (
# |     any of (
# |       all of (
# |         H1 fires with probability 0.979 (else 0.04511) when worst_perimeter > 107.2,
# |         H2 fires with probability 0.999 (else 0.7034) when mean_concave_points > 0.049,
# |         H7 fires with probability 0.999 (else 0.7984) when worst_area > 870,
# |         H12 fires with probability 0.999 (else 0.8237) when mean_texture > 16.83,
# |       ),
# |       H3 fires with probability 0.2279 (else 0.001) when worst_smoothness > 0.175,
# |       H9 fires with probability 0.2296 (else 0.001) when worst_texture > 32.83,
# |       H17 fires with probability 0.2223 (else 0.001) when worst_smoothness > 0.175,
# |     ),
# |     H4 fires with probability 0.999 (else 0.7937) when worst_texture > 20.77,
# |     H6 fires with probability 0.999 (else 0.7942) when worst_concavity > 0.19,
# |     H11 fires with probability 0.999 (else 0.7927) when worst_concavity > 0.19,
# |     H13 fires with probability 0.999 (else 0.8322) when worst_concavity > 0.214,
# |     H15 fires with probability 0.999 (else 0.775) when worst_texture > 20.77,
# |     H18 fires with probability 0.999 (else 0.791) when worst_concavity > 0.19,
# |     H19 fires with probability 0.999 (else 0.7947) when worst_texture > 20.77,
# |   ),
# |   H5 fires with probability 0.2911 (else 0.001) when worst_concave_points > 0.162,
# |   H8 fires with probability 0.1829 (else 0.001) when area_error > 78,
# |   H10 fires with probability 0.2267 (else 0.001) when worst_concave_points > 0.177,
# |   H14 fires with probability 0.2225 (else 0.001) when worst_concave_points > 0.177,
# |   H16 fires with probability 0.1966 (else 0.001) when area_error > 78,
# |   H20 fires with probability 0.1822 (else 0.001) when area_error > 78,
# | ), at least 0.501 when decided, else at most 0.499)
# |
# rules: end
