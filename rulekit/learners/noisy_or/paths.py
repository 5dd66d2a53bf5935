"""What is learned for one question: noisy-ors of 1, 2, ... causes by one family, and their losses on held-out rows."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.learners.contract import Candidate, Kind, Question
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.folds import fold_of_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.data.words import without_mute_words
from rulekit.learners.models.assembly import Prior
from rulekit.learners.noisy_or.counted.adding import grown_counts
from rulekit.learners.noisy_or.counted.parity_search import grown_parities
from rulekit.learners.noisy_or.models.counted_model import NoisyAdd, NoisyParity
from rulekit.learners.noisy_or.models.gated_models import Gated
from rulekit.learners.noisy_or.models.noisy_or import HALF, NoisyOr, Part
from rulekit.learners.noisy_or.search.causes import Causes, causes_of
from rulekit.learners.noisy_or.search.fits import Fit, Method
from rulekit.learners.noisy_or.search.gated_search import GatedSearch, grown_gated
from rulekit.learners.noisy_or.search.joint_causes import Breadth
from rulekit.learners.noisy_or.search.single_causes import Search, grown
from rulekit.learners.noisy_or.settings import NoisyOrSettings
from rulekit.learners.noisy_or.tuning import tuned_bound
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.numbers import strength_of

WITHOUT_SUMS = ("add", "parity")
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


def held_out_losses(candidate: Candidate, held: Problem) -> Floats:
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


def path_of(question: Question, family: str) -> list[Candidate]:
    return list(candidates_of(question, family))


def candidates_of(question: Question, family: str) -> Iterator[Candidate]:
    """The noisy-ors of 1, 2, ... causes, each with its threshold."""
    settings: NoisyOrSettings = question.settings
    if settings.threshold == "half":
        for learned in models_of(question, family):
            yield candidate_of(learned, question)
        return
    held = _held_out(question, family) if settings.tuned_on == "held-out" else ()
    for place, learned in enumerate(models_of(question, family)):
        models = [(path[min(place, len(path) - 1)].model, rows) for path, rows in held if path]
        bound = tuned_bound(models or [(learned.model, question.problem)], settings.threshold)
        yield candidate_of(replace(learned, model=replace(learned.model, bound=bound)), question)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A model with its conditional log-likelihood, and that less the prior."""

    model: Any
    likelihood: float
    objective: float


def _held_out(question: Question, family: str) -> list[tuple[list[Learned], Problem]]:
    """What is learned without the rows of each fold, and these rows."""
    problem = question.problem
    fold = fold_of_rows(problem, question.settings.n_folds, question.groups, question.seed)
    found = []
    for k in range(int(fold.max()) + 1) if fold.any() else ():
        training = problem.take(fold != k)
        training = without_mute_words(training, training.labels)
        found.append((list(models_of(replace(question, problem=training), family)), problem.take(fold == k)))
    return found


def models_of(question: Question, family: str) -> Iterator[Learned]:
    """The noisy-ors of 1, 2, ... causes; of ranked classes the chains of as many causes for each cut."""
    plan: Plan = question.plan
    if plan.counts:
        yield from itertools.islice(counted(question), 1, None)
        return
    if family == "parity":
        search = _search(question, question.problem, family)
        for found in grown_parities(question.problem, search, question.watch):
            parity = NoisyParity.of(found, question.problem.total)
            yield Learned(parity, found.likelihood, found.objective)
        return
    flipped, half = family == "and", question.settings.threshold == "half"
    if question.settings.gated:
        yield from _gated(question, family)
        return
    if plan.kind != "ranked":
        problem = _flipped(question.problem) if flipped else question.problem
        for fit in grown(problem, _search(question, problem, family), question.watch):
            yield Learned(NoisyOr((Part.of(fit, problem.total),), HALF, flipped, half), fit.likelihood, fit.objective)
        return
    cuts = range(question.index + 1) if flipped else range(question.index + 1, plan.n_classes)
    paths = {cut: _of_cut(question, cut, flipped) for cut in cuts}
    for size in range(1, max(len(path) for path, _ in paths.values())):
        chosen = [(cut, path[min(size + 1, len(path)) - 1], total) for cut, (path, total) in paths.items()]
        model = NoisyOr(tuple(Part.of(fit, total, cut) for cut, fit, total in chosen), HALF, flipped, half)
        likelihood, objective = sum(fit.likelihood for _, fit, _ in chosen), sum(fit.objective for _, fit, _ in chosen)
        yield Learned(model, likelihood, objective)


def _gated(question: Question, family: str) -> Iterator[Learned]:
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
        yield Learned(model, fit.causes.likelihood, fit.causes.objective)


def counted(question: Question) -> Iterator[Learned]:
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
        yield Learned(model, found.likelihood, found.objective)


def candidate_of(learned: Learned, question: Question) -> Candidate:
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
    least, summed = least_side(problem.total), sums_out(question)
    return Search(causes, method, settings.max_causes, least, summed, joint, settings.least_gain)


def sums_out(question: Question) -> Bools:
    """Of which columns [n_columns] missing cells are summed out."""
    settings: NoisyOrSettings = question.settings
    able = settings.joint_literals is None and settings.family not in WITHOUT_SUMS
    every = settings.missing_values == "always"
    return np.asarray((question.plan.missing | every) & (able and settings.missing_values != "level"), dtype=bool)


def _causes(question: Question, problem: Problem, flipped: bool) -> list[Causes]:
    """The conditions on each column; flipped: those that make the class of the question less likely."""
    settings: NoisyOrSettings = question.settings
    plan: Plan = question.plan
    missing = plan.missing & (settings.missing_values == "level" or settings.family in WITHOUT_SUMS)
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
        alone = Fit((), (), strength_of(share_of(own)))
        plan.known[key] = [alone, *grown(own, _search(question, own, family), question.watch)]
    return plan.known[key], own.total


def share_of(problem: Problem) -> float:
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
