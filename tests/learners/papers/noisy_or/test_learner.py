"""PaperNoisyOrClassifier, the noisy-or of the paper: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import bits, rows

from rulekit.errors import InputError
from rulekit.graph.nodes import TRUE, Among, IsTrue, Missing
from rulekit.learners.noisy_or.causes import Cause
from rulekit.learners.noisy_or.likelihood import log_positive
from rulekit.learners.papers.noisy_or.em import Unknown
from rulekit.learners.papers.noisy_or.estimators import PaperNoisyOrClassifier
from rulekit.learners.papers.noisy_or.learner import best_cut, gains_of_missing


@pytest.mark.parametrize("method", ["coordinate", "em"])
def test_it_finds_the_causes_and_their_probabilities(method: str) -> None:
    p = (0.8, 0.6, 0.4)
    data, y = rows(10_000, p, 0.05)
    model = PaperNoisyOrClassifier(positive="yes", lam=0.0, method=method, family="or", stopping="none").fit(data, y)
    found = bits(model)
    for j, q in enumerate(p):
        assert found[IsTrue(f"a{j}")] == pytest.approx(q, abs=0.04)
    assert found[TRUE] == pytest.approx(0.05, abs=0.03)
    assert all(found.get(IsTrue(f"a{j}"), 0.0) < 0.05 for j in range(3, 6))


@pytest.mark.parametrize("goal", ["accuracy", "f1", "break-even"])
@pytest.mark.parametrize("family", ["or", "and"])
def test_a_tuned_threshold_serves_its_goal(goal: str, family: str) -> None:
    data, y = rows(3_000, (0.35, 0.3, 0.2), 0.02)
    yes = y == "yes"

    def figures(**more: Any) -> dict[str, float]:
        own = {"positive": "yes", "family": family, "stopping": "none", **more}
        said = PaperNoisyOrClassifier(**own).fit(data, y).predict(data) == "yes"
        precision, recall = (yes & said).sum() / max(said.sum(), 1), (yes & said).sum() / yes.sum()
        f1 = 2.0 * precision * recall / max(precision + recall, 1e-9)
        return {"accuracy": float(np.mean(yes == said)), "f1": f1, "break-even": -abs(precision - recall)}

    assert figures(threshold=goal)[goal] >= figures()[goal]


def test_a_rare_class_is_found_by_its_causes_alone() -> None:
    """Errors would take no cause at all, and without a choice by the log loss noise stayed in."""
    data, y = rows(4_000, (0.3, 0.12), 0.01)
    data |= {f"n{j}": np.random.default_rng(j).normal(size=4_000) for j in range(6)}
    model = PaperNoisyOrClassifier(positive="yes", family="or", threshold="f1", n_folds=3).fit(data, y)
    assert {cause for cause, p in bits(model).items() if p > 0.02 and cause is not TRUE} == {IsTrue("a0"), IsTrue("a1")}
    assert model.ladder_.why == "least log loss by 3-fold cross-validation"
    assert len(bits(model)) <= 4


def test_missing_cells_are_summed_out_or_are_a_level() -> None:
    data, y = rows(6_000, (0.9, 0.5), 0.05)
    gaps = np.random.default_rng(1).random(6_000) < 0.3
    a0 = np.where(gaps, None, np.where(data["a0"], "yes", "no"))
    for values, least, most in (("sum", 0.25, 0.5), ("level", 0.0, 1.0)):
        model = PaperNoisyOrClassifier(positive="yes", lam=0.0, family="or", stopping="none", missing_values=values)
        found = bits(model.fit({**data, "a0": a0.tolist()}, y))
        said = found.get(Missing("a0"), 0.0)
        assert least <= said <= most
        if values == "sum":  # p_m is the share of "yes" times the probability of that
            (caused,) = (p for cause, p in found.items() if isinstance(cause, Among))
            assert caused == pytest.approx(0.9, abs=0.05)
            assert said == pytest.approx(0.4 * caused, abs=0.03)


def test_held_out_rows_say_whether_missing_cells_are_summed_out() -> None:
    """Cells that are deleted at random are any value; where only the class's are, being missing is what says it."""
    data, y = rows(1_500, (0.9, 0.5, 0.4), 0.05)
    rng = np.random.default_rng(1)
    for informative in (False, True):
        gaps = (y == "yes") & (rng.random(1_500) < 0.7) if informative else rng.random(1_500) < 0.3
        a0 = np.where(gaps, None, np.where(data["a0"], "on", "off")).tolist()
        own = {"positive": "yes", "n_folds": 2, "family": "or"}
        auto, level = (
            PaperNoisyOrClassifier(missing_values=way, **own).fit({**data, "a0": a0}, y) for way in ("auto", "level")
        )
        same = np.array_equal(auto.predict_proba({**data, "a0": a0}), level.predict_proba({**data, "a0": a0}))
        assert same == informative


def test_columns_that_never_were_missing_can_be_summed_out() -> None:
    data, y = rows(3_000, (0.9, 0.5), 0.05)
    unknown = {**data, "a0": [None] * 3_000}
    said = {}
    for way in ("sum", "always"):
        model = PaperNoisyOrClassifier(positive="yes", family="or", stopping="none", missing_values=way).fit(data, y)
        found, said[way] = bits(model), model.predict_proba(unknown)[:, 1]
        share = data["a0"].mean()
        expected = pytest.approx(share * found[IsTrue("a0")], abs=1e-4) if way == "always" else 0.0
        assert found.get(Missing("a0"), 0.0) == expected
    assert np.all(said["always"] > said["sum"])


def test_a_least_information_gain_is_asked_of_conditions_of_any_kind() -> None:
    """Of a Boolean column, a number and a category that decide, and of the same that hardly do."""
    rng = np.random.default_rng(5)
    n = 4_000
    data = {"b": rng.random(n) < 0.3, "x": rng.normal(size=n), "c": rng.choice(list("uvw"), n)}
    data |= {f"weak_{name}": rng.permutation(column) for name, column in data.items()}
    p = 0.5 * data["b"] + 0.4 * (data["x"] > 1.0) + 0.3 * (data["c"] == "u") + 0.04 * data["weak_b"]
    y = np.where(rng.random(n) < p, "yes", "no")
    own = {"positive": "yes", "family": "or", "stopping": "none"}
    every = PaperNoisyOrClassifier(**own).fit(data, y).rule_graph_.used_features
    telling = PaperNoisyOrClassifier(**own, least_gain=0.005).fit(data, y).rule_graph_.used_features
    assert set(telling) == {"b", "x", "c"} < set(every)


def test_what_cannot_be_is_refused_by_name() -> None:
    data, y = rows(200, (0.5,), 0.1)
    with pytest.raises(InputError, match="same maximum from every start"):
        PaperNoisyOrClassifier(n_init=3).fit(data, y)
    three = np.array(list("abc"))[np.arange(200) % 3]
    with pytest.raises(InputError, match="precision and recall are of two classes"):
        PaperNoisyOrClassifier(threshold="break-even").fit(data, three)


# What a further cause gains -------------------------------------------------------------------------------------------


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
    found = bits(model.fit({"cabin": cabin.tolist(), "a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.25, abs=0.06)
    assert not any(isinstance(cause, Among) for cause in found)


def test_causes_of_a_rare_class_act_seldom() -> None:
    """A probability of 1 % matters where the class is as rare."""
    rng = np.random.default_rng(0)
    n = 40_000
    a = rng.random(n) < 0.5
    yes = rng.random(n) < np.where(a, 0.008, 0.002)
    found = bits(PaperNoisyOrClassifier(family="or", stopping="none", positive=True).fit({"a": a}, yes))
    assert found[IsTrue("a")] == pytest.approx(0.006, abs=0.002)


def test_what_is_missing_has_no_strength_below_0() -> None:
    """Shares that add up to a little more than 1 gave one."""
    unknown = Unknown.of([Cause(0, np.array([True, False]))], {0: np.array([0.0, 1.0 + 2.0**-52])})
    assert unknown.strengths(np.array([0.3]))[0] >= 0.0


# Thresholds -----------------------------------------------------------------------------------------------------------


Array = npt.NDArray[Any]


def quality(goal: str, predicted: Array, labels: Array, weights: Array) -> float:
    both = float(weights[predicted & (labels == 1)].sum())
    yes, true = float(weights[predicted].sum()), float(weights[labels == 1].sum())
    if goal == "accuracy":
        return float(weights[predicted == (labels == 1)].sum())
    if goal == "f1":
        return 2.0 * both / (yes + true) if yes + true else 0.0
    return -abs(yes - true)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["accuracy", "f1", "break-even"]), st.integers(1, 12))
def test_no_other_cut_is_better(seed: int, goal: Any, values: int) -> None:
    rng = np.random.default_rng(seed)
    s = rng.integers(0, values, 20) / 4.0
    labels, weights = rng.integers(0, 2, 20), rng.integers(1, 4, 20)
    cut = best_cut(s, labels, goal, weights)
    assert cut >= 0.0
    found = quality(goal, s > cut, labels, weights)
    assert found >= max(quality(goal, s > other, labels, weights) for other in [0.0, *s]) - 1e-12
    repeated = np.repeat(np.arange(20), weights)
    assert best_cut(s[repeated], labels[repeated], goal) == cut
    order = rng.permutation(20)
    assert best_cut(s[order], labels[order], goal, weights[order]) == cut


def test_large_activations_do_not_tie() -> None:
    """Their exp(-s) is 0 for all of them."""
    s = np.array([800.0, 900.0, 1000.0])
    assert best_cut(s, np.array([0, 1, 1])) == 850.0


def test_a_cut_parts_neighbouring_doubles() -> None:
    below = 1.0
    above = math.nextafter(below, 2.0)
    cut = best_cut(np.array([below, above]), np.array([0, 1]))
    assert below <= cut < above
