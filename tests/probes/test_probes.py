"""Ways in which classifiers answer falsely without a word; every answer is compared, not only the exception.

X: 300 x 5 standard normal, y = (x0 > 0 and x1 > 0) with 5 % flipped. D: one normal column and one text column of red,
green and blue, y = red or num > 1.
"""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

from rulekit import RulesClassifier
from rulekit.errors import InputError
from rulekit.graph.leaves import readers


@cache
def plain_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    flipped = rng.random(300) < 0.05
    X.setflags(write=False)
    return X, np.where(flipped, 1 - y, y)


@cache
def new_data():
    X = np.random.default_rng(1).standard_normal((2000, 5))
    return X, ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)


@cache
def holes():
    """Which cells are missing: one in ten."""
    rng = np.random.default_rng(2)
    return rng.random((300, 5)) < 0.1, rng.random((2000, 5)) < 0.1


def text_frame(n, seed, levels=("red", "green", "blue")):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"num": rng.standard_normal(n), "colour": rng.choice(levels, n)})
    return frame, ((frame.colour == "red") | (frame.num > 1)).to_numpy().astype(int)


def answers_or_error(call):
    """What a call returned, or None and the text of its error."""
    try:
        return call(), ""
    except ValueError as error:
        return None, str(error)


@cache
def plain_model():
    return RulesClassifier().fit(*plain_data())


def test_plain():
    """The rules and their probabilities are right; a second fit, a pickle and weights of one change nothing."""
    X, y = new_data()
    model = plain_model()
    assert model.score(X, y) >= 0.95
    assert set(readers(model.rule_graph_.decision.roots)) == {"x0", "x1"}
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (2000, 2)
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert np.array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), probabilities)
    twice, weighted = (RulesClassifier().fit(*plain_data(), sample_weight=w) for w in (None, np.ones(300)))
    assert twice.rule_graph_.digest == model.rule_graph_.digest
    assert again.rule_graph_ == weighted.rule_graph_ == model.rule_graph_


@pytest.mark.parametrize("fitted_too", [True, False])
def test_missing(fitted_too):
    """A classifier that drops to the constant answer (0.75) or below fails; what the holes hide costs some points."""
    X, y = plain_data()
    fit_holes, new_holes = holes()
    new, truth = new_data()
    model = RulesClassifier().fit(np.where(fit_holes, np.nan, X), y) if fitted_too else plain_model()
    answers = model.predict(np.where(new_holes, np.nan, new))
    known = ~new_holes[:, :2].any(axis=1)
    assert (answers == truth).mean() >= 0.87
    assert (answers == truth)[known].mean() >= 0.93
    assert fitted_too or np.array_equal(answers[known], model.predict(new)[known])  # unused columns may be missing


def test_infinity_in_fit():
    """An infinity is an ordinary, very large value: the model decides as if a million stood there."""
    X, y = plain_data()
    new, _ = new_data()
    answers = []
    for large in (1e6, np.inf):
        changed = X.copy()
        changed[7, 0] = large
        answers.append(RulesClassifier().fit(changed, y).predict(new))
    assert np.array_equal(*answers)
    with_infinities = np.where(np.abs(new) > 2, np.copysign(np.inf, new), new)
    assert np.array_equal(plain_model().predict(with_infinities), plain_model().predict(new))


def test_one_class_only():
    X, y = plain_data()
    with pytest.raises(InputError, match="class") as caught:
        RulesClassifier().fit(X, np.zeros_like(y))
    assert "\n" not in str(caught.value)


def test_text_labels_and_three_classes():
    X, y = plain_data()
    new, _ = new_data()
    model = RulesClassifier().fit(X, np.where(y, "yes", "no"))
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(model.predict(new) == "yes", plain_model().predict(new) == 1)
    three = RulesClassifier().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert three.score(new, np.digitize(new[:, 0], [-0.5, 0.5])) >= 0.97
    assert np.allclose(three.predict_proba(new).sum(axis=1), 1.0)


def test_text_column():
    model = RulesClassifier().fit(*text_frame(300, 0))
    assert model.score(*text_frame(2000, 1)) >= 0.98
    unseen, _ = text_frame(2000, 1, levels=("mauve",))  # which is no red: the answer hangs on the number alone
    assert (model.predict(unseen) == (unseen.num > 1)).mean() >= 0.95


def test_other_columns_in_predict():
    X, y = plain_data()
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = RulesClassifier().fit(frame, y)
    with pytest.raises(ValueError, match=r"\b[ab]\b"):
        model.predict(frame[["c", "d", "e"]])
    with pytest.raises(ValueError, match=r"3.*5|5.*3"):
        plain_model().predict(X[:, :3])
    answers, error = answers_or_error(lambda: model.predict(frame[list("edcba")]))
    assert "order" in error if error else np.array_equal(answers, model.predict(frame))


def test_no_rows():
    """In a fit an error; in a prediction nothing either, or the error that scikit-learn's own estimators raise."""
    with pytest.raises(ValueError, match=r"0 sample|no rows|empty"):
        RulesClassifier().fit(np.empty((0, 5)), np.empty(0))
    answers, error = answers_or_error(lambda: plain_model().predict(np.empty((0, 5))))
    assert "0 sample" in error if error else answers.shape == (0,)


def test_weights_of_zero_leave_rows_out():
    X, y = plain_data()
    keep = np.random.default_rng(3).random(300) < 0.8
    spoiled = np.where(keep, y, 1 - y)
    weighted = RulesClassifier().fit(X, spoiled, sample_weight=keep.astype(float))
    assert weighted.rule_graph_ == RulesClassifier().fit(X[keep], y[keep]).rule_graph_
