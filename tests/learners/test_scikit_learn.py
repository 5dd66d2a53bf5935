"""What scikit-learn asks of `classes_` and of the columns of `predict_proba`, whichever class is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from table_rows import split_labels

from rulekit import AdaBoostStumpClassifier, RulesClassifier
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare
from rulekit.learners.base import RuleClassifier
from rulekit.learners.contract import find_estimator
from rulekit.tables.kinds.inference import infer
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
    learner = RulesClassifier(3, positive=positive, stopping="none")
    model = learner.fit(X, y)
    assert model.classes_.tolist() == ["die", "live"]
    assert model.rule_graph_.classes[1] == positive
    assert np.array_equal(model.decision_function(X) > 0, model.predict(X) == "live")
    expected = model.rule_graph_.predict_proba(X)[:, list(model.rule_graph_.classes).index("live")]
    assert np.array_equal(model.predict_proba(X)[:, 1], expected)
    auc = cross_val_score(learner, X, y, scoring="roc_auc", cv=2)
    assert auc.min() > 0.7
    held_out = cross_val_predict(learner, X, y, method="predict_proba", cv=2)
    assert roc_auc_score(y == "live", held_out[:, 1]) > 0.7
    grid = GridSearchCV(learner, {"max_rules": [1, 3]}, scoring="roc_auc", cv=2).fit(X, y)
    assert grid.best_score_ > 0.7
    for wrapped in (CalibratedClassifierCV(learner, cv=2), _stacked(learner)):
        shown = wrapped.fit(X, y).predict_proba(X)[:, 1]
        assert roc_auc_score(y == "live", shown) > 0.7


def _stacked(learner: Any) -> StackingClassifier:
    return StackingClassifier([("rules", learner)], LogisticRegression(), cv=2)


@pytest.mark.parametrize("order", [("mid", "low", "high"), ("high", "low", "mid")])
def test_ranked_classes_are_listed_in_sorted_order(order: tuple[str, ...]) -> None:
    X, _ = rows()
    y = np.array(order)[np.digitize(X[:, 0], [-0.4, 0.4])]
    model = RulesClassifier(2, ordered=order, stopping="none").fit(X, y)
    assert model.rule_graph_.classes == order
    assert model.classes_.tolist() == sorted(order)
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))
    assert np.array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
    assert cross_val_score(RulesClassifier(2, ordered=order, n_folds=2), X, y, scoring="roc_auc_ovr", cv=2).min() > 0.9


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
def test_the_rarer_class_is_positive_as_in_the_command(share: float) -> None:
    """Where both have as many rows, the second in sorted order is."""
    y = np.where(np.arange(200) < 200 * share, "a", "b")
    X = np.arange(200.0)[:, None]
    model = RulesClassifier(1, stopping="none").fit(X, y)
    assert model.rule_graph_.classes == split_labels({"x": X[:, 0], "y": y}, ReadingOptions("y")).classes
    assert model.rule_graph_.classes[1] == ("a" if share < 0.5 else "b")


COSTS: list[dict[str, Any]] = [
    {"cost": "1:5", "positive": "live"},
    {"cost": (5, 1), "positive": "die"},
    {"cost": {"live": 5}},
    {"cost": np.array([[0, 1], [5, 0]])},
]


@pytest.mark.parametrize("learner", [RulesClassifier, AdaBoostStumpClassifier])
def test_costs_may_be_said_in_four_ways(learner: type[RuleClassifier]) -> None:
    """Of two classes, an error on "live" is the false negative where it is the positive one."""
    X, y = rows()
    free = learner(3, stopping="none").fit(X, y)
    for parameters in COSTS:
        model = learner(3, stopping="none", **parameters).fit(X, y)
        decided = model.predict(X) == "live"
        assert decided.mean() > (free.predict(X) == "live").mean()
        values, odds = model.decision_function(X), model.predict_proba(X)[:, 1]
        assert np.array_equal(values > 0, decided)
        assert np.array_equal(decided, odds > 1 / 6)
        assert np.array_equal(np.argsort(values, kind="stable"), np.argsort(odds, kind="stable"))
    three = np.where(X[:, 1] > 1, "gone", y)
    priced = learner(3, stopping="none", cost=[[0, 1, 1], [9, 0, 9], [1, 1, 0]]).fit(X, three)
    weighted = learner(3, stopping="none", class_weight={"gone": 9.0}).fit(X, three)
    assert priced.rule_graph_ == weighted.rule_graph_
    assert np.array_equal(priced.classes_[priced.decision_function(X).argmax(axis=1)], priced.predict(X))
    with pytest.raises(InputError, match="depends on which wrong class"):
        learner(cost=[[0, 1, 2], [9, 0, 9], [1, 1, 0]]).fit(X, three)


def test_what_is_decided_is_what_the_decision_function_says_even_of_an_edited_model() -> None:
    """Rules that were edited by hand may contradict the reported probability."""
    X, y = rows()
    model = RulesClassifier(3, stopping="none", positive="live").fit(X, y)
    graph = model.rule_graph_
    model.rule_graph_ = graph.with_(decision=Fires(Compare("x1", ">", 0.0)))
    assert np.array_equal(model.decision_function(X) > 0, X[:, 1] > 0)
    several = RulesClassifier(3, stopping="none").fit(X, np.where(X[:, 1] > 1, "gone", y))
    decision = several.rule_graph_.decision
    several.rule_graph_ = several.rule_graph_.with_(decision=decision.with_roots(decision.roots[::-1]))
    values = several.decision_function(X)
    assert values.shape == (len(X), 3)
    assert np.array_equal(several.classes_[values.argmax(axis=1)], several.predict(X))


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_an_estimator_reads_as_the_command_does(frame: Any) -> None:
    """The same kinds, gaps, units, roles and label as from a file with these options, and so the same model."""
    rng = np.random.default_rng(1)
    n = 200
    cells = {
        "code": rng.integers(0, 4, n),
        "pay": np.where(rng.random(n) < 0.1, -1, rng.integers(0, 90, n)),
        "size": rng.choice(["S", "M", "L", "?"], n),
        "secret": rng.integers(0, 2, n),
        "row": np.arange(n),
    }
    cells["kept"] = np.where((cells["pay"] > 40) & (cells["code"] != 2), "yes", "no")
    options: dict[str, Any] = {
        "types": {"code": "categorical", "size": "ordered:S,M,L", "row": "ignore"},
        "missing": ["pay=-1", "?"],
        "units": {"pay": "EUR"},
        "roles": {"secret": "forbidden"},
        "unseen": {"code": "error"},
        "precision": {"pay": "float64"},
    }
    data = frame(cells)
    X, y = data[[name for name in cells if name != "kept"]], data["kept"]
    model = RulesClassifier(4, stopping="none", cost="1:2", **options).fit(X, y)
    command = RulesClassifier(4, stopping="none").fit(
        split_labels(cells, ReadingOptions("kept", cost="1:2", **options))
    )
    assert model.rule_graph_ == command.rule_graph_
    assert model.rule_graph_.schema.target == "kept"
    assert model.n_features_in_ == 5
    assert np.array_equal(model.predict(X), command.rule_graph_.predict(X))
    assert RulesClassifier(1, target="own", stopping="none").fit(X, y).rule_graph_.schema.target == "own"
    with pytest.raises(InputError, match="known by their places"):
        RulesClassifier(types={"x1": "ignore"}).fit(*rows())
    with pytest.raises(InputError, match="typed already"):
        RulesClassifier(units={"x1": "EUR"}).fit(infer(rows()[0]), rows()[1])


def test_a_series_that_is_called_like_a_column_does_not_name_the_label() -> None:
    X, y = rows()
    data = pd.DataFrame(X, columns=list("abc"))
    model = RulesClassifier(1, stopping="none")
    assert model.fit(data, pd.Series(y, name="a")).rule_graph_.schema.target == "target"
    assert model.fit(data, pd.Series(y, name="life")).rule_graph_.schema.target == "life"
    assert model.fit(data, pl.Series(y)).rule_graph_.schema.target == "target"


def test_messages_name_the_learner_at_hand() -> None:
    class OwnRules(RulesClassifier):
        pass

    X, y = rows(30)
    for parameters in ({"positive": "x"}, {"default": "x"}, {"class_weight": {"x": 1}}, {"ordered": ("die",)}):
        with pytest.raises(ValueError, match="OwnRules"):
            OwnRules(**parameters).fit(X, y)


def test_a_learner_without_an_algorithm_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"abstract.*learn"):
        type("Idle", (RuleClassifier,), {"settings": RulesClassifier.settings})()


@pytest.mark.parametrize(
    "word", ["cnll", "additive", "adaboost", "noisy-or", pytest.param("ltu-tree", marks=pytest.mark.long)]
)
def test_importances_are_of_the_columns_that_were_given(word):
    """Recursive elimination stopped without them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (300, 5)).astype(float)
    y = (X[:, 3] + X[:, 1] > 1) ^ (rng.random(300) < 0.05)
    learner = find_estimator(word)(3, stopping="none", max_bins=8)
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    for given in (X, frame, csr_array(X)):
        found = clone(learner).fit(given, y).feature_importances_
        assert found.shape == (5,)
        assert found.sum() == pytest.approx(1.0)
        assert set(np.argsort(found)[-2:]) == {1, 3}
    assert set(np.flatnonzero(RFE(learner, n_features_to_select=2, step=2).fit(frame, y).support_)) == {1, 3}
    assert SelectFromModel(learner, threshold="mean").fit(X, y).get_support()[[1, 3]].all()
    nothing = clone(learner).fit(X, rng.permutation(300) < 3)
    assert nothing.feature_importances_.sum() in (0.0, pytest.approx(1.0))


def test_an_estimator_fitted_on_an_array_takes_the_columns_of_a_frame_by_place() -> None:
    """It once said that there is no column 'x0', a name that the user never gave."""
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = AdaBoostStumpClassifier(4).fit(X, X[:, 1] > 0)
    named = {"b": X[:, 0].tolist(), "a": X[:, 1].tolist()}
    for data in (named, pd.DataFrame(named), [dict(zip(named, row, strict=True)) for row in X.tolist()]):
        with pytest.warns(UserWarning, match="was fitted without feature names"):
            assert model.predict(data).tolist() == model.predict(X).tolist()
