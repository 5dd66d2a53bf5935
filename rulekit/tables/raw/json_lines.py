"""JSON lines, whole or in blocks of rows; the types of the columns are those of the whole file.

A key whose values are lists of names is a property of the objects in it, or a relation of the pairs in it:
`{"P0": ["a"], "R0": [["a", "b"]]}` has the Boolean columns `P0(a)` and `R0(a, b)`, false where they are not listed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rulekit.errors import InputError
from rulekit.schema import Feature
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
    """A file of JSON objects, one a line; block_bytes: how much is read at a time, None for all at once.

    asked: the columns that will be asked for, where that is known; dropped: keys that may hold anything.
    """

    format: ClassVar[str] = "JSON lines"
    file: Path
    block_bytes: int | None = None
    asked: Collection[str] | None = None
    dropped: Collection[str] = ()
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    _schema: dict[str, Any] = field(init=False)
    _atoms: dict[str, tuple[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        import polars as pl

        _refuse_bombs(self.file)
        with refusing_damage("JSON lines", self.file):
            lines = pl.scan_ndjson(self.file, infer_schema_length=None)
            self._schema = dict(lines.collect_schema())
            self._atoms = self._atoms_of(lines)

    @property
    def source(self) -> str:
        return self.file.name

    @property
    def names(self) -> tuple[str, ...]:
        predicates = {predicate for predicate, _ in self._atoms.values()}
        return (*(key for key in self._schema if key not in predicates), *self._atoms)

    def _atoms_of(self, lines: pl.LazyFrame) -> dict[str, tuple[str, str]]:
        """By column, the key and the names, `a` or `a, b`, of each atom that is listed somewhere or asked for."""
        found: dict[str, tuple[str, str]] = {}
        predicates = [key for key, kind in self._schema.items() if _lists_names(kind) and key not in self.dropped]
        for key in predicates:
            listed = _joined(self._schema[key], key).list.explode(keep_nulls=False, empty_as_null=False).unique()
            names = lines.select(listed).collect().to_series().drop_nulls().sort().to_list()
            found |= {f"{key}({each})": (key, each) for each in names}
            if odd := [name for name in names if Feature(f"P({name})", "boolean").atom is None]:
                fix = "write names of letters, digits and _, such as a or node_1"
                raise InputError(f"{odd[0]!r} is no name of objects", where=f"{self.source}, key {key!r}", fix=fix)
        if len(found) > MOST_KEYS:
            fix = "list fewer objects, or write a table with a column for each atom"
            raise InputError(f"{len(found):,} different properties and pairs", where=self.source, fix=fix)
        for column in self.asked or () if predicates else ():
            if column not in self._schema and (atom := Feature(column, "boolean").atom):
                found.setdefault(column, (atom[0], ", ".join(atom[1])))
        return found

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
                    yield replace(raw_table(frame.select(map(self._column, names)), self.source), n_rows=frame.height)
                lines += part.count(b"\n")

    def _column(self, name: str) -> pl.Expr:
        import polars as pl

        if name not in self._atoms:
            return pl.col(name)
        key, names = self._atoms[name]
        if key not in self._schema:
            return pl.lit(False).alias(name)
        return _joined(self._schema[key], key).list.contains(names).fill_null(False).alias(name)


def _lists_names(kind: Any) -> bool:
    """Whether a key holds lists of names, or lists of lists of them."""
    import polars as pl

    return kind in (pl.List(pl.String), pl.List(pl.List(pl.String)), pl.List(pl.Null))


def _joined(kind: Any, key: str) -> pl.Expr:
    """The lists of a key, with `a, b` for the pair of a and b."""
    import polars as pl

    own = pl.col(key)
    return (
        own.list.eval(pl.element().list.join(", "))
        if kind == pl.List(pl.List(pl.String))
        else own.cast(pl.List(pl.String))
    )


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
