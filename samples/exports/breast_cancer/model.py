"""A rule model that decides "diagnosis", in plain Python (made by rulekit).

classes
    "benign"
    "malignant"
columns that the rules read
    "mean_texture" (numeric)
    "mean_concave_points" (numeric)
    "worst_radius" (numeric)
    "worst_area" (numeric)
    "worst_concavity" (numeric)
    "worst_concave_points" (numeric)

predict(row) gives the label, predict_proba(row) the probability of each class, predict_many(data) the
labels of rows, of a mapping or frame of columns, or of an array. A row is a mapping by column name, or a
sequence of all columns in the order of COLUMNS; None, NaN and the empty text are missing.

python THIS.py < rows.csv > predictions.csv scores CSV (UTF-8, with a header; --delimiter C).
"""

from __future__ import annotations

import csv
import datetime
import io
import math
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import inf, nan
from typing import Any

DIGEST = "e75e405a822f12b0f62a1b7fbbe01e21e8634768eaf654da30432e31cbe38d68"
CLASSES = ("benign", "malignant")
COLUMNS = (
    "mean_radius", "mean_texture", "mean_perimeter", "mean_area", "mean_smoothness", "mean_compactness",
    "mean_concavity", "mean_concave_points", "mean_symmetry", "mean_fractal_dimension", "radius_error", "texture_error",
    "perimeter_error", "area_error", "smoothness_error", "compactness_error", "concavity_error", "concave_points_error",
    "symmetry_error", "fractal_dimension_error", "worst_radius", "worst_texture", "worst_perimeter", "worst_area",
    "worst_smoothness", "worst_compactness", "worst_concavity", "worst_concave_points", "worst_symmetry",
    "worst_fractal_dimension",
)
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("mean_texture", "number", ()),
    ("mean_concave_points", "number", ()),
    ("worst_radius", "number", ()),
    ("worst_area", "number", ()),
    ("worst_concavity", "number", ()),
    ("worst_concave_points", "number", ()),
)
MEAN_TEXTURE_CUTS = (18.60000133514404, 20.70000171661377)
MEAN_TEXTURE_VALUES = (0.0, 10.0, 19.0)
MEAN_CONCAVE_POINTS_CUTS = (0.049400003626942635,)
MEAN_CONCAVE_POINTS_VALUES = (0.0, 11.0)
WORST_RADIUS_CUTS = (17.720000267028805,)
WORST_RADIUS_VALUES = (0.0, 10.0)
WORST_AREA_CUTS = (688.7000427246093, 810.0000305175781, 885.0000305175781)
WORST_AREA_VALUES = (0.0, 9.0, 17.0, 27.0)
WORST_CONCAVITY_CUTS = (0.2120000049471855,)
WORST_CONCAVITY_VALUES = (-10.0, 0.0)
WORST_CONCAVE_POINTS_CUTS = (0.11500000581145285, 0.1600000038743019)
WORST_CONCAVE_POINTS_VALUES = (0.0, 9.0, 21.0)


def decide(
    mean_texture: Any,
    mean_concave_points: Any,
    worst_radius: Any,
    worst_area: Any,
    worst_concavity: Any,
    worst_concave_points: Any,
) -> int:
    """Class index of a row; the cells as `read` gives them."""
    # rb68ac8: mean_concave_points > 0.0453 and worst_area > 749.9 and worst_concavity > 0.229
    if (
        mean_concave_points > 0.04530000127851963
        and worst_area > 749.9000549316406
        and worst_concavity > 0.2290000095963478
    ):
        return 1
    # r4810a4: mean_texture > 19.5 and worst_radius > 16.83
    if mean_texture > 19.500000953674316 and worst_radius > 16.830000877380368:
        return 1
    # r5c5753: worst_concave_points > 0.196
    if worst_concave_points > 0.19600000232458112:
        return 1
    return 0


def probabilities(
    mean_texture: Any,
    mean_concave_points: Any,
    worst_radius: Any,
    worst_area: Any,
    worst_concavity: Any,
    worst_concave_points: Any,
) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    # rb68ac8
    rb68ac8 = (
        mean_concave_points > 0.04530000127851963
        and worst_area > 749.9000549316406
        and worst_concavity > 0.2290000095963478
    )
    # r4810a4
    r4810a4 = mean_texture > 19.500000953674316 and worst_radius > 16.830000877380368
    total1 = -45.0
    if rb68ac8:
        total1 += 14.0
    if r4810a4:
        total1 += 9.0
    total1 += MEAN_TEXTURE_VALUES[bisect_left(MEAN_TEXTURE_CUTS, mean_texture)]
    total1 += MEAN_CONCAVE_POINTS_VALUES[bisect_left(MEAN_CONCAVE_POINTS_CUTS, mean_concave_points)]
    total1 += WORST_RADIUS_VALUES[bisect_left(WORST_RADIUS_CUTS, worst_radius)]
    total1 += WORST_AREA_VALUES[bisect_left(WORST_AREA_CUTS, worst_area)]
    total1 += WORST_CONCAVITY_VALUES[bisect_left(WORST_CONCAVITY_CUTS, worst_concavity)] if worst_concavity <= inf else 0.0
    total1 += WORST_CONCAVE_POINTS_VALUES[bisect_left(WORST_CONCAVE_POINTS_CUTS, worst_concave_points)]
    total2 = 0.0
    total2 += 0.1 * total1
    p1 = logistic(total2)
    positive = ((p1 if p1 > 0.501 else 0.501) if rb68ac8 or r4810a4 or worst_concave_points > 0.19600000232458112 else 0.499 if p1 > 0.499 else p1)
    return [1.0 - positive, positive]


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    return CLASSES[answer(decide, row)]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    return list(answer(probabilities, row))


def predict_many(data: Any) -> list[str]:
    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""
    return [predict(row) for row in rows_of(data)]


def answer(rules: Callable[..., Any], row: Any) -> Any:
    """What `rules` say of a row; plain numbers and texts go in unread."""
    if type(row) is dict:
        cells = (
            row["mean_texture"], row["mean_concave_points"], row["worst_radius"], row["worst_area"],
            row["worst_concavity"], row["worst_concave_points"],
        )
    elif (type(row) is list or type(row) is tuple) and len(row) == 30:
        cells = (row[1], row[7], row[20], row[23], row[26], row[27])
    else:
        return rules(*read(row))
    mean_texture, mean_concave_points, worst_radius, worst_area, worst_concavity, worst_concave_points = cells
    if (
        (type(mean_texture) is float or (type(mean_texture) is int and -(2**53) <= mean_texture <= 2**53))
        and (type(mean_concave_points) is float or (type(mean_concave_points) is int and -(2**53) <= mean_concave_points <= 2**53))
        and (type(worst_radius) is float or (type(worst_radius) is int and -(2**53) <= worst_radius <= 2**53))
        and (type(worst_area) is float or (type(worst_area) is int and -(2**53) <= worst_area <= 2**53))
        and (type(worst_concavity) is float or (type(worst_concavity) is int and -(2**53) <= worst_concavity <= 2**53))
        and (type(worst_concave_points) is float or (type(worst_concave_points) is int and -(2**53) <= worst_concave_points <= 2**53))
    ):
        return rules(mean_texture, mean_concave_points, worst_radius, worst_area, worst_concavity, worst_concave_points)
    return rules(*read(row))


# How cells are read, and the arithmetic -- the same in every module ---------

NUMBER = re.compile(r"(?ai)[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)")
BLANKS = " \t\n\r\v\f"


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


def logistic(z: float) -> float:
    """1 / (1 + exp(-z))."""
    try:
        return 1.0 / (1.0 + math.exp(-z))
    except OverflowError:
        return 0.0


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


def command_line(arguments: list[str]) -> int:
    """Score CSV; returns the exit status: 0 done, 2 bad input or usage."""
    if arguments in (["-h"], ["--help"]):
        print("usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv", __doc__, sep="\n\n")
        return 0
    delimiter, rest = ",", iter(arguments)
    for text in rest:
        name, given, value = text.partition("=")
        fault = f"{text!r}: {'no such option' if text[:1] == '-' else 'rows come on standard input'}"
        if name == "--delimiter":
            value = value if given else next(rest, "")
            delimiter = {"tab": "\t", "\\t": "\t"}.get(value, value)
            if len(delimiter) == 1 and delimiter not in '"\r\n\0':
                continue
            fault = "--delimiter takes one character, or tab"
        elif text in ("--self-test", "--help", "-h"):
            fault = f"{text} stands alone" if arguments[1:] else f"{text}: this module was written without its rows"
        print(f"{fault}; --help tells more", file=sys.stderr)
        return 2
    source = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    sink = io.TextIOWrapper(sys.stdout.buffer, encoding="utf-8", newline="")
    writer = csv.writer(sink, lineterminator="\n")
    names = [str(label).lower() if isinstance(label, bool) else str(label) for label in CLASSES]
    try:
        for n, cells in enumerate(csv_rows(source, delimiter)):
            if n == 0:
                writer.writerow(["label", *(f"probability({name})" for name in names)])
            writer.writerow([names[decide(*cells)], *map(repr, probabilities(*cells))])
        sink.flush()
    except BrokenPipeError:
        sys.stdout = sys.stderr  # which is flushed at the end
    except (ValueError, OSError) as error:
        sink.flush()
        print(f"standard input: {error}", file=sys.stderr)
        return 2
    return 0


def csv_rows(lines: Iterable[str], delimiter: str) -> Iterator[list[Any]]:
    """The cells of USED of each row below a header; raises ValueError naming the line."""
    reader, header, picked = csv.reader(lines, delimiter=delimiter, strict=True), [""], []
    blank, rows = 0, -1  # empty lines of one column are rows, but not at the end
    try:
        for row in reader:
            if "\0" in "".join(row):
                raise ValueError("a NUL byte: this is no table of text")
            if rows < 0:
                header, rows = [name.strip(BLANKS) for name in row], 0
                for name, kind, tokens in USED:
                    if header.count(name) != 1:
                        raise ValueError(f"{'more than one' if name in header else 'no'} column {name!r} in the header")
                    picked.append((header.index(name), name, kind, tokens))
            elif row:
                for whole in [*[[""]] * blank, row]:
                    if len(whole) != len(header):
                        raise ValueError(f"{len(whole)} cells, the header has {len(header)}")
                    yield [cell(whole[place], name, kind, tokens) for place, name, kind, tokens in picked]
                blank, rows = 0, rows + 1
            else:
                blank += len(header) == 1
        if rows < 1:
            raise ValueError("there is no header line" if rows else "there is a header but no row")
    except (ValueError, csv.Error) as error:
        raise ValueError(f"line {max(reader.line_num, 1)}: {error}") from None


READERS: dict[str, Any] = {"number": number}


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:]))


# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# | rulekit rules 1
# | # digest e75e405a822f12b0f62a1b7fbbe01e21e8634768eaf654da30432e31cbe38d68 (for information: reading computes it anew)
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
# |   rule 1: mean_concave_points > 0.0453 and worst_area > 749.9 and worst_concavity > 0.229,  # rb68ac8  training: right 97.9 % of 145 rows, 94 to 99.3; held out: right 97.4 % of 38 rows, 87 to 99.5
# |   rule 2: mean_texture > 19.5 and worst_radius > 16.83,                                     # r4810a4  training: right 100.0 % of 100 rows, 96 to 100; held out: right 100.0 % of 32 rows, 89 to 100
# |   worst_concave_points > 0.196,                                                             # r5c5753  training: right 100.0 % of 66 rows, 94 to 100; held out: right 100.0 % of 17 rows, 82 to 100
# | )
# | report malignant with sided(logistic of sum(
# |   0,
# |   0.1 * sum(-45, 14 if rule 1, 9 if rule 2, 1 * step(mean_texture: 0 up to 18.6, 10 up to 20.7, then 19, missing 0), 1 * step(mean_concave_points: 0 up to 0.0494, then 11, missing 0), 1 * step(worst_radius: 0 up to 17.72, then 10, missing 0), 1 * step(worst_area: 0 up to 688.7, 9 up to 810, 17 up to 885, then 27, missing 0), 1 * step(worst_concavity: -10 up to 0.212, then 0, missing 0), 1 * step(worst_concave_points: 0 up to 0.115, 9 up to 0.16, then 21, missing 0)),
# | ), at least 0.501 when decided, else at most 0.499)
# |
# rules: end
