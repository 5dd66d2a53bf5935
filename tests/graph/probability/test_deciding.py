"""Decisions by sums on a grid are those by the probabilities, in any order of additions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.conformance.models import noisy_max_decision, noisy_max_probabilities, noisy_min_decision
from rulekit.exactness import DOUBLE_BITS, Span, is_exact_difference, span_of_sum, total
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import FALSE, TRUE, Above, And, Hidden, IsTrue, Linear, Node, Not, Or, Probability, topological
from rulekit.graph.probability.deciding import (
    noisy_and_decision,
    noisy_or_decision,
    none_fires_decision,
    strengths_on_grid,
)
from rulekit.numbers import contrary_strength, log_of, probability_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

COLUMNS = 5
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(COLUMNS)), target="y")
ROWS = np.array(np.meshgrid(*[[0.0, 1.0]] * COLUMNS, indexing="ij"), dtype=np.float32).reshape(COLUMNS, -1)
TABLE = Table(SCHEMA.features, tuple(ROWS), ROWS.shape[1])
STRENGTHS = st.one_of(st.floats(1e-30, 30.0), st.sampled_from([0.0, math.log(2.0), 1e-300]))
CAUSES = st.sampled_from([TRUE, FALSE, *(IsTrue(f"w{i}") for i in range(COLUMNS))])


def _bits(draws) -> tuple[Hidden, ...]:
    return tuple(Hidden(f"h{i}", cause, on, off) for i, (cause, on, off) in enumerate(draws))


BITS = st.lists(st.tuples(CAUSES, STRENGTHS, STRENGTHS), max_size=8).map(_bits)
ALSO_CERTAIN = st.one_of(STRENGTHS, st.just(math.inf))


def _decided(node: Node) -> np.ndarray:
    return evaluate_nodes([node], TABLE)[node]


def _agree(decision: Node, formula: Node, threshold: float) -> None:
    """The same decisions wherever the probability is not within a rounding of the threshold."""
    found = _decided(Probability(formula))
    clear = np.abs(found - threshold) > 1e-9
    assert (_decided(decision) == (found > threshold))[clear].all()


@settings(max_examples=40)
@given(BITS.filter(bool), st.floats(0.01, 0.99))
def test_an_or_is_decided_by_strengths_on_a_grid(bits, threshold):
    _agree(noisy_or_decision(bits, threshold), Or(bits), threshold)


@settings(max_examples=40)
@given(st.lists(st.tuples(CAUSES, ALSO_CERTAIN, ALSO_CERTAIN), max_size=8).map(_bits), st.floats(0.01, 0.99))
def test_all_fire_or_none_does_is_decided_by_a_sum_that_no_order_rounds(bits, threshold):
    for decision, formula in (
        (noisy_and_decision(bits, threshold), And(bits)),
        (none_fires_decision(bits, threshold), Not(Or(bits))),
    ):
        _agree(decision, formula, threshold)
        for node in topological([decision]):
            assert not isinstance(node, Linear) or span_of_sum(node).fits(DOUBLE_BITS)


@settings(max_examples=30)
@given(st.lists(BITS.filter(bool), min_size=1, max_size=4))
def test_ordered_classes_are_decided_by_the_median_of_their_probabilities(cuts):
    cuts = [[Hidden(f"{bit.name} {c}", bit.cause, bit.on, bit.off) for bit in cut] for c, cut in enumerate(cuts)]
    for decision, nodes in (
        (noisy_max_decision(cuts), noisy_max_probabilities(cuts)),
        (noisy_min_decision(cuts), noisy_max_probabilities(cuts[::-1])[::-1]),
    ):
        values = evaluate_nodes([*nodes, *decision.roots], TABLE)
        shares = np.stack([values[node] for node in nodes])
        assert np.allclose(shares.sum(axis=0), 1.0, atol=1e-9)
        for c, root in enumerate(decision.roots, start=1):
            above = shares[c:].sum(axis=0)
            clear = np.abs(above - 0.5) > 1e-9
            assert (values[root] == (above > 0.5))[clear].all()


@settings(max_examples=40)
@given(st.lists(st.tuples(STRENGTHS, STRENGTHS), min_size=1, max_size=50))
def test_strengths_move_to_a_grid_on_which_no_sum_rounds_and_stay_there(pairs):
    on, off = zip(*pairs, strict=True)
    found = strengths_on_grid(on, off)
    assert all(is_exact_difference(b, a) for a, b in zip(*found, strict=True))
    parts = (size for a, b in zip(*found, strict=True) for size in (b, a - b, a - b))
    span = total(Span.of(size) for size in parts)
    assert span.fits(DOUBLE_BITS)
    assert np.allclose(found, (on, off), rtol=0.0, atol=float(np.sum([on, off])) * 2.0**-49)
    assert strengths_on_grid(*found) == found


@pytest.mark.parametrize("wrong", [math.inf, -1.0, math.nan])
def test_what_is_no_finite_strength_lies_on_no_grid(wrong):
    with pytest.raises(ValueError, match="finite"):
        strengths_on_grid([wrong], [0.0])


def test_a_sum_of_logarithms_reads_no_cause_that_changes_nothing():
    bits = (Hidden("a", IsTrue("w0"), 1.0, 1.0), Hidden("b", IsTrue("w1"), 2.0, 1.0), Hidden("leak", TRUE, 3.0))
    decision = noisy_and_decision(bits)
    assert isinstance(decision, Above)
    assert decision.score.children == (IsTrue("w1"),)


@given(st.floats(0.0, 700.0, exclude_min=True))
def test_the_strength_of_the_contrary_is_correctly_rounded(strength):
    with localcontext(prec=400):
        exact = -(1 - (-Decimal(strength)).exp()).ln() if strength > 1e-300 else -Decimal(strength).ln()
        assert contrary_strength(strength) == float(exact)
    assert contrary_strength(math.inf) == 0.0
    assert contrary_strength(0.0) == math.inf


def test_logarithms_of_probabilities_rise():
    found = [log_of(probability_of(s)) for s in (1e-20, 1e-3, 1.0, 30.0)]
    assert all(a < b for a, b in pairwise(found))
    with pytest.raises(ValueError, match="above 0"):
        log_of(0.0)
