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

from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, NumberColumn, RawTable, TextColumn, TokenColumn
from rulekit.tables.raw.sources import WORDS, word_names
from rulekit.tables.text.token_sets import token_sets

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".svm", ".svmlight", ".libsvm")
LABEL = "label"
MOST_FEATURES = 1 << 27
_LINES = re.compile(rb"(?:[^\s,;:|]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s,;:|]+)+[ \t]*(?:#.*)?\r?\n){1,}")


def is_svmlight(head: bytes, name: str) -> bool:
    """Whether a file is one, by the end of its name or by its first bytes."""
    return name.removesuffix(".gz").endswith(SUFFIXES) or _LINES.match(head) is not None


@dataclass(slots=True, eq=False)
class SvmlightFile:
    """A file with two columns, `label` and `words`; it is read whole."""

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

        text = self.file.read_bytes()
        try:
            lines = pl.Series(text.decode("utf-8-sig").split("\n"), dtype=pl.String)
        except UnicodeDecodeError as error:
            raise InputError(f"not UTF-8 at byte {error.start}", where=self.source, fix="save it as UTF-8") from None
        numbers = pl.Series(np.arange(1, len(lines) + 1))
        lines = lines.str.replace("#.*", "").str.strip_chars()
        kept = lines != ""
        lines, numbers = lines.filter(kept), numbers.filter(kept)
        columns = {LABEL: self._label(lines, keep_text), WORDS: self._words(lines, numbers)}
        self.share, self.n_rows = 1.0, len(lines)
        yield RawTable(tuple(columns[name] for name in names), len(lines), self.source)

    def _label(self, lines: pl.Series, keep_text: Collection[str]) -> Column:
        import polars as pl

        texts = lines.str.extract(r"^(\S+)").str.replace(r"^\+", "")
        found = texts.cast(pl.Float64, strict=False)
        if LABEL in keep_text or found.null_count():
            return TextColumn(LABEL, texts)
        values = found.to_numpy()
        whole = bool((np.rint(values) == values).all()) and bool((np.abs(values) < 2**53).all())
        return NumberColumn(LABEL, values.astype(np.int64) if whole else values)

    def _words(self, lines: pl.Series, numbers: pl.Series) -> TokenColumn:
        import polars as pl

        pairs = lines.str.extract_all(r"\s\S+")
        lengths = pairs.list.len().to_numpy().astype(np.int64)
        rows = np.repeat(np.arange(len(lines)), lengths)
        single = pairs.filter(pl.Series(lengths > 0)).explode()
        parts = single.str.strip_chars().str.split_exact(":", 1).struct.unnest()
        index = parts["field_0"].cast(pl.Int64, strict=False)
        value = parts["field_1"].cast(pl.Float64, strict=False)
        wrong = index.is_null() | value.is_null() | (index < 0) | (index >= MOST_FEATURES) | value.is_nan()
        if wrong.fill_null(True).any():
            place = int(np.argmax(wrong.fill_null(True).to_numpy()))
            shown = repr(single[place].strip()[:40])
            where = f"{self.source}, line {numbers[int(rows[place])]}"
            raise InputError(f"{shown} is no feature with its value", where=where, fix="write a number, `:`, a number")
        values, ids = value.to_numpy(), index.to_numpy()
        if not np.isin(values, (0.0, 1.0)).all():
            self._notes = [
                "values of features other than 0 and 1 are taken as 1: a rule asks whether a feature is there"
            ]
        present = values != 0.0
        size = int(ids.max(initial=-1)) + 1
        sets = token_sets(rows[present], ids[present], np.zeros(len(lines), dtype=bool), size)
        return TokenColumn(WORDS, sets, word_names(size))
