"""The learner noisy-or: causes that act independently of one another (J. Vomlel, Noisy-or classifier, 2003)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.contract import Ability, Candidate, Kind, Learning, OutOfTimeError, Question, Variants
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.data.folds import drawn, fold_of_rows
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import NO_BOUNDS, Problem, with_columns
from rulekit.learners.data.words import without_mute_words
from rulekit.learners.models.assembly import Prior
from rulekit.learners.noisy_or.models.counted_model import counts_of
from rulekit.learners.noisy_or.models.gated_models import Gated, refuse_gated
from rulekit.learners.noisy_or.models.noisy_or import HALF, NoisyOr, Part
from rulekit.learners.noisy_or.paths import (
    Plan,
    candidate_of,
    candidates_of,
    counted,
    held_out_losses,
    path_of,
    share_of,
    sums_out,
)
from rulekit.learners.noisy_or.settings import NoisyOrSettings
from rulekit.learners.promises.allowed import Allowed
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.numbers import strength_of
from rulekit.schema import Feature

_ROWS = 8192
"""The most rows that choose the family; rulekit draws them from a larger table."""


def family_of_classes(problem: Problem, questions: Sequence[Question]) -> str:
    """The family ("or", "and") whose models of all classes have the least log loss on the rows of one fold.

    All classes have one family, as they are compared by one number. problem: labels are class indices, as those of the
    questions are. Each class has the size that is best for it.
    """
    first = questions[0]
    groups = first.groups
    if problem.total > _ROWS and len(problem.labels) > _ROWS:
        problem, groups = drawn(problem, _ROWS, first.seed), None
    fold = fold_of_rows(problem, first.settings.n_folds, groups, first.seed)
    if not fold.any():
        return "or"
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    training = without_mute_words(training, training.labels)

    def loss(family: str) -> float:
        return sum(_loss(question, training, held, family) for question in questions)

    try:
        return min(("or", "and"), key=loss)
    except OutOfTimeError:
        return "or"


def _loss(question: Question, training: Problem, held: Problem, family: str) -> float:
    """The least log loss of a class against the rest, over the sizes."""
    own, other = (
        replace(part, labels=(part.labels == question.index).astype(part.labels.dtype)) for part in (training, held)
    )
    weights = np.asarray(other.weights * other.weight_unit, dtype=np.float64)
    path = path_of(replace(question, problem=own, groups=None, fold=True), family)
    nothing = Candidate(0, 0.0, 0.0, Prior(own.share))
    return min(exact_sum(weights * held_out_losses(candidate, other)) for candidate in (nothing, *path))


class NoisyOrs(RuleLearner):
    """Noisy-ors of conditions on single columns; see NoisyOrClassifier."""

    word = "noisy-or"
    estimator = "rulekit.learners.noisy_or.estimator:NoisyOrClassifier"
    settings = NoisyOrSettings
    noun = "cause"
    size_parameter = "max_causes"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        ("missing", "categories", "memory", "several", "ranked", "weights", "monotone", "apart")
    )

    def seeks_few_errors(self, settings: NoisyOrSettings) -> bool:
        """Not where the threshold is to find the class, which makes more errors on purpose."""
        return settings.threshold not in ("f1", "break-even")

    def check(self, settings: NoisyOrSettings) -> None:
        """Raise InputError where settings contradict each other, or ask for what is not learned."""
        if settings.family == "add" and settings.threshold != "half":
            raise InputError("the median of a noisy-add decides", where="threshold", fix="leave it out")
        if settings.n_init > 1 and settings.method != "em" and settings.family not in ("add", "parity"):
            why = "coordinate descent reaches the same maximum from every start"
            raise InputError(why, where="n_init", fix="leave it out, or take method=em")
        if settings.gated and settings.method == "em":
            why = "EM does not fit inhibitors"
            raise InputError(why, where="method", fix="leave it out, or take variant=general, or or dnf")

    def ranks(self, settings: NoisyOrSettings, classes: tuple[Any, ...]) -> Sequence[Any] | None:
        """The classes from low to high; of a noisy-add they are counts."""
        if settings.family != "add":
            return settings.ordered
        counts = counts_of(classes, settings.max_causes)
        if settings.ordered is not None and [label for label in settings.ordered if label in classes] != counts:
            raise InputError("counts are ranked by themselves", where="ordered", fix="leave it out")
        return counts

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with their plan, of ranked classes with the ranks as a further column."""
        settings: NoisyOrSettings = questions[0].settings
        kind: Kind = "two" if len(classes) == 2 else "several" if settings.ordered is None else "ranked"
        if settings.family == "parity":
            _refuse_as_parity(problem, classes)
        if kind != "two" and settings.threshold == "break-even":
            why = "precision and recall are of two classes"
            raise InputError(why, where="threshold", fix="take half, accuracy or f1")
        refuse_gated(settings, kind, data.table.constraints)
        missing = np.array([bool((problem.codes[k] == 0).any()) for k in range(len(problem.columns))], dtype=bool)
        families = ("or", "and") if (settings.family, kind) == ("auto", "two") else (_family(settings),)
        apart = Allowed.of(problem.columns, data.table.constraints).apart
        counts = tuple(map(int, classes)) if settings.family == "add" else ()
        plan = Plan(kind, len(problem.columns), missing, families, len(classes), apart, counts=counts)
        found = []
        for question in questions:
            own = replace(problem, labels=question.problem.labels)
            if kind == "ranked":
                rank = BinnedColumn(Feature(""), -1, len(classes), NO_BOUNDS, NO_BOUNDS)
                own = with_columns(own, [rank], [problem.labels.astype(np.min_scalar_type(len(classes)))])
            found.append(replace(question, problem=own, plan=plan))
        if (settings.family, kind) == ("auto", "several") and not settings.gated:
            plan = replace(plan, families=(family_of_classes(problem, found),))
            found = [replace(question, plan=plan) for question in found]
        return found

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows; beside others as the leak of a noisy-or, which can be compared with them."""
        plan: Plan = question.plan
        if plan.kind == "two":
            return super().nothing(question)
        if plan.counts:
            return candidate_of(next(counted(question)), question)
        problem = question.problem
        share = share_of(problem)
        flipped = plan.families[0] == "and"
        leak = strength_of(float(f"{1.0 - share if flipped else share:.4g}"))
        model: NoisyOr | Gated = NoisyOr((Part((), (), leak),), HALF, flipped, question.settings.threshold == "half")
        if question.settings.gated:
            model = Gated(Part((), (), leak), Part((), (), 0.0), HALF, flipped)
        error = min(problem.positive, problem.total - problem.positive)
        return Candidate(0, error, error, model)

    def learn(self, question: Question) -> Learning:
        """The noisy-ors of 1, 2, ... causes by the first family."""
        yield from candidates_of(question, question.plan.families[0])
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class, and with missing cells as a level, where that is asked.

        Sizes are chosen by errors and, of as many, by the log loss; by that alone where errors say nothing: a threshold
        that is to find the class makes more of them, and of many classes none has a probability above 1/2 anywhere.
        Ranked classes have one size: cuts of different sizes would be no chain, and leave a class between nothing.
        """
        plan: Plan = question.plan
        if plan.counts:
            return Variants([lambda: candidates], lambda: 0, shared=True)
        if plan.kind == "ranked":
            return Variants([lambda: candidates], lambda: 0)
        if plan.families == ("parity",):
            return None
        asked = [question]
        if question.settings.missing_values == "auto" and plan.kind == "two" and sums_out(question).any():
            asked.append(replace(question, settings=replace(question.settings, missing_values="level")))
        others = [cache(partial(path_of, each, family)) for each in asked for family in plan.families][1:]
        made: list[Callable[[], Sequence[Candidate]]] = [lambda: candidates, *others]

        def preferred() -> int:
            if question.settings.gated:  # what speaks against the class inhibits; training rows tell too little of more
                return 0
            # Levels are free to fit more, so that the likelihood of the same rows says nothing of them.
            best = [path[-1].objective if (path := each()) else np.inf for each in made[: len(plan.families)]]
            return int(np.argmin(best))

        level = frozenset(range(len(plan.families), len(made)))
        few_errors = plan.kind == "two" and self.seeks_few_errors(question.settings)
        return Variants(made, preferred, loss=held_out_losses, bold=level, least=True, errors_first=few_errors)


def _refuse_as_parity(problem: Problem, classes: tuple[Any, ...]) -> None:
    """Raise InputError for what no parity can be or promise."""
    if len(classes) != 2:
        why = f"a noisy-parity says of two classes which it is, and there are {len(classes)}"
        raise InputError(why, where="family", fix="leave it out, or ask for one class (--positive, a label yes or no)")
    rising = next((column.feature.name for column in problem.columns if column.feature.monotone), None)
    if rising is not None:
        why = "a noisy-parity neither rises nor falls with a column"
        raise InputError(why, where=f"column {rising!r}", fix="drop the declaration, or take another family")


def _family(settings: NoisyOrSettings) -> str:
    return "or" if settings.family == "auto" else settings.family
