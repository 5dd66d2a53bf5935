"""A column of numbers that comes in blocks: written as it comes, with what its kind and width depend on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from rulekit.schema import Display, Feature
from rulekit.tables.kinds.choice import (
    FIXED_DECIMALS,
    LIKELY_NUMBERS,
    Decided,
    Width,
    decide_numbers,
    has_decimals,
    width_of,
)
from rulekit.tables.raw.columns import LARGEST_EXACT_INTEGER, SECONDS_PER_DAY, NumberColumn
from rulekit.tables.storage import PART, Array, HeldColumn, Memory, Store, StoredColumn, Writer
from rulekit.tables.table import encoded_dtype

_HEAD = 64


@dataclass(slots=True, eq=False)
class NumberBuilder:
    """Numbers (float32 while that holds them, else float64; NaN is missing), and what is true of all of them.

    present, finite: whether there is such a value; integral, truth_values, whole_days: whether all are; narrow:
    float32 holds them. dtypes: rows and dtype of each block that came.
    """

    store: Store | Memory
    present: bool = False
    finite: bool = False
    integral: bool = True
    truth_values: bool = True
    whole_days: bool = True
    narrow: bool = True
    likely: dict[float, int] = field(default_factory=lambda: dict.fromkeys(LIKELY_NUMBERS, 0))
    dtypes: list[tuple[int, np.dtype[np.generic]]] = field(default_factory=list)
    _writer: Writer | HeldColumn = field(init=False)

    def __post_init__(self) -> None:
        self._writer = self.store.writer(np.float32)

    @property
    def rows(self) -> int:
        return self._writer.rows

    @property
    def bools(self) -> bool:
        """Whether the blocks with values, or all if none has any, are bools by their type."""
        return bool(self.dtypes) and all(dtype.kind == "b" for _, dtype in self.dtypes)

    def add(self, values: Array, dtype: np.dtype[np.generic], time: bool = False) -> None:
        """The next rows: doubles with NaN for missing, and the type that they had."""
        fractions = _has_fraction(values[:_HEAD])
        self._learn(values, dtype, time, fractions)
        if self._writer.dtype == np.float32 and not self.narrow:
            self._widen()
        self.dtypes.append((len(values), dtype))
        if isinstance(self._writer, HeldColumn) and values.dtype == np.float32 and fractions:
            self._writer.add(values)  # no truth values, no integers: the rows of an array are used as they are
        else:
            # Minus zero is zero; an infinity of the wider type is one of the narrower, too.
            self._writer.add(values.astype(self._writer.dtype) + self._writer.dtype.type(0))

    def _learn(self, values: Array, dtype: np.dtype[np.generic], time: bool, fractions: bool) -> None:
        if fractions:
            self.finite, self.integral, self.truth_values = True, False, False
        elif np.isnan(values).all():
            return
        self.present = True
        exact = dtype.kind == "b" or (dtype.kind == "f" and dtype.itemsize <= 4) or dtype.itemsize <= 2
        if self.narrow and not exact:
            with np.errstate(over="ignore"):
                self.narrow = bool(((values.astype(np.float32) == values) | np.isnan(values)).all())
        if self.truth_values:
            self.truth_values = bool(((values == 0.0) | (values == 1.0) | np.isnan(values)).all())
        if self.integral or not self.finite or time:
            finite = np.isfinite(values)
            self.finite = self.finite or bool(finite.any())
            if self.integral:
                self.integral = not np.any(finite & (np.rint(values) != values)) and not np.any(
                    finite & (np.abs(values) > LARGEST_EXACT_INTEGER)
                )
            if time and self.whole_days:
                with np.errstate(invalid="ignore"):
                    self.whole_days = not np.any(finite & (np.mod(values, SECONDS_PER_DAY) != 0.0))
        if self.integral:
            for number in LIKELY_NUMBERS:
                self.likely[number] += int(np.count_nonzero(values == number))

    def _widen(self) -> None:
        wide = self.store.writer(np.float64)
        for part in self._writer.column().parts():
            wide.add(part)
        self._writer.remove()
        self._writer = wide

    def pieces(self) -> Iterator[Array]:
        """The values again, in the blocks and the types in which they came; a missing truth value or integer is NaN."""
        column, start = self._writer.column(), 0
        for rows, dtype in self.dtypes:
            values = column.read(start, start + rows)
            start += rows
            yield values if dtype.kind != "f" else values.astype(dtype)

    def remove(self) -> None:
        """Give the space on disk back."""
        self._writer.remove()

    def encoded(
        self, feature: Feature, display: Display = "plain", width: str | None = None, *, seconds: bool = False
    ) -> tuple[Decided, StoredColumn | HeldColumn]:
        """The feature, decided, and its column as it is encoded; seconds: the values are seconds since 1970-01-01."""
        if feature.kind == "boolean":
            return Decided(feature), self._as(np.dtype(np.float32))
        decided = decide_numbers(feature, display, self._width(width), self.likely, seconds)
        return decided, self._as(encoded_dtype(decided.feature))

    def in_days(self) -> NumberBuilder:
        """Seconds as days."""
        days = NumberBuilder(self.store)
        for part in self._writer.column().parts():
            days.add(part.astype(np.float64) / SECONDS_PER_DAY, np.dtype(np.float64))
        self.remove()
        return days

    def _width(self, declared: str | None) -> Width | None:
        if not self.present:
            return None
        return width_of(self.integral and self.finite, declared, self._merged, self._fixed_decimal)

    def _merged(self) -> int:
        """How many distinct values fewer there are in float32."""
        if self.narrow:
            return 0
        values = self._writer.column().fresh()
        values.sort()
        n = len(values) - int(np.count_nonzero(np.isnan(values)))
        merged = 0
        with np.errstate(over="ignore"):
            for start in range(0, n - 1, PART):
                wide = values[start : min(start + PART + 1, n)]
                narrow = wide.astype(np.float32)
                merged += int(np.count_nonzero((wide[1:] != wide[:-1]) & (narrow[1:] == narrow[:-1])))
        return merged

    def _fixed_decimal(self) -> bool:
        possible = list(FIXED_DECIMALS)
        for part in self._writer.column().parts():
            finite = part[np.isfinite(part)].astype(np.float64)
            possible = [places for places in possible if has_decimals(finite, places)]
        return bool(possible)

    def _as(self, dtype: np.dtype[np.generic]) -> StoredColumn | HeldColumn:
        """The column in another width."""
        column = self._writer.column()
        if column.dtype == dtype:
            return column
        changed = self.store.writer(dtype)
        with np.errstate(over="ignore"):
            for part in column.parts():
                changed.add(part.astype(dtype))
        column.remove()
        return changed.column()


def _has_fraction(head: Array) -> bool:
    """Whether a finite value is no integer."""
    return bool((np.isfinite(head) & (np.rint(head) != head)).any())


def as_number_column(name: str, values: Array, dtype: np.dtype[np.generic]) -> NumberColumn:
    """A block of a NumberBuilder as the raw column that it came from."""
    if dtype.kind == "f":
        return NumberColumn(name, values)
    missing = np.isnan(values)
    whole = np.where(missing, 0, values).astype(bool if dtype.kind == "b" else np.int64)
    return NumberColumn(name, whole, missing if missing.any() else None)
