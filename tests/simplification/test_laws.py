"""Each law, proved on the full product of cells of the columns it reads, and seen to do what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from golden_pairs import check_pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.space import cell_rows
from rulekit.graph import nodes as rg
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import word
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import PASSES
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import join_terms

HEADER = """rulekit rules 1
column x: numeric
column y: numeric, float64
column b: boolean
column c: categorical {red, green, blue, grey}
column m: categorical {red, green}, unseen missing
column p: boolean
column q: boolean
column r: boolean
column t: text
label y: {no, yes}
"""
SCHEMA = parse_graph(f"{HEADER}decide yes when t contains any of {{corn, rice, wheat}}").schema
BY_NAME = {one.name: one for one in PASSES}
P, Q = rg.IsTrue("p"), rg.IsTrue("q")


def bit(name, cause, on, off=0.0):
    return rg.Hidden(name, cause, strength_of(on), strength_of(off))


def apply(name, node):
    """What one pass makes of a node, and the values of both on every combination of cells."""
    context = context_of(SCHEMA, (node,))
    image, changes = BY_NAME[name].function((node,), rg.topological((node,)), context)
    after = image[node]
    assert bool(changes) == (after is not node)
    assert context.literals(after) <= context.literals(node)
    values = on_cells(node, after)
    return after, values[readable(node)], values[readable(after)]


def readable(node):
    return rg.Probability(node) if node.family.name == "RANDOM" else node


def on_cells(*nodes):
    return evaluate_nodes(tuple(readable(node) for node in nodes), cell_rows(nodes, SCHEMA, 1 << 22))


def test_laws_hold_on_every_cell_and_give_the_stated_form():
    """What a law does not cover stays as it is."""
    names = set()

    def after(text):
        name, _, node = text.partition(": ")
        names.add(name)
        simpler, old, new = apply(name, parse_graph(f"{HEADER}decide yes when {node}").decision.formula)
        np.testing.assert_allclose(new, old, rtol=1e-15 if BY_NAME[name].random == "rounded" else 0.0)
        return word([simpler], schema=SCHEMA).full[simpler].words

    check_pairs("laws", after)
    assert names == set(BY_NAME)


def test_bits_that_stand_elsewhere_are_not_merged():
    one, two = bit("1", P, 0.5), bit("2", P, 0.5)
    node = rg.And((rg.Or((one, two)), rg.Or((one, bit("3", Q, 0.5)))))
    assert apply("merged bits", node)[0] is node


@pytest.mark.parametrize("form", [rg.And, rg.Or])
def test_missing_flags_of_a_pair_of_comparisons_exhaustively(form):
    """All 2 x 2 x 2 x 2 x 2 pairs of comparisons with all missing flags, over and under one another."""
    for op1, op2, m1, m2, (v, w) in itertools.product(
        ("<=", ">"), ("<=", ">"), (False, True), (False, True), ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0))
    ):
        node = form((rg.Compare("x", op1, v, m1), rg.Compare("x", op2, w, m2)))
        _, old, new = apply("columns", node)
        np.testing.assert_array_equal(old, new)


def test_level_sets_of_a_column_exhaustively():
    """Every pair of level sets of three levels with every pair of flags."""
    subsets = [s for k in range(4) for s in itertools.combinations(("red", "green", "blue"), k)]
    for one, other in itertools.product(subsets, subsets):
        for m, u in itertools.product((False, True), repeat=2):
            node = rg.And((rg.Among("c", one, m, u), rg.Not(rg.Among("c", other, u, m))))
            _, old, new = apply("columns", node)
            np.testing.assert_array_equal(old, new)


# Terms of a sum over one column: joined on a grid on every cell, and left alone where a sum may round


LEVELS = ("red", "green", "blue")
QUARTERS = st.integers(-8, 8).map(lambda k: k / 4)
SETS = st.sets(st.sampled_from(LEVELS)).map(tuple)
CUTS = st.sets(st.sampled_from([-1.5, 0.1, 2.0, 7.25])).map(sorted).map(tuple)


def steps(cuts):
    values = st.tuples(*[QUARTERS] * (len(cuts) + 1))
    return st.builds(rg.Step, st.just("x"), st.just(cuts), values, QUARTERS)


def leaves(unseen):
    name = st.just(unseen)
    points = st.sets(st.sampled_from(LEVELS)).flatmap(
        lambda named: st.tuples(*(st.tuples(st.just(n), QUARTERS) for n in named))
    )
    among = st.builds(rg.Among, name, SETS, st.booleans(), st.booleans())
    numbers = st.builds(
        rg.Compare, st.just("x"), st.sampled_from(["<=", ">"]), st.sampled_from([0.1, 2.0]), st.booleans()
    )
    return st.one_of(
        st.builds(rg.LevelPoints, name, points, QUARTERS, QUARTERS),
        among,
        among.map(rg.Not),
        st.builds(rg.Missing, name),
        numbers,
        CUTS.flatmap(steps),
        st.just(rg.IsTrue("b")),
    )


TERMS = st.lists(st.tuples(QUARTERS, st.sampled_from(["unseen", "missing", "error"]).flatmap(leaves)), max_size=7)
MIXED = Schema(
    (
        Feature("x"),
        Feature("b", "boolean"),
        *(Feature(unseen, "categorical", LEVELS, unseen=unseen) for unseen in ("unseen", "missing", "error")),
    )
)


@settings(max_examples=60)
@given(TERMS, QUARTERS)
def test_joined_terms_are_the_same_number_on_every_cell(terms, bias):
    before = rg.Linear(terms, bias)
    context = context_of(MIXED, [before])
    after = join_terms(before, context)
    values = evaluate_nodes((before, after), cell_rows((before, after), MIXED, 1 << 20))
    assert np.array_equal(values[before], values[after])
    assert context.literals(after) <= context.literals(before)
    assert join_terms(after, context) is after


def test_a_sum_that_may_round_keeps_its_terms():
    """0.1 + 0.2 + 0.3 hangs on its order."""
    terms = ((0.1, rg.Among("unseen", ("red",))), (0.2, rg.IsTrue("b")), (0.3, rg.Among("unseen", ("blue",))))
    score = rg.Linear(terms, 0.0)
    assert join_terms(score, context_of(MIXED, [score])) is score


def test_two_comparisons_are_not_made_the_three_segments_of_a_step_function():
    score = rg.Linear(((1.0, rg.Compare("x", ">", 0.1)), (2.0, rg.Compare("x", ">", 2.0))), 0.0)
    assert join_terms(score, context_of(MIXED, [score])) is score
