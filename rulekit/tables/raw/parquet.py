"""Parquet files, whole or in blocks of rows of one column after the other."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, LevelColumn, RawTable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import megabytes

MOST_TIMES = 100
"""A file may unpack to so many times its own bytes, and to LEAST_UNPACKED in any case."""
LEAST_UNPACKED = 1 << 28
_UNKNOWN_ZONE = re.compile(r"time ?zone: '([^']{1,60})'")
_MOST_FOOTER = 1 << 24
_DEEPEST = 24
_TEXT_BYTES = 16
_LONG = 1000
"""Bytes of the texts of a dictionary, on average, from which on each row counts by itself."""


@dataclass(slots=True, eq=False)
class ParquetFile:
    """A Parquet file; rows: how many of one column are read at a time, None for the whole file in one block."""

    format: ClassVar[str] = "Parquet"
    file: Path
    rows: int | None = None
    share: float = 0.0
    names: tuple[str, ...] = field(init=False)
    n_rows: int = field(init=False)
    _schema: dict[str, Any] = field(init=False)
    _largest: int = field(init=False)

    def __post_init__(self) -> None:
        import polars as pl

        with refusing_damage("Parquet", self.file):
            self._schema = dict(pl.read_parquet_schema(self.file))
            self.n_rows = pl.scan_parquet(self.file, glob=False).select(pl.len()).collect().item()
        self.names = tuple(self._schema)
        self._largest = max(LEAST_UNPACKED, MOST_TIMES * self.file.stat().st_size)
        if self.rows is None:
            try:
                n_bytes = _unpacked_bytes(self.file)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # what stands there is something else
                what = "damaged: its pages are not where its footer has them"
                raise InputError(what, where=self.source, fix="write it again") from None
            self._refuse_size(n_bytes)

    @property
    def source(self) -> str:
        return self.file.name

    @property
    def by_column(self) -> bool:
        return self.rows is not None

    def notes(self) -> list[str]:
        return []

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order."""
        import polars as pl

        if self.rows is None:
            self._refuse_size(self.n_rows * sum(_width(self._schema[name]) for name in names))
            yield self._read(names, 0, self.n_rows)
            return
        narrow = all(self._schema[name].is_numeric() for name in names)
        size = self.rows if narrow else max(1, self.rows // 8)
        levels = {name: self._levels(name) for name in names if self._schema[name] == pl.Categorical}
        for start in range(0, self.n_rows, size):
            raw = self._read(names, start, size)
            self.share = min(1.0, (start + size) / self.n_rows)
            yield replace(raw, columns=tuple(_relevelled(c, levels) for c in raw.columns)) if levels else raw

    def _refuse_size(self, n_bytes: int) -> None:
        """Raises InputError where the columns would take far more memory than the file takes on disk."""
        if n_bytes > self._largest:
            raise InputError(
                f"{self.n_rows} rows would take {megabytes(n_bytes)} MB of memory; at most "
                f"{megabytes(self._largest)} MB are unpacked from a file of this size",
                where=self.source,
                fix="train it with --memory, which reads blocks of rows, or give fewer rows or columns a file",
            )

    def _read(self, names: Sequence[str], start: int, size: int) -> RawTable:
        import polars as pl

        wanted = list(names or self.names[:1])  # the rows count even where none is wanted: a model may be a constant
        with refusing_damage("Parquet", self.file):
            if size == self.n_rows:
                frame = pl.read_parquet(self.file, columns=wanted, glob=False)
            else:
                frame = pl.scan_parquet(self.file, glob=False).select(wanted).slice(start, size).collect()
        n_rows = min(size, self.n_rows - start)
        if frame.height != n_rows:
            why = f"damaged: the footer says {self.n_rows} rows, which are not there"
            raise InputError(why, where=self.source, fix="write it again")
        return replace(raw_table(frame.select(names), self.source), n_rows=n_rows)

    def _levels(self, name: str) -> tuple[str, ...]:
        """All levels of a categorical column, of which a block knows only its own."""
        levels: set[str] = set()
        size = max(1, (self.rows or self.n_rows) // 8)
        for start in range(0, self.n_rows, size):
            column = self._read([name], start, size).columns[0]
            levels.update(column.levels if isinstance(column, LevelColumn) else ())
        return tuple(sorted(levels))


def _relevelled(column: Column, levels: dict[str, tuple[str, ...]]) -> Column:
    if not isinstance(column, LevelColumn) or column.name not in levels:
        return column
    place = {level: i for i, level in enumerate(levels[column.name])}
    lookup = np.array([*(place[level] for level in column.levels), -1], dtype=np.int32)
    return replace(column, codes=lookup[column.codes], levels=levels[column.name])


def _width(dtype: Any) -> int:
    """What a cell takes in memory; equal texts may share their bytes."""
    import polars as pl

    return _TEXT_BYTES if dtype == pl.String or dtype.is_nested() else 1 if dtype == pl.Boolean else 8


def _unpacked_bytes(file: Path) -> int:
    """What a Parquet file holds unpacked, by the heads of its pages, since a footer may lie; 0 where it has no footer.

    Raises an error of any kind that reading wrong values has for heads that cannot be read.
    """
    total, end = 0, file.stat().st_size
    with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        size = int.from_bytes(content[-8:-4], "little")
        if not 0 < size <= min(_MOST_FOOTER, end - 8):
            return 0
        for group in _Thrift(content, end - 8 - size, size).value(_STRUCT)[4]:
            for about in (column[3] for column in group[1]):
                starts = [about[field] for field in (_DATA, _DICTIONARY) if about.get(field, 0) > 0]
                at, left = min(starts), about[_PACKED]
                while left > 0 and 0 < at < end:
                    head = _Thrift(content, at, _MOST_HEAD)
                    page = head.value(_STRUCT)
                    if page[2] < 0 or page[3] < 0:
                        raise ValueError("a size below zero")
                    total += page[2]
                    if page[1] == _OF_DICTIONARY and (mean := page[2] // max(1, page[7][1])) > _LONG:
                        total += mean * about[_VALUES]  # polars writes the text out for each row
                    at, left = head.at + page[3], left - (head.at - at) - page[3]
    return total


_STRUCT, _MOST_HEAD, _OF_DICTIONARY = 12, 1 << 20, 2
_VALUES, _PACKED, _DATA, _DICTIONARY = 5, 7, 9, 11


class _Thrift:
    """The compact protocol of Thrift: structures as fields by number, lists, whole numbers; texts are passed over."""

    def __init__(self, content: mmap.mmap, at: int, most: int) -> None:
        self.content, self.at, self.end = content, at, at + most

    def byte(self) -> int:
        if self.at >= self.end:
            raise IndexError
        self.at += 1
        return self.content[self.at - 1]

    def number(self) -> int:
        """A number without sign, seven bits a byte."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128 or shift > 70:
                return found

    def value(self, kind: int, depth: int = 0) -> Any:
        """The value of a kind; 1 and 2 are truth values that the kind itself tells."""
        if kind in (4, 5, 6):
            found = self.number()
            return found >> 1 ^ -(found & 1)
        if kind in (3, 7, 8):
            passed = {3: 1, 7: 8}.get(kind) or self.number()
            self.at += passed
        elif kind in (9, 10) and depth < _DEEPEST:
            head = self.byte()
            size, item = self.number() if head >> 4 == 15 else head >> 4, 3 if head & 15 in (1, 2) else head & 15
            return [self.value(item, depth + 1) for _ in range(size)]
        elif kind == _STRUCT and depth < _DEEPEST:
            fields: dict[int, Any] = {}
            number = 0
            while head := self.byte():
                number = number + (head >> 4) if head >> 4 else self.value(4)
                fields[number] = self.value(head & 15, depth + 1)
            return fields
        elif kind not in (1, 2):
            raise ValueError("no such kind, or nested too deeply")
        return None


@contextlib.contextmanager
def refusing_damage(what: str, file: Path) -> Iterator[None]:
    """Raises InputError where polars cannot read the file, without what its panics write to standard error."""
    import zlib

    import polars as pl

    try:
        with _without_panics(pl.exceptions.PanicException):
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as error:
        if zone := _UNKNOWN_ZONE.search(str(error)):
            fix = "write the times in UTC, or with the name of a zone, Europe/Berlin"
            raise InputError(f"times in the zone {zone[1]!r} cannot be read", where=file.name, fix=fix) from None
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"this is no readable {what} file ({lines[0][:120]})"
        raise InputError(reason, where=file.name, fix="write it again") from None


@contextlib.contextmanager
def _without_panics(panic: type[BaseException]) -> Iterator[None]:
    """Drop what is written to standard error until a panic of compiled code; otherwise it is written afterwards."""
    with contextlib.ExitStack() as stack:
        try:
            sys.stderr.flush()
            kept = os.dup(2)
            stack.callback(os.close, kept)
            written = stack.enter_context(tempfile.TemporaryFile())
            os.dup2(written.fileno(), 2)
        except (OSError, ValueError, AttributeError):  # no standard error
            yield
            return
        dropped = False
        try:
            yield
        except panic:
            dropped = True
            raise
        finally:
            os.dup2(kept, 2)
            if not dropped and written.seek(0, os.SEEK_END):
                written.seek(0)
                os.write(2, written.read())
