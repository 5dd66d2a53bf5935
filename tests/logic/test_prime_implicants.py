"""threshold_rule is exactly [P > t], in the fewest terms where the causes are free."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.space import cell_rows
from rulekit.conformance.models import random_formula, random_schema
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import FALSE, TRUE, Among, And, AtLeast, Compare, Hidden, IsTrue, Missing, Not, Or, Probability
from rulekit.logic.prime_implicants import threshold_rule
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

A, B, C, D = (Compare(name, ">", 0.0) for name in "abcd")


def bit(name, cause, p, q=0.0):
    return Hidden(name, cause, strength_of(p), strength_of(q))


def on_every_cell(nodes, schema=None):
    return evaluate_nodes(tuple(nodes), cell_rows(nodes, schema, 1 << 22))


def assert_is_the_decision(formula, threshold, rule, schema=None):
    values = on_every_cell((Probability(formula), rule), schema)
    np.testing.assert_array_equal(values[rule], values[Probability(formula)] > threshold)


def terms(rule):
    parts = rule.children if isinstance(rule, Or) else (rule,)
    return {frozenset(part.children if isinstance(part, And) else (part,)) for part in parts}


def test_a_gate_negates_its_inhibitor_down_to_the_leaf():
    formula = And((bit("1", A, 0.9), Not(bit("2", Compare("b", "<=", 3.0, True), 0.8))))
    assert terms(threshold_rule(formula, 0.5, 10)) == {frozenset((A, Compare("b", ">", 3.0, False)))}


def test_a_bit_that_fires_less_where_its_cause_holds_is_a_negated_literal():
    assert threshold_rule(bit("1", A, 0.1, 0.9), 0.5, 10) is Compare("a", "<=", 0.0, True)


def test_leaves_that_cannot_be_flipped_keep_not():
    formula = And((bit("1", Missing("a"), 0.1, 0.9), bit("2", IsTrue("b"), 0.1, 0.9)))
    assert terms(threshold_rule(formula, 0.5, 10)) == {frozenset((Not(Missing("a")), Not(IsTrue("b"))))}


def test_the_schema_lets_a_negated_category_list_its_other_levels():
    schema = Schema((Feature("a", "categorical", ("red", "green", "blue")),))
    rule = threshold_rule(bit("1", Among("a", ("red", "blue")), 0.1, 0.9), 0.5, 10, schema=schema)
    assert rule is Among("a", ("green",), True, True)


def test_implied_thresholds_are_left_out():
    """X <= 3 without x <= 5 is no row, so x <= 3 stands for both."""
    three, five = Compare("x", "<=", 3.0), Compare("x", "<=", 5.0)
    formula = And((bit("1", three, 0.9), bit("2", five, 0.9)))
    assert threshold_rule(formula, 0.5, 10) is three


def test_disjoint_level_sets_never_stand_in_one_term():
    red, green = Among("c", ("red",)), Among("c", ("green",))
    formula = Or((bit("1", red, 0.4), bit("2", green, 0.4), bit("3", A, 0.4)))
    assert terms(threshold_rule(formula, 0.5, 10)) == {frozenset((red, A)), frozenset((green, A))}


def test_constant_decisions():
    assert threshold_rule(bit("1", A, 0.3), 0.5, 0) is FALSE
    assert threshold_rule(bit("1", A, 0.9, 0.8), 0.5, 0) is TRUE


def test_an_exact_tie_is_not_above():
    assert threshold_rule(bit("1", A, 0.5), 0.5, 5) is FALSE


def test_too_many_literals_give_none():
    formula = Or((bit("1", A, 0.4), bit("2", B, 0.4), bit("3", C, 0.4)))
    assert threshold_rule(formula, 0.5, 6) is not None
    assert threshold_rule(formula, 0.5, 5) is None


def test_over_budget_gives_none():
    bits = tuple(bit(str(i), Compare(f"f{i}", ">", 0.0), 0.2) for i in range(5))
    assert threshold_rule(Or(bits), 0.3, 100, budget=31) is None
    assert threshold_rule(Or(bits), 0.3, 100, budget=32) is not None


def test_compound_causes_count_their_leaves():
    formula = bit("1", And((A, B)), 0.9)
    assert threshold_rule(formula, 0.5, 1) is None
    assert threshold_rule(formula, 0.5, 2) is And((A, B))


ONE, TWO, THREE, FOUR = (bit(str(i), cause, 0.7, 0.1) for i, cause in enumerate((A, B, C, D)))


@pytest.mark.parametrize(
    ("formula", "threshold"),
    [
        (Or((And((bit("1", A, 0.9), bit("2", B, 0.9))), And((bit("3", A, 0.0, 0.9), bit("4", C, 0.9))))), 0.5),
        (Or((AtLeast(2, (ONE, TWO, THREE)), And((ONE, Not(FOUR))))), 0.4),
    ],
)
def test_causes_that_count_both_ways_and_shared_bits(formula, threshold):
    assert_is_the_decision(formula, threshold, threshold_rule(formula, threshold, 50))


@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.25, 0.5, 0.75]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_random_formulas_are_decided_exactly(seed, threshold, shared):
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    formula = random_formula(rng, schema, int(rng.integers(1, 6)), shared)
    rule = threshold_rule(formula, threshold, 1000, schema=schema)
    if rule is None or has_column(formula) or cell_rows((formula,), schema, 1 << 16) is None:
        return
    assert_is_the_decision(formula, threshold, rule, schema)


@given(st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_free_causes_give_exactly_the_prime_implicants(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    causes = [Compare(f"f{i}", ">", 0.0) for i in range(n)]
    bits = [bit(str(i), cause, float(rng.random())) for i, cause in enumerate(causes)]
    while len(bits) > 1:
        bits = [And(tuple(bits[:2])) if rng.random() < 0.5 else Or(tuple(bits[:2])), *bits[2:]]
    rule = threshold_rule(bits[0], 0.4, 1000)
    values = on_every_cell((Probability(bits[0]), *causes))
    holds = values[Probability(bits[0])] > 0.4
    if not holds.any() or holds.all():
        assert rule is (TRUE if holds.any() else FALSE)
        return
    points = {frozenset(c for c in causes if values[c][i]) for i in np.flatnonzero(holds)}
    minimal = {p for p in points if not any(q < p for q in points)}
    assert terms(rule) == minimal


@pytest.mark.parametrize("n", [40, 200])
def test_many_causes_on_one_column_are_few_patterns(n):
    bits = tuple(bit(str(i), Compare("x", "<=", float(i)), 0.1) for i in range(n))
    rule = threshold_rule(Or(bits), 0.5, 1)
    assert rule is Compare("x", "<=", float(n - 7))  # 1 - .9^7 is the first above a half


def test_twenty_two_free_causes_take_seconds():
    bits = tuple(bit(str(i), Compare(f"f{i}", "<=", 0.0), 0.9) for i in range(22))
    started = time.perf_counter()
    rule = threshold_rule(Or((And(bits[:7]), And(bits[7:14]), And(bits[14:]))), 0.1, 50)
    assert len(terms(rule)) == 3
    assert time.perf_counter() - started < 10
