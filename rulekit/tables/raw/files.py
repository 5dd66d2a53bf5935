"""Bytes of table files: how they begin, and plain copies: of a pipe, of what is packed, of CSV that is written oddly.

Files that are no table that rulekit reads are known by their first bytes and refused by their name.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
import os
import re
import shutil
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rulekit.errors import InputError, reason_of
from rulekit.names import near_files
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import BLANKS, RawTable
from rulekit.tables.raw.dialect import UNUSUAL, Dialect, csv_reader, split_line
from rulekit.tables.table import Store, appending

CHUNK = 1 << 22
HEAD_BYTES = 4096
"""How much of a file is looked at, to tell what it is."""
_LONG_HEAD = 1 << 18  # of a file that begins with comments
MOST_TIMES = 100
"""A packed file may hold so many times its own bytes, and LEAST_UNPACKED in any case: text hardly ever packs better."""
LEAST_UNPACKED = 1 << 30
MOST_OF_A_LINE = 1 << 26
MOST_OF_A_PIPE = 10_000_000_000

_GZIP = b"\x1f\x8b"
_MARKS = (
    (b"PK\x03\x04", "a zip or Excel file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"%PDF", "a PDF file"),
    (b"{\\rtf", "a rich text file"),
    (b"\x89PNG", "a picture"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf", "a 7z file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow or Feather file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x93NUMPY", "a numpy file"),
    (b"\x80\x04\x95", "a pickle, which rulekit never opens"),
    (b"$FL2", "an SPSS file"),
)
_ENCODING_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_TEXTS = (
    (re.compile(rb"\s*(?:%[^\n]*\n\s*)*@relation\s", re.IGNORECASE), "an ARFF file"),
    (re.compile(rb"\s*<(?:\?xml|!doctype|!--|[a-z][\w:.-]*[\s/>])", re.IGNORECASE), "XML or HTML"),
    (re.compile(rb"\s*\[\s*(?:[\[{]|\"(?:[^\"\\]|\\.)*\"\s*[,\]])"), "a JSON array"),
)
_SVMLIGHT = re.compile(rb"(?:[^\s,;:|]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s,;:|]+)+[ \t]*(?:#.*)?\r?\n){1,}")
_JSON_OBJECT = re.compile(rb'\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}|$)')


class TableFile(ABC):
    """A file that is read as often as asked, whole or in blocks.

    names: of all its columns; by_column: whether the blocks of a column come without reading the others; n_rows: None
    while it is not known; source: its name for messages; share: how much of it the present pass has come to.
    """

    format = ""
    by_column = False
    names: tuple[str, ...] = ()
    n_rows: Any = None
    share = 0.0

    def __init__(self, file: Path) -> None:
        self.file, self.source = file, file.name
        self._notes: list[str] = []

    def notes(self) -> list[str]:
        """What a user should hear; known after the last block."""
        return self._notes

    @abstractmethod
    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises ReadAgain where the next pass will do better."""


def first_bytes(path: Path, size: int = HEAD_BYTES) -> bytes:
    """The beginning of a file, unpacked; raises InputError where there is none, or of what cannot be read."""
    fix = "check the path"
    if os.path.isdir(path):
        fix = "give a file; train --engine dask takes a folder of Parquet"
        raise InputError("this is a folder", where=str(path), fix=fix)
    with refusing_damage(path):
        try:
            with path.open("rb") as file:
                head = file.read(size)
        except FileNotFoundError:
            with contextlib.suppress(OSError):
                near = near_files(path.name, [entry.name for entry in path.parent.iterdir()])
                fix = f"did you mean {' or '.join(map(repr, near))}?" if near else fix
            raise InputError("no such file", where=str(path), fix=fix) from None
        return zlib.decompressobj(wbits=31).decompress(head, size) if head.startswith(_GZIP) else head


def plain_file(path: Path, store: Store) -> Path:
    """The file itself where it can be read more than once as it is, else a copy: of a pipe, of what is packed.

    Raises InputError where it cannot be read, is no table, or holds more than it should.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        # a pipe (/dev/stdin, say) gives its bytes once, and a table is looked at more than once
        most = min(MOST_OF_A_PIPE, shutil.disk_usage(store.folder).free // 2)
        what = f"more than {most / 1e6:.0f} MB came"
        parts = _bounded(_read_once(path), most, str(path), what, "write them to a file first")
        path = copied(parts, store, path.name)
    head = first_bytes(path)
    refuse_foreign(first_bytes(path, _LONG_HEAD) if head[:1] == b"%" else head, path.name)
    with path.open("rb") as file:
        if file.read(2) != _GZIP:
            return path
    most = max(LEAST_UNPACKED, MOST_TIMES * path.stat().st_size)
    what = f"the packed file holds more than {most / 1e6:.0f} MB"
    fix = "unpack it, and give the plain file"
    copy = copied(_bounded(_unpacked(path), most, path.name, what, fix), store, path.name)
    with copy.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if head.startswith(_GZIP):
        raise InputError("a packed file within a packed file", where=path.name, fix=fix)
    refuse_foreign(head, path.name)
    return copy


def copied(parts: Iterable[bytes], store: Store, name: str) -> Path:
    """A file of that name in the store with the bytes of all parts."""
    folder = store.new_file()
    folder.mkdir()
    copy = folder / name
    with appending(copy) as file:
        file.writelines(parts)
    return copy


def _bounded(parts: Iterable[bytes], most: int, where: str, what: str, fix: str) -> Iterator[bytes]:
    """The parts; raises InputError where they are more than `most` bytes."""
    size = 0
    for part in parts:
        size += len(part)
        if size > most:
            raise InputError(what, where=where, fix=fix)
        yield part


def bytes_of(path: Path, size: int = CHUNK) -> Iterator[bytes]:
    """The bytes of a file, in parts of which none is empty."""
    with path.open("rb") as file:
        while part := file.read(size):
            yield part


def in_lines(path: Path) -> Iterator[bytes]:
    """The parts of a text file; raises InputError where a line is longer than MOST_OF_A_LINE."""
    since = 0
    for part in bytes_of(path):
        since = since + len(part) if b"\n" not in part else len(part) - 1 - part.rfind(b"\n")
        if since > MOST_OF_A_LINE:
            what = f"a line of more than {MOST_OF_A_LINE / 1e6:.0f} MB"
            raise InputError(what, where=path.name, fix="is it a table with a line for each row?")
        yield part


def _unpacked(path: Path) -> Iterator[bytes]:
    with refusing_damage(path), gzip.open(path) as file:
        while part := file.read(CHUNK):
            yield part


def _read_once(path: Path) -> Iterator[bytes]:
    with refusing_damage(path):
        for number, part in enumerate(bytes_of(path)):
            if number == 0 and part.count(b"\0") == len(part):
                raise no_text(path.name)
            yield part


@contextlib.contextmanager
def refusing_damage(path: Path) -> Iterator[None]:
    """Raises InputError where a file cannot be read or unpacked."""
    try:
        yield
    except InputError:  # which is a ValueError too
        raise
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"damaged gzip file ({error})", where=path.name, fix="copy it again") from None
    except (OSError, ValueError) as error:
        what = f"cannot be read: {reason_of(error)}"
        raise InputError(what, where=str(path), fix="check the path and its rights") from None


def refuse_foreign(head: bytes, name: str) -> None:
    """Raises InputError where the first bytes of a file are of another format; name: of the file."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    foreign = next((what for mark, what in _MARKS if head.startswith(mark)), None)
    foreign = foreign or next((what for pattern, what in _TEXTS if pattern.match(head)), None)
    if foreign is not None:
        raise InputError(f"this is {foreign}", where=name, fix="save it as CSV, Parquet or JSON lines (.jsonl)")
    lines = name.lower().endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"))
    if not lines and _JSON_OBJECT.match(head):
        fix = "JSON lines, one object a line, are read from a file that ends in .jsonl"
        raise InputError("this is JSON", where=name, fix=fix)


def is_svmlight(head: bytes, name: str) -> bool:
    """Whether a file is one of svmlight, by the end of its name or by its first bytes."""
    return name.removesuffix(".gz").endswith((".svm", ".svmlight", ".libsvm")) or _SVMLIGHT.match(head) is not None


def no_text(name: str) -> InputError:
    """The refusal of a file that is neither text nor of a known format."""
    return InputError("this is no text table (binary bytes)", where=name, fix="give CSV, Parquet or JSON lines")


def detect_encoding(sample: bytes, source: str) -> str:
    """The encoding of the first bytes: by mark, by the zero bytes of UTF-16, else UTF-8 if valid, else a Western one.

    Raises InputError for what is no text.
    """
    for mark, name in _ENCODING_MARKS:
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
    controls = len(sample.translate(None, bytes(range(32, 256)) + b"\t\n\r\f\x01\x1a\x1b\x1f"))
    if controls > 0.01 * len(sample):
        raise no_text(source)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)  # the last character may be cut
    except UnicodeDecodeError:
        return western([sample])
    return "utf-8"


def western(parts: Iterable[bytes]) -> str:
    """cp1252 if its own letters 0x80 to 0x9f occur and are defined, else Latin-1."""
    used: set[int] = set()
    for part in parts:
        used |= {byte for byte in range(0x80, 0xA0) if bytes([byte]) in part}
    return "cp1252" if used and not used & {0x81, 0x8D, 0x8F, 0x90, 0x9D} else "latin-1"


def plain_lines(lines: Iterable[str], dialect: Dialect, options: ReadingOptions) -> Iterator[bytes]:
    """The file as plain CSV: a header line with the names, then the rows."""
    written, comments = _writer(dialect.delimiter), tuple(options.comment)
    yield written(dialect.raw_header)
    body = (line for line in islice(lines, dialect.first_row - 1, None) if not (comments and line.startswith(comments)))
    if dialect.parted in UNUSUAL:
        yield from (written(cells) for line in body if (cells := split_line(line, dialect.parted)))
    elif options.quote is not None:
        yield from (written(row) if row else b"\n" for row in csv_reader(body, options, dialect.delimiter))
    else:
        yield from (line.encode("utf-8", "surrogateescape") for line in body)


def _writer(delimiter: str) -> Callable[[Sequence[str]], bytes]:
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=delimiter, lineterminator="\r\n")  # so that either sign is quoted

    def written(row: Sequence[str]) -> bytes:
        sink.seek(0)
        sink.truncate()
        writer.writerow(row)
        return sink.getvalue().encode("utf-8", "surrogateescape")

    return written


def checked_rows(lines: Iterable[str], dialect: Dialect, source: str, notes: list[str], trim: bool) -> Iterator[bytes]:
    """A file as plain CSV under its names; raises InputError naming the row that is wrong.

    trim: a blank before a quote is none of the cell. What a user should hear is added to `notes` at the end.
    """
    width, written, number, blank, empty = len(dialect.header), _writer(dialect.delimiter), 0, 0, 0
    reader = csv.reader(_texts(lines, source), delimiter=dialect.delimiter, skipinitialspace=trim, strict=True)

    def row_at(number: int) -> str:
        line = f" (line {reader.line_num})" if not dialect.first_row else ""
        return f"{source}, data row {number}{line}"

    yield written(dialect.header)
    try:
        for record in islice(reader, dialect.header_lines, None):
            number += 1
            cells = "".join(record).strip()
            if width > 1 and not cells and len(record) < 2:
                blank += 1
            elif width == 1 and not any(record):  # the last ones are no rows
                empty += 1
            elif len(record) != width:
                what = f"{len(record)} cells, but the header has {width} columns"
                raise InputError(what, where=row_at(number), fix=_fix_of_width(record, trim))
            else:
                yield from (written([""]) for _ in range(empty))
                yield written(record)
                empty = 0
    except csv.Error as error:
        fix = "mend its quotes, or give --quote none where they are plain text"
        raise InputError(f"unreadable row ({error})", where=row_at(number + 1), fix=fix) from None
    notes += [f"{source}: {blank} blank lines were left out"] if blank else []


def _texts(lines: Iterable[str], source: str) -> Iterator[str]:
    """The lines; raises InputError for one with zero bytes."""
    for number, line in enumerate(lines, 1):
        if "\0" in line:
            where = f"{source}, line {number}"
            raise InputError("zero bytes in the text", where=where, fix="save the file as plain text")
        yield line


def _fix_of_width(record: list[str], trim: bool) -> str:
    if not trim and any(cell.lstrip(BLANKS)[:1] == '"' != cell[:1] for cell in record):
        return "--trim takes off the blank before a quote"
    if any(cell.startswith("'") and not cell.endswith("'") for cell in record):
        return '--quote "\'" where apostrophes stand around cells'
    begin = record[0].strip()[:12]
    left_out = f", or leave such lines out by --comment {begin!r}" if re.match(r"[^\w\s]|[A-Za-z]", begin) else ""
    return f"mend the row, quote cells that hold the delimiter, name the right delimiter{left_out}"
