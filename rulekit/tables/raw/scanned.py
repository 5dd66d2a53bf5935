"""Files that polars scans: Parquet, whole or in blocks of rows of one column after the other, and JSON lines.

The types of JSON lines are those of the whole file. A key whose values are lists of names is a property of the objects
in it, or a relation of the pairs in it: `{"P0": ["a"], "R0": [["a", "b"]]}` has the Boolean columns `P0(a)` and
`R0(a, b)`, false where they are not listed.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import re
import sys
import tempfile
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rulekit.arrays import pl
from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.files import TableFile, in_lines
from rulekit.tables.raw.sources import raw_table

MOST_TIMES = 100
"""A file may unpack to so many times its own bytes, and to LEAST_UNPACKED in any case."""
LEAST_UNPACKED = 1 << 28
_UNKNOWN_ZONE = re.compile(r"time ?zone: '([^']{1,60})'")
_MOST_FOOTER = 1 << 24
_DEEPEST = 24
_TEXT_BYTES = 16
_LONG = 1000
"""Bytes of the texts of a dictionary, on average, from which on each row counts by itself."""


class ParquetFile(TableFile):
    """A Parquet file; rows: how many of one column are read at a time, None for the whole file in one block."""

    format = "Parquet"
    n_rows: int

    def __init__(self, file: Path, rows: int | None = None) -> None:
        super().__init__(file)
        self._rows, self.by_column = rows, rows is not None
        with refusing_damage("Parquet", file):
            self.types = dict(pl.read_parquet_schema(file))
            self.n_rows = pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
        self.names = tuple(self.types)
        self._largest = max(LEAST_UNPACKED, MOST_TIMES * file.stat().st_size)
        if rows is None:
            self._refuse_size(self._unpacked(self._footer))

    @cached_property
    def _footer(self) -> list[_RowGroup]:
        with _content(self.file) as content:  # of many groups it takes long to read
            return _row_groups(content)

    def _unpacked(self, groups: Sequence[_RowGroup]) -> int:
        with _content(self.file) as content:
            return _unpacked_bytes(content, groups)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The rows of each of its groups of rows."""
        rows = tuple(rows for rows, _ in self._footer)
        if min(rows, default=0) < 0 or sum(rows) != self.n_rows:
            what = f"damaged, or its footer has more than {_MOST_FOOTER >> 20} MB"
            raise InputError(what, where=self.source, fix="write it again, in fewer groups of rows")
        return rows

    def group(self, number: int, names: Sequence[str]) -> RawTable:
        """The rows of one group; raises InputError where they take far more memory than the file on disk."""
        rows = self.groups[number]
        self._refuse_size(max(self._unpacked([self._footer[number]]), rows * self._row_bytes(names)))
        return self._read(names, sum(self.groups[:number]), rows)

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order."""
        types = [self.types[name] for name in names]
        if self._rows is None:
            self._refuse_size(self.n_rows * self._row_bytes(names))
            yield self._read(names, 0, self.n_rows)
            return
        size = self._rows if all(dtype.is_numeric() for dtype in types) else max(1, self._rows // 8)
        for start in range(0, self.n_rows, size):
            self.share = min(1.0, (start + size) / self.n_rows)
            yield self._read(names, start, size)

    def _row_bytes(self, names: Sequence[str]) -> int:
        """What a row takes in memory; equal texts may share their bytes."""
        types = (self.types[name] for name in names)
        return sum(_TEXT_BYTES if t == pl.String or t.is_nested() else 1 if t == pl.Boolean else 8 for t in types)

    def _refuse_size(self, n_bytes: int) -> None:
        """Raises InputError where the columns would take far more memory than the file takes on disk."""
        if n_bytes > self._largest:
            raise InputError(
                f"{self.n_rows} rows would take {n_bytes / 1e6:.0f} MB of memory; at most "
                f"{self._largest / 1e6:.0f} MB are unpacked from a file of this size",
                where=self.source,
                fix="train it with --memory, which reads blocks of rows, or give fewer rows or columns a file",
            )

    def _read(self, names: Sequence[str], start: int, size: int) -> RawTable:
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


@contextlib.contextmanager
def _content(file: Path) -> Iterator[mmap.mmap]:
    """The bytes of a Parquet file; raises InputError where others stand there than those that are read."""
    try:
        with file.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        what = "damaged: its pages are not where its footer has them"
        raise InputError(what, where=file.name, fix="write it again") from None


_RowGroup = tuple[int, list[tuple[int, int, int]]]
"""The rows of a group, and of each column where it begins, its bytes and its values."""


def _row_groups(content: mmap.mmap) -> list[_RowGroup]:
    """The groups of rows by the footer; none where there is no footer, or a huge one."""
    size, end = int.from_bytes(content[-8:-4], "little"), len(content) - 8
    if not 0 < size <= min(_MOST_FOOTER, end):
        return []
    found = []
    for group in _Thrift(content, end - size, size).value(_STRUCT)[4]:
        columns = []
        for about in (column[3] for column in group[1]):
            starts = [about[field] for field in (_DATA, _DICTIONARY) if about.get(field, 0) > 0]
            columns.append((min(starts), about[_PACKED], about[_VALUES]))
        found.append((group[3], columns))
    return found


def _unpacked_bytes(content: mmap.mmap, groups: Sequence[_RowGroup]) -> int:
    """What groups of rows hold unpacked, by the heads of their pages, since a footer may lie.

    Raises an error of any kind that reading wrong values has for heads that cannot be read.
    """
    total, end = 0, len(content)
    for at, left, values in (column for _, columns in groups for column in columns):
        while left > 0 and 0 < at < end:
            head = _Thrift(content, at, _MOST_HEAD)
            page = head.value(_STRUCT)
            if page[2] < 0 or page[3] < 0:
                raise ValueError("a size below zero")
            total += page[2]
            if page[1] == _OF_DICTIONARY and (mean := page[2] // max(1, page[7][1])) > _LONG:
                total += mean * values  # polars writes the text out for each row
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


_TAKING = threading.Lock()


@contextlib.contextmanager
def refusing_damage(what: str, file: Path) -> Iterator[None]:
    """Raises InputError where polars cannot read the file, without what its panics write to standard error.

    What else is written there meanwhile is written afterwards. Of several threads one takes it for all.
    """
    import zlib

    with contextlib.ExitStack() as stack:
        kept, dropped = -1, False
        if _TAKING.acquire(blocking=False):
            stack.callback(_TAKING.release)
            with contextlib.suppress(OSError, ValueError, AttributeError):  # no standard error
                sys.stderr.flush()
                own = os.dup(2)
                stack.callback(os.close, own)
                written = stack.enter_context(tempfile.TemporaryFile())
                os.dup2(written.fileno(), 2)
                kept = own
        try:
            yield
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as error:
            dropped = isinstance(error, pl.exceptions.PanicException)
            if zone := _UNKNOWN_ZONE.search(str(error)):
                fix = "write the times in UTC, or with the name of a zone, Europe/Berlin"
                raise InputError(f"times in the zone {zone[1]!r} cannot be read", where=file.name, fix=fix) from None
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reason = f"this is no readable {what} file ({lines[0][:120]})"
            raise InputError(reason, where=file.name, fix="write it again") from None
        finally:
            if kept >= 0:
                os.dup2(kept, 2)
                if not dropped and written.seek(0, os.SEEK_END):
                    written.seek(0)
                    os.write(2, written.read())


MOST_KEYS = 10_000
_ANY_KEY = re.compile(rb'"([^"\\\n]{1,200})"\s*:')
_KEY = r'"\s*:'
_NULL = r'"\s*:\s*null'


class JsonLinesFile(TableFile):
    """A file of JSON objects, one a line; block_bytes: how much is read at a time, None for all at once.

    asked: the columns that will be asked for, where that is known; dropped: keys that may hold anything. Raises
    InputError for long lines and many keys too, as polars takes time quadratic in the keys.
    """

    format = "JSON lines"

    def __init__(
        self,
        file: Path,
        block_bytes: int | None = None,
        asked: Collection[str] | None = None,
        dropped: Collection[str] = (),
    ) -> None:
        super().__init__(file)
        self._block_bytes = block_bytes
        keys: set[bytes] = set()
        for part in in_lines(file):
            keys.update(_ANY_KEY.findall(part))
            if len(keys) > MOST_KEYS:
                what = f"more than {MOST_KEYS} different keys"
                raise InputError(what, where=self.source, fix="write CSV or Parquet")
        with refusing_damage("JSON lines", file):
            lines = pl.scan_ndjson(file, infer_schema_length=None)
            self._schema = dict(lines.collect_schema())
            lists = (pl.List(pl.String), pl.List(pl.List(pl.String)), pl.List(pl.Null))  # of names, or lists of them
            predicates = [key for key, kind in self._schema.items() if kind in lists and key not in dropped]
            self._atoms = self._atoms_of(lines, predicates, asked or ())
        named = {predicate for predicate, _ in self._atoms.values()}
        self.names = (*(key for key in self._schema if key not in named), *self._atoms)

    def _atoms_of(
        self, lines: pl.LazyFrame, predicates: Sequence[str], asked: Collection[str]
    ) -> dict[str, tuple[str, str]]:
        """By column, the key and the names, `a` or `a, b`, of each atom that is listed somewhere or asked for."""
        found: dict[str, tuple[str, str]] = {}
        for key in predicates:
            listed = self._listed(key).list.explode(keep_nulls=False, empty_as_null=False).unique()
            names = lines.select(listed).collect().to_series().drop_nulls().sort().to_list()
            found |= {f"{key}({each})": (key, each) for each in names}
            if odd := [name for name in names if Feature(f"P({name})", "boolean").atom is None]:
                fix = "write names of letters, digits and _, such as a or node_1"
                raise InputError(f"{odd[0]!r} is no name of objects", where=f"{self.source}, key {key!r}", fix=fix)
        if len(found) > MOST_KEYS:
            fix = "list fewer objects, or write a table with a column for each atom"
            raise InputError(f"{len(found):,} different properties and pairs", where=self.source, fix=fix)
        for column in asked if predicates else ():
            if column not in self._schema and (atom := Feature(column, "boolean").atom):
                found.setdefault(column, (atom[0], ", ".join(atom[1])))
        return found

    def _listed(self, key: str) -> pl.Expr:
        """The lists of a key, with `a, b` for the pair of a and b."""
        own = pl.col(key)
        if self._schema[key] == pl.List(pl.List(pl.String)):
            return own.list.eval(pl.element().list.join(", "))
        return own.cast(pl.List(pl.String))

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises InputError for an object with a key twice."""
        total, done, lines = max(1, self.file.stat().st_size), 0, 0
        with self.file.open("rb") as file:
            while part := b"".join(file.readlines(self._block_bytes)) if self._block_bytes else file.read():
                done += len(part)
                self.share = done / total
                if part.strip():
                    with refusing_damage("JSON lines", self.file):
                        frame = pl.read_ndjson(part, schema=self._schema)
                    _refuse_double_keys(part, frame, lines, self.source)
                    yield replace(raw_table(frame.select(map(self._column, names)), self.source), n_rows=frame.height)
                lines += part.count(b"\n")

    def _column(self, name: str) -> pl.Expr:
        key, names = self._atoms.get(name, (name, ""))
        if name not in self._atoms or key not in self._schema:
            return pl.col(name) if name not in self._atoms else pl.lit(False).alias(name)
        return self._listed(key).list.contains(names).fill_null(False).alias(name)


def _refuse_double_keys(content: bytes, frame: pl.DataFrame, first_line: int, source: str) -> None:
    """Raises InputError for an object with a key twice, of which polars keeps one without a word.

    Only lines with more keys than cells that are not null are parsed a second time.
    """
    lines = pl.Series(content.split(b"\n")).cast(pl.String)
    keys = lines.str.count_matches(_KEY).cast(pl.Int64) - lines.str.count_matches(_NULL).cast(pl.Int64)
    rows = (lines.str.strip_chars() != "").arg_true()
    if len(rows) == frame.height:
        cells = frame.select(pl.sum_horizontal(pl.all().is_not_null().cast(pl.Int64))).to_series()
        rows = rows.filter(keys.gather(rows) > cells)
    for line in rows.to_list():
        place = f"{source}, line {first_line + line + 1}"
        json.loads(lines[line], object_pairs_hook=partial(_refuse_twice, place))


def _refuse_twice(place: str, pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InputError(f"the key {key!r} stands twice", where=place, fix="write it once")
        seen.add(key)
