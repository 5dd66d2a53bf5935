"""Delimited text files, whole or in blocks of rows: the cells are the same either way.

A block is a piece of the file that begins and ends between two rows (a line break with an even number of quotes before
it), under a header line. The dialect is that of the file's beginning. What only a later row tells of the whole file
(another encoding, rows that polars cannot take, a column that is no numbers after all) makes the pass start anew.

polars reads every column as text, in parallel. It fills short rows with nulls in silence; so the delimiters of the
file are counted: each row must have one less than there are columns, and only then is a null an empty cell. A file
that does not add up, or with quotes inside cells, is read from a copy by the slower csv module, which names the row.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rulekit.arrays import Floats, pl
from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions, form_declared
from rulekit.tables.raw.columns import (
    BLANKS,
    LARGEST_EXACT_INTEGER,
    Column,
    NumberColumn,
    RawTable,
    TextColumn,
    as_floats,
    column_length,
)
from rulekit.tables.raw.dialect import BLANKS_WORD, SAMPLE_BYTES, Dialect, detect_dialect
from rulekit.tables.raw.files import (
    TableFile,
    bytes_of,
    checked_rows,
    copied,
    detect_encoding,
    first_bytes,
    in_lines,
    plain_lines,
    western,
)
from rulekit.tables.table import Store

_ASCII = frozenset(map(chr, range(1, 128))) - frozenset('\r\n"')
_CHUNK = 1 << 24
_TAIL = 1 << 16
_TOTAL = re.compile(r"\s*(?:grand |sub)?(?:total|sum|summe|gesamt|average|mean)s?\b", re.IGNORECASE)
_LONE_RETURN = re.compile(rb"\r(?!\n)[^\r]")
_QUOTE = ord('"')
_SAMPLE_LINES, _MOST_SAMPLED = 4, 1 << 23
_WESTERN, _TEXTS, _CHECKED = "as Western text", "numbers as texts", "from a copy whose rows are checked"


class ReadAgain(Exception):  # noqa: N818 - a signal, not an error
    """The rows so far were read in a way that does not suit the whole file; the next pass reads them in another."""


class DelimitedFile(TableFile):
    """A delimited file; what is not plain UTF-8 with line feeds is read from a copy that is.

    block_bytes: how much is parsed at a time, None for the whole file in one block.
    """

    format = "text"
    dialect: Dialect
    _blank_notes: list[str]

    def __init__(self, file: Path, store: Store, block_bytes: int | None, options: ReadingOptions) -> None:
        super().__init__(file)
        self._given, self._store, self._block_bytes, self.options = file, store, block_bytes, options
        self._encoding_notes, self._odd, self._spaced = list[str](), OddRows(), set[str]()
        self._has_numbers = True
        sign = options.delimiter
        if sign not in (None, BLANKS_WORD) and (len(sign) != 1 or sign not in _ASCII):
            raise InputError(f"delimiter {sign!r}", where=self.source, fix="give one character")
        if options.decimal not in (None, ".", ","):
            raise InputError(f"decimal {options.decimal!r}", where=self.source, fix="`.` or `,`")
        sample = first_bytes(file, SAMPLE_BYTES)
        if not sample:
            raise InputError("the file is empty", where=self.source, fix="give a header line and rows")
        self._prepare(options.encoding or detect_encoding(sample, self.source))

    def notes(self) -> list[str]:
        """What was detected, and what was left out or cut off."""
        notes = [*self._encoding_notes, *self.dialect.notes, *self._blank_notes]
        notes += self._odd.notes(self.source, self.names, self.dialect.delimiter)
        spaced = [name for name in self.names if name in self._spaced]
        if self.options.trim:
            notes.append(f"{self.source}: read without blanks around cells; a database that reads it keeps them")
        if spaced:
            shown = ", ".join(map(repr, spaced[:4])) + (", ..." if len(spaced) > 4 else "")
            notes.append(f"{self.source}: {shown}: blanks around cells count; --trim takes them off")
        return notes

    # The file as UTF-8 ---------------------------------------------------------------------------------------------

    def _prepare(self, encoding: str) -> None:
        """Bring the file into UTF-8 with line feeds and one header line, and detect its dialect."""
        self.file, self._blank_notes, self._is_checked = self._given, [], False
        if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
            if encoding in ("cp1252", "latin-1"):
                encoding = western(bytes_of(self.file))
            self._copy(self._decoded(encoding))
            self._encoding_notes = [f"{self.source}: encoding is {encoding}"]
        sample = first_bytes(self.file, SAMPLE_BYTES)
        if sample.startswith(codecs.BOM_UTF8):
            with self.file.open("rb") as marked:
                marked.seek(len(codecs.BOM_UTF8))
                self._copy(iter(lambda: marked.read(_CHUNK), b""))
            sample = first_bytes(self.file, SAMPLE_BYTES)
        if _LONE_RETURN.search(sample) and (b"\n" not in sample or b'"' not in sample):
            self._copy(part.replace(b"\r\n", b"\n").replace(b"\r", b"\n") for part in bytes_of(self.file))
            sample = first_bytes(self.file, SAMPLE_BYTES)
        for _ in in_lines(self.file):
            pass
        size = SAMPLE_BYTES  # a header of 100,000 names takes more than that, and numbers are seen in rows alone
        while sample.count(b"\n") < _SAMPLE_LINES and len(sample) >= size and size < _MOST_SAMPLED:
            size *= 2
            sample = first_bytes(self.file, size)
        self.dialect = detect_dialect(sample.decode("utf-8", errors="replace"), self.source, self.options)
        self.names = self.dialect.header[: -1 if self.dialect.ends_empty else None]
        if self.dialect.first_row:
            with self.file.open(encoding="utf-8", errors="surrogateescape", newline="") as lines:
                self._copy(plain_lines(lines, self.dialect, self.options))
        self._is_plain = has_plain_quotes(bytes_of(self.file, _CHUNK), self.dialect.delimiter)

    def _copy(self, parts: Iterator[bytes]) -> None:
        self.file = copied(parts, self._store, self.source)

    def _decoded(self, encoding: str) -> Iterator[bytes]:
        try:
            with contextlib.suppress(UnicodeDecodeError):  # two bytes are too few for some
                b"ab".decode(encoding)
            decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError):
            fix = "for example utf-8, cp1252, utf-16"
            raise InputError(f"no encoding {encoding!r}", where=self.source, fix=fix) from None
        line, first = 1, True
        try:
            for part in (*bytes_of(self.file), b""):
                text = decoder.decode(part, final=not part)
                text = text.removeprefix("\ufeff") if first else text
                first = first and not text
                line += text.count("\n")
                yield text.encode("utf-8")
        except UnicodeError as error:
            if isinstance(error, UnicodeDecodeError):
                line += error.object.count(b"\n", 0, error.start)
            where = f"{self.source}, line {line}"
            raise InputError(f"bytes that are not {encoding}", where=where, fix="declare the encoding") from None

    def _check(self) -> None:
        """Read the file through the csv module, into a copy that is plain."""
        try:
            with self.file.open(encoding="utf-8", newline="") as lines:
                self._blank_notes = []
                self._copy(checked_rows(lines, self.dialect, self.source, self._blank_notes, self.options.trim))
        except UnicodeDecodeError:  # valid at its beginning, so only the whole file can tell
            raise ReadAgain(_WESTERN) from None
        self.dialect = replace(self.dialect, raw_header=self.dialect.header, header_lines=1)
        self._is_plain = self._is_checked = True

    # Rows ----------------------------------------------------------------------------------------------------------

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises ReadAgain where the next pass will do better.

        Columns of numbers come as numbers, but for those in `keep_text` (level `007` is not 7); all others as text.
        """
        self._odd = OddRows()
        try:
            if not self._is_plain:
                self._check()
            header, asked = self.dialect.header, frozenset(names)
            wanted = [j for j, name in enumerate(header) if name in asked]
            numbers = frozenset(j for j in self.dialect.numbers if self._has_numbers and header[j] not in keep_text)
            for content, dialect in self._pieces():
                columns: list[Column] = []
                series = parse_fast(content, dialect, wanted, numbers)
                n_rows = len(next(iter(series.values())))
                last = series[len(header) - 1].drop_nulls().cast(str) if dialect.ends_empty else None
                if last is not None and (last.str.strip_chars(BLANKS) != "").any():
                    why = f"a cell in column {len(header)}, which has no name"
                    raise InputError(why, where=self.source, fix="name all columns by --names A,B,C")
                for j in wanted:
                    name = header[j]
                    columns.append(parsed_column(name, series.pop(j), dialect, keep_text, self.options.trim))
                    formed = form_declared(self.options.types.get(name, ""))  # which reads cells without their blanks
                    self._spaced |= {name} if not formed and _has_blanks(columns[-1]) else set()
                self._odd.look(columns, self.names)
                yield RawTable(tuple(columns), n_rows, self.source)
        except ReadAgain as again:
            if again.args == (_WESTERN,):
                self._prepare("cp1252")
            elif again.args == (_TEXTS,):
                self._has_numbers = False
            elif self._is_checked:
                what, fix = "polars cannot read its rows", "write it as plain CSV, or as Parquet"
                raise InputError(what, where=self.source, fix=fix) from None
            else:
                self._is_plain = False
            raise

    def _pieces(self) -> Iterator[tuple[Path | bytes, Dialect]]:
        """The file, or pieces of it that are tables of their own, and how each is to be read."""
        if self._block_bytes is None:
            yield self.file, self.dialect
            return
        width, total, done = len(self.dialect.header), max(1, self.file.stat().st_size), 0
        line = self.dialect.delimiter.join(["h"] * width).encode() + b"\n"
        later = replace(self.dialect, raw_header=("h",) * width, header_lines=1)
        held, first, part = b"", True, b"."
        with self.file.open("rb") as file:
            while part:
                part = file.read(self._block_bytes)
                done += len(part)
                held += part
                end = last_row_end(held) if part else len(held)
                if first and end:
                    yield held[:end], self.dialect
                    first = False
                elif end:
                    yield line + held[:end], later
                self.share = done / total
                held = held[end:]


@dataclass(slots=True, eq=False)
class OddRows:
    """Rows that are no rows: the header again, comments, a total, cells in the first column alone; all rows' number."""

    n_rows: int = 0
    headers: int = 0
    comments: int = 0
    comment: str = ""
    last: str = ""
    bare: int = 0
    first_bare: str = ""

    def look(self, columns: Sequence[Column], names: Sequence[str]) -> None:
        """Look at a block of rows; all that is asked for may be a few of the columns."""
        if not columns or not column_length(columns[0]):
            return
        self.n_rows += column_length(columns[0])
        texts = [column for column in columns if isinstance(column, TextColumn)]
        if len(texts) == len(columns):
            again = texts[0].cells == texts[0].name
            for column in texts[1:] if again.any() else ():
                again &= column.cells == column.name
            self.headers += int(again.sum())
        if texts and texts[0].name == names[0]:
            begun = texts[0].cells.filter(texts[0].cells.str.contains(r"^\s*[#%]").fill_null(False))
            self.comments += len(begun)
            self.comment = begun[0].strip()[0] if len(begun) and not self.comment else self.comment
            self.last = texts[0].cells[-1] or ""
        if len(columns) == len(names) > 2:
            gaps = np.ones(column_length(columns[0]), dtype=bool)
            first = columns[0] if isinstance(columns[0], TextColumn) else None
            for own in reversed(columns if first is None else columns[1:]):
                if gaps.any() and isinstance(own, NumberColumn):
                    gaps &= np.isnan(own.values)
                elif gaps.any() and isinstance(own, TextColumn):
                    gaps &= own.cells.is_null().to_numpy()
            self.bare += int(gaps.sum())
            if gaps.any() and first is not None:
                self.first_bare = self.first_bare or first.cells[int(np.argmax(gaps))] or ""

    def notes(self, source: str, names: Sequence[str], delimiter: str) -> list[str]:
        """A line for each that was seen, with the option that leaves it out."""
        found = []
        if self.headers:
            begin = delimiter.join(names[:2])
            found.append(f"the header stands in {self.headers} rows again; --comment {begin!r} leaves it out")
        if 0 < self.comments <= 0.1 * self.n_rows:
            how = f"--comment {self.comment!r} leaves them out"
            found.append(f"{self.comments} rows begin with {self.comment!r}, as comments do; {how}")
        if word := _TOTAL.match(self.last):
            found.append(f"the last row may be a total ({self.last!r:.30}); --comment {word[0]!r} leaves it out")
        if 0 < self.bare <= 0.1 * self.n_rows and not (word or self.comments):
            what = f"nothing behind {self.first_bare!r:.30}" if self.first_bare else "delimiters alone"
            how = f"--comment {self.first_bare or delimiter * (len(names) - 1)!r} leaves them out"
            found.append(f"{self.bare} rows have {what}; {how}")
        return [f"{source}: {note}" for note in found]


def last_row_end(content: bytes) -> int:
    """Where the last row ends that another row follows, with no blank line at that place; 0 if there is none.

    content: bytes from the beginning of a row on. Blank lines stay inside, for at the end of a file they mean nothing.
    """
    at, quotes = len(content), content.count(b'"')
    while (end := content.rfind(b"\n", 0, at)) > 0:
        quotes -= content.count(b'"', end, at)
        at = end
        before = content[end - 1 : end] if content[end - 1 : end] != b"\r" else content[max(0, end - 2) : end - 1]
        after = content[end + 1 : end + 2]
        if quotes % 2 == 0 and before not in (b"\n", b"") and after not in (b"\n", b"\r", b""):
            return end + 1
    return 0


def parsed_column(name: str, series: pl.Series, dialect: Dialect, keep_text: Collection[str], trim: bool) -> Column:
    """A parsed column, as numbers where all of its cells are; trim: texts lose the blanks around them."""
    if series.dtype == pl.Float64:
        return NumberColumn(name, as_floats(series))
    column = TextColumn(name, series, dialect.decimal).without(("",))
    trimmed = column.bare() if trim or name not in keep_text else column
    if name not in keep_text and trimmed.cells.null_count() < len(series):
        numbers = trimmed.numbers()
        values = as_floats(numbers)
        if numbers.null_count() == trimmed.cells.null_count() and not _has_large(values):
            return NumberColumn(name, values)
    return trimmed if trim else column


def _has_blanks(column: Column) -> bool:
    """Whether a text begins or ends with a blank."""
    return isinstance(column, TextColumn) and bool(column.cells.str.contains(r"^[ \t\r\n\v\f]|[ \t\r\n\v\f]$").any())


def _has_large(values: Floats) -> bool:
    """Whether only the text can tell if an integer was rounded."""
    return bool(np.any(np.abs(values[np.isfinite(values)]) >= LARGEST_EXACT_INTEGER))


def parse_fast(
    source: Path | bytes, dialect: Dialect, wanted: list[int], numbers: frozenset[int]
) -> dict[int, pl.Series]:
    """The wanted columns by number, those in `numbers` as doubles where they have no integers beyond 2^53.

    Raises ReadAgain where the bytes are no UTF-8, a column in `numbers` holds something else, or rows are uneven.
    """
    labels = [f"column_{j + 1}" for j in range(len(dialect.header))]  # as polars demands of a file without header
    last = len(labels) - 1
    kept = sorted({*wanted, last})  # the last column tells whether a row is short
    try:
        frame = pl.read_csv(
            source,
            has_header=False,
            skip_rows=dialect.header_lines,
            schema={label: pl.Float64 if j in numbers else pl.String for j, label in enumerate(labels)},
            columns=None if len(kept) == len(labels) else [labels[j] for j in kept],
            separator=dialect.delimiter,
            glob=False,
        )
    except pl.exceptions.NoDataError:
        return {j: pl.Series(str(j), [], dtype=pl.String) for j in kept}
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        foreign = "utf-8" in str(error).lower() or "utf8" in str(error).lower()
        raise ReadAgain(_WESTERN if foreign else _TEXTS if numbers else _CHECKED) from None
    if frame.height and frame[labels[last]].null_count():
        if len(kept) <= last:  # only whole rows can be counted
            return parse_fast(source, dialect, list(range(last + 1)), numbers)
        frame, even = without_blank_end(source, frame, dialect)
        if not even:
            raise ReadAgain(_CHECKED)
    large = {j for j in numbers.intersection(kept) if _has_large(as_floats(frame[labels[j]]))}
    if large:
        return parse_fast(source, dialect, wanted, numbers - large)
    return {j: frame[labels[j]] for j in kept}


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
    sign = dialect.delimiter.encode()
    total, tail = 0, b""
    for part in [source] if isinstance(source, bytes) else bytes_of(source, _CHUNK):
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
