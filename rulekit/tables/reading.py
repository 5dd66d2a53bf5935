"""Reading: a table file, whatever it is written in, as raw or typed columns."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol

from rulekit.errors import InputError, refuse_no_threads
from rulekit.schema import Schema
from rulekit.tables.budget import Budget
from rulekit.tables.kinds.encoding import encode_columns
from rulekit.tables.kinds.inference import infer_columns
from rulekit.tables.options import DEFAULT_OPTIONS, OF_TEXT_FILES, ReadingOptions
from rulekit.tables.raw.columns import RawTable, in_dress
from rulekit.tables.raw.delimited import DelimitedFile, ReadAgain
from rulekit.tables.raw.files import first_bytes, plain_file
from rulekit.tables.raw.json_lines import JsonLinesFile
from rulekit.tables.raw.parquet import ParquetFile
from rulekit.tables.raw.svmlight import SvmlightFile, is_svmlight
from rulekit.tables.table import Store, Table

_JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


class TableFile(Protocol):
    """A file that is read as often as asked, whole or in blocks.

    names: of all its columns; by_column: whether the blocks of a column come without reading the others; n_rows: None
    while it is not known; source: its name for messages.
    """

    format: ClassVar[str]

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
        """The rows of the named columns in their order; raises ReadAgain where the next pass will do better."""

    def notes(self) -> list[str]:
        """What a user should hear, known after the last block."""


def open_table(
    path: str | os.PathLike[str],
    options: ReadingOptions,
    store: Store,
    budget: Budget | None,
    columns: Collection[str] | None = None,
) -> TableFile:
    """A table file, whatever it is written in, to be read in blocks within the budget, or else whole.

    columns: those that will be asked for, where that is known.

    Raises InputError for what is no table.
    """
    refuse_no_threads()
    name = os.fspath(path).lower()
    file = plain_file(Path(path), store)
    block_bytes = None if budget is None else budget.block_bytes
    opened: TableFile
    if first_bytes(file, 4) == b"PAR1" or name.endswith((".parquet", ".pq")):
        opened = ParquetFile(file, None if budget is None else budget.rows_per_block)
    elif is_svmlight(first_bytes(file), name):
        opened = SvmlightFile(file, columns)
    elif name.endswith(_JSON_LINES):
        opened = JsonLinesFile(file, block_bytes, columns, options.dropped())
    else:
        return DelimitedFile(file, store, block_bytes, options)
    if given := [f"--{option}" for option in OF_TEXT_FILES if getattr(options, option)]:
        why = f"{' and '.join(given)}: of a text file such as CSV; this is one of {opened.format}"
        raise InputError(why, where=opened.source, fix=f"leave {'it' if len(given) == 1 else 'them'} out")
    return opened


def read_table(
    path: str | os.PathLike[str],
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    schema: Schema | None = None,
    used: Collection[str] | None = None,
) -> Table:
    """Read a typed table from CSV (.csv, .tsv, .txt, each also .gz), Parquet, JSON lines or an svmlight file.

    Parameters
    ----------
    path : str or path
        The file.
    options : ReadingOptions
        What is declared of the file and its columns; all else is inferred.
    schema : Schema or None
        That of a model, for which the rows are encoded; without it kinds are inferred.
    used : collection of str or None
        The columns that the model reads; only those are read.

    Returns
    -------
    Table
        What was detected of a text file stands in `notes`.

    Raises
    ------
    InputError
        Naming file, row and column and what would mend them.

    """
    if schema is not None:
        wanted = schema.names if used is None else tuple(name for name in schema.names if name in used)
        return encode_columns(read_columns(path, options, columns=wanted, schema=schema), schema, used)
    raw = read_columns(path, options, keep_text=options.kept_texts(), without=options.dropped())
    return infer_columns(raw, options)


def read_columns(
    path: str | os.PathLike[str],
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    columns: Collection[str] | None = None,
    keep_text: Collection[str] = (),
    without: Collection[str] = (),
    schema: Schema | None = None,
) -> RawTable:
    """The raw columns of a table file; `columns`: only those (a name that the file lacks is no error here).

    keep_text: columns whose cells stay as written, such as labels and codes (`007`). without: columns that are left
    out and may hold what no table of rulekit can (lists, structures). schema: that of the model which the columns are
    for; its categories and texts stay as written, and its numbers are read in their forms.
    """
    keep_text = {*keep_text, *(() if schema is None else (f.name for f in schema if f.reads_text))}
    store = Store()
    opened = open_table(path, options, store, None, columns)
    while True:
        wanted = [n for n in opened.names if (columns is None or n in columns) and n not in without]
        with suppress(ReadAgain):
            blocks = list(opened.blocks(wanted, keep_text))
            break
    if not blocks or blocks[0].n_rows == 0:
        raise InputError("there is a header but no row", where=opened.source, fix="give at least one row")
    read = frozenset(wanted)
    unread = tuple(name for name in opened.names if name not in read)
    return in_dress(replace(blocks[0], notes=tuple(opened.notes()), unread=unread))
