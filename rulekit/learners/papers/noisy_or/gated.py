"""The learner noisy-or-gated: causes any of which may act, and inhibitors none of which may, one after another.

What gains most joins, and all strengths are fitted anew. A cause may be a joint one; an inhibitor is a condition on one
column. A condition that several causes need may leave them all, and its contrary then inhibits. Until something
inhibits, this is a noisy-or, whose strengths have one maximum; a gated noisy-or is fitted from the strengths that it
had before (`gated_fit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.nodes import Above, And, Node, Not, Or, Probability
from rulekit.graph.probability.deciding import WITHIN, GateCurve, denied, gated_decision
from rulekit.learners.contract import Candidate, Frame, Kind, Question, Score, Variants, Watch
from rulekit.learners.data.binning import Codes, least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import (
    Breadth,
    Causes,
    JointCause,
    Rise,
    best_joint_cause,
    cost_of_literal,
    ordered_columns,
)
from rulekit.learners.noisy_or.growth import FittedCauses, HeldRows, JointSearch, ever_longer, has_both_classes
from rulekit.learners.noisy_or.learner import CausesSettings
from rulekit.learners.noisy_or.likelihood import Strengths, cells_held
from rulekit.learners.noisy_or.model import HALF, CausePart, LearnedCauses, NoisyOr, flipped_labels, short
from rulekit.learners.papers.noisy_or.gated_fit import fit_gated, log_likelihoods, log_negative
from rulekit.learners.papers.noisy_or.learner import AIM, Aim, TunedNoisyOrs
from rulekit.learners.parameters import setting, whole
from rulekit.numbers import log_of, probability_of
from rulekit.schema import FIRST_LEVEL_CODE

PRIOR_OF_INHIBITORS = 0.25
"""The prior against an inhibitor, of that against a cause."""
_LEAST = 1e-4
"""Strengths below it are none: L-BFGS-B does not come to rest on every bound."""
_SINGLE = Breadth(literals=1, conjunctions=1)
_NOTHING = FittedCauses((), (), 0.0)

JointCauses = Sequence[JointCause]
_LEAST_LEAK = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class GatedFit:
    """Causes and inhibitors with their strengths and leaks; the likelihood and objective are those of both."""

    causes: FittedCauses
    inhibitors: FittedCauses

    @property
    def size(self) -> int:
        return len(self.causes.causes) + len(self.inhibitors.causes)


def grown_gated(
    problem: Problem, search: JointSearch, conditions: Sequence[Causes], watch: Watch
) -> Iterator[GatedFit]:
    """The best causes and inhibitors, one more each time; conditions: those that may inhibit."""
    if not has_both_classes(problem):
        return
    rows = HeldRows(problem)
    ordered, cost = ordered_columns(search.causes), cost_of_literal(search.causes)

    def reached(fit: GatedFit) -> float:
        further: int = sum(cause.literals(ordered) - 1 for cause in fit.causes.causes)
        return fit.causes.objective - cost * further

    def longer(fit: GatedFit) -> GatedFit | None:
        pairs = _next(rows, fit, search, conditions, watch)
        found = (_fitted(rows, causes, inhibitors, fit, search, watch) for causes, inhibitors in pairs)
        return max(found, key=reached, default=None)

    begun = GatedFit(rows.fitted((), search.prior, search.descent(watch)), _NOTHING)
    yield from ever_longer(begun, longer, search.most, watch.check, reached)


def _next(
    rows: HeldRows, fit: GatedFit, search: JointSearch, conditions: Sequence[Causes], watch: Watch
) -> Iterator[tuple[JointCauses, JointCauses]]:
    """The causes and inhibitors with one more of either."""
    problem, positive, weights = rows.problem, rows.problem.labels == 1, rows.weights
    s, h = rows.activations(fit.causes), rows.activations(fit.inhibitors)
    own, others = fit.causes.causes, fit.inhibitors.causes
    rise = Rise.of(lambda strength: log_likelihoods(s + strength, h, positive), weights, search.prior)
    best = best_joint_cause(problem, search.causes, rise, search.least, search.breadth, watch)
    if best and not _is_among(best[1], own):
        yield (*own, best[1]), others
    if not own:
        return
    prior = PRIOR_OF_INHIBITORS * search.prior
    rise = Rise.of(lambda strength: log_likelihoods(s, h + strength, positive), weights, prior)
    best = best_joint_cause(problem, conditions, rise, search.least, _SINGLE, watch)
    if best and not _is_among(best[1], others):
        yield own, (*others, best[1])
    yield from _factored(problem, own, others, conditions)


def _factored(
    problem: Problem, own: JointCauses, others: JointCauses, conditions: Sequence[Causes]
) -> Iterator[tuple[JointCauses, JointCauses]]:
    """Causes without a condition that several of them need, of which the contrary inhibits all of them instead."""
    usable = {each.column for each in conditions}
    parts = [part for cause in own if len(cause.parts) > 1 for part in cause.parts if part.column in usable]
    for k, part in enumerate(parts):
        same = [part.same(other) for other in parts]
        if any(same[:k]) or sum(same) < 2:
            continue
        kind = problem.columns[part.column].feature.kind
        inhibitor = JointCause((part.contrary(FIRST_LEVEL_CODE if kind == "categorical" else 1),))
        shorter = [cause.without(part) if len(cause.parts) > 1 else cause for cause in own]
        distinct = [cause for k, cause in enumerate(shorter) if not _is_among(cause, shorter[:k])]
        if not _is_among(inhibitor, others):
            yield distinct, (*others, inhibitor)


def _is_among(cause: JointCause, known: JointCauses) -> bool:
    return any(cause.same(other) for other in known)


def _fitted(
    rows: HeldRows, causes: JointCauses, inhibitors: JointCauses, start: GatedFit, search: JointSearch, watch: Watch
) -> GatedFit:
    """The strengths of causes and inhibitors that fit the rows best, from those of a smaller model."""
    descent = search.descent(watch)
    if not inhibitors:
        return GatedFit(rows.fitted(causes, search.prior, descent, start.causes), _NOTHING)
    problem, n, k = rows.problem, len(causes), len(causes) + len(inhibitors)
    is_cause, prior, other = np.arange(k) < n, search.prior, PRIOR_OF_INHIBITORS * search.prior
    found = fit_gated(
        cells_held([rows.holds(cause) for cause in (*causes, *inhibitors)], len(problem.labels)),
        problem.labels,
        _begun(causes, start.causes, 0, k),
        start_of_inhibitors=_begun(inhibitors, start.inhibitors, n, k),
        prior=prior,
        prior_of_inhibitors=other,
        causes=is_cause,
        inhibitors=~is_cause,
        weights=rows.weights,
        check=watch.check,
    )
    own = _kept(causes, found.causes.cells[:n], found.causes.leak)
    gate = _kept(inhibitors, found.inhibitors.cells[n:], found.inhibitors.leak)
    if not gate.causes:
        return GatedFit(rows.fitted(own.causes, prior, descent, own), _NOTHING)
    s, h = rows.activations(own), rows.activations(gate)
    likelihood = float(rows.weights @ log_likelihoods(s, h, problem.labels == 1))
    penalty = prior * sum(own.strengths) + other * sum(gate.strengths)
    return GatedFit(replace(own, likelihood=likelihood, objective=likelihood - penalty), gate)


def _begun(causes: JointCauses, start: FittedCauses, first: int, k: int) -> Strengths:
    """Strengths [k] to start from, those of some cells from the first one on; of what is new a tenth."""
    cells = np.zeros(k)
    cells[first : first + len(causes)] = start.begin(causes).cells
    return Strengths(cells, max(start.leak, 1e-3))


def _kept(causes: JointCauses, strengths: Floats, leak: float) -> FittedCauses:
    kept = np.flatnonzero(strengths > _LEAST).tolist()
    return FittedCauses(tuple(causes[i] for i in kept), tuple(float(strengths[i]) for i in kept), leak)


@dataclass(frozen=True, slots=True, eq=False)
class GatedNoisyOr:
    """Says yes where P(some cause acts, and no inhibitor does) has a strength above the bound; flipped: no there.

    inhibitors: with a leak that may be 0. within: how near to the bound tangents decide (rulekit.graph.probability.
    gated_deciding), and not the probability itself (0).
    """

    causes: CausePart
    inhibitors: CausePart
    bound: float = HALF
    flipped: bool = False
    within: float = 0.0

    @classmethod
    def of(cls, fit: GatedFit, total: float, flipped: bool) -> GatedNoisyOr:
        """The fit with short strengths; total: the weight of the rows."""
        leak, gate = short(float(-np.expm1(-fit.inhibitors.leak))), fit.inhibitors.part(total)
        leak = leak if leak > _LEAST_LEAK else 0.0
        return cls(fit.causes.part(total), CausePart(gate.causes, leak), HALF, flipped)

    def activations(self, codes: Codes, n_rows: int) -> Floats:
        """The strengths -log P(no) [n] of the rows: 0 where nothing causes or all is inhibited."""
        return np.asarray(-log_negative(*self._sums(codes, n_rows)))

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.asarray((self.activations(codes, n_rows) > self.bound) != self.flipped)

    def log_losses(self, codes: Codes, labels: Bools) -> Floats:
        s, h = self._sums(codes, len(labels))
        return -log_likelihoods(s, h, labels != self.flipped)

    def settled(self, codes: Codes, n_rows: int) -> GatedNoisyOr:
        """The model that decides by as few tangents as decide these rows as the probability does, if some do."""
        level = -log_of(probability_of(self.bound))
        for within in WITHIN if level > 0.0 else ():
            curve = GateCurve(level, within)
            slopes = np.array(list(curve.slopes(*_range(self.causes), *_range(self.inhibitors))))
            constants = np.array([curve.constant(slope) for slope in slopes.tolist()])
            if all(self._agrees(part, rows.stop - rows.start, slopes, constants) for rows, part in codes.parts(n_rows)):
                return replace(self, within=within)
        return replace(self, within=0.0)

    def _agrees(self, codes: Codes, n_rows: int, slopes: Floats, constants: Floats) -> bool:
        s, h = self._sums(codes, n_rows)
        said = (h[:, np.newaxis] < slopes * s[:, np.newaxis] + constants).all(axis=1) & bool(len(slopes))
        return np.array_equal(said, self.decides(codes, n_rows) != self.flipped)

    def _sums(self, codes: Codes, n_rows: int) -> tuple[Floats, Floats]:
        s, h = np.zeros(n_rows), np.zeros(n_rows)
        self.causes.add(s, codes)
        self.inhibitors.add(h, codes)
        return s, h

    def score(self, frame: Frame, prefix: str) -> Score:
        causes = self.causes.bits(frame, prefix)
        inhibitors = self.inhibitors.bits(frame, prefix.replace("H", "G", 1))
        if not self.inhibitors.leak:
            inhibitors.pop()
        formula: Node = And([Or(causes), Not(Or(inhibitors))]) if inhibitors else Or(causes)
        threshold, reported = probability_of(self.bound), Not(formula) if self.flipped else formula
        if inhibitors and self.within:
            decides = gated_decision(causes, inhibitors, threshold, self.within)
            decides = denied(decides) if self.flipped else decides
        else:
            decides = Above(Probability(reported), 1.0 - threshold if self.flipped else threshold)
        silent = not (self.causes.causes or self.flipped) and self.causes.leak <= self.bound
        return Score(reported, decides if frame.kind == "two" else None, silent=silent, largest=frame.kind == "several")


def _range(part: CausePart) -> tuple[float, float]:
    return part.leak, part.leak + sum(strength for _, strength in part.causes)


@dataclass(frozen=True)
class GatedSettings(CausesSettings):
    """Which causes there are, and where it is decided; all else is shared."""

    rule_length: int = setting(1, whole(1), "most literals of a cause; an inhibitor is a condition on one column")
    threshold: Aim = AIM


class GatedNoisyOrs(TunedNoisyOrs):
    """Noisy-ors with conditions that keep all causes from acting; see GatedNoisyOrClassifier."""

    word = "noisy-or-gated"
    estimator = "rulekit.learners.papers.noisy_or.estimators:GatedNoisyOrClassifier"
    settings = GatedSettings
    abilities = frozenset(("missing", "categories", "memory", "several", "weights", "monotone"))

    def families(self, settings: GatedSettings, kind: Kind) -> tuple[str, ...]:
        """What is compared; what speaks against one of several classes inhibits."""
        return ("or",) if (settings.family, kind) == ("auto", "several") else super().families(settings, kind)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        if len(classes) > 2 and questions[0].settings.threshold != "half":
            why = "of several classes the largest probability decides, which has no threshold"
            raise InputError(why, where="threshold", fix="leave it out, or take another learner")
        return super().prepare(problem, questions, data, classes)

    def nothing(self, question: Question) -> Candidate:
        found = super().nothing(question)
        if not isinstance(found.model, NoisyOr):
            return found
        leak = CausePart((), found.model.parts[0].leak)
        return replace(found, model=GatedNoisyOr(leak, CausePart((), 0.0), HALF, found.model.flipped))

    def models(self, question: Question, family: str) -> Iterator[LearnedCauses]:
        """The models of 1, 2, ... causes and inhibitors; of two classes noisy-ors until something inhibits."""
        settings: GatedSettings = question.settings
        flipped, kind = family == "and", question.plan.kind
        problem = flipped_labels(question.problem) if flipped else question.problem
        search = JointSearch(
            self.conditions(question, problem, family),
            settings.lam,
            settings.max_causes,
            least_side(problem.total),
            Breadth(settings.rule_length),
        )
        # What makes the class less likely where it inhibits has the other direction of what causes it.
        inhibitors = self.conditions(question, problem, "or" if flipped else "and")
        for fit in grown_gated(problem, search, inhibitors, question.watch):
            model: NoisyOr | GatedNoisyOr = GatedNoisyOr.of(fit, problem.total, flipped)
            if kind == "two" and not fit.inhibitors.causes:
                model = NoisyOr((fit.causes.part(problem.total),), HALF, flipped)
            yield LearnedCauses(model, fit.size, fit.causes.likelihood, fit.causes.objective)

    def decided(self, learned: LearnedCauses, question: Question) -> LearnedCauses:
        found = super().decided(learned, question)
        if question.plan.kind != "two" or question.fold or not isinstance(found.model, GatedNoisyOr):
            return found
        problem = question.problem
        return replace(found, model=found.model.settled(problem.codes, len(problem.labels)))

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class; training rows tell too little of which is better."""
        found = super().finish(question, candidates)
        return None if found is None else replace(found, preferred=lambda: 0)
