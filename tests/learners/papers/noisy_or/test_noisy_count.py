"""Noisy-add and noisy-parity: their EM, the counts and switches that are found, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit import simplify
from rulekit.errors import InputError
from rulekit.graph.decisions import Median
from rulekit.graph.nodes import TRUE, IsTrue, Missing, Odd
from rulekit.learners.papers.noisy_or import counted
from rulekit.learners.papers.noisy_or.counted import CountedRows, CountExpectation, em_of_chances
from rulekit.learners.papers.noisy_or.estimators import NoisyCountClassifier
from rulekit.learners.papers.noisy_or.noisy_counts import parity_expectation


def drawn(n: int, p: list[float]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Boolean columns, each of which counts one with its probability, and one more row in twenty."""
    rng = np.random.default_rng(0)
    data = {f"a{j}": rng.random(n) < 0.5 for j in range(len(p))}
    hidden = [held & (rng.random(n) < q) for held, q in zip(data.values(), p, strict=True)]
    return data, np.sum(hidden, axis=0) + (rng.random(n) < 0.05)


@pytest.mark.parametrize("parity", [False, True])
@pytest.mark.parametrize("prior", [0.0, 2.0])
def test_no_iteration_lowers_the_objective(prior: float, parity: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_SETTLED", -1.0)
    data, y = drawn(500, [0.9, 0.4, 0.0, 0.7])
    rows = CountedRows.of(list(data.values()), y % 2 if parity else y, np.full(len(y), 2), 0.5)
    expectation = parity_expectation if parity else CountExpectation(int(y.max()))
    start = np.random.default_rng(0).random(4)
    fit = em_of_chances(rows, expectation, start, 0.1, prior=prior, iterations=60)
    assert len(fit.objectives) == 61
    assert min(np.diff(fit.objectives)) > -1e-9


def test_it_finds_what_counts_and_decides_as_its_graph() -> None:
    p = [0.8, 0.6, 0.4, 0.0]
    data, y = drawn(6_000, p)
    model = NoisyCountClassifier(lam=0.0, stopping="none").fit(data, y)
    graph = model.rule_graph_
    assert isinstance(graph.decision, Median)
    assert graph.classes == (0, 1, 2, 3, 4)[: int(y.max()) + 1]
    bits = {}
    for bit in graph.decision.roots[0].score.formula.children:  # type: ignore[attr-defined]
        bits.setdefault(bit.cause, bit.probability_on)
    assert [bits[IsTrue(f"a{j}")] for j in range(3)] == pytest.approx(p[:3], abs=0.04)
    assert bits[TRUE] == pytest.approx(0.05 / y.max(), abs=0.01)
    shorter = simplify(graph)
    assert (shorter.predict(data) == model.predict(data)).all()
    assert model.predict_proba(data).sum(axis=1) == pytest.approx(1.0)


def test_equal_rows_weights_and_missing_cells() -> None:
    """A row of weight 2 is two rows; a missing cell is a level, which may count too."""
    data, y = drawn(400, [0.8, 0.5])
    each = {name: np.where(column, 1.0, 0.0) for name, column in data.items()}
    each["a1"][:80] = np.nan
    y[:80] += 1
    twice = {name: np.concatenate([column, column[:200]]) for name, column in each.items()}
    weights = np.where(np.arange(400) < 200, 2.0, 1.0)
    options = {"stopping": "none", "max_causes": 4}
    one = NoisyCountClassifier(**options).fit(each, y, weights).rule_graph_
    two = NoisyCountClassifier(**options).fit(twice, np.concatenate([y, y[:200]])).rule_graph_
    assert one.decision == two.decision
    assert any(isinstance(node, Missing) for node in one.nodes())


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (["a", "b", "c"], {}, "say that the classes are ranks"),
        ([-1, 0, 1], {}, "say that the classes are ranks"),
        ([0, 1, 190], {}, "counts up to 190 and 20 causes"),
        ([0, 1, 2], {"threshold": "f1"}, "the median of counts decides"),
        ([0, 1, 2], {"ordered": [2, 1, 0]}, "counts are ranked by themselves"),
    ],
)
def test_what_is_no_count_is_refused(y: list[object], options: dict[str, object], message: str) -> None:
    data = {"x": np.arange(60.0)}
    with pytest.raises(InputError, match=message):
        NoisyCountClassifier(**options).fit(data, np.array(y * (60 // len(y))))


def test_ranks_are_counts_from_0() -> None:
    data, y = drawn(2_000, [0.8, 0.6])
    names = np.array(["none", "one", "several"])[np.minimum(y, 2)]
    ranked = NoisyCountClassifier(ordered=["none", "one", "several"], stopping="none").fit(data, names)
    counts = NoisyCountClassifier(stopping="none").fit(data, np.minimum(y, 2))
    assert ranked.rule_graph_.decision == counts.rule_graph_.decision


# Noisy-parity ------------------------------------------------------------------------------------------------------


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
    data, y = drawn(1_200, [chances.get(j, 0.0) for j in range(columns)])
    graph = NoisyCountClassifier(positive=1, stopping="none").fit(data, y % 2).rule_graph_
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
    data, y = drawn(600, [0.9, 0.7, 0.0, 0.3, 0.0])
    y = np.where(np.arange(600) < 90, 1, y % 2)  # so that the best threshold is not 1/2
    model = NoisyCountClassifier(positive=1, threshold=threshold, stopping="none").fit(data, y)
    last = model.path_.paths[0].candidates[-1]
    assert (model.predict(data) != y).sum() == last.error
    assert last.size >= 2
    said = model.predict_proba(data)[:, 1] > -np.expm1(-last.model.bound)
    assert (said == (model.predict(data) == 1)).all()
