"""Delimited text files in blocks of rows, with the cells that `rulekit.tables.raw.delimited` reads of the whole file.

A block is a piece of the file that begins and ends between two rows (a line break with an even number of quotes before
it), under a header line. The dialect is that of the file's beginning. What only one block tells of the whole file
(another encoding, rows that polars cannot take, a column that is no numbers after all) makes the pass start anew.
"""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.delimited import (
    NotFast,
    NotNumbers,
    check_signs,
    parse_fast,
    parsed_column,
    spaces_note,
)
from rulekit.tables.raw.dialect import SAMPLE_BYTES, Dialect, detect_dialect, detect_encoding, western_of_parts
from rulekit.tables.raw.raw_bytes import chunks, has_plain_quotes
from rulekit.tables.raw.slow_csv import NotUtf8, slow_blocks
from rulekit.tables.storage import Store

_CHUNK = 1 << 22


class ReadAgain(Exception):  # noqa: N818 - a signal, not an error
    """The blocks so far were read in a way that does not suit the whole file; the next pass does better."""


@dataclass(slots=True, eq=False)
class DelimitedBlocks:
    """A delimited file, also .gz; what is not plain UTF-8 is read from a copy that is."""

    path: Path
    store: Store
    block_bytes: int
    options: ReadingOptions
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    dialect: Dialect = field(init=False)
    _file: Path = field(init=False)
    _encoding_notes: list[str] = field(default_factory=list)
    _slow: bool = False
    _numbers: bool = True
    _blank_notes: list[str] = field(default_factory=list)
    _spaced: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        check_signs(self.options, self.source)
        self._file = self.path
        if self._head(self.path)[:2] == b"\x1f\x8b":
            self._file = self._copy(self._unpacked())
        sample = self._head(self._file)
        if not sample:
            raise InputError("the file is empty", where=self.source, fix="give a header line and rows")
        self._prepare(self.options.encoding or detect_encoding(sample, self.source))

    @property
    def source(self) -> str:
        return self.path.name

    @property
    def names(self) -> tuple[str, ...]:
        return self.dialect.header

    def notes(self) -> list[str]:
        """What was detected, and what was left out or cut off."""
        spaced = [name for name in self.names if name in self._spaced]
        return [*self._encoding_notes, *self.dialect.notes, *self._blank_notes, *spaces_note(spaced)]

    # The file as UTF-8 ---------------------------------------------------------------------------------------------

    def _prepare(self, encoding: str) -> None:
        """Bring the file into UTF-8 with line feeds, and detect its dialect."""
        if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
            if encoding in ("cp1252", "latin-1"):
                encoding = western_of_parts(self._parts())
            self._file = self._copy(self._decoded(encoding))
            self._encoding_notes = [f"{self.source}: encoding is {encoding}"]
        sample = self._head(self._file)
        if b"\r" in sample and b"\n" not in sample:
            self._file = self._copy(part.replace(b"\r", b"\n") for part in self._parts())
            sample = self._head(self._file)
        text = sample.removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
        self.dialect = detect_dialect(text, self.source, self.options.delimiter, self.options.decimal)
        # a quoted field after a space is beyond polars
        self._slow = self.dialect.spaced or not has_plain_quotes(chunks(self._file, None), self.dialect.delimiter)

    def _head(self, path: Path) -> bytes:
        with path.open("rb") as file:
            return file.read(SAMPLE_BYTES)

    def _parts(self) -> Iterator[bytes]:
        with self._file.open("rb") as file:
            while part := file.read(_CHUNK):
                yield part

    def _unpacked(self) -> Iterator[bytes]:
        try:
            with gzip.open(self.path) as file:
                while part := file.read(_CHUNK):
                    yield part
        except (OSError, EOFError, zlib.error) as error:
            raise InputError(f"damaged gzip file ({error})", where=self.source, fix="copy it again") from None

    def _decoded(self, encoding: str) -> Iterator[bytes]:
        try:
            decoder = codecs.getincrementaldecoder(encoding)()
        except LookupError:
            raise InputError(
                f"no encoding {encoding!r}", where=self.source, fix="for example utf-8, cp1252, utf-16"
            ) from None
        lines, first = 1, True
        try:
            for part in self._ended_parts():
                text = decoder.decode(part, final=not part)
                text = text.removeprefix("\ufeff") if first else text
                first = first and not text
                lines += text.count("\n")
                yield text.encode("utf-8")
        except UnicodeDecodeError:
            raise InputError(
                f"bytes that are not {encoding}",
                where=f"{self.source}, line {lines} or later",
                fix="declare the encoding",
            ) from None

    def _ended_parts(self) -> Iterator[bytes]:
        yield from self._parts()
        yield b""

    def _copy(self, parts: Iterator[bytes]) -> Path:
        copy = self.store.new_file()
        with copy.open("wb") as file:
            for part in parts:
                file.write(part)
        return copy

    # Rows ----------------------------------------------------------------------------------------------------------

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises ReadAgain where the next pass will do better."""
        self._blank_notes = []
        try:
            yield from self._slow_blocks(names, keep_text) if self._slow else self._fast_blocks(names, keep_text)
        except NotUtf8:
            self._prepare("cp1252")
            raise ReadAgain from None
        except NotNumbers:
            self._numbers = False
            raise ReadAgain from None
        except NotFast:
            self._slow = True
            raise ReadAgain from None

    def _fast_blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        header = self.dialect.header
        wanted = [j for j, name in enumerate(header) if name in names]
        numbers = frozenset(j for j in self.dialect.numbers if self._numbers and header[j] not in keep_text)
        for content, dialect in self._pieces():
            series = parse_fast(self._file, content, dialect, wanted, numbers)
            columns = []
            for j in wanted:
                column, trimmed = parsed_column(header[j], series[j], self.dialect, keep_text)
                columns.append(column)
                if trimmed:
                    self._spaced.add(column.name)
            n_rows = len(next(iter(series.values())))
            yield RawTable(tuple(columns), n_rows, self.source)

    def _pieces(self) -> Iterator[tuple[bytes, Dialect]]:
        """Pieces of the file that are tables of their own, and how each is to be read."""
        width = len(self.dialect.header)
        line = self.dialect.delimiter.join(["h"] * width).encode() + b"\n"
        later = replace(self.dialect, header=self.dialect.header, raw_header=("h",) * width, header_lines=1)
        total, done = max(1, self._file.stat().st_size), 0
        held, first = b"", True
        with self._file.open("rb") as file:
            while True:
                part = file.read(self.block_bytes)
                done += len(part)
                held += part
                end = last_row_end(held) if part else len(held)
                if first and end:
                    yield held[:end].removeprefix(b"\xef\xbb\xbf"), self.dialect
                    first = False
                elif end:
                    yield line + held[:end], later
                self.share = done / total
                held = held[end:]
                if not part:
                    return

    def _slow_blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        header = self.dialect.header
        try:
            with self._file.open(encoding="utf-8-sig", newline="") as lines:
                for series in slow_blocks(lines, self.dialect, self.source, self._blank_notes):
                    columns = []
                    for name, cells in zip(header, series, strict=True):
                        if name in names:
                            column, trimmed = parsed_column(name, cells, self.dialect, keep_text)
                            columns.append(column)
                            self._spaced |= {name} if trimmed else set()
                    yield RawTable(tuple(columns), len(series[0]), self.source)
        except UnicodeDecodeError:
            raise NotUtf8 from None


def last_row_end(content: bytes) -> int:
    """Where the last row ends that another row follows, with no blank line at that place; 0 if there is none.

    content: bytes from the beginning of a row on. Blank lines stay inside, for at the end of a file they mean nothing.
    """
    at, quotes = len(content), content.count(b'"')
    while True:
        end = content.rfind(b"\n", 0, at)
        if end <= 0:
            return 0
        quotes -= content.count(b'"', end, at)
        at = end
        before = content[end - 1 : end] if content[end - 1 : end] != b"\r" else content[max(0, end - 2) : end - 1]
        after = content[end + 1 : end + 2]
        if quotes % 2 == 0 and before not in (b"\n", b"") and after not in (b"\n", b"\r", b""):
            return end + 1
