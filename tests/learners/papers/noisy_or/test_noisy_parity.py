"""Noisy-parity: its EM, the switches that are found, and what decides."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from rulekit.graph.nodes import TRUE, IsTrue, Odd
from rulekit.learners.papers.noisy_or import counted
from rulekit.learners.papers.noisy_or.counted import CountedRows, em_of_chances
from rulekit.learners.papers.noisy_or.estimators import NoisyCountClassifier
from rulekit.learners.papers.noisy_or.noisy_counts import parity_expectation


def drawn(n: int, columns: int, chances: dict[int, float], seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Boolean columns, some of which turn a switch with their probabilities; one row in twenty is turned by nothing."""
    rng = np.random.default_rng(seed)
    data = {f"a{j}": rng.random(n) < 0.5 for j in range(columns)}
    turned = sum((data[f"a{j}"] & (rng.random(n) < p)).astype(int) for j, p in chances.items())
    return data, (turned + (rng.random(n) < 0.05)) % 2


def test_no_iteration_lowers_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_SETTLED", -1.0)
    data, y = drawn(400, 4, {0: 0.9, 2: 0.6})
    rows = CountedRows.of(list(data.values()), y, np.ones(400))
    start = np.random.default_rng(0).random(4)
    fit = em_of_chances(rows, parity_expectation, start, 0.1, prior=2.0, iterations=80)
    assert all(after >= before - 1e-9 for before, after in pairwise(fit.objectives))


@pytest.mark.parametrize(
    ("columns", "chances"),
    [
        (6, {0: 0.97, 1: 0.97}),
        (9, dict.fromkeys((1, 2, 4, 6, 7, 8), 0.97)),  # none shows anything by itself, no five of them do
        (30, {3: 0.97, 17: 0.95, 28: 0.9}),  # of more columns triples are found
        (6, {0: 0.4, 1: 0.3, 2: 0.6}),
    ],
)
def test_the_switches_are_found(columns: int, chances: dict[int, float]) -> None:
    data, y = drawn(2_000, columns, chances)
    graph = NoisyCountClassifier(positive=1, stopping="none").fit(data, y).rule_graph_
    (reported,) = graph.probability
    assert isinstance(reported.formula, Odd)  # type: ignore[attr-defined]
    found = {bit.cause: bit.probability_on for bit in reported.formula.children}  # type: ignore[attr-defined]
    assert [found.get(IsTrue(f"a{j}"), 0.0) for j in chances] == pytest.approx(list(chances.values()), abs=0.09)
    assert found[TRUE] < 0.09
    sure = [IsTrue(f"a{j}") for j, p in chances.items() if p > 0.55]
    decided = graph.decision.formula  # type: ignore[attr-defined]
    assert set(decided.children if isinstance(decided, Odd) else (decided,)) == set(sure)


@pytest.mark.parametrize("threshold", ["half", "accuracy", "f1"])
def test_it_decides_as_its_graph(threshold: str) -> None:
    data, y = drawn(600, 5, {0: 0.9, 1: 0.7, 3: 0.3})
    y = np.where(np.arange(600) < 90, 1, y)  # so that the best threshold is not 1/2
    model = NoisyCountClassifier(positive=1, threshold=threshold, stopping="none").fit(data, y)
    last = model.path_.paths[0].candidates[-1]
    assert (model.predict(data) != y).sum() == last.error
    assert last.size >= 2
    said = model.predict_proba(data)[:, 1] > -np.expm1(-last.model.bound)
    assert (said == (model.predict(data) == 1)).all()
