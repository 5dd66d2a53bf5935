"""Made tables of any size in float32, written block by block, so that ten million rows need no memory.

`big` is the table of the peer study: normal, uniform and log-normal columns, f3 and f4 correlated .8 with f0 and f2,
and three rules decide the label, 10 % of which are flipped. Further columns go on in the same three kinds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

COLUMNS = 28
BLOCK = 100_000
_NORMAL, _UNIFORM = 14, 21
_DECIDING = (0, 1, 2, 14, 15, 21, 22)  # come first in a narrow table
_FLIPPED = 0.1


@dataclass(frozen=True, slots=True)
class Rows:
    """X [n, d] of float32 and labels y [n] of 0 and 1."""

    X: Array
    y: Array


def columns_of(d: int) -> tuple[int, ...]:
    """Which columns of the recipe a table of d columns has: a narrow one keeps those that decide."""
    if d >= COLUMNS:
        return tuple(range(d))
    return (_DECIDING + tuple(j for j in range(COLUMNS) if j not in _DECIDING))[:d]


def block_of(number: int, n: int, d: int = COLUMNS) -> Rows:
    """Block `number` of n <= BLOCK rows; a block depends on its number and on d alone."""
    rng = np.random.default_rng([7, number, d])
    width = max(d, COLUMNS)
    X = np.empty((n, width), dtype=np.float32)
    for j in range(width):
        kind = j % COLUMNS
        if kind < _NORMAL:
            X[:, j] = rng.standard_normal(n, dtype=np.float32)
        elif kind < _UNIFORM:
            X[:, j] = rng.random(n, dtype=np.float32)
        else:
            X[:, j] = np.exp(rng.standard_normal(n, dtype=np.float32))
    for j, other in ((3, 0), (4, 2)):
        X[:, j] = np.float32(0.8) * X[:, other] + np.float32(0.6) * X[:, j]
    y = (X[:, 0] > 0.35) & (X[:, 1] <= 0.2)
    y |= (X[:, 14] > 0.55) & (X[:, 2] <= 0.5) & (X[:, 21] > 0.8)
    y |= (X[:, 15] <= 0.4) & (X[:, 22] > 1.5)
    y ^= rng.random(n) < _FLIPPED
    return Rows(X if d == width else np.ascontiguousarray(X[:, columns_of(d)]), y.astype(np.int64))


def write(folder: Path, n: int, d: int = COLUMNS) -> Path:
    """X [n, d] and y [n] as X.npy and y.npy in a folder of their own; returns that folder."""
    place = folder / f"big_{n}_{d}"
    place.mkdir(parents=True, exist_ok=True)
    X = np.lib.format.open_memmap(place / "X.npy", mode="w+", dtype=np.float32, shape=(n, d))
    y = np.lib.format.open_memmap(place / "y.npy", mode="w+", dtype=np.int64, shape=(n,))
    for number, start in enumerate(range(0, n, BLOCK)):
        rows = slice(start, min(start + BLOCK, n))
        block = block_of(number, rows.stop - rows.start, d)
        X[rows], y[rows] = block.X, block.y
    X.flush()
    y.flush()
    return place


def read(place: Path | str) -> Rows:
    """The rows of such a folder, in memory."""
    return Rows(np.load(Path(place, "X.npy")), np.load(Path(place, "y.npy")))


def make(n: int, d: int = COLUMNS) -> Rows:
    """X [n, d] and y [n], in memory."""
    blocks = [block_of(k, min(BLOCK, n - start), d) for k, start in enumerate(range(0, n, BLOCK))]
    return Rows(np.concatenate([b.X for b in blocks]), np.concatenate([b.y for b in blocks]))
