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

predict(row) gives the label, predict_proba(row) the probability of each class. A row is a mapping by
column name, or a sequence of all columns in the order of COLUMNS; None, NaN and the empty text are
missing. predict_many(data) takes rows, a mapping of columns, a data frame or an array, and is fast
where numpy is installed. Nothing but the standard library is needed.

Command line: python THIS.py < rows.csv > predictions.csv, or with --self-test or --help.

digest 85d69f1bb601c7afba2057e041bd3b8e1b28cff1526fbf42a4d9744a4fe2d89a
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
from math import nan
from typing import Any

DIGEST = "85d69f1bb601c7afba2057e041bd3b8e1b28cff1526fbf42a4d9744a4fe2d89a"
CLASSES = ("no", "yes")
# All columns, in schema order.
COLUMNS = (
    "exposed(db)", "exposed(files)", "exposed(mail)", "exposed(web)", "unpatched(db)", "unpatched(files)",
    "unpatched(mail)", "unpatched(web)", "reaches(db, db)", "reaches(db, files)", "reaches(db, mail)",
    "reaches(db, web)", "reaches(files, db)", "reaches(files, files)", "reaches(files, mail)", "reaches(files, web)",
    "reaches(mail, db)", "reaches(mail, files)", "reaches(mail, mail)", "reaches(mail, web)", "reaches(web, db)",
    "reaches(web, files)", "reaches(web, mail)", "reaches(web, web)",
)
# Columns that the rules read: position, name, kind, texts that mean missing (beside the empty one).
USED: tuple[Used, ...] = (
    (0, "exposed(db)", "flag", ()),
    (1, "exposed(files)", "flag", ()),
    (2, "exposed(mail)", "flag", ()),
    (3, "exposed(web)", "flag", ()),
    (4, "unpatched(db)", "flag", ()),
    (5, "unpatched(files)", "flag", ()),
    (6, "unpatched(mail)", "flag", ()),
    (7, "unpatched(web)", "flag", ()),
    (8, "reaches(db, db)", "flag", ()),
    (9, "reaches(db, files)", "flag", ()),
    (10, "reaches(db, mail)", "flag", ()),
    (11, "reaches(db, web)", "flag", ()),
    (12, "reaches(files, db)", "flag", ()),
    (13, "reaches(files, files)", "flag", ()),
    (14, "reaches(files, mail)", "flag", ()),
    (15, "reaches(files, web)", "flag", ()),
    (16, "reaches(mail, db)", "flag", ()),
    (17, "reaches(mail, files)", "flag", ()),
    (18, "reaches(mail, mail)", "flag", ()),
    (19, "reaches(mail, web)", "flag", ()),
    (20, "reaches(web, db)", "flag", ()),
    (21, "reaches(web, files)", "flag", ()),
    (22, "reaches(web, mail)", "flag", ()),
    (23, "reaches(web, web)", "flag", ()),
)


def decide(row: Any) -> int:
    """Class index of a row, a mapping by column name."""
    total1 = -2.557292938232422
    # r89ccf0: "exposed(db)"
    if row["exposed(db)"] > 0.5:
        total1 += 2.3195266723632812
    # r300c09: exists x, y: exposed(x) and reaches(x, y) and unpatched(y)
    if (
        (
            # r89ccf0: "exposed(db)"
            row["exposed(db)"] > 0.5
            and row["reaches(db, db)"] > 0.5
            and row["unpatched(db)"] > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            row["exposed(db)"] > 0.5
            and row["reaches(db, files)"] > 0.5
            and row["unpatched(files)"] > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            row["exposed(db)"] > 0.5
            and row["reaches(db, mail)"] > 0.5
            and row["unpatched(mail)"] > 0.5
        )
        or (
            # r89ccf0: "exposed(db)"
            row["exposed(db)"] > 0.5
            and row["reaches(db, web)"] > 0.5
            and row["unpatched(web)"] > 0.5
        )
        or (row["exposed(files)"] > 0.5 and row["reaches(files, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
    ):
        total1 += 3.1931934356689453
    return 1 if total1 > 0.0 else 0


def probabilities(row: Any) -> list[float]:
    """Probability of each class; the row as for `decide`."""
    total1 = -2.557292938232422
    # r89ccf0
    if row["exposed(db)"] > 0.5:
        total1 += 2.3195266723632812
    # r300c09
    if (
        (
            # r89ccf0
            row["exposed(db)"] > 0.5
            and row["reaches(db, db)"] > 0.5
            and row["unpatched(db)"] > 0.5
        )
        or (
            # r89ccf0
            row["exposed(db)"] > 0.5
            and row["reaches(db, files)"] > 0.5
            and row["unpatched(files)"] > 0.5
        )
        or (
            # r89ccf0
            row["exposed(db)"] > 0.5
            and row["reaches(db, mail)"] > 0.5
            and row["unpatched(mail)"] > 0.5
        )
        or (
            # r89ccf0
            row["exposed(db)"] > 0.5
            and row["reaches(db, web)"] > 0.5
            and row["unpatched(web)"] > 0.5
        )
        or (row["exposed(files)"] > 0.5 and row["reaches(files, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(files)"] > 0.5 and row["reaches(files, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(mail)"] > 0.5 and row["reaches(mail, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, db)"] > 0.5 and row["unpatched(db)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, files)"] > 0.5 and row["unpatched(files)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, mail)"] > 0.5 and row["unpatched(mail)"] > 0.5)
        or (row["exposed(web)"] > 0.5 and row["reaches(web, web)"] > 0.5 and row["unpatched(web)"] > 0.5)
    ):
        total1 += 3.1931934356689453
    positive = logistic(total1)
    return [1.0 - positive, positive]


def predict(row: Any) -> str:
    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""
    try:
        match row:
            case {} if (
                type(row) is dict
                and all(type(x) is bool or type(x) is float or (type(x) is int and SMALLEST <= x <= LARGEST) for x in (
                    row["exposed(db)"], row["exposed(files)"], row["exposed(mail)"], row["exposed(web)"],
                    row["unpatched(db)"], row["unpatched(files)"], row["unpatched(mail)"], row["unpatched(web)"],
                    row["reaches(db, db)"], row["reaches(db, files)"], row["reaches(db, mail)"], row["reaches(db, web)"],
                    row["reaches(files, db)"], row["reaches(files, files)"], row["reaches(files, mail)"], row["reaches(files, web)"],
                    row["reaches(mail, db)"], row["reaches(mail, files)"], row["reaches(mail, mail)"], row["reaches(mail, web)"],
                    row["reaches(web, db)"], row["reaches(web, files)"], row["reaches(web, mail)"], row["reaches(web, web)"],
                ))
            ):
                return CLASSES[decide(row)]
            case [*_] if (
                len(row) == 24  # no array
                and all(type(x) is bool or type(x) is float or (type(x) is int and SMALLEST <= x <= LARGEST) for x in (
                    row[0], row[1], row[2], row[3],
                    row[4], row[5], row[6], row[7],
                    row[8], row[9], row[10], row[11],
                    row[12], row[13], row[14], row[15],
                    row[16], row[17], row[18], row[19],
                    row[20], row[21], row[22], row[23],
                ))
            ):
                # `decide` once more, on places: to name the cells first would take longer than the rules.
                total1 = -2.557292938232422
                # r89ccf0
                if row[0] > 0.5:
                    total1 += 2.3195266723632812
                # r300c09
                if (
                    (
                        # r89ccf0
                        row[0] > 0.5
                        and row[8] > 0.5
                        and row[4] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[9] > 0.5
                        and row[5] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[10] > 0.5
                        and row[6] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[11] > 0.5
                        and row[7] > 0.5
                    )
                    or (row[1] > 0.5 and row[12] > 0.5 and row[4] > 0.5)
                    or (row[1] > 0.5 and row[13] > 0.5 and row[5] > 0.5)
                    or (row[1] > 0.5 and row[14] > 0.5 and row[6] > 0.5)
                    or (row[1] > 0.5 and row[15] > 0.5 and row[7] > 0.5)
                    or (row[2] > 0.5 and row[16] > 0.5 and row[4] > 0.5)
                    or (row[2] > 0.5 and row[17] > 0.5 and row[5] > 0.5)
                    or (row[2] > 0.5 and row[18] > 0.5 and row[6] > 0.5)
                    or (row[2] > 0.5 and row[19] > 0.5 and row[7] > 0.5)
                    or (row[3] > 0.5 and row[20] > 0.5 and row[4] > 0.5)
                    or (row[3] > 0.5 and row[21] > 0.5 and row[5] > 0.5)
                    or (row[3] > 0.5 and row[22] > 0.5 and row[6] > 0.5)
                    or (row[3] > 0.5 and row[23] > 0.5 and row[7] > 0.5)
                ):
                    total1 += 3.1931934356689453
                return "yes" if total1 > 0.0 else "no"
    except LookupError:  # an absent column
        pass
    return CLASSES[decide(cells(row, len(COLUMNS), USED))]


def predict_proba(row: Any) -> list[float]:
    """Probabilities of a row in the order of CLASSES; raises as `predict`."""
    try:
        match row:
            case {} if (
                type(row) is dict
                and all(type(x) is bool or type(x) is float or (type(x) is int and SMALLEST <= x <= LARGEST) for x in (
                    row["exposed(db)"], row["exposed(files)"], row["exposed(mail)"], row["exposed(web)"],
                    row["unpatched(db)"], row["unpatched(files)"], row["unpatched(mail)"], row["unpatched(web)"],
                    row["reaches(db, db)"], row["reaches(db, files)"], row["reaches(db, mail)"], row["reaches(db, web)"],
                    row["reaches(files, db)"], row["reaches(files, files)"], row["reaches(files, mail)"], row["reaches(files, web)"],
                    row["reaches(mail, db)"], row["reaches(mail, files)"], row["reaches(mail, mail)"], row["reaches(mail, web)"],
                    row["reaches(web, db)"], row["reaches(web, files)"], row["reaches(web, mail)"], row["reaches(web, web)"],
                ))
            ):
                return probabilities(row)
            case [*_] if (
                len(row) == 24  # no array
                and all(type(x) is bool or type(x) is float or (type(x) is int and SMALLEST <= x <= LARGEST) for x in (
                    row[0], row[1], row[2], row[3],
                    row[4], row[5], row[6], row[7],
                    row[8], row[9], row[10], row[11],
                    row[12], row[13], row[14], row[15],
                    row[16], row[17], row[18], row[19],
                    row[20], row[21], row[22], row[23],
                ))
            ):
                # `probabilities` once more, on places: to name the cells first would take longer than the rules.
                total1 = -2.557292938232422
                # r89ccf0
                if row[0] > 0.5:
                    total1 += 2.3195266723632812
                # r300c09
                if (
                    (
                        # r89ccf0
                        row[0] > 0.5
                        and row[8] > 0.5
                        and row[4] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[9] > 0.5
                        and row[5] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[10] > 0.5
                        and row[6] > 0.5
                    )
                    or (
                        # r89ccf0
                        row[0] > 0.5
                        and row[11] > 0.5
                        and row[7] > 0.5
                    )
                    or (row[1] > 0.5 and row[12] > 0.5 and row[4] > 0.5)
                    or (row[1] > 0.5 and row[13] > 0.5 and row[5] > 0.5)
                    or (row[1] > 0.5 and row[14] > 0.5 and row[6] > 0.5)
                    or (row[1] > 0.5 and row[15] > 0.5 and row[7] > 0.5)
                    or (row[2] > 0.5 and row[16] > 0.5 and row[4] > 0.5)
                    or (row[2] > 0.5 and row[17] > 0.5 and row[5] > 0.5)
                    or (row[2] > 0.5 and row[18] > 0.5 and row[6] > 0.5)
                    or (row[2] > 0.5 and row[19] > 0.5 and row[7] > 0.5)
                    or (row[3] > 0.5 and row[20] > 0.5 and row[4] > 0.5)
                    or (row[3] > 0.5 and row[21] > 0.5 and row[5] > 0.5)
                    or (row[3] > 0.5 and row[22] > 0.5 and row[6] > 0.5)
                    or (row[3] > 0.5 and row[23] > 0.5 and row[7] > 0.5)
                ):
                    total1 += 3.1931934356689453
                positive = logistic(total1)
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
) -> Any:
    """`decide` for n rows at once, on columns of numpy."""
    total1 = np.full(n, -2.557292938232422)
    # r89ccf0
    total1 = total1 + np.where(exposed_db > 0.5, 2.3195266723632812, 0.0)
    # r300c09
    total1 = total1 + np.where(
        (
            (
                # r89ccf0
                (exposed_db > 0.5)
                & (reaches_db_db > 0.5)
                & (unpatched_db > 0.5)
            )
            | (
                # r89ccf0
                (exposed_db > 0.5)
                & (reaches_db_files > 0.5)
                & (unpatched_files > 0.5)
            )
            | (
                # r89ccf0
                (exposed_db > 0.5)
                & (reaches_db_mail > 0.5)
                & (unpatched_mail > 0.5)
            )
            | (
                # r89ccf0
                (exposed_db > 0.5)
                & (reaches_db_web > 0.5)
                & (unpatched_web > 0.5)
            )
            | ((exposed_files > 0.5) & (reaches_files_db > 0.5) & (unpatched_db > 0.5))
            | ((exposed_files > 0.5) & (reaches_files_files > 0.5) & (unpatched_files > 0.5))
            | ((exposed_files > 0.5) & (reaches_files_mail > 0.5) & (unpatched_mail > 0.5))
            | ((exposed_files > 0.5) & (reaches_files_web > 0.5) & (unpatched_web > 0.5))
            | ((exposed_mail > 0.5) & (reaches_mail_db > 0.5) & (unpatched_db > 0.5))
            | ((exposed_mail > 0.5) & (reaches_mail_files > 0.5) & (unpatched_files > 0.5))
            | ((exposed_mail > 0.5) & (reaches_mail_mail > 0.5) & (unpatched_mail > 0.5))
            | ((exposed_mail > 0.5) & (reaches_mail_web > 0.5) & (unpatched_web > 0.5))
            | ((exposed_web > 0.5) & (reaches_web_db > 0.5) & (unpatched_db > 0.5))
            | ((exposed_web > 0.5) & (reaches_web_files > 0.5) & (unpatched_files > 0.5))
            | ((exposed_web > 0.5) & (reaches_web_mail > 0.5) & (unpatched_mail > 0.5))
            | ((exposed_web > 0.5) & (reaches_web_web > 0.5) & (unpatched_web > 0.5))
        ),
        3.1931934356689453,
        0.0,
    )
    positive = total1 > 0.0
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


READERS: Readers = {"flag": flag}


# Rows at the edges of the rules, with the model's answers: --self-test -----------------------------------------------

# Of each column of USED the cells that the rows are made of.
TEST_CELLS: tuple[tuple[Any, ...], ...] = (
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
    (nan, 0.0, 1.0),
)

# Probabilities of the classes.
TEST_CHANCES: tuple[tuple[float, ...], ...] = (
    (0.9280619355249, 0.0719380644751), (0.0494806342709, 0.9505193657291), (0.3461738245322, 0.6538261754678),
    (0.5591631073999, 0.4408368926001),
)

# Rows: the number of the class, of its probabilities, and of each cell.
TEST_ROWS: tuple[tuple[int, ...], ...] = (
    (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    (0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    (1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2),
    (0, 0, 1, 0, 1, 0, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 1, 2, 0, 1, 0, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 2, 0, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 2, 1, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 0, 2, 1, 2, 2, 1, 2, 1, 1, 1, 0, 2, 2, 1, 2, 1, 1, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 2, 1, 2, 2, 1, 2, 2, 1, 1, 0, 2, 2, 1, 2, 1, 1, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 0, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 1, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 0, 1, 2, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 2, 0, 0, 1),
    (1, 1, 2, 0, 1, 2, 2, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 2, 0, 0, 1),
    (0, 3, 2, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0, 2, 2, 1, 2, 1, 1, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 2, 1, 2, 2, 1, 2, 0, 2, 1, 0, 2, 2, 1, 2, 1, 1, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 0, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 1, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 2, 1, 1, 0, 1, 1, 2, 1, 2, 1, 1, 2, 2, 2, 0, 1, 0, 2, 2, 0, 1, 1, 1),
    (1, 1, 2, 2, 1, 1, 0, 2, 1, 2, 1, 2, 1, 1, 2, 2, 2, 0, 1, 0, 2, 2, 0, 1, 1, 1),
    (1, 1, 2, 0, 1, 2, 1, 0, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 1, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 2, 1, 0, 0, 2, 2, 2, 1, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 2),
    (1, 1, 2, 2, 1, 0, 0, 2, 2, 2, 1, 1, 2, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 2),
    (0, 3, 2, 2, 2, 0, 1, 0, 1, 0, 2, 1, 1, 1, 1, 0, 0, 2, 1, 1, 2, 0, 0, 2, 0, 0),
    (1, 1, 2, 2, 2, 0, 1, 0, 2, 0, 2, 1, 1, 1, 1, 0, 0, 2, 1, 1, 2, 0, 0, 2, 0, 0),
    (1, 1, 2, 0, 1, 2, 1, 2, 0, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 1, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 1, 1, 1, 0, 0, 1, 2, 1, 0, 2, 2, 1, 2),
    (1, 1, 2, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 2, 1, 1, 0, 0, 1, 2, 1, 0, 2, 2, 1, 2),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 0, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 1, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 1, 2, 2, 1, 0, 1, 1, 1, 2, 1, 0, 1, 1, 1, 2, 0, 1, 0, 2, 1, 1, 0, 1),
    (1, 1, 2, 1, 2, 2, 1, 0, 1, 2, 1, 2, 1, 0, 1, 1, 1, 2, 0, 1, 0, 2, 1, 1, 0, 1),
    (0, 0, 0, 1, 1, 0, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 2, 0, 2, 1, 0, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 1, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 0, 0, 2, 2, 0, 2, 1, 0, 1, 1, 0, 2, 1, 1, 2, 1, 2, 1, 0, 1, 1, 2, 1, 0, 1),
    (1, 2, 0, 2, 2, 0, 2, 1, 0, 1, 1, 0, 2, 1, 2, 2, 1, 2, 1, 0, 1, 1, 2, 1, 0, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 1, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 0, 0, 2, 2, 1, 2, 2, 2, 0, 2, 1, 1, 2, 0, 1, 1, 2, 0, 1, 1, 1, 1, 0, 1, 2),
    (1, 2, 0, 2, 2, 1, 2, 2, 2, 0, 2, 1, 1, 2, 0, 2, 1, 2, 0, 1, 1, 1, 1, 0, 1, 2),
    (0, 0, 0, 2, 2, 0, 2, 1, 2, 2, 1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 2, 2, 0),
    (1, 2, 0, 2, 2, 0, 2, 1, 2, 2, 1, 1, 0, 0, 0, 1, 2, 0, 0, 0, 1, 1, 1, 2, 2, 0),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 0, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 1, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 1, 1, 1, 0, 1, 1, 2, 1, 0, 2, 2, 1, 2),
    (1, 1, 2, 2, 0, 1, 0, 1, 1, 2, 2, 1, 2, 1, 1, 1, 0, 2, 1, 2, 1, 0, 2, 2, 1, 2),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 0, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 1, 1, 2, 1, 0, 1, 2, 1, 2, 1, 0, 1, 1, 1, 2, 0, 1, 0, 2, 1, 1, 0, 1),
    (1, 1, 2, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0, 2, 2, 1, 2, 2, 1, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 0, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 1, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 2, 1, 2, 2, 1, 2, 0, 1, 1, 0, 2, 2, 1, 2, 1, 2, 2, 0, 2, 0, 1, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 0, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 1, 0, 2, 1, 1, 2, 1),
    (0, 0, 1, 0, 2, 1, 1, 2, 2, 2, 1, 2, 2, 1, 2, 0, 1, 0, 1, 1, 1, 0, 0, 0, 1, 1),
    (1, 2, 1, 0, 2, 1, 1, 2, 2, 2, 1, 2, 2, 1, 2, 0, 1, 0, 1, 1, 2, 0, 0, 0, 1, 1),
    (0, 3, 2, 1, 2, 2, 1, 0, 1, 2, 1, 2, 1, 0, 1, 1, 1, 2, 0, 1, 0, 1, 1, 1, 0, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 0, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 1, 1, 1, 2, 1),
    (0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 2, 0, 0, 1, 2, 2, 2, 2, 2, 1, 2, 2, 0, 1, 1, 2, 1, 2, 2, 1, 0, 0, 2, 2, 2),
    (1, 1, 2, 0, 1, 0, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 1, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 2, 1),
    (0, 3, 2, 0, 1, 2, 2, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 2, 0, 1, 0, 0, 1),
    (0, 0, 1, 2, 1, 2, 2, 2, 0, 1, 1, 1, 1, 1, 0, 0, 2, 1, 0, 0, 1, 2, 1, 1, 2, 1),
    (1, 2, 1, 2, 1, 2, 2, 2, 0, 1, 1, 1, 1, 1, 0, 0, 2, 1, 0, 0, 1, 2, 1, 2, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 0, 2, 1),
    (0, 0, 1, 2, 1, 2, 2, 0, 2, 0, 2, 1, 2, 2, 1, 1, 1, 1, 0, 0, 2, 2, 1, 1, 1, 1),
    (1, 2, 1, 2, 1, 2, 2, 0, 2, 0, 2, 1, 2, 2, 1, 1, 1, 1, 0, 0, 2, 2, 1, 1, 2, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 0, 1),
    (1, 1, 2, 0, 1, 2, 1, 2, 2, 2, 2, 2, 1, 2, 0, 1, 2, 1, 2, 2, 0, 2, 1, 1, 1, 1),
    (0, 3, 2, 0, 0, 2, 0, 0, 1, 2, 2, 0, 2, 0, 2, 2, 1, 1, 2, 1, 1, 1, 2, 2, 1, 1),
    (1, 1, 2, 0, 0, 2, 0, 0, 1, 2, 2, 0, 2, 0, 2, 2, 1, 1, 2, 1, 1, 1, 2, 2, 1, 2),
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
