"""Terms of a sum over one column: joined on a grid on every cell, and left alone where a sum may round."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.space import cell_rows
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Among, Compare, IsTrue, LevelPoints, Linear, Missing, Not, Step
from rulekit.schema import Feature, Schema
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import join_terms

LEVELS = ("red", "green", "blue")
QUARTERS = st.integers(-8, 8).map(lambda k: k / 4)
SETS = st.sets(st.sampled_from(LEVELS)).map(tuple)
CUTS = st.sets(st.sampled_from([-1.5, 0.1, 2.0, 7.25])).map(sorted).map(tuple)


def steps(cuts):
    values = st.tuples(*[QUARTERS] * (len(cuts) + 1))
    return st.builds(Step, st.just("x"), st.just(cuts), values, QUARTERS)


def leaves(unseen):
    name = st.just(unseen)
    points = st.sets(st.sampled_from(LEVELS)).flatmap(
        lambda named: st.tuples(*(st.tuples(st.just(n), QUARTERS) for n in named))
    )
    among = st.builds(Among, name, SETS, st.booleans(), st.booleans())
    numbers = st.builds(Compare, st.just("x"), st.sampled_from(["<=", ">"]), st.sampled_from([0.1, 2.0]), st.booleans())
    return st.one_of(
        st.builds(LevelPoints, name, points, QUARTERS, QUARTERS),
        among,
        among.map(Not),
        st.builds(Missing, name),
        numbers,
        CUTS.flatmap(steps),
        st.just(IsTrue("b")),
    )


TERMS = st.lists(st.tuples(QUARTERS, st.sampled_from(["unseen", "missing", "error"]).flatmap(leaves)), max_size=7)
SCHEMA = Schema(
    (
        Feature("x"),
        Feature("b", "boolean"),
        *(Feature(unseen, "categorical", LEVELS, unseen=unseen) for unseen in ("unseen", "missing", "error")),
    )
)


@settings(max_examples=60)
@given(TERMS, QUARTERS)
def test_joined_terms_are_the_same_number_on_every_cell(terms, bias):
    before = Linear(terms, bias)
    context = context_of(SCHEMA, [before])
    after = join_terms(before, context)
    values = evaluate_nodes((before, after), cell_rows((before, after), SCHEMA, 1 << 20))
    assert np.array_equal(values[before], values[after])
    assert context.literals(after) <= context.literals(before)
    assert join_terms(after, context) is after


def test_a_sum_that_may_round_keeps_its_terms():
    """0.1 + 0.2 + 0.3 hangs on its order."""
    terms = ((0.1, Among("unseen", ("red",))), (0.2, IsTrue("b")), (0.3, Among("unseen", ("blue",))))
    score = Linear(terms, 0.0)
    assert join_terms(score, context_of(SCHEMA, [score])) is score


def test_two_comparisons_are_not_made_the_three_segments_of_a_step_function():
    score = Linear(((1.0, Compare("x", ">", 0.1)), (2.0, Compare("x", ">", 2.0))), 0.0)
    assert join_terms(score, context_of(SCHEMA, [score])) is score
