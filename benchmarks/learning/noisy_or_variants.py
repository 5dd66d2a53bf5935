"""Readable variants of the noisy-or on texts, and the linear SVM, each chosen on the training documents alone.

Five folds: in each the words are selected, the model is fitted, and the documents left out get their scores. By these
scores the threshold of a class is set (the largest F1) and, over all classes, the setting of a variant is chosen.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from benchmarks.learning.gated_noisy_dnf import GatedDNF, fit_gated_conjunctions
from benchmarks.learning.noisy_dnf import NoisyDNF, fit_conjunctions
from benchmarks.shared.reuters import LEAST_GAIN, Documents, informative
from benchmarks.shared.sparse_rows import rows_of_words
from rulekit.learners.noisy_or.likelihood import Incidence, Strengths, coordinate_descent
from rulekit.learners.papers.noisy_or.gated import fit_gated
from rulekit.learners.papers.noisy_or.learner import best_cut

Array = npt.NDArray[Any]

N_FOLDS = 5
IN_BITS = LEAST_GAIN * math.log(2.0)
"""The least gain of the paper where its unit is the bit: more words."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of model, its setting, the least gain of a word, and what fits one to rows and labels."""

    kind: str
    setting: str
    least: float
    fit: Callable[[Any, Array], Any]

    @property
    def name(self) -> str:
        return f"{self.kind}, {self.setting}, gain {self.least:.4f}"


def _noisy_or(prior: float) -> Callable[[csr_array, Array], Strengths]:
    return lambda rows, labels: coordinate_descent(Incidence.of(rows, labels), prior=prior).strengths


def _gated(prior: float, other: float) -> Callable[[csr_array, Array], GatedDNF]:
    def fit(rows: csr_array, labels: Array) -> GatedDNF:
        start = coordinate_descent(Incidence.of(rows, labels), prior=prior).strengths
        return GatedDNF(None, fit_gated(rows, rows, labels, start, prior=prior, prior_of_inhibitors=other))

    return fit


def _dnf(prior: float, depth: int) -> Callable[[csr_array, Array], NoisyDNF]:
    return lambda rows, labels: fit_conjunctions(rows, labels, prior=prior, depth=depth)


def _gated_dnf(prior: float, other: float, depth: int) -> Callable[[csr_array, Array], GatedDNF]:
    return lambda rows, labels: fit_gated_conjunctions(
        rows, labels, prior=prior, prior_of_inhibitors=other, depth=depth
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    """A linear SVM with the interface of the others: activations above 0, in the order of its decision values."""

    model: LinearSVC

    def activations(self, words: Any) -> Array:
        return np.asarray(np.exp(self.model.decision_function(words)))


def _svm(c: float) -> Callable[[Any, Array], _Linear]:
    return lambda words, labels: _Linear(LinearSVC(C=c).fit(words, labels))


def variants() -> list[Variant]:
    """All that are tried."""
    found = [
        Variant("noisy-or", f"prior {p:g}", least, _noisy_or(p)) for p in (2, 4) for least in (LEAST_GAIN, IN_BITS)
    ]
    found += [Variant("gated", f"priors {p:g}, {h:g}", IN_BITS, _gated(p, h)) for p, h in ((1, 0.3), (2, 0.5))]
    found += [Variant("dnf", f"prior {p:g}, 4 literals", IN_BITS, _dnf(p, 4)) for p in (4, 8)]
    found += [
        Variant("gated-dnf", f"priors {p:g}, {h:g}, {d} literals", least, _gated_dnf(p, h, d))
        for p, h, d, least in (
            (8, 2, 4, LEAST_GAIN),
            (8, 2, 4, IN_BITS),
            (4, 2, 4, IN_BITS),
            (4, 1, 6, IN_BITS),
            (6, 2, 6, IN_BITS / 2.0),
        )
    ]
    return [*found, *(Variant("linear SVM", f"C {c:g}", IN_BITS, _svm(c)) for c in (0.03, 0.1, 0.3, 1.0))]


Counts = npt.NDArray[np.int64]


@dataclass(slots=True)
class Outcome:
    """True positives, false positives, false negatives [classes, 3]: out of fold; on test documents at t and at 1/2."""

    variant: Variant
    out_of_fold: list[Counts] = field(default_factory=list)
    tuned: list[Counts] = field(default_factory=list)
    halved: list[Counts] = field(default_factory=list)
    sizes: list[str] = field(default_factory=list)
    seconds: float = 0.0


def counts_of(predicted: Array, labels: Array) -> Counts:
    """True positives, false positives, false negatives."""
    return np.array([(predicted & labels).sum(), (predicted & ~labels).sum(), (labels & ~predicted).sum()])


def macro(counts: Iterable[Counts]) -> float:
    """The mean F1 of the classes in percent."""
    return float(np.mean([f1(each) for each in counts]))


def f1(counts: Counts) -> float:
    """F1 in percent."""
    true, false, missed = (float(value) for value in counts)
    return 200.0 * true / max(2.0 * true + false + missed, 1.0)


def micro(counts: Iterable[Counts]) -> float:
    """F1 of all classes together in percent."""
    return f1(np.sum(list(counts), axis=0))


def measured(variant: Variant, found: Documents) -> Outcome:
    """Fit a variant to every class, five folds and all training documents."""
    outcome, begun = Outcome(variant), time.process_time()
    fold = np.random.default_rng(0).permutation(found.train.shape[0]) % N_FOLDS
    for labels, of_test in zip(found.of_train.T, found.of_test.T, strict=True):
        scores = np.empty(len(labels))
        for k in range(N_FOLDS):
            kept = fold != k
            words = informative(found.train[kept], labels[kept], variant.least)
            model = variant.fit(_rows(variant, found.train[kept][:, words]), labels[kept])
            scores[~kept] = model.activations(_rows(variant, found.train[~kept][:, words]))
        words = informative(found.train, labels, variant.least)
        model = variant.fit(_rows(variant, found.train[:, words]), labels)
        on_test = model.activations(_rows(variant, found.test[:, words]))
        cut = best_cut(scores, labels, "f1")
        outcome.out_of_fold.append(counts_of(scores > cut, labels))
        outcome.tuned.append(counts_of(on_test > cut, of_test))
        half = 1.0 if isinstance(model, _Linear) else math.log(2.0)
        outcome.halved.append(counts_of(on_test > half, of_test))
        outcome.sizes.append(size_of(model))
    outcome.seconds = time.process_time() - begun
    return outcome


def _rows(variant: Variant, words: Any) -> Any:
    return words if variant.kind == "linear SVM" else rows_of_words(words)


def size_of(model: Any) -> str:
    """How many causes and inhibitors, or rules and literals, a model has."""
    if isinstance(model, Strengths):
        return f"{np.count_nonzero(model.cells)}"
    if isinstance(model, NoisyDNF):
        return f"{len(model.conjunctions)}"
    if isinstance(model, GatedDNF):
        return f"{np.count_nonzero(model.gated.causes.cells)} + {np.count_nonzero(model.gated.inhibitors.cells)}"
    return f"{model.model.coef_.size}"


def best_of(outcomes: Iterable[Outcome]) -> Outcome:
    """The one of the largest sum of macro and micro F1 out of fold."""
    return max(outcomes, key=lambda one: macro(one.out_of_fold) + micro(one.out_of_fold))
