"""What a model file says of AdaBoost's rounds, and the margins of the training rows, exact in any order of the rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rulekit.learners.binned.problem import Problem
from rulekit.learners.boosting.learned_votes import LearnedVotes
from rulekit.learners.boosting.sums import Boosted
from rulekit.learners.contract import Model
from rulekit.learners.fitting.learning import Run
from rulekit.learners.fitting.points.pointed import totals_of
from rulekit.learners.fitting.sizes.path import ModelPath

_SHARES = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def with_rounds(path: ModelPath, runs: Sequence[Run]) -> ModelPath:
    """The path whose models say all rounds, and each how many of them are its own and what margins it has."""
    rows, rounds, margins = {path.chosen, *path.rows.values()}, [], []
    for run, places in zip(runs, zip(*rows, strict=True), strict=True):
        made, problem = run.path[: max(places)], run.question.problem
        said = {name: _short(each.said[name] for each in made) for name in ("edge", "z")}
        rounds.append({**said, "error": _short(each.error / problem.total for each in made)})
        margins.append({n: _margins(made[n - 1].model, problem) if n else [] for n in set(places)})
    own = {row: [known[n] for known, n in zip(margins, row, strict=True)] for row in rows}
    weighted = runs[0].question.problem.weights.strides != (0,)
    notes = {row: {"own": {"rounds": row, "weighted": weighted, "margins": found}} for row, found in own.items()}
    return replace(path, provenance={**path.provenance, "rounds": rounds}, notes=notes)


def _margins(model: Model, problem: Problem) -> list[float]:
    """The least margins that these shares of the rows, by weight, are not above (R. Schapire and others, 1998)."""
    assert isinstance(model, Boosted | LearnedVotes)
    margins = np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(len(margins)):
        n = rows.stop - rows.start
        margins[rows] = totals_of(model.terms(), codes, n) if isinstance(model, Boosted) else model.totals(codes, n)
    margins *= np.where(problem.labels == 1, 1.0, -1.0) / (model.votes or 1.0)
    order = np.argsort(margins)
    below = np.cumsum(problem.weights[order])
    return _short(margins[order[np.searchsorted(below, np.maximum(_SHARES * float(below[-1]), 1.0))]])


def _short(values: Iterable[float]) -> list[float]:
    """Numbers of nine digits, with which the product of 300 factors Z has six."""
    return [float(f"{value:.9g}") for value in values]
