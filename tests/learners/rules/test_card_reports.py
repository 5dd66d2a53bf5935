"""Cards beside the rules: past the time limit the report is rates, and `rulekit refit` fits scale and offset alone."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rulekit import RulesClassifier
from rulekit.graph.check import check
from rulekit.graph.files.model_files import load
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Linear, Logistic, Sided
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts, inner_sum
from rulekit.learners.contract import Watch
from rulekit.learners.learning import Run
from rulekit.learners.rules.learner import PlainRules
from rulekit.synthetic import write_csv
from rulekit.work.changes.refitting import refit


def has_card(graph: RuleGraph) -> bool:
    return any(isinstance(node, Logistic) for node in graph.nodes())


@pytest.fixture
def late_cards(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is over when the rules are there, and no card yet."""
    revise = PlainRules.revise

    def late(self: PlainRules, runs: Sequence[Run], *others: Any) -> None:
        for run in runs:
            run.question = replace(run.question, watch=Watch(0.0))
        revise(self, runs, *others)

    monkeypatch.setattr(PlainRules, "revise", late)


@pytest.mark.parametrize("kind", ["two", "several", "ranked"])
@pytest.mark.usefixtures("late_cards")
def test_past_the_time_limit_rules_have_rates_in_the_place_of_a_card(kind: str) -> None:
    X, y = loan_rows(400)
    more: dict[str, Any] = {"positive": "yes"}
    if kind != "two":
        income = np.array(X["income"], dtype=float)
        y = np.where(income > 60000, "high", np.where(income > 30000, "mid", "low"))
        more = {"ordered": ["low", "mid", "high"]} if kind == "ranked" else {}
    model = RulesClassifier(3, n_folds=2, **more).fit(X, y)
    graph = model.rule_graph_
    check(graph)
    assert counts(graph).rules
    assert not any(map(has_card, [graph, *model.path_]))
    chances = graph.predict_proba(X)
    assert np.isfinite(chances).all()
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert model.score(X, y) > 0.8
    if kind != "ranked":
        assert (chances.argmax(axis=1) == graph.decide(X)).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rates = RulesClassifier(3, n_folds=2, report="rates", **more).fit(X, y).rule_graph_
    assert graph.probability == rates.probability
    assert graph.decision == rates.decision


def test_a_time_limit_of_nothing_makes_a_complete_model_without_a_card() -> None:
    X, y = loan_rows(200)
    graph = RulesClassifier(positive="yes", time_limit=0.0).fit(X, y).rule_graph_
    check(graph)
    assert graph.provenance["stopped"] == "time limit"
    assert not has_card(graph)
    assert np.array_equal(graph.predict_proba(X)[:, 1] > 0.5, graph.predict(X) == "yes")


@pytest.fixture(scope="module")
def model_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = loan_rows(500)
    path = tmp_path_factory.mktemp("card") / "model.json"
    RulesClassifier(3, stopping="none", positive="yes", target="default").fit(X, y).rule_graph_.save(path)
    return path


def card_of(graph: RuleGraph) -> tuple[Linear, float, float]:
    """The points of a card, its scale and its offset."""
    (reported,) = graph.probability
    assert isinstance(reported, Sided)
    assert isinstance(reported.probability, Logistic)
    linear = reported.probability.linear
    assert isinstance(linear, Linear)
    return inner_sum(linear), linear.terms[0][0], linear.bias


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**16), st.floats(0.0, 0.5), st.integers(30, 300))
@example(1, 0.5, 31)
def test_a_refit_fits_scale_and_offset_and_changes_no_label(
    model_file: Path, tmp_path: Path, seed: int, noise: float, n: int
) -> None:
    """Rows with more noise and another share than those of the training: points, rules and labels stay.

    Where chance turned the rows around, the scale was negative: more points for a class made it less probable.
    """
    rng = np.random.default_rng(seed)
    X, y = loan_rows(n, seed)
    flipped = rng.random(n) < noise
    y = np.where(flipped, np.where(y == "yes", "no", "yes"), y)
    y[:2] = "no", "yes"
    write_csv({**X, "default": y.tolist()}, tmp_path / "rows.csv")
    before = load(model_file)
    found = refit(model_file, tmp_path / "rows.csv")
    after = found.model
    assert after.decision == before.decision
    (points, scale, offset), (kept, old, nothing) = card_of(after), card_of(before)
    assert points == kept
    assert (old, nothing) == (0.1, 0.0)
    assert scale > 0.0
    assert found.after.log_loss <= found.before.log_loss
    assert found.after.accuracy == found.before.accuracy
    rows, _ = loan_rows(300, seed + 1)
    decided = before.decide(rows)
    assert (after.decide(rows) == decided).all()
    chances = after.predict_proba(rows)[:, 1]
    tenth = before.with_(probability=(Logistic(Linear([(0.1, points)], 0.0)),)).predict_proba(rows)[:, 1]
    total = np.rint(10.0 * np.log(tenth / (1.0 - tenth)))
    card = 1.0 / (1.0 + np.exp(-scale * total - offset))
    sided = np.where(decided == 1, np.maximum(card, 0.501), np.minimum(card, 0.499))
    assert np.allclose(chances, sided, rtol=0.0, atol=1e-9)


# The points of columns: most rows have none, and neither has what no training row has ------------------------------


def late_rows(seed: int, n: int = 600) -> tuple[dict[str, Any], np.ndarray]:
    rng = np.random.default_rng(seed)
    count, amount, shop = rng.poisson(1.2, n), rng.lognormal(7.0, 0.6, n).round(), rng.integers(0, 60, n)
    late = ((count > 2) | (amount > 2500.0)) ^ (rng.random(n) < 0.08)
    return {"count": count, "amount": amount, "shop": [f"S{k}" for k in shop]}, np.where(late, "yes", "no")


@pytest.mark.parametrize("seed", range(3))
def test_most_rows_have_no_points_of_a_column_and_a_missing_value_adds_none(seed: int) -> None:
    data, labels = late_rows(seed)
    graph = RulesClassifier(1, positive="yes", stopping="none", report="all").fit(data, labels).rule_graph_
    chances = graph.predict_proba(data)[:, 1]
    silent = chances[graph.predict(data) == "no"]
    usual, share = max(zip(*np.unique(silent, return_counts=True), strict=True), key=lambda pair: pair[1])
    assert share > len(silent) / 2
    unknown = {"count": [None], "amount": [None], "shop": ["S1"]}
    assert graph.predict_proba(unknown)[0, 1] == usual


def test_a_category_of_many_levels_has_no_points() -> None:
    data, labels = late_rows(0)
    graph = RulesClassifier(1, positive="yes", stopping="none", report="all").fit(data, labels).rule_graph_
    assert "shop" not in set(readers(graph.probability)) - set(readers(graph.decision.roots))
