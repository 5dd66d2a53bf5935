"""Boxes of rows: of each column a set of cells, or of a column whose very numbers count an interval of them.

A box is what a search leaves open: a column that keeps its cell, one that changes to any other cell, one that may do
either, one that has gone to a certain cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.tables.table import Array

Ints = npt.NDArray[np.int64]

CHANGED = 2  # behind the cells of a column, missing and unseen: any cell that it may change to
OPEN = 3  # any of these, or its own


@dataclass(frozen=True, slots=True)
class Boxes:
    """n boxes over C columns, of which Q are columns of plain numbers.

    ids [n, C]: the cell of a column, or its number of cells plus CHANGED or OPEN. lows, highs [n, Q]: the ends of the
    interval of a column of plain numbers, in order of the columns; none where low is above high. missing [n, Q]:
    whether it may be missing.
    """

    ids: Ints
    lows: Array
    highs: Array
    missing: Array

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Array) -> Boxes:
        """Some of the boxes."""
        return Boxes(self.ids[rows], self.lows[rows], self.highs[rows], self.missing[rows])

    @staticmethod
    def joined(parts: Sequence[Boxes]) -> Boxes:
        """The boxes of several batches."""
        return Boxes(
            np.concatenate([part.ids for part in parts]),
            np.concatenate([part.lows for part in parts]),
            np.concatenate([part.highs for part in parts]),
            np.concatenate([part.missing for part in parts]),
        )
