"""Column generation: the rules that hold are found, and the search sees the best extension."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn

from benchmarks.learning.gated_noisy_dnf import fit_gated_conjunctions
from benchmarks.learning.noisy_dnf import Breadth, Conjunction, _Search, covered, fit_conjunctions
from rulekit.learners.noisy_or.likelihood import Strengths


def holds(rule: Conjunction, words: Array) -> Array:
    return np.asarray(words[:, list(rule.present)].all(axis=1) & ~words[:, list(rule.absent)].any(axis=1))


def test_the_rules_of_the_data_are_found() -> None:
    words = np.random.default_rng(0).random((400, 12)) < 0.3
    labels = (words[:, 0] & ~words[:, 1]) | (words[:, 2] & words[:, 3] & ~words[:, 4])
    found = fit_conjunctions(cells_of(words), labels, prior=2.0)
    assert set(found.conjunctions) == {Conjunction((0,), (1,)), Conjunction((2, 3), (4,))}
    assert np.diff(found.objectives).min() > -1e-6
    assert np.array_equal(found.activations(cells_of(words)) > np.log(2.0), labels)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_the_first_rules_are_the_best_of_all_pairs(seed: int, absent: bool) -> None:
    words, labels = drawn(seed, n=80, k=6)
    rows = cells_of(words)
    search = _Search.of(rows, labels == 1, np.ones(80), 2, absent, Breadth(extensions=12, words=6, added=500))
    found = search.best((), (), Strengths(np.zeros(0), 0.5), 0.5)
    slopes = np.where(labels == 1, 1.0 / np.expm1(0.5), -1.0)
    best = {}
    for j in range(6):
        for rule in [Conjunction((j,)), *([Conjunction((), (j,))] if absent else [])]:
            best[rule] = rule
        for i in range(6):
            if i == j or slopes[words[:, j]].sum() <= 0.0:
                continue  # only words that gain by themselves are extended
            best[Conjunction(tuple(sorted((i, j))))] = None
            if absent:
                best[Conjunction((j,), (i,))] = None
    gains = {rule: slopes[holds(rule, words)].sum() for rule in best}
    expected = {rule for rule, gain in gains.items() if gain > 0.5 + 1e-9 and labels[holds(rule, words)].sum() >= 3}
    assert expected <= set(found)
    assert all(gains[rule] > 0.5 - 1e-9 for rule in found)
    order = [gains[rule] for rule in found]
    assert np.all(np.diff(order) <= 1e-9)


def test_coverage_is_what_the_literals_say() -> None:
    words, _ = drawn(1)
    rules = [Conjunction((0, 3), (1,)), Conjunction(), Conjunction((), (2, 4)), Conjunction((5,))]
    cells = covered(cells_of(words), rules)
    for place, rule in enumerate(rules):
        assert np.array_equal(cells.toarray()[:, place] > 0, holds(rule, words))
    assert covered(cells_of(words), []).indptr.tolist() == [0] * (len(words) + 1)


def test_neither_the_order_of_rows_nor_their_repetition_matters() -> None:
    words, labels = drawn(2, n=100)
    order = np.random.default_rng(0).permutation(100)
    one = fit_conjunctions(cells_of(words), labels, prior=1.0, weights=np.full(100, 2))
    other = fit_conjunctions(cells_of(words[order]), labels[order], prior=1.0, weights=np.full(100, 2))
    twice = fit_conjunctions(cells_of(np.repeat(words, 2, axis=0)), np.repeat(labels, 2), prior=1.0)
    few = fit_conjunctions(cells_of(words), labels, prior=1.0, depth=2, absent=False)
    assert all(len(rule) <= 2 and not rule.absent for rule in few.conjunctions)  # both are kept to
    for found in (other, twice):
        assert found.conjunctions == one.conjunctions
        assert found.strengths.cells.tobytes() == one.strengths.cells.tobytes()


def test_conjunctions_with_inhibitors() -> None:
    rng = np.random.default_rng(5)
    words = rng.random((400, 8)) < 0.4
    labels = ((words[:, 0] & words[:, 1]) | (words[:, 2] & words[:, 3])) & ~words[:, 7]
    found = fit_gated_conjunctions(cells_of(words), labels, prior=2.0, prior_of_inhibitors=0.5, depth=2, absent=False)
    held = {rule.present for rule in found.conjunctions}
    assert {(0, 1), (2, 3)} <= held
    assert found.gated.inhibitors.cells[:8].argmax() == 7
    assert ((found.probabilities(cells_of(words)) > 0.5) == labels).mean() > 0.98
