"""The gated noisy-or: its likelihood is that of the graph, and its fit is no worse than that of its causes alone."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn

from rulekit.learners.noisy_or.likelihood import Incidence, coordinate_descent
from rulekit.learners.papers.noisy_or.gated import GatedRows, fit_gated


def with_inhibitor(seed: int, n: int = 300) -> tuple[Array, Array]:
    """Labels of a noisy-or that the last word often inhibits."""
    words, labels = drawn(seed, n=n)
    rng = np.random.default_rng(seed + 1)
    labels[2:][words[2:, -1] & (rng.random(n - 2) < 0.9)] = 0
    return words, labels


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000))
def test_likelihood_and_slopes(seed: int) -> None:
    words, labels = drawn(seed, n=40, k=4)
    rng = np.random.default_rng(seed)
    problem = GatedRows.of(cells_of(words[:, [0, 1, 3]]), cells_of(words[:, [1, 2]]), labels, None)
    x = rng.exponential(1.0, 7)
    value, slope = problem.likelihood(x)
    s = x[3] + words[:, [0, 1, 3]] @ x[:3]
    h = x[6] + words[:, [1, 2]] @ x[4:6]
    p = np.exp(-h) * -np.expm1(-s)
    np.testing.assert_allclose(value, np.where(labels == 1, np.log(p), np.log1p(-p)).sum(), rtol=1e-12)
    step = 1e-6
    for j in range(7):
        move = np.where(np.arange(7) == j, step, 0.0)
        rise = problem.likelihood(x + move)[0] - problem.likelihood(x - move)[0]
        np.testing.assert_allclose(slope[j], rise / (2 * step), rtol=1e-4, atol=1e-5)


def test_the_inhibitor_is_found() -> None:
    words, labels = with_inhibitor(3)
    start = coordinate_descent(Incidence.of(cells_of(words), labels), prior=1.0)
    found = fit_gated(cells_of(words), cells_of(words), labels, start.strengths)
    alone = Incidence.of(cells_of(words), labels).likelihood(start.strengths) - start.strengths.cells.sum()
    assert found.objective > alone + 10.0
    assert found.inhibitors.cells.argmax() == 7
    assert (found.inhibitors.cells == 0.0).any()


def test_neither_the_order_of_rows_nor_their_repetition_matters() -> None:
    words, labels = with_inhibitor(4, n=80)
    order = np.random.default_rng(0).permutation(80)
    start = coordinate_descent(Incidence.of(cells_of(words), labels), prior=1.0).strengths
    one = fit_gated(*[cells_of(words)] * 2, labels, start, weights=np.full(80, 2))
    other = fit_gated(*[cells_of(words[order])] * 2, labels[order], start, weights=np.full(80, 2))
    twice = fit_gated(*[cells_of(np.repeat(words, 2, axis=0))] * 2, np.repeat(labels, 2), start)
    for found in (other, twice):
        assert found.causes.cells.tobytes() == one.causes.cells.tobytes()
        assert found.inhibitors.cells.tobytes() == one.inhibitors.cells.tobytes()
