"""The learner adaboost: discrete AdaBoost over single conditions, and what a model notes of its rounds.

Y. Freund and R. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997: each round finds the stump of
the least weighted error, gives it the vote ln((1 - error) / error) / 2, and multiplies the weight of every row by
exp(-vote) where the stump is right and by exp(vote) where it is wrong.

A row's factor depends on its own cells and label alone. The sums are of integers, its weight times the factor in steps
of a power of two, so that the stumps depend neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.learners.boosting.stumps import FINE, LARGEST_SUM, Stump, Votes, best_stump, cuts_of, known_codes, parts_of
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.plain import refuse_for_sums
from rulekit.learners.parameters import PointSettings, number, or_automatic, setting, whole
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath

LEAST_VOTE = 2.0**-11
LEAST_ERROR = 1e-6  # a stump without an error gets a finite vote
_ROW_BITS, _SEEN_BITS = 16, 40
_BITS = 52  # of the weights of all rows together
_SHARES = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def rounds(question: Question) -> Learning:
    """A model after each round, until a stump is always right or none is better than guessing."""
    problem, settings = question.problem, question.settings
    weights, votes = BoostingWeights(problem), Votes(problem, bool(question.plan))
    cuts, known, bounds = cuts_of(problem, settings.min_rows), known_codes(problem), Bounds()
    for size in range(1, int(settings.n_estimators) + 1):
        question.watch.check()
        whole = weights.whole()
        stump = best_stump(problem, whole, cuts, known, question.n_threads, settings.missing_never_helps)
        vote = round(vote_of(stump.error) / FINE) * FINE
        if vote < LEAST_VOTE or stump.error >= 0.5 or votes.largest + vote > LARGEST_SUM:
            return None
        codes = stump.codes(problem)
        yes = votes.add(stump, vote, codes)
        z = weights.turn(stump, codes, vote)
        said = {"edge": 0.5 - stump.error, "alpha": vote, **bounds.after(0.5 - stump.error, z)}
        wrong = problem.weight_of(yes != (problem.labels == 1))
        yield Candidate(size, weights.loss, wrong, votes.card, said=said)
        if stump.wrong == 0:
            return None
    return None


def vote_of(error: float) -> float:
    """What an answer counts: half the log of the odds that it is right."""
    error = max(error, LEAST_ERROR)
    return 0.5 * math.log(max(1.0 - error, LEAST_ERROR) / error)


class BoostingWeights:
    """The weights of the rows from round to round: rows [n], and a factor of each.

    What is computed of all rows goes where the last round's was: there is no further array of them.

    The sum of rows * factors, that of the exponential loss, is total * 2^exponent, and total from 1/2 to 1; first: the
    exponent before the first round.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        # small, where they are counts of rows
        if problem.weights.strides == (0,):
            self.rows = np.broadcast_to(np.ones(1, dtype=np.int64), problem.weights.shape)
        else:
            self.rows = problem.weights // max(1, int(np.gcd.reduce(problem.weights)))
        self.scale = problem.total / float(self.rows.sum())
        self.total, self.exponent = math.frexp(float(self.rows.sum()))
        self.first = self.exponent
        self.factors = np.full(len(self.rows), math.ldexp(1.0, -self.exponent))
        self._whole = np.empty(len(self.rows), dtype=np.int64)

    @property
    def loss(self) -> float:
        """The sum of the weights, which is the weight of all rows before the first round."""
        return math.ldexp(self.total, self.exponent) * self.scale

    def whole(self) -> Ints:
        """The weights [n] as integers, until they are asked for again."""
        for part in parts_of(len(self.rows)):
            np.multiply(self.rows[part], np.rint(self.factors[part] * 2.0**_BITS).astype(np.int64), self._whole[part])
        return self._whole

    def coarse(self) -> Ints:
        """The weights [n] as learners take them, of at most 2^40 in all.

        They are in steps of 2^-16 of what one of `rows` weighs at first, so that a row of weight 2 weighs as two rows
        do; where that is too fine, each row is rounded by itself.
        """
        if self.first + _ROW_BITS > _SEEN_BITS:
            return np.rint(self.rows * (self.factors * 2.0**_SEEN_BITS)).astype(np.int64)
        return self.rows * np.rint(self.factors * 2.0 ** (self.first + _ROW_BITS)).astype(np.int64)

    def turn(self, stump: Stump, codes: npt.NDArray[Any], by: float) -> float:
        """Multiply by exp(-by) where a stump is right and by exp(by) where it is wrong; says by what their sum was."""
        right, wrong = math.exp(-by), math.exp(by)
        before = stump.right + stump.wrong
        after = stump.right * right + stump.wrong * wrong
        self.total, shift = math.frexp(math.ldexp(after, -_BITS))
        self.exponent += shift
        agreed = np.outer((-1.0, 1.0), stump.votes)  # by label and code: 1 where the stump is right, 0 for no vote
        by_code = np.where(agreed > 0.0, right, np.where(agreed < 0.0, wrong, 1.0))
        by_code, labels = np.ldexp(by_code, -shift), self.problem.labels
        for part in parts_of(len(codes)):
            self.factors[part] *= np.where(labels[part] == 1, by_code[1][codes[part]], by_code[0][codes[part]])
        return after / before


@dataclass(slots=True)
class Bounds:
    """What the training error cannot be above: the product of all Z, and exp(-2 * the sum of the edges' squares)."""

    product: float = 1.0
    squares: float = 0.0

    def after(self, edge: float, z: float) -> dict[str, float]:
        self.product *= z
        self.squares += edge * edge
        return {"z": z, "bound": self.product, "edge_bound": math.exp(-2.0 * self.squares)}


def noted_rounds(runs: Sequence[Run], path: ModelPath) -> list[dict[str, Any]]:
    """For each question all rounds that a model of the path has, and the margins after as many as one of them has."""
    notes = []
    for run, places in zip(runs, zip(path.chosen, *path.rows.values(), strict=True), strict=True):
        made, problem = run.path[: max(places)], run.question.problem
        note = {name: _short(each.said[name] for each in made) for name in ("edge", "z")}
        note["error"] = _short(each.error / problem.total for each in made)
        margins = {str(n): _margins(made[n - 1].model, problem) for n in sorted(set(places)) if n}
        notes.append({**note, "margins": margins, "weighted": problem.weights.strides != (0,)})
    return notes


def _margins(model: Any, problem: Problem) -> list[float]:
    """The least margins that these shares of the rows, by weight, are not above (R. Schapire and others, 1998)."""
    margins = np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(len(margins)):
        n = rows.stop - rows.start
        margins[rows] = model.totals(codes, n)
    margins *= np.where(problem.labels == 1, 1.0, -1.0) / (model.votes or 1.0)
    order = np.argsort(margins)
    below = np.cumsum(problem.weights[order])
    return _short(margins[order[np.searchsorted(below, np.maximum(_SHARES * float(below[-1]), 1.0))]])


def _short(values: Iterable[float]) -> list[float]:
    """Numbers of nine digits, with which the product of 300 factors Z has six."""
    return [float(f"{value:.9g}") for value in values]


@dataclass(frozen=True)
class AdaBoostSettings(PointSettings):
    """Rounds and their conditions; all else is shared by every learner."""

    n_estimators: int = setting(100, whole(1), "most rounds; each adds one condition")
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a cut (auto: 5, of few rows less)"
    )


class AdaBoostStumps(RuleLearner):
    """Score cards of votes on single conditions; see AdaBoostStumpClassifier."""

    word = "adaboost"
    estimator = "rulekit.learners.boosting.estimator:AdaBoostStumpClassifier"
    settings: ClassVar[type] = AdaBoostSettings
    noun = "round"
    size_parameter = "n_estimators"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (
            *("missing", "categories", "memory", "several", "ranked", "weights"),
            *("monotone", "apart", "missing_never_helps"),
        )
    )

    def resolve(self, settings: Any, rows: float) -> Any:
        return replace(settings, min_rows=least_side(rows)) if settings.min_rows == "auto" else settings

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions, and whether the grid of the votes is looked for: where the side of each sum decides."""
        refuse_for_sums(questions[0].settings, classes)
        searched = len(classes) == 2 or questions[0].settings.ordered is not None
        return [replace(question, plan=searched) for question in questions]

    def learn(self, question: Question) -> Learning:
        return rounds(question)

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds where the theorem speaks of the model, which it does not with whole points."""
        if not runs[0].question.settings.points:
            path.provenance["rounds"] = noted_rounds(runs, path)
