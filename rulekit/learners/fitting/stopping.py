"""How many bits: cross-validation inside the training data.

Rows that are identical (in all binned columns) or of one group stay in one fold; the folds depend on the distinct rows
and their weights alone, not on the order of the rows, so a row of weight 2 counts like two rows. Classes are spread
evenly over the folds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.disk_codes import DiskCodes
from rulekit.learners.cnll.formula.noisy_formula import Problem, probability_of_codes
from rulekit.learners.cnll.plain.dnf_form import PlainDnf, plain_dnfs
from rulekit.learners.cnll.search.growth import GrowthSettings, Limits, Stopped, grow
from rulekit.learners.counting.histograms import Floats, Ints
from rulekit.learners.fitting.folds_on_disk import first_hash, folds_on_disk, mix


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Held-out error by the number of units.

    wrong [F, T]: the weight of the errors in each of F finished folds for 1 .. T units; weights [F]: of its rows.
    error [T]: the rate of all held-out rows; standard_error [T]: of it, over the folds; smooth [T]: see `smoothed`.
    way: which of the ways to find a plain form did best (rulekit.learners.cnll.plain.dnf_form.WAYS).
    """

    wrong: Floats
    weights: Floats
    stopped: Stopped = ""
    way: int = 0

    @property
    def folds(self) -> int:
        return len(self.wrong)

    @property
    def by_fold(self) -> Floats:
        return np.asarray(self.wrong / self.weights[:, None])

    @property
    def error(self) -> Floats:
        return np.asarray(self.wrong.sum(axis=0) / self.weights.sum())

    @property
    def standard_error(self) -> Floats:
        return _over_folds(self.by_fold)

    @property
    def smooth(self) -> Floats:
        return smoothed(self.error)

    def best(self, parsimony: float = 0.0) -> int:
        """The smallest number of units that is not worse than the best one.

        Not worse: its smoothed error is at most `parsimony` standard errors, over the folds, of the difference of the
        two above the least. What makes a fold hard for both is no difference, so that of it is the smaller one.
        """
        at = int(np.argmin(self.smooth))
        by_fold = smoothed(self.by_fold)
        slack = parsimony * _over_folds(by_fold - by_fold[:, [at]])
        return int(np.flatnonzero(self.smooth <= self.smooth[at] + slack + 1e-12)[0]) + 1


def _over_folds(values: Floats) -> Floats:
    """The standard error [T] of the mean of values [F, T]; 0 of a single fold, which says nothing of it."""
    folds = len(values)
    return np.asarray(values.std(axis=0, ddof=1) / math.sqrt(folds)) if folds > 1 else np.zeros(values.shape[1])


def held_out_curve(
    problem: Problem,
    settings: GrowthSettings,
    n_folds: int,
    groups: npt.NDArray[Any] | None,
    deadline: float = float("inf"),
    progress: Callable[[int], object] | None = None,
) -> Curve | None:
    """The curve of 1 .. n_units bits, or None where the data are too few to be split; without points before a fold.

    Of a plain form that of 1 .. clauses, by the way that is `clearly_best`. progress is called with the number of each
    finished fold, and cancels by returning true.
    """
    fold = fold_of_rows(problem, n_folds, groups, settings.seed)
    used = int(fold.max()) + 1
    if used < 2:
        return None
    wrong: list[list[Floats]] = []
    weights: list[float] = []
    stopped: Stopped = ""
    for k in range(used):
        training = problem.take(fold != k)
        grown = grow(training, settings, Limits(deadline))
        if grown.stopped:
            stopped = grown.stopped
            break
        held = problem.take(fold == k)
        paths = plain_dnfs(training, grown.path, settings.dnf) if settings.dnf is not None else [grown.path]
        wrong.append([_errors(path, training, held, settings.path_length) for path in paths])
        weights.append(held.total)
        if progress is not None and progress(len(wrong)):
            stopped = "cancelled"
            break
    if not wrong:
        return Curve(np.zeros((0, settings.path_length)), np.zeros(0), stopped)
    by_way = np.array(wrong).swapaxes(0, 1)
    curves = [Curve(found, np.array(weights), stopped, way) for way, found in enumerate(by_way)]
    return clearly_best(curves)


def clearly_best(curves: Sequence[Curve]) -> Curve:
    """The first curve, or where the least smoothed error of others is lower by a standard error, the best of these.

    A standard error of the difference, over the folds, each curve at its best size.
    """
    least = [int(np.argmin(curve.smooth)) for curve in curves]
    by_fold = np.array([smoothed(curve.by_fold)[:, at] for curve, at in zip(curves, least, strict=True)]).T
    error = np.array([curve.smooth[at] for curve, at in zip(curves, least, strict=True)])
    clear = error < error[0] - _over_folds(by_fold - by_fold[:, [0]])
    return curves[int(np.argmin(np.where(clear, error, np.inf)))] if clear.any() else curves[0]


def smoothed(error: Floats) -> Floats:
    """Each value [..., T] averaged with the two that follow, by 2-1-1.

    Looking only ahead keeps the bit that completes a rule: a symmetric window would count the large error before it.
    """
    ahead = np.concatenate([error, error[..., -1:], error[..., -1:]], axis=-1)
    return np.asarray((2 * error + ahead[..., 1:-1] + ahead[..., 2:]) / 4)


def _errors(path: Sequence[Any], training: Problem, held: Problem, n_units: int) -> Floats:
    """Weighted held-out errors [n_units]; a path that ended early goes on as it was."""
    found = np.empty(n_units)
    if not path:
        positive = float(training.weights[training.labels == 1].sum()) > float(training.weights.sum()) / 2
        found[:] = float(held.weights[(held.labels == 1) != positive].sum()) * held.weight_unit
    wrong = [0] * len(path)
    for rows, codes in held.codes.parts(len(held.labels)):
        positive, weights = held.labels[rows] == 1, held.weights[rows]
        for t, learned in enumerate(path):
            if isinstance(learned, PlainDnf):
                positive_rows = learned.decides(codes, len(positive))
            else:
                tree, bits = learned
                positive_rows = probability_of_codes(tree, bits, codes) > 0.5
            wrong[t] += int(weights[positive_rows != positive].sum())
    for t, weight in enumerate(wrong):
        found[t:] = float(weight) * held.weight_unit
    return found


def fold_of_rows(problem: Problem, n_folds: int, groups: npt.NDArray[Any] | None, seed: int) -> Ints:
    """The fold [n] of each row, 0 .. at most n_folds - 1."""
    if groups is None and isinstance(problem.codes, DiskCodes) and problem.codes.rows is None:
        return folds_on_disk(problem, n_folds, seed)
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
    h = np.full(len(problem.labels), first_hash(seed), dtype=np.uint64)
    for column in range(len(problem.codes)):
        mix(h, problem.codes[column])
    return h


def _joined(unit: Ints, group: Ints) -> Ints:
    """Units that share a group become one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = int(unit.max()) + int(group.max()) + 2
    links = coo_array((np.ones(len(unit)), (unit, group + int(unit.max()) + 1)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][unit], dtype=np.int64)
