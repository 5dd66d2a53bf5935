"""Discrete AdaBoost (Y. Freund and R. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997).

Each round finds the stump of the least weighted error, gives it the vote ln((1 - error) / error) / 2, and multiplies
the weight of every row by exp(-vote) where the stump is right and by exp(vote) where it is wrong. Votes are multiples
of 2^-10, and their sum is at most 2^13: every sum of votes has at most 24 bits, and no order of adding rounds it.

A row's factor depends on its own cells and label alone. The sums are of integers, its weight times the factor in steps
of a power of two, so that the stumps depend neither on the order of the rows nor on the number of threads.
"""

from __future__ import annotations

import math

import numpy as np

from rulekit.learners.boosting.stumps import Stump, best_stump, cuts_of
from rulekit.learners.contract import Candidate, Learning, Question
from rulekit.learners.fitting.additive import ScoreCard

_GRID = 2.0**-10
_LARGEST_SUM = 2.0**13
_LEAST_ERROR = 1e-6  # a stump without an error gets a finite vote
_BITS = 52  # of the weights of all rows together


def rounds(question: Question) -> Learning:
    """A score card after each round, until a stump is always right or none is better than guessing."""
    problem = question.problem
    card, cuts = ScoreCard({}, 0.0, 2.0), cuts_of(problem, question.settings.min_rows)
    rows = problem.weights // max(1, int(np.gcd.reduce(problem.weights)))  # small, where they are counts of rows
    scale = problem.total / float(rows.sum())
    # The exponential loss is loss * 2^exponent; loss, the sum of rows * factors, is from 1/2 to 1.
    loss, exponent = math.frexp(float(rows.sum()))
    factors = np.full(len(rows), math.ldexp(1.0, -exponent))
    margin, votes_so_far = np.zeros(len(rows)), 0.0
    for size in range(1, int(question.settings.n_units) + 1):
        question.watch.check()
        weights = rows * np.rint(factors * 2.0**_BITS).astype(np.int64)
        stump = best_stump(problem, weights, cuts, question.n_threads, question.settings.missing_never_helps)
        vote = vote_of(stump)
        if vote == 0.0 or votes_so_far + vote > _LARGEST_SUM:
            return None
        votes_so_far += vote
        right, wrong = math.exp(-vote), math.exp(vote)
        loss, shift = math.frexp(math.ldexp(stump.right * right + stump.wrong * wrong, -_BITS))
        exponent += shift
        card = with_stump(card, stump, vote)
        codes = np.zeros(len(rows), dtype=np.uint8) if stump.column is None else problem.codes[stump.column]
        agreed = np.outer((-1.0, 1.0), stump.votes)  # by label and code: 1 where the stump is right, 0 for no vote
        by_code = np.where(agreed > 0.0, right, np.where(agreed < 0.0, wrong, 1.0))
        factors *= np.ldexp(by_code, -shift)[problem.labels, codes]
        margin += vote * stump.votes[codes]
        error = int(problem.weights[(margin > 0.0) != (problem.labels == 1)].sum()) * problem.weight_unit
        yield Candidate(size, math.ldexp(loss, exponent) * scale, error, card)
        if stump.wrong == 0:
            return None
    return None


def vote_of(stump: Stump) -> float:
    """Half the log of the odds that the stump is right, on the grid of votes; 0 where it is hardly ever better."""
    wrong = max(stump.wrong / (stump.right + stump.wrong), _LEAST_ERROR)
    return round(0.5 * math.log((1.0 - wrong) / wrong) / _GRID) * _GRID


def with_stump(card: ScoreCard, stump: Stump, vote: float) -> ScoreCard:
    """A score card with the votes of one stump more."""
    if stump.column is None:
        return ScoreCard(card.points, card.bias + vote * float(stump.votes[0]), card.scale)
    added = vote * stump.votes
    points = card.points[stump.column] + added if stump.column in card.points else added
    return ScoreCard({**card.points, stump.column: points}, card.bias, card.scale)
