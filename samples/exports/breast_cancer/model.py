"""A rule model that decides "diagnosis", in plain Python (made by rulekit).

classes
    "benign"
    "malignant"
columns that the rules read
    "mean_radius" (numeric)
    "mean_concavity" (numeric)
    "perimeter_error" (numeric)
    "worst_texture" (numeric)
    "worst_perimeter" (numeric)
    "worst_area" (numeric)
    "worst_concave_points" (numeric)

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest b03e854f9819be5fa86f8013050605c7dd88ee2b9c05829de6e6d27b3b7f17da
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
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf, nan
from typing import Any

DIGEST = "b03e854f9819be5fa86f8013050605c7dd88ee2b9c05829de6e6d27b3b7f17da"
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
    (0, "mean_radius", "number", ()),
    (6, "mean_concavity", "number", ()),
    (12, "perimeter_error", "number", ()),
    (21, "worst_texture", "number", ()),
    (22, "worst_perimeter", "number", ()),
    (23, "worst_area", "number", ()),
    (27, "worst_concave_points", "number", ()),
)
MEAN_CONCAVITY_CUTS = (0.09000000730156898,)
MEAN_CONCAVITY_VALUES = (-12.0, 0.0)
WORST_TEXTURE_CUTS = (24.12000179290771, 27.27000141143799)
WORST_TEXTURE_VALUES = (-19.0, -9.0, 0.0)
WORST_PERIMETER_CUTS = (107.20000076293945,)
WORST_PERIMETER_VALUES = (-7.0, 0.0)
WORST_AREA_CUTS = (640.0000305175781, 810.0000305175781, 885.0000305175781)
WORST_AREA_VALUES = (-33.0, -21.0, -12.0, 0.0)
WORST_CONCAVE_POINTS_CUTS = (0.12100000306963919, 0.14200001209974286, 0.1600000038743019)
WORST_CONCAVE_POINTS_VALUES = (-28.0, -19.0, -9.0, 0.0)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    # r2ee644: mean_concavity > 0.065 and worst_area > 870
    if row["mean_concavity"] > 0.06500000134110451 and row["worst_area"] > 870.0000305175781:
        return 1
    # r540ecb: worst_texture > 27.27 and worst_concave_points > 0.135
    if row["worst_texture"] > 27.27000141143799 and row["worst_concave_points"] > 0.1350000128149986:
        return 1
    # r9b9dfc: mean_radius <= 14 and perimeter_error <= 3.167 and worst_perimeter > 106
    if (
        row["mean_radius"] <= 14.000000476837158
        and row["perimeter_error"] <= 3.1670001745223995
        and row["worst_perimeter"] > 106.00000381469727
    ):
        return 1
    return 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    # r2ee644
    r2ee644 = row["mean_concavity"] > 0.06500000134110451 and row["worst_area"] > 870.0000305175781
    # r9b9dfc
    r9b9dfc = (
        row["mean_radius"] <= 14.000000476837158
        and row["perimeter_error"] <= 3.1670001745223995
        and row["worst_perimeter"] > 106.00000381469727
    )
    total1 = 45.0
    if r2ee644:
        total1 += 12.0
    if r9b9dfc:
        total1 += 10.0
    total1 += MEAN_CONCAVITY_VALUES[bisect_left(MEAN_CONCAVITY_CUTS, row["mean_concavity"])] if row["mean_concavity"] <= inf else 0.0
    total1 += WORST_TEXTURE_VALUES[bisect_left(WORST_TEXTURE_CUTS, row["worst_texture"])] if row["worst_texture"] <= inf else 0.0
    total1 += WORST_PERIMETER_VALUES[bisect_left(WORST_PERIMETER_CUTS, row["worst_perimeter"])] if row["worst_perimeter"] <= inf else 0.0
    total1 += WORST_AREA_VALUES[bisect_left(WORST_AREA_CUTS, row["worst_area"])] if row["worst_area"] <= inf else 0.0
    total1 += WORST_CONCAVE_POINTS_VALUES[bisect_left(WORST_CONCAVE_POINTS_CUTS, row["worst_concave_points"])] if row["worst_concave_points"] <= inf else 0.0
    total2 = 0.0
    total2 += 0.1 * total1
    p1 = logistic(total2)
    positive = ((p1 if p1 > 0.501 else 0.501) if r2ee644 or (row["worst_texture"] > 27.27000141143799 and row["worst_concave_points"] > 0.1350000128149986) or r9b9dfc else 0.499 if p1 > 0.499 else p1)
    return [1.0 - positive, positive]


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {} if (
                type(row) is dict
                and (type(x := row["mean_radius"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["mean_concavity"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["perimeter_error"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_perimeter"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_area"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                return CLASSES[decide(row)]
            case [*_] if (
                len(row) == 30  # no array
                and (type(x := row[0]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[6]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[12]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[21]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[22]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[23]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[27]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                # r2ee644
                if row[6] > 0.06500000134110451 and row[23] > 870.0000305175781:
                    return "malignant"
                # r540ecb
                if row[21] > 27.27000141143799 and row[27] > 0.1350000128149986:
                    return "malignant"
                # r9b9dfc
                if row[0] <= 14.000000476837158 and row[12] <= 3.1670001745223995 and row[22] > 106.00000381469727:
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
                and (type(x := row["mean_radius"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["mean_concavity"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["perimeter_error"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_texture"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_perimeter"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_area"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row["worst_concave_points"]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                return probabilities(row)
            case [*_] if (
                len(row) == 30  # no array
                and (type(x := row[0]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[6]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[12]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[21]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[22]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[23]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
                and (type(x := row[27]) is float or type(x) is bool or (type(x) is int and SMALLEST <= x <= LARGEST))
            ):
                # `probabilities` once more, on places: to name the cells first would take longer than the rules.
                # r2ee644
                r2ee644 = row[6] > 0.06500000134110451 and row[23] > 870.0000305175781
                # r9b9dfc
                r9b9dfc = (
                    row[0] <= 14.000000476837158
                    and row[12] <= 3.1670001745223995
                    and row[22] > 106.00000381469727
                )
                total1 = 45.0
                if r2ee644:
                    total1 += 12.0
                if r9b9dfc:
                    total1 += 10.0
                total1 += MEAN_CONCAVITY_VALUES[bisect_left(MEAN_CONCAVITY_CUTS, row[6])] if row[6] <= inf else 0.0
                total1 += WORST_TEXTURE_VALUES[bisect_left(WORST_TEXTURE_CUTS, row[21])] if row[21] <= inf else 0.0
                total1 += WORST_PERIMETER_VALUES[bisect_left(WORST_PERIMETER_CUTS, row[22])] if row[22] <= inf else 0.0
                total1 += WORST_AREA_VALUES[bisect_left(WORST_AREA_CUTS, row[23])] if row[23] <= inf else 0.0
                total1 += WORST_CONCAVE_POINTS_VALUES[bisect_left(WORST_CONCAVE_POINTS_CUTS, row[27])] if row[27] <= inf else 0.0
                total2 = 0.0
                total2 += 0.1 * total1
                p1 = logistic(total2)
                positive = ((p1 if p1 > 0.501 else 0.501) if r2ee644 or (row[21] > 27.27000141143799 and row[27] > 0.1350000128149986) or r9b9dfc else 0.499 if p1 > 0.499 else p1)
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
    mean_radius: Any,
    mean_concavity: Any,
    perimeter_error: Any,
    worst_texture: Any,
    worst_perimeter: Any,
    worst_area: Any,
    worst_concave_points: Any,
) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    positive = (
        # r2ee644
        ((mean_concavity > 0.06500000134110451) & (worst_area > 870.0000305175781))
        # r540ecb
        | ((worst_texture > 27.27000141143799) & (worst_concave_points > 0.1350000128149986))
        # r9b9dfc
        | (
            (mean_radius <= 14.000000476837158)
            & (perimeter_error <= 3.1670001745223995)
            & (worst_perimeter > 106.00000381469727)
        )
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


def logistic(z: float) -> float:
    """1 / (1 + exp(-z))."""
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0


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
    (nan, -inf, inf, 0.0, 14.000000476837158, 14.00000047683716),
    (nan, -inf, inf, 0.0, 0.06500000134110451, 0.06500000134110452, 0.09000000730156898, 0.090000007301569),
    (nan, -inf, inf, 0.0, 3.1670001745224, 3.1670001745223995),
    (nan, -inf, inf, 0.0, 24.12000179290771, 27.27000141143799, 27.270001411437992, 24.120001792907715),
    (nan, -inf, inf, 0.0, 107.20000076293945, 106.00000381469727, 106.00000381469728, 107.20000076293947),
    (nan, -inf, inf, 0.0, 885.0000305175781, 870.0000305175781, 870.0000305175782, 640.0000305175781, 640.0000305175782,
    810.0000305175781, 810.0000305175782, 885.0000305175782, ),
    (nan, -inf, inf, 0.0, 0.14200001209974286, 0.1600000038743019, 0.1350000128149986, 0.13500001281499863,
    0.12100000306963919, 0.1210000030696392, 0.1420000120997429, 0.16000000387430194, ),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.501, 0.499), (0.9955037268391, 0.0044962731609), (0.0033348073074, 0.9966651926926),
    (0.8455347349165, 0.1544652650835), (0.499, 0.501), (0.6224593312019, 0.3775406687981),
    (0.6681877721682, 0.3318122278318), (0.3775406687981, 0.6224593312019), (0.3100255188724, 0.6899744811276),
    (0.4501660026875, 0.5498339973125), (0.869891525637, 0.130108474363), (0.9308615796567, 0.0691384203433),
    (0.9706877692486, 0.0293122307514), (0.9426758241011, 0.0573241758989), (0.3318122278318, 0.6681877721682),
    (0.9168273035061, 0.0831726964939), (0.9781187290639, 0.0218812709361), (0.1192029220221, 0.8807970779779),
    (0.1544652650835, 0.8455347349165), (0.2497398944049, 0.7502601055951), (0.4750208125211, 0.5249791874789),
    (0.0997504891197, 0.9002495108803), (0.7502601055951, 0.2497398944049), (0.9644288107274, 0.0355711892726),
    (0.231475216501, 0.768524783499),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
    (0, 0, 0, 0, 0, 0, 0, 0, 0), (0, 1, 1, 1, 1, 1, 1, 1, 1), (1, 2, 2, 2, 2, 2, 2, 2, 2), (0, 1, 3, 3, 3, 3, 3, 3, 3),
    (0, 3, 4, 4, 4, 3, 2, 4, 4), (1, 4, 4, 5, 4, 3, 2, 4, 4), (0, 5, 4, 0, 4, 3, 2, 4, 4), (0, 3, 4, 3, 4, 3, 2, 4, 4),
    (0, 6, 2, 6, 5, 2, 2, 5, 3), (1, 7, 2, 6, 5, 2, 2, 6, 3), (1, 8, 4, 6, 5, 4, 4, 0, 5), (1, 4, 4, 6, 5, 4, 4, 3, 5),
    (0, 6, 4, 4, 4, 5, 2, 4, 4), (1, 9, 4, 4, 4, 6, 2, 4, 4), (0, 0, 4, 4, 4, 0, 2, 4, 4), (0, 10, 2, 6, 5, 2, 2, 7, 6),
    (1, 4, 2, 6, 5, 2, 2, 7, 7), (0, 0, 4, 4, 4, 3, 2, 4, 0), (0, 11, 4, 4, 4, 3, 2, 4, 3),
    (0, 12, 5, 6, 5, 4, 4, 3, 5), (0, 12, 0, 6, 5, 4, 4, 3, 5), (1, 4, 3, 6, 5, 4, 4, 3, 5),
    (0, 12, 4, 6, 4, 4, 4, 3, 5), (0, 12, 4, 6, 0, 4, 4, 3, 5), (1, 4, 4, 6, 3, 4, 4, 3, 5),
    (0, 12, 4, 6, 5, 4, 5, 3, 5), (1, 4, 4, 6, 5, 4, 6, 3, 5), (0, 13, 4, 6, 5, 4, 0, 3, 5),
    (0, 12, 4, 6, 5, 4, 3, 3, 5), (1, 4, 4, 6, 4, 3, 2, 4, 4), (1, 14, 4, 7, 4, 3, 2, 4, 4),
    (0, 3, 4, 4, 4, 4, 2, 4, 4), (0, 6, 4, 4, 4, 7, 2, 4, 4), (0, 15, 4, 4, 4, 3, 4, 4, 4), (0, 3, 4, 4, 4, 3, 7, 4, 4),
    (0, 16, 4, 4, 4, 3, 2, 7, 4), (0, 11, 4, 4, 4, 3, 2, 8, 4), (0, 11, 4, 4, 4, 3, 2, 9, 4),
    (0, 3, 4, 4, 4, 3, 2, 10, 4), (1, 8, 4, 6, 5, 4, 4, 4, 5), (1, 17, 4, 6, 5, 4, 4, 11, 5),
    (0, 11, 4, 4, 4, 3, 2, 4, 8), (0, 3, 4, 4, 4, 3, 2, 4, 9), (0, 6, 4, 4, 4, 3, 2, 4, 10),
    (0, 6, 4, 4, 4, 3, 2, 4, 5), (0, 0, 4, 4, 4, 3, 2, 4, 11), (1, 18, 4, 6, 5, 4, 2, 2, 6),
    (0, 13, 2, 6, 5, 2, 2, 7, 3), (1, 19, 4, 6, 5, 5, 4, 2, 8), (1, 20, 4, 2, 4, 5, 4, 4, 8),
    (1, 21, 4, 2, 5, 6, 2, 7, 2), (1, 4, 4, 4, 3, 4, 4, 7, 8), (1, 4, 4, 4, 5, 5, 4, 7, 6),
    (1, 18, 2, 6, 5, 2, 5, 4, 5), (1, 20, 4, 5, 5, 4, 4, 2, 3), (0, 22, 4, 4, 5, 5, 5, 0, 8),
    (0, 12, 2, 3, 3, 0, 5, 3, 3), (0, 12, 4, 6, 2, 2, 5, 7, 1), (0, 23, 0, 2, 5, 4, 5, 7, 6),
    (0, 12, 2, 3, 2, 5, 5, 3, 6), (1, 4, 4, 4, 5, 5, 2, 5, 8), (1, 24, 4, 6, 5, 2, 2, 5, 4),
    (0, 12, 2, 4, 2, 4, 4, 7, 5), (1, 4, 3, 2, 5, 4, 2, 7, 5),
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
# | # digest b03e854f9819be5fa86f8013050605c7dd88ee2b9c05829de6e6d27b3b7f17da (for information: reading computes it anew)
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
# |   rule 1: mean_concavity > 0.065 and worst_area > 870,                               # r2ee644  training: right 100.0 % of 129 rows, 97 to 100; held out: right 97.4 % of 39 rows, 87 to 99.5
# |   worst_texture > 27.27 and worst_concave_points > 0.135,                            # r540ecb  training: right 100.0 % of 91 rows, 96 to 100; held out: right 100.0 % of 25 rows, 87 to 100
# |   rule 3: mean_radius <= 14 and perimeter_error <= 3.167 and worst_perimeter > 106,  # r9b9dfc  training: right 100.0 % of 12 rows, 76 to 100; held out: right 100.0 % of 1 row, 21 to 100
# | )
# | report malignant with sided(logistic of sum(
# |   0,
# |   0.1 * sum(45, 12 if rule 1, 10 if rule 3, 1 * step(mean_concavity: -12 up to 0.09, then 0, missing 0), 1 * step(worst_texture: -19 up to 24.12, -9 up to 27.27, then 0, missing 0), 1 * step(worst_perimeter: -7 up to 107.2, then 0, missing 0), 1 * step(worst_area: -33 up to 640, -21 up to 810, -12 up to 885, then 0, missing 0), 1 * step(worst_concave_points: -28 up to 0.121, -19 up to 0.142, -9 up to 0.16, then 0, missing 0)),
# | ), at least 0.501 when decided, else at most 0.499)
# |
# rules: end
