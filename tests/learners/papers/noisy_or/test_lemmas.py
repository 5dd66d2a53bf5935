"""Lemmas 3, 4 and 5 of the paper: other forms of a noisy-or decide every input alike."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide_data
from rulekit.graph.nodes import TRUE, Above, Hidden, IsTrue, Linear, Logistic, Or, Probability, Strength
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.papers.noisy_or.lemmas import canonical, logistic_of, noisy_or_of, restricted
from rulekit.schema import Feature, Schema

K = 12
INPUTS = {f"a{j}": ((np.arange(1 << K) >> j) & 1).astype(np.float32) for j in range(K)}


def noisy_or(present: np.ndarray, absent: np.ndarray, leak: float, bound: float) -> RuleGraph:
    k = len(present)
    schema = Schema(tuple(Feature(f"a{j}", "boolean") for j in range(k)), "c")
    bits = [Hidden(f"H{j}", IsTrue(f"a{j}"), float(present[j]), float(absent[j])) for j in range(k)]
    formula = Or([*bits, Hidden("leak", TRUE, leak)])
    return RuleGraph(schema, (0, 1), Fires(Above(Strength(formula), bound)), (Probability(formula),))


def logistic(weights: np.ndarray, bias: float) -> RuleGraph:
    k = len(weights)
    schema = Schema(tuple(Feature(f"a{j}", "boolean") for j in range(k)), "c")
    total = Linear([(float(weights[j]), IsTrue(f"a{j}")) for j in range(k)], bias)
    return RuleGraph(schema, (0, 1), Fires(Above(total, 0.0)), (Logistic(total),))


def random_noisy_or(rng: np.random.Generator, *, monotone: bool = False) -> RuleGraph:
    one, two = rng.exponential(0.5, size=(2, K))
    present, absent = (np.maximum(one, two), np.minimum(one, two)) if monotone else (one, two)
    return noisy_or(present, absent, float(rng.exponential(0.2)), float(rng.uniform(0.1, (present + absent).sum())))


def random_logistic(rng: np.random.Generator) -> RuleGraph:
    return logistic(rng.normal(size=K), float(rng.normal()))


def monotone_noisy_or(rng: np.random.Generator) -> RuleGraph:
    return random_noisy_or(rng, monotone=True)


FORMS = [
    pytest.param(restricted, monotone_noisy_or, id="lemma 3"),
    pytest.param(noisy_or_of, random_logistic, id="lemma 4"),
    pytest.param(logistic_of, random_noisy_or, id="lemma 5"),
    pytest.param(canonical, random_noisy_or, id="equations 16 and 17"),
]


@pytest.mark.long_from("models", 1_000)
@pytest.mark.parametrize("models", [20, 1_000])
@pytest.mark.parametrize(("form", "make"), FORMS)
def test_all_inputs_are_decided_alike(
    form: Callable[[RuleGraph], RuleGraph], make: Callable[[np.random.Generator], RuleGraph], models: int
) -> None:
    for seed in range(models):
        graph = make(np.random.default_rng(seed))
        other = form(graph)
        check(other)
        assert np.array_equal(decide_data(graph, INPUTS), decide_data(other, INPUTS)), seed


def test_the_bound_is_held_as_a_logarithm_where_the_threshold_underflows() -> None:
    rng, k = np.random.default_rng(5), 5_000
    graph = logistic(rng.normal(size=k), 0.0)
    rows = {f"a{j}": rng.integers(0, 2, 50).astype(np.float32) for j in range(k)}
    assert np.array_equal(decide_data(graph, rows), decide_data(noisy_or_of(graph), rows))
    assert noisy_or_of(graph).decision.formula.threshold > 750.0  # exp(-750) is 0 in doubles


def test_canonical_forms_are_one_form() -> None:
    """Lemma 5 and then lemma 4 is the canonical form; its two probabilities of a cause add up to 1."""
    graph = random_noisy_or(np.random.default_rng(3))
    direct, around = canonical(graph), noisy_or_of(logistic_of(graph))
    bits = [list(each.probability[0].formula.children) for each in (direct, around)]
    for one, two in zip(*bits, strict=True):
        assert (one.on, one.off) == pytest.approx((two.on, two.off), abs=1e-12)
        assert np.exp(-one.on) + np.exp(-one.off) == pytest.approx(1.0, abs=1e-12)
    assert direct.decision.formula.threshold == pytest.approx(around.decision.formula.threshold, abs=1e-9)


def test_what_has_no_other_form_is_refused_by_name() -> None:
    certain = noisy_or(np.array([np.inf, 1.0]), np.zeros(2), 0.0, 0.5)
    with pytest.raises(InputError, match="a strength is infinite"):
        logistic_of(certain)
    falling = noisy_or(np.array([0.1]), np.array([0.2]), 0.0, 0.5)
    with pytest.raises(InputError, match="monotonicity condition"):
        restricted(falling)
    with pytest.raises(InputError, match="does not decide by the strength"):
        logistic_of(logistic(np.ones(2), 0.0))
    with pytest.raises(InputError, match="does not decide by a sum"):
        noisy_or_of(falling)
