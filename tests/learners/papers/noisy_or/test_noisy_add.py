"""Noisy-add: its EM, what the learner finds in counts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit import simplify
from rulekit.errors import InputError
from rulekit.graph.decisions import Median
from rulekit.graph.nodes import TRUE, IsTrue, Missing
from rulekit.learners.papers.noisy_or import counted
from rulekit.learners.papers.noisy_or.counted import CountedRows, CountExpectation, em_of_chances
from rulekit.learners.papers.noisy_or.estimators import NoisyCountClassifier


def drawn(n: int, p: list[float], seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Boolean columns, each of which counts one with its probability, and one more row in twenty."""
    rng = np.random.default_rng(seed)
    data = {f"a{j}": rng.random(n) < 0.5 for j in range(len(p))}
    hidden = [held & (rng.random(n) < q) for held, q in zip(data.values(), p, strict=True)]
    return data, np.sum(hidden, axis=0) + (rng.random(n) < 0.05)


def rows_of(data: dict[str, np.ndarray], y: np.ndarray) -> CountedRows:
    return CountedRows.of(list(data.values()), y, np.full(len(y), 2), 0.5)


def test_em_never_lowers_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted, "_SETTLED", -1.0)
    data, y = drawn(500, [0.9, 0.4, 0.0, 0.7])
    for prior in (0.0, 2.0):
        rows, expectation = rows_of(data, y), CountExpectation(int(y.max()))
        fit = em_of_chances(rows, expectation, np.full(4, 0.3), 0.1, prior=prior, iterations=60)
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
