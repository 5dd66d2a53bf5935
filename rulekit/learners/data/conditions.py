"""Conditions on codes as nodes of the rule graph."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rulekit.arrays import Array, Bools
from rulekit.dates import cut_between
from rulekit.errors import InputError
from rulekit.graph.leaves import leaf_of_codes
from rulekit.graph.nodes import FALSE, TRUE, And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.learners.data.binning import BinnedColumn, assign_bins, bin_column, code_type, numeric_column
from rulekit.learners.data.codes import MemoryCodes
from rulekit.learners.data.problem import HOLDS, FixedColumn, Problem
from rulekit.learners.data.words import WordColumn, with_word_columns
from rulekit.learners.faults import check_codes
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE
from rulekit.tables.table import Table


def condition_node(column: BinnedColumn, condition: Bools) -> Node:
    """The Boolean node of a set of codes; a level that no training row has, or never seen, is on the side of code 1."""
    if len(condition) != column.n_codes:
        check_codes(condition, column, bool)
    if isinstance(column, FixedColumn):
        return column.condition_node(condition)
    name, missing = column.feature.name, bool(condition[0])
    held = np.flatnonzero(condition[1:]) + 1
    if len(held) == 0:
        return Missing(name) if missing else FALSE
    if column.feature.kind == "categorical":
        return _membership(column, condition)
    if len(held) == column.n_codes - 1:
        return Not(Missing(name)) if not missing else TRUE
    if isinstance(column, WordColumn):
        return column.holds(bool(held[0] == 2), missing)
    if column.feature.kind == "boolean":
        return IsTrue(name, missing) if held[0] == 2 else Not(IsTrue(name, not missing))
    breaks = np.flatnonzero(np.diff(held) > 1)
    firsts, lasts = np.append(held[0], held[breaks + 1]), np.append(held[breaks], held[-1])
    runs = [_interval(column, int(a), int(b), missing) for a, b in zip(firsts, lasts, strict=True)]
    return runs[0] if len(runs) == 1 else Or(runs)


def _membership(column: BinnedColumn, condition: Bools) -> Node:
    """The levels of a set of codes; with the pooled ones by the shorter of two lists: who is in, or not who is out."""
    feature, missing, unseen = column.feature, bool(condition[MISSING_CODE]), bool(condition[UNSEEN_CODE])
    chosen = dict(zip(column.levels, condition[FIRST_LEVEL_CODE:].tolist(), strict=True))
    held = [chosen.get(level, unseen) for level in feature.levels]
    if unseen and all(held):
        return TRUE if missing else Not(Missing(feature.name))
    if unseen and held.count(False) <= held.count(True):
        return Not(leaf_of_codes(feature, [not missing, False, *(not holds for holds in held)]))
    return leaf_of_codes(feature, [missing, unseen, *held])


def _interval(column: BinnedColumn, first: int, last: int, missing: bool) -> Node:
    name, bounds = column.feature.name, list[Node]()
    if first > 1:
        bounds.append(Compare(name, ">", cut_of(column, first - 1), missing))
    if last < column.n_codes - 1:
        bounds.append(Compare(name, "<=", cut_of(column, last), missing))
    return bounds[0] if len(bounds) == 1 else And(bounds)


def cut_of(column: BinnedColumn, below: int) -> float:
    """The threshold between bin `below` and the next."""
    low, high = float(column.high[below]), float(column.low[below + 1])
    try:
        return cut_between(low, high, column.feature)
    except ValueError as error:  # minus infinity beside the lowest number there is
        fix = "take one of the two for missing, or use float64"
        raise InputError(str(error), where=f"column {column.feature.name!r}", fix=fix) from None


_CUTS, _LEVELS = 8, 20


def simple_conditions(problem: Problem, j: int) -> Iterator[Bools]:
    """Of a column: cuts at quantiles, levels that are frequent, and missing cells, each where some row has them."""
    column = problem.columns[j]
    codes = np.arange(column.n_codes)
    counts = np.bincount(problem.codes[j], problem.weights, column.n_codes)
    if counts[0] > 0.0:
        yield codes == 0
    if column.feature.kind in ("boolean", "text") or isinstance(column, FixedColumn):
        yield HOLDS
        return
    if column.feature.kind == "categorical" and not column.ordered:
        frequent = np.flatnonzero(counts >= 0.005 * counts.sum())
        frequent = frequent[frequent >= FIRST_LEVEL_CODE]
        for code in frequent[np.argsort(-counts[frequent], kind="stable")][:_LEVELS]:
            yield codes == code
        return
    below = np.cumsum(counts[1:])
    wanted = np.searchsorted(below, below[-1] * np.arange(1, _CUTS + 1) / (_CUTS + 1)) + 1
    for cut in dict.fromkeys(int(code) for code in wanted if code < column.n_codes - 1):
        yield (codes >= 1) & (codes <= cut)
        if counts[0] > 0.0:
            yield codes > cut


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
