"""Fits of noisy-ors and logistic regression on texts, measured in processes of their own."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from benchmarks.shared.measuring import Watch, cost_of
from benchmarks.shared.sparse_rows import rows_of_words
from rulekit.learners.noisy_or.likelihood import Incidence, coordinate_descent
from rulekit.learners.papers.noisy_or.em import expectation_maximisation

Array = npt.NDArray[Any]

EM, DESCENT, DESCENT_2 = "EM, 50 iterations", "coordinate descent, prior 0", "coordinate descent, prior 2"
LOGISTIC, SVM = "LogisticRegression", "LinearSVC"
WORDS_A_ROW = 50


def fit(name: str, words: csr_matrix, labels: Array) -> dict[str, float]:
    """Fit one class; what it cost, from the matrix on, and what is left to say of the result."""
    with Watch() as watch:
        said = _fitted(name, words, labels)
    return {**cost_of(watch), **said}


def _fitted(name: str, words: csr_matrix, labels: Array) -> dict[str, float]:
    if name in (LOGISTIC, SVM):
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        (LogisticRegression() if name == LOGISTIC else LinearSVC()).fit(words, labels)
        return {}
    incidence = Incidence.of(rows_of_words(words), labels)
    if name == EM:
        return {"likelihood": float(expectation_maximisation(incidence).likelihoods[-1])}
    prior = 0.0 if name == DESCENT else 2.0
    found = coordinate_descent(incidence, prior=prior)
    objective = incidence.likelihood(found.strengths) - prior * float(found.strengths.cells.sum())
    return {"objective": objective, "violation": found.violation, "sweeps": found.sweeps}


def reuters(data: str, name: str, rounds: int = 3) -> dict[str, Any]:
    """CPU seconds of ten classes in each round, the memory of the largest two, and the size of the matrix."""
    from benchmarks.shared.reuters import documents

    found = documents(Path(data), everything=True)
    words, labels = found.train, found.of_train.astype(np.int64)
    warm = slice(0, 500)
    fit(name, words[warm], labels[warm, 0])  # compiles
    seconds, others = [], 0.0
    for _ in range(rounds):
        fits = [fit(name, words, labels[:, c]) for c in range(labels.shape[1])]
        seconds.append(sum(one["processor"] for one in fits))
        others = max(others, *(one["others"] for one in fits))
    return {
        "processor": seconds,
        "memory": max(_allocated(name, words, labels[:, c]) for c in range(2)),
        "others": others,
        "shape": words.shape,
        "entries": int(words.nnz),
        "csr": size_of(words),
    }


def _allocated(name: str, words: csr_matrix, labels: Array) -> int:
    """The most bytes that a fit holds at once, by Python's allocator, which numpy's arrays are of.

    The resident set would not tell: so little fits into what the reading of the texts has left free.
    """
    tracemalloc.start()
    try:
        _fitted(name, words, labels)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def size_of(words: csr_matrix) -> int:
    """The bytes of a matrix."""
    return int(words.data.nbytes + words.indices.nbytes + words.indptr.nbytes)


def made(n: int, k: int, seed: int = 0) -> tuple[csr_matrix, Array]:
    """Rows of 50 words each, drawn by a law like Zipf's, and labels of a noisy-or of a word in 500.

    The words of a row are distinct: the vocabulary is parted into 50 stretches, of which each gives one.
    """
    rng = np.random.default_rng(seed)
    wide = k // WORDS_A_ROW
    indices = np.empty((n, WORDS_A_ROW), dtype=np.int32)
    for start in range(0, n, 100_000):
        part = indices[start : start + 100_000]
        rank = np.floor(np.exp(rng.random(part.shape, dtype=np.float32) * np.float32(np.log(wide + 1)))) - 1
        part[:] = np.minimum(rank, wide - 1).astype(np.int32) + wide * np.arange(WORDS_A_ROW, dtype=np.int32)
    strengths = np.zeros(k)
    causes = max(k // 500, 1)
    strengths[rng.choice(k, causes, replace=False)] = rng.exponential(1.0, causes)
    strengths[wide * np.arange(5) + 3] = 2.0  # some that are frequent
    s = np.full(n, 0.05)
    for j in range(WORDS_A_ROW):
        s += strengths[indices[:, j]]
    labels = (rng.random(n) < -np.expm1(-s)).astype(np.int64)
    indptr = np.arange(n + 1, dtype=np.int32) * np.int32(WORDS_A_ROW)
    data = np.ones(n * WORDS_A_ROW, dtype=np.float64)
    return csr_matrix((data, indices.ravel(), indptr), shape=(n, k)), labels


def scaled(name: str, n: int, k: int) -> dict[str, Any]:
    """The cost of a fit to n made rows of a vocabulary of k."""
    warm_words, warm_labels = made(2_000, k)
    fit(name, warm_words, warm_labels)
    words, labels = made(n, k)
    found = fit(name, words, labels)
    return {**found, "entries": int(words.nnz), "csr": size_of(words), "positive": int(labels.sum())}
