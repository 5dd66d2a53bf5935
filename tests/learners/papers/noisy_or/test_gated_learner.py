"""Conditions that inhibit: their likelihood and fit, what the learner finds, what it promises, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import Array, cells_of, drawn

from rulekit import explain, simplify
from rulekit.errors import InputError
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Hidden, Node, Not, Or, topological
from rulekit.learners.noisy_or.likelihood import Incidence, coordinate_descent
from rulekit.learners.papers.noisy_or.estimators import GatedNoisyOrClassifier
from rulekit.learners.papers.noisy_or.gated import GatedRows, fit_gated
from rulekit.shown.sections import reported, sections
from rulekit.shown.view import show
from rulekit.targets import find_target
from rulekit.verification.parity import verify

CLEAR: dict[str, Any] = {"positive": "yes", "family": "or", "stopping": "none"}


def table(n: int, seed: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """(a and b) and (x > 3 and k = u) cause "yes", c inhibits it; some cells are missing."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.random((3, n)) < 0.4
    x, k = rng.integers(0, 7, n), rng.choice(["u", "v", "w"], n)
    p = 1.0 - 0.98 * np.where(a & b, 0.15, 1.0) * np.where((x > 3) & (k == "u"), 0.2, 1.0)
    y = np.where(rng.random(n) < p * np.where(c, 0.1, 1.0), "yes", "no")
    x = np.where(rng.random(n) < 0.1, np.nan, x)
    return {"a": a, "b": b, "c": c, "x": x, "k": k}, y


def causes_and_inhibitors(node: Node) -> tuple[set[str], set[str]]:
    """The conditions of the bits in words, of causes and of inhibitors."""
    none = next((n.child for n in topological([node]) if isinstance(n, Not) and isinstance(n.child, Or)), Or(()))
    bits = {n for n in topological([node]) if isinstance(n, Hidden)}
    inhibitors = {n for n in topological([none]) if isinstance(n, Hidden)}
    return tuple({print_node(bit.cause) for bit in found} - {"true"} for found in (bits - inhibitors, inhibitors))


def test_planted_rules_and_inhibitors_are_found() -> None:
    data, y = table(2_500)
    graph = GatedNoisyOrClassifier(rule_length=4, size=3, **CLEAR).fit(data, y).rule_graph_
    causes, inhibitors = causes_and_inhibitors(graph.probability[0])
    assert causes == {"a and b", "x > 3 and k in {u}"}
    assert inhibitors == {"c"}


def test_inhibitors_keep_the_direction_of_monotone_columns() -> None:
    """More of x never makes "yes" less likely, whatever x does in the data."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 3_000))
    y = np.where(rng.random(3_000) < np.where(z > 0, 0.9, 0.1) * np.where(np.abs(x) > 1, 0.2, 1.0), "yes", "no")
    for family in ("or", "and"):
        model = GatedNoisyOrClassifier(monotone={"x": "increasing"}, **{**CLEAR, "family": family})
        model.fit({"x": x, "z": z}, y)
        steps = np.linspace(-3, 3, 50)
        for other in (-1.0, 1.0):
            proba = model.predict_proba({"x": steps, "z": np.full(50, other)})[:, 1]
            assert np.all(np.diff(proba) >= -1e-12)


@pytest.mark.parametrize("length", [1, 4])
def test_several_classes_are_decided_by_the_largest_probability(length: int) -> None:
    rng = np.random.default_rng(0)
    data = {f"a{j}": rng.random(900) < 0.5 for j in range(3)} | {"x": rng.normal(size=900)}  # no two rows are equal
    y = np.where(data["a0"] & data["a1"], "p", np.where(data["a2"], "q", "r"))
    model = GatedNoisyOrClassifier(rule_length=length, n_folds=2).fit(data, y)
    proba = model.predict_proba(data)
    said = model.predict(data)
    assert np.mean(said == y) > (0.95 if length > 1 else 0.8)
    assert np.mean(model.classes_[proba.argmax(axis=1)] == said) > 0.99


def test_what_has_no_meaning_is_refused_by_name() -> None:
    data, y = table(200)
    ranks = np.array(["low", "middle", "high"])[np.arange(200) % 3]
    refused: list[tuple[dict[str, Any], np.ndarray, str]] = [
        ({"ordered": ["low", "middle", "high"]}, ranks, "ranked classes"),
        ({"threshold": "f1"}, ranks, "threshold"),
        ({"forbid": ["a, b"]}, y, "forbid"),
    ]
    for parameters, labels, where in refused:
        with pytest.raises(InputError, match=where):
            GatedNoisyOrClassifier(**parameters).fit(data, labels)


def test_a_gated_model_is_read_as_two_lists_and_proved_on_every_target() -> None:
    rng = np.random.default_rng(0)
    a, b, c = rng.random((3, 900)) < 0.5
    data = {"a": a, "b": b, "c": c, "x": rng.normal(size=900)}
    p = (1.0 - 0.98 * np.where(a, 0.3, 1.0) * np.where(b, 0.4, 1.0)) * np.where(c, 0.05, 1.0)
    causes = rng.random(900) < p
    for more in ({"family": "or"}, {"family": "and", "threshold": "accuracy"}):
        y = np.where(causes == (more["family"] == "or"), "yes", "no")
        model = GatedNoisyOrClassifier(**{**CLEAR, **more}, max_causes=4).fit(data, y)
        graph = simplify(model.rule_graph_)
        heading, inhibiting = sections(graph)
        joined = "when" if more["family"] == "or" else "unless"
        start = f'target is "yes" {joined} the probability that any of these holds, and none of those below does,'
        assert heading.heading.startswith(start)
        assert inhibiting.heading == "and none of those:"
        assert "none of those" in show(graph)
        assert not reported(graph)  # nothing stands beside what decides
        rows = explain(graph, {name: column[:20] for name, column in data.items()})
        assert all(row["conditions"] for row in rows)
        for name in ("onnx", "python", "sql"):
            target = find_target(name)
            report = verify(graph, target.emit(graph, {}), target=target, rows=100)
            assert (report.ok, report.proof) == (True, "proved")


# Likelihood and fit ---------------------------------------------------------------------------------------------------


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
