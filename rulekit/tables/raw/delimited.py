"""Delimited text files, whole or in blocks of rows: the cells are the same either way.

A block is a piece of the file that begins and ends between two rows (a line break with an even number of quotes before
it), under a header line. The dialect is that of the file's beginning. What only a later row tells of the whole file
(another encoding, rows that polars cannot take, a column that is no numbers after all) makes the pass start anew.

polars reads every column as text, in parallel. It fills short rows with nulls in silence; so the delimiters of the
file are counted: each row must have one less than there are columns, and only then is a null an empty cell. A file
that does not add up is read again by the slower csv module, which names the row.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions, form_declared
from rulekit.tables.raw.columns import (
    BLANKS,
    LARGEST_EXACT_INTEGER,
    Column,
    Floats,
    NumberColumn,
    RawTable,
    TextColumn,
    as_floats,
    bare,
    blank_tokens,
    column_length,
    parse_numbers,
)
from rulekit.tables.raw.dialect import BLANKS_WORD, SAMPLE_BYTES, Dialect, detect_dialect, plain_lines
from rulekit.tables.raw.files import bytes_of, copied, detect_encoding, first_bytes, in_lines, western
from rulekit.tables.raw.slow_csv import NotUtf8, slow_blocks
from rulekit.tables.table import Store

if TYPE_CHECKING:
    import polars as pl

_ASCII = frozenset(map(chr, range(1, 128))) - frozenset('\r\n"')
_MARK = b"\xef\xbb\xbf"
_CHUNK = 1 << 24
_TAIL = 1 << 16
_TOTAL = re.compile(r"\s*(?:grand |sub)?(?:total|sum|summe|gesamt|average|mean)s?\b", re.IGNORECASE)
_LONE_RETURN = re.compile(rb"\r(?!\n)[^\r]")
_QUOTE = ord('"')


class ReadAgain(Exception):  # noqa: N818 - a signal, not an error
    """The rows so far were read in a way that does not suit the whole file; the next pass does better."""


_SAMPLE_LINES, _MOST_SAMPLED = 4, 1 << 23


@dataclass(slots=True, eq=False)
class DelimitedFile:
    """A delimited file; what is not plain UTF-8 with line feeds is read from a copy that is.

    block_bytes: how much is parsed at a time, None for the whole file in one block. source: the name for messages.
    """

    format: ClassVar[str] = "text"
    file: Path
    store: Store
    block_bytes: int | None
    options: ReadingOptions
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    dialect: Dialect = field(init=False)
    _given: Path = field(init=False)
    source: str = field(init=False)
    _encoding_notes: list[str] = field(default_factory=list)
    _slow: bool = False
    _numbers: bool = True
    _blank_notes: list[str] = field(default_factory=list)
    _odd: OddRows = field(default_factory=lambda: OddRows())
    _spaced: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.source, self._given = self.file.name, self.file
        _check_signs(self.options, self.source)
        sample = first_bytes(self.file, SAMPLE_BYTES)
        if not sample:
            raise InputError("the file is empty", where=self.source, fix="give a header line and rows")
        self._prepare(self.options.encoding or detect_encoding(sample, self.source))

    @property
    def names(self) -> tuple[str, ...]:
        return self.dialect.header[: -1 if self.dialect.ends_empty else None]

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
        self.file = self._given
        if encoding.lower().replace("_", "-") not in ("utf-8", "utf8", "utf-8-sig", "ascii"):
            if encoding in ("cp1252", "latin-1"):
                encoding = western(bytes_of(self.file))
            self._copy(self._decoded(encoding))
            self._encoding_notes = [f"{self.source}: encoding is {encoding}"]
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
        text = sample.removeprefix(_MARK).decode("utf-8", errors="replace")
        self.dialect = detect_dialect(text, self.source, self.options)
        if self.dialect.first_row:
            with self.file.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as lines:
                self._copy(plain_lines(lines, self.dialect, self.options))
        self._slow = not has_plain_quotes(chunks(self.file), self.dialect.delimiter)

    def _copy(self, parts: Iterator[bytes]) -> None:
        self.file = copied(parts, self.store, self.source)

    def _decoded(self, encoding: str) -> Iterator[bytes]:
        try:
            with contextlib.suppress(UnicodeDecodeError):  # two bytes are too few for some
                b"ab".decode(encoding)
            decoder = codecs.getincrementaldecoder(encoding)()
        except (LookupError, ValueError):
            raise InputError(
                f"no encoding {encoding!r}", where=self.source, fix="for example utf-8, cp1252, utf-16"
            ) from None
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

    # Rows ----------------------------------------------------------------------------------------------------------

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises ReadAgain where the next pass will do better.

        Columns of numbers come as numbers, but for those in `keep_text` (level `007` is not 7); all others as text.
        """
        self._blank_notes, self._odd = [], OddRows()
        asked = frozenset(names)
        wanted = [j for j, name in enumerate(self.dialect.header) if name in asked]
        try:
            for series in self._slow_blocks() if self._slow else self._fast_blocks(wanted, frozenset(keep_text)):
                columns: list[Column] = []
                n_rows = len(next(iter(series.values())))
                if self.dialect.ends_empty:
                    self._refuse_cells(series[len(self.names)])
                for j in wanted:
                    name = self.dialect.header[j]
                    column = parsed_column(name, series.pop(j), self.dialect, keep_text, self.options.trim)
                    columns.append(column)
                    formed = form_declared(self.options.types.get(name, ""))  # which reads cells without their blanks
                    self._spaced |= {name} if not formed and has_blanks(column) else set()
                self._odd.look(columns, self.names)
                yield RawTable(tuple(columns), n_rows, self.source)
            return
        except NotUtf8:  # valid at its beginning, so only the whole file can tell
            self._prepare("cp1252")
        except NotNumbers:
            self._numbers = False
        except NotFast:
            self._slow = True
        raise ReadAgain

    def _refuse_cells(self, last: pl.Series) -> None:
        """Raises InputError where the column without a name holds a cell after all."""
        if last.null_count() < len(last) and (last.fill_null("").cast(str).str.strip_chars(BLANKS) != "").any():
            why = f"a cell in column {len(self.dialect.header)}, which has no name"
            raise InputError(why, where=self.source, fix="name all columns by --names A,B,C")

    def _fast_blocks(self, wanted: list[int], keep_text: frozenset[str]) -> Iterator[dict[int, pl.Series]]:
        header = self.dialect.header
        numbers = frozenset(j for j in self.dialect.numbers if self._numbers and header[j] not in keep_text)
        if self.block_bytes is None:
            yield parse_fast(self.file, self.dialect, wanted, numbers)
            return
        for content, dialect in self._pieces(self.block_bytes):
            yield parse_fast(content, dialect, wanted, numbers)

    def _pieces(self, size: int) -> Iterator[tuple[bytes, Dialect]]:
        """Pieces of the file that are tables of their own, and how each is to be read."""
        width = len(self.dialect.header)
        line = self.dialect.delimiter.join(["h"] * width).encode() + b"\n"
        later = replace(self.dialect, raw_header=("h",) * width, header_lines=1)
        total, done = max(1, self.file.stat().st_size), 0
        held, first = b"", True
        with self.file.open("rb") as file:
            while True:
                part = file.read(size)
                done += len(part)
                held += part
                end = last_row_end(held) if part else len(held)
                if first and end:
                    yield held[:end].removeprefix(_MARK), self.dialect
                    first = False
                elif end:
                    yield line + held[:end], later
                self.share = done / total
                held = held[end:]
                if not part:
                    return

    def _slow_blocks(self) -> Iterator[dict[int, pl.Series]]:
        import polars as pl

        try:
            with self.file.open(encoding="utf-8-sig", newline="") as lines:
                blocks = slow_blocks(lines, self.dialect, self.source, self._blank_notes, trim=self.options.trim)
                if self.block_bytes is None:
                    blocks = iter([[pl.concat(series) for series in zip(*blocks, strict=True)]])
                for block in blocks:
                    yield dict(enumerate(block))
        except UnicodeDecodeError:
            raise NotUtf8 from None


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
        texts = [column for column in columns if isinstance(column, TextColumn)]
        self.n_rows += column_length(columns[0]) if columns else 0
        if len(columns) == len(names) > 2:
            self._look_for_bare(columns)
        if not texts or not len(texts[0].cells):
            return
        if len(texts) == len(columns):
            again = texts[0].cells == texts[0].name
            for column in texts[1:] if again.any() else ():
                again &= column.cells == column.name
            self.headers += int(again.sum())
        if texts[0].name == names[0]:
            begun = texts[0].cells.filter(texts[0].cells.str.contains(r"^\s*[#%]").fill_null(False))
            self.comments += len(begun)
            self.comment = begun[0].strip()[0] if len(begun) and not self.comment else self.comment
            self.last = texts[0].cells[-1] or ""

    def _look_for_bare(self, columns: Sequence[Column]) -> None:
        first, *others = columns
        gaps = np.ones(column_length(first), dtype=bool)
        for column in others:
            if isinstance(column, TextColumn):
                gaps &= column.cells.is_null().to_numpy()
            elif isinstance(column, NumberColumn):
                gaps &= np.isnan(column.values)
            if not gaps.any():
                return
        gaps &= np.isnan(first.values) if isinstance(first, NumberColumn) else True
        self.bare += int(gaps.sum())
        if gaps.any() and isinstance(first, TextColumn):
            self.first_bare = self.first_bare or first.cells[int(np.argmax(gaps))] or ""

    def notes(self, source: str, names: Sequence[str], delimiter: str) -> list[str]:
        """A line for each that was seen, with the option that leaves it out."""
        found = []
        if self.headers:
            begin = delimiter.join(names[:2])
            found.append(f"{source}: the header stands in {self.headers} rows again; --comment {begin!r} leaves it out")
        if 0 < self.comments <= 0.1 * self.n_rows:
            how = f"--comment {self.comment!r} leaves them out"
            found.append(f"{source}: {self.comments} rows begin with {self.comment!r}, as comments do; {how}")
        if word := _TOTAL.match(self.last):
            found.append(
                f"{source}: the last row may be a total ({self.last!r:.30}); --comment {word[0]!r} leaves it out"
            )
        if 0 < self.bare <= 0.1 * self.n_rows and not (word or self.comments):
            what = f"nothing behind {self.first_bare!r:.30}" if self.first_bare else "delimiters alone"
            how = f"--comment {self.first_bare or delimiter * (len(names) - 1)!r} leaves them out"
            found.append(f"{source}: {self.bare} rows have {what}; {how}")
        return found


def _check_signs(options: ReadingOptions, source: str) -> None:
    sign = options.delimiter
    if sign not in (None, BLANKS_WORD) and (len(sign) != 1 or sign not in _ASCII):
        raise InputError(f"delimiter {sign!r}", where=source, fix="give one character")
    if options.decimal not in (None, ".", ","):
        raise InputError(f"decimal {options.decimal!r}", where=source, fix="`.` or `,`")


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


def parsed_column(name: str, series: pl.Series, dialect: Dialect, keep_text: Collection[str], trim: bool) -> Column:
    """A parsed column, as numbers where all of its cells are; trim: texts lose the blanks around them."""
    import polars as pl

    if series.dtype == pl.Float64:
        return NumberColumn(name, as_floats(series))
    column = blank_tokens(TextColumn(name, series, dialect.decimal), ("",))
    trimmed = bare(column) if trim or name not in keep_text else column
    if name not in keep_text and trimmed.cells.null_count() < len(series):
        numbers = parse_numbers(trimmed)
        if numbers.null_count() == trimmed.cells.null_count():
            values = as_floats(numbers)
            return (trimmed if trim else column) if _has_large(values) else NumberColumn(name, values)
    return trimmed if trim else column


def has_blanks(column: Column) -> bool:
    """Whether a text begins or ends with a blank."""
    return isinstance(column, TextColumn) and bool(column.cells.str.contains(r"^[ \t\r\n\v\f]|[ \t\r\n\v\f]$").any())


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
