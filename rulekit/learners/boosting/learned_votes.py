"""AdaBoost over models of another learner: each round learns one from weighted or drawn rows, and gives it a vote.

As over stumps (`rounds`), with any hypothesis in their place (Y. Freund and R. Schapire, A Decision-Theoretic
Generalization of On-Line Learning, 1997). A vote is a multiple of 2^-10 as soon as it is found, and turns the weights
of the rows as it is, so that the model has the very votes that were learned, every sum is exact, and the bounds hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Linear, Logistic, Node
from rulekit.learners.boosting.base_learners import BaseLearner
from rulekit.learners.boosting.resampled import drawn_rows
from rulekit.learners.boosting.rounds import LEAST_VOTE, Bounds, RowWeights, vote_of, weight_of
from rulekit.learners.boosting.stumps import Stump
from rulekit.learners.boosting.sums import LARGEST_SUM, SIGMOID
from rulekit.learners.contract import Candidate, Frame, Learning, Model, Question, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.models.assembly import deciding_node

_GRID = 2.0**-10
_ANSWERS = np.array([-1.0, 1.0])


@dataclass(frozen=True, slots=True, eq=False)
class LearnedVotes:
    """Says yes where the votes [T] of the models that say yes are more than those of the others.

    nodes: what decides each model, by its place and the hidden bits' prefix; all sizes share them.
    """

    models: tuple[Model, ...]
    alphas: tuple[float, ...]
    nodes: dict[str, Node] = field(default_factory=dict)

    @property
    def votes(self) -> float:
        """The sum of all votes, which is the largest that a row's sum can have."""
        return sum(self.alphas)

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        """The votes for yes less those for no [n]."""
        both = zip(self.models, self.alphas, strict=True)
        return sum(
            (alpha * _ANSWERS[each.decides(codes, n_rows).view(np.uint8)] for each, alpha in both), np.zeros(n_rows)
        )

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose sum is above 0."""
        return next(self.decide_all([self], codes, n_rows))

    @staticmethod
    def decide_all(several: Sequence[LearnedVotes], codes: Codes, n_rows: int) -> Iterator[Bools]:
        """What each decides [n]; a model that several of them have is asked once."""
        known: dict[int, Floats] = {}
        for votes in several:
            total = np.zeros(n_rows)
            for model, alpha in zip(votes.models, votes.alphas, strict=True):
                if id(model) not in known:
                    known[id(model)] = _ANSWERS[model.decides(codes, n_rows).view(np.uint8)]
                total += alpha * known[id(model)]
            yield np.asarray(total > 0.0)

    def score(self, frame: Frame, prefix: str) -> Score:
        """Twice the votes of the models that say yes less all votes; models that decide alike are one term."""
        inside = replace(frame, kind="two", odds=(1.0,), unreported=True)
        weights, bias = dict[Node, float](), -self.votes
        for place, (model, alpha) in enumerate(zip(self.models, self.alphas, strict=True), start=1):
            own = f"{prefix}{place}."
            if own not in self.nodes:
                self.nodes[own] = deciding_node(model.score(inside, own))
            node, never, always = _condition(self.nodes[own])
            bias += 2.0 * alpha * never
            weights[node] = weights.get(node, 0.0) + 2.0 * alpha * (always - never)
        bias += weights.pop(TRUE, 0.0)
        weights.pop(FALSE, None)
        total = Linear([(weight, node) for node, weight in weights.items()], bias)
        return Score(total, probability=Logistic(Linear([(SIGMOID, total)], 0.0)), silent=not weights and bias <= 0.0)


def _condition(node: Node) -> tuple[Node, bool, bool]:
    """A condition, and what a model says where it does not hold and where it does; of a sum of one condition that."""
    if not isinstance(node, Above) or not isinstance(node.score, Linear) or len(node.score.terms) != 1:
        return node, False, True
    ((weight, condition),) = node.score.terms
    if condition.family is not Family.BOOLEAN:
        return node, False, True
    return condition, node.score.bias > node.threshold, node.score.bias + weight > node.threshold


def learned_rounds(question: Question) -> Learning:
    """The votes after each round, until a model makes no error or is no better than guessing."""
    problem, settings, base = question.problem, question.settings, question.plan
    assert isinstance(base, BaseLearner)
    weights, bounds, rng = RowWeights(problem), Bounds(), np.random.default_rng((question.seed, question.index))
    found, sums = LearnedVotes((), ()), np.zeros(len(problem.labels))
    for size in range(1, int(settings.n_estimators) + 1):
        question.watch.check()
        whole = weights.whole()
        shown = weights.coarse()
        if settings.weak == "resampled":
            shown = np.bincount(drawn_rows(whole, int(settings.draws), rng), minlength=len(whole))
        model = base.learned(problem, shown, question).model
        codes = _decided(model, question).view(np.uint8)
        right = int(whole[(codes == 1) == (problem.labels == 1)].sum())
        answers = Stump(None, _ANSWERS, right, int(whole.sum()) - right)
        vote = round(vote_of(answers, settings) / _GRID) * _GRID
        if vote < LEAST_VOTE or answers.error >= 0.5 or found.votes + vote > LARGEST_SUM:
            return None
        found = LearnedVotes((*found.models, model), (*found.alphas, vote), found.nodes)
        sums += (vote * _ANSWERS)[codes]
        z = weights.turn(answers, codes, vote)
        said = {"edge": 0.5 - answers.error, "alpha": vote, **bounds.after(0.5 - answers.error, z)}
        wrong = weight_of(problem, (sums > 0.0) != (problem.labels == 1))
        yield Candidate(size, weights.loss, wrong, found, said=said)
        if answers.wrong == 0:
            return None
    return None


def _decided(model: Model, question: Question) -> Bools:
    """What a model says of the training rows [n]."""
    n = len(question.problem.labels)
    parts = [model.decides(codes, rows.stop - rows.start) for rows, codes in question.problem.codes.parts(n)]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=bool)
