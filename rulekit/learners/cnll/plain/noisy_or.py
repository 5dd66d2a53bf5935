"""A noisy-or of plain clauses: strengths and a leak of least squares, on the side of the clauses on every row.

Each clause alone is above 1/2 and the leak below, so that the report and the decision agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.graph.nodes import Hidden, Node, Or
from rulekit.learners.binned.binning import BinnedColumn
from rulekit.learners.binned.problem import Problem
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.fitting.rule_sets import Clause, clause_node, covered
from rulekit.numbers import short_probability, strength_of

_SWEEPS = 50
_MARGIN = 0.001


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOr:
    """strengths: the probability that each clause fires where it holds; leak: that of no clause.

    squares, error: the weighted squared error of the report and the weighted error of the clauses, on training rows.
    held, right: the weight of the rows on which some clause holds, and of the positive ones among them.
    """

    strengths: tuple[float, ...]
    leak: float
    squares: float
    error: float
    held: float
    right: float

    def node(self, clauses: Sequence[Clause], columns: Sequence[BinnedColumn], prefix: str) -> Node:
        """A hidden bit for each clause; the leak is shared among them, as what they fire with without."""
        stays = (1.0 - self.leak) ** (1.0 / len(clauses))
        bits = [
            Hidden(
                f"{prefix}{k + 1}",
                clause_node(clause, columns),
                strength_of(short_probability(1.0 - (1.0 - strength) * stays)),
                strength_of(short_probability(1.0 - stays)),
            )
            for k, (clause, strength) in enumerate(zip(clauses, self.strengths, strict=True))
        ]
        return bits[0] if len(bits) == 1 else Or(bits)


def fitted_noisy_or(problem: Problem, clauses: Sequence[Clause], ridge: float) -> NoisyOr:
    """The noisy-or of at least one clause, on the rows of a problem.

    The rows count by which clauses hold. ridge: how many rows that say nothing each strength is fitted with.
    """
    n = len(problem.labels)
    cell, pattern = _cells([covered(clause, problem.codes, n) for clause in clauses])
    weight = problem.weights.astype(np.float64)
    total = np.asarray(np.bincount(cell, weight, len(pattern)) * problem.weight_unit)
    negative = np.asarray(np.bincount(cell, weight * (1 - problem.labels), len(pattern)) * problem.weight_unit)
    return _fitted(pattern, total, negative, ridge)


_COUNTED = 16


def _cells(holds: Sequence[Bools]) -> tuple[Ints, Bools]:
    """The cell [n] of each row, and which clauses hold in it [cells, clauses]; a cell for each set that occurs.

    The sets of few clauses are counted, those of more are sorted.
    """
    if len(holds) > _COUNTED:
        shown = np.stack(holds, axis=1)
        _, first, cell = np.unique(_numbers(shown), return_index=True, return_inverse=True)
        return cell.reshape(-1), shown[first]
    number = np.zeros(len(holds[0]), dtype=np.int64)
    for held in holds:
        number <<= 1
        number |= held
    found = np.flatnonzero(np.bincount(number, minlength=1 << len(holds)))
    place = np.zeros(1 << len(holds), dtype=np.int64)
    place[found] = np.arange(len(found))
    return place[number], (found[:, None] >> np.arange(len(holds))[::-1] & 1).astype(bool)


def _numbers(shown: Bools) -> npt.NDArray[np.uint64]:
    """Equal numbers [n] for equal rows of truth values [n, k], whatever k."""
    found = np.zeros(len(shown), dtype=np.uint64)
    for start in range(0, shown.shape[1], 32):
        for column in range(start, min(start + 32, shown.shape[1])):
            found = (found << np.uint64(1)) | shown[:, column]
        if start + 32 < shown.shape[1]:
            found = np.unique(found, return_inverse=True)[1].reshape(-1).astype(np.uint64)
    return found


def _fitted(pattern: Bools, total: Floats, negative: Floats, ridge: float) -> NoisyOr:
    """The strengths of least squared error, found one after the other until they stay.

    pattern [cells, clauses]: which clauses hold; total, negative [cells]: the weight of all rows and of negative ones.
    A row that no clause but k leaves a probability u of not being positive has u (1 - p_k): its best p_k is a quotient
    of sums. The ridge pulls towards 1/2, which says nothing.
    """
    count = pattern.shape[1]
    stays = np.full(count + 1, 0.5)
    holds = np.vstack([pattern.T, np.ones(len(pattern), dtype=bool)])
    high = np.append(np.full(count, 0.5 - _MARGIN), 1.0)
    low = np.append(np.zeros(count), 0.5 + _MARGIN)
    cells = [np.flatnonzero(held) for held in holds]
    weights = [(negative[held], total[held]) for held in cells]
    factors = np.where(holds, 0.5, 1.0)
    for _ in range(_SWEEPS):
        before = stays.copy()
        done = np.ones(len(pattern))
        for k, (held, (losses, weight)) in enumerate(zip(cells, weights, strict=True)):
            # The product over all clauses but k, in their order: those before it are multiplied already.
            factors[k] = done
            rest = np.multiply.reduce(factors[k:], axis=0)[held]
            aim = float((losses * rest).sum()) + ridge * 0.5
            bend = float((weight * rest * rest).sum()) + ridge
            stays[k] = min(max(aim / bend, low[k]), high[k]) if bend > 0.0 else 0.5
            factors[k] = 1.0
            factors[k, held] = stays[k]
            done *= factors[k]
        if np.abs(stays - before).max() < 1e-9:
            break
    dark = np.multiply.reduce(factors, axis=0)
    squares = float((negative * (1.0 - dark) ** 2 + (total - negative) * dark**2).sum())
    positive = pattern.any(axis=1)
    error = float(np.where(positive, negative, total - negative).sum())
    strengths = tuple(float(1.0 - value) for value in stays[:-1])
    on_rules = float(total[positive].sum())
    right = on_rules - float(negative[positive].sum())
    return NoisyOr(strengths, float(1.0 - stays[-1]), squares, error, on_rules, right)
