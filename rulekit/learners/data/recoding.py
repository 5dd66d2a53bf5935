"""Rows under the bins of other rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from rulekit.arrays import Array
from rulekit.learners.data.binning import BinnedColumn, MemoryCodes, assigned, boolean_codes, code_type, numeric_column
from rulekit.learners.data.problem import Problem, WordColumn, cut_of, with_word_columns
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
        else (column, _recoded(column, table.arrays[column.index]))
        for number, column in enumerate(own)
    ]
    codes = MemoryCodes(tuple(codes for _, codes in found))
    rows = replace(rows, columns=tuple(column for column, _ in found), codes=codes)
    return with_word_columns(rows, table, [column for column in columns if isinstance(column, WordColumn)])


def _recoded(column: BinnedColumn, array: Array) -> Array:
    if column.feature.kind == "boolean":
        return boolean_codes(array)
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
    return numeric_column(column.feature, column.index, values, values), assigned(array, values)
