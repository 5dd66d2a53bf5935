"""Some rows of a table file as a file of the same format, cells as they were read."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import suppress
from itertools import compress, islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.tables.budget import Budget
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import cells_as_given, factorize
from rulekit.tables.raw.delimited import DelimitedFile, ReadAgain
from rulekit.tables.raw.files import bytes_of
from rulekit.tables.raw.json_lines import JsonLinesFile
from rulekit.tables.raw.parquet import ParquetFile
from rulekit.tables.reading import TableFile, open_table
from rulekit.tables.table import PART, Store, append

Mask = npt.NDArray[np.bool_]


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


def picked_rows(data: Path, options: ReadingOptions, picked: Mask, budget: Budget | None = None) -> Iterator[bytes]:
    """The bytes of a file of the picked rows [n labelled rows] with all columns, read block by block within a budget.

    Rows without a label are none of the n. A text file has the delimiter and the decimal sign of `data`, and its
    encoding where the options name it, else UTF-8.
    """
    store = Store()
    source = open_table(data, options, store, budget)
    while True:
        with suppress(ReadAgain):
            rows = _rows_of_file(source, options, picked)
            file = store.new_file()
            file.touch()
            if isinstance(source, DelimitedFile):
                for part in _text(source, rows, options.encoding or "utf-8"):
                    append(file, part)
            elif isinstance(source, JsonLinesFile):
                for part in _lines(source, rows):
                    append(file, part)
            else:
                assert isinstance(source, ParquetFile)
                _write_parquet(source.file, rows, file)
            break
    yield from bytes_of(file)


def _rows_of_file(source: TableFile, options: ReadingOptions, picked: Mask) -> Mask:
    """Which rows of the file are picked, those without a label counted."""
    target = options.target or ""
    tokens = options.missing_tokens(source.names).get(target, ())
    labelled = [factorize(raw.columns[0], tokens)[1] >= 0 for raw in source.blocks((target,), {target})]
    rows = np.concatenate(labelled)
    rows[rows] = picked
    return rows


def _text(source: DelimitedFile, rows: Mask, encoding: str) -> Iterator[bytes]:
    import polars as pl

    encoder = codecs.getincrementalencoder(encoding)()
    start = 0
    for raw in source.blocks(source.names, source.names):
        frame = pl.DataFrame({column.name: cells_as_given(column) for column in raw.columns})
        kept = frame.filter(pl.Series(rows[start : start + raw.n_rows]))
        headed = start == 0 and source.options.header != "none"
        yield encoder.encode(kept.write_csv(include_header=headed, separator=source.dialect.delimiter))
        start += raw.n_rows


def _lines(source: JsonLinesFile, rows: Mask) -> Iterator[bytes]:
    with source.file.open("rb") as file:
        filled = (line.rstrip(b"\r\n") + b"\n" for line in file if line.strip())
        picked = compress(filled, rows.tolist())
        while part := b"".join(islice(picked, PART)):
            yield part


def _write_parquet(source: Path, rows: Mask, path: Path) -> None:
    import polars as pl

    scanned = pl.scan_parquet(source, glob=False)
    parts = [
        scanned.slice(start, PART).collect().filter(pl.Series(rows[start : start + PART]))
        for start in range(0, len(rows), PART)
    ]
    pl.concat(parts).write_parquet(path)
