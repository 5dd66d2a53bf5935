"""Where text goes: results to standard output, logs and progress to standard error."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rulekit.errors import InputError
from rulekit.names import printable
from rulekit.shown.lines import wrapped

_NARROWEST, _WIDEST = 40, 120
_SPELLED = str.maketrans({"±": "+-", "…": "...", "–": "-", "—": "-", "“": '"', "”": '"', "’": "'"})


def width() -> int:
    """Columns of the terminal, 80 where there is none, from 40 to 120."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, _NARROWEST), _WIDEST)


def log(line: str) -> None:
    """A line for people, broken at the width of the terminal; what a terminal would obey is escaped."""
    for part in wrapped(printable(line), width(), "  "):
        print(part, file=sys.stderr)


class _Notes(logging.Handler):
    """What is logged, as notes for the person at the terminal, each said once."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        note = record.getMessage()
        if note not in self._said:
            self._said.add(note)
            log(f"note: {note}")


@contextmanager
def library_heard() -> Iterator[None]:
    """What the library logs is shown."""
    logger, handler = logging.getLogger("rulekit"), _Notes()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


@contextmanager
def logged_from(level: int, name: str = "rulekit") -> Iterator[None]:
    """The library, or a part of it, logs from this level on."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def notes(texts: Iterable[str]) -> None:
    """Notes for people, a line each."""
    for text in texts:
        log(f"note: {text}")


def result(*lines: str, hanging: str | None = None) -> None:
    """Lines of the result, broken at the width of the terminal before `hanging` where that is given.

    What a terminal would obey is escaped.
    """
    for line in lines:
        for part in [line] if hanging is None else wrapped(line, width(), hanging):
            write(printable(part) + "\n", exact=False)


def result_words(pairs: Iterable[tuple[str, str]], margin: int, indented: int = 2) -> None:
    """Texts behind a word in a margin of so many columns; indented: how far a text that begins with a blank goes on."""
    for word, text in pairs:
        result(f"{word:{margin}}{text}", hanging=" " * (margin + (indented if text.startswith(" ") else 2)))


def _encodable(text: str) -> str:
    """A text for people, with plain characters for those that the encoding of standard output lacks."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_SPELLED).encode(encoding, "backslashreplace").decode(encoding)
    return text


def result_json(value: Any) -> None:
    """The result for a machine, as JSON."""
    write_json(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def write_json(text: str) -> None:
    """JSON with its escapes for what a terminal would obey or cannot show."""
    text = escaped_json(text)
    plain = _encodable(text) == text
    write((text if plain else "".join(c if c.isascii() else json.dumps(c)[1:-1] for c in text)) + "\n")


def escaped_json(text: str) -> str:
    """JSON text whose invisible characters but line ends are escaped."""
    lines = text.split("\n")
    return "\n".join(
        line if line.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in line)
        for line in lines
    )


def write(text: str, *, exact: bool = True) -> None:
    """Text that is safe, or data; exact: no character is replaced where the encoding of standard output lacks it.

    Raises InputError where standard output is closed, or lacks a character of an exact text.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed", fix="leave it open, or send it to a file")
    try:
        sys.stdout.write(text if exact else _encodable(text))
    except UnicodeEncodeError as error:
        lacks = f"the encoding {error.encoding} has no {error.object[error.start]!r}"
        raise InputError(lacks, where="standard output", fix="set PYTHONIOENCODING=utf-8, or use -o FILE") from None


def joined(parts: Sequence[str]) -> list[str]:
    """Parts of a result on as many lines as they need, three blanks apart."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= width():
            lines[-1] += f"   {part}"
        else:
            lines.append(part)
    return lines


def red(text: str, stream: TextIO | None) -> str:
    """A text in red on a terminal that takes colours: what is wrong, and nothing else."""
    plain = stream is None or not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else f"\x1b[31m{text}\x1b[0m"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """Rows of cells as lines: the first `left` columns flush left, the others flush right."""
    count = max(len(row) for row in rows)
    cells = [[*map(printable, row), *[""] * (count - len(row))] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(count)]
    lines = []
    for row in cells:
        parts = [
            cell.ljust(size) if j < left else cell.rjust(size)
            for j, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return lines
