"""Reading: a table file, whatever it is written in, as raw or typed columns."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rulekit.errors import InputError
from rulekit.names import near_files
from rulekit.schema import Schema
from rulekit.tables.kinds.encoding import encode_columns
from rulekit.tables.kinds.inference import infer_columns
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.raw.delimited import read_delimited
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table

_JSON_LINES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")
_FOREIGN = (
    (b"PK\x03\x04", "a zip or Excel file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"%PDF", "a PDF file"),
    (b"\x89PNG", "a picture"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
)


def read_table(
    path: str | os.PathLike[str],
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    schema: Schema | None = None,
    used: Collection[str] | None = None,
) -> Table:
    """A typed table from CSV (.csv, .tsv, .txt, each also .gz), Parquet or JSON lines (.jsonl, .ndjson).

    Without `schema` kinds are inferred, unless the options declare them; with it the rows are encoded for a model, of
    which `used` names the columns it reads, and only those are read. What was detected of a text file stands in
    `notes`. Raises InputError naming file, row and column and what would mend them.
    """
    if schema is not None:
        wanted = schema.names if used is None else tuple(name for name in schema.names if name in used)
        codes = [feature.name for feature in schema if feature.kind == "categorical"]
        return encode_columns(read_columns(path, options, columns=wanted, keep_text=codes), schema, used)
    raw = read_columns(path, options, keep_text=options.categories(), without=options.dropped())
    return infer_columns(raw, options)


def read_columns(
    path: str | os.PathLike[str],
    options: ReadingOptions = DEFAULT_OPTIONS,
    *,
    columns: Collection[str] | None = None,
    keep_text: Collection[str] = (),
    without: Collection[str] = (),
) -> RawTable:
    """The raw columns of a table file; `columns`: only those (a name that the file lacks is no error here).

    keep_text: columns whose cells stay as written, such as labels and codes (`007`). without: columns that are left
    out and may hold what no table of rulekit can (lists, structures).
    """
    file = Path(path)
    if file.exists() and not file.is_file() and not file.is_dir():
        return _read_stream(file, options, columns, keep_text, without)
    source = file.name
    format = file_format(file)
    if format == "parquet":
        raw = _read_parquet(file, columns, without)
    elif format == "json lines":
        raw = _read_json_lines(file, columns, without)
    else:
        raw = read_delimited(file, options, columns=columns, keep_text=keep_text)
    if raw.n_rows == 0:
        raise InputError("there is a header but no row", where=source, fix="give at least one row")
    return raw


def file_format(file: Path) -> Literal["parquet", "json lines", "delimited"]:
    """What a table file is written in, by its first bytes and its name; raises InputError for what is no table."""
    source = file.name
    head = _first_bytes(file)
    if source.lower().endswith(".json") and head.lstrip()[:1] in (b"{", b"["):
        raise InputError("this is JSON, no table", where=source, fix="give CSV, Parquet or JSON lines (.jsonl)")
    for mark, what in _FOREIGN:
        if head.startswith(mark):
            raise InputError(f"this is {what}", where=source, fix="save it as CSV, Parquet or JSON lines")
    if head.startswith(b"PAR1") or source.lower().endswith((".parquet", ".pq")):
        return "parquet"
    return "json lines" if source.lower().endswith(_JSON_LINES) else "delimited"


def _read_stream(
    file: Path,
    options: ReadingOptions,
    columns: Collection[str] | None,
    keep_text: Collection[str],
    without: Collection[str],
) -> RawTable:
    """A pipe (/dev/stdin, say) gives its bytes once, and a table is looked at more than once: through a copy."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = copied_stream(file, Path(folder))
        return read_columns(copy, options, columns=columns, keep_text=keep_text, without=without)


def copied_stream(file: Path, folder: Path) -> Path:
    """A file with the bytes of a pipe."""
    import shutil

    copy = folder / file.name
    try:
        with file.open("rb") as stream, copy.open("wb") as written:
            shutil.copyfileobj(stream, written)
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", where=str(file), fix="check the path") from None
    return copy


def _first_bytes(file: Path) -> bytes:
    if os.path.isdir(file):
        raise InputError("this is a folder", where=str(file), fix="give a file")
    try:
        with file.open("rb") as opened:
            return opened.read(8)
    except FileNotFoundError:
        near = _neighbours(file)
        raise InputError("no such file", where=str(file), fix=near or "check the path") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot be read ({reason})", where=str(file), fix="check the path and its rights") from None


def _neighbours(file: Path) -> str:
    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return ""
    near = near_files(file.name, names)
    return f"did you mean {' or '.join(map(repr, near))}?" if near else ""


def _wanted(names: list[str], columns: Collection[str] | None, without: Collection[str]) -> list[str]:
    return [name for name in names if (columns is None or name in columns) and name not in without]


def _read_parquet(file: Path, columns: Collection[str] | None, without: Collection[str]) -> RawTable:
    import polars as pl

    try:
        names = list(pl.read_parquet_schema(file))
        wanted = _wanted(names, columns, without)
        height = pl.scan_parquet(file, glob=False).select(pl.len()).collect().item()
        frame: Any = pl.read_parquet(file, columns=wanted, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise damaged("Parquet", file, error) from None
    # the rows count even where no column of them is wanted: a model may be a constant
    return replace(raw_table(frame, file.name), n_rows=height, unread=tuple(n for n in names if n not in wanted))


def _read_json_lines(file: Path, columns: Collection[str] | None, without: Collection[str]) -> RawTable:
    import gzip
    import zlib

    import polars as pl

    packed = file.name.lower().endswith(".gz")
    try:
        source: Any = gzip.decompress(file.read_bytes()) if packed else file
        frame = pl.read_ndjson(source, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, EOFError, zlib.error) as error:
        raise damaged("JSON lines", file, error) from None
    names = list(frame.columns)
    wanted = _wanted(names, columns, without)
    unread = tuple(name for name in names if name not in wanted)
    return replace(raw_table(frame.select(wanted), file.name), n_rows=frame.height, unread=unread)


def damaged(what: str, file: Path, error: BaseException) -> InputError:
    """The refusal of a file that cannot be parsed."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return InputError(f"this is no readable {what} file ({lines[0][:120]})", where=file.name, fix="write it again")
