"""Files in blocks: a table file whose rows, or columns, come a part at a time, never the whole of it in memory.

Parquet comes column by column, each in blocks of rows; text formats come as blocks of rows of all columns. What is
read is what `rulekit.tables.reading` reads of the whole file: a block that shows that the file must be read in another
way raises ReadAgain, and the reader starts anew.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import LevelColumn, RawTable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import copied_stream, damaged, file_format
from rulekit.tables.spooling.budget import Budget
from rulekit.tables.spooling.delimited_blocks import DelimitedBlocks, ReadAgain
from rulekit.tables.storage import PART, Store

__all__ = ["BlockSource", "ReadAgain", "block_source"]


class BlockSource(Protocol):
    """A file that is read in blocks, as often as asked.

    names: of all its columns; by_column: whether the blocks of a column come without reading the others; n_rows: None
    while it is not known; source: its name for messages.
    """

    @property
    def source(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def n_rows(self) -> int | None: ...
    @property
    def by_column(self) -> bool: ...
    @property
    def share(self) -> float:
        """How much of the file the blocks of the present pass have come to."""

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order."""

    def notes(self) -> list[str]:
        """What a user should hear, known after the last block."""


def block_source(path: Path, store: Store, budget: Budget, options: ReadingOptions) -> BlockSource:
    """The file in blocks, whatever it is written in; raises InputError as `read_columns` does."""
    if path.exists() and not path.is_file() and not path.is_dir():
        path = copied_stream(path, store.folder)
    format = file_format(path)
    if format == "parquet":
        return ParquetBlocks(path, budget.rows_per_block)
    if format == "json lines":
        return JsonBlocks(path, store, budget.block_bytes)
    return DelimitedBlocks(path, store, budget.block_bytes, options)


@dataclass(slots=True, eq=False)
class ParquetBlocks:
    """A Parquet file; of each column the blocks of its rows are read alone."""

    path: Path
    rows: int = PART
    by_column: bool = True
    share: float = 0.0
    names: tuple[str, ...] = ()
    n_rows: int | None = None

    def __post_init__(self) -> None:
        import polars as pl

        try:
            self.names = tuple(pl.read_parquet_schema(self.path))
            self.n_rows = pl.scan_parquet(self.path, glob=False).select(pl.len()).collect().item()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise damaged("Parquet", self.path, error) from None

    @property
    def source(self) -> str:
        return self.path.name

    def notes(self) -> list[str]:
        return []

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        import polars as pl

        schema = pl.read_parquet_schema(self.path)
        narrow = all(schema[name].is_numeric() for name in names)
        size = self.rows if narrow else max(1, self.rows // 8)
        levels = {name: self._levels(name) for name in names if schema[name] == pl.Categorical}
        for start in range(0, self.n_rows or 0, size):
            raw = self._read(names, start, size)
            self.share = min(1.0, (start + size) / (self.n_rows or 1))
            yield replace(raw, columns=tuple(_relevelled(c, levels) for c in raw.columns)) if levels else raw

    def _read(self, names: Sequence[str], start: int, size: int) -> RawTable:
        import polars as pl

        try:
            frame = pl.scan_parquet(self.path, glob=False).select(names).slice(start, size).collect()
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
            raise damaged("Parquet", self.path, error) from None
        return replace(raw_table(frame, self.source), n_rows=min(size, (self.n_rows or 0) - start))

    def _levels(self, name: str) -> tuple[str, ...]:
        """All levels of a categorical column, of which a block knows only its own."""
        found: set[str] = set()
        size = max(1, self.rows // 8)
        for start in range(0, self.n_rows or 0, size):
            column = self._read([name], start, size).columns[0]
            found.update(column.levels if isinstance(column, LevelColumn) else ())
        return tuple(sorted(found))


def _relevelled(column: Any, levels: dict[str, tuple[str, ...]]) -> Any:
    if column.name not in levels:
        return column
    place = {level: i for i, level in enumerate(levels[column.name])}
    lookup = np.array([*(place[level] for level in column.levels), -1], dtype=np.int32)
    return replace(column, codes=lookup[column.codes], levels=levels[column.name])


@dataclass(slots=True, eq=False)
class JsonBlocks:
    """JSON lines (also .gz, through an unpacked copy); the types are those of the whole file."""

    path: Path
    store: Store
    block_bytes: int
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    _file: Path = field(init=False)
    _schema: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        import polars as pl

        try:
            self._file = self._unpacked() if self.path.name.lower().endswith(".gz") else self.path
            self._schema = dict(pl.scan_ndjson(self._file, infer_schema_length=None).collect_schema())
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as error:
            raise damaged("JSON lines", self.path, error) from None

    def _unpacked(self) -> Path:
        import shutil

        copy = self.store.folder / "unpacked.jsonl"
        with gzip.open(self.path) as packed, copy.open("wb") as written:
            shutil.copyfileobj(packed, written, 1 << 20)
        return copy

    @property
    def source(self) -> str:
        return self.path.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schema)

    def notes(self) -> list[str]:
        return []

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        import polars as pl

        total, done = max(1, self._file.stat().st_size), 0
        with self._file.open("rb") as file:
            while part := b"".join(file.readlines(self.block_bytes)):
                done += len(part)
                self.share = done / total
                if not part.strip():
                    continue
                try:
                    frame = pl.read_ndjson(part, schema=self._schema)
                except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
                    raise damaged("JSON lines", self.path, error) from None
                yield replace(raw_table(frame.select(names), self.source), n_rows=frame.height)
