"""Dictionaries: the distinct keys of a column that comes in blocks, and per row the number of its key, on disk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.tables.kinds.choice import Counts, is_number
from rulekit.tables.raw.columns import Codes, Column, LevelColumn, NumberColumn, TextColumn, column_place, factorize
from rulekit.tables.storage import HeldColumn, Memory, Store, StoredColumn, Writer

_KEY_OVERHEAD = 120


@dataclass(slots=True, eq=False)
class TextAllowance:
    """How many bytes the distinct texts of all columns together may still take."""

    left: int = 1 << 62


@dataclass(slots=True, eq=False)
class Dictionary:
    """Keys by number, in the order in which they came, with their rows; `types`: of the columns that they are from."""

    name: str
    store: Store | Memory
    allowance: TextAllowance
    source: str = ""
    number_of: dict[str, int] = field(default_factory=dict)
    types: set[type[Column]] = field(default_factory=set)
    _counts: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _in_order: bool = True
    _codes: Writer | HeldColumn = field(init=False)

    def __post_init__(self) -> None:
        self._codes = self.store.writer(np.int32)

    @property
    def rows(self) -> int:
        return self._codes.rows

    def add(self, column: Column, tokens: tuple[str, ...] = ()) -> npt.NDArray[np.bool_]:
        """The next rows of the column; says which are missing. Raises InputError where its texts do not fit."""
        keys, codes = factorize(column, tokens)
        if (codes >= 0).any() or isinstance(column, LevelColumn):
            self.types.add(type(column))
        self._write(keys, codes)
        return codes < 0

    def add_missing(self, n_rows: int) -> None:
        """So many rows without a value."""
        self._codes.add(np.full(n_rows, -1, dtype=np.int32))

    def _write(self, keys: list[str], codes: Codes) -> None:
        counts = np.bincount(codes + 1, minlength=len(keys) + 1)[1:]
        fresh = [key for key in keys if key not in self.number_of] if self.number_of else keys
        if fresh:
            self.allowance.left -= sum(map(len, fresh)) + _KEY_OVERHEAD * len(fresh)
            if self.allowance.left < 0:
                raise InputError(
                    f"more than {len(self.number_of)} different texts do not fit into the allowed memory",
                    where=column_place(self.source, self.name),
                    fix="ignore the column, or allow more memory",
                )
        if not self.number_of:  # the codes of the first keys are their numbers, and they are in order
            self.number_of = dict(zip(keys, range(len(keys)), strict=True))
            self._counts = counts
            self._codes.add(codes)
            return
        self._in_order = self._in_order and not fresh
        for key in fresh:
            self.number_of[key] = len(self.number_of)
        number = np.array([*(self.number_of[key] for key in keys), -1], dtype=np.int32)
        self._counts = np.concatenate([self._counts, np.zeros(len(self.number_of) - len(self._counts), np.int64)])
        np.add.at(self._counts, number[:-1], counts)
        self._codes.add(number[codes])

    def ordered(self) -> tuple[list[str], Counts, Counts]:
        """The keys in the order of `factorize`, their rows, and the place in that order [keys] of each number.

        Keys that a container listed stay in its order.
        """
        keys = list(self.number_of)
        if self.types == {LevelColumn} or (self._in_order and len(self.types) <= 1):
            return keys, self._counts, np.arange(len(keys))
        if self.types == {NumberColumn} and all(map(is_number, keys)):
            order = sorted(range(len(keys)), key=lambda i: float(keys[i]))
        else:  # text, truth values and dates
            order = sorted(range(len(keys)), key=keys.__getitem__)
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys))
        return [keys[i] for i in order], self._counts[order], place

    def first_row(self, numbers: npt.NDArray[np.int64]) -> tuple[int, str]:
        """The first row that holds one of the numbered keys, and the key."""
        start = 0
        for part in self._codes.column().parts():
            rows = np.flatnonzero(np.isin(part, numbers))
            if len(rows):
                return start + int(rows[0]), list(self.number_of)[part[rows[0]]]
            start += len(part)
        raise AssertionError("no row holds the keys")

    def numbers(self) -> StoredColumn | HeldColumn:
        """The number [n] of each row's key, in order of appearance; -1 is missing."""
        return self._codes.column()

    def kind(self) -> type[Column]:
        """The type of column that the whole would be: text where the blocks differ."""
        return next(iter(self.types)) if len(self.types) == 1 else TextColumn
