"""Raw bytes of a delimited file: the counts that tell whether a fast parse can be trusted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rulekit.tables.raw.dialect import Dialect
from rulekit.tables.raw.files import bytes_of

if TYPE_CHECKING:
    import polars as pl

_CHUNK = 1 << 24
_TAIL = 1 << 16
_MARK = b"\xef\xbb\xbf"
_QUOTE = ord('"')


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
