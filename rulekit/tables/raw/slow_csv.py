"""Delimited text by the csv module: slow, but it names the row that is wrong and takes quotes inside cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rulekit.errors import InputError
from rulekit.tables.raw.columns import BLANKS
from rulekit.tables.raw.dialect import Dialect

if TYPE_CHECKING:
    import polars as pl

_BLOCK = 100_000


class NotUtf8(Exception):  # noqa: N818 - a signal, not an error
    """The bytes are in another encoding than the beginning of the file suggested."""


def slow_blocks(
    lines: Iterable[str], dialect: Dialect, source: str, notes: list[str], *, trim: bool = False
) -> Iterator[list[pl.Series]]:
    """All columns of some rows after the others; what a user should hear is added to `notes` at the end.

    trim: a blank before a quote is none of the cell.
    """
    width = len(dialect.header)
    reader = csv.reader(_plain(lines, source), delimiter=dialect.delimiter, skipinitialspace=trim, strict=True)
    rows: list[list[str | None]] = []
    done = blank = 0

    def row_at() -> str:
        line = f" (line {reader.line_num})" if not dialect.first_row else ""
        return f"{source}, data row {done + len(rows) + blank + 1}{line}"

    try:
        for _ in range(dialect.header_lines):
            next(reader)
        for record in reader:
            if width > 1 and not "".join(record).strip() and len(record) < 2:
                blank += 1
                continue
            if len(record) != width and record:
                what = f"{len(record)} cells, but the header has {width} columns"
                raise InputError(what, where=row_at(), fix=_fix_of_width(record, trim))
            rows.append([cell or None for cell in record] or [None])
            if len(rows) == _BLOCK:
                yield _series(rows, width)
                done += len(rows)
                rows.clear()
    except csv.Error as error:
        fix = "mend its quotes, or give --quote none where they are plain text"
        raise InputError(f"unreadable row ({error})", where=row_at(), fix=fix) from None
    while rows and width == 1 and rows[-1][0] is None:
        rows.pop()
    notes += [f"{source}: {blank} blank lines were left out"] if blank else []
    yield _series(rows, width)


def _fix_of_width(record: list[str], trim: bool) -> str:
    if not trim and any(cell.lstrip(BLANKS)[:1] == '"' != cell[:1] for cell in record):
        return "--trim takes off the blank before a quote"
    if any(cell.startswith("'") and not cell.endswith("'") for cell in record):
        return '--quote "\'" where apostrophes stand around cells'
    begin = record[0].strip()[:12]
    left_out = f", or leave such lines out by --comment {begin!r}" if re.match(r"[^\w\s]|[A-Za-z]", begin) else ""
    return f"mend the row, quote cells that hold the delimiter, name the right delimiter{left_out}"


def _plain(lines: Iterable[str], source: str) -> Iterator[str]:
    """The lines; raises InputError for one with zero bytes."""
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            where = f"{source}, line {number}"
            raise InputError("zero bytes in the text", where=where, fix="save the file as plain text")
        yield line


def _series(rows: list[list[str | None]], width: int) -> list[pl.Series]:
    import polars as pl

    columns = zip(*rows, strict=True) if rows else [()] * width
    return [pl.Series(column, dtype=pl.String) for column in columns]
