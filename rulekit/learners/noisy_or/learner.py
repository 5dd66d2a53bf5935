"""The learner noisy-or: causes that act independently of one another (J. Vomlel, Noisy-or classifier, 2003).

Causes come one after another: the one that raises the likelihood most joins, and all strengths are fitted anew. What a
further cause is worth is not estimated by a slope: the log-likelihood of the rows is added up for a few strengths that
it may have, by code of each column, and the sums of all conditions on a column follow from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from operator import attrgetter
from typing import Any, ClassVar, Literal

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.learners.contract import Ability, Candidate, Kind, Learning, OutOfTimeError, Question, Variants
from rulekit.learners.data.binning import NO_BOUNDS, BinnedColumn, least_side
from rulekit.learners.data.folds import drawn, fold_of_rows
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem, with_columns, without_mute_words
from rulekit.learners.models.assembly import Prior
from rulekit.learners.noisy_or.causes import AnyCause, Causes, JointSearch, causes_of
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, cells_held, coordinate_descent, log_positive
from rulekit.learners.noisy_or.model import HALF, CausePart, Learned, NoisyOr, NoisyOrPlan, candidate, fingerprint
from rulekit.learners.parameters import SizeSettings, bins, number, one_of, setting, whole
from rulekit.learners.promises.kept import Allowed
from rulekit.learners.rule_learner import RuleLearner
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.numbers import strength_of
from rulekit.schema import Feature

LEAST_GAIN = 0.01  # the least number of nats that a further cause gains, beyond its prior
NO_STRENGTH = 1e-7  # what is not stronger is no cause
_SWEEPS = 200

Descent = Callable[[Incidence, Strengths], Strengths]  # what fits strengths to rows, from a start


def ever_longer(
    fit: Any, longer: Any, most: int, check: Any, reached: Any = attrgetter("objective"), least: float = LEAST_GAIN
) -> Iterator[Any]:
    """The fits of more causes than any before: those that `longer` makes of the last one, while each gains enough."""
    largest = fit.size
    while fit.size < most:
        check()
        found = longer(fit)
        if found is None or reached(found) - reached(fit) <= least:
            return
        fit = found
        if fit.size > largest:  # the strengths of some may have become 0
            largest = fit.size
            yield fit


@dataclass(frozen=True, slots=True, eq=False)
class FittedCauses:
    """Causes with their strengths, and the leak's.

    likelihood: the conditional log-likelihood of the rows in nats; objective: less the prior.
    """

    causes: tuple[Any, ...]  # Cause or JointCause, all alike
    strengths: tuple[float, ...]
    leak: float
    likelihood: float = 0.0
    objective: float = 0.0

    @property
    def size(self) -> int:
        return len(self.causes)

    def part(self, total: float, cut: int = -1) -> CausePart:
        return CausePart.of(self.causes, self.strengths, self.leak, total, cut)

    def begin(self, causes: Sequence[AnyCause]) -> Strengths:
        """Strengths of causes to start from: its own, and a tenth for causes that it has not."""
        known = {id(cause): strength for cause, strength in zip(self.causes, self.strengths, strict=True)}
        cells = np.array([known.get(id(cause), 0.1) for cause in causes], dtype=np.float64)
        return Strengths(cells, max(self.leak, 1e-6))


@dataclass(frozen=True, slots=True, eq=False)
class HeldRows:
    """The rows of a problem as the causes see them, with the rows [n] on which each cause that was asked for holds."""

    problem: Problem
    holding: dict[int, tuple[AnyCause, Bools]] = field(default_factory=dict)

    def holds(self, cause: AnyCause) -> Bools:
        if id(cause) not in self.holding:
            self.holding[id(cause)] = cause, cause.holds(self.problem.codes)
        return self.holding[id(cause)][1]

    def activations(self, fit: FittedCauses, least: float = 0.0) -> Floats:
        """The sums of strengths [n]; least: of the leak."""
        total = np.full(len(self.problem.labels), max(fit.leak, least))
        for cause, strength in zip(fit.causes, fit.strengths, strict=True):
            total += strength * self.holds(cause)
        return total

    def fitted(
        self,
        causes: Sequence[AnyCause],
        prior: float,
        descent: Descent,
        start: FittedCauses | None = None,
        further: Sequence[Bools] = (),
    ) -> FittedCauses:
        """The strengths of the causes that fit the rows best; those of which none is left are dropped.

        further: cells [n] behind the causes, of which the prior does not ask.
        """
        labels = self.problem.labels
        cells = cells_held([*(self.holds(cause) for cause in causes), *further], len(labels))
        incidence = Incidence.of(cells, labels, self.problem.in_rows)
        found = descent(incidence, (start or FittedCauses((), (), 0.1)).begin(causes))
        own = found.cells[: len(causes)]
        kept = np.flatnonzero(own > NO_STRENGTH).tolist()
        likelihood = incidence.likelihood(found)
        objective = likelihood - prior * float(own.sum())
        chosen, strengths = tuple(causes[k] for k in kept), tuple(float(own[k]) for k in kept)
        return FittedCauses(chosen, strengths, found.leak, likelihood, objective)


def descent_of(search: JointSearch) -> Descent:
    return lambda incidence, start: (
        coordinate_descent(incidence, start, prior=search.prior, sweeps=_SWEEPS, check=search.watch.check).strengths
    )


def grown(problem: Problem, search: JointSearch) -> Iterator[FittedCauses]:
    """The best causes, one more each time."""
    rows, descent, positive = HeldRows(problem), descent_of(search), problem.labels == 1
    if not 0.0 < problem.positive < problem.total:
        return

    def longer(fit: FittedCauses) -> FittedCauses | None:
        s = rows.activations(fit, 1e-9)

        def reached(strength: float) -> Floats:
            return np.where(positive, log_positive(s + strength), -(s + strength))

        found = search.best(problem, reached, problem.in_rows)
        if found is None or found[0] <= LEAST_GAIN or found[1].key in {cause.key for cause in fit.causes}:
            return None
        return rows.fitted((*fit.causes, found[1]), search.prior, descent, fit)

    yield from ever_longer(rows.fitted((), search.prior, descent), longer, search.most, search.watch.check)


_ROWS = 8192  # the most rows that choose the family; rulekit draws them from a larger table


def held_out_losses(candidate: Candidate, held: Problem) -> Floats:
    model: Any = candidate.model
    losses = np.empty(len(held.labels))
    for rows, codes in held.codes.parts(len(held.labels)):
        yes = held.labels[rows] == 1
        if isinstance(model, Prior):
            share = min(max(model.share, 1e-9), 1.0 - 1e-9)
            losses[rows] = -np.log(np.where(yes, share, 1.0 - share))
        else:
            losses[rows] = model.log_losses(codes, yes)
    return losses


def share_of(problem: Problem) -> float:
    """The share of the positive weight, away from 0 and 1 by half a row."""
    least = 0.5 / (problem.total + 1.0)
    return min(max(problem.share, least), 1.0 - least)


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

    def grow(self, question: Question, problem: Problem, family: str) -> Iterator[FittedCauses]:
        settings: NoisyOrSettings = question.settings
        causes = self.conditions(question, problem, family, missing=settings.missing_values == "level")
        own = (settings.lam, settings.max_causes, least_side(problem.total), settings.rule_length)
        apart = question.plan.apart if len(question.plan.apart) else None
        return grown(problem, JointSearch(causes, *own, apart=apart, watch=question.watch))

    def families(self, settings: Any, kind: Kind) -> tuple[str, ...]:
        """What is compared, the first where nothing is."""
        return (settings.family,) if settings.family != "auto" else ("or",) if kind == "ranked" else ("or", "and")

    def variants(self, question: Question) -> list[Question]:
        """What is learned beside a question, where the candidates of all are compared on held-out rows."""
        return [question]

    def decided(self, model: Any, question: Question) -> Any:
        """The model as it decides in the end."""
        return model

    def models(self, question: Question, family: str) -> Iterator[Learned]:
        """The noisy-ors of 1, 2, ... causes; of ranked classes the chains of as many causes for each cut."""
        flipped, problem = family == "and", question.problem
        if question.plan.kind == "ranked":
            yield from self._chains(question, flipped)
            return
        for fit in self.grow(question, replace(problem, labels=1 - problem.labels) if flipped else problem, family):
            model = NoisyOr((fit.part(problem.total),), HALF, flipped)
            yield model, len(fit.causes), fit.likelihood, fit.objective

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

    def candidates(self, question: Question, family: str) -> Iterator[Candidate]:
        for model, *said in self.models(question, family):
            yield candidate(question, (self.decided(model, question), *said))

    def path(self, question: Question, family: str) -> list[Candidate]:
        return list(self.candidates(question, family))

    def conditions(
        self, question: Question, problem: Problem, family: str, *, missing: bool = False, general: bool = True
    ) -> list[Causes]:
        """The conditions on each column that may be causes; those of "and" make the question's class less likely."""
        plan: NoisyOrPlan = question.plan
        columns, missed = problem.columns[: plan.columns], plan.missing & missing
        return causes_of(columns, general=general, missing=missed, flipped=family == "and")

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

        def of(question: Question, part: Problem) -> Problem:
            return replace(part, labels=(part.labels == question.index).astype(part.labels.dtype))

        def loss(family: str) -> float:
            total = 0.0
            for question in questions:
                own, other = of(question, training), of(question, held)
                path = self.path(replace(question, problem=own, groups=None, fold=True), family)
                every = (Candidate(0, 0.0, 0.0, Prior(own.share)), *path)
                total += min(exact_sum(other.in_rows * held_out_losses(each, other)) for each in every)
            return total

        try:
            return min(("or", "and"), key=loss)
        except OutOfTimeError:
            return "or"

    def _chains(self, question: Question, flipped: bool) -> Iterator[Learned]:
        """Of ranked classes the noisy-ors of 1, 2, ... causes for each cut that speaks for the question's class."""
        plan: NoisyOrPlan = question.plan
        cuts = range(question.index + 1) if flipped else range(question.index + 1, plan.n_classes)
        paths = {cut: self._of_cut(question, cut, flipped) for cut in cuts}
        for size in range(1, max(len(path) for path, _ in paths.values())):
            chosen = [(cut, path[min(size + 1, len(path)) - 1], total) for cut, (path, total) in paths.items()]
            model = NoisyOr(tuple(fit.part(total, cut) for cut, fit, total in chosen), HALF, flipped)
            likelihood, objective = sum(fit.likelihood for _, fit, _ in chosen), sum(f.objective for _, f, _ in chosen)
            yield model, max(len(fit.causes) for _, fit, _ in chosen), likelihood, objective

    def _of_cut(self, question: Question, cut: int, flipped: bool) -> tuple[list[FittedCauses], float]:
        """The noisy-ors of 0, 1, ... causes of one cut, which other questions ask for, too; the weight of its rows.

        They see the rows of the ranks up to the cut (flipped: from it on), whose positive ones are those of the cut.
        """
        ranks = question.problem.codes[question.plan.columns]
        rows = np.flatnonzero(ranks >= cut if flipped else ranks <= cut)
        own = question.problem.take(rows)
        own = replace(own, labels=(ranks[rows] == cut).astype(own.labels.dtype))
        known, key = question.plan.known, fingerprint(own, cut)
        if key not in known:
            alone = FittedCauses((), (), strength_of(share_of(own)))
            known[key] = [alone, *self.grow(question, own, "and" if flipped else "or")]
        return known[key], own.total
