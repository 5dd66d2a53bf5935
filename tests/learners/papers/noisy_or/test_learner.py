"""PaperNoisyOrClassifier, the noisy-or of the paper: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from noisy_or_rows import bits, rows

from rulekit.errors import InputError
from rulekit.graph.nodes import TRUE, Among, IsTrue, Missing
from rulekit.learners.papers.noisy_or.estimators import PaperNoisyOrClassifier


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
    data, y = rows(3_000, (0.9, 0.5, 0.4), 0.05)
    rng = np.random.default_rng(1)
    for informative in (False, True):
        gaps = (y == "yes") & (rng.random(3_000) < 0.7) if informative else rng.random(3_000) < 0.3
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
