"""Problems for tests of the noisy-logical learner, and an obvious evaluation of a formula row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rulekit.learners.cnll.formula_on_cells import Formula, GrowthSettings, growth_moves
from rulekit.learners.cnll.learner import GrownFormula, begin, candidates_of, grown_freer, states
from rulekit.learners.contract import NO_WATCH, Candidate, Learning, Question, Stopped
from rulekit.learners.data.binning import MemoryCodes, bin_column
from rulekit.learners.data.folds import Folds
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import LearningPlan, Run, learn_all
from rulekit.learners.models.assembly import Prior
from rulekit.learners.models.noisy_formulas import ReadOnceTree
from rulekit.learners.sums_of_rows.histograms import quantise_by_class
from rulekit.learners.sums_of_rows.kernels import numba_runs
from rulekit.schema import Feature
from rulekit.synthetic import loans

TREE: dict[str, Any] = {"ridge": 8}

# pyproject.toml asks for numba below Python 3.15 only.
with_numba = pytest.mark.skipif(
    not numba_runs(), reason="kernels are not compiled: Python 3.15 or newer without numba, or RULEKIT_NO_NUMBA is set"
)


def loan_rows(n: int = 1000, seed: int = 1) -> tuple[dict[str, list[Any]], npt.NDArray[Any]]:
    columns = loans(n, seed)
    return columns, np.array(columns.pop("default"))


def quantise(weights: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], float]:
    """Weights [n] of one class as multiples of a power of two, and that power."""
    values = np.asarray(weights, dtype=np.float64)
    return quantise_by_class(values, np.zeros(len(values), dtype=np.int64), np.ones(1))


def grow(problem: Problem, settings: GrowthSettings) -> GrownFormula:
    """A formula of at most n_units bits; it stops where no step lowers the objective, also after a refit."""
    grown = begin(problem, settings)
    for _ in states(grown, settings):
        pass
    return grown_freer(grown, settings) or grown


def problem_of(X: npt.NDArray[Any], y: npt.NDArray[Any], weights: Any = None, max_bins: int | None = None) -> Problem:
    """Numeric columns [n, d] and labels [n] as a binned problem."""
    quantised, unit = quantise(np.ones(len(y)) if weights is None else weights)
    binned = [
        bin_column(Feature(f"x{j + 1}"), j, X[:, j].astype(np.float32), quantised, max_bins) for j in range(X.shape[1])
    ]
    columns, codes = zip(*binned, strict=True)
    one_type = all(part.dtype == np.uint8 for part in codes)
    stored = MemoryCodes.of_matrix(np.stack(codes, axis=1)) if one_type else MemoryCodes(codes)
    return Problem(columns, stored, np.asarray(y, dtype=np.int64), quantised, unit)


def random_problem(rng: np.random.Generator, n: int = 60, d: int = 3, values: int = 4) -> Problem:
    """Small integer columns with some missing cells, a noisy label and weights of 1 to 3."""
    X = rng.integers(0, values, (n, d)).astype(np.float64)
    y = ((X[:, 0] > 1) & (X[:, 1] > 1) | (X[:, 2] == 0)) ^ (rng.random(n) < 0.15)
    X[rng.random((n, d)) < 0.08] = np.nan
    return problem_of(X, y.astype(np.int64), rng.integers(1, 4, n))


def row_probabilities(formula: Formula) -> npt.NDArray[np.float64]:
    """P(1) [n] by walking the tree for every row."""
    tree, bits, codes = formula.tree, formula.bits, formula.problem.codes
    result = np.empty(len(formula.problem.labels))
    for i in range(len(result)):
        strengths = [b.alpha if b.condition[codes[b.column][i]] else b.beta for b in bits]
        result[i] = _walk(tree, tree.root, strengths)
    return result


def _walk(tree: Any, node: int, strengths: list[float]) -> float:
    if tree.bit[node] >= 0:
        return strengths[tree.bit[node]]
    parts = [_walk(tree, child, strengths) for child in tree.children[node]]
    if tree.operator[node] == "and":
        return float(np.prod(parts))
    return 1.0 - float(np.prod([1.0 - p for p in parts]))


def row_objective(formula: Formula, ridge: float) -> tuple[float, float]:
    """J and the weighted error by sums over the rows."""
    p, problem = row_probabilities(formula), formula.problem
    weights = problem.weights * problem.weight_unit
    wrong = float(weights[(p > 0.5) != (problem.labels == 1)].sum())
    squares = float((weights * (problem.labels - p) ** 2).sum())
    pull = sum((b.alpha - b.rest) ** 2 + (b.beta - b.rest) ** 2 for b in formula.bits)
    return squares + ridge * pull, wrong


def small_table(seed: int, classes: int) -> tuple[dict[str, Any], list[str]]:
    """Numbers, categories and missing cells; a label that no short rule tells."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 90))
    numbers = rng.integers(0, 5, (n, 3)).astype(np.float64)
    numbers[rng.random((n, 3)) < 0.1] = np.nan
    levels = [str(level) for level in rng.choice(list("abcd"), n)]
    score = np.nan_to_num(numbers[:, 0]) + 2 * np.array([level in "ab" for level in levels])
    score += rng.normal(size=n) * rng.choice([0.1, 2.0])
    cuts = np.quantile(score, np.linspace(0, 1, classes + 1)[1:-1])
    labels = [f"k{rank}" for rank in np.searchsorted(cuts, score)]
    if len(set(labels)) < classes:
        labels[:classes] = [f"k{rank}" for rank in range(classes)]
    return {"a": numbers[:, 0], "b": numbers[:, 1], "c": numbers[:, 2], "d": levels}, labels


def random_tree(rng: np.random.Generator, bits: int) -> ReadOnceTree:
    tree = ReadOnceTree()
    for bit in range(bits):
        moves = growth_moves(tree)
        tree.join(moves[int(rng.integers(len(moves)))], bit)
    return tree


def truth(tree: ReadOnceTree, node: int, states: tuple[bool, ...]) -> bool:
    if tree.bit[node] >= 0:
        return states[tree.bit[node]]
    parts = [truth(tree, child, states) for child in tree.children[node]]
    return all(parts) if tree.operator[node] == "and" else any(parts)


class _Growth:
    """A learner whose candidates are the formulas of one growth."""

    def learn(self, question: Question) -> Learning:
        yield from candidates_of(begin(question.problem, question.plan), question.plan)
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> None:
        return None

    def nothing(self, question: Question) -> Candidate:
        return Candidate(0, 0.0, 0.0, Prior(question.problem.share))


def learned(
    problem: Problem, settings: GrowthSettings, n_folds: int = 0, callback: Callable[[Any], object] | None = None
) -> tuple[Run, Stopped]:
    """The formulas of 1, 2, ... bits, learned in the loop that every learner is in, and what stopped it."""
    question = Question("yes", 0, problem, None, 0, 1, NO_WATCH, settings)
    folds = Folds(problem, n_folds, None, 0) if n_folds else None
    (run,), stopped = learn_all(_Growth(), [question], LearningPlan(folds, 0.0, settings.n_units, callback, np.inf))
    return run, stopped
