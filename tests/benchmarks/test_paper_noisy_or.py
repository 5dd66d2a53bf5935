"""The figures of the noisy-or paper as they are printed there, and what the benchmark counts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from benchmarks.learning.noisy_or_variants import Variant, counts_of, f1, macro, measured, micro, variants
from benchmarks.learning.paper_noisy_or import ACCURACY, F1, break_even, tables, verdicts
from benchmarks.shared.reuters import Documents, informative
from benchmarks.speed.text_fits import EM, WORDS_A_ROW, fit, made


@pytest.fixture(scope="module")
def texts() -> Documents:
    """Made documents with the ten classes of Reuters, each of two words of its own."""
    rng = np.random.default_rng(0)
    words = rng.random((400, 40)) < 0.15
    labels = np.column_stack([words[:, 2 * c] | words[:, 2 * c + 1] for c in range(10)])
    labels ^= rng.random(labels.shape) < 0.03
    matrix = csr_matrix(words.astype(np.float64))
    return Documents(matrix[:300], matrix[300:], labels[:300], labels[300:], np.arange(40).astype(str))


def test_the_papers_tables_have_its_averages() -> None:
    averages = {name: round(float(np.mean(values)), 2) for name, values in F1.items()}
    names = ["J48", "NB", "LOG", "SMO", "rN-OR-a", "rN-OR-f", "N-OR"]
    assert averages == dict(zip(names, [80.93, 70.28, 82.46, 82.73, 79.73, 80.66, 77.14], strict=True))
    assert round(float(np.mean(ACCURACY["N-OR"])), 2) == 97.38


def test_counts() -> None:
    counts = counts_of(np.array([True, True, False, False]), np.array([True, False, True, False]))
    assert counts.tolist() == [1, 1, 1]
    assert f1(counts) == 50.0
    assert macro([counts, np.array([3, 0, 0])]) == 75.0
    assert micro([counts, np.array([3, 0, 0])]) == 80.0


def test_tables_of_made_documents(texts: Documents) -> None:
    assert {0, 1} <= set(informative(texts.train, texts.of_train[:, 0], 0.05).tolist())
    assert len(informative(texts.train, texts.of_train[:, 0], 0.0)) == 40
    done = tables(texts)
    assert macro(done.counts["rN-OR-f"]) > 85.0
    point, t = break_even(done.activations["rN-OR"], texts.of_test)
    assert point > 85.0
    assert 0.0 < t < 1.0
    assert sum("met" in line for line in verdicts(done, texts)) >= 9


def test_variants_are_chosen_out_of_fold(texts: Documents) -> None:
    named: dict[str, Variant] = {one.kind: one for one in variants()}
    assert set(named) == {"noisy-or", "gated", "dnf", "gated-dnf", "linear SVM"}
    found = measured(named["noisy-or"], texts)
    assert len(found.out_of_fold) == len(found.tuned) == 10
    assert macro(found.out_of_fold) > 80.0


def test_made_texts_have_distinct_words() -> None:
    words, labels = made(300, 1000)
    assert words.nnz == 300 * WORDS_A_ROW
    assert (np.diff(words.indices.reshape(300, -1), axis=1) > 0).all()
    assert 0 < labels.sum() < 300
    assert fit(EM, words, labels)["likelihood"] < 0.0
