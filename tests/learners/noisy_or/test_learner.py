"""NoisyOrClassifier: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import NoisyOrClassifier
from rulekit.conformance.learners import learner_checks
from rulekit.errors import InputError
from rulekit.graph.decisions import ArgMax
from rulekit.graph.nodes import (
    TRUE,
    Above,
    Among,
    Compare,
    Hidden,
    IsTrue,
    Linear,
    Missing,
    Not,
    Or,
    Probability,
    Strength,
)
from rulekit.learners.data.binning import bin_column
from rulekit.learners.noisy_or.search.causes import Causes
from rulekit.schema import Feature

SMALL: dict[str, Any] = {"max_causes": 3, "n_folds": 2}


def rows(n: int, p: tuple[float, ...], leak: float, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Boolean columns, of which the first ones cause "yes" with these probabilities, and three that do not."""
    rng = np.random.default_rng(seed)
    data = {f"a{j}": rng.random(n) < 0.4 for j in range(len(p) + 3)}
    dark = (1.0 - leak) * np.prod([np.where(data[f"a{j}"], 1.0 - q, 1.0) for j, q in enumerate(p)], axis=0)
    return data, np.where(rng.random(n) < 1.0 - dark, "yes", "no")


def bits(model: NoisyOrClassifier) -> dict[Any, float]:
    """By cause the probability with which it acts."""
    formula = model.rule_graph_.probability[0].formula
    formula = formula.child if isinstance(formula, Not) else formula
    return {bit.cause: bit.probability_on for bit in formula.children if isinstance(bit, Hidden)}


@pytest.mark.parametrize("method", ["coordinate", "em"])
def test_it_finds_the_causes_and_their_probabilities(method: str) -> None:
    p = (0.8, 0.6, 0.4)
    data, y = rows(10_000, p, 0.05)
    model = NoisyOrClassifier(positive="yes", lam=0.0, method=method, family="or", stopping="none").fit(data, y)
    found = bits(model)
    for j, q in enumerate(p):
        assert found[IsTrue(f"a{j}")] == pytest.approx(q, abs=0.04)
    assert found[TRUE] == pytest.approx(0.05, abs=0.03)
    assert all(found.get(IsTrue(f"a{j}"), 0.0) < 0.05 for j in range(3, 6))


def test_which_class_is_the_or_is_found_out() -> None:
    """A noisy-and is a noisy-or of the other class."""
    data, y = rows(4_000, (0.8, 0.6, 0.4), 0.05)
    for positive, flipped in (("yes", False), ("no", True)):
        graph = NoisyOrClassifier(positive=positive, n_folds=3).fit(data, y).rule_graph_
        assert isinstance(graph.decision.formula, Above)
        assert isinstance(graph.decision.formula.score, Linear if flipped else Strength)
        assert isinstance(graph.probability[0].formula, Not) == flipped


def test_the_model_is_a_noisy_or_with_a_leak() -> None:
    data, y = rows(2_000, (0.8, 0.6), 0.05)
    graph = NoisyOrClassifier(positive="yes", family="or", size=2).fit(data, y).rule_graph_
    (probability,) = graph.probability
    assert isinstance(probability, Probability)
    assert isinstance(probability.formula, Or)
    assert len(probability.formula.children) == 3
    assert graph.provenance["units"] == [2]


@pytest.mark.parametrize("goal", ["accuracy", "f1", "break-even"])
@pytest.mark.parametrize("family", ["or", "and"])
def test_a_tuned_threshold_serves_its_goal(goal: str, family: str) -> None:
    data, y = rows(3_000, (0.35, 0.3, 0.2), 0.02)
    yes = y == "yes"

    def figures(**more: Any) -> dict[str, float]:
        own = {"positive": "yes", "family": family, "stopping": "none", **more}
        said = NoisyOrClassifier(**own).fit(data, y).predict(data) == "yes"
        precision, recall = (yes & said).sum() / max(said.sum(), 1), (yes & said).sum() / yes.sum()
        f1 = 2.0 * precision * recall / max(precision + recall, 1e-9)
        return {"accuracy": float(np.mean(yes == said)), "f1": f1, "break-even": -abs(precision - recall)}

    assert figures(threshold=goal)[goal] >= figures()[goal]
    assert figures(threshold=goal, tuned_on="held-out")[goal] >= figures()[goal] - 0.05


def test_a_rare_class_is_found_by_its_causes_alone() -> None:
    """Errors would take no cause at all, and without a choice by the log loss noise stayed in."""
    data, y = rows(4_000, (0.3, 0.12), 0.01)
    data |= {f"n{j}": np.random.default_rng(j).normal(size=4_000) for j in range(6)}
    model = NoisyOrClassifier(positive="yes", family="or", threshold="f1", n_folds=3).fit(data, y)
    assert {cause for cause, p in bits(model).items() if p > 0.02 and cause is not TRUE} == {IsTrue("a0"), IsTrue("a1")}
    assert model.ladder_.why == "least log loss by 3-fold cross-validation"
    assert len(bits(model)) <= 4


def test_ranked_classes_are_a_noisy_max() -> None:
    """Cuts are nested, so that no reported probability is negative, and the median decides."""
    rng = np.random.default_rng(0)
    data = {f"a{j}": rng.random(3_000) < 0.5 for j in range(4)}
    hidden = [np.where(data[f"a{j}"], rng.choice(4, 3_000, p=[0.4, 0.3, 0.2, 0.1]), 0) for j in range(4)]
    y = np.array(list("abcd"))[np.max(hidden, axis=0)]
    for family in ("or", "and"):
        ranks = list("abcd") if family == "or" else list("dcba")
        model = NoisyOrClassifier(ordered=ranks, family=family, max_causes=6, n_folds=2).fit(data, y)
        proba = model.predict_proba(data)
        assert proba.min() >= 0.0
        median = (np.cumsum(proba, axis=1) < 0.5).sum(axis=1) if family == "or" else None
        said = np.searchsorted(np.array(list("abcd")), model.predict(data))
        own = (np.arange(4)[:, None] == said).T
        assert median is None or np.mean(median == said) > 0.999
        assert np.mean(model.predict(data) == y) >= np.mean(y == "d") - 0.02
        assert own.sum() == len(y)


def test_ranked_classes_have_one_size_that_leaves_each_class_a_probability() -> None:
    """Sizes that were chosen cut by cut gave cumulative probabilities that cross, and classes in between nothing."""
    rng = np.random.default_rng(3)
    x = {f"x{j}": rng.normal(size=600) for j in range(4)}
    y = np.digitize(sum(x.values()) + rng.normal(size=600), [-3.0, 0.0, 2.0])
    model = NoisyOrClassifier(ordered=[0, 1, 2, 3], n_folds=2).fit(x, y)
    assert model.predict_proba(x).min() > 0.0
    chosen, longest = model.path_.chosen, [len(path.candidates) for path in model.path_.paths]
    assert list(chosen) == [min(max(chosen), each) for each in longest]


def test_missing_cells_are_summed_out_or_are_a_level() -> None:
    data, y = rows(6_000, (0.9, 0.5), 0.05)
    gaps = np.random.default_rng(1).random(6_000) < 0.3
    a0 = np.where(gaps, None, np.where(data["a0"], "yes", "no"))
    for values, least, most in (("sum", 0.25, 0.5), ("level", 0.0, 1.0)):
        model = NoisyOrClassifier(positive="yes", lam=0.0, family="or", stopping="none", missing_values=values)
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
            NoisyOrClassifier(missing_values=way, **own).fit({**data, "a0": a0}, y) for way in ("auto", "level")
        )
        same = np.array_equal(auto.predict_proba({**data, "a0": a0}), level.predict_proba({**data, "a0": a0}))
        assert same == informative


def test_columns_that_never_were_missing_can_be_summed_out() -> None:
    data, y = rows(3_000, (0.9, 0.5), 0.05)
    unknown = {**data, "a0": [None] * 3_000}
    said = {}
    for way in ("sum", "always"):
        model = NoisyOrClassifier(positive="yes", family="or", stopping="none", missing_values=way).fit(data, y)
        found, said[way] = bits(model), model.predict_proba(unknown)[:, 1]
        share = data["a0"].mean()
        expected = pytest.approx(share * found[IsTrue("a0")], abs=1e-4) if way == "always" else 0.0
        assert found.get(Missing("a0"), 0.0) == expected
    assert np.all(said["always"] > said["sum"])


def test_monotone_columns_have_causes_of_their_direction() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    y = np.where(rng.random(2_000) < 1.0 / (1.0 + np.exp(-3.0 * np.abs(x) + 3.0)), "yes", "no")
    for direction, op in (("increasing", ">"), ("decreasing", "<=")):
        model = NoisyOrClassifier(positive="yes", family="or", monotone={"x": direction}, **SMALL).fit({"x": x}, y)
        ops = {cause.op for cause in bits(model) if isinstance(cause, Compare)}
        assert ops <= {op}


@given(
    st.lists(st.sampled_from([np.nan, 0.0, 1.0, 2.0, 5.0]), min_size=1, max_size=30),
    st.booleans(),
    st.sampled_from([-1, 0, 1]),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_sums_by_code_are_those_of_the_rows_of_each_cause(
    values: list[float], general: bool, direction: int, missing: bool
) -> None:
    array = np.array(values, dtype=np.float32)
    column, codes = bin_column(Feature("x"), 0, array, np.ones(len(array)), None)
    causes = Causes.of(0, column, general=general, missing=missing, direction=direction)
    by_code = np.bincount(codes, minlength=column.n_codes).astype(float)[:, None]
    sums = causes.sums(by_code)
    for place in range(len(sums)):
        assert causes.cause(place).condition[codes].sum() == sums[place, 0]


def test_levels_and_contraries_are_causes() -> None:
    feature = Feature("town", "categorical", ("a", "b", "c"))
    array = np.array([0, 2, 3, 4, 2, 1], dtype=np.int32)
    column, codes = bin_column(feature, 0, array, np.ones(len(array)), None)
    for general in (True, False):
        causes = Causes.of(0, column, general=general, missing=True, direction=0)
        by_code = np.bincount(codes, minlength=column.n_codes).astype(float)[:, None]
        sums = causes.sums(by_code)
        assert len(sums) == (8 if general else 4) + 1
        assert [causes.cause(k).condition[codes].sum() for k in range(len(sums))] == sums[:, 0].tolist()


def test_several_classes_are_spoken_for_or_against_as_held_out_rows_say() -> None:
    """Each class lies where three columns meet: no cause alone brings it about, and many speak against it.

    By errors against the rest, of which few classes have a probability above 1/2, one cause a class was taken.
    """
    rng = np.random.default_rng(4)
    y = rng.integers(0, 8, 1_200)
    means = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)]) * 3.0
    x = means[y] + rng.normal(size=(1_200, 3))
    model = NoisyOrClassifier(n_folds=2, max_causes=6).fit(x[:800], y[:800])
    ors = NoisyOrClassifier(n_folds=2, max_causes=6, family="or").fit(x[:800], y[:800])
    right, of_ors = (float(np.mean(each.predict(x[800:]) == y[800:])) for each in (model, ors))
    assert right > 0.7
    assert right > of_ors + 0.1
    assert min(ors.path_.chosen) > 1
    assert isinstance(model.rule_graph_.decision, ArgMax)
    assert all(isinstance(score, Linear) for score in model.rule_graph_.decision.scores)


def test_a_least_information_gain_is_asked_of_conditions_of_any_kind() -> None:
    """Of a Boolean column, a number and a category that decide, and of the same that hardly do."""
    rng = np.random.default_rng(5)
    n = 4_000
    data = {"b": rng.random(n) < 0.3, "x": rng.normal(size=n), "c": rng.choice(list("uvw"), n)}
    data |= {f"weak_{name}": rng.permutation(column) for name, column in data.items()}
    p = 0.5 * data["b"] + 0.4 * (data["x"] > 1.0) + 0.3 * (data["c"] == "u") + 0.04 * data["weak_b"]
    y = np.where(rng.random(n) < p, "yes", "no")
    own = {"positive": "yes", "family": "or", "stopping": "none"}
    every = NoisyOrClassifier(**own).fit(data, y).rule_graph_.used_features
    telling = NoisyOrClassifier(**own, least_gain=0.005).fit(data, y).rule_graph_.used_features
    assert set(telling) == {"b", "x", "c"} < set(every)


def test_what_cannot_be_is_refused_by_name() -> None:
    data, y = rows(200, (0.5,), 0.1)
    with pytest.raises(InputError, match="same maximum from every start"):
        NoisyOrClassifier(n_init=3).fit(data, y)
    three = np.array(list("abc"))[np.arange(200) % 3]
    with pytest.raises(InputError, match="which it is, and there are 3"):
        NoisyOrClassifier(family="parity").fit(data, three)
    with pytest.raises(InputError, match="precision and recall are of two classes"):
        NoisyOrClassifier(threshold="break-even").fit(data, three)


@pytest.mark.long
@pytest.mark.parametrize(
    "more", [{"method": "em"}, {"threshold": "f1"}, {"family": "and"}, {"family": "parity"}], ids=str
)
def test_the_contract_with_other_settings(more: dict[str, Any]) -> None:
    for check in learner_checks(NoisyOrClassifier, {**SMALL, **more}, sklearn=False):
        if check.name.startswith("two classes") or "family" not in more:
            check.run()
