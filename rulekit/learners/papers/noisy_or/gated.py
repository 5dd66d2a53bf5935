"""The learner noisy-or-gated: causes any of which may act, and inhibitors none of which may, one after another.

P(C = 1 | a) = exp(-h) (1 - exp(-s)), where s is the sum of the strengths of the causes that a row holds and h that of
its inhibitors: And(Or(causes), Not(Or(inhibitors))) with hidden bits of which none occurs twice.

What gains most joins, and all strengths are fitted anew. A cause may be a joint one; an inhibitor is a condition on one
column. A condition that several causes need may leave them all, and its contrary then inhibits. Until something
inhibits, this is a noisy-or, whose strengths have one maximum. The log-likelihood of a gated one is concave in neither
s nor h, so that what is found depends on the start: the strengths that it had before, and inhibitors that hardly act.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.errors import InputError
from rulekit.graph.nodes import Above, And, Node, Not, Or, Probability
from rulekit.graph.probability.deciding import WITHIN, GateCurve, denied, gated_decision
from rulekit.learners.contract import Candidate, Frame, Kind, Question, Score, Variants
from rulekit.learners.data.binning import Codes, least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Causes, JointCause, JointSearch
from rulekit.learners.noisy_or.learner import CausesSettings, FittedCauses, HeldRows, descent_of, ever_longer
from rulekit.learners.noisy_or.likelihood import STRONGEST, Strengths, cells_held, log_positive, merged
from rulekit.learners.noisy_or.model import HALF, CausePart, Learned, NoisyOr, short
from rulekit.learners.papers.noisy_or.learner import AIM, Aim, TunedNoisyOrs
from rulekit.learners.parameters import setting, whole
from rulekit.learners.sums_of_rows.kernels import one_blas_thread
from rulekit.numbers import log_of, probability_of
from rulekit.schema import FIRST_LEVEL_CODE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

PRIOR_OF_INHIBITORS = 0.25  # the prior against an inhibitor, of that against a cause
_LEAST = 1e-4  # strengths below it are none: L-BFGS-B does not come to rest on every bound
_NOTHING = FittedCauses((), (), 0.0)

JointCauses = Sequence[JointCause]
_LEAST_LEAK = 1e-4
_FIRST, _FLOOR = 1e-3, 1e-9


@dataclass(frozen=True, slots=True)
class GatedStrengths:
    """Strengths of causes and of inhibitors, and the objective that they were found by."""

    causes: Strengths
    inhibitors: Strengths
    objective: float


def log_negative(s: Floats, h: Floats) -> Floats:
    """The log of P(C = 0), log(1 - exp(-h) + exp(-h - s)) [n], without loss of digits."""
    return np.asarray(np.logaddexp(log_positive(h), -h - s))


def log_likelihoods(s: Floats, h: Floats, positive: Bools) -> Floats:
    """The log of P(C = the label) [n] of rows with these activations [n] of causes and inhibitors."""
    return np.where(positive, log_positive(s) - h, log_negative(s, h))


def fit_gated(
    causes: csr_array,
    inhibitors: csr_array,
    labels: npt.NDArray[Any],
    start: Strengths,
    gate: Strengths | None = None,
    *,
    prior: float = 1.0,
    prior_of_inhibitors: float = 0.3,
    weights: Floats | Ints | None = None,
    check: Callable[[], None] = lambda: None,
) -> GatedStrengths:
    """Fit a gated noisy-or by L-BFGS-B, with L1 penalties on all strengths but those of the two leaks.

    causes, inhibitors: the cells [n, k] of rows. start: a noisy-or, as coordinate descent finds it; gate: inhibitors to
    go on from (None: those that hardly act). prior, prior_of_inhibitors: the penalty of a unit of strength, in nats.
    check: called before each evaluation, may raise.
    """
    from scipy.optimize import minimize

    k, other = causes.shape[1], inhibitors.shape[1]
    penalties = np.concatenate([np.full(k, prior), [0.0], np.full(other, prior_of_inhibitors), [0.0]])
    rows = GatedRows.of(causes, inhibitors, labels, weights)
    gate = gate or Strengths(np.full(other, _FIRST), _FIRST)
    x = np.concatenate([start.cells, [max(start.leak, _FLOOR)], gate.cells, [gate.leak]])
    bounds = np.column_stack([np.where(np.arange(len(x)) == k, _FLOOR, 0.0), np.full(len(x), STRONGEST)])

    def loss(x: Floats) -> tuple[float, Floats]:
        check()
        value, slope = rows.likelihood(x)
        return float(penalties @ x) - value, penalties - slope

    with one_blas_thread():  # its matrices are so small that threads only wait for each other
        found = minimize(loss, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300})
    return GatedStrengths(*rows.strengths(np.asarray(found.x)), -float(found.fun))


@dataclass(frozen=True, slots=True, eq=False)
class GatedRows:
    """Distinct rows with their weights, the positive ones first; cells: of the causes, then of the inhibitors."""

    cells: csr_array
    n_causes: int
    weights: Floats
    n_positive: int

    @classmethod
    def of(cls, causes: csr_array, inhibitors: csr_array, labels: Any, weights: Any) -> GatedRows:
        from scipy.sparse import hstack, vstack

        rows, positive = hstack([causes, inhibitors], format="csr"), np.asarray(labels) == 1
        each = np.ones(rows.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
        (first, own), (second, other) = (merged(rows[np.flatnonzero(of)], each[of]) for of in (positive, ~positive))
        joined = vstack([first, second], format="csr")
        return cls(joined, causes.shape[1], np.concatenate([own, other]), first.shape[0])

    def strengths(self, x: Floats) -> tuple[Strengths, Strengths]:
        """Causes and inhibitors of parameters: strengths of the causes, their leak, then the same of inhibitors."""
        k = self.n_causes
        return Strengths(x[:k], float(x[k])), Strengths(x[k + 1 : -1], float(x[-1]))

    def likelihood(self, x: Floats) -> tuple[float, Floats]:
        """The log-likelihood at these parameters, and its slopes."""
        k, n = self.n_causes, self.n_positive
        s = x[k] + self.cells @ np.append(x[:k], np.zeros(len(x) - k - 2))
        h = x[-1] + self.cells @ np.append(np.zeros(k), x[k + 1 : -1])
        positive, negative = log_positive(s) - h, log_negative(s, h)
        value = float((self.weights[:n] * positive[:n]).sum() + (self.weights[n:] * negative[n:]).sum())
        by_s, by_h = np.empty(len(s)), np.full(len(s), -1.0)
        by_s[:n] = 1.0 / np.expm1(np.minimum(s[:n], 700.0))
        by_s[n:] = -np.exp(-h[n:] - s[n:] - negative[n:])
        by_h[n:] = np.exp(positive[n:] - negative[n:])
        by_s, by_h = by_s * self.weights, by_h * self.weights
        of_causes, of_inhibitors = (self.cells.T @ by_s)[:k], (self.cells.T @ by_h)[k:]
        return value, np.concatenate([of_causes, [by_s.sum()], of_inhibitors, [by_h.sum()]])


@dataclass(frozen=True, slots=True, eq=False)
class GatedFit:
    """Causes and inhibitors with their strengths and leaks; the likelihood and objective are those of both."""

    causes: FittedCauses
    inhibitors: FittedCauses

    @property
    def size(self) -> int:
        return len(self.causes.causes) + len(self.inhibitors.causes)


def grown_gated(problem: Problem, search: JointSearch, conditions: Sequence[Causes]) -> Iterator[GatedFit]:
    """The best causes and inhibitors, one more each time; conditions: those that may inhibit."""
    rows = HeldRows(problem)
    if not 0.0 < problem.positive < problem.total:
        return

    def reached(fit: GatedFit) -> float:
        return fit.causes.objective - search.cost * sum(map(search.further, fit.causes.causes))

    def longer(fit: GatedFit) -> GatedFit | None:
        found = (_fitted(rows, *pair, fit, search) for pair in _next(rows, fit, search, conditions))
        return max(found, key=reached, default=None)

    begun = GatedFit(rows.fitted((), search.prior, descent_of(search)), _NOTHING)
    yield from ever_longer(begun, longer, search.most, search.watch.check, reached)


def _next(
    rows: HeldRows, fit: GatedFit, search: JointSearch, conditions: Sequence[Causes]
) -> Iterator[tuple[JointCauses, JointCauses]]:
    """The causes and inhibitors with one more of either."""
    problem, positive, weights = rows.problem, rows.problem.labels == 1, rows.problem.in_rows
    s, h = rows.activations(fit.causes), rows.activations(fit.inhibitors)
    own, others = fit.causes.causes, fit.inhibitors.causes
    inhibiting = {cause.key for cause in others}
    best = search.best(problem, lambda strength: log_likelihoods(s + strength, h, positive), weights)
    if best and best[1].key not in {cause.key for cause in own}:
        yield (*own, best[1]), others
    if not own:
        return
    single = replace(search, causes=conditions, prior=PRIOR_OF_INHIBITORS * search.prior, literals=1, width=1)
    best = single.best(problem, lambda strength: log_likelihoods(s, h + strength, positive), weights)
    if best and best[1].key not in inhibiting:
        yield own, (*others, best[1])
    # A condition that several causes need leaves them, and its contrary inhibits all of them instead.
    usable = {each.column for each in conditions}
    parts = [part for cause in own if len(cause.parts) > 1 for part in cause.parts if part.column in usable]
    times = Counter(part.key for part in parts)
    for part in {part.key: part for part in parts if times[part.key] > 1}.values():
        kind = problem.columns[part.column].feature.kind
        inhibitor = JointCause((part.contrary(FIRST_LEVEL_CODE if kind == "categorical" else 1),))
        distinct = dict[Any, JointCause]()
        for cause in own:
            shorter = cause.without(part) if len(cause.parts) > 1 else cause
            distinct.setdefault(shorter.key, shorter)
        if inhibitor.key not in inhibiting:
            yield tuple(distinct.values()), (*others, inhibitor)


def _fitted(
    rows: HeldRows, causes: JointCauses, inhibitors: JointCauses, start: GatedFit, search: JointSearch
) -> GatedFit:
    """The strengths of causes and inhibitors that fit the rows best, from those of a smaller model."""
    descent, prior, other = descent_of(search), search.prior, PRIOR_OF_INHIBITORS * search.prior
    if not inhibitors:
        return GatedFit(rows.fitted(causes, prior, descent, start.causes), _NOTHING)
    labels, weights = rows.problem.labels, rows.problem.in_rows
    own_cells, cells = (cells_held([*map(rows.holds, of)], len(labels)) for of in (causes, inhibitors))
    begun = [fit.begin(of) for fit, of in ((start.causes, causes), (start.inhibitors, inhibitors))]
    first, second = (replace(each, leak=max(each.leak, _FIRST)) for each in begun)
    more: Any = {"prior": prior, "prior_of_inhibitors": other, "weights": weights, "check": search.watch.check}
    found = fit_gated(own_cells, cells, labels, first, second, **more)
    own, gate = _kept(causes, found.causes), _kept(inhibitors, found.inhibitors)
    if not gate.causes:
        return GatedFit(rows.fitted(own.causes, prior, descent, own), _NOTHING)
    s, h = rows.activations(own), rows.activations(gate)
    likelihood = float(weights @ log_likelihoods(s, h, labels == 1))
    penalty = prior * sum(own.strengths) + other * sum(gate.strengths)
    return GatedFit(replace(own, likelihood=likelihood, objective=likelihood - penalty), gate)


def _kept(causes: JointCauses, strengths: Strengths) -> FittedCauses:
    kept = [
        (cause, strength) for cause, strength in zip(causes, strengths.cells.tolist(), strict=True) if strength > _LEAST
    ]
    return FittedCauses(tuple(cause for cause, _ in kept), tuple(strength for _, strength in kept), strengths.leak)


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
        level, parts = -log_of(probability_of(self.bound)), (self.causes, self.inhibitors)
        ends = [end for of in parts for end in (of.leak, of.leak + sum(strength for _, strength in of.causes))]
        for within in WITHIN if level > 0.0 else ():
            curve = GateCurve(level, within)
            slopes = np.array(list(curve.slopes(*ends)))
            constants = np.array([curve.constant(slope) for slope in slopes.tolist()])

            def agrees(part: Codes, n: int, slopes: Floats = slopes, constants: Floats = constants) -> bool:
                s, h = self._sums(part, n)
                said = (h[:, np.newaxis] < slopes * s[:, np.newaxis] + constants).all(axis=1) & bool(len(slopes))
                return np.array_equal(said, self.decides(part, n) != self.flipped)

            if all(agrees(part, rows.stop - rows.start) for rows, part in codes.parts(n_rows)):
                return replace(self, within=within)
        return replace(self, within=0.0)

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

    def models(self, question: Question, family: str) -> Iterator[Learned]:
        """The models of 1, 2, ... causes and inhibitors; of two classes noisy-ors until something inhibits."""
        settings: GatedSettings = question.settings
        flipped, kind = family == "and", question.plan.kind
        problem = question.problem
        problem = replace(problem, labels=1 - problem.labels) if flipped else problem
        causes, least = self.conditions(question, problem, family), least_side(problem.total)
        own = (settings.lam, settings.max_causes, least, settings.rule_length)
        search = JointSearch(causes, *own, watch=question.watch)
        # What makes the class less likely where it inhibits has the other direction of what causes it.
        inhibitors = self.conditions(question, problem, "or" if flipped else "and")
        model: NoisyOr | GatedNoisyOr
        for fit in grown_gated(problem, search, inhibitors):
            acting, gate = (part.part(problem.total) for part in (fit.causes, fit.inhibitors))
            leak = short(float(-np.expm1(-fit.inhibitors.leak)))
            gate = replace(gate, leak=leak if leak > _LEAST_LEAK else 0.0)
            plain = kind == "two" and not fit.inhibitors.causes
            model = NoisyOr((acting,), HALF, flipped) if plain else GatedNoisyOr(acting, gate, HALF, flipped)
            yield model, fit.size, fit.causes.likelihood, fit.causes.objective

    def decided(self, model: Any, question: Question) -> Any:
        model = super().decided(model, question)
        if question.plan.kind != "two" or question.fold or not isinstance(model, GatedNoisyOr):
            return model
        return model.settled(question.problem.codes, len(question.problem.labels))

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """The same with causes that speak against the class; training rows tell too little of which is better."""
        found = super().finish(question, candidates)
        return None if found is None else replace(found, preferred=lambda: 0)
