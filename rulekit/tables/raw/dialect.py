"""Dialect of a delimited text file: encoding, delimiter, decimal sign and header, detected from its beginning."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from rulekit.errors import InputError
from rulekit.tables.kinds.dress import zeros_note
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import BLANKS
from rulekit.tables.raw.files import no_text
from rulekit.tables.raw.layout import Layout, odd_rows, row_like

SAMPLE_BYTES = 1 << 20
MOST_COLUMNS = 250_000
_SAMPLE_RECORDS = 200
_DELIMITERS = ",;\t|"
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_COMMA_NUMBER = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
_POINT_NUMBER = re.compile(r"[+-]?\d*\.\d+(e[+-]?\d+)?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written.

    header: the column names, which stand in record `header_lines` of the file; raw_header: the cells
    of that record. numbers: columns that hold only numbers in the
    sample. notes: what was detected. as_given: lines are counted as in the file
    that was given. ends_empty: the last column has no name and no cells, since a delimiter ends each line.
    """

    delimiter: str
    decimal: str
    header: tuple[str, ...]
    raw_header: tuple[str, ...] = ()
    header_lines: int = 1
    numbers: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    as_given: bool = True
    ends_empty: bool = False


def detect_encoding(sample: bytes, source: str) -> str:
    """The encoding of the first bytes: by mark, by the zero bytes of UTF-16, else UTF-8 if valid, else a Western one.

    Raises InputError for what is no text.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return name
    if b"\0" in sample:
        even, odd = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        if odd > 0.4 * half and even < 0.1 * half:
            return "utf-16-le"
        if even > 0.4 * half and odd < 0.1 * half:
            return "utf-16-be"
        raise no_text(source)
    controls = len(sample.translate(None, bytes(range(32, 256)) + b"\t\n\r\f\x1a\x1b"))
    if controls > 0.01 * len(sample):
        raise no_text(source)
    if is_utf8(sample):
        return "utf-8"
    return western(sample)


def western(data: bytes) -> str:
    """cp1252 if its own letters 0x80 to 0x9f occur and are defined, else Latin-1."""
    return western_of_parts([data])


def western_of_parts(parts: Iterable[bytes]) -> str:
    """The same of bytes that come in parts."""
    used: set[int] = set()
    for part in parts:
        used |= {byte for byte in range(0x80, 0xA0) if bytes([byte]) in part}
    return "cp1252" if used and not used & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"


def is_utf8(sample: bytes) -> bool:
    """Whether the bytes are UTF-8, but for a last character that the sample cuts."""
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > len(sample) - 4 and error.reason == "unexpected end of data"
    return True


def detect_dialect(sample: str, source: str, options: ReadingOptions, layout: Layout | None) -> Dialect:
    """The dialect of the text that a file begins with, after its layout was made plain.

    Raises InputError for an empty file or a bad header.
    """
    delimiter, decimal = options.delimiter, options.decimal
    if not sample.strip("\r\n\t ;,|"):
        raise InputError("the file is empty", where=source, fix="give a header line and rows")
    notes: list[str] = []
    if layout is not None:
        delimiter = layout.delimiter
        notes += layout.notes
    elif delimiter is None:
        delimiter = _detect_delimiter(sample, source)
        if delimiter != ",":
            notes.append(f"{source}: delimiter is {delimiter!r} ({_NAMES[delimiter]})")
    records = _records(sample, delimiter, trim=options.trim)
    header, rows = records[0], records[1:]
    if len(header) > MOST_COLUMNS:
        what = f"{len(header)} columns; rulekit reads at most {MOST_COLUMNS}"
        raise InputError(what, where=source, fix="give fewer columns, or name the right --delimiter")
    if decimal is None:
        decimal = _detect_decimal(rows, delimiter)
        if decimal == ",":
            notes.append(f"{source}: decimal sign is a comma")
    like_row = options.header is None and not options.names and row_like(header, rows)
    names, more = _header_names(header, source, like_row=like_row)
    if len(names) == 1 and (sign := next((sign for sign in ("::", *_DELIMITERS) if sign in names[0]), "")):
        more.append(f"{source}: one column, whose name holds {sign!r}; unquote whole lines, or part cells by one sign")
    if options.header is None and (odd := odd_rows(rows)):
        line = 1 if layout is None or not layout.first_row else layout.first_row - 1
        shown = ", ".join(repr(cell) for cell in rows[0][:3])
        more.append(
            f"{source}: {'2 rows' if odd == 2 else 'a row'} below the header ({shown}) unlike all others; "
            f"--header {line}-{line + odd} leaves {'them' if odd == 2 else 'it'} out"
        )
    numbers = _number_columns(rows, len(names))
    for j in sorted(numbers - {j for j, name in enumerate(names) if options.says(name)}):
        more += zeros_note(names[j], (row[j] for row in rows if j < len(row)))
    numbers = numbers if decimal == "." else frozenset()
    lines = sample[: len(sample) - len(sample.lstrip("\r\n"))].count("\n") + 1
    empty = len(header) > 1 and header[-1] == "" and not any(row[len(names) - 1 :] != [""] for row in rows[:-1])
    as_given = layout is None or not layout.first_row
    return Dialect(delimiter, decimal, names, tuple(header), lines, numbers, (*notes, *more), as_given, empty)


def _number_columns(rows: list[list[str]], width: int) -> frozenset[int]:
    """Columns with a number and nothing but numbers and empty cells; the whole file decides in the end."""
    found = set()
    for j in range(width):
        cells = [row[j] for row in rows if j < len(row) and row[j] != ""]
        if cells and all(_NUMBER.fullmatch(cell) for cell in cells):
            found.add(j)
    return frozenset(found)


def _detect_delimiter(sample: str, source: str) -> str:
    order = "\t,;|" if source.lower().removesuffix(".gz").endswith(".tsv") else _DELIMITERS
    best, best_score = order[0] if "\t" in sample and order[0] == "\t" else ",", (0.0, 0)
    for candidate in order:
        records = _records(sample, candidate)
        width = len(records[0])
        if width < 2:
            continue
        same = sum(len(record) == width for record in records) / len(records)
        if (round(same, 1), width) > best_score:
            best, best_score = candidate, (round(same, 1), width)
    return best


def _records(sample: str, delimiter: str, trim: bool = False) -> list[list[str]]:
    """The first records, without blank ones; the last of a full sample is dropped, since it may be cut."""
    found: list[list[str]] = []
    reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter, skipinitialspace=trim)
    csv.field_size_limit(max(csv.field_size_limit(), 4 * SAMPLE_BYTES))
    try:
        for record in reader:
            if record:
                found.append(record)
            if len(found) > _SAMPLE_RECORDS:
                break
    except csv.Error:
        pass
    if len(found) > 2 and len(found) <= _SAMPLE_RECORDS and len(sample) >= SAMPLE_BYTES:
        found.pop()
    return found or [[""]]


def _detect_decimal(rows: list[list[str]], delimiter: str) -> str:
    if delimiter == ",":
        return "."
    cells = [cell.strip() for row in rows for cell in row]
    commas = [cell for cell in cells if _COMMA_NUMBER.fullmatch(cell)]
    if not commas or any(_POINT_NUMBER.fullmatch(cell) for cell in cells):
        return "."
    # 1,234 alone may be a thousand and some; one cell such as 1,5 or 0,250 settles it
    return "." if all(_THOUSANDS.fullmatch(cell) for cell in commas) else ","


def _header_names(header: list[str], source: str, *, like_row: bool) -> tuple[tuple[str, ...], list[str]]:
    notes = []
    names: dict[str, int] = {}
    for j, name in enumerate(name.strip(BLANKS) for name in header):
        if name == "":
            name = f"column_{j + 1}"
            notes.append(f"{source}: column {j + 1} has no name; it is called {name!r}")
        if name in names:
            where = f"{source}, line 1, columns {names[name] + 1} and {j + 1}"
            fix = "--header none, if this line is a row" if like_row else "rename one, or give --names A,B,C"
            raise InputError(f"two columns are called {name!r}", where=where, fix=fix)
        names[name] = j
    numbers = [name for name in names if _NUMBER.fullmatch(name)]
    if numbers or like_row:
        why = f"{numbers[0]!r} is a number" if numbers else "its cells stand in rows too"
        notes.append(f"{source}: the first line is taken for column names, though {why}; --header none makes it a row")
    return tuple(names), notes
