"""The learner adaboost: discrete AdaBoost over single conditions, and what a model notes of its rounds.

Y. Freund and R. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997: each round finds the stump of
the least weighted error, gives it the vote ln((1 - error) / error) / 2, and multiplies the weight of every row by
exp(-vote) where the stump is right and by exp(vote) where it is wrong.

A row's factor depends on its own cells and label alone. The sums are of integers, its weight times the factor in steps
of a power of two, so that the stumps depend neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.learners.boosting.stumps import (
    FINE,
    LARGEST_SUM,
    Stump,
    Votes,
    best_stump,
    counts_by_code,
    cuts_of,
    leads_by_code,
    parts_of,
    totals_of,
)
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.parts import Answer, Rows, rows_of
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
_GRIDS = 6  # that are asked at once of rows elsewhere: five halvings with a round have not been seen
_SHARES = np.array([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0])


def rounds(question: Question) -> Learning:
    """A model after each round, until a stump is always right or none is better than guessing."""
    problem, settings = question.problem, question.settings
    columns, rows, history = problem.columns, rows_of(problem, question.n_threads), list[Any]()
    votes, bounds = Votes(problem.take(slice(0, 0)), int(question.plan)), Bounds()
    (common,), *counts = rows.ask(boosted, history)
    divisor = max(1, int(common))
    loss = ExponentialLoss(round(problem.total / problem.weight_unit) // divisor, problem.total)
    history.append(Begun(divisor, loss.rows, votes.searched and (_GRIDS if problem.elsewhere else 1)))
    _, totals, *leads = rows.ask(boosted, history)
    cuts = cuts_of(columns, counts, settings.min_rows / problem.weight_unit)
    for size in range(1, int(settings.n_estimators) + 1):
        question.watch.check()
        stump = best_stump(columns, leads, totals, cuts, counts, settings.missing_never_helps)
        vote = round(vote_of(stump.error) / FINE) * FINE
        if vote < LEAST_VOTE or stump.error >= 0.5 or votes.largest + vote > LARGEST_SUM:
            return None
        step = BoostingStep(Turn.of(stump, vote), vote, votes.step)
        z, _ = loss.turn(step.turn)
        history.append(step)
        (wrong, *differing), totals, *leads = rows.ask(boosted, history)
        votes.add(stump, vote, np.zeros(0, dtype=np.uint8))

        def differ(grid: float, known: float = step.grid, found: Sequence[int] = differing) -> Sequence[int]:
            if grid == known:
                return found
            history.append(grid)
            return [int(count) for count in rows.ask(boosted, history)[0][1:]]

        votes.refine(differ)
        said = {"edge": 0.5 - stump.error, "alpha": vote, **bounds.after(0.5 - stump.error, z)}
        yield Candidate(size, loss.value, float(wrong) * problem.weight_unit, votes.card, said=said)
        if stump.wrong == 0:
            return None
    return None


def boosted(part: Problem) -> Generator[Answer, Begun | BoostingStep | float, None]:
    """Answer as a part of the rows: after each step its errors, how many rows each grid decides otherwise, and leads.

    The first answer is a divisor of all weights, and the weights by code.
    """
    common = Divisor(np.gcd.reduce(part.weights)) if len(part.weights) else Divisor(0)
    begun = yield [np.array([common], dtype=object), *counts_by_code(part)]
    assert isinstance(begun, Begun)
    weights, votes = BoostingWeights(part, begun.divisor, begun.rows), Votes(part, begun.grids)
    news = np.zeros(1, dtype=np.int64)
    while True:
        whole = weights.whole()
        leads = leads_by_code(part, whole, 1)
        step = yield [news, totals_of(part, whole, leads), *leads]
        while not isinstance(step, BoostingStep):
            assert isinstance(step, float)
            step = yield [np.array([0, *votes.differ(step)])]
        stump = step.turn.stump
        votes.round_to(step.grid)
        codes = stump.codes(part)
        votes.add(stump, step.vote, codes)
        weights.turn(step.turn, codes)
        wrong = int(part.weights[votes.yes != (part.labels == 1)].sum())
        news = np.array([wrong, *votes.differ(step.grid)])


class Divisor(int):
    """A number of which the sum with another is their greatest common divisor."""

    def __add__(self, other: int) -> Divisor:
        return Divisor(math.gcd(self, other))


@dataclass(frozen=True, slots=True)
class Begun:
    """What parts are told first: a divisor of all weights, the weight of all rows over it, how many grids are asked."""

    divisor: int
    rows: int
    grids: int


@dataclass(frozen=True, slots=True, eq=False)
class BoostingStep:
    """A round: how the weights turn, the vote of its stump, and the grid of the votes before it."""

    turn: Turn
    vote: float
    grid: float


@dataclass(frozen=True, slots=True, eq=False)
class Turn:
    """The factors of the weights of the rows on which a stump is right, and wrong.

    They are computed once, since machines may differ in the last bit of an exponential.
    """

    stump: Stump
    right: float
    wrong: float

    @classmethod
    def of(cls, stump: Stump, by: float) -> Turn:
        """Multiply by exp(-by) where a stump is right and by exp(by) where it is wrong."""
        return cls(stump, math.exp(-by), math.exp(by))


def vote_of(error: float) -> float:
    """What an answer counts: half the log of the odds that it is right."""
    error = max(error, LEAST_ERROR)
    return 0.5 * math.log(max(1.0 - error, LEAST_ERROR) / error)


class ExponentialLoss:
    """The exponential loss of rows, which is total * 2^exponent in their weights; total from 1/2 to 1.

    rows: the weight of all rows at first; weight: the same stated in rows.
    """

    def __init__(self, rows: int, weight: float) -> None:
        self.rows, self.scale = rows, weight / max(1.0, float(rows))
        self.total, self.exponent = math.frexp(float(rows))

    @property
    def value(self) -> float:
        """The sum of the weights, which is the weight of all rows before the first round."""
        return math.ldexp(self.total, self.exponent) * self.scale

    def turn(self, turn: Turn) -> tuple[float, int]:
        """Turn the weights; says by what their sum was multiplied, and by how many powers of two it must be lowered."""
        before = turn.stump.right + turn.stump.wrong
        after = turn.stump.right * turn.right + turn.stump.wrong * turn.wrong
        self.total, shift = math.frexp(math.ldexp(after, -_BITS))
        self.exponent += shift
        return after / before, shift


class BoostingWeights:
    """The weights of the rows from round to round: rows [n], and a factor of each.

    What is computed of all rows goes where the last round's was: there is no further array of them.
    divisor: of all weights, so that counts of rows are small; total: the weight of all rows over it, where the problem
    is a part of them.
    """

    def __init__(self, problem: Problem, divisor: int | None = None, total: int | None = None) -> None:
        self.problem = problem
        divisor = max(1, int(np.gcd.reduce(problem.weights))) if divisor is None else divisor
        if problem.weights.strides == (0,):
            self.rows = np.broadcast_to(problem.weights[:1] // divisor, problem.weights.shape)
        else:
            self.rows = problem.weights // divisor
        self.loss = ExponentialLoss(int(self.rows.sum()) if total is None else total, problem.total)
        self.first = self.loss.exponent
        self.factors = np.full(len(self.rows), math.ldexp(1.0, -self.first))
        self._whole = np.empty(len(self.rows), dtype=np.int64)

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

    def turn(self, turn: Turn, codes: npt.NDArray[Any]) -> float:
        """Turn the weights by a stump, whose codes [n] are given; says by what their sum was multiplied."""
        z, shift = self.loss.turn(turn)
        agreed = np.outer((-1.0, 1.0), turn.stump.votes)  # by label and code: 1 where it is right, 0 for no vote
        by_code = np.where(agreed > 0.0, turn.right, np.where(agreed < 0.0, turn.wrong, 1.0))
        by_code, labels = np.ldexp(by_code, -shift), self.problem.labels
        for part in parts_of(len(codes)):
            self.factors[part] *= np.where(labels[part] == 1, by_code[1][codes[part]], by_code[0][codes[part]])
        return z


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
        made, question = run.path[: max(places)], run.question
        problem, sizes = question.problem, [n for n in sorted(set(places)) if n]
        note = {name: _short(each.said[name] for each in made) for name in ("edge", "z")}
        note["error"] = _short(each.error / problem.total for each in made)
        found = margins_of([made[n - 1].model for n in sizes], rows_of(problem, question.n_threads))
        margins = {str(n): each for n, each in zip(sizes, found, strict=True)}
        notes.append({**note, "margins": margins, "weighted": problem.weighted})
    return notes


_FINE_MARGIN, _COARSE_MARGIN = 1 << 20, 1 << 10


def margins_of(models: Sequence[Any], rows: Rows) -> list[list[float]]:
    """The least margins of each model that these shares of the rows, by weight, are not above (R. Schapire and others,
    1998), to the nearest 2^-20.
    """
    if not models:
        return []
    history: list[Any] = [list(models)]
    (counts,) = rows.ask(margins, history)
    marks = np.maximum(_SHARES * float(counts[0].sum()), 1.0)
    below = np.cumsum(counts, axis=1)
    begun = np.array([np.searchsorted(each, marks) for each in below])
    history.append(begun)
    (finer,) = rows.ask(margins, history)
    before = np.take_along_axis(np.pad(below, [(0, 0), (1, 0)]), begun, axis=1)
    within = np.cumsum(finer, axis=2) + before[:, :, None]
    ends = (within < marks[None, :, None]).sum(axis=2)
    return [_short(each) for each in (begun * _COARSE_MARGIN + ends - _FINE_MARGIN) / _FINE_MARGIN]


def margins(part: Problem) -> Generator[Answer, Any, None]:
    """Answer as a part of the rows: the weight in each range of the margins of some models, then within some ranges."""
    models = yield []
    n = len(part.labels)
    found = np.empty((len(models), n), dtype=np.int32)
    for rows, codes in part.codes.parts(n):
        signs = np.where(part.labels[rows] == 1, _FINE_MARGIN, -_FINE_MARGIN)
        for k, model in enumerate(models):
            totals = model.totals(codes, rows.stop - rows.start) / (model.votes or 1.0)
            found[k, rows] = np.rint(totals * signs) + _FINE_MARGIN
    ranges, places = 2 * _FINE_MARGIN // _COARSE_MARGIN + 1, found // _COARSE_MARGIN
    begun = yield [np.array([np.bincount(each, part.weights, ranges) for each in places]).astype(np.int64)]
    within = np.zeros((*begun.shape, _COARSE_MARGIN), dtype=np.int64)
    for (k, j), first in np.ndenumerate(begun):
        own = places[k] == first
        fine = found[k][own] - first * _COARSE_MARGIN
        within[k, j] = np.bincount(fine, part.weights[own], _COARSE_MARGIN).astype(np.int64)
    yield [within]


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
            *("missing", "categories", "memory", "parts", "several", "ranked", "weights"),
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
