"""The rows of one split as every learner gets them: typed columns, or one-hot and medians from the training rows.

They travel in one file of plain arrays, so that any environment with numpy can read them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Training or test rows: `typed` columns (numbers with NaN, text with "" where missing), `matrix` [n, m] of one-hot
    levels and numbers without gaps, labels [n] of 0 and 1.
    """

    typed: Mapping[str, Array]
    matrix: npt.NDArray[np.float64]
    labels: npt.NDArray[np.int8]

    @property
    def nominal(self) -> list[bool]:
        """Per typed column, whether it is text."""
        return [column.dtype.kind == "U" for column in self.typed.values()]


def encode(train: Mapping[str, Array], test: Mapping[str, Array]) -> tuple[Array, Array]:
    """One column per level that a training row has, missing among them; missing numbers are the training median.

    A level that only test rows have is 0 in all columns. A column of one value is left out.
    """
    encoded: list[tuple[Array, Array]] = []
    for name, column in train.items():
        other = test[name]
        if column.dtype.kind == "U":
            encoded += [((column == level), (other == level)) for level in np.unique(column)]
        else:
            known = column[~np.isnan(column)]
            median = float(np.median(known)) if len(known) else 0.0
            encoded.append((np.where(np.isnan(column), median, column), np.where(np.isnan(other), median, other)))
    kept = [pair for pair in encoded if (pair[0] != pair[0][0]).any()]
    return tuple(np.column_stack([pair[k] for pair in kept]).astype(np.float64) for k in (0, 1))  # type: ignore[return-value]


def write_split(path: Path, columns: Mapping[str, Array], labels: Array, train: Array, test: Array) -> None:
    """Save both parts of a split."""
    parts = [{name: column[rows] for name, column in columns.items()} for rows in (train, test)]
    matrices = encode(*parts)
    arrays: dict[str, Array] = {"names": np.array(list(columns))}
    for k, (rows, part, matrix) in enumerate(zip((train, test), parts, matrices, strict=True)):
        arrays |= {f"labels{k}": labels[rows], f"matrix{k}": matrix}
        arrays |= {f"typed{k}.{j}": column for j, column in enumerate(part.values())}
    np.savez(path, **arrays)  # type: ignore[arg-type]


def read_split(path: Path) -> tuple[Part, Part]:
    """The training part and the test part of a saved split."""
    with np.load(path, allow_pickle=False) as saved:
        names = saved["names"].tolist()
        train, test = (
            Part(
                {name: saved[f"typed{k}.{j}"] for j, name in enumerate(names)}, saved[f"matrix{k}"], saved[f"labels{k}"]
            )
            for k in (0, 1)
        )
    return train, test


def first_rows(part: Part, count: int) -> Part:
    """About `count` rows, spread evenly."""
    rows: Sequence[int] | Array = np.arange(0, len(part.labels), max(1, len(part.labels) // count))
    return Part({name: column[rows] for name, column in part.typed.items()}, part.matrix[rows], part.labels[rows])
