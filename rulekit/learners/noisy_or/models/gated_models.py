"""A gated noisy-or as a model: causes any of which may act, and inhibitors none of which may."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.nodes import Above, And, Node, Not, Or, Probability
from rulekit.graph.probability.gated_deciding import WITHIN, Curve, denied, gated_decision
from rulekit.learners.contract import Frame, Kind, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.noisy_or.models.noisy_or import HALF, Part, short
from rulekit.learners.noisy_or.search.gains import log_likelihoods, log_negative
from rulekit.learners.noisy_or.search.gated_search import GatedFit
from rulekit.learners.noisy_or.settings import NoisyOrSettings
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.numbers import log_of, probability_of
from rulekit.schema import Constraints

_LEAST_LEAK = 1e-4


def refuse_gated(settings: NoisyOrSettings, kind: Kind, constraints: Constraints) -> None:
    """Raise InputError where inhibitors have no meaning for the classes, or break what is promised."""
    if settings.gated and constraints.apart:
        why = "an inhibitor bears on every cause, so that their columns are not kept apart"
        raise InputError(why, where=f"forbid {', '.join(constraints.apart[0])}", fix="take variant=general, or or dnf")
    if settings.gated and kind == "ranked":
        why = "ranks are a maximum of causes, which nothing inhibits"
        raise InputError(why, where="variant", fix="take general, or or dnf, or leave out that classes are ranks")
    if settings.gated and kind == "several" and settings.threshold != "half":
        why = "of several classes the largest probability decides, which has no threshold"
        raise InputError(why, where="threshold", fix="leave it out, or take variant=general, or or dnf")


@dataclass(frozen=True, slots=True, eq=False)
class Gated:
    """Says yes where P(some cause acts, and no inhibitor does) has a strength above the bound; flipped: no there.

    inhibitors: with a leak that may be 0. within: how near to the bound tangents decide (rulekit.graph.probability.
    gated_deciding), and not the probability itself (0).
    """

    causes: Part
    inhibitors: Part
    bound: float = HALF
    flipped: bool = False
    within: float = 0.0

    @classmethod
    def of(cls, fit: GatedFit, total: float, flipped: bool) -> Gated:
        """The fit with short strengths; total: the weight of the rows."""
        leak = short(fit.inhibitors.leak)
        gate = Part.of(fit.inhibitors, total)
        leak = leak if leak > _LEAST_LEAK else 0.0
        return cls(Part.of(fit.causes, total), Part(gate.causes, (), leak), HALF, flipped)

    @property
    def size(self) -> int:
        """How many causes and inhibitors it has."""
        return len(self.causes.causes) + len(self.inhibitors.causes)

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

    def settled(self, codes: Codes, n_rows: int) -> Gated:
        """The model that decides by as few tangents as decide these rows as the probability does, if some do."""
        level = -log_of(probability_of(self.bound))
        for within in WITHIN if level > 0.0 else ():
            curve = Curve(level, within)
            slopes = np.array(list(curve.slopes(*self.causes.range, *self.inhibitors.range)))
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
