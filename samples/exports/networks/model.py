"""A rule model that decides "incident", in plain Python (made by rulekit).

classes
    "no"
    "yes"
columns that the rules read
    "exposed(db)" (boolean)
    "exposed(files)" (boolean)
    "exposed(mail)" (boolean)
    "exposed(web)" (boolean)
    "unpatched(db)" (boolean)
    "unpatched(files)" (boolean)
    "unpatched(mail)" (boolean)
    "unpatched(web)" (boolean)
    "reaches(db, db)" (boolean)
    "reaches(db, files)" (boolean)
    "reaches(db, mail)" (boolean)
    "reaches(db, web)" (boolean)
    "reaches(files, db)" (boolean)
    "reaches(files, files)" (boolean)
    "reaches(files, mail)" (boolean)
    "reaches(files, web)" (boolean)
    "reaches(mail, db)" (boolean)
    "reaches(mail, files)" (boolean)
    "reaches(mail, mail)" (boolean)
    "reaches(mail, web)" (boolean)
    "reaches(web, db)" (boolean)
    "reaches(web, files)" (boolean)
    "reaches(web, mail)" (boolean)
    "reaches(web, web)" (boolean)

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from math import nan
from typing import Any

DIGEST = "85d69f1bb601c7afba2057e041bd3b8e1b28cff1526fbf42a4d9744a4fe2d89a"
CLASSES = ("no", "yes")
COLUMNS = (
    "exposed(db)", "exposed(files)", "exposed(mail)", "exposed(web)", "unpatched(db)", "unpatched(files)",
    "unpatched(mail)", "unpatched(web)", "reaches(db, db)", "reaches(db, files)", "reaches(db, mail)",
    "reaches(db, web)", "reaches(files, db)", "reaches(files, files)", "reaches(files, mail)", "reaches(files, web)",
    "reaches(mail, db)", "reaches(mail, files)", "reaches(mail, mail)", "reaches(mail, web)", "reaches(web, db)",
    "reaches(web, files)", "reaches(web, mail)", "reaches(web, web)",
)
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("exposed(db)", "flag", ()),
    ("exposed(files)", "flag", ()),
    ("exposed(mail)", "flag", ()),
    ("exposed(web)", "flag", ()),
    ("unpatched(db)", "flag", ()),
    ("unpatched(files)", "flag", ()),
    ("unpatched(mail)", "flag", ()),
    ("unpatched(web)", "flag", ()),
    ("reaches(db, db)", "flag", ()),
    ("reaches(db, files)", "flag", ()),
    ("reaches(db, mail)", "flag", ()),
    ("reaches(db, web)", "flag", ()),
    ("reaches(files, db)", "flag", ()),
    ("reaches(files, files)", "flag", ()),
    ("reaches(files, mail)", "flag", ()),
    ("reaches(files, web)", "flag", ()),
    ("reaches(mail, db)", "flag", ()),
    ("reaches(mail, files)", "flag", ()),
    ("reaches(mail, mail)", "flag", ()),
    ("reaches(mail, web)", "flag", ()),
    ("reaches(web, db)", "flag", ()),
    ("reaches(web, files)", "flag", ()),
    ("reaches(web, mail)", "flag", ()),
    ("reaches(web, web)", "flag", ()),
)


def decide(
    exposed_db: Any,
    exposed_files: Any,
    exposed_mail: Any,
    exposed_web: Any,
    unpatched_db: Any,
    unpatched_files: Any,
    unpatched_mail: Any,
    unpatched_web: Any,
    reaches_db_db: Any,
    reaches_db_files: Any,
    reaches_db_mail: Any,
    reaches_db_web: Any,
    reaches_files_db: Any,
    reaches_files_files: Any,
    reaches_files_mail: Any,
    reaches_files_web: Any,
    reaches_mail_db: Any,
    reaches_mail_files: Any,
    reaches_mail_mail: Any,
    reaches_mail_web: Any,
    reaches_web_db: Any,
    reaches_web_files: Any,
    reaches_web_mail: Any,
    reaches_web_web: Any,
) -> int:
    """Class index of a row; the cells as `read` gives them."""
    total1 = -2.557292938232422
    # r89ccf0: "exposed(db)"
    if exposed_db > 0.5:
        total1 += 2.3195266723632812
    # r300c09: exists x, y: exposed(x) and reaches(x, y) and unpatched(y)
    if (
        (
            # r89ccf0: "exposed(db)"
            exposed_db > 0.5
            and reaches_db_db > 0.5
            and unpatched_db > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            exposed_db > 0.5
            and reaches_db_files > 0.5
            and unpatched_files > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            exposed_db > 0.5
            and reaches_db_mail > 0.5
            and unpatched_mail > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            exposed_db > 0.5
            and reaches_db_web > 0.5
            and unpatched_web > 0.5
        )
        or (exposed_files > 0.5 and reaches_files_db > 0.5 and unpatched_db > 0.5)
        or (exposed_files > 0.5 and reaches_files_files > 0.5 and unpatched_files > 0.5)
        or (exposed_files > 0.5 and reaches_files_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_files > 0.5 and reaches_files_web > 0.5 and unpatched_web > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_db > 0.5 and unpatched_db > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_files > 0.5 and unpatched_files > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_web > 0.5 and unpatched_web > 0.5)
        or (exposed_web > 0.5 and reaches_web_db > 0.5 and unpatched_db > 0.5)
        or (exposed_web > 0.5 and reaches_web_files > 0.5 and unpatched_files > 0.5)
        or (exposed_web > 0.5 and reaches_web_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_web > 0.5 and reaches_web_web > 0.5 and unpatched_web > 0.5)
    ):
        total1 += 3.1931934356689453
    return 1 if total1 > 0.0 else 0


def probabilities(
    exposed_db: Any,
    exposed_files: Any,
    exposed_mail: Any,
    exposed_web: Any,
    unpatched_db: Any,
    unpatched_files: Any,
    unpatched_mail: Any,
    unpatched_web: Any,
    reaches_db_db: Any,
    reaches_db_files: Any,
    reaches_db_mail: Any,
    reaches_db_web: Any,
    reaches_files_db: Any,
    reaches_files_files: Any,
    reaches_files_mail: Any,
    reaches_files_web: Any,
    reaches_mail_db: Any,
    reaches_mail_files: Any,
    reaches_mail_mail: Any,
    reaches_mail_web: Any,
    reaches_web_db: Any,
    reaches_web_files: Any,
    reaches_web_mail: Any,
    reaches_web_web: Any,
) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    total1 = -2.557292938232422
    # r89ccf0
    if exposed_db > 0.5:
        total1 += 2.3195266723632812
    # r300c09
    if (
        (
            # r89ccf0
            exposed_db > 0.5
            and reaches_db_db > 0.5
            and unpatched_db > 0.5
        )
        or (
            # r89ccf0
            exposed_db > 0.5
            and reaches_db_files > 0.5
            and unpatched_files > 0.5
        )
        or (
            # r89ccf0
            exposed_db > 0.5
            and reaches_db_mail > 0.5
            and unpatched_mail > 0.5
        )
        or (
            # r89ccf0
            exposed_db > 0.5
            and reaches_db_web > 0.5
            and unpatched_web > 0.5
        )
        or (exposed_files > 0.5 and reaches_files_db > 0.5 and unpatched_db > 0.5)
        or (exposed_files > 0.5 and reaches_files_files > 0.5 and unpatched_files > 0.5)
        or (exposed_files > 0.5 and reaches_files_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_files > 0.5 and reaches_files_web > 0.5 and unpatched_web > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_db > 0.5 and unpatched_db > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_files > 0.5 and unpatched_files > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_mail > 0.5 and reaches_mail_web > 0.5 and unpatched_web > 0.5)
        or (exposed_web > 0.5 and reaches_web_db > 0.5 and unpatched_db > 0.5)
        or (exposed_web > 0.5 and reaches_web_files > 0.5 and unpatched_files > 0.5)
        or (exposed_web > 0.5 and reaches_web_mail > 0.5 and unpatched_mail > 0.5)
        or (exposed_web > 0.5 and reaches_web_web > 0.5 and unpatched_web > 0.5)
    ):
        total1 += 3.1931934356689453
    positive = logistic(total1)
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
            row["exposed(db)"], row["exposed(files)"], row["exposed(mail)"], row["exposed(web)"], row["unpatched(db)"],
            row["unpatched(files)"], row["unpatched(mail)"], row["unpatched(web)"], row["reaches(db, db)"],
            row["reaches(db, files)"], row["reaches(db, mail)"], row["reaches(db, web)"], row["reaches(files, db)"],
            row["reaches(files, files)"], row["reaches(files, mail)"], row["reaches(files, web)"],
            row["reaches(mail, db)"], row["reaches(mail, files)"], row["reaches(mail, mail)"],
            row["reaches(mail, web)"], row["reaches(web, db)"], row["reaches(web, files)"], row["reaches(web, mail)"],
            row["reaches(web, web)"],
        )
    elif (type(row) is list or type(row) is tuple) and len(row) == 24:
        cells = (
            row[0], row[1], row[2], row[3], row[4], row[5], row[6], row[7], row[8], row[9], row[10], row[11], row[12],
            row[13], row[14], row[15], row[16], row[17], row[18], row[19], row[20], row[21], row[22], row[23],
        )
    else:
        return rules(*read(row))
    (
        exposed_db, exposed_files, exposed_mail, exposed_web, unpatched_db, unpatched_files, unpatched_mail,
        unpatched_web, reaches_db_db, reaches_db_files, reaches_db_mail, reaches_db_web, reaches_files_db,
        reaches_files_files, reaches_files_mail, reaches_files_web, reaches_mail_db, reaches_mail_files,
        reaches_mail_mail, reaches_mail_web, reaches_web_db, reaches_web_files, reaches_web_mail, reaches_web_web,
    ) = cells
    if (
        all(type(x) is bool or type(x) is float or (type(x) is int and -(2**53) <= x <= 2**53) for x in (
            exposed_db, exposed_files, exposed_mail, exposed_web, unpatched_db, unpatched_files, unpatched_mail, unpatched_web,
            reaches_db_db, reaches_db_files, reaches_db_mail, reaches_db_web, reaches_files_db, reaches_files_files,
            reaches_files_mail, reaches_files_web, reaches_mail_db, reaches_mail_files, reaches_mail_mail, reaches_mail_web,
            reaches_web_db, reaches_web_files, reaches_web_mail, reaches_web_web,
        ))
    ):
        return rules(*cells)
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


def flag(value: Any, tokens: Sequence[str]) -> float:
    """The cell of a Boolean column as a number, NaN where it is missing."""
    value = plain(value)
    text = value.strip(BLANKS) if isinstance(value, str) else ""
    if text.lower() in ("true", "false") and text not in tokens and value not in tokens:
        return float(text.lower() == "true")
    return number(value, tokens)


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


READERS: dict[str, Any] = {"flag": flag}


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:]))


# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# | rulekit rules 1
# | # digest 85d69f1bb601c7afba2057e041bd3b8e1b28cff1526fbf42a4d9744a4fe2d89a (for information: reading computes it anew)
# |
# | column "exposed(db)": boolean
# | column "exposed(files)": boolean
# | column "exposed(mail)": boolean
# | column "exposed(web)": boolean
# | column "unpatched(db)": boolean
# | column "unpatched(files)": boolean
# | column "unpatched(mail)": boolean
# | column "unpatched(web)": boolean
# | column "reaches(db, db)": boolean
# | column "reaches(db, files)": boolean
# | column "reaches(db, mail)": boolean
# | column "reaches(db, web)": boolean
# | column "reaches(files, db)": boolean
# | column "reaches(files, files)": boolean
# | column "reaches(files, mail)": boolean
# | column "reaches(files, web)": boolean
# | column "reaches(mail, db)": boolean
# | column "reaches(mail, files)": boolean
# | column "reaches(mail, mail)": boolean
# | column "reaches(mail, web)": boolean
# | column "reaches(web, db)": boolean
# | column "reaches(web, files)": boolean
# | column "reaches(web, mail)": boolean
# | column "reaches(web, web)": boolean
# | label incident: {no, yes}
# | default no
# |
# | let $score = sum(
# |   -2.557292938232422,
# |   2.3195266723632812 if "exposed(db)",  # r89ccf0  training: "yes" 67.2 % of 183 rows, 60 to 74; held out: "yes" 61.4 % of 70 rows, 50 to 72
# |   3.1931934356689453 if "exposed(db)" and "reaches(db, db)" and "unpatched(db)" or "exposed(db)" and "reaches(db, files)" and "unpatched(files)" or "exposed(db)" and "reaches(db, mail)" and "unpatched(mail)" or "exposed(db)" and "reaches(db, web)" and "unpatched(web)" or "exposed(files)" and "reaches(files, db)" and "unpatched(db)" or "exposed(files)" and "reaches(files, files)" and "unpatched(files)" or "exposed(files)" and "reaches(files, mail)" and "unpatched(mail)" or "exposed(files)" and "reaches(files, web)" and "unpatched(web)" or "exposed(mail)" and "reaches(mail, db)" and "unpatched(db)" or "exposed(mail)" and "reaches(mail, files)" and "unpatched(files)" or "exposed(mail)" and "reaches(mail, mail)" and "unpatched(mail)" or "exposed(mail)" and "reaches(mail, web)" and "unpatched(web)" or "exposed(web)" and "reaches(web, db)" and "unpatched(db)" or "exposed(web)" and "reaches(web, files)" and "unpatched(files)" or "exposed(web)" and "reaches(web, mail)" and "unpatched(mail)" or "exposed(web)" and "reaches(web, web)" and "unpatched(web)",  # r300c09  exists x, y: exposed(x) and reaches(x, y) and unpatched(y); training: "yes" 79.0 % of 181 rows, 73 to 84; held out: "yes" 70.9 % of 55 rows, 58 to 81
# | )
# |
# | decide yes when $score exceeds score 0
# | report yes with logistic of $score
# |
# rules: end
