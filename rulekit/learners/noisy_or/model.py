"""A noisy-or as a model: causes with probabilities of four digits, a leak, and the strength above which it says yes.

And what the questions of a noisy-or share, and its candidates with their losses on held-out rows.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.graph.nodes import TRUE, Above, Hidden, Linear, Node, Not, Or, Probability, Strength
from rulekit.graph.probability.deciding import none_fires_decision, none_fires_logarithm
from rulekit.learners.contract import Candidate, Frame, Kind, Question, Score
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.folds import row_hashes
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause, JointCause
from rulekit.learners.noisy_or.likelihood import log_positive
from rulekit.numbers import short_probability, strength_of

HALF = strength_of(0.5)  # the strength of a probability of 1/2
_LARGEST, _LEAST = 0.9999, 1e-9

StrongCauses = tuple[tuple[Cause | JointCause, float], ...]  # causes with their strengths


def short(probability: float) -> float:
    """The strength of the probability of four digits that is nearest to a probability."""
    return strength_of(min(short_probability(probability), _LARGEST))


def shortened(causes: Sequence[Cause | JointCause], probabilities: Sequence[float]) -> StrongCauses:
    """The causes with the short strengths of these probabilities, without those that hardly ever act."""
    pairs = ((cause, short(p)) for cause, p in zip(causes, probabilities, strict=True))
    return tuple((cause, strength) for cause, strength in pairs if strength > _LEAST)


def bits_of(causes: StrongCauses, frame: Frame, prefix: str) -> list[Hidden]:
    return [
        Hidden(f"{prefix}{k}", cause.node(frame.columns), strength)
        for k, (cause, strength) in enumerate(causes, start=1)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class CausePart:
    """One noisy-or: its causes with their strengths, and the leak's.

    cut: of ranked classes the number of the one that it speaks for, from 0; -1 else.
    """

    causes: StrongCauses
    leak: float
    cut: int = -1

    @classmethod
    def of(
        cls, causes: Sequence[Cause | JointCause], strengths: Sequence[float], leak: float, total: float, cut: int = -1
    ) -> CausePart:
        """Causes with short strengths, strongest first; total: the weight of the rows.

        The leak is that of half a row at least, so that no row is impossible.
        """
        order = sorted(range(len(causes)), key=lambda k: -strengths[k])
        probabilities = [float(-np.expm1(-strengths[k])) for k in order]
        least = strength_of(0.5 / (total + 1.0))
        leak = short(float(-np.expm1(-max(leak, least))))
        return cls(shortened([causes[k] for k in order], probabilities), leak, cut)

    def bits(self, frame: Frame, prefix: str) -> list[Hidden]:
        before = prefix if self.cut < 0 else f"H{self.cut + 1}."
        bits = bits_of(self.causes, frame, before)
        return [*bits, Hidden("leak" if before == "H" else f"{before}leak", TRUE, self.leak)]

    def add(self, total: Floats, codes: Codes) -> None:
        """Add its strengths to sums [n], one after the other as the evaluator does."""
        for cause, strength in self.causes:
            total += np.where(cause.holds(codes), strength, 0.0)
        total += self.leak


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOr:
    """Says yes where the strengths of the causes that hold add up to more than the bound; flipped: says no there.

    parts: one noisy-or, or of ranked classes those of all cuts that speak for the class or a higher one (flipped: for a
    lower one). compared: by its strength alone where several classes compete.
    """

    parts: tuple[CausePart, ...]
    bound: float = HALF
    flipped: bool = False
    compared: bool = True

    def activations(self, codes: Codes, n_rows: int) -> Floats:
        total = np.zeros(n_rows)
        for part in self.parts:
            part.add(total, codes)
        return total

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        return np.asarray((self.activations(codes, n_rows) > self.bound) != self.flipped)

    def log_losses(self, codes: Codes, labels: Bools) -> Floats:
        s = self.activations(codes, len(labels))
        return np.where(labels != self.flipped, -log_positive(s), s)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum of strengths that decides, and the noisy-or that is reported."""
        bits = [bit for part in self.parts for bit in part.bits(frame, prefix)]
        formula = Or(bits)
        strength, reported = Strength(formula), Not(formula) if self.flipped else formula
        # That no cause acts is decided by what they take off, line by line, as a score card is read.
        decides = none_fires_decision(bits, math.exp(-self.bound)) if self.flipped else Above(strength, self.bound)
        leak = sum(part.leak for part in self.parts)
        silent = not any(part.causes for part in self.parts) and (leak <= self.bound) != self.flipped
        if frame.kind == "two":
            return Score(reported, decides, silent=silent)
        node: Node = strength
        above = frame.kind == "ranked" or not self.compared or frame.default is not None
        if self.flipped:
            node = none_fires_logarithm(bits, self.bound if above else 0.0)
        elif frame.kind == "several" and above:
            node = Linear([(1.0, strength)], -self.bound)
        return Score(node, decides, Probability(reported), silent=silent)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyOrPlan:
    """What all questions share.

    kind: of the classes; columns: how many the table has (ranked classes have a further one, of the ranks); missing
    [columns]: which have missing cells; families: what is compared, the first where nothing is; apart
    [columns, columns]: which may not stand in one cause; known: of ranked classes what was learned of a cut from some
    rows, which the questions share; counts [n_classes]: those that the classes are, of a learner of counts.
    """

    kind: Kind
    columns: int
    missing: Bools
    families: tuple[str, ...]
    n_classes: int
    apart: Bools
    known: dict[bytes, list[Any]] = field(default_factory=dict)
    counts: tuple[int, ...] = ()


Learned = tuple[Any, int, float, float]
"""A model of so many causes with its conditional log-likelihood, and that less the prior."""


def candidate(question: Question, learned: Learned) -> Candidate:
    model, size, likelihood, objective = learned
    problem, wrong = question.problem, 0
    for rows, codes in problem.codes.parts(len(problem.labels)):
        labels = problem.labels[rows] == 1
        wrong += int(problem.weights[rows][model.decides(codes, len(labels)) != labels].sum())
    return Candidate(size, -objective, wrong * problem.weight_unit, model, said={"log_likelihood": likelihood})


def fingerprint(problem: Problem, cut: int) -> bytes:
    """What the rows of a cut are known by."""
    return hashlib.blake2b(row_hashes(problem, cut, problem.weights).tobytes(), digest_size=16).digest()
