"""Table: encoded columns beside the features that say what they mean, in memory or on disk; and budgets of memory.

Columns on disk are raw files of numbers in a temporary folder, read whole or in parts, never mapped into memory: a file
that is read (not mapped) counts for the memory of the process only while its array is held; so a table larger than
memory is looked at one column, or one block of rows, at a time.
"""

from __future__ import annotations

import contextlib
import errno
import math
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools
from rulekit.errors import InputError
from rulekit.schema import FREE, MISSING_CODE, Constraints, Feature
from rulekit.tables.token_sets import TEXT_DTYPE, TokenSets, joined, no_tokens

Array = npt.NDArray[Any]

PART = 1 << 18
"""Rows that are looked at together where a whole column is not needed."""
_GATHERED = 4  # columns of one matrix that are copied together
_CACHED = 1 << 13  # rows of a matrix that stay in the processor's cache
_MORE_ROOM = "make room, or name another folder in TMPDIR"


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """n rows under d features, in memory or on disk.

    Raises InputError if shapes or types do not fit.

    Parameters
    ----------
    features : tuple of Feature
        The columns.
    arrays : sequence of ndarray [n]
        One for each feature. Numeric: float32 or float64 by the feature's precision, NaN for missing; Boolean: float32
        of 0, 1, NaN; categorical: int32 codes (0 missing, 1 unseen, 2.. the feature's levels); text: TokenSets over
        the feature's levels, which stand in for an array.
    n_rows : int
        The number of rows.
    source : str
        The file, for messages.
    notes : tuple of str
        Lines that a user should see: what was inferred and why.
    merged : dict of int
        By column how many distinct values rounding to float32 merged.
    constraints : Constraints
        Those of the schema that the rows were encoded under (none where the columns were inferred).
    """

    features: tuple[Feature, ...]
    arrays: Sequence[Array]
    n_rows: int
    source: str = ""
    notes: tuple[str, ...] = ()
    merged: dict[str, int] = field(default_factory=dict)
    constraints: Constraints = FREE
    _places: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {feature.name: place for place, feature in enumerate(self.features)})
        if len(self.features) != len(self.arrays):
            raise InputError(f"{len(self.features)} features but {len(self.arrays)} columns", where=self.source)
        for feature, array in zip(self.features, held_columns(self.arrays), strict=True):
            if array.dtype != encoded_dtype(feature) or array.shape != (self.n_rows,):
                what = f"array of {array.dtype}{array.shape}, expected {encoded_dtype(feature)}({self.n_rows},)"
                raise InputError(what, where=f"column {feature.name!r}")
            if isinstance(array, TokenSets) and array.size != len(feature.levels):
                what = f"sets over {array.size} tokens, the feature has {len(feature.levels)}"
                raise InputError(what, where=f"column {feature.name!r}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    def __len__(self) -> int:
        return self.n_rows

    def array(self, name: str) -> Array:
        """Look up the encoded array [n] of one column.

        Parameters
        ----------
        name : str
            The column; raises InputError if there is none of that name.
        """
        return self.arrays[self._place(name)]

    def _place(self, name: str) -> int:
        if name not in self._places:
            raise InputError(f"no column {name!r}", where=self.source or "table")
        return self._places[name]

    def blocks(self, names: tuple[str, ...] | None = None, size: int = PART >> 1) -> Iterator[Table]:
        """Go through the rows in their order, as tables.

        Parameters
        ----------
        names : tuple of str or None
            The columns that are needed; the others come all missing.
        size : int
            Rows at a time.
        """
        stored = isinstance(self.arrays, StoredArrays)
        if not stored and self.n_rows <= size:
            yield self
            return
        left_out = {name for name in self.names if stored and names is not None and name not in names}
        for start in range(0, self.n_rows, size):
            rows = min(size, self.n_rows - start)
            arrays = []
            for feature, column in zip(self.features, held_columns(self.arrays), strict=True):
                if feature.name in left_out:
                    arrays.append(missing_cells(feature, rows))
                else:
                    stored_column = isinstance(column, StoredColumn)
                    arrays.append(column.read(start, start + rows) if stored_column else column[start : start + rows])
            yield Table(self.features, tuple(arrays), rows, self.source, constraints=self.constraints)

    def take(self, rows: Array) -> Table:
        """Take some rows, as a table.

        Parameters
        ----------
        rows : ndarray of int or bool
            Their numbers, or which of them.
        """
        own = self.arrays
        arrays = own.taken(rows) if isinstance(own, StoredArrays) else tuple(array[rows] for array in own)
        return replace(self, arrays=arrays, n_rows=int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows))

    def select(self, names: tuple[str, ...]) -> Table:
        """Take some columns, as a table.

        Parameters
        ----------
        names : tuple of str
            Their names, in the order in which they are to stand.
        """
        picked = [self._place(name) for name in names]
        columns = tuple(held_columns(self.arrays)[i] for i in picked)
        return replace(
            self,
            features=tuple(self.features[i] for i in picked),
            arrays=StoredArrays(columns) if isinstance(self.arrays, StoredArrays) else columns,
            merged={name: count for name, count in self.merged.items() if name in names},
        )


def missing_cells(feature: Feature, n_rows: int) -> Array:
    """A read-only column of missing cells that takes no memory."""
    if feature.kind == "text":
        return no_tokens(n_rows, len(feature.levels))  # type: ignore[return-value]
    missing = MISSING_CODE if feature.kind == "categorical" else np.nan
    return np.broadcast_to(np.array(missing, dtype=encoded_dtype(feature)), (n_rows,))


def encoded_dtype(feature: Feature) -> np.dtype[Any]:
    """The dtype of a feature's encoded array."""
    if feature.kind == "text":
        return TEXT_DTYPE
    if feature.kind == "categorical":
        return np.dtype(np.int32)
    return np.dtype(np.float64 if feature.kind == "numeric" and feature.precision == "float64" else np.float32)


def absent(array: Array | TokenSets) -> Bools:
    """Which cells [n] of an encoded column are missing."""
    if isinstance(array, TokenSets):
        return array.missing
    return np.asarray(np.isnan(array) if array.dtype.kind == "f" else array == MISSING_CODE)


class Store:
    """Where columns are kept: in a temporary folder, or in memory; and how much the distinct texts of all may take.

    The folder goes with the last object that uses it, and at the end of the process.
    """

    def __init__(self, budget: Budget | None = None, *, in_memory: bool = False) -> None:
        self.in_memory = in_memory
        self._text_bytes = 1 << 62 if budget is None else budget.text_bytes
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._files = 0

    @property
    def folder(self) -> Path:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="rulekit-", ignore_cleanup_errors=True)
        return Path(self._folder.name)

    def require(self, n_bytes: int) -> None:
        """Raises InputError where the disk has no room for so many bytes."""
        free = shutil.disk_usage(self.folder).free
        if free < n_bytes:
            what = f"the columns need {n_bytes / 1e6:.0f} MB of disk, {free / 1e6:.0f} MB are free"
            raise InputError(what, where=str(self.folder.parent), fix=_MORE_ROOM)

    def spend(self, n_bytes: int, what: str, where: str) -> None:
        """Raises InputError where so many more bytes of texts do not fit."""
        self._text_bytes -= n_bytes
        if self._text_bytes < 0:
            fix = "ignore the column, or allow more memory"
            raise InputError(f"{what} do not fit into the allowed memory", where=where, fix=fix)

    def writer(self, dtype: npt.DTypeLike) -> EncodedColumn:
        """An empty column that grows at its end."""
        return HeldColumn(np.dtype(dtype)) if self.in_memory else StoredColumn(self, np.dtype(dtype))

    def new_file(self) -> Path:
        """The path of a file that is not there yet."""
        self._files += 1
        return self.folder / str(self._files)


@contextlib.contextmanager
def appending(path: Path) -> Iterator[BinaryIO]:
    """A file to write at its end; raises InputError where the disk is full."""
    try:
        with path.open("ab") as file:
            yield file
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise InputError("the disk is full", where=str(path.parent), fix=_MORE_ROOM) from None


@dataclass(slots=True, eq=False)
class StoredColumn:
    """Numbers of one dtype in a file, which grows at its end."""

    store: Store
    dtype: np.dtype[Any]
    rows: int = 0
    path: Path = field(init=False)

    def __post_init__(self) -> None:
        self.path = self.store.new_file()
        self.path.touch()

    @property
    def shape(self) -> tuple[int]:
        return (self.rows,)

    def add(self, values: Array) -> None:
        """Append values [k], converted to the dtype of the column; raises InputError where the disk is full."""
        with appending(self.path) as file:
            file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.rows += len(values)

    def read(self, start: int = 0, stop: int | None = None) -> Array:
        """The values [stop - start]."""
        stop = self.rows if stop is None else min(stop, self.rows)
        return np.fromfile(self.path, self.dtype, max(0, stop - start), offset=start * self.dtype.itemsize)

    def parts(self, size: int = PART) -> Iterator[Array]:
        """The values in their order, `size` at a time."""
        return (self.read(start, start + size) for start in range(0, self.rows, size))

    def taken(self, rows: Array) -> StoredColumn:
        """Another column of the rows that a Boolean mask or ascending row numbers pick."""
        taken = StoredColumn(self.store, self.dtype)
        for start in range(0, self.rows, PART):
            if rows.dtype == bool:
                own = rows[start : start + PART]
            else:
                first, last = np.searchsorted(rows, (start, start + PART))
                own = rows[first:last] - start
            taken.add(self.read(start, start + PART)[own])
        return taken

    def remove(self) -> None:
        """Give the space on disk back; the column must not be read any more."""
        self.path.unlink(missing_ok=True)


class HeldColumn:
    """A column in memory, of numbers or sets of tokens, as `StoredColumn`; arrays of its dtype are kept uncopied."""

    def __init__(self, dtype: np.dtype[Any], *blocks: Array | TokenSets) -> None:
        self.dtype = dtype
        self.rows = sum(map(len, blocks))
        self._blocks: list[Any] = list(blocks)

    def add(self, values: Array | TokenSets) -> None:
        """Append values [k], converted to the dtype of the column."""
        self._blocks.append(values if isinstance(values, TokenSets) else np.asarray(values, dtype=self.dtype))
        self.rows += len(values)

    def read(self, start: int = 0, stop: int | None = None) -> Any:
        """The values [stop - start], not to be changed."""
        if len(self._blocks) != 1:
            sets = self.dtype == TEXT_DTYPE
            self._blocks = [joined(self._blocks) if sets else np.concatenate([np.zeros(0, self.dtype), *self._blocks])]
        return self._blocks[0][start:stop]

    def parts(self) -> Iterator[Array]:
        """The values in their order."""
        yield self.read()

    def remove(self) -> None:
        """Let the values go; the column must not be read any more."""
        self._blocks = []


@dataclass(frozen=True, slots=True, eq=False)
class StoredArrays(Sequence[Array]):
    """The columns of a table on disk; each is read when it is asked for, and not kept. Sets of tokens are in memory."""

    columns: tuple[StoredColumn | TokenSets, ...]

    def __len__(self) -> int:
        return len(self.columns)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return StoredArrays(self.columns[index])
        column = self.columns[index]
        return column.read() if isinstance(column, StoredColumn) else column

    def taken(self, rows: Array) -> StoredArrays:
        """The rows of a Boolean mask or of ascending row numbers, in files of their own."""
        return StoredArrays(tuple(c.taken(rows) if isinstance(c, StoredColumn) else c[rows] for c in self.columns))


def held_columns(arrays: Sequence[Array]) -> Sequence[Any]:
    """The columns of a table as they are kept: those on disk are not read."""
    return arrays.columns if isinstance(arrays, StoredArrays) else arrays


EncodedColumn = StoredColumn | HeldColumn
"""An encoded column that was gathered block by block."""


def arrays_of(columns: Sequence[EncodedColumn]) -> Sequence[Array]:
    """The columns of a table, where they are: on disk or in memory; a table with one on disk holds sets of tokens."""
    held: Any = tuple(column if isinstance(column, StoredColumn) else column.read() for column in columns)
    return StoredArrays(held) if any(isinstance(column, StoredColumn) for column in columns) else held


def _gathered(arrays: Sequence[Array]) -> Iterator[Array]:
    """Each column as one piece of memory: those of a matrix are copied, a few at a time.

    To go through one column of a matrix takes as long as to go through all.
    """
    for first in range(0, len(arrays), _GATHERED):
        few = list(arrays[first : first + _GATHERED])
        apart = {k: a for k, a in enumerate(few) if not isinstance(a, TokenSets) and not a.flags.c_contiguous}
        for k, array in apart.items():
            few[k] = np.empty_like(array, order="C")
        for start in range(0, len(few[0]), _CACHED):
            for k, array in apart.items():
                few[k][start : start + _CACHED] = array[start : start + _CACHED]
        yield from few


def parts_of(arrays: Sequence[Array]) -> Iterator[Callable[[], Iterator[Any]]]:
    """What goes through each column of a table as often as asked: in one piece, or in parts where it is on disk."""
    for column in arrays.columns if isinstance(arrays, StoredArrays) else _gathered(arrays):
        yield column.parts if isinstance(column, StoredColumn) else partial(iter, [column])


_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}

# Python with its libraries and the compiled kernels, as measured; pandas, if it is installed, is a third of it.
_PROCESS = 330_000_000
_LEAST_SHARE = 40_000_000
ROW_BYTES = 18
"""What a row takes while it is learned from, folds included: its cell before and after, its labels, columns of bins."""

WEIGHT_BYTES = 24
"""And where rows have weights: these, the same as whole numbers, and either while the other is made."""
GROUP_BYTES = 100
"""And where groups of rows must stay in one fold: the graph of what belongs together."""


def parse_memory(memory: int | float | str, where: str = "memory") -> int:
    """Bytes from a number of them, or from text such as 500MB, 2GB or 1.5GiB; raises InputError for anything else."""
    size = math.nan
    if isinstance(memory, str):
        if found := _SIZE.fullmatch(memory):
            size = float(found[1]) * (1024 if found[3] else 1000) ** _POWER[found[2].lower()]
    elif not isinstance(memory, bool):
        size = float(memory)
    if not 0 < size < math.inf:
        raise InputError(f"{memory!r} is no amount of memory", where=where, fix="write 500MB, 2GB or 1.5GiB")
    return int(size)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most memory, in bytes, that the whole process should take, Python and its libraries included.

    rows_per_block: rows of one column that are read together; bytes_per_block: of a text file (0: a share of `total`).
    """

    total: int
    rows_per_block: int = 2 * PART
    bytes_per_block: int = 0

    @property
    def _share(self) -> int:
        return max(self.total - _PROCESS, _LEAST_SHARE)

    @property
    def block_bytes(self) -> int:
        """How much of a text file is parsed at a time."""
        return self.bytes_per_block or int(min(max(self._share // 16, 1 << 20), 1 << 25))

    @property
    def text_bytes(self) -> int:
        """How much the distinct texts of all columns may take."""
        return self._share // 4

    def require_rows(self, n_rows: int, where: str, bytes_a_row: float = ROW_BYTES) -> None:
        """Raises InputError where n rows of so many bytes in memory each do not fit."""
        needed = _PROCESS + n_rows * bytes_a_row
        if needed > self.total:
            what = f"{n_rows} rows need {needed / 1e6:.0f} MB of memory, {self.total / 1e6:.0f} MB are allowed"
            raise InputError(what, where=where, fix=f"allow {math.ceil(needed * 1.05 / 1e6)}MB")
