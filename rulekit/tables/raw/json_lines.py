"""JSON lines, whole or in blocks of rows; the types of the columns are those of the whole file."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rulekit.errors import InputError
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.files import in_lines
from rulekit.tables.raw.parquet import refusing_damage
from rulekit.tables.raw.sources import raw_table

if TYPE_CHECKING:
    import polars as pl

MOST_KEYS = 10_000
_ANY_KEY = re.compile(rb'"([^"\\\n]{1,200})"\s*:')
_KEY = r'"\s*:'
_NULL = r'"\s*:\s*null'


@dataclass(slots=True, eq=False)
class JsonLinesFile:
    """A file of JSON objects, one a line; block_bytes: how much is read at a time, None for all at once."""

    format: ClassVar[str] = "JSON lines"
    file: Path
    block_bytes: int | None = None
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    _schema: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        import polars as pl

        _refuse_bombs(self.file)
        with refusing_damage("JSON lines", self.file):
            self._schema = dict(pl.scan_ndjson(self.file, infer_schema_length=None).collect_schema())

    @property
    def source(self) -> str:
        return self.file.name

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._schema)

    def notes(self) -> list[str]:
        return []

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """The rows of the named columns in their order; raises InputError for an object with a key twice."""
        import polars as pl

        total, done, lines = max(1, self.file.stat().st_size), 0, 0
        with self.file.open("rb") as file:
            while part := b"".join(file.readlines(self.block_bytes)) if self.block_bytes else file.read():
                done += len(part)
                self.share = done / total
                if part.strip():
                    with refusing_damage("JSON lines", self.file):
                        frame = pl.read_ndjson(part, schema=self._schema)
                    _refuse_double_keys(part, frame, lines, self.source)
                    yield replace(raw_table(frame.select(names), self.source), n_rows=frame.height)
                lines += part.count(b"\n")


def _refuse_bombs(file: Path) -> None:
    """Raises InputError for long lines and many keys: polars takes time quadratic in the keys."""
    keys: set[bytes] = set()
    for part in in_lines(file):
        keys.update(_ANY_KEY.findall(part))
        if len(keys) > MOST_KEYS:
            raise InputError(f"more than {MOST_KEYS} different keys", where=file.name, fix="write CSV or Parquet")


def _refuse_double_keys(content: bytes, frame: pl.DataFrame, first_line: int, source: str) -> None:
    """Raises InputError for an object with a key twice, of which polars keeps one without a word.

    Only lines with more keys than cells that are not null are parsed a second time.
    """
    import polars as pl

    lines = pl.Series(content.split(b"\n")).cast(pl.String)
    keys = lines.str.count_matches(_KEY).cast(pl.Int64) - lines.str.count_matches(_NULL).cast(pl.Int64)
    filled = lines.str.strip_chars() != ""
    rows = filled.arg_true()
    if len(rows) == frame.height:
        cells = frame.select(pl.sum_horizontal(pl.all().is_not_null().cast(pl.Int64))).to_series()
        rows = rows.filter(keys.gather(rows) > cells)
    for line in rows.to_list():
        place = f"{source}, line {first_line + line + 1}"
        json.loads(lines[line], object_pairs_hook=partial(_refuse_twice, place))


def _refuse_twice(place: str, pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise InputError(f"the key {key!r} stands twice", where=place, fix="write it once")
        seen.add(key)
