"""Literals, rows and weights: what may stand in a rule, the rows of one, sums over rows by code, and fitted weights.

All weights are fitted anew after each rule, by Newton steps on the cells of the rows on which the same rules hold, so
that a step costs as much as there are cells and not rows. Weights are multiples of 2^-20, so that every score is exact;
the sums of a step are of integers: neither depends on the order of the rows, on threads or on the library of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn, Codes, columns_in_matrix, matrix_of, side_by_side
from rulekit.learners.models.plain import Clause, multiples
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.sums_of_rows.histograms import RowCells
from rulekit.learners.sums_of_rows.kernels import compiled, compiled_unless

RowNumbers = npt.NDArray[np.uint32]

_FINE = 13
_COUNT, _CURVATURE = 13, 25
_ROWS = 4000
"""A gradient is at most 2^13 and a curvature, four times as fine, too: 4,000 rows stay within the fields."""
_TOGETHER = 64
_LARGEST = 64.0


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Codes of some columns one after another: their places [m] among all codes.

    columns [c]; starts [c + 1]: where each begins, and the end; within [m]: the number of the column of each code.
    """

    places: Ints
    columns: Ints
    starts: Ints
    within: Ints

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], offsets: Ints, which: Sequence[int], first: Sequence[int]) -> Block:
        """The codes from the first on of some columns; one without any is left out."""
        kept = [j for j in which if columns[j].n_codes > first[j]]
        ranges = [np.arange(offsets[j] + first[j], offsets[j + 1]) for j in kept]
        sizes = np.array([len(codes) for codes in ranges], dtype=np.int64)
        places = np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
        starts = np.append(0, np.cumsum(sizes))
        return cls(places, np.array(kept, dtype=np.int64), starts, np.repeat(np.arange(len(kept)), sizes))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The codes of all columns one after another, those of ordered ones and of the others, and what may be in a rule.

    offsets [d + 1]; ways [s]: the logarithm of s factorial.
    """

    columns: tuple[BinnedColumn, ...]
    offsets: Ints
    ordered: Block
    unordered: Block
    allowed: Allowed
    ways: Floats

    @classmethod
    def of(cls, columns: tuple[BinnedColumn, ...], allowed: Allowed) -> Layout:
        offsets = np.append(0, np.cumsum([column.n_codes for column in columns], dtype=np.int64))
        usable = np.flatnonzero(allowed.usable).tolist()
        first = [column.first_known for column in columns]
        ordered = Block.of(columns, offsets, [j for j in usable if columns[j].ordered], first)
        unordered = Block.of(columns, offsets, [j for j in usable if not columns[j].ordered], [0] * len(columns))
        most = max((column.n_codes for column in columns), default=1)
        ways = np.append(0.0, np.cumsum(np.log(np.arange(1, most + 2))))
        return cls(columns, offsets, ordered, unordered, allowed, ways)


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A condition [n_codes] on the codes of one column; above: +1 `x > c`, -1 `x <= c`, 0 a set of levels.

    reads: the columns of the table below one that is a fixed condition.
    """

    column: int
    condition: Bools
    above: int
    reads: tuple[int, ...] = ()


Literals = tuple[Literal, ...]


def clause_of(literals: Literals) -> Clause:
    """By column the codes on which all literals hold."""
    clause: Clause = {}
    for literal in literals:
        known = clause.get(literal.column)
        clause[literal.column] = literal.condition if known is None else known & literal.condition
    return clause


def with_literal(literals: Literals, new: Literal) -> Literals:
    """The literals and one more, which takes the place of one on the same side of the same column."""
    kept = tuple(old for old in literals if (old.column, old.above) != (new.column, new.above))
    for old in literals:
        if old not in kept:
            new = Literal(new.column, old.condition & new.condition, new.above)
    return (*kept, new)


@dataclass(frozen=True, slots=True)
class Penalties:
    """What a rule has to be worth.

    ridge: of its weight; damping: added to its curvature; least: weight of rows inside and outside of it;
    per_literal: price of each literal but the first, as a decrease of the loss; most: literals of a rule. bold: rules
    cost so little that they are taken only where they are clearly better.
    """

    ridge: float
    damping: float
    least: float
    per_literal: float
    most: int
    bold: bool = False


# Sums over rows ---------------------------------------------------------------------------------------------------


def probabilities(scores: Floats) -> Floats:
    """1 / (1 + exp(-score)) [C]."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(scores, -_LARGEST, _LARGEST))))


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """What each row adds: [n] with its three fields in one integer, or [n, 3]; their total [3], the units [3] of it.

    The gradient and the curvature of the log loss at the scores of the rows' cells, and their weight. A row of weight 2
    adds what two rows add.
    """

    each: Ints
    total: Ints
    units: Floats

    @classmethod
    def of(
        cls, scores: Floats, counts: Ints, cell: npt.NDArray[Any], labels: Ints, weights: Ints, unit: float
    ) -> Values:
        """Of the scores [C] of cells with these counts [C, 2]; unit: what one unit of the rows' weights is."""
        shares = probabilities(scores)
        gradient = np.rint(np.column_stack([shares, shares - 1.0]) * 2.0**_FINE).astype(np.int64)
        curvature = np.rint(shares * (1.0 - shares) * 2.0 ** (_FINE + 2)).astype(np.int64)
        equal = weights.strides == (0,) and len(weights) > 0
        shared = int(weights[0]) if equal else 1
        counts = counts // shared
        total = np.array([(gradient * counts).sum(), (curvature * counts.sum(axis=1)).sum(), counts.sum()])
        by_cell = (gradient << (_CURVATURE + _COUNT)) + (curvature[:, None] << _COUNT) + 1
        units = np.array([2.0**-_FINE, 2.0 ** -(_FINE + 2), 1.0]) * (unit * shared)
        each = by_cell[cell, labels]
        return cls(each if equal else np.column_stack(_fields(each)) * weights[:, None], total, units)

    def gain(self, sums: Ints, damping: float) -> float:
        """Twice the decrease of the loss that a rule of these sums [3] promises, the bias adapting itself."""
        (gradient, curvature, _), (of_all, all_curvature, _) = sums * self.units, self.total * self.units
        share = curvature / all_curvature
        away = gradient - of_all * share
        return float(away * away / (curvature * (1.0 - share) + damping))


def _fields(packed: Ints) -> tuple[Ints, Ints, Ints]:
    curvature = (packed >> _COUNT) & ((1 << _CURVATURE) - 1)
    return packed >> (_COUNT + _CURVATURE), curvature, packed & ((1 << _COUNT) - 1)


def sums_by_code(codes: Codes, layout: Layout, rows: RowNumbers, values: Values) -> Ints:
    """The sums [codes, 3] over some rows, whose numbers are given, by the code of every column."""
    sums = np.zeros((int(layout.offsets[-1]), 3), dtype=np.int64)
    kernel = _add_fields if values.each.ndim == 1 else _add
    for columns, starts, ends in _groups(layout, columns_in_matrix(codes)):
        matrix, where = matrix_of(codes, columns)
        kernel(matrix, where.astype(np.uint64), starts, ends, rows, values.each, sums)
    return sums


@lru_cache(maxsize=4)
def _groups(layout: Layout, width: int) -> list[tuple[Ints, npt.NDArray[np.uint64], Ints]]:
    """Columns that are read together, and where the codes of each begin and end among all.

    Kept, since the sums of a few rows take no longer than to find these; width: see `columns_in_matrix`.
    """
    groups = side_by_side(width, np.arange(len(layout.columns)), _TOGETHER)
    return [(group, layout.offsets[group].astype(np.uint64), layout.offsets[group + 1]) for group in groups]


def _fields_at_once(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    chosen = [field.astype(np.float64) for field in _fields(values[rows])[:2]]
    for place, start, end in zip(where.tolist(), starts.tolist(), ends.tolist(), strict=True):
        own = matrix[rows, place]
        for k, weights in enumerate((*chosen, None)):
            sums[start:end, k] += np.bincount(own, weights, end - start).astype(np.int64)


@compiled_unless(_fields_at_once)
def _add_fields(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    packed = np.zeros(len(sums), dtype=np.int64)
    for first in range(0, len(rows), _ROWS):
        for i in range(first, min(first + _ROWS, len(rows))):
            row = rows[i]
            for j in range(len(where)):
                packed[starts[j] + np.uint64(matrix[row, where[j]])] += values[row]
        for j in range(len(where)):
            for code in range(np.int64(starts[j]), ends[j]):
                found = packed[code]
                if found != 0:
                    sums[code, 0] += found >> (_COUNT + _CURVATURE)
                    sums[code, 1] += (found >> _COUNT) & ((1 << _CURVATURE) - 1)
                    sums[code, 2] += found & ((1 << _COUNT) - 1)
                    packed[code] = 0


@compiled
def _add(matrix: Any, where: Any, starts: Any, ends: Any, rows: Any, values: Any, sums: Any) -> None:
    for i in range(len(rows)):
        row = rows[i]
        for j in range(len(where)):
            k = starts[j] + np.uint64(matrix[row, where[j]])
            for field in range(3):
                sums[k, field] += values[row, field]


# Rows as ascending numbers ------------------------------------------------------------------------------------------


def parted(codes: Codes, rows: RowNumbers, literal: Literal) -> tuple[RowNumbers, RowNumbers]:
    """The rows on which a literal holds, and the others."""
    held = literal.condition[codes[literal.column][rows]]
    return rows[held], rows[~held]


def rows_of(codes: Codes, n: int, literals: Literals) -> RowNumbers:
    """The rows, of n, on which all literals hold."""
    rows = np.arange(n, dtype=np.uint32)
    for literal in literals:
        rows = parted(codes, rows, literal)[0]
    return rows


def mask_of(rows: RowNumbers, n: int) -> Bools:
    """Which of n rows they are [n]."""
    held = np.zeros(n, dtype=bool)
    held[rows] = True
    return held


# Weights -------------------------------------------------------------------------------------------------------------


_GRID = 2.0**-20
_BITS = 51
_PARTS = tuple(0.5**halving for halving in range(12))


@dataclass(frozen=True, slots=True, eq=False)
class RuleWeights:
    """The bias and the weights [K] of the rules, multiples of 2^-20; loss: with the ridge, in rows."""

    bias: float
    weights: Floats
    loss: float

    def scores(self, holds: Bools) -> Floats:
        """The exact sums [C]."""
        return np.asarray(holds @ self.weights + self.bias)


class Loss:
    """The penalised log loss of cells: ridge * |weights|^2 / 2 more; unit: what one unit of weight is in rows.

    signs [K]: 1 or -1 where a weight may have that sign only.
    """

    def __init__(self, cells: RowCells, ridge: float, unit: float, signs: Floats) -> None:
        self.ridge, self.unit, self.signs = ridge, unit, signs
        self.holds, self.positive = cells.holds.astype(np.float64), cells.counts[:, 1]
        self.totals = cells.counts.sum(axis=1).astype(np.float64)
        # all integers that are added up have less than 52 bits together; what one of them is in rows
        self.scale = float(2.0 ** (np.frexp(self.totals.sum())[1] - _BITS))

    def at(self, bias: float, weights: Floats) -> RuleWeights:
        """The loss at some weights, which are rounded to the grid first."""
        weights = np.clip(multiples(weights, _GRID), -_LARGEST, _LARGEST)
        weights = np.where(self.signs * weights < 0.0, 0.0, weights)
        bias = min(max(round(bias / _GRID) * _GRID, -_LARGEST), _LARGEST)
        scores = self.holds @ weights + bias
        # counts * log(1 + exp(z)) + counts * log(1 + exp(-z)), which differ by z
        losses = self.totals * (np.maximum(scores, 0.0) + np.log1p(np.exp(-np.abs(scores))))
        losses -= self.positive * scores
        ridge = 0.5 * self.ridge * float((weights**2).sum())
        return RuleWeights(bias, weights, float(losses.sum()) * self.unit + ridge)

    def slopes(self, at: RuleWeights) -> Floats:
        """The gradient [K + 1], of the bias first."""
        each = np.rint((self.totals * self.shares(at) - self.positive) / self.scale)
        found = np.append(each.sum(), each @ self.holds) * (self.scale * self.unit)
        return np.asarray(found + np.append(0.0, self.ridge * at.weights))

    def curvatures(self, at: RuleWeights) -> Floats:
        """The second derivatives [K + 1, K + 1], of the bias first; slightly more, so that there is an inverse."""
        shares = self.shares(at)
        each = np.rint(self.totals * (shares * (1.0 - shares)) / self.scale)
        holds = np.column_stack([np.ones(len(each)), self.holds])
        found = (holds * each[:, None]).T @ holds * (self.scale * self.unit)
        found[np.diag_indices_from(found)] += np.append(0.0, np.full(len(found) - 1, self.ridge))
        found[np.diag_indices_from(found)] += 1e-9 * (1.0 + found.diagonal())
        return np.asarray(found)

    def shares(self, at: RuleWeights) -> Floats:
        """The probability of label 1 [C]."""
        return probabilities(self.holds @ at.weights + at.bias)


def newton(loss: Loss, at: RuleWeights, steps: int, tolerance: float = 1e-9) -> RuleWeights:
    """Weights of less loss after so many steps; every second one takes the curvatures of the one before."""
    at, inverse = loss.at(at.bias, at.weights), np.zeros(0)
    for step in range(steps):
        if step % 2 == 0:
            inverse = np.asarray(np.linalg.inv(loss.curvatures(at)))
        move = inverse @ loss.slopes(at)
        # after the move, or a half of it, a quarter, ..: the first of less loss
        tried = (loss.at(at.bias - float(move[0]) * part, at.weights - move[1:] * part) for part in _PARTS)
        better = next((each for each in tried if each.loss < at.loss), None)
        if better is None or at.loss - better.loss <= tolerance * (1.0 + abs(at.loss)):
            return better or at
        at = better
    return at
