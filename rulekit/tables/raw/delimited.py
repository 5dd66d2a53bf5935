"""Delimited text files as raw columns: polars parses, this module sees to encodings and to rows of wrong length.

polars reads every column as text, in parallel. It fills short rows with nulls in silence; so the delimiters of the
file are counted: each row must have one less than there are columns, and only then is a null an empty cell. A file
that does not add up is read again by the slower csv module, which names the row.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rulekit.errors import InputError
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import (
    LARGEST_EXACT_INTEGER,
    Column,
    Floats,
    NumberColumn,
    RawTable,
    TextColumn,
    as_floats,
    parse_numbers,
)
from rulekit.tables.raw.dialect import SAMPLE_BYTES, Dialect, detect_dialect, detect_encoding, western
from rulekit.tables.raw.raw_bytes import chunks, has_plain_quotes, without_blank_end
from rulekit.tables.raw.slow_csv import NotUtf8, read_slowly

if TYPE_CHECKING:
    import polars as pl

_ASCII = frozenset(map(chr, range(1, 128))) - frozenset('\r\n"')


def read_delimited(
    path: Path,
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    columns: Collection[str] | None = None,
    keep_text: Collection[str] = (),
) -> RawTable:
    """All columns of a delimited file (also .gz), or of those named in `columns` the ones that are there.

    Columns of numbers come as numbers, but for those in `keep_text` (level `007` is not 7); all others as text.

    Raises InputError naming file, row and column for what cannot be read.
    """
    source = path.name
    check_signs(options, source)
    content = _unpacked(path)
    sample = content[:SAMPLE_BYTES] if content is not None else _head(path)
    if not sample:
        raise InputError("the file is empty", where=source, fix="give a header line and rows")
    detected = options.encoding or detect_encoding(sample, source)
    try:
        return _read(path, content, sample, detected, source, options, columns, keep_text)
    except NotUtf8:
        # valid at its beginning, so only the whole file can tell
        content = content if content is not None else path.read_bytes()
        return _read(path, content, sample, western(content), source, options, columns, keep_text)


def check_signs(options: ReadingOptions, source: str) -> None:
    """Raises InputError for a delimiter or decimal sign that is none."""
    for what, sign, allowed in (("delimiter", options.delimiter, None), ("decimal", options.decimal, (".", ","))):
        if sign is not None and (len(sign) != 1 or sign not in (allowed or _ASCII)):
            raise InputError(
                f"{what} {sign!r}", where=source, fix="give one character" if not allowed else "`.` or `,`"
            )


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(SAMPLE_BYTES)


def _unpacked(path: Path) -> bytes | None:
    """The content of a gzip file, else None: plain files are left on disk."""
    if _head(path)[:2] != b"\x1f\x8b":
        return None
    try:
        return gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"damaged gzip file ({error})", where=path.name, fix="copy it again") from None


def _read(
    path: Path,
    content: bytes | None,
    sample: bytes,
    encoding: str,
    source: str,
    options: ReadingOptions,
    columns: Collection[str] | None,
    keep_text: Collection[str],
) -> RawTable:
    notes = []
    if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        content = content if content is not None else path.read_bytes()
        encoding = western(content) if encoding in ("cp1252", "latin-1") else encoding
        content = _decoded(content, encoding, source).encode("utf-8")
        sample = content[:SAMPLE_BYTES]
        notes.append(f"{source}: encoding is {encoding}")
    if b"\r" in sample and b"\n" not in sample:
        content = (content if content is not None else path.read_bytes()).replace(b"\r", b"\n")
        sample = content[:SAMPLE_BYTES]
    text = sample.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    dialect = detect_dialect(text, source, options.delimiter, options.decimal)
    wanted = [j for j, name in enumerate(dialect.header) if columns is None or name in columns]
    if dialect.spaced:  # a quoted field after a space is beyond polars
        series, more = read_slowly(path, content, dialect, source)
    else:
        numbers = frozenset(j for j in dialect.numbers if dialect.header[j] not in keep_text)
        series, more = _read_fast(path, content, dialect, source, wanted, numbers)
    n_rows = len(next(iter(series.values())))
    found, spaced = [], []
    for j in wanted:
        column, trimmed = parsed_column(dialect.header[j], series.pop(j), dialect, keep_text)
        found.append(column)
        spaced += [column.name] if trimmed else []
    notes += [*dialect.notes, *more]
    notes += spaces_note(spaced)
    unread = tuple(name for j, name in enumerate(dialect.header) if j not in wanted)
    return RawTable(tuple(found), n_rows, source, tuple(notes), unread=unread)


def spaces_note(names: list[str]) -> list[str]:
    """One line on the columns whose cells had spaces around them, if there are any."""
    if not names:
        return []
    shown = ", ".join(map(repr, names[:4])) + (", ..." if len(names) > 4 else "")
    return [f"spaces around the cells of {shown} were removed"]


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


def _decoded(content: bytes, encoding: str, source: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise InputError(f"no encoding {encoding!r}", where=source, fix="for example utf-8, cp1252, utf-16") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"bytes that are not {encoding}", where=f"{source}, line {line}", fix="declare the encoding"
        ) from None


def _read_fast(
    path: Path, content: bytes | None, dialect: Dialect, source: str, wanted: list[int], numbers: frozenset[int]
) -> tuple[dict[int, pl.Series], list[str]]:
    """The wanted columns by number, those in `numbers` as doubles; what polars refuses is read slowly."""
    if not has_plain_quotes(chunks(path, content), dialect.delimiter):
        return read_slowly(path, content, dialect, source)
    try:
        try:
            return parse_fast(path, content, dialect, wanted, numbers), []
        except NotNumbers:
            return parse_fast(path, content, dialect, wanted, frozenset()), []
    except NotFast:
        return read_slowly(path, content, dialect, source)


class NotNumbers(Exception):  # noqa: N818 - a signal, not an error
    """A column that was numbers in the sample holds a cell that polars does not take for one."""


class NotFast(Exception):  # noqa: N818 - a signal, not an error
    """Rows that polars refuses or that have too few cells."""


def parse_fast(
    path: Path, content: bytes | None, dialect: Dialect, wanted: list[int], numbers: frozenset[int]
) -> dict[int, pl.Series]:
    """The wanted columns by number, those in `numbers` as doubles where they have no integers beyond 2^53.

    Raises NotUtf8, NotNumbers or NotFast.
    """
    import polars as pl

    last = len(dialect.header) - 1
    kept = sorted({*wanted, last})  # the last column tells whether a row is short
    try:
        frame = pl.read_csv(
            content if content is not None else path,
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
            return parse_fast(path, content, dialect, list(range(last + 1)), numbers)
        frame, even = without_blank_end(path, content, frame, dialect)
        if not even:
            raise NotFast
    large = {j for j in numbers.intersection(kept) if _has_large(as_floats(frame[_label(j)]))}
    if large:
        return parse_fast(path, content, dialect, wanted, numbers - large)
    return {j: frame[_label(j)] for j in kept}


def _label(j: int) -> str:
    """The name that polars demands for column j of a file without header."""
    return f"column_{j + 1}"
