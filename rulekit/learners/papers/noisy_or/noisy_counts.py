"""The learner noisy-count: the label is how many hidden causes act, or of two classes whether an odd number does.

Noisy-parity: the label is whether an odd number of hidden causes act (Vomlel 2003, section 2.1).

With f = 1 - 2 p of each cause that holds, 1 - 2 P(odd) is the product D of all f. That cause j acted on a row of the
sign s (1 where it is even, -1 where it is odd) has probability p_j (1 - s D without j) / (1 + s D).

A cause among strong others shows nothing by itself, so causes join one, two or more at a time. With a further cause D
is multiplied by f on the rows on which it holds, so what it gains is added up by code of each column for a few p. Of
several sure causes together, D is multiplied by the product of their signs: how that product goes with s D says which
sets are worth a try. It is looked up for all sets of up to 16 conditions (by one Walsh-Hadamard transform), for all
triples of up to 40, and for all pairs of more. What is tried is fitted by EM, and joins if it gains more than the
logarithm of the number of sets that were looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.errors import InputError
from rulekit.graph.nodes import TRUE, Hidden, Odd
from rulekit.graph.probability.deciding import parity_decision
from rulekit.learners.contract import Candidate, Frame, Kind, Question, Score, Variants
from rulekit.learners.data.binning import Codes, least_side
from rulekit.learners.data.inputs import TrainingData
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import Cause
from rulekit.learners.noisy_or.learner import LEAST_GAIN, HeldRows, ever_longer
from rulekit.learners.noisy_or.model import HALF, Learned, StrongCauses, bits_of, candidate, fingerprint, short
from rulekit.learners.papers.noisy_or.counted import CountedCauses, CountedSearch, Expected, NoisyAdd, grown_counts
from rulekit.learners.papers.noisy_or.learner import AIM, Aim, TunedNoisyOrs
from rulekit.learners.parameters import SizeSettings, bins, number, setting, whole
from rulekit.numbers import probability_of

TRIED = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.98])  # the probabilities that a further cause is tried with
_OF_ALL, _OF_THREE, _MOST_WORK, _MOST_SIGNS = 16, 40, 1 << 35, 1 << 24
_SETS = 3  # that are fitted, of those that were looked at
_FIRST, _SURE = 0.1, 0.98
_FINE = 2.0**20
MOST_BITS = 200  # hidden bits of one model, which every target takes


def parity_expectation(rows: Any, chances: Floats, leak: float) -> Expected:
    """The E-step where the label is 1 on odd rows."""
    every = np.column_stack([np.where(rows.held, 1.0 - 2.0 * chances, 1.0), np.full(len(rows.held), 1.0 - 2.0 * leak)])
    before, behind = np.ones_like(every), np.ones_like(every)
    np.cumprod(every[:, :-1], axis=1, out=before[:, 1:])
    np.cumprod(every[:, :0:-1], axis=1, out=behind[:, -2::-1])
    product, signs = before[:, -1] * every[:, -1], 1.0 - 2.0 * rows.labels
    likely = np.maximum(1.0 + signs * product, 1e-300)
    acted = (1.0 - signs[:, None] * (before * behind)) / likely[:, None]
    return Expected(chances * acted[:, :-1] * rows.held, leak * acted[:, -1], 0.5 * likely, product)


def _fitted(search: CountedSearch, causes: Sequence[Cause], start: Iterable[float], leak: float) -> CountedCauses:
    rows = search.counted(causes, search.rows.problem.labels)
    begin, leak = np.clip(np.array(list(start)), 1e-6, 1.0 - 1e-6), min(max(leak, 1e-6), 1.0 - 1e-6)
    return search.fit(causes, rows, parity_expectation, [(begin, leak)])


def _conditions(search: CountedSearch) -> list[Cause]:
    """The possible causes without the contraries of others, which a parity with a leak does not need."""
    found, problem = [], search.rows.problem
    for causes in search.causes:
        held = search.held(causes)
        n = max(0, causes.n_codes - causes.first - int(causes.ordered))
        second = n == 2 and not causes.ordered and causes.contraries  # of two levels that is the second one
        for place in (*range(int(second), n), *range(len(held) - int(causes.missing), len(held))):
            if min(held[place], problem.total - held[place]) >= search.least:
                found.append(causes.cause(place))
    return found


def grown_parities(search: CountedSearch) -> Iterator[CountedCauses]:
    """The best causes of the odd rows, of ever larger sizes."""
    problem, most = search.rows.problem, search.question.settings.max_causes
    if not 0.0 < problem.positive < problem.total:
        return
    conditions = _conditions(search)
    turns = {causes.column: causes.first for causes in search.causes if causes.contraries}
    n, m = len(problem.labels), len(conditions)
    signs = np.zeros((n, 0))  # of no condition where the pairs would be too much work
    if m and n * m**2 <= _MOST_WORK and n * m <= _MOST_SIGNS:
        signs = np.stack([1.0 - 2.0 * search.rows.holds(cause) for cause in conditions], axis=1)

    def longer(fit: CountedCauses) -> CountedCauses | None:
        tried: list[tuple[float, CountedCauses]] = []
        sd = (1.0 - 2.0 * problem.labels) * fit.seen
        ratio = np.maximum(1.0 + sd[:, None] * (1.0 - 2.0 * TRIED), 1e-9) / np.maximum(1.0 + sd, 1e-9)[:, None]
        single = search.best(np.log(ratio), TRIED)
        if single is not None:
            cause, chance = single
            for first in sorted({_FIRST, chance}):
                further = _fitted(search, (*fit.causes, cause), (*fit.chances, first), fit.leak)
                tried.append((LEAST_GAIN, further))
        for chosen, correlation, looked in _sets(problem, fit, signs, most - fit.size):
            more = [conditions[j] for j in chosen]
            turned = next((k for k, cause in enumerate(more) if cause.column in turns), None)
            if correlation < 0.0 and turned is not None:  # else the leak would have to act nearly always
                more[turned], correlation = more[turned].contrary(turns[more[turned].column]), -correlation
            # what the set does not explain is the leak's at first
            leak = 0.5 * (1.0 - correlation * (1.0 - 2.0 * fit.leak if fit.causes else 1.0))
            further = _fitted(search, (*fit.causes, *more), (*fit.chances, *[_SURE] * len(more)), leak)
            tried.append((math.log(looked), further))
        gains = [each.objective - fit.objective - least for least, each in tried]
        best = int(np.argmax(gains)) if gains else -1
        return tried[best][1] if best >= 0 and gains[best] > 0.0 else None

    yield from ever_longer(_fitted(search, (), (), problem.share), longer, most, search.question.watch.check, least=0.0)


def _sets(problem: Problem, fit: CountedCauses, signs: Floats, room: int) -> list[tuple[tuple[int, ...], float, int]]:
    """The sets whose product has the largest correlation with s D, with that, and how many were looked at."""
    m = signs.shape[1]
    if room < 2 or m < 2:
        return []
    d = fit.seen if fit.causes else np.ones(len(problem.labels))
    target = (1.0 - 2.0 * problem.labels) * d / max(float(np.abs(d).max()), 1e-300)
    target = np.rint(target * _FINE) * problem.weights  # whole numbers: their sums are exact, in any order
    total = float(np.abs(target).sum())
    if total <= 0.0:
        return []
    if m <= _OF_ALL:
        found, looked = _of_all(signs, target, room)
    else:
        found, looked = _of_pairs(signs, target)
        for i in range(m - 2 if m <= _OF_THREE and room > 2 else 0):
            triples, more = _of_pairs(signs[:, i + 1 :], target * signs[:, i])
            found += [((i, i + 1 + a, i + 1 + b), value) for (a, b), value in triples]
            looked += more
    ranked = sorted(found, key=lambda each: (-abs(each[1]), len(each[0]), each[0]))[:_SETS]
    return [(chosen, value / total, looked) for chosen, value in ranked]


_Found = list[tuple[tuple[int, ...], float]]


def _of_all(signs: Floats, target: Floats, room: int) -> tuple[_Found, int]:
    """Every set of two conditions and more, by one fast Walsh-Hadamard transform."""
    m = signs.shape[1]
    pattern = ((signs < 0.0) @ (1 << np.arange(m))).astype(np.int64)
    values = np.bincount(pattern, target, 1 << m)
    for j in range(m):
        halves = values.reshape(-1, 2, 1 << j)
        values = np.stack([halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]], axis=1).ravel()
    size = np.array([index.bit_count() for index in range(1 << m)])
    allowed = (size >= 2) & (size <= room)
    values = np.where(allowed, values, 0.0)
    best = np.argsort(-np.abs(values), kind="stable")[:_SETS]
    chosen = [(tuple(j for j in range(m) if index >> j & 1), float(values[index])) for index in best.tolist()]
    return [each for each in chosen if each[1]], int(allowed.sum())


def _of_pairs(signs: Floats, target: Floats) -> tuple[_Found, int]:
    rows, columns = np.triu_indices(signs.shape[1], k=1)
    values = (signs.T @ (signs * target[:, None]))[rows, columns]
    best = np.argsort(-np.abs(values), kind="stable")[:_SETS]
    return [((int(rows[i]), int(columns[i])), float(values[i])) for i in best], len(values)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyParity:
    """Says yes where an odd number of causes act with a probability above that of the strength `bound`.

    causes: with their strengths, strongest first; leak: the strength of one that is always there.
    """

    causes: StrongCauses
    leak: float
    bound: float = HALF
    flipped: bool = False

    def _factors(self, codes: Codes, n_rows: int) -> Iterator[Floats]:
        """1 - 2 p [n] of each cause, and of the leak."""
        for cause, strength in self.causes:
            yield np.where(cause.holds(codes), 1.0 - 2.0 * probability_of(strength), 1.0)
        yield np.full(n_rows, 1.0 - 2.0 * probability_of(self.leak))

    def activations(self, codes: Codes, n_rows: int) -> Floats:
        product = np.ones(n_rows)
        for factor in self._factors(codes, n_rows):
            product *= factor
        return np.asarray(-np.log(np.maximum(0.5 * (1.0 + product), 1e-300)))

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes, by the sign and the size of the product as in `parity_decision`."""
        negative, size = np.zeros(n_rows, dtype=bool), np.zeros(n_rows)
        with np.errstate(divide="ignore"):
            for factor in self._factors(codes, n_rows):
                negative ^= factor < 0.0
                size -= np.log(np.abs(factor))
        u = 1.0 - 2.0 * probability_of(self.bound)
        if u > 0.0:
            return np.asarray(negative | (size > -np.log(u)))
        return np.asarray(negative & np.isfinite(size) & (size < (np.inf if u == 0.0 else -np.log(-u))))

    def score(self, frame: Frame, prefix: str) -> Score:
        bits = [*bits_of(self.causes, frame, prefix), Hidden("leak", TRUE, self.leak)]
        decides = parity_decision(bits, probability_of(self.bound))
        return Score(Odd(bits), decides, silent=not self.causes and self.leak <= self.bound)


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
    max_bins: Any = bins(10)


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
        return ("add",)

    def prepare(
        self, problem: Problem, questions: Sequence[Question], data: TrainingData, classes: tuple[Any, ...]
    ) -> list[Question]:
        settings: CountSettings = questions[0].settings
        counts = tuple(map(int, classes)) if len(classes) > 2 and _are_counts(classes) else tuple(range(len(classes)))
        if len(classes) > 2 and settings.threshold != "half":
            raise InputError("the median of counts decides", where="threshold", fix="leave it out")
        if counts[-1] + settings.max_causes > MOST_BITS:
            why = f"counts up to {counts[-1]} and {settings.max_causes} causes are more than {MOST_BITS} hidden bits"
            raise InputError(why, where="max_causes", fix="cut the counts off at a smaller one, or lower it")
        found = super().prepare(problem, questions, data, classes)
        return [replace(question, plan=replace(question.plan, counts=counts)) for question in found]

    def nothing(self, question: Question) -> Candidate:
        """The share of the odd rows; the leak alone, which is the same for all counts."""
        if question.plan.kind == "two":
            return super().nothing(question)
        return candidate(question, self._asked(question, self._counted(question)[0]))

    def models(self, question: Question, family: str) -> Iterator[Learned]:
        if question.plan.kind == "two":
            # The leak acts on half a row at least, and does not on as much, so that no row is impossible.
            least = 0.5 / (question.problem.total + 1.0)
            for found in grown_parities(self._search(question)):
                model = NoisyParity(found.strongest_first(), short(min(max(found.leak, least), 1.0 - least)))
                yield model, len(model.causes), found.likelihood, found.objective
        else:
            for found in self._counted(question)[1:]:
                yield self._asked(question, found)

    def finish(self, question: Question, candidates: Sequence[Candidate]) -> Variants | None:
        """All counts have one size."""
        return Variants([lambda: candidates], lambda: 0, shared=True) if question.plan.kind == "ranked" else None

    def _search(self, question: Question) -> CountedSearch:
        problem = question.problem
        causes = self.conditions(question, problem, "add", missing=True)
        return CountedSearch(question, HeldRows(problem), causes, least_side(problem.total))

    def _counted(self, question: Question) -> list[CountedCauses]:
        """The causes of the counts, which all questions share."""
        plan, problem = question.plan, question.problem
        known: dict[bytes, list[CountedCauses]] = plan.known
        key = fingerprint(problem, -1)
        if key not in known:
            counts = np.array(plan.counts)[problem.codes[plan.columns]]
            grown = grown_counts(counts, plan.counts[-1], self._search(question))
            known[key] = [replace(found, seen=np.zeros(0)) for found in grown]  # it is kept without the rows
        return known[key]

    def _asked(self, question: Question, found: CountedCauses) -> Learned:
        """A model that says whether the count is that of the question's class, or more."""
        counts = question.plan.counts
        # The leak acts on half a row at least, so that no count is impossible.
        leak = short(max(found.leak, 0.5 / ((question.problem.total + 1.0) * counts[-1])))
        model = NoisyAdd(found.strongest_first(), leak, counts[-1], counts[question.index + 1])
        return model, len(model.causes), found.likelihood, found.objective


def _are_counts(classes: tuple[Any, ...]) -> bool:
    return all(isinstance(each, int | np.integer) and not isinstance(each, bool) and each >= 0 for each in classes)
