"""The learner adaboost-paper: the forms before AdaBoost, and the program of its source.

J. Kun, Weak Learning, Boosting, and the AdaBoost algorithm (2015), tells how a weak learner becomes a strong one: by
the majority of learners on parts of the rows, by votes that are their accuracies, by multiplicative weights, and by
AdaBoost. Its program draws 500 rows by their weights in each round, goes on for all rounds and keeps conditions that
are worse than guessing with negative votes. Its `buildDecisionStump` asks of every column and every value v that was
drawn "at least v?", and takes the question whose two sides differ most in their labels; each side then votes as most of
its draws do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import FALSE, TRUE, AtLeast, Node
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.boosting.learner import (
    LEAST_ERROR,
    LEAST_VOTE,
    BoostingWeights,
    Bounds,
    Turn,
    noted_rounds,
    vote_of,
)
from rulekit.learners.boosting.stumps import (
    FINE,
    LARGEST_SUM,
    Stump,
    Votes,
    best_stump,
    counts_by_code,
    cuts_of,
    leads_by_code,
    totals_of,
    votes_of,
)
from rulekit.learners.contract import Ability, Candidate, Frame, Learning, Question, Score
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.folds import row_hashes
from rulekit.learners.data.problem import Problem, condition_node
from rulekit.learners.learning import Run
from rulekit.learners.parameters import TRUTH, SizeSettings, number, one_of, or_automatic, setting, whole
from rulekit.learners.sizes.path import ModelPath
from rulekit.tables.table import Table

_MORE_ERROR = 1e-4  # what the code of the source adds to the error, so that a vote is finite


def judged(problem: Problem, weights: Ints, where: int | None, votes: Floats, answers: Floats | None = None) -> Stump:
    """A stump with the weight [n] of the rows on which it is right and wrong; answers: the votes that rows get."""
    if answers is not None and len(answers) == 1:
        where, votes = None, answers
    said = np.broadcast_to(votes, len(weights)) if where is None else votes[problem.codes[where]]
    right = int(weights[(said > 0.0) == (problem.labels == 1)].sum())
    return Stump(where, votes, right, int(weights.sum()) - right)


def in_own_order(problem: Problem, seed: int) -> Ints:
    """Row numbers [n] in an order that says nothing of the order in which the rows were given."""
    return np.argsort(row_hashes(problem, seed, problem.labels), kind="stable")


def drawn_rows(order: Ints, weights: Ints, draws: int, rng: np.random.Generator) -> Ints:
    """Row numbers [draws], each drawn by weights [n] and put back; order: see `in_own_order`."""
    below = np.cumsum(weights[order])
    return np.asarray(order[np.searchsorted(below, rng.integers(0, int(below[-1]), draws), side="right")])


def resampled_stump(problem: Problem, rows: Ints, cuts: Sequence[Bools]) -> tuple[int, Floats]:
    """The column and the votes of the stump of the least error on rows that were drawn; of equals the first column.

    A cut stands just below a value that was drawn; a side of as many draws of either label votes no. What has no order
    votes by level, 0 where none was drawn.
    rows: see `drawn_rows`; cuts: see `cuts_of`.
    """
    labels = problem.labels[rows].astype(np.int64)
    best: tuple[int, int, Floats] = (-1, 0, np.zeros(0))
    for j, column in enumerate(problem.columns):
        drawn = problem.codes[j][rows].astype(np.int64)
        counts = np.bincount(2 * drawn + labels, minlength=2 * column.n_codes).reshape(-1, 2)
        lead, known = counts[:, 1] - counts[:, 0], counts.sum(axis=1) > 0
        first = column.first_known
        below_drawn = np.append(known[first + 1 :], True)[: len(cuts[j])]
        ahead, votes = votes_of(column, lead, known, below_drawn & cuts[j])
        if ahead > best[0]:
            best = ahead, j, votes
            if column.ordered:
                for side in (votes[first:] > 0.0, votes[first:] < 0.0):
                    votes[first:][side] = 1.0 if lead[first:][side].sum() > 0 else -1.0
    return best[1], best[2]


def purest_stump(
    problem: Problem, weights: Ints, cuts: Sequence[Bools], counts: Sequence[Ints], n_threads: int
) -> Stump:
    """The stump whose sides have the least Gini impurity, each of which votes as most of its weight has it."""
    leads = leads_by_code(problem, weights, n_threads)
    sums = leads_by_code(problem, weights, n_threads, np.ones_like(problem.labels))
    total, positive = totals_of(problem, weights).tolist()
    lead = 2 * positive - total
    best: tuple[float, int | None, Floats] = (float(_purity(lead, total)), None, np.array([1.0 if lead > 0 else -1.0]))
    for j, column in enumerate(problem.columns):
        found, votes = _purest_votes(column, leads[j], sums[j], counts[j] > 0, cuts[j])
        if found > best[0]:
            best = found, j, votes
    _, where, votes = best
    return judged(problem, weights, where, votes, np.unique(votes[votes != 0.0]))


def _purest_votes(column: BinnedColumn, lead: Ints, weight: Ints, known: Bools, cuts: Bools) -> tuple[float, Floats]:
    """How pure the best sides of a column are, and their votes [n_codes].

    What stands before the first code of the order, missing cells, is a side of its own; levels are cut in the order of
    their share of label 1, in which two sides of the least impurity are found (L. Breiman and others, Classification
    and Regression Trees, 1984, theorem 4.5).
    """
    first = column.first_known
    votes = np.where(known, np.where(lead > 0, 1.0, -1.0), 0.0)
    purity = float(_purity(lead, weight)[:first].sum())
    order = np.arange(first, len(lead))
    if not column.ordered:
        share = np.divide(lead, weight, out=np.full(len(lead), -2.0), where=weight > 0)
        order = order[np.argsort(share[order], kind="stable")]
        cuts = np.ones(len(order), dtype=bool)
    if not len(order):
        return purity, votes
    below, weight_below = np.cumsum(lead[order]), np.cumsum(weight[order])
    above, weight_above = below[-1] - below, weight_below[-1] - weight_below
    sides = _purity(below, weight_below) + _purity(above, weight_above)
    low, high = np.where(below > 0, 1.0, -1.0), np.where(above > 0, 1.0, -1.0)
    low[-1:] = high[-1:] = 1.0 if below[-1] > 0 else -1.0
    cut = int(np.argmax(np.where(cuts, sides, -1.0)))
    votes[order[: cut + 1]], votes[order[cut + 1 :]] = low[cut], high[cut]
    if not column.ordered:
        votes[first:][~known[first:]] = 0.0
    return purity + float(sides[cut]), votes


def _purity(lead: Ints | int, weight: Ints | int) -> Floats:
    """The weight less its Gini impurity, but for a constant: lead^2 / weight, 0 of no weight."""
    leads, weights = np.asarray(lead, dtype=np.float64), np.asarray(weight, dtype=np.float64)
    return np.asarray(np.divide(leads * leads, weights, out=np.zeros(leads.shape), where=weights > 0))


@dataclass(frozen=True, slots=True, eq=False)
class MajorityVote:
    """Says yes where more than half of the stumps do; a stump that has no vote counts as no."""

    stumps: tuple[Stump, ...]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        count = np.zeros(n_rows, dtype=np.int64)
        for stump in self.stumps:
            count += stump.votes[0] > 0.0 if stump.column is None else (stump.votes > 0.0)[codes[stump.column]]
        return np.asarray(2 * count > len(self.stumps))

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The stumps for yes less those for no of rows of a table [n], as a share of all."""
        nodes = [_condition(stump, frame) for stump in self.stumps]
        values = evaluate_nodes(list(dict.fromkeys(nodes)), rows)
        return np.asarray(np.mean([2.0 * values[node] - 1.0 for node in nodes], axis=0))

    def score(self, frame: Frame, prefix: str) -> Score:
        node = AtLeast(len(self.stumps) // 2 + 1, [_condition(stump, frame) for stump in self.stumps])
        return Score(node, node)


def _condition(stump: Stump, frame: Frame) -> Node:
    if stump.column is None:
        return TRUE if stump.votes[0] > 0.0 else FALSE
    return condition_node(frame.columns[stump.column], stump.votes > 0.0)


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
        return early_rounds(question)

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds where the theorem speaks of the model: of AdaBoost's votes."""
        if runs[0].question.settings.vote == "adaboost":
            path.provenance["rounds"] = noted_rounds(runs, path)


def early_rounds(question: Question) -> Learning:
    problem, settings = question.problem, question.settings
    weigh = {"adaboost": None, "multiplicative": math.log(settings.factor)}  # by what a wrong row's weight grows
    weak, weights = _WeakLearner(question), BoostingWeights(problem)
    votes, stumps, bounds = Votes(problem, bool(question.plan)), tuple[Stump, ...](), Bounds()
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
        votes.add(stump, vote, codes)
        votes.refine(votes.differ)
        wrong = objective = problem.weight_of(votes.yes != (problem.labels == 1))
        said = {"edge": 0.5 - error, "alpha": vote}
        if adaptive:
            z = weights.turn(Turn.of(stump, weigh[settings.vote] or vote), codes)
            objective = weights.loss.value
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
        self.counts, least = counts_by_code(self.problem), self.settings.min_rows / self.problem.weight_unit
        self.cuts = cuts_of(self.problem.columns, self.counts, least)
        self.rng = np.random.default_rng((question.seed, question.index))
        self.order = in_own_order(self.problem, question.seed)

    def stump(self, weights: Ints) -> Stump:
        if self.settings.weak != "resampled":
            stump = self._of_all(weights)
            if stump.column is None or self.settings.vote in ("adaboost", "multiplicative"):
                return stump
            return self._for_all(weights, weights, stump)
        rows = drawn_rows(self.order, weights, int(self.settings.draws), self.rng)
        drawn = np.bincount(rows, minlength=len(weights))
        if not self.problem.columns:
            return best_stump((), (), totals_of(self.problem, drawn), (), ())
        return self._for_all(weights, drawn, Stump(*resampled_stump(self.problem, rows, self.cuts), 0, 1))

    def _of_all(self, weights: Ints) -> Stump:
        problem, n_threads = self.problem, self.n_threads
        if self.settings.weak == "gini":
            return purest_stump(problem, weights, self.cuts, self.counts, n_threads)
        leads = leads_by_code(problem, weights, n_threads)
        return best_stump(problem.columns, leads, totals_of(problem, weights), self.cuts, self.counts)

    def _for_all(self, weights: Ints, shown: Ints, stump: Stump) -> Stump:
        """A stump that votes on levels and missing cells that were not shown, too: as most of what was shown."""
        known, votes = self.counts[stump.column or 0] > 0, stump.votes
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
