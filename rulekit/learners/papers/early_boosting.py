"""The learner adaboost-paper: the forms before AdaBoost, and the program of its source.

J. Kun, Weak Learning, Boosting, and the AdaBoost algorithm (2015), tells how a weak learner becomes a strong one: by
the majority of learners on parts of the rows, by votes that are their accuracies, by multiplicative weights, and by
AdaBoost. Its program draws 500 rows by their weights in each round, goes on for all rounds and keeps conditions that
are worse than guessing with negative votes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.arrays import Ints
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.boosting.rounds import (
    LEAST_ERROR,
    LEAST_VOTE,
    BoostingWeights,
    Bounds,
    noted_rounds,
    vote_of,
    weight_of,
)
from rulekit.learners.boosting.stumps import Stump, best_stump, cuts_of, known_codes
from rulekit.learners.boosting.sums import FINE, LARGEST_SUM, Votes
from rulekit.learners.contract import Ability, Candidate, Learning, Question
from rulekit.learners.learning import Run
from rulekit.learners.papers.majority import MajorityVote
from rulekit.learners.papers.paper_stumps import drawn_rows, in_own_order, judged, purest_stump, resampled_stump
from rulekit.learners.parameters import TRUTH, SizeSettings, number, one_of, or_automatic, setting, whole
from rulekit.learners.sizes.path import ModelPath

_MORE_ERROR = 1e-4  # what the code of the source adds to the error, so that a vote is finite


@dataclass(frozen=True)
class EarlyBoostingSettings(SizeSettings):
    """How conditions are found, and how they are joined."""

    n_estimators: int = setting(100, whole(1), "most rounds; each adds one condition")
    vote: Literal["adaboost", "multiplicative", "accuracy", "majority"] = setting(
        "adaboost",
        one_of("adaboost", "multiplicative", "accuracy", "majority"),
        "how the conditions are joined: as AdaBoost does, or as one of the forms before it",
    )
    weak: Literal["resampled", "exact", "gini"] = setting(
        "resampled",
        one_of("resampled", "exact", "gini"),
        "resampled: of rows drawn by weight; exact: the least error, gini: the least impurity, of all rows by weight",
    )
    draws: int = setting(500, whole(1), "rows drawn in a round, with weak=resampled")
    factor: float = setting(
        1.5, number(1), "by which a row's weight is multiplied or divided, with vote=multiplicative"
    )
    early_stop: bool = setting(
        False, TRUTH, "end at the first condition that is no better than guessing; False: keep it"
    )
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a cut (auto: 5, of few rows less)"
    )


class PaperAdaBoostClassifier(AdaBoostStumpClassifier):
    """The forms that J. Kun tells of before AdaBoost (2015), and AdaBoost over conditions of rows that are drawn.

    `history_` has of each round the edge 1/2 - error over guessing and the vote alpha; of AdaBoost the figures of its
    theorem, see AdaBoostStumpClassifier.
    """

    word = "adaboost-paper"
    estimator = ""
    settings = EarlyBoostingSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(("missing", "categories", "several", "ranked", "weights"))

    def learn(self, question: Question) -> Learning:
        """A model after each round; with early_stop until a condition is always right or none beats guessing."""
        return early_rounds(question)

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds where the theorem speaks of the model: of AdaBoost's votes."""
        if runs[0].question.settings.vote == "adaboost":
            path.provenance["rounds"] = noted_rounds(runs, path)


def early_rounds(question: Question) -> Learning:
    """A model after each round."""
    problem, settings = question.problem, question.settings
    weigh = {"adaboost": None, "multiplicative": math.log(settings.factor)}  # by what a wrong row's weight grows
    weak, weights = _WeakLearner(question), BoostingWeights(problem, question.n_threads)
    votes, stumps, bounds = Votes(problem, bool(question.plan), question.n_threads), tuple[Stump, ...](), Bounds()
    for size in range(1, int(settings.n_estimators) + 1):
        question.watch.check()
        if adaptive := settings.vote in weigh:
            stump = weak.stump(weights.whole())
        else:
            seen = weak.stump(weak.part(weights.rows))
            stump = judged(problem, weights.rows, seen.column, seen.votes)
        vote, error = _vote_of(stump.error, settings), stump.error
        ended = settings.early_stop and adaptive
        if (ended and (vote < LEAST_VOTE or error >= 0.5)) or votes.largest + abs(vote) > LARGEST_SUM:
            return None
        codes = stump.codes(problem)
        yes = votes.add(stump, vote, codes)
        wrong = objective = weight_of(problem, yes != (problem.labels == 1))
        said = {"edge": 0.5 - error, "alpha": vote}
        if adaptive:
            z = weights.turn(stump, codes, weigh[settings.vote] or vote)
            objective = weights.loss
            said |= bounds.after(0.5 - error, z) if settings.vote == "adaboost" else {}
        stumps = (*stumps, stump)
        model = MajorityVote(stumps) if settings.vote == "majority" else votes.card
        yield Candidate(size, objective, wrong, model, said=said)
        if ended and stump.wrong == 0:
            return None
    return None


def _vote_of(error: float, settings: EarlyBoostingSettings) -> float:
    """What an answer counts, a multiple of FINE: 1, its accuracy, or half the log of the odds that it is right."""
    if settings.vote == "majority":
        return 1.0
    vote = 1.0 - error
    if settings.vote == "adaboost":
        whole = 0.5 * math.log(max(vote, LEAST_ERROR) / (error + _MORE_ERROR))
        vote = vote_of(error) if settings.early_stop else whole
    return round(vote / FINE) * FINE


class _WeakLearner:
    """The stump of a round, of all rows or of draws, and the parts of the rows that the early forms show it."""

    def __init__(self, question: Question) -> None:
        self.problem, self.settings, self.n_threads = question.problem, question.settings, question.n_threads
        self.cuts, self.known = cuts_of(self.problem, self.settings.min_rows), known_codes(self.problem)
        self.rng = np.random.default_rng((question.seed, question.index))
        self.order = in_own_order(self.problem, question.seed)

    def stump(self, weights: Ints) -> Stump:
        """The stump for rows of these weights [n]."""
        own = (self.problem, weights, self.cuts, self.known, self.n_threads)
        if self.settings.weak != "resampled":
            stump = purest_stump(*own) if self.settings.weak == "gini" else best_stump(*own)
            if stump.column is None or self.settings.vote in ("adaboost", "multiplicative"):
                return stump
            return self._for_all(weights, weights, stump)
        rows = drawn_rows(self.order, weights, int(self.settings.draws), self.rng)
        drawn = np.bincount(rows, minlength=len(weights))
        if not self.problem.columns:
            return best_stump(self.problem, drawn, (), (), 1)
        return self._for_all(weights, drawn, Stump(*resampled_stump(self.problem, rows, self.cuts), 0, 1))

    def _for_all(self, weights: Ints, shown: Ints, stump: Stump) -> Stump:
        """A stump that votes on levels and missing cells that were not shown, too: as most of what was shown."""
        known, votes = self.known[stump.column or 0], stump.votes
        most = 1.0 if 2 * int(shown[self.problem.labels == 1].sum()) > int(shown.sum()) else -1.0
        votes[known & (votes == 0.0)] = most
        return judged(self.problem, weights, stump.column, votes, np.unique(votes[known]))

    def part(self, weights: Ints) -> Ints:
        """The weights [n] of as many rows, by chance, as each round gets of them all; the others have none."""
        each = max(1, len(weights) // int(self.settings.n_estimators))
        chosen = self.order[self.rng.choice(len(weights), each, replace=False, shuffle=False)]
        shown = np.zeros(len(weights), dtype=np.int64)
        shown[chosen] = weights[chosen]
        return shown
