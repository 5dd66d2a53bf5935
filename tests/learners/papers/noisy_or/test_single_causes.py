"""What a further cause gains, missing cells included, against the likelihood itself; what the search makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph.nodes import Among, Hidden, IsTrue
from rulekit.learners.noisy_or.causes import Cause
from rulekit.learners.noisy_or.likelihood import log_positive
from rulekit.learners.papers.noisy_or.em import Unknown
from rulekit.learners.papers.noisy_or.estimators import PaperNoisyOrClassifier
from rulekit.learners.papers.noisy_or.learner import gains_of_missing


def causes_of(model: PaperNoisyOrClassifier) -> dict[Any, float]:
    return {
        bit.cause: bit.probability_on
        for bit in model.rule_graph_.probability[0].formula.children
        if isinstance(bit, Hidden)
    }


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_gains_of_rows_with_a_missing_cell_are_those_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    s, often, negative = rng.uniform(0.01, 3.0, 20), rng.random((4, 1)), float(rng.integers(0, 30))
    strengths = np.array([0.01, 0.3, 2.5])
    found = gains_of_missing(s, np.ones(20), negative, often, strengths)
    for k, share in enumerate(often[:, 0]):
        for j, strength in enumerate(strengths):
            rise = -np.log(share * np.exp(-strength) + 1.0 - share)
            gained = float((log_positive(s + rise) - log_positive(s)).sum())
            assert found[k, j] + negative * rise == pytest.approx(gained, rel=0.05)


def test_a_column_that_is_missing_with_the_class_hides_no_cause() -> None:
    """Where it is known does not matter to a model that sums it out, however often it is known among the class."""
    rng = np.random.default_rng(0)
    n = 2_000
    a = rng.random(n) < 0.5
    yes = rng.random(n) < np.where(a, 0.4, 0.2)
    cabin = np.where(rng.random(n) < np.where(yes, 0.6, 0.1), "known", None)
    model = PaperNoisyOrClassifier(family="or", stopping="none", missing_values="sum")
    found = causes_of(model.fit({"cabin": cabin.tolist(), "a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.25, abs=0.06)
    assert not any(isinstance(cause, Among) for cause in found)


def test_causes_of_a_rare_class_act_seldom() -> None:
    """A probability of 1 % matters where the class is as rare."""
    rng = np.random.default_rng(0)
    n = 40_000
    a = rng.random(n) < 0.5
    yes = rng.random(n) < np.where(a, 0.008, 0.002)
    found = causes_of(PaperNoisyOrClassifier(family="or", stopping="none", positive=True).fit({"a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.006, abs=0.002)


def test_what_is_missing_has_no_strength_below_0() -> None:
    """Shares that add up to a little more than 1 gave one."""
    unknown = Unknown.of([Cause(0, np.array([True, False]))], {0: np.array([0.0, 1.0 + 2.0**-52])})
    assert unknown.strengths(np.array([0.3]))[0] >= 0.0
