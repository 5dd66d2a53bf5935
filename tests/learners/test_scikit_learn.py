"""What scikit-learn asks of `classes_` and of the columns of `predict_proba`, whichever class is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from table_rows import split_labels

from rulekit import CNLLClassifier
from rulekit.learners.base import RuleClassifier
from rulekit.tables.options import ReadingOptions


def rows(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0.3, "live", "die")


@pytest.mark.filterwarnings("ignore:.*positive='(live|die)' is not used:UserWarning")
@pytest.mark.parametrize("positive", ["live", "die"])
def test_scorers_and_wrappers_work_with_either_positive_class(positive: str) -> None:
    """With the first class as the positive one, `classes_` was unsorted and the area under the curve upside down."""
    X, y = rows()
    learner = CNLLClassifier(3, positive=positive, stopping="none")
    model = learner.fit(X, y)
    assert model.classes_.tolist() == ["die", "live"]
    assert model.rule_graph_.classes[1] == positive
    expected = model.rule_graph_.predict_proba(X)[:, list(model.rule_graph_.classes).index("live")]
    assert np.array_equal(model.predict_proba(X)[:, 1], expected)
    auc = cross_val_score(learner, X, y, scoring="roc_auc", cv=3)
    assert auc.min() > 0.7
    held_out = cross_val_predict(learner, X, y, method="predict_proba", cv=3)
    assert roc_auc_score(y == "live", held_out[:, 1]) > 0.7
    grid = GridSearchCV(learner, {"n_units": [1, 3]}, scoring="roc_auc", cv=3).fit(X, y)
    assert grid.best_score_ > 0.7
    for wrapped in (CalibratedClassifierCV(learner, cv=3), _stacked(learner)):
        shown = wrapped.fit(X, y).predict_proba(X)[:, 1]
        assert roc_auc_score(y == "live", shown) > 0.7


def _stacked(learner: Any) -> StackingClassifier:
    return StackingClassifier([("rules", learner)], LogisticRegression(), cv=3)


@pytest.mark.parametrize("order", [("mid", "low", "high"), ("high", "low", "mid")])
def test_ranked_classes_are_listed_in_sorted_order(order: tuple[str, ...]) -> None:
    X, _ = rows()
    y = np.array(order)[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = CNLLClassifier(2, ordered=order, stopping="none").fit(X, y)
    assert model.rule_graph_.classes == order
    assert model.classes_.tolist() == sorted(order)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert cross_val_score(CNLLClassifier(2, ordered=order), X, y, scoring="roc_auc_ovr", cv=3).min() > 0.9


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_the_rarer_class_is_positive_as_in_the_command(share: float) -> None:
    """Where both have as many rows, the second in sorted order is."""
    y = np.where(np.arange(200) < 200 * share, "a", "b")
    X = np.arange(200.0)[:, None]
    model = CNLLClassifier(1, stopping="none").fit(X, y)
    assert model.rule_graph_.classes == split_labels({"x": X[:, 0], "y": y}, ReadingOptions("y")).classes
    assert model.rule_graph_.classes[1] == ("a" if share < 0.5 else "b")


def test_messages_name_the_learner_at_hand() -> None:
    class OwnRules(CNLLClassifier):
        pass

    X, y = rows(30)
    for parameters in ({"positive": "x"}, {"default": "x"}, {"class_weight": {"x": 1}}, {"ordered": ("die",)}):
        with pytest.raises(ValueError, match="OwnRules"):
            OwnRules(**parameters).fit(X, y)


def test_a_learner_without_an_algorithm_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"abstract.*learn"):
        type("Idle", (RuleClassifier,), {"settings": CNLLClassifier.settings})()
