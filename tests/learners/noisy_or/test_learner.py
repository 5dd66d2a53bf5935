"""NoisyOrClassifier: what it finds, what it promises, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from noisy_or_rows import bits, rows

from rulekit import NoisyOrClassifier
from rulekit.graph.decisions import ArgMax
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Above, And, Compare, Linear, Missing, Not, Or, Probability, Strength
from rulekit.learners.data.binning import bin_column
from rulekit.learners.noisy_or.causes import causes_of
from rulekit.schema import Feature

SMALL: dict[str, Any] = {"max_causes": 3, "n_folds": 2}


def test_which_class_is_the_or_is_found_out() -> None:
    """A noisy-and is a noisy-or of the other class, where no conjunction says the same."""
    data, y = rows(4_000, (0.8, 0.6, 0.4), 0.05)
    for positive, flipped in (("yes", False), ("no", True)):
        graph = NoisyOrClassifier(positive=positive, rule_length=1, n_folds=3).fit(data, y).rule_graph_
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


def test_monotone_columns_have_causes_of_their_direction() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=2_000)
    y = np.where(rng.random(2_000) < 1.0 / (1.0 + np.exp(-3.0 * np.abs(x) + 3.0)), "yes", "no")
    for direction, op in (("increasing", ">"), ("decreasing", "<=")):
        model = NoisyOrClassifier(positive="yes", family="or", monotone={"x": direction}, **SMALL).fit({"x": x}, y)
        ops = {cause.op for cause in bits(model) if isinstance(cause, Compare)}
        assert ops <= {op}


NUMBERS = st.lists(st.sampled_from([np.nan, 0.0, 1.0, 2.0, 5.0]), min_size=1, max_size=30)
LEVELS = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@given(NUMBERS | LEVELS, st.booleans(), st.sampled_from([-1, 0, 1]), st.booleans())
@settings(max_examples=90, deadline=None)
def test_sums_by_code_are_those_of_the_rows_of_each_cause(
    values: list[float], general: bool, direction: int, missing: bool
) -> None:
    """Of cuts, or of levels, the rarest of which share a code, and their contraries."""
    feature, array = Feature("x", monotone=direction), np.array(values, dtype=np.float32)
    if isinstance(values[0], int):
        feature, array = Feature("x", "categorical", ("a", "b", "c")), np.array(values, dtype=np.int32)
    column, codes = bin_column(feature, 0, array, np.ones(len(array)), None)
    (causes,) = causes_of([column], general=general, missing=np.array([missing]), flipped=False)
    by_code = np.bincount(codes, minlength=column.n_codes).astype(float)[:, None]
    sums = causes.sums(by_code)
    assert column.ordered or len(sums) == (column.n_codes - 1) * (1 + general) + missing
    for place in range(len(sums)):
        assert causes.cause(place).condition[codes].sum() == sums[place, 0]


def test_several_classes_are_spoken_for_or_against_as_held_out_rows_say() -> None:
    """Each class lies where three columns meet: no cause alone brings it about, and many speak against it.

    By errors against the rest, of which few classes have a probability above 1/2, one cause a class was taken.
    """
    rng = np.random.default_rng(4)
    y = rng.integers(0, 8, 1_200)
    means = np.array([[k & 1, k >> 1 & 1, k >> 2] for k in range(8)]) * 3.0
    x = means[y] + rng.normal(size=(1_200, 3))
    model = NoisyOrClassifier(n_folds=2, max_causes=6, rule_length=1).fit(x[:800], y[:800])
    ors = NoisyOrClassifier(n_folds=2, max_causes=6, rule_length=1, family="or").fit(x[:800], y[:800])
    right, of_ors = (float(np.mean(each.predict(x[800:]) == y[800:])) for each in (model, ors))
    assert right > 0.7
    assert right > of_ors + 0.1
    assert min(ors.path_.chosen) > 1
    assert isinstance(model.rule_graph_.decision, ArgMax)
    assert all(isinstance(score, Linear) for score in model.rule_graph_.decision.scores)


def test_planted_conjunctions_are_found_within_their_length() -> None:
    """(a and b) or (x > 3 and k = u)."""
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 4_000)) < 0.4
    x, k = rng.integers(0, 7, 4_000), rng.choice(["u", "v", "w"], 4_000)
    y = np.where((a & b & (rng.random(4_000) < 0.85)) | ((x > 3) & (k == "u") & (rng.random(4_000) < 0.8)), "yes", "no")
    given = {"positive": "yes", "family": "or", "stopping": "none"}
    found = bits(NoisyOrClassifier(**given, size=2).fit({"a": a, "b": b, "x": x, "k": k}, y))
    assert {print_node(cause) for cause in found} == {"a and b", "x > 3 and k in {u}", "true"}
    single = bits(NoisyOrClassifier(**given, rule_length=1).fit({"a": a, "b": b, "x": x, "k": k}, y))
    assert not any(isinstance(cause, And) for cause in single)


def test_that_a_cell_is_missing_may_be_a_cause() -> None:
    data, y = rows(3_000, (0.9, 0.5, 0.4), 0.05)
    gaps = (y == "yes") & (np.random.default_rng(1).random(3_000) < 0.7)
    data["a0"] = np.where(gaps, None, np.where(data["a0"], "on", "off")).tolist()
    for values in ("none", "level"):
        model = NoisyOrClassifier(positive="yes", family="or", stopping="none", missing_values=values).fit(data, y)
        assert (bits(model).get(Missing("a0"), 0.0) > 0.5) == (values == "level")
