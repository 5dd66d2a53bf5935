"""Weights of any size: every learner takes them or refuses them by name, and no class vanishes without a word."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from quick_learners import SMALL

from rulekit.errors import DataWarning, InputError
from rulekit.learners.contract import find_estimator, learner_names
from rulekit.learners.papers.ltu_trees import shown_times

N = 60
EVERY_SECOND = np.arange(N) % 2 == 0


def rows(noise: float) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 5, (N, 2)).astype(float)
    return X, np.where((X[:, 0] > 2) ^ (rng.random(N) < noise), "b", "a")


WEIGHTS = {  # without noise, and with some
    0.0: {"1e15": np.full(N, 1e15), "the largest double": np.full(N, 1.7e308), "the least": np.full(N, 5e-324)},
    0.1: {
        "600 powers of ten apart": np.where(EVERY_SECOND, 1e300, 1e-300),
        "one row beyond all": np.r_[1e18, np.ones(N - 1)],
        "classes apart": np.where(rows(0.1)[1] == "a", 1e-300, 1.0),
    },
}


@pytest.mark.parametrize("noise", WEIGHTS)
@pytest.mark.parametrize(
    "word",
    [pytest.param(word, marks=[pytest.mark.long] * (word == "ltu-tree")) for word in learner_names() if word in SMALL],
)
def test_every_learner_takes_weights_of_any_size(word: str, noise: float) -> None:
    """1e15 and more ended in a ZeroDivisionError: beside them ten rows of the prior were nothing."""
    X, y = rows(noise)
    for name, weight in WEIGHTS[noise].items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DataWarning)  # of a table as small as this
            model = find_estimator(word)(**SMALL[word]).fit(X, y, weight)
        assert model.classes_.tolist() == ["a", "b"], name
        assert np.isfinite(model.predict_proba(X)).all(), name
        if noise == 0.0:
            assert (model.predict(X) == y).mean() > 0.6, name


def test_a_class_without_weight_is_left_out_with_a_word() -> None:
    X, y = rows(0.1)
    y = np.where(EVERY_SECOND & (y == "a"), "c", y)
    with pytest.warns(UserWarning, match="all rows of 'c' have weight 0"):
        model = find_estimator("rules")(2, n_folds=2).fit(X, y, np.where(y == "c", 0.0, 1.0))
    assert model.classes_.tolist() == ["a", "b"]
    for weight in (-1.0, np.nan, np.inf, "x", 1j, 10**400):
        with pytest.raises(InputError, match="sample_weight: a weight is"):
            model.fit(X, y, np.array([weight] * N))
    with pytest.raises(InputError, match="the weights are all zero"):
        model.fit(X, y, np.zeros(N))
    model.fit(X, y, [1] * N)


def test_rows_of_large_weights_are_shown_in_proportion() -> None:
    """90 rows of 1e15 were shown ten million times a pass: minutes and gigabytes."""
    assert shown_times(np.full(90, 1e15)).sum() == 100_000
    assert shown_times(np.array([1e15, 3e15])).tolist() == [25_000, 75_000]
    assert shown_times(np.array([1.0, 2.0, 0.0])).tolist() == [1, 2, 0]
