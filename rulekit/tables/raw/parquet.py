"""Parquet files, whole or in blocks of rows of one column after the other."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, LevelColumn, RawTable
from rulekit.tables.raw.sources import raw_table


@dataclass(slots=True, eq=False)
class ParquetFile:
    """A Parquet file; rows: how many of one column are read at a time, None for the whole file in one block."""

    file: Path
    rows: int | None = None
    share: float = 0.0
    names: tuple[str, ...] = field(init=False)
    n_rows: int = field(init=False)
    _schema: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        import polars as pl

        with refusing_damage("Parquet", self.file):
            self._schema = dict(pl.read_parquet_schema(self.file))
            self.n_rows = pl.scan_parquet(self.file, glob=False).select(pl.len()).collect().item()
        self.names = tuple(self._schema)

    @property
    def source(self) -> str:
        return self.file.name

    @property
    def by_column(self) -> bool:
        return self.rows is not None

    def notes(self) -> list[str]:
        return []

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order."""
        import polars as pl

        if self.rows is None:
            yield self._read(names, 0, self.n_rows)
            return
        narrow = all(self._schema[name].is_numeric() for name in names)
        size = self.rows if narrow else max(1, self.rows // 8)
        levels = {name: self._levels(name) for name in names if self._schema[name] == pl.Categorical}
        for start in range(0, self.n_rows, size):
            raw = self._read(names, start, size)
            self.share = min(1.0, (start + size) / self.n_rows)
            yield replace(raw, columns=tuple(_relevelled(c, levels) for c in raw.columns)) if levels else raw

    def _read(self, names: Sequence[str], start: int, size: int) -> RawTable:
        import polars as pl

        with refusing_damage("Parquet", self.file):
            if size == self.n_rows:
                frame = pl.read_parquet(self.file, columns=list(names), glob=False)
            else:
                frame = pl.scan_parquet(self.file, glob=False).select(names).slice(start, size).collect()
        # the rows count even where no column of them is wanted: a model may be a constant
        return replace(raw_table(frame, self.source), n_rows=min(size, self.n_rows - start))

    def _levels(self, name: str) -> tuple[str, ...]:
        """All levels of a categorical column, of which a block knows only its own."""
        levels: set[str] = set()
        size = max(1, (self.rows or self.n_rows) // 8)
        for start in range(0, self.n_rows, size):
            column = self._read([name], start, size).columns[0]
            levels.update(column.levels if isinstance(column, LevelColumn) else ())
        return tuple(sorted(levels))


def _relevelled(column: Column, levels: dict[str, tuple[str, ...]]) -> Column:
    if not isinstance(column, LevelColumn) or column.name not in levels:
        return column
    place = {level: i for i, level in enumerate(levels[column.name])}
    lookup = np.array([*(place[level] for level in column.levels), -1], dtype=np.int32)
    return replace(column, codes=lookup[column.codes], levels=levels[column.name])


@contextlib.contextmanager
def refusing_damage(what: str, file: Path) -> Iterator[None]:
    """Raises InputError where polars cannot read the file, without what its panics write to standard error."""
    import zlib

    import polars as pl

    try:
        with _without_panics(pl.exceptions.PanicException):
            yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = f"this is no readable {what} file ({lines[0][:120]})"
        raise InputError(reason, where=file.name, fix="write it again") from None


@contextlib.contextmanager
def _without_panics(panic: type[BaseException]) -> Iterator[None]:
    """Drop what is written to standard error until a panic of compiled code; otherwise it is written afterwards."""
    with contextlib.ExitStack() as stack:
        try:
            sys.stderr.flush()
            kept = os.dup(2)
            stack.callback(os.close, kept)
            written = stack.enter_context(tempfile.TemporaryFile())
            os.dup2(written.fileno(), 2)
        except (OSError, ValueError, AttributeError):  # no standard error
            yield
            return
        dropped = False
        try:
            yield
        except panic:
            dropped = True
            raise
        finally:
            os.dup2(kept, 2)
            if not dropped and written.seek(0, os.SEEK_END):
                written.seek(0)
                os.write(2, written.read())
