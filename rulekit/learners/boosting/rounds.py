"""Rounds of boosting: weights of the rows, a stump, its vote (docs/adaboost.md says which forms there are).

AdaBoost (Y. Freund and R. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997): each round finds
the stump of the least weighted error, gives it the vote ln((1 - error) / error) / 2, and multiplies the weight of every
row by exp(-vote) where the stump is right and by exp(vote) where it is wrong. The forms before it, and the code with
draws, are those of J. Kun, Weak Learning, Boosting, and the AdaBoost algorithm (2015).

A row's factor depends on its own cells and label alone. The sums are of integers, its weight times the factor in steps
of a power of two, so that the stumps depend neither on the order of the rows nor on the number of threads; draws, and
parts of the rows, depend on the order and the seed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.boosting.majority import MajorityVote
from rulekit.learners.boosting.resampled import drawn_rows, resampled_stump
from rulekit.learners.boosting.row_passes import multiply, parts_of, weigh
from rulekit.learners.boosting.settings import AdaBoostSettings
from rulekit.learners.boosting.stumps import Stump, best_stump, cuts_of, judged, known_codes
from rulekit.learners.boosting.sums import FINE, LARGEST_SUM, Votes
from rulekit.learners.contract import Candidate, Learning, Question
from rulekit.learners.data.problem import Problem

ADAPTIVE = ("adaboost", "multiplicative")
LEAST_VOTE = 2.0**-11
_LEAST_ERROR = 1e-6  # a stump without an error gets a finite vote
_MORE_ERROR = 1e-4  # what the code of the source adds to the error for that
_ROW_BITS, _SEEN_BITS = 16, 40
_BITS = 52  # of the weights of all rows together


def rounds(question: Question) -> Learning:
    """A model after each round; with early_stop until a stump is always right or none is better than guessing."""
    problem, settings = question.problem, question.settings
    adaptive = settings.vote in ADAPTIVE
    weak, weights = _Weak(question), RowWeights(problem, question.n_threads)
    votes, majority, bounds = Votes(problem, bool(question.plan), question.n_threads), MajorityVote(()), Bounds()
    for size in range(1, int(settings.n_estimators) + 1):
        question.watch.check()
        shown = weights.whole() if adaptive else weak.part(weights.rows)
        stump = weak.stump(shown)
        if not adaptive:
            stump = judged(problem, weights.rows, stump.column, stump.votes)
        vote, error = vote_of(stump, settings), stump.error
        ended = settings.early_stop and adaptive
        if (ended and (vote < LEAST_VOTE or error >= 0.5)) or votes.largest + abs(vote) > LARGEST_SUM:
            return None
        codes = stump.codes(problem)
        yes = votes.add(stump, vote, codes)
        wrong = weight_of(problem, yes != (problem.labels == 1))
        said = {"edge": 0.5 - error, "alpha": vote}
        objective = wrong
        if adaptive:
            z = weights.turn(stump, codes, vote if settings.vote == "adaboost" else math.log(settings.factor))
            objective = weights.loss
            if settings.vote == "adaboost":
                said |= bounds.after(0.5 - error, z)
        majority = majority.with_stump(stump)
        model = majority if settings.vote == "majority" else votes.card
        yield Candidate(size, objective, wrong, model, said=said)
        if ended and stump.wrong == 0:
            return None
    return None


def weight_of(problem: Problem, rows: Bools) -> float:
    """What some rows [n] of a problem weigh."""
    if problem.weights.strides == (0,):
        return int(np.count_nonzero(rows)) * int(problem.weights[0]) * problem.weight_unit
    return sum(int(problem.weights[part][rows[part]].sum()) for part in parts_of(len(rows))) * problem.weight_unit


def vote_of(stump: Stump, settings: AdaBoostSettings) -> float:
    """What a stump's answer counts, a multiple of FINE: 1, its accuracy, or half the log of the odds that it is right.

    Without early_stop with the 0.0001 that the code of the source adds to the error in the denominator.
    """
    if settings.vote == "majority":
        return 1.0
    vote = 1.0 - stump.error
    if settings.vote == "adaboost":
        error = max(stump.error, _LEAST_ERROR) if settings.early_stop else stump.error
        more = 0.0 if settings.early_stop else _MORE_ERROR
        vote = 0.5 * math.log(max(1.0 - error, _LEAST_ERROR) / (error + more))
    return round(vote / FINE) * FINE


class _Weak:
    """The stump of a round, of all rows or of draws, and the parts of the rows that the early forms show it."""

    def __init__(self, question: Question) -> None:
        self.question, self.settings = question, question.settings
        self.cuts = cuts_of(question.problem, self.settings.min_rows)
        self.resampled = self.settings.weak == "resampled"
        self.sees_all = not self.resampled and self.settings.vote in ADAPTIVE
        self.known = known_codes(question.problem)
        self.rng = np.random.default_rng((question.seed, question.index))

    def stump(self, weights: Ints) -> Stump:
        """The stump for rows of these weights [n]."""
        problem, never = self.question.problem, self.settings.missing_never_helps
        if not self.resampled:
            threads, impurity = self.question.n_threads, self.settings.weak == "gini"
            stump = best_stump(problem, weights, self.cuts, self.known, threads, never, impurity=impurity)
            if self.sees_all or stump.column is None:
                return stump
            return self._for_all(weights, weights, stump.column, stump.votes)
        rows = drawn_rows(weights, int(self.settings.draws), self.rng)
        drawn = np.bincount(rows, minlength=len(weights))
        if not problem.columns:
            return best_stump(problem, drawn, (), (), 1)
        return self._for_all(weights, drawn, *resampled_stump(problem, rows, self.cuts, never))

    def _for_all(self, weights: Ints, shown: Ints, column: int, votes: Floats) -> Stump:
        """A stump that votes on levels and missing cells that were not shown, too: as most of what was shown."""
        problem, known = self.question.problem, self.known[column]
        most = 1.0 if 2 * int(shown[problem.labels == 1].sum()) > int(shown.sum()) else -1.0
        votes[known & (votes == 0.0)] = most
        answers = np.unique(votes[known])
        return judged(problem, weights, *((column, votes) if len(answers) > 1 else (None, answers)))

    def part(self, weights: Ints) -> Ints:
        """The weights [n] of as many rows, by chance, as each round gets of them all; the others have none."""
        each = max(1, len(weights) // int(self.settings.n_estimators))
        chosen = self.rng.choice(len(weights), each, replace=False, shuffle=False)
        shown = np.zeros(len(weights), dtype=np.int64)
        shown[chosen] = weights[chosen]
        return shown


class RowWeights:
    """The weights of the rows from round to round: rows [n], and a factor of each.

    What is computed of all rows goes where the last round's was: there is no further array of them.

    The sum of rows * factors, that of the exponential loss, is total * 2^exponent, and total from 1/2 to 1; first: the
    exponent before the first round.
    """

    def __init__(self, problem: Problem, n_threads: int = 1) -> None:
        self.problem, self.n_threads = problem, n_threads
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
        weigh(self.rows, self.factors, 2.0**_BITS, self._whole, self.n_threads)
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
        multiply(self.factors, self.problem.labels, codes, np.ldexp(by_code, -shift), self.n_threads)
        return after / before


@dataclass(slots=True)
class Bounds:
    """What the training error cannot be above: the product of all Z, and exp(-2 * the sum of the edges' squares)."""

    product: float = 1.0
    squares: float = 0.0

    def after(self, edge: float, z: float) -> dict[str, float]:
        """Those after one round more."""
        self.product *= z
        self.squares += edge * edge
        return {"z": z, "bound": self.product, "edge_bound": math.exp(-2.0 * self.squares)}
