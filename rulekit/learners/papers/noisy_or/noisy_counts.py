"""The learner noisy-count: the label is how many hidden causes act, or of two classes whether an odd number does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.contract import Candidate, Kind, Question, Variants
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.paths import LearnedCauses, NoisyOrPlan, fingerprint
from rulekit.learners.papers.noisy_or.counted import CountedCauses, CountedSearch
from rulekit.learners.papers.noisy_or.learner import AIM, Aim, TunedNoisyOrs
from rulekit.learners.papers.noisy_or.noisy_add import NoisyAdd, grown_counts
from rulekit.learners.papers.noisy_or.noisy_parity import NoisyParity, grown_parities
from rulekit.learners.parameters import SizeSettings, number, setting, whole

MOST_BITS = 200
"""Hidden bits of one model, which every target takes."""


@dataclass(frozen=True)
class CountSettings(SizeSettings):
    """How many causes there may be, how they are fitted, and where two classes are decided; all else is shared."""

    max_causes: int = setting(20, whole(1), "most causes")
    n_iter: int = setting(200, whole(1), "most iterations of EM")
    n_init: int = setting(
        1, whole(1), "starts of EM of a count, of which the best is taken; all but the first are random"
    )
    lam: float = setting(2.0, number(0), "prior against causes: as many rows more on which each cause did not act")
    threshold: Aim = AIM
    max_bins: Any = setting(10, whole(2, optional=True), "bins of a numeric column (None: one for each value)")


@dataclass(frozen=True, slots=True, eq=False)
class CountingPlan(NoisyOrPlan):
    """counts [n_classes]: those that the classes are."""

    counts: tuple[int, ...] = ()


class NoisyCounts(TunedNoisyOrs):
    """Counts of causes that act, and parities; see NoisyCountClassifier."""

    word = "noisy-count"
    estimator = "rulekit.learners.papers.noisy_or.estimators:NoisyCountClassifier"
    settings = CountSettings
    abilities = frozenset(("missing", "categories", "memory", "ranked", "weights"))

    def ranks(self, settings: CountSettings, classes: tuple[Any, ...]) -> Sequence[Any] | None:
        """The classes from low to high; whole numbers are counts."""
        if len(classes) < 3 or not _are_counts(classes):
            return super().ranks(settings, classes)
        counts = sorted(classes)
        if settings.ordered is not None and [label for label in settings.ordered if label in classes] != counts:
            raise InputError("counts are ranked by themselves", where="ordered", fix="leave it out")
        return counts

    def families(self, settings: CountSettings, kind: Kind) -> tuple[str, ...]:
        """Causes speak for a higher count, or for an odd one."""
        return ("add",)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        """The questions with the counts that the classes are."""
        settings: CountSettings = questions[0].settings
        counts = tuple(map(int, classes)) if len(classes) > 2 and _are_counts(classes) else tuple(range(len(classes)))
        if len(classes) > 2 and settings.threshold != "half":
            raise InputError("the median of counts decides", where="threshold", fix="leave it out")
        if counts[-1] + settings.max_causes > MOST_BITS:
            why = f"counts up to {counts[-1]} and {settings.max_causes} causes are more than {MOST_BITS} hidden bits"
            raise InputError(why, where="max_causes", fix="cut the counts off at a smaller one, or lower it")
        found = super().prepare(problem, questions, data, classes)
        shared = {field.name: getattr(found[0].plan, field.name) for field in fields(NoisyOrPlan)}
        plan = CountingPlan(**shared, counts=counts)
        return [replace(question, plan=plan) for question in found]

    def nothing(self, question: Question) -> Candidate:
        """The share of the odd rows; the leak alone, which is the same for all counts."""
        if question.plan.kind == "two":
            return super().nothing(question)
        return self._asked(question, self._counted(question)[0]).candidate(question)

    def models(self, question: Question, family: str) -> Iterator[LearnedCauses]:
        """The models of 1, 2, ... causes."""
        if question.plan.kind == "two":
            total = question.problem.total
            for found in grown_parities(question.problem, self._search(question)):
                model = NoisyParity.of(found, total)
                yield LearnedCauses(model, len(model.causes), found.likelihood, found.objective)
        else:
            for found in self._counted(question)[1:]:
                yield self._asked(question, found)

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """All counts have one size."""
        return Variants([lambda: candidates], lambda: 0, shared=True) if question.plan.kind == "ranked" else None

    def _search(self, question: Question) -> CountedSearch:
        settings: CountSettings = question.settings
        problem, check = question.problem, question.watch.check
        causes = self.conditions(question, problem, "add", missing=True)
        return CountedSearch(causes, settings, least_side(problem.total), question.seed, check)

    def _counted(self, question: Question) -> list[CountedCauses]:
        """The causes of the counts, which all questions share."""
        plan, problem, known = question.plan, question.problem, question.plan.known
        key = fingerprint(problem, -1)
        if key not in known:
            counts = np.array(plan.counts)[problem.codes[plan.columns]]
            known[key] = list(grown_counts(problem, counts, plan.counts[-1], self._search(question)))
        return list(known[key])

    def _asked(self, question: Question, found: CountedCauses) -> LearnedCauses:
        """A model that says whether the count is that of the question's class, or more."""
        counts, total = question.plan.counts, question.problem.total
        model = NoisyAdd.of(found, total, counts[-1], counts[question.index + 1])
        return LearnedCauses(model, len(model.causes), found.likelihood, found.objective)


def _are_counts(classes: tuple[Any, ...]) -> bool:
    return all(isinstance(each, int | np.integer) and not isinstance(each, bool) and each >= 0 for each in classes)
