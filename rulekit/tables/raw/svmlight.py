"""svmlight files (also LIBSVM): a label and numbered values a line, as columns of numbers or as one column of words.

`+1 3:1 17:1 # a comment` is the label 1 and the words f3 and f17. Where other values than 0 and 1 occur, features are
columns of numbers, unless there are too many of them. A file may leave all labels out. Memory follows what stands in
the file, whatever the largest number of a feature is. Query ids (`qid:4`) are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import numpy as np

from rulekit.arrays import pl
from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, NumberColumn, RawTable, TextColumn, TokenColumn
from rulekit.tables.raw.files import TableFile
from rulekit.tables.raw.sources import WORDS, word_names
from rulekit.tables.token_sets import token_sets

LABEL = "label"
MOST_FEATURES = 1 << 27
MOST_COLUMNS = 1000
MOST_CELLS = 1 << 25
BLOCK_BYTES = 1 << 22
_FEATURE = re.compile(r"f(0|[1-9]\d{0,8})", re.ASCII)
_WORD, _PAIR = r"[^ \t\x0b\f\r]+", r"^(?P<id>\d{1,9}):(?P<value>.+)$"


class SvmlightFile(TableFile):
    """A file with a column `label` where its lines have labels, and `words` or a column of numbers for each feature.

    asked: the columns that a model reads, which tell whether it knows features as words or as numbers; without them
    features are words where all values are 0 and 1.
    """

    format = "svmlight"

    def __init__(self, file: Path, asked: Collection[str] | None = None) -> None:
        super().__init__(file)
        self._read()
        features = np.unique(self._ids)
        if self._labels is None and self._n_empty:
            self._notes.append(f"{self.source}: {self._n_empty} empty lines were left out")
        numeric = bool((self._values != 1.0).any())
        if numeric and (len(features) > MOST_COLUMNS or len(features) * self.n_rows > MOST_CELLS):
            numeric = False
            self._notes.append(
                f"{self.source}: values of features other than 0 and 1 are taken as 1, since {len(features)} features "
                f"are too many for columns of numbers; give those that count as CSV or Parquet"
            )
        if asked is not None:
            features = np.array([int(name[1:]) for name in asked if _FEATURE.fullmatch(name)], dtype=np.int64)
            numeric = len(features) > 0 and WORDS not in asked
        elif numeric:
            self._notes.append(
                f"{self.source}: features are columns of numbers, since values other than 0 and 1 occur; they are 0 "
                "where a line leaves them out"
            )
        label = () if self._labels is None else (LABEL,)
        self.names = (*label, *(word_names(features.tolist()) if numeric else (WORDS,)))

    def _read(self) -> None:
        """All lines of the file: labels as texts, if any; row, number and value of each feature that is not 0."""
        labels, pairs, n_lines, begun = list[pl.Series](), list[pl.DataFrame](), 0, 0
        self.n_rows = self._n_empty = 0
        with self.file.open("rb") as stream:
            while content := b"".join(stream.readlines(BLOCK_BYTES)):
                try:
                    text = content.decode("utf-8")
                except UnicodeDecodeError as error:
                    what = f"not UTF-8 at byte {begun + error.start}"
                    raise InputError(what, where=self.source, fix="save it as UTF-8") from None
                labelled = bool(labels) if self.n_rows else None
                lines = (text if begun else text.removeprefix("\ufeff")).removesuffix("\n").split("\n")
                n_rows, own, found = _parsed(lines, n_lines, self.source, labelled)
                labels += [] if own is None else [own]
                pairs.append(found.with_columns(pl.col("row") + self.n_rows))
                self.n_rows += n_rows
                self._n_empty += len(lines) - n_rows
                n_lines += len(lines)
                begun += len(content)
        self._labels = pl.concat(labels) if labels else None
        known = pl.concat(pairs) if pairs else pl.DataFrame({"row": [0], "id": [0], "value": [0.0]}).clear()
        self._rows, self._values = known["row"].to_numpy().astype(np.int64), known["value"].to_numpy()
        self._ids = known["id"].to_numpy().astype(np.int32)

    def blocks(self, names: Sequence[str], keep_text: Collection[str]) -> Iterator[RawTable]:
        """All rows of the named columns."""
        self.share = 1.0
        order = np.argsort(self._ids, kind="stable")
        columns: list[Column] = []
        for name in names:
            if name == LABEL and self._labels is not None:
                columns.append(_label(self._labels, keep_text))
            elif name == WORDS:
                features, ids = np.unique(self._ids, return_inverse=True)
                sets = token_sets(self._rows, ids, np.zeros(self.n_rows, dtype=bool), len(features))
                columns.append(TokenColumn(WORDS, sets, word_names(features.tolist())))
            else:
                values, number = np.zeros(self.n_rows), int(name[1:])
                own = order[slice(*np.searchsorted(self._ids, [number, number + 1], sorter=order))]
                values[self._rows[own]] = self._values[own]
                columns.append(NumberColumn(name, values))
        yield RawTable(tuple(columns), self.n_rows, self.source)


def _label(texts: pl.Series, keep_text: Collection[str]) -> Column:
    texts = texts.str.replace(r"^\+", "")
    found = texts.cast(pl.Float64, strict=False)
    if LABEL in keep_text or found.null_count():
        return TextColumn(LABEL, texts)
    values = found.to_numpy()
    whole = bool((np.rint(values) == values).all()) and bool((np.abs(values) < 2**53).all())
    return NumberColumn(LABEL, values.astype(np.int64) if whole else values)


def _parsed(
    lines: list[str], before: int, source: str, labelled: bool | None
) -> tuple[int, pl.Series | None, pl.DataFrame]:
    """How many lines are no empty ones, their labels, and their pairs; raises InputError naming a wrong line.

    before: how many lines there are before; labelled: whether they begin with a label, None where the first one tells.
    """
    texts = pl.Series("word", lines, dtype=pl.String).str.replace("#.*", "")
    words = texts.str.extract_all(_WORD).to_frame().with_row_index("line").filter(pl.col("word").list.len() > 0)
    labels = words["word"].list.first()
    if labelled is None and len(labels):
        labelled = ":" not in labels[0]
    if labelled and len(odd := labels.str.contains(":", literal=True).arg_true()):
        where, fix = f"{source}, line {before + words['line'][odd[0]] + 1}", "give every line a label, or none"
        raise InputError(f"no label, but {labels[odd[0]]!r:.42}", where=where, fix=fix)
    pairs = words.with_row_index("row").with_columns(pl.col("word").list.slice(int(bool(labelled))))
    pairs = pairs.explode("word").drop_nulls().with_columns(pl.col("word").str.extract_groups(_PAIR).alias("pair"))
    pairs = pairs.unnest("pair").with_columns(
        pl.col("id").cast(pl.Int64), pl.col("value").cast(pl.Float64, strict=False).fill_nan(None)
    )
    wrong = pairs.filter(pl.col("value").is_null() | pl.col("id").is_null() | (pl.col("id") >= MOST_FEATURES))
    if len(wrong):
        where = f"{source}, line {before + wrong['line'][0] + 1}"
        what = f"{wrong['word'][0][:40]!r} is no feature with its value"
        raise InputError(what, where=where, fix="write a number, `:`, a number")
    found = pairs.filter(pl.col("value") != 0.0).select(pl.col("row").cast(pl.Int64), "id", "value")
    return len(words), labels if labelled else None, found
