"""Which way to find a plain form, where no cross-validation says: a race on a third of the training rows.

The ways are in the order of falling trust in the formula, which is what noise asks for. Each finds its clauses on two
thirds of the rows and decides the others; the next way runs only while the last one was better than those before it.
The formula has seen all rows, which favours the ways that trust it, if any.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.problem import Problem
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.cnll.plain.dnf_form import WAYS, DnfSettings, plain_clauses
from rulekit.learners.counting.histograms import Bools, Ints
from rulekit.learners.fitting.folds import fold_of_rows
from rulekit.learners.fitting.rule_sets import Clause, covered_by_some

_PARTS = 3
_MANY = 1000.0  # held-out rows; on fewer, one standard error is passed by chance too often
_MOST_ROWS = 1 << 15


def raced_way(
    problem: Problem,
    path: Sequence[tuple[ReadOnceTree, tuple[Bit, ...]]],
    settings: DnfSettings,
    groups: npt.NDArray[Any] | None = None,
    seed: int = 0,
) -> int:
    """The number of a way (`dnf_form.WAYS`): the first, or one that is better by a standard error.

    A standard error of the difference over the held-out rows; of more than 32,768 rows evenly spread ones are taken.
    """
    n = len(problem.labels)
    if n > _MOST_ROWS:
        rows = (np.arange(_MOST_ROWS, dtype=np.int64) * n) // _MOST_ROWS
        problem, groups = problem.take(rows), None if groups is None else groups[rows]
    fold = fold_of_rows(problem, _PARTS, groups, seed)
    if not path or int(fold.max(initial=0)) == 0:
        return 0
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    best, least = 0, np.zeros(0, dtype=bool)
    for way, clauses in enumerate(plain_clauses(training, path, settings, WAYS)):
        wrong = _wrong(clauses, held)
        if way == 0 or clearly_fewer(wrong, least, held.weights, held.weight_unit):
            best, least = way, wrong
        elif int(held.weights[wrong].sum()) >= int(held.weights[least].sum()):
            break
    return best


def _wrong(clauses: list[tuple[Clause, Bools]], held: Problem) -> Bools:
    """The held-out rows [n] that clauses decide wrongly."""
    positive = covered_by_some([clause for clause, _ in clauses], held.codes, len(held.labels))
    return np.asarray(positive != (held.labels == 1))


def clearly_fewer(wrong: Bools, other: Bools, weights: Ints, unit: float) -> bool:
    """Whether errors [n] weigh less than others by a standard error of the difference, or two where rows are few.

    weights [n], in whole multiples of `unit` rows.
    """
    total = int(weights.sum())
    fewer = int(weights[other].sum()) - int(weights[wrong].sum())
    apart = int(weights[other != wrong].sum())
    if total == 0 or fewer <= 0:
        return False
    mean = fewer / total
    errors = 1.0 if total * unit >= _MANY else 2.0
    return mean > errors * math.sqrt(max(apart / total - mean * mean, 0.0) / (total * unit))
