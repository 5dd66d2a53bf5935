"""Table: encoded columns beside the features that say what they mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.schema import MISSING_CODE, Feature
from rulekit.tables.storage import PART, StoredArrays

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """n rows under d features; `arrays[j]` holds feature j, encoded as rulekit.schema says, in memory or on disk.

    numeric: float32 or float64 by the feature's precision, NaN for missing; Boolean: float32 of 0, 1, NaN;
    categorical: int32 codes (0 missing, 1 unseen, 2.. the feature's levels).
    source names the file for messages; `notes` are lines a user should see (what was inferred and why); `merged`
    counts, per column, the distinct values that rounding to float32 merged; `interactions` are those of the schema
    that the rows were encoded under (none where the columns were inferred).
    Raises InputError if shapes or types do not fit.
    """

    features: tuple[Feature, ...]
    arrays: Sequence[Array]
    n_rows: int
    source: str = ""
    notes: tuple[str, ...] = ()
    merged: dict[str, int] = field(default_factory=dict)
    interactions: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.features) != len(self.arrays):
            raise InputError(f"{len(self.features)} features but {len(self.arrays)} columns", where=self.source)
        held: Sequence[Any] = self.arrays.columns if isinstance(self.arrays, StoredArrays) else self.arrays
        for feature, array in zip(self.features, held, strict=True):
            if array.dtype != encoded_dtype(feature) or array.shape != (self.n_rows,):
                raise InputError(
                    f"array of {array.dtype}{array.shape}, expected {encoded_dtype(feature)}({self.n_rows},)",
                    where=f"column {feature.name!r}",
                )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(feature.name for feature in self.features)

    def __len__(self) -> int:
        return self.n_rows

    def array(self, name: str) -> Array:
        """The encoded array of one column; raises InputError if there is none of that name."""
        try:
            return self.arrays[self.names.index(name)]
        except ValueError:
            raise InputError(f"no column {name!r}", where=self.source or "table") from None

    def blocks(self, names: tuple[str, ...] | None = None, size: int = PART >> 1) -> Iterator[Table]:
        """The rows in their order, of a table on disk `size` at a time; columns not in `names` are all missing."""
        if not isinstance(self.arrays, StoredArrays):
            yield self
            return
        read = [names is None or feature.name in names for feature in self.features]
        for start in range(0, self.n_rows, size):
            rows = min(size, self.n_rows - start)
            arrays = tuple(
                column.read(start, start + rows) if wanted else missing_cells(feature, rows)
                for feature, column, wanted in zip(self.features, self.arrays.columns, read, strict=True)
            )
            yield Table(self.features, arrays, rows, self.source, interactions=self.interactions)

    def take(self, rows: Array) -> Table:
        """The rows of an index array or Boolean mask."""
        arrays: Sequence[Array]
        if isinstance(self.arrays, StoredArrays):
            arrays = self.arrays.taken(rows)
        else:
            arrays = tuple(array[rows] for array in self.arrays)
        n_rows = int(np.count_nonzero(rows)) if rows.dtype == bool else len(rows)
        return Table(self.features, arrays, n_rows, self.source, self.notes, self.merged, self.interactions)

    def select(self, names: tuple[str, ...]) -> Table:
        """The named columns, in that order."""
        where = {name: i for i, name in enumerate(self.names)}
        missing = [name for name in names if name not in where]
        if missing:
            raise InputError(f"no column {missing[0]!r}", where=self.source or "table")
        picked = [where[name] for name in names]
        return Table(
            tuple(self.features[i] for i in picked),
            StoredArrays(tuple(self.arrays.columns[i] for i in picked))
            if isinstance(self.arrays, StoredArrays)
            else tuple(self.arrays[i] for i in picked),
            self.n_rows,
            self.source,
            self.notes,
            {name: count for name, count in self.merged.items() if name in names},
            self.interactions,
        )


def missing_cells(feature: Feature, n_rows: int) -> Array:
    """A read-only column of missing cells that takes no memory."""
    missing = MISSING_CODE if feature.kind == "categorical" else np.nan
    return np.broadcast_to(np.array(missing, dtype=encoded_dtype(feature)), (n_rows,))


def encoded_dtype(feature: Feature) -> np.dtype[Any]:
    """The dtype of a feature's encoded array."""
    if feature.kind == "categorical":
        return np.dtype(np.int32)
    return np.dtype(np.float64 if feature.kind == "numeric" and feature.precision == "float64" else np.float32)
