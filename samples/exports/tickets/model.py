"""A rule model that decides "urgent", in plain Python (made by rulekit).

classes
    "no"
    "yes"
columns that the rules read
    "ticket" (text)

rules
    urgent is "yes" when the probability that any of these holds exceeds 0.5
      ("yes" is 33.1 % of the training rows, 33.3 % of the held-out rows)
      r696d1e  0.932   ticket contains outage   training: right 100.0 % of 36 rows, 90 to 100
                                                held out: right 100.0 % of 14 rows, 78 to 100
      r3e0688  0.899   ticket contains down     training: right 97.1 % of 34 rows, 85 to 99.5
                                                held out: right 92.3 % of 13 rows, 67 to 99
      rd3c4a9  0.801   ticket contains data     training: right 90.6 % of 32 rows, 76 to 97
                                                held out: right 81.8 % of 11 rows, 52 to 95
      r4b85be  0.625   ticket contains deleted  training: right 78.3 % of 23 rows, 58 to 90
                                                held out: right 80.0 % of 5 rows, 38 to 96
      r246a9d  0.406   ticket contains locked
      rdee588  0.363   ticket contains charged
      r6539cc  0.304   ticket is missing
      rb0dbc3  0.0089  always
    otherwise "no".   Missing: a missing ticket can satisfy a rule.
    0.932: true with probability 0.932 where the condition holds.

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
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

DIGEST = "50bb0a2b6f46acefaa6751a83aa1672973bdf14beb4d4cfcfaf42b4a89533562"
CLASSES = ("no", "yes")
COLUMNS = ("ticket", "channel")
# Columns that the rules read: name, kind, texts that mean missing.
USED: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("ticket", "level", ()),
)


def decide(ticket: Any) -> int:
    """Class index of a row; the cells as `read` gives them."""
    ticket = words(ticket)
    total1 = 0.0
    # r696d1e: H1 fires with probability 0.932 when ticket contains outage
    if "outage" in ticket:
        total1 += 2.688247573806031
    # r3e0688: H2 fires with probability 0.899 when ticket contains down
    if "down" in ticket:
        total1 += 2.296603021316498
    # rd3c4a9: H3 fires with probability 0.801 when ticket contains data
    if "data" in ticket:
        total1 += 1.612442421454399
    # r4b85be: H4 fires with probability 0.625 when ticket contains deleted
    if "deleted" in ticket:
        total1 += 0.9813627286178699
    # r246a9d: H5 fires with probability 0.406 when ticket contains locked
    if "locked" in ticket:
        total1 += 0.5210443239603225
    # rdee588: H6 fires with probability 0.363 when ticket contains charged
    if "charged" in ticket:
        total1 += 0.45129964445196386
    # r6539cc: "H7+H8+H9+H10+H11+H12" fires with probability 0.304 when ticket is missing
    if None in ticket:
        total1 += 0.3621925211989494
    # rb0dbc3: leak fires with probability 0.0089 when true
    if True:
        total1 += 0.008984237671503813
    return 1 if total1 > 0.6931471805599453 else 0


def probabilities(ticket: Any) -> list[float]:
    """Probability of each class; the cells as for `decide`."""
    ticket = words(ticket)
    total1 = 0.0
    # r696d1e
    if "outage" in ticket:
        total1 += 2.688247573806031
    # r3e0688
    if "down" in ticket:
        total1 += 2.296603021316498
    # rd3c4a9
    if "data" in ticket:
        total1 += 1.612442421454399
    # r4b85be
    if "deleted" in ticket:
        total1 += 0.9813627286178699
    # r246a9d
    if "locked" in ticket:
        total1 += 0.5210443239603225
    # rdee588
    if "charged" in ticket:
        total1 += 0.45129964445196386
    # r6539cc
    if None in ticket:
        total1 += 0.3621925211989494
    # rb0dbc3
    if True:
        total1 += 0.008984237671503813
    positive = exponentials(0.0, total1)
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
        cells = (row["ticket"],)
    elif (type(row) is list or type(row) is tuple) and len(row) == 2:
        cells = (row[0],)
    else:
        return rules(*read(row))
    (ticket,) = cells
    if (
        type(ticket) in TEXTS
    ):
        return rules(ticket)
    return rules(*read(row))


# How cells are read, and the arithmetic -- the same in every module ---------

SHORTEST = 2
SEPARATORS = (
    (0x00, 0x2F),
    (0x3A, 0x40),
    (0x5B, 0x60),
    (0x7B, 0xA9),
    (0xAB, 0xB4),
    (0xB6, 0xB9),
    (0xBB, 0xBF),
    (0xD7, 0xD7),
    (0xF7, 0xF7),
    (0x37E, 0x37E),  # the question mark of Greek; then punctuation of Armenian, Hebrew, Arabic and Indian scripts
    (0x387, 0x387),
    (0x55A, 0x55F),
    (0x589, 0x58A),
    (0x5BE, 0x5BE),
    (0x5C0, 0x5C0),
    (0x5C3, 0x5C3),
    (0x60C, 0x60C),
    (0x61B, 0x61B),
    (0x61F, 0x61F),
    (0x66A, 0x66D),
    (0x6D4, 0x6D4),
    (0x964, 0x965),
    (0x2000, 0x2BFF),  # general punctuation, currencies, arrows, symbols
    (0x2E00, 0x2E7F),
    (0x3000, 0x303F),
    (0xD800, 0xF8FF),  # surrogates, private use
    (0xFE10, 0xFE6F),
    (0xFEFF, 0xFF0F),
    (0xFF1A, 0xFF20),
    (0xFF3B, 0xFF40),
    (0xFF5B, 0xFF65),
    (0xFFF0, 0xFFFF),
    (0x1F000, 0x1FAFF),  # emoji
    (0xE0000, 0x10FFFF),
)
UPPER_CASE = (
    (0x41, 0x5A, 1, 32),
    (0xC0, 0xD6, 1, 32),
    (0xD8, 0xDE, 1, 32),
    (0x100, 0x12E, 2, 1),
    (0x132, 0x136, 2, 1),
    (0x139, 0x147, 2, 1),
    (0x14A, 0x176, 2, 1),
    (0x178, 0x178, 1, -121),
    (0x179, 0x17D, 2, 1),
    (0x386, 0x386, 1, 38),
    (0x388, 0x38A, 1, 37),
    (0x38C, 0x38C, 1, 64),
    (0x38E, 0x38F, 1, 63),
    (0x391, 0x3A1, 1, 32),
    (0x3A3, 0x3AB, 1, 32),
    (0x400, 0x40F, 1, 80),
    (0x410, 0x42F, 1, 32),
    (0x460, 0x480, 2, 1),
    (0x48A, 0x4BE, 2, 1),
    (0x4C1, 0x4CD, 2, 1),
    (0x4D0, 0x52E, 2, 1),
    (0x531, 0x556, 1, 48),
    (0x1E00, 0x1E94, 2, 1),
    (0x1EA0, 0x1EFE, 2, 1),
)
LETTERS = tuple(
    (before + 1, first - 1)
    for (_, before), (first, _) in zip(SEPARATORS[:-1], SEPARATORS[1:], strict=True)  # noqa: RUF007 - no import
)
SMALL_LETTERS = {code: code + shift for first, last, step, shift in UPPER_CASE for code in range(first, last + 1, step)}
TOKEN_PATTERN = f"[{''.join(f'{chr(first)}-{chr(last)}' for first, last in LETTERS)}]{{{SHORTEST},}}"
TOKEN = re.compile(TOKEN_PATTERN)
TEXTS = (str, bool, int, float, type(None))
EPOCH = datetime.datetime(1970, 1, 1)
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


def seconds_of(value: Any) -> float | None:
    """Seconds since 1970-01-01T00:00 of a date, in UTC where it has a time zone; None for a cell that is no date."""
    if kind_of(value) == "M":
        return float(plain(value - type(value)(0, "s")))
    if isinstance(value, datetime.datetime):
        return (value.replace(tzinfo=None) - (value.utcoffset() or datetime.timedelta()) - EPOCH).total_seconds()
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).total_seconds()
    return None


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


def exponentials(none: float, *some: float) -> float:
    """exp(-strength) of the first strength, times 1 - exp(-strength) of the others, without loss where it is small."""
    result = math.exp(-none)
    for strength in some:
        result *= -math.expm1(-strength)
    return result


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


READERS: dict[str, Any] = {"level": level_cell}


if __name__ == "__main__":
    sys.exit(command_line(sys.argv[1:]))


# The same rules in the rule language, from which rulekit reads this module (never by running it).
# rules: begin
# | rulekit rules 1
# | # digest 50bb0a2b6f46acefaa6751a83aa1672973bdf14beb4d4cfcfaf42b4a89533562 (for information: reading computes it anew)
# |
# | column ticket: text
# | column channel: categorical {chat, mail, phone}
# | label urgent: {no, yes}
# | default no
# |
# | let $formula = any of (
# |   H1 fires with probability 0.932 when ticket contains outage,                             # r696d1e  training: right 100.0 % of 36 rows, 90 to 100; held out: right 100.0 % of 14 rows, 78 to 100
# |   H2 fires with probability 0.8994 when ticket contains down,                              # r3e0688  training: right 97.1 % of 34 rows, 85 to 99.5; held out: right 92.3 % of 13 rows, 67 to 99
# |   H3 fires with probability 0.8006 when ticket contains data,                              # rd3c4a9  training: right 90.6 % of 32 rows, 76 to 97; held out: right 81.8 % of 11 rows, 52 to 95
# |   H4 fires with probability 0.6252 when ticket contains deleted,                           # r4b85be  training: right 78.3 % of 23 rows, 58 to 90; held out: right 80.0 % of 5 rows, 38 to 96
# |   H5 fires with probability 0.4061 when ticket contains locked,                            # r246a9d  training: holds on no row; held out: holds on no row
# |   H6 fires with probability 0.3632 when ticket contains charged,                           # rdee588  training: holds on no row; held out: holds on no row
# |   "H7+H8+H9+H10+H11+H12" fires with probability 0.303851668371673 when ticket is missing,  # r6539cc  training: holds on no row; held out: holds on no row
# |   leak fires with probability 0.008944 when true,                                          # rb0dbc3  training: holds on no row; held out: holds on no row
# | )
# |
# | decide yes when strength of $formula exceeds strength 0.6931471805599453  # that is probability 0.5
# | report yes with probability of $formula
# |
# rules: end
