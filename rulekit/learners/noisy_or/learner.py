"""The learner noisy-or: causes that act independently of one another (J. Vomlel, Noisy-or classifier, 2003)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.learners.contract import Ability, Candidate, Kind, Learning, OutOfTimeError, Question, Variants
from rulekit.learners.data.binning import NO_BOUNDS, BinnedColumn, least_side
from rulekit.learners.data.folds import drawn, fold_of_rows
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem, with_columns
from rulekit.learners.data.words import without_mute_words
from rulekit.learners.models.assembly import Prior
from rulekit.learners.noisy_or.causes import Breadth, Causes, causes_of
from rulekit.learners.noisy_or.growth import FittedCauses, JointSearch, grown
from rulekit.learners.noisy_or.model import (
    HALF,
    CausePart,
    LearnedCauses,
    NoisyOr,
    NoisyOrPlan,
    fingerprint,
    flipped_labels,
    held_out_losses,
    of_cut,
    share_of,
)
from rulekit.learners.parameters import SizeSettings, bins, number, one_of, setting, whole
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.numbers import strength_of
from rulekit.schema import Feature

_ROWS = 8192
"""The most rows that choose the family; rulekit draws them from a larger table."""


@dataclass(frozen=True)
class CausesSettings(SizeSettings):
    """What every learner of causes has: how many there may be, for which class they speak, and the prior."""

    max_causes: int = setting(20, whole(1), "most causes of a class")
    family: Literal["auto", "or", "and"] = setting(
        "auto",
        one_of("auto", "or", "and"),
        "or: causes speak for the positive class (of ranked classes noisy-max); and: against it (noisy-min); "
        "auto: the better on held-out rows, of ranked classes or",
    )
    lam: float = setting(2.0, number(0), "prior against causes: as many rows more on which each cause did not act")
    max_bins: Any = bins(10)


@dataclass(frozen=True)
class NoisyOrSettings(CausesSettings):
    """Which causes there are; all else is shared."""

    rule_length: int = setting(4, whole(1), "most literals of a cause")
    missing_values: Literal["none", "level"] = setting(
        "none", one_of("none", "level"), "none: a missing cell meets no condition; level: that it is missing may be one"
    )


class NoisyOrs(RuleLearner):
    """Noisy-ors of conditions that hold together; see NoisyOrClassifier."""

    word = "noisy-or"
    estimator = "rulekit.learners.noisy_or.estimator:NoisyOrClassifier"
    settings: ClassVar[type] = NoisyOrSettings
    noun = "cause"
    size_parameter = "max_causes"
    abilities: ClassVar[frozenset[Ability]] = frozenset(
        ("missing", "categories", "memory", "several", "ranked", "weights", "monotone", "apart")
    )

    # What a variant may change ---------------------------------------------------------------------------------------

    def grow(self, question: Question, problem: Problem, family: str) -> Iterator[FittedCauses]:
        settings: NoisyOrSettings = question.settings
        search = JointSearch(
            self.conditions(question, problem, family, missing=settings.missing_values == "level"),
            settings.lam,
            settings.max_causes,
            least_side(problem.total),
            Breadth(settings.rule_length, apart=question.plan.apart),
        )
        return grown(problem, search, question.watch)

    def families(self, settings: Any, kind: Kind) -> tuple[str, ...]:
        """What is compared, the first where nothing is."""
        return (settings.family,) if settings.family != "auto" else ("or",) if kind == "ranked" else ("or", "and")

    def variants(self, question: Question) -> list[Question]:
        """What is learned beside a question, where the candidates of all are compared on held-out rows."""
        return [question]

    def decided(self, learned: LearnedCauses, question: Question) -> LearnedCauses:
        return learned

    def models(self, question: Question, family: str) -> Iterator[LearnedCauses]:
        """The noisy-ors of 1, 2, ... causes; of ranked classes the chains of as many causes for each cut."""
        flipped, problem = family == "and", question.problem
        if question.plan.kind == "ranked":
            yield from self._chains(question, flipped)
            return
        for fit in self.grow(question, flipped_labels(problem) if flipped else problem, family):
            model = NoisyOr((fit.part(problem.total),), HALF, flipped)
            yield LearnedCauses(model, len(fit.causes), fit.likelihood, fit.objective)

    # What the base asks ----------------------------------------------------------------------------------------------

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with their plan, of ranked classes with the ranks as a further column."""
        settings: CausesSettings = questions[0].settings
        kind: Kind = "two" if len(classes) == 2 else "several" if settings.ordered is None else "ranked"
        missing = np.array([bool((problem.codes[k] == 0).any()) for k in range(len(problem.columns))], dtype=bool)
        families = self.families(settings, kind)
        apart = Allowed.of(problem.columns, data.table.constraints).apart
        plan = NoisyOrPlan(kind, len(problem.columns), missing, families, len(classes), apart)
        found = []
        for question in questions:
            own = replace(problem, labels=question.problem.labels)
            if kind == "ranked":
                rank = BinnedColumn(Feature(""), -1, len(classes), NO_BOUNDS, NO_BOUNDS)
                own = with_columns(own, [rank], [problem.labels.astype(np.min_scalar_type(len(classes)))])
            found.append(replace(question, problem=own, plan=plan))
        if kind == "several" and len(families) > 1:
            plan = replace(plan, families=(self.family_of_classes(problem, found),))
            found = [replace(question, plan=plan) for question in found]
        return found

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows; beside others as the leak of a noisy-or, which can be compared with them."""
        plan: NoisyOrPlan = question.plan
        if plan.kind == "two":
            return super().nothing(question)
        problem = question.problem
        share = share_of(problem)
        flipped = plan.families[0] == "and"
        leak = strength_of(float(f"{1.0 - share if flipped else share:.4g}"))
        error = min(problem.positive, problem.total - problem.positive)
        return Candidate(0, error, error, NoisyOr((CausePart((), leak),), HALF, flipped))

    def learn(self, question: Question) -> Learning:
        yield from self.candidates(question, question.plan.families[0])
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class, where that is asked.

        Sizes are chosen by errors and, of as many, by the log loss; by that alone where errors say nothing: of many
        classes none has a probability above 1/2 anywhere. Ranked classes have one size: cuts of different sizes would
        be no chain, and leave a class between nothing.
        """
        plan: NoisyOrPlan = question.plan
        if plan.kind == "ranked":
            return Variants([lambda: candidates], lambda: 0)
        asked = self.variants(question)
        others = [cache(partial(self.path, each, family)) for each in asked for family in plan.families][1:]
        made: list[Callable[[], Sequence[Candidate]]] = [lambda: candidates, *others]

        def preferred() -> int:
            # Further variants are free to fit more, so that the likelihood of the same rows says nothing of them.
            best = [path[-1].objective if (path := each()) else np.inf for each in made[: len(plan.families)]]
            return int(np.argmin(best))

        further = frozenset(range(len(plan.families), len(made)))
        few_errors = plan.kind == "two" and self.seeks_few_errors(question.settings)
        return Variants(made, preferred, loss=held_out_losses, bold=further, least=True, errors_first=few_errors)

    # How it learns ---------------------------------------------------------------------------------------------------

    def candidates(self, question: Question, family: str) -> Iterator[Candidate]:
        for learned in self.models(question, family):
            yield self.decided(learned, question).candidate(question)

    def path(self, question: Question, family: str) -> list[Candidate]:
        return list(self.candidates(question, family))

    def conditions(
        self, question: Question, problem: Problem, family: str, *, missing: bool = False, general: bool = True
    ) -> list[Causes]:
        """The conditions on each column that may be causes; those of "and" make the question's class less likely."""
        plan: NoisyOrPlan = question.plan
        return causes_of(
            problem.columns,
            range(plan.columns),
            general=general,
            missing=plan.missing & missing,
            flipped=family == "and",
        )

    def family_of_classes(self, problem: Problem, questions: Sequence[Question]) -> str:
        """The family ("or", "and") whose models of all classes have the least log loss on the rows of one fold.

        All classes have one family, as they are compared by one number. problem: labels are class indices, as those of
        the questions are. Each class has the size that is best for it.
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
            return sum(self._loss(question, training, held, family) for question in questions)

        try:
            return min(("or", "and"), key=loss)
        except OutOfTimeError:
            return "or"

    def _loss(self, question: Question, training: Problem, held: Problem, family: str) -> float:
        own, other = (
            replace(part, labels=(part.labels == question.index).astype(part.labels.dtype)) for part in (training, held)
        )
        weights = np.asarray(other.weights * other.weight_unit, dtype=np.float64)
        path = self.path(replace(question, problem=own, groups=None, fold=True), family)
        nothing = Candidate(0, 0.0, 0.0, Prior(own.share))
        return min(exact_sum(weights * held_out_losses(candidate, other)) for candidate in (nothing, *path))

    def _chains(self, question: Question, flipped: bool) -> Iterator[LearnedCauses]:
        """Of ranked classes the noisy-ors of 1, 2, ... causes for each cut that speaks for the question's class."""
        plan: NoisyOrPlan = question.plan
        cuts = range(question.index + 1) if flipped else range(question.index + 1, plan.n_classes)
        paths = {cut: self._of_cut(question, cut, flipped) for cut in cuts}
        for size in range(1, max(len(path) for path, _ in paths.values())):
            chosen = [(cut, path[min(size + 1, len(path)) - 1], total) for cut, (path, total) in paths.items()]
            parts = tuple(fit.part(total, cut) for cut, fit, total in chosen)
            likelihood, objective = sum(fit.likelihood for _, fit, _ in chosen), sum(f.objective for _, f, _ in chosen)
            causes = max(len(fit.causes) for _, fit, _ in chosen)
            yield LearnedCauses(NoisyOr(parts, HALF, flipped), causes, likelihood, objective)

    def _of_cut(self, question: Question, cut: int, flipped: bool) -> tuple[list[FittedCauses], float]:
        """The noisy-ors of 0, 1, ... causes of one cut, which other questions ask for, too; the weight of its rows."""
        own = of_cut(question, cut, flipped)
        known, key = question.plan.known, fingerprint(own, cut)
        if key not in known:
            alone = FittedCauses((), (), strength_of(share_of(own)))
            known[key] = [alone, *self.grow(question, own, "and" if flipped else "or")]
        return known[key], own.total
