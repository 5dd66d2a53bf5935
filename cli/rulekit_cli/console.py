"""Where text goes: results to standard output, logs and progress to standard error."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


def width() -> int:
    """Columns of the terminal, 100 where there is none, at most 120."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


def log(line: str) -> None:
    """A line for the person at the terminal."""
    print(line, file=sys.stderr)


@contextmanager
def warnings_hidden(hidden: bool) -> Iterator[None]:
    """Nothing of what the library logs below an error, if so asked."""
    logger = logging.getLogger("rulekit")
    level = logger.level
    if hidden:
        logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def result(text: str) -> None:
    """A line or more of the result."""
    print(text)


def result_json(value: Any) -> None:
    """The result for a machine."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: Any) -> Any:
    """Numpy scalars and arrays as plain Python values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def aligned(rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Rows of cells as columns: the first `left` columns flush left, the others flush right."""
    count = max(len(row) for row in rows)
    cells = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(len(row[j]) for row in cells) for j in range(count)]
    lines = []
    for row in cells:
        parts = [
            cell.ljust(size) if j < left else cell.rjust(size)
            for j, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)
