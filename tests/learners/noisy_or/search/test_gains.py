"""What a further cause gains, missing cells included, against the likelihood itself; what the search makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import NoisyOrClassifier
from rulekit.graph.nodes import Among, Hidden, IsTrue
from rulekit.learners.data.binning import bin_column
from rulekit.learners.data.codes import MemoryCodes
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.fitting.strengths import exact_gains, log_positive
from rulekit.learners.noisy_or.fitting.summed_out import Unknown
from rulekit.learners.noisy_or.search.gains import gains_of_cause, gains_of_missing, gains_of_positive
from rulekit.learners.noisy_or.search.joint_causes import TRIED
from rulekit.schema import Feature


def causes_of(model: NoisyOrClassifier) -> dict[Any, float]:
    return {
        bit.cause: bit.probability_on
        for bit in model.rule_graph_.probability[0].formula.children
        if isinstance(bit, Hidden)
    }


def test_positive_rows_alone_tell_what_a_cause_gains_where_nothing_inhibits() -> None:
    """A search without inhibitors asks only these rows; what the others lose follows from their weight."""
    s, positive = np.linspace(0.01, 4.0, 60), np.arange(60) % 3 == 0
    all_rows = gains_of_cause(s, np.zeros(60), positive)
    assert np.array_equal(
        gains_of_positive(s[positive], np.ones(20), TRIED), exact_gains(all_rows[positive], np.ones(20))
    )
    np.testing.assert_allclose(all_rows[~positive], np.broadcast_to(-TRIED, (40, len(TRIED))), rtol=1e-12)


@given(seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_gains_of_rows_with_a_missing_cell_are_those_of_the_likelihood(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, strengths = 40, np.array([0.01, 0.3, 2.5])
    values = np.where(rng.random(n) < 0.5, np.nan, 1.0).astype(np.float32)
    column, codes = bin_column(Feature("x"), 0, values, np.ones(n), None)
    own = Problem([column], MemoryCodes((codes,)), np.ones(n, dtype=np.int8), np.ones(n), 1.0)
    s, often, negative = rng.uniform(0.01, 3.0, n), rng.random((4, 1)), float(rng.integers(0, 30))
    found = gains_of_missing(own, np.ones(n), s, 0, negative, often, strengths)
    for k, share in enumerate(often[:, 0]):
        for j, strength in enumerate(strengths):
            rise = -np.log(share * np.exp(-strength) + 1.0 - share)
            missed = s[codes == 0]
            gained = float((log_positive(missed + rise) - log_positive(missed)).sum())
            assert found[k, j] + negative * rise == pytest.approx(gained, rel=0.05)


def test_a_column_that_is_missing_with_the_class_hides_no_cause() -> None:
    """Where it is known does not matter to a model that sums it out, however often it is known among the class."""
    rng = np.random.default_rng(0)
    n = 2_000
    a = rng.random(n) < 0.5
    yes = rng.random(n) < np.where(a, 0.4, 0.2)
    cabin = np.where(rng.random(n) < np.where(yes, 0.6, 0.1), "known", None)
    model = NoisyOrClassifier(family="or", stopping="none", missing_values="sum")
    found = causes_of(model.fit({"cabin": cabin.tolist(), "a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.25, abs=0.06)
    assert not any(isinstance(cause, Among) for cause in found)


def test_causes_of_a_rare_class_act_seldom() -> None:
    """A probability of 1 % matters where the class is as rare."""
    rng = np.random.default_rng(0)
    n = 40_000
    a = rng.random(n) < 0.5
    yes = rng.random(n) < np.where(a, 0.008, 0.002)
    found = causes_of(NoisyOrClassifier(family="or", stopping="none", positive=True).fit({"a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.006, abs=0.002)


def test_what_is_missing_has_no_strength_below_0() -> None:
    """Shares that add up to a little more than 1 gave one."""
    unknown = Unknown.of([0], [np.array([True, False])], [0], lambda _: np.array([0.0, 1.0 + 2.0**-52]))
    assert unknown.strengths(np.array([0.3]))[0] >= 0.0
