"""Sources: arrays, frames and mappings in memory, as raw columns.

Numeric arrays are passed on without a copy; pandas is used only through the methods of the object that came.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from rulekit.arrays import pl
from rulekit.dates import EPOCH
from rulekit.errors import InputError, refuse_no_threads
from rulekit.tables.raw.columns import (
    LARGEST_EXACT_INTEGER,
    Column,
    GivenCells,
    LevelColumn,
    NumberColumn,
    RawTable,
    TextColumn,
    TokenColumn,
    canonical_key,
    column_length,
    factorize,
    moment_key,
    natural_order,
    number_key,
    place,
)
from rulekit.tables.table import Array, Table
from rulekit.tables.token_sets import TokenSets, token_sets

WORDS = "words"
"""What the column of a sparse matrix is called."""
_EXACT_DIGITS = 15
_NANOSECONDS = {"ns": 1_000_000_000, "us": 1_000_000, "ms": 1_000}


def raw_table(data: Any, source: str = "") -> RawTable:
    """Raw columns of an array [n, d], a sparse matrix, a pandas, polars or pyarrow frame, a mapping of columns, a
    sequence of mappings or of rows, or a Table; raises InputError for anything else.
    """
    if isinstance(data, RawTable):
        return data
    refuse_no_threads()
    if isinstance(data, Table):
        columns = [column_of_table(data, j) for j in range(len(data.features))]
        return RawTable(tuple(columns), data.n_rows, data.source, data.notes)
    package = type(data).__module__.partition(".")[0]
    if package == "pandas" and hasattr(data, "iloc") and data.ndim == 2:
        names = [_column_name(label) for label in data.columns]
        return _assemble(names, [pandas_column(name, data.iloc[:, j]) for j, name in enumerate(names)], source)
    if package in ("polars", "pyarrow"):
        data = data.collect() if isinstance(data, pl.LazyFrame) else data
        if not isinstance(data, pl.DataFrame) and not hasattr(data, "column_names"):
            raise InputError("Expected 2D array, got 1D array instead", where="data", fix="give a frame")
        frame: Any = data if isinstance(data, pl.DataFrame) else pl.from_arrow(data)
        return _assemble(frame.columns, [polars_column(s.name, s) for s in frame.iter_columns()], source, frame.height)
    if hasattr(data, "toarray") and hasattr(data, "nnz"):
        return _sparse_table(data, source)
    if isinstance(data, Mapping):
        names = [_column_name(label) for label in data]
        return _assemble(names, [raw_column(name, values) for name, values in zip(names, data.values(), strict=True)])
    if isinstance(data, Sequence) and not isinstance(data, str) and data and isinstance(data[0], Mapping):
        labels = list(dict.fromkeys(label for row in data for label in row))
        lists = [[row.get(label) for row in data] for label in labels]
        names = [_column_name(label) for label in labels]
        return _assemble(names, [_cells(str(n), c) for n, c in zip(labels, lists, strict=True)])
    return _array_table(data, source)


def raw_column(name: str, values: Any) -> Column:
    """One raw column from a 1-D array, a pandas or polars series, or a sequence of cells."""
    package = type(values).__module__.partition(".")[0]
    if package == "pandas" and hasattr(values, "dtype"):
        series = values if hasattr(values, "iloc") else sys.modules["pandas"].Series(values)
        return pandas_column(name, series)
    if package == "polars" and hasattr(values, "to_physical"):
        return polars_column(name, values)
    if isinstance(values, str) or not (isinstance(values, np.ndarray) or hasattr(values, "__len__")):
        raise InputError(f"a column of {type(values).__name__}", where=f"column {name!r}", fix="give one value per row")
    if not isinstance(values, np.ndarray):
        return _cells(name, list(values))
    if values.ndim != 1:
        raise InputError(f"a column of shape {values.shape}", where=f"column {name!r}", fix="give one value per row")
    return array_column(name, values)


def array_column(name: str, values: Array) -> Column:
    """One raw column from a 1-D numpy array of any dtype that a table can hold."""
    kind = values.dtype.kind
    if kind in "biuf":
        return NumberColumn(name, values.astype(np.float64) if values.dtype.itemsize > 8 else values)
    if kind == "M":
        seconds = (values - np.datetime64(0, "s")) / np.timedelta64(1, "s")
        return NumberColumn(name, np.asarray(seconds, dtype=np.float64), time="seconds")
    if kind == "m":
        return NumberColumn(name, np.asarray(values / np.timedelta64(1, "s"), dtype=np.float64), unit="s")
    if kind in "OUST":
        return _cells(name, values.tolist())
    if kind == "c":
        raise InputError("Complex data not supported", where=f"column {name!r}", fix="give real numbers")
    raise InputError(f"cells of type {values.dtype} are not supported", where=f"column {name!r}")


def pandas_column(name: str, series: Any) -> Column:
    """One raw column from a pandas series, by its own methods only."""
    dtype = series.dtype
    if hasattr(series, "cat"):
        levels, ordered = raw_column(name, series.cat.categories.to_numpy()), bool(series.cat.ordered)
        keys, index = factorize(levels)
        listed = [canonical_key(keys[i]) if isinstance(levels, NumberColumn) else keys[i] for i in index]
        order = listed if ordered else natural_order(listed)  # without a declared order sorted as everywhere else
        rank = {level: i for i, level in enumerate(order)}
        lookup = np.array([*(rank[level] for level in listed), -1], dtype=np.int32)
        return LevelColumn(name, lookup[series.cat.codes.to_numpy()], tuple(order), ordered)
    kind = getattr(dtype, "kind", "O")
    if kind == "O" and isinstance(dtype, np.dtype):
        return _cells(name, series.tolist())
    missing = series.isna().to_numpy(dtype=bool)
    if getattr(dtype, "tz", None) is not None:
        series = series.dt.tz_convert("UTC").dt.tz_localize(None)
    if kind in "Mm" or (kind in "biuf" and isinstance(dtype, np.dtype)):
        return array_column(name, series.to_numpy())
    if kind in "biuf":  # a nullable type: zero where missing, so that integers stay integers
        own = {"b": bool, "f": np.float64}.get(kind, f"{kind}8")
        filled = series.fillna(False if kind == "b" else 0).to_numpy(dtype=own)
        return NumberColumn(name, filled, missing if missing.any() else None)
    if getattr(dtype, "storage", "") == "pyarrow":  # texts, which Arrow holds already
        return polars_column(name, pl.from_arrow(series.array.__arrow_array__()))
    cells = series.to_numpy(dtype=object).copy()
    cells[missing] = None
    return _cells(name, cells.tolist())


def polars_column(name: str, series: Any) -> Column:
    """One raw column from a polars series."""
    dtype = series.dtype
    if dtype == pl.String:
        return TextColumn(name, series.set(series == "", None) if (series == "").any() else series)
    if dtype in (pl.Categorical, pl.Enum):
        text = series.cast(pl.String)
        levels = list(dtype.categories) if dtype == pl.Enum else natural_order(text.unique().drop_nulls().to_list())
        ranks = list(range(len(levels)))
        codes = text.replace_strict(levels, ranks, default=-1, return_dtype=pl.Int32).fill_null(-1)
        return LevelColumn(name, codes.to_numpy().astype(np.int32), tuple(levels))
    if dtype in (pl.Date, pl.Datetime):
        seconds = series.dt.epoch("us").cast(pl.Float64).to_numpy() / 1e6
        return NumberColumn(name, seconds, series.is_null().to_numpy(), time="seconds")
    if dtype == pl.Duration:
        spans = polars_column(name, series.to_physical().cast(pl.Float64) / _NANOSECONDS[dtype.time_unit])
        return replace(spans, unit="s") if isinstance(spans, NumberColumn) else spans
    if dtype.is_decimal():
        if dtype.precision is not None and dtype.precision <= _EXACT_DIGITS:
            return polars_column(name, series.cast(pl.Float64))
        # as text, which inference reads as numbers, but for integers that a double would round
        text = series.cast(pl.String)
        return TextColumn(name, text.str.strip_chars_end("0").str.strip_chars_end(".") if dtype.scale else text)
    if dtype in (pl.Int128, pl.UInt128):  # as text, which inference refuses by name or keeps as levels
        return TextColumn(name, series.cast(pl.String))
    if dtype == pl.Boolean or dtype.is_numeric():
        if not series.null_count():
            return array_column(name, series.to_numpy())
        filled = series.fill_null(False if dtype == pl.Boolean else 0)
        return NumberColumn(name, filled.to_numpy(), series.is_null().to_numpy())
    if dtype == pl.Null:
        return NumberColumn(name, np.full(len(series), np.nan))
    if dtype == pl.Object:
        return _cells(name, series.to_list())
    raise InputError(f"cells of type {dtype} are not supported", where=f"column {name!r}", fix="flatten or ignore it")


def column_of_table(table: Table, j: int) -> Column:
    """Column j of an encoded table as a raw column; what the encoding called unseen becomes missing."""
    feature, array = table.features[j], table.arrays[j]
    if isinstance(array, TokenSets):
        return TokenColumn(feature.name, array, feature.levels)
    if feature.kind == "categorical":
        return LevelColumn(feature.name, np.maximum(array - 2, -1).astype(np.int32), feature.levels, feature.ordered)
    if feature.kind == "boolean":
        return NumberColumn(feature.name, array > 0.5, np.isnan(array))
    if feature.display == "date":
        return NumberColumn(feature.name, array.astype(np.float64) * 86400.0, time="seconds")
    if feature.display == "datetime":
        return NumberColumn(feature.name, array, time="seconds")
    return NumberColumn(feature.name, array)


def _array_table(data: Any, source: str) -> RawTable:
    where, ragged = source or "data", "rows of different length"
    if isinstance(data, list | tuple) and data and all(isinstance(row, list | tuple) for row in data):
        if len(set(map(len, data))) > 1:
            raise InputError(ragged, where=where, fix="give [n, d] values")
        cells = [_cells(f"x{j}", list(column)) for j, column in enumerate(zip(*data, strict=True))]
        return RawTable(tuple(cells), len(data), source, positional=True)
    if not isinstance(data, np.ndarray):
        try:
            array = np.asarray(data)
        except ValueError:
            raise InputError(ragged, where=where, fix="give [n, d] values") from None
        # numpy turns mixed rows into text and would write True as "True" and 1 as "1"; keep the cells apart
        data = np.asarray(data, dtype=object) if array.dtype.kind in "US" else array
    if data.dtype.names:
        names = [str(name) for name in data.dtype.names]
        return _assemble(names, [raw_column(name, data[name]) for name in names], source)
    if data.ndim != 2:
        what = "Expected 2D array, got 1D array instead" if data.ndim == 1 else f"an array of {data.ndim} dimensions"
        raise InputError(what, where=where, fix="Reshape your data to [rows, columns]")
    columns = [array_column(f"x{j}", data[:, j]) for j in range(data.shape[1])]
    return RawTable(tuple(columns), len(data), source, positional=True)


def _sparse_table(data: Any, source: str) -> RawTable:
    """A sparse matrix [n, d] as one column of words: f0, f1, ... where a value is stored that is not 0."""
    rows = data.tocsr()
    values = np.asarray(rows.data)
    if values.dtype.kind not in "biuf":
        raise InputError(f"a sparse matrix of {values.dtype}", where=source or "data", fix="give numbers")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError("a sparse matrix with NaN", where=source or "data", fix="leave missing values out")
    n_rows, width = rows.shape
    present = values != 0
    row = np.repeat(np.arange(n_rows), np.diff(rows.indptr))[present]
    sets = token_sets(row, np.asarray(rows.indices)[present], np.zeros(n_rows, dtype=bool), width)
    notes = ["values of a sparse matrix other than 0 and 1 are taken as 1; a dense array or a frame keeps them"]
    notes = notes if (values[present] != 1).any() else []
    return RawTable((TokenColumn(WORDS, sets, word_names(range(width))),), n_rows, source, tuple(notes))


def word_names(numbers: Iterable[int]) -> tuple[str, ...]:
    """The words of features that have numbers for names: f0, f1, and so on."""
    return tuple(f"f{number}" for number in numbers)


def _assemble(names: list[str], columns: list[Column], source: str = "", height: int | None = None) -> RawTable:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"two columns are called {name!r}", where=source or "table", fix="rename one")
        seen.add(name)
    lengths = {column.name: column_length(column) for column in columns}
    n_rows = height if height is not None else next(iter(lengths.values()), 0)
    for name, length in lengths.items():
        if length != n_rows:
            raise InputError(f"{length} cells, but {n_rows} in the first column", where=f"column {name!r}")
    return RawTable(tuple(columns), n_rows, source)


def _cells(name: str, cells: list[Any]) -> Column:
    """Python objects as numbers, truth values, dates or texts, each cell as it is read alone.

    None, NaN and the empty text are missing. Raises InputError for bytes, a time of day, and all else that is no cell.
    """
    kinds = set(map(type, cells))
    if kinds <= {str, type(None)}:
        return TextColumn(name, _series(name, [cell or None for cell in cells]))
    if kinds <= {float, type(None)}:
        return NumberColumn(name, np.array(cells, dtype=np.float64))
    sorts = {kind: sort for kind in kinds if (sort := sort_of(kind)) is not None}
    if len(sorts) < len(kinds):
        row, kind = next((row, type(cell)) for row, cell in enumerate(cells) if type(cell) not in sorts)
        what, fix = f"{kind.__name__} is no text, number, truth value or date", "convert the column to text or numbers"
        what = "Complex data not supported" if issubclass(kind, complex | np.complexfloating) else what
        raise InputError(what, where=place("", name, row), fix="decode it first" if issubclass(kind, bytes) else fix)
    found = [None if is_missing(cell) else cell for cell in cells]
    present = {sorts[type(cell)] for cell in found if cell is not None} or {sort for sort in sorts.values() if sort}
    column = _alike(name, found, present.pop()) if len(present) == 1 else None
    if column is not None:
        return column
    texts = [None if cell is None else _SORTS[sorts[type(cell)]][2](cell) for cell in found]
    given = [math.nan if cell is None else _SORTS[sorts[type(cell)]][1](cell) for cell in found]
    truths, moments = (np.array([sorts.get(type(cell)) == sort for cell in found]) for sort in ("truth", "moment"))
    return TextColumn(name, _series(name, texts), given=GivenCells(np.array(given), truths, moments))


def _series(name: str, texts: list[str | None]) -> pl.Series:
    """Texts as polars holds them, which has no place for half of a surrogate pair."""
    try:
        return pl.Series(name, texts, dtype=pl.String)
    except UnicodeEncodeError as error:
        row = texts.index(error.object) if error.object in texts else None
        what = f"{error.object[error.start]!r} is no character, but half of a pair"
        raise InputError(what, where=place("", name, row), fix="mend the text that it comes from") from None


def _alike(name: str, cells: list[Any], sort: str) -> Column | None:
    """A column of one sort as numbers; None where its cells are kept as texts."""
    absent = np.fromiter((cell is None for cell in cells), dtype=bool, count=len(cells))
    missing = absent if absent.any() else None
    kinds = {type(cell) for cell in cells if cell is not None}
    if sort == "truth":
        return NumberColumn(name, np.array([bool(cell) for cell in cells]), missing)
    if sort == "integer":
        with contextlib.suppress(OverflowError):  # beyond 64 bits: inference refuses it by name or keeps it as a level
            return NumberColumn(name, np.array([0 if c is None else int(c) for c in cells], dtype=np.int64), missing)
    if sort in ("text", "decimal", "integer") or (len(kinds) > 1 and kinds & {np.float16, np.float32}):
        return None
    if kinds <= {np.float16, np.float32} and kinds:  # whose levels are their own shortest decimals
        return NumberColumn(name, np.array([math.nan if cell is None else cell for cell in cells], dtype=kinds.pop()))
    values = np.array([math.nan if cell is None else _SORTS[sort][1](cell) for cell in cells], dtype=np.float64)
    return NumberColumn(name, values, time="seconds" if sort == "moment" else "", unit="s" if sort == "span" else "")


def _seconds(cell: Any) -> float:
    """Seconds since 1970-01-01T00:00 of a date, in UTC where it has a time zone."""
    if isinstance(cell, np.datetime64):
        return float((cell - np.datetime64(0, "s")) / np.timedelta64(1, "s"))
    if not isinstance(cell, datetime.datetime):
        return float((cell - EPOCH.date()).total_seconds())
    local: datetime.datetime = cell.replace(tzinfo=None)
    return (local - (cell.utcoffset() or datetime.timedelta()) - EPOCH).total_seconds()


def _span(cell: Any) -> float:
    return float(cell / np.timedelta64(1, "s")) if isinstance(cell, np.timedelta64) else float(cell.total_seconds())


def _shortest(cell: Any) -> str:
    return number_key(float(str(cell)) if isinstance(cell, np.float16 | np.float32) else float(cell))


_SORTS: dict[str, tuple[tuple[type, ...], Callable[[Any], float], Callable[[Any], str]]] = {
    "truth": ((bool, np.bool_), float, lambda cell: "true" if cell else "false"),
    "moment": ((datetime.date, np.datetime64), _seconds, lambda cell: moment_key(_seconds(cell))),
    # before integers, which a span is to numpy
    "span": ((datetime.timedelta, np.timedelta64), _span, lambda cell: number_key(_span(cell))),
    "integer": (
        (int, np.integer),
        lambda cell: float(cell) if abs(int(cell)) <= LARGEST_EXACT_INTEGER else math.nan,
        lambda cell: str(int(cell)),
    ),
    "number": ((float, np.floating), float, _shortest),
    "decimal": ((Decimal,), lambda _: math.nan, str),
    "text": ((str,), lambda _: math.nan, str.__str__),
}
"""What the cells of a Python type are: the types, and the number and the text that such a cell is; NaN where the text
alone counts."""


def sort_of(kind: type) -> str | None:
    """What the cells of a Python type are, in a word; "" for missing ones, None for what is no cell."""
    if kind is type(None) or kind.__name__ in ("NAType", "NaTType"):
        return ""
    return next((sort for sort, (kinds, _, _) in _SORTS.items() if issubclass(kind, kinds)), None)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN, NaT, the missing value of a data frame or the empty text."""
    if isinstance(cell, str):
        return not cell
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or bool(cell != cell)


def _column_name(label: Any) -> str:
    if isinstance(label, tuple):  # of a frame whose columns have several levels
        return ".".join(map(str, label))
    return label if isinstance(label, str) else str(label)
