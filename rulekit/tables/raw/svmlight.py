"""svmlight files (also LIBSVM): a label and numbered values a line, as one column of words.

`+1 3:1 17:1 # a comment` is the label 1 and the words f3 and f17. A feature is present where its value is not 0, so
that the values of counts and weights are not looked at; a note says so. Query ids (`qid:4`) are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, NumberColumn, RawTable, TextColumn, TokenColumn
from rulekit.tables.raw.sources import WORDS, word_names
from rulekit.tables.text.token_sets import token_sets

if TYPE_CHECKING:
    import polars as pl

Ints = npt.NDArray[np.int64]

SUFFIXES = (".svm", ".svmlight", ".libsvm")
LABEL = "label"
MOST_FEATURES = 1 << 27
BLOCK_BYTES = 1 << 18  # whose arrays stay in the cache
_LINES = re.compile(rb"(?:[^\s,;:|]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s,;:|]+)+[ \t]*(?:#.*)?\r?\n){1,}")

_COMMENT = re.compile(rb"#[^\n]*")
_SPACES = bytes.maketrans(b"\t\v\f\r", b"    ")
_SPACE, _LINE_END, _COLON, _ZERO, _ONE = b" \n:01"
_MOST_DIGITS = 9


def is_svmlight(head: bytes, name: str) -> bool:
    """Whether a file is one, by the end of its name or by its first bytes."""
    return name.removesuffix(".gz").endswith(SUFFIXES) or _LINES.match(head) is not None


@dataclass(slots=True, eq=False)
class SvmlightFile:
    """A file with two columns, `label` and `words`; its rows are one table, read in blocks of lines."""

    file: Path
    by_column: bool = False
    share: float = 0.0
    n_rows: int | None = None
    names: tuple[str, ...] = (LABEL, WORDS)
    _notes: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        return self.file.name

    def notes(self) -> list[str]:
        return self._notes

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """All rows of the named columns; raises InputError naming the line that is none of this format."""
        import polars as pl

        parts: list[Lines] = []
        lines = 0
        for content in self._contents():
            part = read_lines(content, lines, self.source)
            lines += content.count(b"\n")
            parts.append(part)
        rows_before = np.cumsum([0, *(len(part.labels) for part in parts)])
        n_rows = int(rows_before[-1])
        labels = pl.concat([pl.Series(dtype=pl.String), *(part.labels for part in parts)])
        if any(part.weighted for part in parts):
            self._notes = [
                "values of features other than 0 and 1 are taken as 1: a rule asks whether a feature is there"
            ]
        size = max((part.size for part in parts), default=0)
        rows = np.concatenate([np.zeros(0, np.int64), *map(np.add, (part.rows for part in parts), rows_before)])
        ids = np.concatenate([np.zeros(0, np.int32), *(part.ids for part in parts)])
        sets = token_sets(rows, ids, np.zeros(n_rows, dtype=bool), size)
        columns = {LABEL: _label(labels, keep_text), WORDS: TokenColumn(WORDS, sets, word_names(size))}
        self.share, self.n_rows = 1.0, n_rows
        yield RawTable(tuple(columns[name] for name in names), n_rows, self.source)

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
    """Rows of a file: the labels as texts, and a row and a number for each feature that is there.

    size: one more than the largest number, also of a feature whose value is 0; weighted: whether a value is not 0 or 1.
    """

    labels: pl.Series
    rows: Ints
    ids: npt.NDArray[np.int32]
    size: int
    weighted: bool


def read_lines(content: bytes, lines: int, source: str) -> Lines:
    """Whole lines of a file, all at once; lines: how many there are before. Raises InputError naming a wrong line."""
    if b"#" in content:
        content = _COMMENT.sub(b"", content)
    letters = np.frombuffer(content.translate(_SPACES), dtype=np.uint8)
    apart = (letters == _SPACE) | (letters == _LINE_END)
    change = np.diff(apart, prepend=True, append=True)
    starts, ends = np.flatnonzero(change).reshape(-1, 2).T
    line = np.searchsorted(np.flatnonzero(letters == _LINE_END), starts)
    first = np.diff(line, prepend=-1) > 0
    labels = _texts(letters, starts[first], ends[first])
    rows, starts, ends = np.cumsum(first)[~first] - 1, starts[~first], ends[~first]
    colons = np.append(np.flatnonzero(letters == _COLON), len(letters))
    colon = colons[np.searchsorted(colons, starts)]
    ids, wrong = _numbers(letters, starts, np.minimum(colon, ends))
    wrong |= (colon >= ends) | (ids >= MOST_FEATURES)
    first_of_value = letters[np.minimum(colon + 1, len(letters) - 1)]
    is_short = ends - colon == 2
    present = ~(is_short & (first_of_value == _ZERO))
    other = np.flatnonzero(present & ~(is_short & (first_of_value == _ONE)) & ~wrong)
    weighted = False
    if len(other):
        values = _values(letters, colon[other] + 1, ends[other])
        wrong[other] = np.isnan(values)
        present[other] = values != 0.0
        weighted = bool(((values != 0.0) & (values != 1.0)).any())
    if wrong.any():
        place = int(np.argmax(wrong))
        shown = repr(content[starts[place] : ends[place]].decode()[:40])
        where = f"{source}, line {lines + int(line[~first][place]) + 1}"
        raise InputError(f"{shown} is no feature with its value", where=where, fix="write a number, `:`, a number")
    return Lines(labels, rows[present], ids[present].astype(np.int32), int(ids.max(initial=-1)) + 1, weighted)


def _numbers(letters: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Whole numbers of at most nine digits, and which are none."""
    lengths = ends - starts
    wrong = (lengths < 1) | (lengths > _MOST_DIGITS)
    found = np.zeros(len(starts), dtype=np.int64)
    for place in range(int(min(lengths.max(initial=0), _MOST_DIGITS))):
        inside = place < lengths
        digit = letters[np.minimum(starts + place, len(letters) - 1)] - np.uint8(_ZERO)  # no digit is above 9
        wrong |= inside & (digit > 9)
        found = np.where(inside, found * 10 + digit, found)
    return found, wrong


def _values(letters: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> npt.NDArray[np.float64]:
    """Numbers as doubles, NaN for what is none."""
    import polars as pl

    found = _texts(letters, starts, ends).cast(pl.Float64, strict=False)
    return np.asarray(found.to_numpy(), dtype=np.float64)  # polars writes null as NaN


def _texts(letters: npt.NDArray[np.uint8], starts: Ints, ends: Ints) -> pl.Series:
    """Pieces that do not meet, as texts."""
    import polars as pl

    lengths = ends - starts + 1
    begun = np.cumsum(lengths) - lengths
    taken = letters[np.arange(int(lengths.sum())) + np.repeat(starts - begun, lengths)]
    taken[begun + lengths - 1] = _LINE_END
    return pl.Series(taken.tobytes().decode().split("\n")[:-1], dtype=pl.String)
