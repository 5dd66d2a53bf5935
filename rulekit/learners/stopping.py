"""How many bits: cross-validation inside the training data.

Rows that are identical (in all binned columns) or of one group stay in one fold; the folds depend on the distinct rows
and their weights alone, not on the order of the rows, so a row of weight 2 counts like two rows. Classes are spread
evenly over the folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.counting import Floats, Ints
from rulekit.learners.formula import Problem, probability_of_codes
from rulekit.learners.growth import GrowthSettings, Limits, Stopped, grow


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Held-out error rate [T] for 1 .. T bits, the same smoothed, the number of finished folds and their rows."""

    error: Floats
    smooth: Floats
    folds: int
    stopped: Stopped = ""
    rows: float = 1.0

    def best(self, parsimony: float = 0.0) -> int:
        """The smallest number of bits whose smoothed error is within `parsimony` standard errors of the smallest."""
        least = float(self.smooth.min())
        slack = parsimony * math.sqrt(least * (1.0 - least) / self.rows)
        return int(np.flatnonzero(self.smooth <= least + slack + 1e-12)[0]) + 1


def held_out_curve(
    problem: Problem,
    settings: GrowthSettings,
    n_folds: int,
    groups: npt.NDArray[Any] | None,
    deadline: float = float("inf"),
    progress: Callable[[int], object] | None = None,
) -> Curve | None:
    """The curve of 1 .. n_units bits, or None where the data are too few to be split; without points before a fold.

    progress is called with the number of each finished fold, and cancels by returning true.
    """
    fold = fold_of_rows(problem, n_folds, groups, settings.seed)
    used = int(fold.max()) + 1
    if used < 2:
        return None
    errors, weight, done = np.zeros(settings.n_units), 0.0, 0
    stopped: Stopped = ""
    for k in range(used):
        grown = grow(problem.take(fold != k), settings, Limits(deadline))
        if grown.stopped:
            stopped = grown.stopped
            break
        held = problem.take(fold == k)
        errors += _errors(grown.path, problem.take(fold != k), held, settings.n_units)
        weight += held.total
        done += 1
        if progress is not None and progress(done):
            stopped = "cancelled"
            break
    if not done:
        return Curve(np.zeros(0), np.zeros(0), 0, stopped)
    error = errors / weight
    return Curve(error, smoothed(error), done, stopped, weight)


def smoothed(error: Floats) -> Floats:
    """Each value averaged with the two that follow, by 2-1-1.

    Looking only ahead keeps the bit that completes a rule: a symmetric window would count the large error before it.
    """
    ahead = np.concatenate([error, error[-1:], error[-1:]])
    return np.asarray((2 * error + ahead[1:-1] + ahead[2:]) / 4)


def _errors(path: list[Any], training: Problem, held: Problem, n_units: int) -> Floats:
    """Weighted held-out errors [n_units]; a path that ended early goes on as it was."""
    found = np.empty(n_units)
    if not path:
        positive = float(training.weights[training.labels == 1].sum()) > float(training.weights.sum()) / 2
        found[:] = float(held.weights[(held.labels == 1) != positive].sum()) * held.weight_unit
    for t, (tree, bits) in enumerate(path):
        positive_rows = probability_of_codes(tree, bits, held.codes) > 0.5
        found[t:] = float(held.weights[positive_rows != (held.labels == 1)].sum()) * held.weight_unit
    return found


def fold_of_rows(problem: Problem, n_folds: int, groups: npt.NDArray[Any] | None, seed: int) -> Ints:
    """The fold [n] of each row, 0 .. at most n_folds - 1."""
    _, unit = np.unique(row_hashes(problem, seed), return_inverse=True)
    if groups is not None:
        unit = _joined(unit, np.unique(groups, return_inverse=True)[1])
    weight = np.bincount(unit, problem.weights)
    positive = np.bincount(unit, problem.weights * problem.labels)
    # Units come in the order of their hashes, which is as good as random; heavy ones are dealt out first.
    dealt = np.lexsort((np.arange(len(weight)), -weight, 2 * positive > weight))
    fold = np.empty(len(weight), dtype=np.int64)
    fold[dealt] = np.arange(len(weight)) % n_folds
    return fold[unit]


def row_hashes(problem: Problem, seed: int) -> npt.NDArray[np.uint64]:
    """A 64-bit hash [n] of the codes of each row."""
    h = np.full(len(problem.labels), (seed * 0x9E3779B97F4A7C15 + 0x2545F4914F6CDD1D) % 2**64, dtype=np.uint64)
    for codes in problem.codes:
        h = (h ^ codes.astype(np.uint64)) * np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(29)
        h = h * np.uint64(0x94D049BB133111EB)
        h ^= h >> np.uint64(32)
    return h


def _joined(unit: Ints, group: Ints) -> Ints:
    """Units that share a group become one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(unit.max()) + int(group.max()) + 2
    links = coo_array((np.ones(len(unit)), (unit, group + int(unit.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][unit], dtype=np.int64)
