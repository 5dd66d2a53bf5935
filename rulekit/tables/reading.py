"""Reading: a table file, whatever it is written in, as columns, and some of its rows as a file of the same format."""

from __future__ import annotations

import codecs
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import compress
from pathlib import Path

import numpy as np

from rulekit.arrays import Bools, pl
from rulekit.errors import InputError, refuse_no_threads
from rulekit.schema import Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import DEFAULT_OPTIONS, OF_TEXT_FILES, ReadingOptions
from rulekit.tables.raw.columns import RawTable, cells_as_given, factorize, in_dress
from rulekit.tables.raw.delimited import DelimitedFile, ReadAgain
from rulekit.tables.raw.files import TableFile, bytes_of, first_bytes, is_svmlight, plain_file
from rulekit.tables.raw.scanned import JsonLinesFile, ParquetFile
from rulekit.tables.raw.svmlight import SvmlightFile
from rulekit.tables.table import PART, Budget, Store, Table, appending

_JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")


def open_table(
    path: str | os.PathLike[str],
    options: ReadingOptions,
    store: Store,
    budget: Budget | None,
    columns: Collection[str] | None = None,
) -> TableFile:
    """A table file, to be read in blocks within the budget, or else whole; raises InputError for what is no table.

    columns: those that will be asked for, where that is known.
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

    What was detected of a text file stands in its `notes`. Raises InputError naming file, row and column and what
    would mend them.

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
    """
    if schema is not None:
        wanted = schema.names if used is None else tuple(name for name in schema.names if name in used)
        return encode(read_columns(path, options, columns=wanted, schema=schema), schema, used)
    raw = read_columns(path, options, keep_text=options.kept_texts(), without=options.dropped())
    return infer(raw, options)


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


def check_ending(path: Path, data: Path) -> None:
    """Raises InputError where rows of `data` would be written under an ending by which they are not read again."""
    if not data.is_file():
        what, fix = "its rows cannot be read a second time, to be written", "write them to a file first"
        raise InputError(what, where=str(data), fix=fix)
    what = open_table(data, DEFAULT_OPTIONS, Store(), None).format
    endings = {"text": (".csv", ".tsv", ".txt"), "JSON lines": (".jsonl", ".ndjson")}.get(what, (".parquet", ".pq"))
    if path.suffix.lower() not in endings:
        where, fix = str(path), f"call it {path.stem}{endings[0]}"
        raise InputError(f"rows of {data.name} are written as they are read, as {what}", where=where, fix=fix)


def picked_rows(data: Path, options: ReadingOptions, picked: Bools, budget: Budget | None = None) -> Iterator[bytes]:
    """The bytes of a file of the picked rows [n labelled rows] with all columns, read block by block within a budget.

    Rows without a label are none of the n. A text file has the delimiter and the decimal sign of `data`, and its
    encoding where the options name it, else UTF-8.
    """
    store = Store()
    source, file = open_table(data, options, store, budget), store.new_file()
    target = options.target or ""
    tokens = options.missing_tokens(source.names).get(target, ())
    while True:
        with suppress(ReadAgain), appending(file) as output:
            output.truncate(0)
            labels = (factorize(raw.columns[0], tokens)[1] for raw in source.blocks((target,), {target}))
            rows = np.concatenate([codes >= 0 for codes in labels])
            rows[rows] = picked
            if isinstance(source, DelimitedFile):
                output.writelines(_text(source, rows, options.encoding or "utf-8"))
            elif isinstance(source, JsonLinesFile):
                with source.file.open("rb") as lines:
                    filled = (line.rstrip(b"\r\n") + b"\n" for line in lines if line.strip())
                    output.writelines(compress(filled, rows.tolist()))
            else:
                scanned, starts = pl.scan_parquet(source.file, glob=False), range(0, len(rows), PART)
                parts = [scanned.slice(k, PART).collect().filter(pl.Series(rows[k : k + PART])) for k in starts]
                pl.concat(parts).write_parquet(file)
            break
    yield from bytes_of(file)


def _text(source: DelimitedFile, rows: Bools, encoding: str) -> Iterator[bytes]:
    encoder = codecs.getincrementalencoder(encoding)()
    start = 0
    for raw in source.blocks(source.names, source.names):
        frame = pl.DataFrame({column.name: cells_as_given(column) for column in raw.columns})
        kept = frame.filter(pl.Series(rows[start : start + raw.n_rows]))
        headed = start == 0 and source.options.header != "none"
        yield encoder.encode(kept.write_csv(include_header=headed, separator=source.dialect.delimiter))
        start += raw.n_rows
