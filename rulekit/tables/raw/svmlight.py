"""svmlight files (also LIBSVM): a label and numbered values a line, as columns of numbers or as one column of words.

`+1 3:1 17:1 # a comment` is the label 1 and the words f3 and f17. Where other values than 0 and 1 occur, features are
columns of numbers, unless there are too many of them. A file may leave all labels out. Memory follows what stands in
the file, whatever the largest number of a feature is. Query ids (`qid:4`) are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, NumberColumn, RawTable, TextColumn, TokenColumn
from rulekit.tables.raw.sources import WORDS
from rulekit.tables.token_sets import token_sets

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]

SUFFIXES = (".svm", ".svmlight", ".libsvm")
LABEL = "label"
MOST_FEATURES = 1 << 27
MOST_COLUMNS = 1000
MOST_CELLS = 1 << 25
BLOCK_BYTES = 1 << 22
_LINES = re.compile(rb"(?:[^\s,;:|]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s,;:|]+)+[ \t]*(?:#.*)?\r?\n){1,}")

_FEATURE = re.compile(r"f(0|[1-9]\d{0,8})", re.ASCII)
_WORD, _PAIR = r"[^ \t\x0b\f\r]+", r"^(?P<id>\d{1,9}):(?P<value>.+)$"


def is_svmlight(head: bytes, name: str) -> bool:
    """Whether a file is one, by the end of its name or by its first bytes."""
    return name.removesuffix(".gz").endswith(SUFFIXES) or _LINES.match(head) is not None


@dataclass(slots=True, eq=False)
class SvmlightFile:
    """A file with a column `label` where its lines have labels, and `words` or a column of numbers for each feature.

    asked: the columns that a model reads, which tell whether it knows features as words or as numbers; without them
    features are words where all values are 0 and 1.
    """

    format: ClassVar[str] = "svmlight"
    file: Path
    asked: Collection[str] | None = None
    by_column: bool = False
    share: float = 0.0
    names: tuple[str, ...] = field(init=False)
    n_rows: int = field(init=False)
    _notes: list[str] = field(default_factory=list)
    _lines: Lines = field(init=False)

    def __post_init__(self) -> None:
        self._lines = lines = self._read()
        self.n_rows = lines.n_rows
        features = np.unique(lines.ids)
        if lines.labels is None and lines.n_empty:
            self._notes.append(f"{self.source}: {lines.n_empty} empty lines were left out")
        numeric = lines.weighted
        if numeric and (len(features) > MOST_COLUMNS or len(features) * self.n_rows > MOST_CELLS):
            numeric = False
            self._notes.append(
                f"{self.source}: values of features other than 0 and 1 are taken as 1, since {len(features)} features "
                f"are too many for columns of numbers; give those that count as CSV or Parquet"
            )
        if self.asked is not None:
            features = np.array([int(name[1:]) for name in self.asked if _FEATURE.fullmatch(name)], dtype=np.int64)
            numeric = len(features) > 0 and WORDS not in self.asked
        elif numeric:
            self._notes.append(
                f"{self.source}: features are columns of numbers, since values other than 0 and 1 occur; they are 0 "
                "where a line leaves them out"
            )
        self.names = (*((LABEL,) if lines.labels is not None else ()), *(_names(features) if numeric else (WORDS,)))

    @property
    def source(self) -> str:
        return self.file.name

    def notes(self) -> list[str]:
        return self._notes

    def _read(self) -> Lines:
        """All lines of the file; raises InputError naming the line that is none of this format."""
        parts: list[Lines] = []
        n_lines = 0
        for content in self._contents():
            labelled = parts[0].labels is not None if parts and parts[0].n_rows else None
            parts = parts if labelled is not None else []
            parts.append(read_lines(content, n_lines, self.source, labelled))
            n_lines += content.count(b"\n")
        return joined(parts)

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """All rows of the named columns."""
        self.share = 1.0
        order = np.argsort(self._lines.ids, kind="stable")
        columns = tuple(self._column(name, keep_text, order) for name in names)
        yield RawTable(columns, self.n_rows, self.source)

    def _column(self, name: str, keep_text: Collection[str], order: Ints) -> Column:
        """One column; order: of the features by their numbers."""
        lines = self._lines
        if name == LABEL and lines.labels is not None:
            return _label(lines.labels, keep_text)
        if name == WORDS:
            features, ids = np.unique(lines.ids, return_inverse=True)
            sets = token_sets(lines.rows, ids, np.zeros(self.n_rows, dtype=bool), len(features))
            return TokenColumn(WORDS, sets, _names(features))
        values, number = np.zeros(self.n_rows), int(name[1:])
        own = order[slice(*np.searchsorted(lines.ids, [number, number + 1], sorter=order))]
        values[lines.rows[own]] = lines.values[own]
        return NumberColumn(name, values)

    def _contents(self) -> Iterator[bytes]:
        """The file in blocks of whole lines, without the mark of its encoding."""
        begun, rest = 0, b""
        with self.file.open("rb") as stream:
            while content := stream.read(BLOCK_BYTES):
                head, cut, tail = (rest + content).rpartition(b"\n")
                rest = tail
                if not cut:
                    continue
                yield self._checked(head + cut, begun)
                begun += len(head) + 1
        if rest:
            yield self._checked(rest + b"\n", begun)

    def _checked(self, content: bytes, begun: int) -> bytes:
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as error:
            where, fix = self.source, "save it as UTF-8"
            raise InputError(f"not UTF-8 at byte {begun + error.start}", where=where, fix=fix) from None
        return content.removeprefix(b"\xef\xbb\xbf") if not begun else content


def _label(texts: pl.Series, keep_text: Collection[str]) -> Column:
    import polars as pl

    texts = texts.str.replace(r"^\+", "")
    found = texts.cast(pl.Float64, strict=False)
    if LABEL in keep_text or found.null_count():
        return TextColumn(LABEL, texts)
    values = found.to_numpy()
    whole = bool((np.rint(values) == values).all()) and bool((np.abs(values) < 2**53).all())
    return NumberColumn(LABEL, values.astype(np.int64) if whole else values)


# Lines as bytes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """Rows of a file: labels as texts (None where there are none); row, number and value of each feature that is not 0.

    weighted: whether a value is neither 0 nor 1.
    """

    n_rows: int
    n_empty: int
    labels: pl.Series | None
    rows: Ints
    ids: npt.NDArray[np.int32]
    values: npt.NDArray[np.float64]
    weighted: bool


def joined(parts: Sequence[Lines]) -> Lines:
    """The lines of all parts."""
    import polars as pl

    begun = np.cumsum([0, *(part.n_rows for part in parts)])
    labels = [part.labels for part in parts if part.labels is not None]
    return Lines(
        int(begun[-1]),
        sum(part.n_empty for part in parts),
        pl.concat(labels) if labels else None,
        np.concatenate([np.zeros(0, np.int64), *map(np.add, (part.rows for part in parts), begun)]),
        np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)]),
        np.concatenate([np.zeros(0), *(part.values for part in parts)]),
        any(part.weighted for part in parts),
    )


def _names(features: npt.NDArray[np.integer[Any]]) -> tuple[str, ...]:
    return tuple(f"f{number}" for number in features.tolist())


def read_lines(content: bytes, lines: int, source: str, labelled: bool | None = None) -> Lines:
    """Whole lines of a file, all at once; lines: how many there are before. Raises InputError naming a wrong line.

    labelled: whether they begin with a label; None where the first of them tells.
    """
    import polars as pl

    texts = pl.Series("word", content.decode().split("\n")[:-1], dtype=pl.String).str.replace("#.*", "")
    words = texts.str.extract_all(_WORD).to_frame().with_row_index("line").filter(pl.col("word").list.len() > 0)
    labels = words["word"].list.first()
    if labelled is None and len(labels):
        labelled = ":" not in labels[0]
    if labelled and len(odd := labels.str.contains(":", literal=True).arg_true()):
        where, fix = f"{source}, line {lines + words['line'][odd[0]] + 1}", "give every line a label, or none"
        raise InputError(f"no label, but {labels[odd[0]]!r:.42}", where=where, fix=fix)
    pairs = words.with_row_index("row").with_columns(pl.col("word").list.slice(int(bool(labelled))))
    pairs = pairs.explode("word").drop_nulls().with_columns(pl.col("word").str.extract_groups(_PAIR).alias("pair"))
    pairs = pairs.unnest("pair").with_columns(
        pl.col("id").cast(pl.Int64), pl.col("value").cast(pl.Float64, strict=False).fill_nan(None)
    )
    wrong = pairs.filter(pl.col("value").is_null() | pl.col("id").is_null() | (pl.col("id") >= MOST_FEATURES))
    if len(wrong):
        where = f"{source}, line {lines + wrong['line'][0] + 1}"
        what = f"{wrong['word'][0][:40]!r} is no feature with its value"
        raise InputError(what, where=where, fix="write a number, `:`, a number")
    pairs = pairs.filter(pl.col("value") != 0.0)
    rows, ids = pairs["row"].to_numpy().astype(np.int64), pairs["id"].to_numpy().astype(np.int32)
    values = pairs["value"].to_numpy()
    n_empty, weighted = len(texts) - len(words), bool((values != 1.0).any())
    return Lines(len(words), n_empty, labels if labelled else None, rows, ids, values, weighted)
