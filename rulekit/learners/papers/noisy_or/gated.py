"""The learner noisy-or-gated: causes any of which may act, and inhibitors none of which may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.nodes import Above, And, Node, Not, Or, Probability
from rulekit.graph.probability.deciding import WITHIN, GateCurve, denied, gated_decision
from rulekit.learners.contract import Candidate, Frame, Kind, Question, Score, Variants
from rulekit.learners.data.binning import least_side
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.growth import JointSearch
from rulekit.learners.noisy_or.joint_causes import Breadth
from rulekit.learners.noisy_or.learner import CausesSettings
from rulekit.learners.noisy_or.model import HALF, CausePart, NoisyOr, short
from rulekit.learners.noisy_or.paths import LearnedCauses, flipped_labels
from rulekit.learners.papers.noisy_or.gated_fit import log_likelihoods, log_negative
from rulekit.learners.papers.noisy_or.gated_search import GatedFit, grown_gated
from rulekit.learners.papers.noisy_or.learner import AIM, Aim, TunedNoisyOrs
from rulekit.learners.parameters import setting, whole
from rulekit.numbers import log_of, probability_of

_LEAST_LEAK = 1e-4


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
        """The rows [n] that are answered by yes."""
        return np.asarray((self.activations(codes, n_rows) > self.bound) != self.flipped)

    def log_losses(self, codes: Codes, labels: Bools) -> Floats:
        """Of each row [n] the negative log of the probability that is said of its label (bool)."""
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
        """Whether tangents decide these rows as the probability does."""
        s, h = self._sums(codes, n_rows)
        said = (h[:, np.newaxis] < slopes * s[:, np.newaxis] + constants).all(axis=1) & bool(len(slopes))
        return np.array_equal(said, self.decides(codes, n_rows) != self.flipped)

    def _sums(self, codes: Codes, n_rows: int) -> tuple[Floats, Floats]:
        s, h = np.zeros(n_rows), np.zeros(n_rows)
        self.causes.add(s, codes)
        self.inhibitors.add(h, codes)
        return s, h

    def score(self, frame: Frame, prefix: str) -> Score:
        """The probability that decides and is reported."""
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
    """The least and the largest sum of strengths that there may be."""
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
        """The questions with their plan."""
        if len(classes) > 2 and questions[0].settings.threshold != "half":
            why = "of several classes the largest probability decides, which has no threshold"
            raise InputError(why, where="threshold", fix="leave it out, or take another learner")
        return super().prepare(problem, questions, data, classes)

    def nothing(self, question: Question) -> Candidate:
        """The share of the positive rows, or the leak."""
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
        """What was learned, as it decides by its threshold."""
        found = super().decided(learned, question)
        if question.plan.kind != "two" or question.fold or not isinstance(found.model, GatedNoisyOr):
            return found
        problem = question.problem
        return replace(found, model=found.model.settled(problem.codes, len(problem.labels)))

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class; training rows tell too little of which is better."""
        found = super().finish(question, candidates)
        return None if found is None else replace(found, preferred=lambda: 0)
