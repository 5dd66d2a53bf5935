"""Further rows under columns that are binned already, so that what was learned of their codes goes on to hold.

A row has the code of the bin on whose side of each cut it lies, as the nodes of conditions decide; a level that does
not stand for itself has code 1. Columns whose codes stand for values are binned anew, every value by itself, and keep
the least and the largest value that they have had.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from rulekit.arrays import Array
from rulekit.learners.data.binning import BinnedColumn, assign_bins, bin_column, code_type, numeric_column
from rulekit.learners.data.codes import MemoryCodes
from rulekit.learners.data.conditions import cut_of
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.words import WordColumn, with_word_columns
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE
from rulekit.tables.table import Table


def recoded(rows: Problem, columns: Sequence[BinnedColumn], table: Table, values: Collection[int] = ()) -> Problem:
    """Rows without columns under those of others; table: the rows; values: the columns whose codes are values.

    The columns are those of a table, and behind them those of words.
    """
    own = [column for column in columns if not isinstance(column, WordColumn)]
    found = [
        _with_values(column, table.arrays[column.index])
        if number in values
        else (column, _codes(column, table.arrays[column.index], rows.weights))
        for number, column in enumerate(own)
    ]
    codes = MemoryCodes(tuple(codes for _, codes in found))
    rows = replace(rows, columns=tuple(column for column, _ in found), codes=codes)
    return with_word_columns(rows, table, [column for column in columns if isinstance(column, WordColumn)])


def _codes(column: BinnedColumn, array: Array, weights: Array) -> Array:
    """The codes [n] of an encoded column [n]."""
    if column.feature.kind == "boolean":
        return bin_column(column.feature, column.index, array, weights, None)[1]
    if column.feature.kind == "categorical":
        number_of = {level: number for number, level in enumerate(column.levels, FIRST_LEVEL_CODE)}
        own = [number_of.get(level, UNSEEN_CODE) for level in column.feature.levels]
        code_of = np.array([MISSING_CODE, UNSEEN_CODE, *own], dtype=code_type(column.n_codes))
        return np.asarray(code_of[array])
    cuts = [cut_of(column, below) for below in range(1, column.n_codes - 1)]
    codes = np.searchsorted(np.array(cuts, dtype=array.dtype), array) + 1  # compared in its precision, as nodes do
    codes[np.isnan(array)] = MISSING_CODE
    codes = np.minimum(codes, column.n_codes - 1)  # it may have been all missing
    return np.asarray(codes, dtype=code_type(column.n_codes))


def _with_values(column: BinnedColumn, array: Array) -> tuple[BinnedColumn, Array]:
    """A numeric column with a code for each value [n], and for the ends that it has had."""
    ends = np.array([column.low[1], column.high[-1]], dtype=array.dtype)
    values = np.unique(np.concatenate([ends, array[~np.isnan(array)]]))
    codes = np.empty(len(array), dtype=code_type(1 + len(values)))
    assign_bins(array, values, codes)
    return numeric_column(column.feature, column.index, values, values), codes
