"""Where the header and the rows of a text file begin: lines above them, comments, other separators and quotes.

What is unusual is looked for in the first lines only, noted, and left out of a copy that is plain CSV with one header
line. What can be read in two ways is not guessed: a note or refusal names the option that says it.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions

BLANKS_WORD = "blanks"
_MOST_LINES = 400
_MOST_COLUMNS = 1000
_USUAL = ",;\t|"
_CANDIDATES = _USUAL + "^~"
_MOST_EQUAL = 0.85
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_LINES = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)
_TYPES = frozenset(("continuous", "discrete", "string", "time", "c", "d", "s", "t"))
_CELL_OF_BLANKS = re.compile(r'"[^"]*"|[^ \t]+')


@dataclass(frozen=True, slots=True)
class Layout:
    """names: those of the columns; first_row: the line in which the rows begin, counted from 1, 0 of plain CSV."""

    delimiter: str
    names: tuple[str, ...]
    first_row: int
    in_blanks: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    last_line: int
    cells: list[str]


def layout_of(sample: str, source: str, options: ReadingOptions) -> Layout | None:
    """What must be changed to make the file plain CSV; None where it is that.

    Raises InputError for options that do not fit the file, and where the header and the rows contradict each other.
    """
    lines = sample.split("\n", _MOST_LINES)[:_MOST_LINES]
    skipped, delimiter, notes = 0, options.delimiter, list[str]()
    separator = _SEPARATOR_LINE.fullmatch(lines[0].removesuffix("\r"))
    if separator and options.header is None:
        skipped, delimiter = 1, delimiter or separator[1]
        notes.append(f"{source}: delimiter is {delimiter!r}, by the first line")
    first, last = _declared(options, source)
    if first is None and options.header is None:
        comments = _comments(lines[skipped:], options)
        notes += [f"{source}: {comments} comment lines above the header were left out"] if comments else []
        skipped += comments
    asked = any((first, options.header, options.names, options.comment, options.quote))
    if delimiter is None:
        delimiter, as_usual = _delimiter(lines, skipped, options)
        if as_usual and not (skipped or asked):
            return None
        if delimiter not in (None, ","):
            shown = "runs of blanks" if delimiter == BLANKS_WORD else repr(delimiter)
            notes.append(f"{source}: delimiter is {shown}")
    in_blanks = delimiter == BLANKS_WORD
    records = _records(lines, skipped, options, delimiter)
    if not records:
        return None
    width = _common_width(records)
    at = 0
    if options.header == "none":
        names: Sequence[str] = options.names or [f"column_{j + 1}" for j in range(width)]
        return Layout(_sign(delimiter), tuple(names), records[0].line, in_blanks, tuple(notes))
    if first is not None:
        at = next((i for i, record in enumerate(records) if record.line >= first), len(records) - 1)
    elif not options.names:
        at = _header_at(records, width, source)
        if at:
            shown = ", ".join(repr(lines[record.line - 1].strip()[:30]) for record in records[: min(at, 2)])
            notes.append(f"{source}: {at} lines above the header were left out: {shown}")
    header = records[at]
    ended = (
        [""] if len(header.cells) == width - 1 > 0 and not any("".join(r.cells[width - 1 :]) for r in records) else []
    )
    if not (at or skipped or in_blanks or asked or ended):
        return Layout(delimiter or ",", (), 0, notes=tuple(notes))
    names = options.names or [*header.cells, *ended]
    return Layout(_sign(delimiter), tuple(names), (last or header.last_line) + 1, in_blanks, tuple(notes))


def _sign(delimiter: str | None) -> str:
    return "\t" if delimiter == BLANKS_WORD else delimiter or ","


def _declared(options: ReadingOptions, source: str) -> tuple[int | None, int | None]:
    """The lines of the header that are declared; raises InputError for what is none."""
    for sign in (*options.comment, options.quote):
        if sign == "":
            raise InputError("an empty text", where=source, fix="--comment and --quote take signs")
    if options.quote not in (None, "none") and len(options.quote or "") != 1:
        raise InputError(f"quote {options.quote!r}", where=source, fix="one sign, or none")
    if options.header in (None, "none"):
        return None, None
    found = _LINES.fullmatch(options.header or "")
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 1 <= first <= last <= _MOST_LINES:
        fix = "the line of the header (3), its lines (1-3: names in the first), or none"
        raise InputError(f"header {options.header!r}", where=source, fix=fix)
    return first, last


def _comments(lines: Sequence[str], options: ReadingOptions) -> int:
    """How many lines from the first on are comments; one with as many cells as a row of numbers below is the header."""
    count = 0
    while count < len(lines) and (lines[count][:1] in ("#", "%") or (count and not lines[count].strip())):
        count += 1
    if not count or count == len(lines):
        return 0
    for sign in options.delimiter or _CANDIDATES:
        above, below = lines[count - 1].split(sign), lines[count].split(sign)
        if len(above) == len(below) > 1 and any(map(_NUMBER.fullmatch, below)):
            return count - 1
    return count


def _records(lines: Sequence[str], skipped: int, options: ReadingOptions, delimiter: str | None) -> list[_Record]:
    """The records below `skipped` lines, without blank and comment lines."""
    kept = [
        (number, line)
        for number, line in enumerate(lines, 1)
        if number > skipped and line.strip() and not line.startswith(tuple(options.comment))
    ]
    if delimiter == BLANKS_WORD:
        return [_Record(number, number, _CELL_OF_BLANKS.findall(line.rstrip("\r"))) for number, line in kept]
    reader = _reader((f"{line}\n" for _, line in kept), options, delimiter or ",")
    found: list[_Record] = []
    done = 0
    try:
        for cells in reader:
            found.append(_Record(kept[done][0], kept[reader.line_num - 1][0], cells))
            done = reader.line_num
    except csv.Error:
        pass
    return found[:-1] if len(lines) == _MOST_LINES and len(found) > 1 else found


def _reader(lines: Iterable[str], options: ReadingOptions, delimiter: str) -> Any:
    """A csv reader of the lines; the quote is that of the options."""
    plain = options.quote == "none"
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar='"' if plain else options.quote or '"',
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        skipinitialspace=options.trim,
    )


def _common_width(records: Sequence[_Record]) -> int:
    rows = records[1:] or records
    return Counter(len(record.cells) for record in rows).most_common(1)[0][0]


def _delimiter(lines: Sequence[str], skipped: int, options: ReadingOptions) -> tuple[str | None, bool]:
    """The sign that parts most rows alike, None where none does, and whether the first line tells it as well."""
    best, best_score = None, (False, 0.0, 0)
    for sign in (*_CANDIDATES, BLANKS_WORD):
        found = _records(lines, skipped, options, sign)
        signs = any(other in cell for record in found[:9] for cell in record.cells for other in ",;|")
        if len(found) < 2 or (sign == BLANKS_WORD and (signs or best)):
            continue
        width = _common_width(found)
        if sign == BLANKS_WORD and not _blanks_part(found, width):
            continue
        share = sum(len(record.cells) == width for record in found[1:]) / (len(found) - 1)
        score = (len(found[0].cells) == width, share, width)
        if width > 1 and share > _MOST_EQUAL and score > best_score:
            best, best_score = sign, score
    return best, best is None or (best in _USUAL and best_score[0])


def _blanks_part(records: Sequence[_Record], width: int) -> bool:
    """Whether blanks part cells, not words: a header as wide as the rows, of three columns or of numbers alone."""
    numbers = all(_NUMBER.fullmatch(cell) for record in records[1:9] for cell in record.cells)
    return len(records[0].cells) == width and (width > 2 or numbers)


def _header_at(records: Sequence[_Record], width: int, source: str) -> int:
    """The number of the record that is the header: the first as wide as the rows, where lines of prose stand above.

    Raises InputError where the first line is a header of another width or with another delimiter.
    """
    first = records[0]
    rows = [record.cells for record in records[1:] if len(record.cells) == width]
    if len(first.cells) == width or width < 2 or len(rows) <= _MOST_EQUAL * (len(records) - 1):
        return 0
    if len(first.cells) == width - 1 and not any(row[-1].strip() for row in rows):
        return 0  # a delimiter ends each row
    text = first.cells[0] if len(first.cells) == 1 else ""
    for sign in _CANDIDATES:
        if len(own := text.split(sign)) == width:
            raise InputError(
                f"the header is parted by {sign!r}, the rows are not",
                where=f"{source}, line {first.line}",
                fix=f"--names {','.join(name.strip() for name in own)} names the columns in its place",
            )
    if any(cell.startswith("'") and not cell.endswith("'") for row in rows for cell in row):
        where, fix = f"{source}, line {first.line}", '--quote "\'" where apostrophes stand around cells'
        raise InputError(f"{len(first.cells)} names for {width} cells in each row", where=where, fix=fix)
    if len(first.cells) == width - 1 and width > 2:
        raise InputError(
            f"{width - 1} names for {width} cells in each row",
            where=f"{source}, line {first.line}",
            fix=f"--names row,{','.join(name.strip() for name in first.cells)} names all (R leaves the first out)",
        )
    at = next(i for i, record in enumerate(records) if len(record.cells) == width)
    return at if all(2 * len(record.cells) <= width for record in records[:at]) else 0


def plain_lines(lines: Iterable[str], layout: Layout, options: ReadingOptions) -> Iterator[bytes]:
    """The file as plain CSV: a header line with the names, then the rows."""
    sink = io.StringIO()
    writer = csv.writer(sink, delimiter=layout.delimiter, lineterminator="\n")
    comments = tuple(options.comment)

    def written(row: Sequence[str]) -> bytes:
        sink.seek(0)
        sink.truncate()
        writer.writerow(row)
        return sink.getvalue().encode("utf-8", "surrogateescape")

    yield written(layout.names)
    body = (line for number, line in enumerate(lines, 1) if number >= layout.first_row)
    body = (line for line in body if not (comments and line.startswith(comments)))
    if layout.in_blanks:
        for line in body:
            cells = _CELL_OF_BLANKS.findall(line.rstrip("\r\n"))
            yield written([cell.strip('"') for cell in cells]) if cells else b"\n"
    elif options.quote is not None:
        for row in _reader(body, options, layout.delimiter):
            yield written(row) if row else b"\n"
    else:
        for line in body:
            yield line.encode("utf-8", "surrogateescape")


def row_like(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line looks like a row: numbers above numbers, or words that occur below them again."""
    header, like = header[:_MOST_COLUMNS], 0
    for j, name in enumerate(header if len(rows) > 2 else ()):
        cells = [row[j] for row in rows if j < len(row) and row[j].strip()]
        numeric = bool(cells) and sum(map(bool, map(_NUMBER.fullmatch, cells))) >= 0.9 * len(cells)
        if numeric and not _NUMBER.fullmatch(name) and name.strip():
            return False
        like += bool(_NUMBER.fullmatch(name)) if numeric else name in cells
    return len(rows) > 2 and 2 * like >= len(header)


def odd_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first two rows are of another kind than those below: units, types, or a second header."""
    for count in (2, 1):
        below = rows[count:]
        if len(below) < 3 or any(len(row) != len(rows[-1]) for row in rows[:count]):
            continue
        numeric = [
            j
            for j in range(min(len(rows[-1]), _MOST_COLUMNS))
            if all(_NUMBER.fullmatch(row[j]) for row in below if j < len(row))
        ]
        words = {cell.lower() for cell in rows[0]} <= _TYPES
        odd = not any(_NUMBER.fullmatch(row[j]) for row in rows[:count] for j in numeric)
        if odd and (words or any(rows[0][j].strip() for j in numeric)):
            return count
    return 0
