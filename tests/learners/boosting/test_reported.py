"""Fitted probabilities: the same decisions, less log loss on new rows, proved exports, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit import AdaBoostStumpClassifier, export, verify
from rulekit.errors import InputError
from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.boosting.sums import Boosted

KINDS: dict[str, dict[str, Any]] = {
    "two": {},
    "weighted": {"class_weight": "balanced"},
    "several": {},
    "ranked": {"ordered": [0, 1, 2]},
}


def noisy(seed: int, n: int, kind: str) -> tuple[Any, Any]:
    """Rows whose label is by chance for three in ten."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6)).round(1).astype(np.float32)
    held = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0) + (X[:, 2] > 0.3)
    two = kind in ("two", "weighted")
    labels = (held >= 2).astype(int) if two else np.minimum(held, 2)
    return X, np.where(rng.random(n) < 0.3, rng.integers(0, 2 if two else 3, n), labels)


def fitted(kind: str, probability: str, **settings: Any) -> AdaBoostStumpClassifier:
    settings = {"size": 15, "n_folds": 2, **KINDS[kind], **settings}
    return AdaBoostStumpClassifier(15, probability=probability, **settings).fit(*noisy(0, 250, kind))


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind in ("weighted", "ranked"))) for kind in KINDS]
)
def test_the_report_is_better_on_new_rows_and_decides_nothing(kind: str, tmp_path: Path) -> None:
    X, y = noisy(100, 2000, kind)
    plain, platt = (fitted(kind, probability) for probability in ("sigmoid", "platt"))
    np.testing.assert_array_equal(plain.predict(X), platt.predict(X))
    assert plain.rule_graph_.decision == platt.rule_graph_.decision
    assert _loss(platt, X, y) < _loss(plain, X, y)
    for target, name in (("python", "m.py"), ("onnx", "m.onnx")):
        export(platt.rule_graph_, tmp_path / name, to=target)
        report = verify(platt.rule_graph_, tmp_path / name, rows=50)
        assert (report.ok, report.proof) == (True, "proved"), str(report)
    if kind == "two":
        np.testing.assert_array_equal(platt.predict_proba(X)[:, 1] > 0.5, platt.predict(X) == 1)


def _loss(model: AdaBoostStumpClassifier, X: Any, y: Any) -> float:
    """The mean log loss of each class against the rest."""
    said = np.clip(model.predict_proba(X), 1e-9, 1.0 - 1e-9)
    own = y[:, None] == model.classes_
    return float(-np.log(np.where(own, said, 1.0 - said)).mean())


def test_without_cross_validation_folds_are_learned_for_it() -> None:
    plain, platt = (fitted("two", probability, stopping="none", size=None) for probability in ("sigmoid", "platt"))
    X, y = noisy(100, 2000, "two")
    assert plain.rule_graph_.decision == platt.rule_graph_.decision
    assert _loss(platt, X, y) < _loss(plain, X, y)


def test_what_was_stopped_is_fitted_to_its_training_rows() -> None:
    model = fitted("two", "platt", stopping="none", size=None, callback=lambda step: step["unit"] == 5)
    made = [candidate.model for candidate in model.path_.paths[0].candidates]
    assert len(made) == 5
    assert all(isinstance(each, Boosted) and each.scale != 2.0 for each in made)


def test_labels_by_chance_are_reported_with_their_share() -> None:
    """Where rows of a larger sum are not more often positive than others, the scale stays above 0."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(300, 4)).astype(np.float32), rng.random(300) < 0.4
    model = AdaBoostStumpClassifier(20, probability="platt", size=20, n_folds=3).fit(X, y)
    said = model.predict_proba(rng.normal(size=(500, 4)).astype(np.float32))[:, 1]
    assert np.abs(said - 0.4).mean() < 0.15
    score = model.path_.paths[0].candidates[-1].model.score(model.path_.frame, "")
    assert isinstance(score.probability, Logistic)
    assert isinstance(score.probability.linear, Linear)
    assert all(weight > 0.0 for weight, _ in score.probability.linear.terms)


@pytest.mark.parametrize(
    ("settings", "why"), [({"vote": "majority"}, "has no sum"), ({"points": True}, "whole points")]
)
def test_what_has_no_sum_of_votes_to_fit_is_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        fitted("two", "platt", **settings)
