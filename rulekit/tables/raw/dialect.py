"""How a text file is written: where its header and rows begin, its delimiter, decimal sign, quotes and names.

Its beginning is looked at. What is unusual (lines above the header, comments, rules, other separators and quotes) is
noted, and left out of a copy that is plain CSV with one header line. What can be read in two ways is not guessed: a
note or refusal names the option.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from rulekit.errors import InputError
from rulekit.tables.kinds.dress import may_mean_missing, quoted_word, zeros_note
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import BLANKS

BLANKS_WORD = "blanks"
SAMPLE_BYTES = 1 << 20
MOST_COLUMNS = 250_000
_MOST_LINES, _MOST_LOOKED_AT, _MOST_ODD = 400, 1000, 9
_MOST_EQUAL = 0.85
_USUAL, _CANDIDATES = ",;\t|", ",;\t|^~\x01\x1f"
_RULED = "ruled"
_NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
UNUSUAL = {BLANKS_WORD: "runs of blanks", _RULED: "bars of a ruled table"}
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_LINES = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_PLAIN_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*", re.IGNORECASE | re.ASCII)
_FRACTION = re.compile(r"[+-]?\d*([.,])\d+(?:e[+-]?\d+)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
_TYPES = frozenset(("continuous", "discrete", "string", "time", "c", "d", "s", "t"))
_CELL_OF_BLANKS = re.compile(r'"[^"]*"|[^ \t\r\n]+')
_RULE = re.compile(r"[\s|+:=-]*(?:--|==|\|\s*:?-)[\s|+:=-]*")
_BAR, _BARS = re.compile(r"(?<!\\)\|"), re.compile(r"\|\|")
_BOX = {ord(sign): plain for plain, signs in (("|", "│┃║"), ("-", "─━═┌┐└┘├┤┬┴┼╭╮╰╯╒╕╘╛╞╡╪╤╧")) for sign in signs}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a text table is written.

    header: the column names, which end in record `header_lines` of the file; raw_header: the cells of that record.
    numbers: columns that hold only numbers in the sample. ends_empty: the last column has no name and no cells, since a
    delimiter ends each line. first_row: of what a plain copy is made of, the line in which the rows begin, counted from
    1; 0 of a file that is plain itself. parted: what parts its cells, the delimiter of the copy aside.
    """

    delimiter: str
    decimal: str
    header: tuple[str, ...]
    raw_header: tuple[str, ...] = ()
    header_lines: int = 1
    numbers: frozenset[int] = frozenset()
    notes: tuple[str, ...] = ()
    ends_empty: bool = False
    first_row: int = 0
    parted: str = ","


class _Record(NamedTuple):
    line: int
    last_line: int
    cells: list[str]


def detect_dialect(sample: str, source: str, options: ReadingOptions) -> Dialect:
    """The dialect of the text that a file begins with.

    Raises InputError for an empty file, a bad header, and options that do not fit the file.
    """
    lines = list(islice(io.StringIO(sample, newline=""), _MOST_LINES))
    first, last = _declared(options, source)
    skipped, delimiter, notes = 0, options.delimiter, list[str]()
    if options.header is None:
        skipped, delimiter, notes = _above(lines, source, options)
    if delimiter is None:
        delimiter = _delimiter(lines, skipped, options, source)
        named = f" ({_NAMES[delimiter]})" if delimiter in _NAMES else ""
        shown = UNUSUAL.get(delimiter, f"{delimiter!r}{named}")
        notes += [f"{source}: delimiter is {shown}"] if delimiter != "," else []
    records = _records(lines, skipped, options, delimiter)
    if len(records) > 2 and (len(lines) == _MOST_LINES or len(sample) >= SAMPLE_BYTES):
        records.pop()  # which may be cut
    if not any(cell.strip(";,|") for record in records for cell in record.cells):
        raise InputError("the file is empty", where=source, fix="give a header line and rows")
    width, at = _common_width(records), 0
    if first is not None:
        at = next((i for i, record in enumerate(records) if record.line >= first), len(records) - 1)
    elif not options.names and options.header is None:
        at = _header_at(records, width, source, delimiter)
        if at:
            shown = ", ".join(repr(lines[record.line - 1].strip()[:30]) for record in records[: min(at, 2)])
            notes.append(f"{source}: {at} lines above the header were left out: {shown}")
    head = records[at]
    names, below = list(options.names or head.cells), records[at + 1 :]
    if options.header == "none":
        names, below = list(options.names) or [f"column_{j + 1}" for j in range(width)], records
    elif not options.names and len(head.cells) != width and not _filled(head.cells[width:]):
        cut = len(head.cells) > width
        ends = len(head.cells) == width - 1 > 0 and not any("".join(r.cells[width - 1 :]) for r in records)
        names = names[:width] if cut else [*names, ""] if ends else names
    asked = any((options.header, options.names, options.comment, options.quote, delimiter in UNUSUAL))
    copied = asked or at or skipped or len(names) != len(head.cells)
    begin = records[0].line if options.header == "none" else (last or head.last_line) + 1
    rows = [record.cells for record in below if record.line >= begin]
    sign = {BLANKS_WORD: "\t", _RULED: "|"}.get(delimiter, delimiter)
    at_line, first_row = (1, begin) if copied else (head.line, 0)
    plain = Dialect(sign, ".", (), tuple(names), at_line, first_row=first_row, parted=delimiter)
    return _described(plain, rows, head.last_line, source, options, notes)


def _described(
    plain: Dialect, rows: list[list[str]], line: int, source: str, options: ReadingOptions, notes: list[str]
) -> Dialect:
    """The dialect with what its first rows, and a header that ends in that line, tell; notes: those before."""
    header = plain.raw_header
    if len(header) > MOST_COLUMNS:
        what = f"{len(header)} columns; rulekit reads at most {MOST_COLUMNS}"
        raise InputError(what, where=source, fix="give fewer columns, or name the right --delimiter")
    decimal = options.decimal or "."
    if options.decimal is None and plain.parted != ",":
        found = [match for row in rows for cell in row if (match := _FRACTION.fullmatch(cell.strip()))]
        # 1,234 alone may be a thousand and some; one cell such as 1,5 or 0,250 settles it
        if all(match[1] == "," for match in found) and not all(_THOUSANDS.fullmatch(match[0]) for match in found):
            decimal = ","
            notes.append(f"{source}: decimal sign is a comma")
    like_row = options.header is None and not options.names and _row_like(header, rows)
    odd = _odd_rows(rows) if options.header is None else 0
    names = _header_names(header, source, line, notes, like_row=like_row, above=bool(odd))
    notes += _one_column_note(names[0], rows, source) if len(names) == 1 else []
    if odd:
        shown = ", ".join(repr(cell) for cell in rows[0][:3])
        many, end = odd > 1, line + odd
        out, names_there = (
            f"--header {line}-{end} leaves {'them' if many else 'it'} out",
            f"--header {end} if it holds the names",
        )
        prose = odd > 2 or not all(name.strip() and not _NUMBER.fullmatch(name) for name in header)
        either = f"{names_there}, {out}" if prose else f"{out}, {names_there}"
        below = f"{odd} rows" if many else "a row"
        notes.append(f"{source}: {below} below the header ({shown}) unlike all others; {either}")
    cells = [[row[j] for row in rows if j < len(row) and row[j] != ""] for j in range(len(names))]
    numbers = {j for j, own in enumerate(cells) if own and all(map(_PLAIN_NUMBER.fullmatch, own))}
    for j in sorted(numbers - {j for j, name in enumerate(names) if options.says(name)}):
        notes += zeros_note(names[j], cells[j])
    empty = len(header) > 1 and header[-1] == "" and not any(row[len(names) - 1 :] != [""] for row in rows[:-1])
    known = frozenset(numbers if decimal == "." else ())  # of the sample: the whole file decides in the end
    return replace(plain, decimal=decimal, header=names, numbers=known, notes=tuple(notes), ends_empty=empty)


def _one_column_note(name: str, rows: Sequence[Sequence[str]], source: str) -> list[str]:
    """A note where the name of the only column, and its cells alike, hold a sign that may part cells."""
    for sign in dict.fromkeys(c for c in name if not c.isalnum() and c not in f" _-.\"'{_USUAL}" and c * 2 not in name):
        alike = sum("".join(row).count(sign) == name.count(sign) for row in rows)
        if len(rows) > 2 and alike > _MOST_EQUAL * len(rows):
            way = f"--delimiter {quoted_word(sign)}, if that" if sign.isascii() else "use a comma, if it"
            return [f"{source}: one column, whose name and cells hold {sign!r}; {way} parts cells"]
    sign = next((sign for sign in ("::", *_USUAL, " ") if sign in name), "")
    way = "unquote whole lines, or part cells by one sign"
    return [f"{source}: one column, whose name holds {sign!r}; {way}"] if sign else []


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


def _above(lines: Sequence[str], source: str, options: ReadingOptions) -> tuple[int, str | None, list[str]]:
    """How many lines stand above all else: Excel's `sep=;` and comments; the delimiter, if known; and notes."""
    count, delimiter, notes = 0, options.delimiter, []
    if lines and (separator := _SEPARATOR_LINE.fullmatch(lines[0])):
        count, delimiter = 1, delimiter or separator[1]
        notes.append(f"{source}: delimiter is {delimiter!r}, by the first line")
    begun = count
    while count < len(lines) and (lines[count][:1] in ("#", "%") or (count > begun and not lines[count].strip())):
        count += 1
    if count == len(lines):
        return begun, delimiter, notes
    for sign in (delimiter or _CANDIDATES) if count > begun else "":
        above, below = lines[count - 1].split(sign), lines[count].split(sign)
        if len(above) == len(below) > 1 and any(map(_NUMBER.fullmatch, below)):
            count -= 1  # the header, behind a comment sign
            break
    notes += [f"{source}: {count - begun} comment lines above the header were left out"] if count > begun else []
    return count, delimiter, notes


def _records(lines: Sequence[str], skipped: int, options: ReadingOptions, delimiter: str) -> list[_Record]:
    """The records below `skipped` lines, without blank and comment lines."""
    kept = [(i, line) for i, line in enumerate(lines, 1) if i > skipped and not line.startswith(tuple(options.comment))]
    if delimiter in UNUSUAL:
        return [_Record(i, i, cells) for i, line in kept if (cells := split_line(line, delimiter))]
    found: list[_Record] = []
    done = 0
    reader = csv_reader((line for _, line in kept), options, delimiter)
    try:
        for cells in reader:
            if len(cells) > 1 or (cells and cells[0].strip()):
                found.append(_Record(kept[done][0], kept[reader.line_num - 1][0], cells))
            done = reader.line_num
    except csv.Error:
        pass
    return found


def split_line(line: str, delimiter: str) -> list[str]:
    """The cells of a line that runs of blanks part, or the bars of a ruled table; none of a rule."""
    if delimiter == BLANKS_WORD:
        return [cell.strip('"') for cell in _CELL_OF_BLANKS.findall(line)]
    line = line.translate(_BOX).strip()
    if not line or _RULE.fullmatch(line):
        return []
    bar = _BARS if line.startswith("||") else _BAR
    cells = [cell.strip().replace(r"\|", "|") for cell in bar.split(line)]
    return cells[1:-1] if line.startswith("|") else cells


def csv_reader(lines: Iterable[str], options: ReadingOptions, delimiter: str) -> Any:
    """A csv reader of the lines; the quote is that of the options."""
    plain = options.quote == "none"
    csv.field_size_limit(max(csv.field_size_limit(), 4 * SAMPLE_BYTES))
    return csv.reader(
        lines,
        delimiter=delimiter,
        quotechar='"' if plain else options.quote or '"',
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        skipinitialspace=options.trim,
    )


def _common_width(records: Sequence[_Record]) -> int:
    rows = records[1:] or records
    return Counter(len(record.cells) for record in rows).most_common(1)[0][0] if rows else 0


def _delimiter(lines: Sequence[str], skipped: int, options: ReadingOptions, source: str) -> str:
    """The sign that parts most rows alike, and the header as they are; a comma where none does."""
    begin = [text for line in lines[skipped : skipped + 6] if (text := line.translate(_BOX).strip())]
    barred = [text for text in begin if "|" in text and not _RULE.fullmatch(text)]
    framed = len(barred) > 2 and all(text[0] == text[-1] == "|" for text in barred)
    if barred and (framed or len(barred) < len(begin)) and all(t in barred or _RULE.fullmatch(t) for t in begin):
        return _RULED
    usual = "\t,;|" if source.lower().removesuffix(".gz").endswith(".tsv") else _USUAL
    best, best_score = ",", (False, False, 0.0, 1)
    for sign in (*usual, *_CANDIDATES[len(usual) :], BLANKS_WORD):
        found = _records(lines, skipped, options, sign)
        width = _common_width(found)
        if width < 2 or (sign not in usual and len(found) < 2):
            continue
        if sign == BLANKS_WORD and (best_score[0] or not _blanks_part(found, width)):
            continue
        rows = found[1:] or found
        share = sum(len(record.cells) == width for record in rows) / len(rows)
        score = (share > _MOST_EQUAL, len(found[0].cells) == width, share, width)
        if (score[0] or sign in usual) and score > best_score:
            best, best_score = sign, score
    return best


def _blanks_part(records: Sequence[_Record], width: int) -> bool:
    """Whether blanks part cells, not words: a header as wide as the rows, of three columns or of numbers alone."""
    begin = [cell for record in records[:9] for cell in record.cells]
    numbers = all(_NUMBER.fullmatch(cell) for record in records[1:9] for cell in record.cells)
    signs = any(sign in cell for cell in begin for sign in ",;|&")
    return not signs and len(records[0].cells) == width and (width > 2 or numbers)


def _filled(cells: Sequence[str]) -> int:
    return sum(bool(cell.strip()) for cell in cells)


def _header_at(records: Sequence[_Record], width: int, source: str, delimiter: str) -> int:
    """The number of the record that is the header: the first that is half filled, where lines of prose stand above.

    Raises InputError where the first line is a header of another width or with another delimiter.
    """
    first = records[0].cells
    rows = [record.cells for record in records[1:] if len(record.cells) == width]
    if width < 2 or len(rows) <= _MOST_EQUAL * (len(records) - 1):
        return 0
    if len(first) >= width and 2 * _filled(first) > width and not _filled(first[width:]):
        return 0
    if len(first) == width - 1 and not any(row[-1].strip() for row in rows):
        return 0  # a delimiter ends each row
    where = f"{source}, line {records[0].line}"
    text = first[0] if len(first) == 1 else ""
    for sign in _CANDIDATES:
        if len(own := text.split(sign)) == width:
            fix = f"--names {','.join(name.strip() for name in own)} names the columns in its place"
            raise InputError(f"the header is parted by {sign!r}, the rows are not", where=where, fix=fix)
    if any(cell.startswith("'") and not cell.endswith("'") for row in rows for cell in row):
        fix = '--quote "\'" where apostrophes stand around cells'
        raise InputError(f"{len(first)} names for {width} cells in each row", where=where, fix=fix)
    if (len(first) == width - 1 and width > 2) or _filled(first[width:]):
        names = ",".join(name.strip() for name in (first if len(first) > width else ["row", *first])[:width])
        which = "those that have cells" if len(first) > width else "all (R leaves the first out)"
        which += "; is a comma a decimal sign? write points" if delimiter == "," and len(first) < width else ""
        raise InputError(
            f"{len(first)} names for {width} cells in each row", where=where, fix=f"--names {names} names {which}"
        )
    at = next((i for i, r in enumerate(records) if len(r.cells) == width and 2 * _filled(r.cells) > width), 0)
    numbers = len(first) == width and any(map(_NUMBER.fullmatch, records[at].cells))
    return 0 if numbers or any(2 * _filled(record.cells) > width for record in records[:at]) else at


def _row_like(header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line looks like a row: numbers above numbers, or words that occur below them again."""
    header, like = header[:_MOST_LOOKED_AT], 0
    for j, name in enumerate(header if len(rows) > 2 else ()):
        cells = [row[j] for row in rows if j < len(row) and row[j].strip()]
        numeric = bool(cells) and sum(map(bool, map(_NUMBER.fullmatch, cells))) >= 0.9 * len(cells)
        if numeric and not _NUMBER.fullmatch(name) and name.strip():
            return False
        like += bool(_NUMBER.fullmatch(name)) if numeric else name in cells
    return len(rows) > 2 and 2 * like >= len(header)


def _odd_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many of the first rows are of another kind than those below: units, types, a header, lines above it."""
    for count in range(min(_MOST_ODD, len(rows) - 3), 0, -1):
        odd, below = rows[:count], rows[count:]
        width = len(rows[-1])
        if any(len(row) != width for row in odd):
            continue
        numeric = [
            j
            for j in range(min(width, _MOST_LOOKED_AT))
            if all(_NUMBER.fullmatch(row[j]) for row in below if j < len(row))
        ]
        if any(_NUMBER.fullmatch(row[j]) for row in odd for j in numeric):
            continue
        words = [any(not may_mean_missing(row[j]) for j in numeric) for row in odd]
        types = {cell.lower() for cell in rows[0]} <= _TYPES or "".join(rows[0]).strip("-= ") == "" != rows[0][-1]
        if all(words) if count > 2 else types or words[0]:
            return count
    return 0


def _header_names(
    header: Sequence[str], source: str, line: int, notes: list[str], *, like_row: bool, above: bool
) -> tuple[str, ...]:
    names: dict[str, int] = {}
    for j, name in enumerate(name.strip(BLANKS) for name in header):
        if name == "":
            name = f"column_{j + 1}"
            notes.append(f"{source}: column {j + 1} has no name; it is called {name!r}")
        if name in names:
            where = f"{source}, line {line}, columns {names[name] + 1} and {j + 1}"
            fix = "--header none, if this line is a row" if like_row else "rename one, or give --names A,B,C"
            raise InputError(f"two columns are called {name!r}", where=where, fix=fix)
        names[name] = j
    numbers = [name for name in names if _PLAIN_NUMBER.fullmatch(name)]
    if like_row or (numbers and not above):
        why = f"{numbers[0]!r} is a number" if numbers else "its cells stand in rows too"
        notes.append(f"{source}: the first line is taken for column names, though {why}; --header none makes it a row")
    return tuple(names)
