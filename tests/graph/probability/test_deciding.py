"""Decisions by sums on a grid, tangents and signs are those by the probabilities, in any order of additions."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.conformance.models import noisy_max_decision, noisy_max_probabilities, noisy_min_decision
from rulekit.exactness import DOUBLE_BITS, Span, is_exact_difference, span_of_sum, total
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires, Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.probability.circuits import build_circuit
from rulekit.graph.probability.deciding import (
    WITHIN,
    denied,
    formula_on_grid,
    gated_decision,
    gated_of,
    noisy_and_decision,
    noisy_or_decision,
    none_fires_decision,
    parity_decision,
    strengths_on_grid,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import contrary_strength, log_of, probability_of, strength_of
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import simplify
from rulekit.tables.table import Table

COLUMNS, K = 8, 4
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(COLUMNS)), target="y")
ROWS = np.array(np.meshgrid(*[[0.0, 1.0]] * COLUMNS, indexing="ij"), dtype=np.float32).reshape(COLUMNS, -1)
TABLE = Table(SCHEMA.features, tuple(ROWS), ROWS.shape[1])
STRENGTHS = st.one_of(st.floats(1e-30, 30.0), st.sampled_from([0.0, math.log(2.0), 1e-300]))
CAUSES = st.sampled_from([rg.TRUE, rg.FALSE, *(rg.IsTrue(f"w{i}") for i in range(COLUMNS))])


def _bits(draws) -> tuple[rg.Hidden, ...]:
    return tuple(rg.Hidden(f"h{i}", cause, on, off) for i, (cause, on, off) in enumerate(draws))


BITS = st.lists(st.tuples(CAUSES, STRENGTHS, STRENGTHS), max_size=8).map(_bits)
ALSO_CERTAIN = st.one_of(STRENGTHS, st.just(math.inf))


def _decided(node: rg.Node) -> np.ndarray:
    return evaluate_nodes([node], TABLE)[node]


def _agree(decision: rg.Node, formula: rg.Node, threshold: float) -> None:
    """The same decisions wherever the probability is not within a rounding of the threshold."""
    found = _decided(rg.Probability(formula))
    clear = np.abs(found - threshold) > 1e-9
    assert (_decided(decision) == (found > threshold))[clear].all()


@settings(max_examples=40)
@given(BITS.filter(bool), st.floats(0.01, 0.99))
def test_an_or_is_decided_by_strengths_on_a_grid(bits, threshold):
    _agree(noisy_or_decision(bits, threshold), rg.Or(bits), threshold)


@settings(max_examples=40)
@given(st.lists(st.tuples(CAUSES, ALSO_CERTAIN, ALSO_CERTAIN), max_size=8).map(_bits), st.floats(0.01, 0.99))
def test_all_fire_or_none_does_is_decided_by_a_sum_that_no_order_rounds(bits, threshold):
    for decision, formula in (
        (noisy_and_decision(bits, threshold), rg.And(bits)),
        (none_fires_decision(bits, threshold), rg.Not(rg.Or(bits))),
    ):
        _agree(decision, formula, threshold)
        for node in rg.topological([decision]):
            assert not isinstance(node, rg.Linear) or span_of_sum(node).fits(DOUBLE_BITS)


@settings(max_examples=30)
@given(st.lists(BITS.filter(bool), min_size=1, max_size=4))
def test_ordered_classes_are_decided_by_the_median_of_their_probabilities(cuts):
    cuts = [[rg.Hidden(f"{bit.name} {c}", bit.cause, bit.on, bit.off) for bit in cut] for c, cut in enumerate(cuts)]
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
    bits = (
        rg.Hidden("a", rg.IsTrue("w0"), 1.0, 1.0),
        rg.Hidden("b", rg.IsTrue("w1"), 2.0, 1.0),
        rg.Hidden("leak", rg.TRUE, 3.0),
    )
    decision = noisy_and_decision(bits)
    assert isinstance(decision, rg.Above)
    assert decision.score.children == (rg.IsTrue("w1"),)


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


# Tangents of a gated noisy-or


def strong_bits(name: str, strengths: list[float], off: float) -> list[rg.Hidden]:
    return [
        *(
            rg.Hidden(f"{name}{i}", rg.IsTrue(f"w{(i + len(name)) % COLUMNS}"), s, off * s)
            for i, s in enumerate(strengths)
        ),
        rg.Hidden(f"{name}leak", rg.TRUE, strengths[0] / 50.0),
    ]


@given(
    st.lists(st.floats(1e-3, 5.0), min_size=1, max_size=6),
    st.lists(st.floats(1e-3, 5.0), min_size=1, max_size=6),
    st.sampled_from([1.0, 1e-4, 1e-9]),
    st.floats(0.003, 0.9),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(WITHIN),
)
@settings(max_examples=20)
def test_tangents_decide_as_the_probability_and_are_read_as_it(own, other, size, threshold, off, within):
    causes, inhibitors = strong_bits("c", [s * size for s in own], off), strong_bits("ii", other, off)
    threshold = float(f"{threshold * size:.3g}")
    formula = rg.And([rg.Or(causes), rg.Not(rg.Or(inhibitors))])
    decision = gated_decision(causes, inhibitors, threshold, within)
    values = evaluate_nodes([decision, rg.Probability(formula)], TABLE)
    chance, decided = values[rg.Probability(formula)], values[decision]
    clear = np.abs(np.log(np.maximum(chance, 1e-300)) - math.log(threshold)) > within * 1.000001 + 1e-9
    assert (decided == (chance > threshold))[clear].all()
    if decision.children:
        assert gated_of(decision) == (formula_on_grid(formula), threshold)
        part = Part.of(1, denied(decision))
        assert part.score == rg.Probability(rg.Not(formula_on_grid(formula)))
        assert part.threshold == pytest.approx(1.0 - threshold)
        assert len(list(decision.children)) < 400


def test_simplification_leaves_all_tangents() -> None:
    """It dropped those that decide none of few rows, and what was left could be read no more."""
    decision = denied(gated_decision(strong_bits("c", [1.8], 0.0), strong_bits("ii", [3.0, 0.7], 0.0)))
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(decision), ())
    assert gated_of(simplify(graph).decision.roots[0]) is not None


def test_what_is_no_complete_set_of_tangents_is_not_read_as_one() -> None:
    """A decision that someone has changed is shown as it is, and not as a probability that it no longer is near to."""
    decision = gated_decision(strong_bits("c", [1.0, 2.0], 0.0), strong_bits("ii", [1.0, 2.0], 0.0))
    assert isinstance(decision, rg.And)
    assert gated_of(rg.And(decision.children[::2])) is None

    def moved(node: rg.Node) -> rg.Node:
        return type(node)(node.score, node.threshold + 1e-3)  # type: ignore[attr-defined,call-arg]

    assert gated_of(rg.And([moved(decision.children[0]), *decision.children[1:]])) is None
    (linear,) = {node for node in rg.topological([decision.children[0]]) if isinstance(node, rg.Linear)}
    turned = rg.with_children(linear, linear.children[::-1])
    assert gated_of(rg.with_children(decision.children[0], [turned])) is None


def test_an_infinite_strength_lies_on_no_grid() -> None:
    with pytest.raises(ValueError, match="finite"):
        gated_decision([rg.Hidden("a", rg.IsTrue("w0"), math.inf)], [rg.Hidden("b", rg.IsTrue("w1"), 1.0)])


# Parities


CHANCES = (0.0, 0.03, 0.3, 0.5, 0.5, 0.7, 0.98, 1.0)


@pytest.mark.parametrize("seed", range(40))
def test_the_decision_is_that_of_the_exact_probability(seed: int) -> None:
    """Bits as likely to fire as not, and sure ones, are among them; t = 1/2 is decided by signs alone."""
    rng = np.random.default_rng(seed)
    drawn = rng.choice(CHANCES, (K, 2)).tolist()
    bits = [rg.Hidden(f"h{i}", rg.IsTrue(f"w{i}"), *map(strength_of, p)) for i, p in enumerate(drawn)]
    bits.append(rg.Hidden("leak", rg.TRUE, strength_of(float(rng.choice(CHANCES[1:-1])))))
    thresholds = (0.5, 0.21, 0.8, 0.04)
    nodes: list[rg.Node] = [parity_decision(bits, t) for t in thresholds]
    chance = rg.Probability(rg.Odd(bits))
    found = evaluate_nodes([*nodes, chance], TABLE)
    for row in range(0, TABLE.n_rows, 1 << (COLUMNS - K)):  # every truth of the first columns
        product = Fraction(1)
        for bit, holds in zip(bits, [*ROWS[:K, row], 1.0], strict=True):
            product *= 1 - 2 * Fraction(bit.probability_on if holds else bit.probability_off)
        exact = (1 - product) / 2
        assert found[chance][row] == pytest.approx(float(exact), abs=1e-15)
        for node, t in zip(nodes, thresholds, strict=True):
            assert bool(found[node][row]) == (exact > Fraction(t))


def test_a_parity_of_many_bits_needs_no_diagram_and_its_sign_does_not_underflow() -> None:
    bits = [rg.Hidden(f"h{i}", rg.IsTrue(f"w{i % K}"), strength_of(0.501)) for i in range(2_001)]
    assert len(build_circuit(rg.Odd(bits)).steps) < 3 * len(bits)
    assert _decided(parity_decision(bits))[-1]  # where all causes hold


def test_thresholds_that_are_always_or_never_exceeded_are_refused() -> None:
    for threshold in (0.0, 1.0):
        with pytest.raises(ValueError, match="lies above 0 and below 1"):
            parity_decision([], threshold)
