"""Delimited text parsed by polars, with the counts that tell a row of wrong length.

polars reads every column as text, in parallel. It fills short rows with nulls in silence; so the delimiters of the
file are counted: each row must have one less than there are columns, and only then is a null an empty cell. A file
that does not add up is read again by the slower csv module, which names the row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rulekit.tables.raw.columns import (
    LARGEST_EXACT_INTEGER,
    Column,
    Floats,
    NumberColumn,
    TextColumn,
    as_floats,
    parse_numbers,
)
from rulekit.tables.raw.dialect import Dialect
from rulekit.tables.raw.files import bytes_of
from rulekit.tables.raw.slow_csv import NotUtf8

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 1 << 24
_TAIL = 1 << 16
_MARK = b"\xef\xbb\xbf"
_QUOTE = ord('"')


def parsed_column(name: str, series: pl.Series, dialect: Dialect, keep_text: Collection[str]) -> tuple[Column, bool]:
    """A parsed column, and whether spaces around its cells were cut off; a cell of spaces only is empty."""
    import polars as pl

    if series.dtype == pl.Float64:
        return NumberColumn(name, as_floats(series)), False
    column = TextColumn(name, series, dialect.decimal)
    if name not in keep_text and series.null_count() < len(series):
        numbers = parse_numbers(column)
        if numbers.null_count() == series.null_count():
            values = as_floats(numbers)
            return (column if _has_large(values) else NumberColumn(name, values)), False
    odd = series == ""
    for space in (" ", "\t", "\r"):
        odd |= series.str.starts_with(space) | series.str.ends_with(space)
    if not odd.any():
        return column, False
    bare = series.str.strip_chars(" \t\r")
    trimmed = bool((series != bare).any())
    return TextColumn(name, bare.set(bare == "", None), dialect.decimal), trimmed


def _has_large(values: Floats) -> bool:
    """Whether only the text can tell if an integer was rounded."""
    return bool(np.any(np.abs(values[np.isfinite(values)]) >= LARGEST_EXACT_INTEGER))


class NotNumbers(Exception):  # noqa: N818 - a signal, not an error
    """A column that was numbers in the sample holds a cell that polars does not take for one."""


class NotFast(Exception):  # noqa: N818 - a signal, not an error
    """Rows that polars refuses or that have too few cells."""


def parse_fast(
    source: Path | bytes, dialect: Dialect, wanted: list[int], numbers: frozenset[int]
) -> dict[int, pl.Series]:
    """The wanted columns by number, those in `numbers` as doubles where they have no integers beyond 2^53.

    Raises NotUtf8, NotNumbers or NotFast.
    """
    import polars as pl

    last = len(dialect.header) - 1
    kept = sorted({*wanted, last})  # the last column tells whether a row is short
    try:
        frame = pl.read_csv(
            source,
            has_header=False,
            skip_rows=dialect.header_lines,
            schema={_label(j): pl.Float64 if j in numbers else pl.String for j in range(last + 1)},
            columns=None if len(kept) == last + 1 else [_label(j) for j in kept],
            separator=dialect.delimiter,
            glob=False,
        )
    except pl.exceptions.NoDataError:
        return {j: pl.Series(str(j), [], dtype=pl.String) for j in kept}
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "utf-8" in str(error).lower() or "utf8" in str(error).lower():
            raise NotUtf8 from None
        raise (NotNumbers if numbers else NotFast) from None
    if frame.height and frame[_label(last)].null_count():
        if len(kept) <= last:  # only whole rows can be counted
            return parse_fast(source, dialect, list(range(last + 1)), numbers)
        frame, even = without_blank_end(source, frame, dialect)
        if not even:
            raise NotFast
    large = {j for j in numbers.intersection(kept) if _has_large(as_floats(frame[_label(j)]))}
    if large:
        return parse_fast(source, dialect, wanted, numbers - large)
    return {j: frame[_label(j)] for j in kept}


def _label(j: int) -> str:
    """The name that polars demands for column j of a file without header."""
    return f"column_{j + 1}"


def has_plain_quotes(parts: Iterable[bytes], delimiter: str) -> bool:
    """Whether every quote opens, closes or is doubled inside a quoted cell (RFC 4180).

    A quote that has an even number of quotes before it opens a cell (it follows a delimiter or line break) or
    is the second of a pair; the others close one or are the first of a pair. polars loses rows without a word where
    that fails (`5" pipe`).
    """
    edge = np.zeros(256, dtype=bool)
    edge[list(f'\n\r"{delimiter}'.encode())] = True
    odd = False
    last = b"\n"
    for part in parts:
        if not odd and last == b'"' and not edge[part[0]]:
            return False
        if _QUOTE in part:
            data = np.frombuffer(last + part + b"\n", dtype=np.uint8)
            # a quote at the end of a part is judged by what follows in the next one
            at = np.flatnonzero(data[1:-1] == _QUOTE) + 1
            opening, closing = (at[1::2], at[0::2]) if odd else (at[0::2], at[1::2])
            if not edge[data[opening - 1]].all() or not edge[data[closing + 1]].all():
                return False
            odd ^= bool(len(at) % 2)
        last = part[-1:]
    return not odd


def without_blank_end(source: Path | bytes, frame: pl.DataFrame, dialect: Dialect) -> tuple[pl.DataFrame, bool]:
    """The frame without the blank lines at the file's end, and whether all other rows have every delimiter."""
    import polars as pl

    sign = dialect.delimiter.encode()
    total, tail = 0, b""
    for part in chunks(source):
        total += part.count(sign)
        tail = (tail + part)[-_TAIL:]
    tail = tail.replace(b"\r", b"")
    blank = len(tail) - len(tail.rstrip(b"\n")) - 1
    if blank > 0:
        frame = frame.head(frame.height - blank)
    if len(dialect.header) == 1:
        return frame, True
    inside = sum(name.count(dialect.delimiter) for name in dialect.raw_header)
    for series in frame.select(pl.col(pl.String)).iter_columns():
        inside += int(series.str.count_matches(dialect.delimiter, literal=True).cast(pl.Int64).sum() or 0)
    return frame, total - inside == (len(dialect.header) - 1) * (frame.height + 1)


def chunks(source: Path | bytes) -> Iterator[bytes]:
    """The bytes of a file, without a byte order mark, in parts of which none is empty."""
    first = True
    for part in [source] if isinstance(source, bytes) else bytes_of(source, _CHUNK):
        bare = part.removeprefix(_MARK) if first else part
        first = False
        if bare:
            yield bare
