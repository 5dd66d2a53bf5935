"""The learner noisy-or: causes that act independently of one another (J. Vomlel, Noisy-or classifier, 2003)."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.binned.binning import BinnedColumn, least_side
from rulekit.learners.binned.problem import NO_BOUNDS, Problem, with_columns
from rulekit.learners.binned.words import without_mute_words
from rulekit.learners.contract import Ability, Candidate, Kind, Learning, Question, Variants
from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.fitting.assembly import Prior
from rulekit.learners.fitting.given.allowed import Allowed
from rulekit.learners.fitting.rows.folds import fold_of_rows
from rulekit.learners.fitting.rows.inputs import TrainingData
from rulekit.learners.noisy_or.adding import grown_counts
from rulekit.learners.noisy_or.causes import Causes, causes_of
from rulekit.learners.noisy_or.counted_model import NoisyAdd, counts_of
from rulekit.learners.noisy_or.fits import Fit, Method
from rulekit.learners.noisy_or.gated_models import Gated, refuse_gated
from rulekit.learners.noisy_or.gated_search import GatedSearch, grown_gated
from rulekit.learners.noisy_or.joint_causes import Breadth
from rulekit.learners.noisy_or.models import HALF, NoisyOr, Part
from rulekit.learners.noisy_or.parity_model import NoisyParity
from rulekit.learners.noisy_or.parity_search import grown_parities
from rulekit.learners.noisy_or.search import Search, grown
from rulekit.learners.noisy_or.settings import NoisyOrSettings
from rulekit.learners.noisy_or.tuning import tuned_bound
from rulekit.learners.rule_learner import RuleLearner
from rulekit.numbers import strength_of
from rulekit.schema import Feature

_WITHOUT_SUMS = ("add", "parity")
"""The families that have missing cells as a level, and sum none out."""


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What all questions share.

    kind: of the classes; columns: how many the table has (ranked classes have a further one, of the ranks); missing
    [columns]: which have missing cells; families: what is compared, the first where nothing is; apart
    [columns, columns]: which may not stand in one cause; known: of ranked classes what was learned of a cut from some
    rows, which the questions share. counts [n_classes]: of a noisy-add the counts that the classes are.
    """

    kind: Kind
    columns: int
    missing: Bools
    families: tuple[str, ...]
    n_classes: int
    apart: Bools
    known: dict[bytes, list[Any]] = field(default_factory=dict)
    counts: tuple[int, ...] = ()


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
        if kind == "several" and settings.family == "and":
            why = "of several classes each is spoken for by causes"
            raise InputError(why, where="family", fix="leave it out, or say that the classes are ranks (--ordered)")
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
        return found

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows; beside others as the leak of a noisy-or, which can be compared with them."""
        plan: Plan = question.plan
        if plan.kind == "two":
            return super().nothing(question)
        if plan.counts:
            return _candidate(next(_counted(question)), question)
        problem = question.problem
        share = _share(problem)
        flipped = plan.families[0] == "and"
        leak = strength_of(float(f"{1.0 - share if flipped else share:.4g}"))
        model: NoisyOr | Gated = NoisyOr((Part((), (), leak),), HALF, flipped, question.settings.threshold == "half")
        if question.settings.gated:
            model = Gated(Part((), (), leak), Part((), (), 0.0), HALF, flipped)
        error = min(problem.positive, problem.total - problem.positive)
        return Candidate(0, error, error, model)

    def learn(self, question: Question) -> Learning:
        """The noisy-ors of 1, 2, ... causes by the first family."""
        yield from _candidates(question, question.plan.families[0])
        return None

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class, and with missing cells as a level, where that is asked.

        A threshold that is to find the class makes more errors, by which sizes would be chosen: the log loss does it.
        Ranked classes have one size: cuts of different sizes would be no chain, and leave a class between them nothing.
        """
        plan: Plan = question.plan
        finding = plan.kind == "two" and not self.seeks_few_errors(question.settings)
        if plan.counts:
            return Variants([lambda: candidates], lambda: 0, shared=True)
        if plan.kind == "ranked":
            return Variants([lambda: candidates], lambda: 0)
        asked = [question]
        if question.settings.missing_values == "auto" and plan.kind == "two" and _sums_out(question).any():
            asked.append(replace(question, settings=replace(question.settings, missing_values="level")))
        others = [cache(partial(_path, each, family)) for each in asked for family in plan.families][1:]
        if not others and not finding:
            return None
        made: list[Callable[[], Sequence[Candidate]]] = [lambda: candidates, *others]

        def preferred() -> int:
            if question.settings.gated:  # what speaks against the class inhibits; training rows tell too little of more
                return 0
            # Levels are free to fit more, so that the likelihood of the same rows says nothing of them.
            best = [path[-1].objective if (path := each()) else np.inf for each in made[: len(plan.families)]]
            return int(np.argmin(best))

        level = frozenset(range(len(plan.families), len(made)))
        return Variants(made, preferred, loss=_held_out_losses, bold=level, sizes_by_loss=finding)


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


def _held_out_losses(candidate: Candidate, held: Problem) -> Floats:
    """Of each held-out row [n] the negative log of the probability that is said of its label."""
    model, losses = candidate.model, np.empty(len(held.labels))
    for rows, codes in held.codes.parts(len(held.labels)):
        yes = held.labels[rows] == 1
        if isinstance(model, Prior):
            share = min(max(model.share, 1e-9), 1.0 - 1e-9)
            losses[rows] = -np.log(np.where(yes, share, 1.0 - share))
        else:
            assert isinstance(model, NoisyOr | Gated)
            losses[rows] = model.log_losses(codes, yes)
    return losses


def _path(question: Question, family: str) -> list[Candidate]:
    return list(_candidates(question, family))


def _candidates(question: Question, family: str) -> Iterator[Candidate]:
    """The noisy-ors of 1, 2, ... causes, each with its threshold."""
    settings: NoisyOrSettings = question.settings
    if settings.threshold == "half":
        for learned in _learned(question, family):
            yield _candidate(learned, question)
        return
    held = _held_out(question, family) if settings.tuned_on == "held-out" else ()
    for place, learned in enumerate(_learned(question, family)):
        models = [(path[min(place, len(path) - 1)].model, rows) for path, rows in held if path]
        bound = tuned_bound(models or [(learned.model, question.problem)], settings.threshold)
        yield _candidate(replace(learned, model=replace(learned.model, bound=bound)), question)


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """A model with its conditional log-likelihood, and that less the prior."""

    model: Any
    likelihood: float
    objective: float


def _held_out(question: Question, family: str) -> list[tuple[list[_Learned], Problem]]:
    """What is learned without the rows of each fold, and these rows."""
    problem = question.problem
    fold = fold_of_rows(problem, question.settings.n_folds, question.groups, question.seed)
    found = []
    for k in range(int(fold.max()) + 1) if fold.any() else ():
        training = problem.take(fold != k)
        training = without_mute_words(training, training.labels)
        found.append((list(_learned(replace(question, problem=training), family)), problem.take(fold == k)))
    return found


def _learned(question: Question, family: str) -> Iterator[_Learned]:
    """The noisy-ors of 1, 2, ... causes; of ranked classes the chains of as many causes for each cut."""
    plan: Plan = question.plan
    if plan.counts:
        yield from itertools.islice(_counted(question), 1, None)
        return
    if family == "parity":
        search = _search(question, question.problem, family)
        for found in grown_parities(question.problem, search, question.watch):
            parity = NoisyParity.of(found, question.problem.total)
            yield _Learned(parity, found.likelihood, found.objective)
        return
    flipped, half = family == "and", question.settings.threshold == "half"
    if question.settings.gated:
        yield from _gated(question, family)
        return
    if plan.kind != "ranked":
        problem = _flipped(question.problem) if flipped else question.problem
        for fit in grown(problem, _search(question, problem, family), question.watch):
            yield _Learned(NoisyOr((Part.of(fit, problem.total),), HALF, flipped, half), fit.likelihood, fit.objective)
        return
    cuts = range(question.index + 1) if flipped else range(question.index + 1, plan.n_classes)
    paths = {cut: _of_cut(question, cut, flipped) for cut in cuts}
    for size in range(1, max(len(path) for path, _ in paths.values())):
        chosen = [(cut, path[min(size + 1, len(path)) - 1], total) for cut, (path, total) in paths.items()]
        model = NoisyOr(tuple(Part.of(fit, total, cut) for cut, fit, total in chosen), HALF, flipped, half)
        likelihood, objective = sum(fit.likelihood for _, fit, _ in chosen), sum(fit.objective for _, fit, _ in chosen)
        yield _Learned(model, likelihood, objective)


def _gated(question: Question, family: str) -> Iterator[_Learned]:
    """The gated noisy-ors of 1, 2, ... causes and inhibitors; of two classes noisy-ors until something inhibits."""
    plan: Plan = question.plan
    flipped, half = family == "and", question.settings.threshold == "half"
    problem = _flipped(question.problem) if flipped else question.problem
    # What makes the class less likely where it inhibits has the other direction of what causes it.
    inhibitors = _causes(question, problem, not flipped)
    search = GatedSearch(_search(question, problem, family), inhibitors)
    for fit in grown_gated(problem, search, question.watch):
        model: NoisyOr | Gated = Gated.of(fit, problem.total, flipped)
        if plan.kind == "two" and not fit.inhibitors.causes:
            model = NoisyOr((Part.of(fit.causes, problem.total),), HALF, flipped, half)
        yield _Learned(model, fit.causes.likelihood, fit.causes.objective)


def _counted(question: Question) -> Iterator[_Learned]:
    """The noisy-adds of 0, 1, 2, ... causes, asked for the count of the question's class."""
    plan: Plan = question.plan
    problem, most = question.problem, plan.counts[-1]
    key = _key(problem, -1)
    if key not in plan.known:
        counts = np.array(plan.counts)[problem.codes[plan.columns]]
        search = _search(question, problem, "add")
        plan.known[key] = list(grown_counts(problem, counts, most, search, question.watch))
    for found in plan.known[key]:
        model = NoisyAdd.of(found, problem.total, most).to(plan.counts[question.index + 1])
        yield _Learned(model, found.likelihood, found.objective)


def _candidate(learned: _Learned, question: Question) -> Candidate:
    problem, model, wrong = question.problem, learned.model, 0
    if isinstance(model, Gated) and question.plan.kind == "two" and not question.fold:
        model = model.settled(problem.codes, len(problem.labels))
    for rows, codes in problem.codes.parts(len(problem.labels)):
        labels = problem.labels[rows] == 1
        wrong += int(problem.weights[rows][model.decides(codes, len(labels)) != labels].sum())
    said = {"log_likelihood": learned.likelihood}
    return Candidate(model.size, -learned.objective, wrong * problem.weight_unit, model, said=said)


def _flipped(problem: Problem) -> Problem:
    return replace(problem, labels=1 - problem.labels)


def _search(question: Question, problem: Problem, family: str) -> Search:
    """What is looked for in the rows of a problem."""
    settings: NoisyOrSettings = question.settings
    plan: Plan = question.plan
    causes = _causes(question, problem, family == "and")
    method = Method(settings.method, settings.n_iter, settings.n_init, settings.lam, question.seed)
    joint = None if settings.joint_literals is None else Breadth(settings.joint_literals, apart=plan.apart)
    return Search(causes, method, settings.max_causes, least_side(problem.total), _sums_out(question), joint)


def _sums_out(question: Question) -> Bools:
    """Of which columns [n_columns] missing cells are summed out."""
    settings: NoisyOrSettings = question.settings
    able = settings.joint_literals is None and settings.family not in _WITHOUT_SUMS
    every = settings.missing_values == "always"
    return np.asarray((question.plan.missing | every) & (able and settings.missing_values != "level"), dtype=bool)


def _causes(question: Question, problem: Problem, flipped: bool) -> list[Causes]:
    """The conditions on each column; flipped: those that make the class of the question less likely."""
    settings: NoisyOrSettings = question.settings
    plan: Plan = question.plan
    missing = plan.missing & (settings.missing_values == "level" or settings.family in _WITHOUT_SUMS)
    general = settings.variant != "or"
    return causes_of(problem.columns, range(plan.columns), general=general, missing=missing, flipped=flipped)


def _of_cut(question: Question, cut: int, flipped: bool) -> tuple[list[Fit], float]:
    """The noisy-ors of 0, 1, ... causes of one cut: in the rows up to a class (flipped: from it on) that of the class;
    the weight of these rows.
    """
    plan: Plan = question.plan
    problem = question.problem
    ranks = problem.codes[plan.columns]
    rows = np.flatnonzero(ranks >= cut if flipped else ranks <= cut)
    own = replace(problem.take(rows), labels=(ranks[rows] == cut).astype(problem.labels.dtype))
    key = _key(own, cut)
    if key not in plan.known:
        family = "and" if flipped else "or"
        alone = Fit((), (), strength_of(_share(own)))
        plan.known[key] = [alone, *grown(own, _search(question, own, family), question.watch)]
    return plan.known[key], own.total


def _share(problem: Problem) -> float:
    """The share of the positive weight, away from 0 and 1 by half a row."""
    least = 0.5 / (problem.total + 1.0)
    return min(max(problem.share, least), 1.0 - least)


def _key(problem: Problem, cut: int) -> bytes:
    """A fingerprint of the rows and the cut."""
    digest = hashlib.blake2b(str(cut).encode(), digest_size=16)
    for k in range(len(problem.columns)):
        digest.update(np.ascontiguousarray(problem.codes[k]).tobytes())
    digest.update(np.ascontiguousarray(problem.weights).tobytes())
    return digest.digest()
