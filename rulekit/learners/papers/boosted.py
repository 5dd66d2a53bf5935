"""The learner boosted: AdaBoost over models of another learner, by its word or unfitted, each of which gets a vote.

As over stumps (rulekit.learners.boosting.learner), with any hypothesis in their place (Y. Freund and R. Schapire, A
Decision-Theoretic Generalization of On-Line Learning, 1997). A vote is a multiple of 2^-10 as soon as it is found, and
turns the weights of the rows as it is, so that the model has the very votes that were learned, every sum is exact, and
the bounds hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Linear, Logistic, Node
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.boosting.learner import LEAST_VOTE, BoostingWeights, Bounds, Turn, noted_rounds, vote_of
from rulekit.learners.boosting.stumps import LARGEST_SUM, SIGMOID, Stump, share_of_votes
from rulekit.learners.contract import (
    Ability,
    Candidate,
    Frame,
    Learning,
    Model,
    OutOfTimeError,
    Question,
    Score,
    find_learner,
    refuse_unable,
)
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.inputs import TrainingData, refuse_columns
from rulekit.learners.data.problem import Problem
from rulekit.learners.faults import blamed
from rulekit.learners.learning import LearningPlan, Run, learn_all
from rulekit.learners.models.assembly import deciding_node
from rulekit.learners.models.plain import refuse_for_sums
from rulekit.learners.papers.early_boosting import drawn_rows, in_own_order
from rulekit.learners.parameters import Allowed, Settings, SizeSettings, check_parameters, setting, value_for, whole
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sizes.path import ModelPath
from rulekit.learners.sums_of_rows.kernels import one_blas_thread
from rulekit.names import near_names
from rulekit.tables.table import Table

BASE = Allowed(
    lambda value: isinstance(value, RuleLearner) or (isinstance(value, str) and value != ""),
    "a learner such as 'cnll' or 'cnll(size=1)', or an unfitted learner",
)
_WRITTEN = re.compile(r"\s*([^\s()]+)\s*(?:\((.*)\))?\s*", re.DOTALL)  # a word as entry points have it: noisy-or
_ITS_OWN = {"stopping", "n_folds", "parsimony", "points", "start", "freeze", *(item.name for item in fields(Settings))}
"""What is said of the whole model, and not of its parts."""
_GRID = 2.0**-10


@dataclass(frozen=True, slots=True, eq=False)
class BaseLearner:
    """A learner with its settings, which are resolved; question: as it was prepared, on all rows."""

    learner: RuleLearner
    settings: Any
    question: Question | None = None

    def learned(self, problem: Problem, weights: Ints, watch: Question) -> Candidate:
        """What it learns from rows of these weights [n], all together as much as in the problem; watch: the question.

        Raises OutOfTimeError and KeyboardInterrupt where it was stopped.
        """
        assert self.question is not None
        seen = replace(problem, weights=weights, weight_unit=problem.total / float(weights.sum()))
        if not weights.all():
            seen = seen.take(np.flatnonzero(weights))
        question = Question(
            *(watch.label, watch.index, seen, self.settings, watch.seed, watch.n_threads, watch.watch),
            plan=self.question.plan,
            fold=True,  # only what is decided counts, and not what is reported of it
        )
        most = int(getattr(self.settings, self.learner.size_parameter, 0))
        plan = LearningPlan(None, 0.0, most, None, watch.watch.until, getattr(self.settings, "size", None))
        with blamed(type(self.learner)), one_blas_thread():  # products of units are the same on any machine
            (run,), stopped = learn_all(self.learner, [question], plan)
        if stopped:
            raise OutOfTimeError if stopped == "time limit" else KeyboardInterrupt
        return run.path[run.chosen - 1] if run.chosen else run.nothing or self.learner.nothing(question)


def base_of(settings: Any, rows: float) -> BaseLearner:
    """The base learner that the settings name, for rows of so much weight.

    Raises InputError for a learner or a parameter that there is not, or that is said of the whole model.
    """
    learner = settings.base
    if isinstance(learner, str):
        learner, given = _written(learner)
    else:
        values = learner.given_parameters()
        given = {key: value for key, value in values.items() if value is not learner.parameters[key].default}
    name, known = learner.word or type(learner).__name__, learner.parameters
    for key in given:
        if key in _ITS_OWN:
            raise InputError(f"{key} of {name} is said of the whole model", where="base", fix=f"leave it out of {name}")
        if key not in known:
            near = near_names(key, known)
            fix = f"did you mean {' or '.join(near)}?" if near else f"it has {', '.join(known)}"
            raise InputError(f"{name} has no parameter {key!r}", where="base", fix=fix)
    defaults = {key: parameter.default for key, parameter in known.items()}
    values = {**defaults, **learner.as_base, **given}
    check_parameters("base", values, known)
    asked = {key: getattr(settings, key) for key in ("monotone", "missing_never_helps", "memory", "ordered")}
    refuse_unable(type(learner), asked)
    shared = {item.name: getattr(settings, item.name) for item in fields(Settings) if item.name in known}
    values |= {key: value for key, value in shared.items() if key not in ("max_bins", "require", "forbid", "callback")}
    own = learner.settings(**{**values, "verbose": 0})
    learner.check(own)
    return BaseLearner(learner, learner.resolve(own, rows))


def _written(text: str) -> tuple[RuleLearner, dict[str, Any]]:
    """A word, or a word with parameters in brackets."""
    found = _WRITTEN.fullmatch(text)
    if found is None:
        raise InputError(f"{text!r} names no learner", where="base", fix="write cnll or cnll(size=1)")
    learner, given = find_learner(found[1])(), {}
    for item in (part for part in (found[2] or "").split(",") if part.strip()):
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"{item.strip()!r} is not K=V", where="base", fix="write cnll(size=1)")
        given[name.strip()] = value_for(learner.parameters.get(name.strip()), value.strip())
    return learner, given


_ANSWERS = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class BoostedSettings(SizeSettings):
    """Whose models vote."""

    base: Any = setting("additive(max_rules=1)", BASE, "whose models vote: another learner, as cnll(size=1)")
    n_estimators: int = setting(100, whole(1), "most rounds; each adds one model")
    draws: int | None = setting(
        None, whole(1, optional=True), "rows drawn by weight in a round (None: all rows, by their weights)"
    )


class BoostedClassifier(AdaBoostStumpClassifier):
    """Models of another learner that vote as AdaBoost's conditions do (Y. Freund and R. Schapire, 1997).

    Each round learns a model from the rows by weight, which say yes or no; its error on all rows by weight gives its
    vote. `history_` has the figures of the theorem, see AdaBoostStumpClassifier.
    """

    word = "boosted"
    estimator = ""
    settings = BoostedSettings
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        (*("missing", "categories", "memory", "several", "ranked", "weights"), *("monotone", "missing_never_helps"))
    )

    def check(self, settings: BoostedSettings) -> None:
        base_of(settings, 1.0)

    def resolve(self, settings: BoostedSettings, rows: float) -> BoostedSettings:
        return settings

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions, with what the base learner makes of them."""
        settings: BoostedSettings = questions[0].settings
        refuse_for_sums(settings, classes)
        base = base_of(settings, problem.total)
        refuse_columns(type(base.learner), data, settings.ordered is not None)
        asked = [replace(each, settings=base.settings) for each in questions]
        own = base.learner.prepare(problem, asked, data, classes)
        return [
            replace(question, problem=inner.problem, plan=replace(base, question=inner))
            for question, inner in zip(questions, own, strict=True)
        ]

    def learn(self, question: Question) -> Learning:
        """The votes after each round, until a model makes no error or is no better than guessing."""
        problem, settings, base = question.problem, question.settings, question.plan
        assert isinstance(base, BaseLearner)
        weights, bounds = BoostingWeights(problem), Bounds()
        rng = np.random.default_rng((question.seed, question.index))
        found, sums = LearnedVotes((), ()), np.zeros(len(problem.labels))
        order = in_own_order(problem, question.seed)
        for size in range(1, int(settings.n_estimators) + 1):
            question.watch.check()
            whole = weights.whole()
            shown = weights.coarse()
            if settings.draws is not None:
                shown = np.bincount(drawn_rows(order, whole, int(settings.draws), rng), minlength=len(whole))
            model = base.learned(problem, shown, question).model
            parts = problem.codes.parts(len(problem.labels))
            decided = [model.decides(codes, rows.stop - rows.start) for rows, codes in parts]
            codes = np.concatenate([np.zeros(0, dtype=bool), *decided]).view(np.uint8)
            right = int(whole[(codes == 1) == (problem.labels == 1)].sum())
            answers = Stump(None, _ANSWERS, right, int(whole.sum()) - right)
            vote = round(vote_of(answers.error) / _GRID) * _GRID
            if vote < LEAST_VOTE or answers.error >= 0.5 or found.votes + vote > LARGEST_SUM:
                return None
            found = LearnedVotes((*found.models, model), (*found.alphas, vote), found.nodes)
            sums += (vote * _ANSWERS)[codes]
            z = weights.turn(Turn.of(answers, vote), codes)
            said = {"edge": 0.5 - answers.error, "alpha": vote, **bounds.after(0.5 - answers.error, z)}
            wrong = problem.weight_of((sums > 0.0) != (problem.labels == 1))
            yield Candidate(size, weights.loss.value, wrong, found, said=said)
            if answers.wrong == 0:
                return None
        return None

    def conclude(self, runs: Sequence[Run], path: ModelPath) -> None:
        """Note the rounds, of whose votes the theorem speaks."""
        path.provenance["rounds"] = noted_rounds(runs, path)


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
        return sum(self.alphas)

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        both = zip(self.models, self.alphas, strict=True)
        return sum(
            (alpha * _ANSWERS[each.decides(codes, n_rows).view(np.uint8)] for each, alpha in both), np.zeros(n_rows)
        )

    def shares(self, frame: Frame, rows: Table) -> Floats:
        """The same of rows of a table [n], as a share of all votes."""
        return share_of_votes(self.score(frame, "").node, rows, self.votes)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
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
