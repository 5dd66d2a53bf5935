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
    "worst_concavity" (numeric)
    "worst_concave_points" (numeric)

rules
    diagnosis is "malignant" when the probability that any of these holds exceeds 0.5
      r7f4098  all of  covers 32.4 %, right 100.0 %
                 0.9998 (else 0.05)  worst_perimeter > 87.2
                 any of
                   0.95 (else 0.03)    area_error > 80
                   0.37 (else 0.0059)  worst_perimeter > 116
                   all of
                     0.9992 (else 0.051)  worst_concave_points > 0.0854
                     any of
                       0.434 (else 0.043)  worst_texture > 32.5
                       all of
                         0.953 (else 0.05)  worst_concavity > 0.1925
                         any of
                           0.945 (else 0.045)  worst_concave_points > 0.177
                           all of
                             0.95 (else 0.09)   worst_area > 885
                             0.992 (else 0.25)  mean_texture > 16.65
                   all of
                     0.39 (else 0.027)   area_error > 35.2
                     0.999 (else 0.099)  worst_concave_points > 0.1113
      rf376c0  all of
                 0.366 (else 0.01)  worst_concave_points > 0.15635
                 0.9996 (else 0.1)  worst_texture > 25.81
      r6650b9  0.359 (else 0.01)  mean_concave_points > 0.0704
    otherwise "benign".   Missing: a condition on a missing value fails.
    0.95 (else 0.03): the condition counts with probability 0.95 where it holds, 0.03 where it does
      not.

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv

digest 43f118d6419496dd795fc5e9ca5711bc0885ed1617efd23f731f6e46b8dc70d2
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import nan
from typing import Any

DIGEST = "43f118d6419496dd795fc5e9ca5711bc0885ed1617efd23f731f6e46b8dc70d2"
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
    (26, "worst_concavity", "number", ()),
    (27, "worst_concave_points", "number", ()),
)


def decide(
    row: Any,
    mean_texture: Any = "mean_texture",
    mean_concave_points: Any = "mean_concave_points",
    area_error: Any = "area_error",
    worst_texture: Any = "worst_texture",
    worst_perimeter: Any = "worst_perimeter",
    worst_area: Any = "worst_area",
    worst_concavity: Any = "worst_concavity",
    worst_concave_points: Any = "worst_concave_points",
) -> int:
    """Class index of a row; its cells bear the names of the columns, or other keys, or places."""
    worst_concave_points = row[worst_concave_points]
    p1 = 0.95 if row[worst_area] > 885.0000305175781 else 0.0896551724137931
    p2 = 0.9921431851251404 if row[mean_texture] > 16.650000572204586 else 0.2500188812674457
    p3 = p1 * p2
    p4 = 1.0 - p3
    p5 = 0.05492424242424243 if worst_concave_points > 0.17700000852346418 else 0.9549242424242425
    p6 = p4 * p5
    p7 = 1.0 - p6
    p8 = 0.9526315789473684 if row[worst_concavity] > 0.19250000268220901 else 0.05013768872851582
    p9 = p7 * p8
    p10 = 1.0 - p9
    p11 = 0.5664983499221958 if row[worst_texture] > 32.50000190734863 else 0.9571101635361452
    p12 = p10 * p11
    p13 = 1.0 - p12
    p14 = 0.9992004088773717 if worst_concave_points > 0.08540000393986702 else 0.05145706678211727
    p15 = p13 * p14
    p16 = 1.0 - p15
    p17 = 0.05011883905259229 if row[area_error] > 80.00000381469727 else 0.9704778263633311
    p18 = p16 * p17
    p19 = 0.3896649539778835 if row[area_error] > 35.20000267028808 else 0.0273782208631881
    p20 = 0.9989821998103351 if worst_concave_points > 0.1113000027835369 else 0.09898219981033511
    p21 = p19 * p20
    p22 = 1.0 - p21
    p23 = p18 * p22
    p24 = 0.6300143989143168 if row[worst_perimeter] > 116.00000381469727 else 0.9940905802078449
    p25 = p23 * p24
    p26 = 1.0 - p25
    p27 = 0.9997535354024831 if row[worst_perimeter] > 87.20000076293945 else 0.050028281025606504
    p28 = p26 * p27
    p29 = 1.0 - p28
    p30 = 0.36628224432247425 if worst_concave_points > 0.15635000914335248 else 0.01008861945208688
    p31 = 0.9995716018144468 if row[worst_texture] > 25.810000419616696 else 0.0995716018144468
    p32 = p30 * p31
    p33 = 1.0 - p32
    p34 = p29 * p33
    # r6650b9: H14 fires with probability 0.359 (else 0.01) when mean_concave_points > 0.0704
    p35 = 0.6411752995114187 if row[mean_concave_points] > 0.07040000334382057 else 0.9900017909468956
    p36 = p34 * p35
    p37 = 1.0 - p36
    positive = p37 > 0.5
    return 1 if positive else 0


def probabilities(
    row: Any,
    mean_texture: Any = "mean_texture",
    mean_concave_points: Any = "mean_concave_points",
    area_error: Any = "area_error",
    worst_texture: Any = "worst_texture",
    worst_perimeter: Any = "worst_perimeter",
    worst_area: Any = "worst_area",
    worst_concavity: Any = "worst_concavity",
    worst_concave_points: Any = "worst_concave_points",
) -> list[float]:
    """Probability of each class; see `decide`."""
    worst_concave_points = row[worst_concave_points]
    p1 = 0.95 if row[worst_area] > 885.0000305175781 else 0.0896551724137931
    p2 = 0.9921431851251404 if row[mean_texture] > 16.650000572204586 else 0.2500188812674457
    p3 = p1 * p2
    p4 = 1.0 - p3
    p5 = 0.05492424242424243 if worst_concave_points > 0.17700000852346418 else 0.9549242424242425
    p6 = p4 * p5
    p7 = 1.0 - p6
    p8 = 0.9526315789473684 if row[worst_concavity] > 0.19250000268220901 else 0.05013768872851582
    p9 = p7 * p8
    p10 = 1.0 - p9
    p11 = 0.5664983499221958 if row[worst_texture] > 32.50000190734863 else 0.9571101635361452
    p12 = p10 * p11
    p13 = 1.0 - p12
    p14 = 0.9992004088773717 if worst_concave_points > 0.08540000393986702 else 0.05145706678211727
    p15 = p13 * p14
    p16 = 1.0 - p15
    p17 = 0.05011883905259229 if row[area_error] > 80.00000381469727 else 0.9704778263633311
    p18 = p16 * p17
    p19 = 0.3896649539778835 if row[area_error] > 35.20000267028808 else 0.0273782208631881
    p20 = 0.9989821998103351 if worst_concave_points > 0.1113000027835369 else 0.09898219981033511
    p21 = p19 * p20
    p22 = 1.0 - p21
    p23 = p18 * p22
    p24 = 0.6300143989143168 if row[worst_perimeter] > 116.00000381469727 else 0.9940905802078449
    p25 = p23 * p24
    p26 = 1.0 - p25
    p27 = 0.9997535354024831 if row[worst_perimeter] > 87.20000076293945 else 0.050028281025606504
    p28 = p26 * p27
    p29 = 1.0 - p28
    p30 = 0.36628224432247425 if worst_concave_points > 0.15635000914335248 else 0.01008861945208688
    p31 = 0.9995716018144468 if row[worst_texture] > 25.810000419616696 else 0.0995716018144468
    p32 = p30 * p31
    p33 = 1.0 - p32
    p34 = p29 * p33
    # r6650b9: H14 fires with probability 0.359 (else 0.01) when mean_concave_points > 0.0704
    p35 = 0.6411752995114187 if row[mean_concave_points] > 0.07040000334382057 else 0.9900017909468956
    p36 = p34 * p35
    p37 = 1.0 - p36
    positive = p37
    return [1.0 - positive, positive]


def decide_many(
    np: Any,
    n: int,
    mean_texture: Any,
    mean_concave_points: Any,
    area_error: Any,
    worst_texture: Any,
    worst_perimeter: Any,
    worst_area: Any,
    worst_concavity: Any,
    worst_concave_points: Any,
) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    p1 = np.where(worst_area > 885.0000305175781, 0.95, 0.0896551724137931)
    p2 = np.where(mean_texture > 16.650000572204586, 0.9921431851251404, 0.2500188812674457)
    p3 = p1 * p2
    p4 = 1.0 - p3
    p5 = np.where(worst_concave_points > 0.17700000852346418, 0.05492424242424243, 0.9549242424242425)
    p6 = p4 * p5
    p7 = 1.0 - p6
    p8 = np.where(worst_concavity > 0.19250000268220901, 0.9526315789473684, 0.05013768872851582)
    p9 = p7 * p8
    p10 = 1.0 - p9
    p11 = np.where(worst_texture > 32.50000190734863, 0.5664983499221958, 0.9571101635361452)
    p12 = p10 * p11
    p13 = 1.0 - p12
    p14 = np.where(worst_concave_points > 0.08540000393986702, 0.9992004088773717, 0.05145706678211727)
    p15 = p13 * p14
    p16 = 1.0 - p15
    p17 = np.where(area_error > 80.00000381469727, 0.05011883905259229, 0.9704778263633311)
    p18 = p16 * p17
    p19 = np.where(area_error > 35.20000267028808, 0.3896649539778835, 0.0273782208631881)
    p20 = np.where(worst_concave_points > 0.1113000027835369, 0.9989821998103351, 0.09898219981033511)
    p21 = p19 * p20
    p22 = 1.0 - p21
    p23 = p18 * p22
    p24 = np.where(worst_perimeter > 116.00000381469727, 0.6300143989143168, 0.9940905802078449)
    p25 = p23 * p24
    p26 = 1.0 - p25
    p27 = np.where(worst_perimeter > 87.20000076293945, 0.9997535354024831, 0.050028281025606504)
    p28 = p26 * p27
    p29 = 1.0 - p28
    p30 = np.where(worst_concave_points > 0.15635000914335248, 0.36628224432247425, 0.01008861945208688)
    p31 = np.where(worst_texture > 25.810000419616696, 0.9995716018144468, 0.0995716018144468)
    p32 = p30 * p31
    p33 = 1.0 - p32
    p34 = p29 * p33
    # r6650b9: H14 fires with probability 0.359 (else 0.01) when mean_concave_points > 0.0704
    p35 = np.where(mean_concave_points > 0.07040000334382057, 0.6411752995114187, 0.9900017909468956)
    p36 = p34 * p35
    p37 = 1.0 - p36
    positive = p37 > 0.5
    return np.where(positive, 1, 0)


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        if isinstance(row, dict):
            return CLASSES[decide(row)]
        if len(row) == 30:
            return CLASSES[decide(row, 1, 7, 13, 21, 22, 23, 26, 27)]
    except (TypeError, LookupError):  # missing or textual cells, absent columns, other kinds of mapping
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED), *range(len(USED)))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    try:
        if isinstance(row, dict):
            return probabilities(row)
        if len(row) == 30:
            return probabilities(row, 1, 7, 13, 21, 22, 23, 26, 27)
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
    if isinstance(value, datetime.datetime):
        return (
            value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH
        ).total_seconds() / 86400.0
    if isinstance(value, datetime.date):
        return float(value.toordinal() - EPOCH.toordinal())
    return number(value, column, tokens)


def flag(value: Any, column: str, tokens: Sequence[str]) -> float:
    """The cell of a Boolean column as a double, NaN where it is missing: Booleans, numbers, true or false as text."""
    if isinstance(value, str) and value.lower() in ("true", "false") and value not in tokens:
        return 1.0 if value.lower() == "true" else 0.0
    return number(value, column, tokens)


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
    return {"flag": flag, "day": day}.get(kind, number)(value, column, tokens)


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
        elif values.dtype.kind == "M" and kind == "day":
            found.append(np.asarray((values - np.datetime64(0, "s")) / np.timedelta64(1, "D"), dtype=np.float64))
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
# | # digest 43f118d6419496dd795fc5e9ca5711bc0885ed1617efd23f731f6e46b8dc70d2 (for information: reading computes it anew)
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
# | let $score = probability of any of (
# |   all of (  # r7f4098  covers 36.3 %, right 100.0 %  held_out: covers 32.4 %, right 100.0 %
# |     any of (
# |       all of (
# |         any of (
# |           all of (
# |             any of (
# |               all of (
# |                 H1 fires with probability 0.95 (else 0.0896551724137931) when worst_area > 885,
# |                 H6 fires with probability 0.9921431851251404 (else 0.2500188812674457) when mean_texture > 16.65,
# |               ),
# |               H2 fires with probability 0.9450757575757576 (else 0.045075757575757575) when worst_concave_points > 0.177,
# |             ),
# |             H3 fires with probability 0.9526315789473684 (else 0.05013768872851582) when worst_concavity > 0.1925,
# |           ),
# |           H4 fires with probability 0.43350165007780417 (else 0.04288983646385477) when worst_texture > 32.5,
# |         ),
# |         H5 fires with probability 0.9992004088773717 (else 0.05145706678211727) when worst_concave_points > 0.0854,
# |       ),
# |       H7 fires with probability 0.9498811609474077 (else 0.02952217363666887) when area_error > 80,
# |       all of (
# |         H8 fires with probability 0.3896649539778835 (else 0.0273782208631881) when area_error > 35.2,
# |         H9 fires with probability 0.9989821998103351 (else 0.09898219981033511) when worst_concave_points > 0.1113,
# |       ),
# |       H10 fires with probability 0.3699856010856832 (else 0.005909419792155135) when worst_perimeter > 116,
# |     ),
# |     H11 fires with probability 0.9997535354024831 (else 0.050028281025606504) when worst_perimeter > 87.2,
# |   ),
# |   all of (  # rf376c0  covers 0.0 %  held_out: covers 0.0 %
# |     H12 fires with probability 0.36628224432247425 (else 0.01008861945208688) when worst_concave_points > 0.15635,
# |     H13 fires with probability 0.9995716018144468 (else 0.0995716018144468) when worst_texture > 25.81,
# |   ),
# |   H14 fires with probability 0.3588247004885813 (else 0.009998209053104412) when mean_concave_points > 0.0704,  # r6650b9  covers 0.0 %  held_out: covers 0.0 %
# | )
# |
# | decide malignant when $score exceeds probability 0.5
# | report malignant with $score
# |
# rules: end
