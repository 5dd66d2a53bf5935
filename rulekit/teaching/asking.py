"""Rows for a teacher to answer that the table does not have, drawn from the table's own distribution.

The columns form a tree that joins those that say most of each other (C. Chow and C. Liu, Approximating discrete
probability distributions with dependence trees, 1968). The first column takes the cell of a random row. Each further
column takes its cell from a random row that agrees with the neighbour in the tree, up to the bin of a number. So every
cell is one of the table's, missing cells and levels are as frequent as there, and so are the pairs of neighbours.
All else varies freely, so that the rows also lie in cells that the table hardly reaches.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.errors import InputError
from rulekit.learners.data.binning import bin_table
from rulekit.tables.table import StoredArrays, Table

DRAWN = 4
"""Rows that are drawn for each one that the teacher is asked about."""
_SURE = 0.2
"""The weight of a row if the rules are sure of its class; it rises to 1.2 if all classes are as likely."""
_BINS, _ROWS_A_PAIR, _ROWS, _COLUMNS = 12, 5.0, 20_000, 200


@dataclass(frozen=True, slots=True, eq=False)
class RowSampler:
    """Draws rows from a table.

    codes [columns, rows]: the bin or level of each cell. neighbours: by column in order the one before it, or -1.
    places: the numbers of these columns in the table. n_columns: how many columns the table has.
    """

    codes: Ints
    neighbours: dict[int, int]
    places: tuple[int, ...]
    n_columns: int

    @classmethod
    def of(cls, table: Table) -> RowSampler:
        """The sampler of a table in memory; raises InputError where no column can be sampled."""
        if isinstance(table.arrays, StoredArrays):
            raise InputError("rows are made from a table in memory", where="--ask", fix="leave --memory out")
        n_bins = int(np.clip(np.sqrt(table.n_rows / _ROWS_A_PAIR), 2, _BINS))
        used = replace(table, features=tuple(replace(feature, role="use") for feature in table.features))
        columns, binned = bin_table(used, np.ones(table.n_rows), n_bins)
        if not columns:
            raise InputError("no column of numbers or categories is left to make rows of", where="--ask")
        codes = np.stack([np.unique(binned[j], return_inverse=True)[1] for j in range(len(columns))]).astype(np.int64)
        rows = np.arange(0, table.n_rows, -(-table.n_rows // _ROWS))
        neighbours = _tree(_shared_information(codes[:_COLUMNS, rows]))
        neighbours |= dict.fromkeys(range(_COLUMNS, len(codes)), 0)
        return cls(codes, neighbours, tuple(column.index for column in columns), len(table.features))

    def draw(self, rows: int, random: np.random.Generator) -> Ints:
        """By column of the table and made row, the row of the table whose cell it has [columns of the table, rows]."""
        found = np.empty((len(self.codes), rows), dtype=np.int64)
        for column, before in self.neighbours.items():
            if before < 0:
                found[column] = random.integers(self.codes.shape[1], size=rows)
                continue
            order = np.argsort(self.codes[before], kind="stable")
            starts = np.concatenate([[0], np.cumsum(np.bincount(self.codes[before]))])
            code = self.codes[before, found[before]]
            first, after = starts[code], starts[code + 1]
            found[column] = order[first + (random.random(rows) * (after - first)).astype(np.int64)]
        whole = np.repeat(found[:1], self.n_columns, axis=0)  # a text goes with the first column
        whole[list(self.places)] = found
        return whole


def _shared_information(codes: Ints) -> Floats:
    """What each two columns [d, n] say of each other, in nats, less what chance lets them seem to say."""
    n, sizes = codes.shape[1], codes.max(axis=1) + 1
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ones = np.zeros((n, int(sizes.sum())), dtype=np.float32)
    ones[np.arange(n), codes + starts[:, None]] = 1.0
    joint = (ones.T @ ones).astype(np.float64) / n
    alone = joint.diagonal()
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(joint > 0.0, joint * np.log(joint / np.outer(alone, alone)), 0.0)
    sums = np.add.reduceat(np.add.reduceat(parts, starts, axis=0), starts, axis=1)
    return np.asarray(sums - np.outer(sizes - 1, sizes - 1) / (2.0 * n))


def _tree(weights: Floats) -> dict[int, int]:
    """The spanning tree of most weight [d, d], from column 0 on: by column the one before it (R. Prim, 1957)."""
    before, best, of = {0: -1}, weights[0].copy(), np.zeros(len(weights), dtype=np.int64)
    while len(before) < len(weights):
        best[list(before)] = -np.inf
        column = int(np.argmax(best))
        before[column] = int(of[column])
        nearer = weights[column] > best
        best, of = np.where(nearer, weights[column], best), np.where(nearer, column, of)
    return before


def least_sure(chances: Floats, rows: int, random: np.random.Generator) -> Ints:
    """The numbers of so many of the drawn rows, those preferred of whose class [n, K] the rules are not sure."""
    unsure = 1.0 - (chances**2).sum(axis=1)
    weight = _SURE + unsure / (1.0 - 1.0 / chances.shape[1])
    return np.sort(random.choice(len(chances), rows, replace=False, p=weight / weight.sum()))


def made_table(table: Table, donors: Ints) -> Table:
    """The rows whose cell in each column is that of the row of the table that `draw` says [columns, rows]."""
    arrays = tuple(array[rows] for array, rows in zip(table.arrays, donors, strict=True))
    return Table(table.features, arrays, donors.shape[1], "made rows", constraints=table.constraints)
