"""Each law, proved on the full product of cells of the columns it reads, and seen to do what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.space import cell_rows
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import (
    FALSE,
    TRUE,
    Among,
    And,
    AtLeast,
    Compare,
    Contains,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Missing,
    Not,
    Odd,
    Or,
    Probability,
    Step,
    topological,
)
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.simplification.passes import PASSES
from rulekit.simplification.rewriting import context_of
from rulekit.simplification.sums import join_terms

SCHEMA = Schema(
    (
        Feature("x"),
        Feature("y", precision="float64"),
        Feature("b", "boolean"),
        Feature("c", "categorical", ("red", "green", "blue", "grey")),
        Feature("m", "categorical", ("red", "green"), unseen="missing"),
        Feature("p", "boolean"),
        Feature("q", "boolean"),
        Feature("r", "boolean"),
        Feature("t", "text", ("corn", "rice", "wheat")),
    )
)
BY_NAME = {one.name: one for one in PASSES}


def le(value, missing=False, name="x"):
    return Compare(name, "<=", value, missing)


def gt(value, missing=False, name="x"):
    return Compare(name, ">", value, missing)


def among(*levels, missing=False, unseen=False, name="c"):
    return Among(name, levels, missing, unseen)


def has(*tokens, missing=False):
    return Contains("t", tokens, missing)


P, Q, R = IsTrue("p"), IsTrue("q"), IsTrue("r")


def bit(name, cause, on, off=0.0):
    return Hidden(name, cause, strength_of(on), strength_of(off))


def apply(name, node):
    """What one pass makes of a node, and the values of both on every combination of cells."""
    context = context_of(SCHEMA, (node,))
    image, changes = BY_NAME[name].function((node,), topological((node,)), context)
    after = image[node]
    assert bool(changes) == (after is not node)
    assert context.literals(after) <= context.literals(node)
    values = on_cells(node, after)
    return after, values[readable(node)], values[readable(after)]


def readable(node):
    return Probability(node) if node.family.name == "RANDOM" else node


def on_cells(*nodes):
    return evaluate_nodes(tuple(readable(node) for node in nodes), cell_rows(nodes, SCHEMA, 1 << 22))


LAWS = [
    ("negation", Not(le(3.0)), gt(3.0, True)),
    ("negation", Not(gt(3.0, True)), le(3.0)),
    ("negation", Not(among("red", unseen=True)), among("green", "blue", "grey", missing=True)),
    ("negation", Not(Not(P)), P),
    ("negation", Not(And((P, le(3.0)))), Or((Not(P), gt(3.0, True)))),
    ("negation", Not(Or((Missing("x"), gt(1.0)))), And((Not(Missing("x")), le(1.0, True)))),
    ("negation", Not(AtLeast(2, (P, Q, gt(1.0)))), AtLeast(2, (Not(P), Not(Q), le(1.0, True)))),
    ("negation", Not(Odd((gt(1.0), P))), Odd((le(1.0, True), P))),
    ("negation", Not(Odd(())), TRUE),
    ("negation", Not(TRUE), FALSE),
    ("constants", And((P, TRUE)), P),
    ("constants", And((P, FALSE, Q)), FALSE),
    ("constants", Or((P, TRUE)), TRUE),
    ("constants", Or((FALSE, P)), P),
    ("constants", And(()), TRUE),
    ("constants", Or(()), FALSE),
    ("constants", AtLeast(2, (P, TRUE, Q, FALSE)), AtLeast(1, (P, Q))),
    ("constants", AtLeast(0, (P, Q)), TRUE),
    ("constants", Odd((P, TRUE, Q, FALSE)), Not(Odd((P, Q)))),
    ("constants", Odd((P, TRUE, Q, TRUE)), Odd((P, Q))),
    ("constants", AtLeast(3, (P, Q)), FALSE),
    ("words", Or((has("corn"), P, has("wheat", missing=True))), Or((has("corn", "wheat", missing=True), P))),
    ("words", And((Not(has("corn")), Not(has("rice", "corn")))), Not(has("corn", "rice"))),
    ("words", And((has("corn"), P, has("corn", "rice", missing=True))), And((has("corn"), P))),
    ("words", Or((Not(has("corn")), Not(has("corn", "rice")))), Not(has("corn"))),
    ("flattening", And((P, And((Q, And((R, P)))))), And((P, Q, R))),
    ("flattening", Or((P, Or((Q, P)))), Or((P, Q))),
    ("flattening", And((P, P)), P),
    ("flattening", Or((P,)), P),
    ("columns", among("red", "green", "blue", "grey", missing=True, unseen=True), TRUE),
    ("columns", Among("m", (), False, True), FALSE),
    ("columns", le(0.30000001192092896), le(0.3)),
    ("columns", And((gt(0.1), le(0.10000000149011612))), FALSE),
    ("columns", Or((gt(1.0), gt(3.0))), gt(1.0)),
    ("columns", And((gt(1.0), le(3.0), gt(2.0, True))), And((gt(2.0), le(3.0)))),
    ("columns", Or((le(3.0), gt(3.0))), Not(Missing("x"))),
    ("columns", Or((le(3.0, True), gt(3.0))), TRUE),
    ("columns", And((le(3.0), gt(3.0, True))), FALSE),
    ("columns", And((le(3.0, True), gt(3.0, True))), Missing("x")),
    ("columns", And((le(3.0), gt(3.0))), FALSE),
    ("columns", Or((And((gt(1.0), le(2.0))), And((gt(2.0), le(4.0))))), And((gt(1.0), le(4.0)))),
    ("columns", Or((le(1.0), gt(5.0), gt(1.0))), Not(Missing("x"))),
    ("columns", AtLeast(2, (gt(1.0), gt(2.0), gt(3.0))), gt(2.0)),
    ("columns", And((among("red", "green"), among("green", "blue"))), among("green")),
    ("columns", Or((among("red"), among("green", unseen=True))), among("red", "green", unseen=True)),
    ("columns", And((among("red", missing=True), among("green", missing=True))), Missing("c")),
    ("columns", among("red", "green", "blue", "grey", unseen=True), Not(Missing("c"))),
    ("columns", Among("m", ("red",), False, True), Among("m", ("red",), False, False)),
    ("columns", Or((IsTrue("b"), Missing("b"))), IsTrue("b", True)),
    ("columns", And((IsTrue("b"), Not(IsTrue("b", True)))), FALSE),
    ("columns", Or((gt(16777216.0, name="y"), gt(16777217.0, name="y"))), gt(16777216.0, name="y")),
    ("intervals and levels", And((gt(1.0), P, gt(3.0))), And((gt(3.0), P))),
    ("intervals and levels", And((gt(1.0, True), P, Not(Missing("x")))), And((gt(1.0), P))),
    ("intervals and levels", And((gt(3.0), P, le(2.0))), FALSE),
    ("intervals and levels", Or((gt(3.0), P, le(3.0, True))), TRUE),
    ("intervals and levels", Or((gt(3.0), P, le(3.0))), Or((Not(Missing("x")), P))),
    ("intervals and levels", Or((among("red"), P, among("blue"))), Or((among("red", "blue"), P))),
    ("intervals and levels", And((among("red"), P, among("blue"))), FALSE),
    ("at least", AtLeast(1, (P, Q)), Or((P, Q))),
    ("at least", AtLeast(2, (P, Q)), And((P, Q))),
    ("at least", AtLeast(2, (P, Not(P), Q, R)), Or((Q, R))),
    ("odd", Odd((P,)), P),
    ("odd", Odd((P, Q, P, R)), Odd((Q, R))),
    ("odd", Odd((P, P)), FALSE),
    ("odd", Odd((P, Odd((Q, R)))), Odd((P, Q, R))),
    ("odd", Odd((P, Not(P), Q, R)), Odd((Not(Q), R))),
    ("odd", Odd((gt(1.0), le(1.0, True))), TRUE),
    ("columns", Odd((gt(1.0), gt(2.0), gt(3.0), gt(1.0))), And((gt(2.0), le(3.0)))),
    ("at least", AtLeast(2, (gt(1.0), le(1.0, True), Q, R)), Or((Q, R))),
    ("absorption", Or((P, And((P, Q)))), P),
    ("absorption", And((P, Or((P, Q)))), P),
    ("absorption", Or((gt(1.0), And((gt(3.0), Q)))), gt(1.0)),
    ("absorption", And((gt(3.0), Or((gt(1.0), Q)))), gt(3.0)),
    ("absorption", Or((And((among("red", "blue"), P)), And((P, among("red"), Q)))), And((among("red", "blue"), P))),
    ("irredundant cover", Or((And((P, Q)), And((Not(P), R)), And((Q, R)))), Or((And((P, Q)), And((Not(P), R))))),
    ("irredundant cover", And((Or((P, Q)), Or((Not(P), R)), Or((Q, R)))), And((Or((P, Q)), Or((Not(P), R))))),
    ("irredundant cover", Or((And((le(3.0), P)), And((gt(3.0), le(5.0), P)))), And((le(5.0), P))),
    ("irredundant cover", Or((P, And((Not(P), Q)))), Or((P, Q))),
    ("irredundant cover", And((P, Or((Not(P), Q)))), And((P, Q))),
    ("irredundant cover", Or((le(3.0), And((gt(2.0), le(5.0), P)))), Or((le(3.0), And((le(5.0), P))))),
    ("irredundant cover", Or((And((P, gt(1.0))), And((P, le(1.0, True))))), P),
    ("minimisation", And((Or((P, Q)), Or((P, R)), Or((P, And((Q, R)))))), Or((P, And((Q, R))))),
    ("minimisation", Or((And((P, Or((Q, R)))), And((Not(P), Or((Q, R)))))), Or((Q, R))),
    ("dead terms", LinearThreshold(((0.0, P), (1.0, Q)), -0.5), LinearThreshold(((1.0, Q),), -0.5)),
    ("dead terms", LinearThreshold(((0.3, TRUE), (1.0, Q)), -0.5), LinearThreshold(((1.0, Q),), -0.5 + 0.3)),
    ("dead terms", LinearThreshold(((1.0, FALSE),), 0.0), TRUE),
    ("dead terms", Linear(((0.5, FALSE), (0.0, P), (0.7, Q)), 0.1), Linear(((0.7, Q),), 0.1)),
    ("linear thresholds", LinearThreshold(((0.5, P), (0.5, Q)), -1.0), AtLeast(2, (P, Q))),
    ("linear thresholds", LinearThreshold(((1.0, P), (1.0, Q), (1.0, R)), -2.0), AtLeast(2, (P, Q, R))),
    ("linear thresholds", LinearThreshold(((-1.0, P), (1.0, Q)), 0.5), AtLeast(1, (Not(P), Q))),
    ("linear thresholds", LinearThreshold(((2.0, P), (1.0, Q), (1.0, R)), -2.0), Or((P, And((Q, R))))),
    ("linear thresholds", LinearThreshold(((1.0, P), (1.0, Q)), -3.0), FALSE),
    (
        "linear thresholds",
        LinearThreshold((*((0.25, gt(float(i))) for i in range(12)), (0.25, P), (-0.25, Q)), -0.875),
        AtLeast(5, (*(gt(float(i)) for i in range(12)), P, Not(Q))),
    ),
    (
        "linear thresholds",
        LinearThreshold(((1.0, Step("x", (2.0,), (0.0, 3.0), 3.0)),), -1.0),
        AtLeast(1, (gt(2.0, True),)),
    ),
    ("linear thresholds", LinearThreshold(((1.0, Step("x", (1.0, 2.0), (0.0, 3.0, 1.0), 3.0)), (0.5, P)), 0.0), TRUE),
    ("dead terms", Linear(((0.5, LevelPoints("m", (), unseen=3.0)), (0.7, Q)), 0.1), Linear(((0.7, Q),), 0.1)),
    (
        "linear thresholds",
        LinearThreshold(((1.0, LevelPoints("c", (("red", 3.0), ("blue", 3.0)), unseen=3.0)),), -1.0),
        AtLeast(1, (among("blue", "red", unseen=True),)),
    ),
    (
        "linear thresholds",
        LinearThreshold(((1.0, LevelPoints("c", (("red", 3.0), ("blue", 1.0)))), (0.5, P)), 0.0),
        TRUE,
    ),
    (
        "terms of a column",
        Linear(((1.5, among("red", missing=True)), (0.5, P), (-2.0, among("blue", unseen=True))), 1.0),
        Linear(((1.0, LevelPoints("c", (("red", 1.5), ("blue", -2.0)), 1.5, -2.0)), (0.5, P)), 1.0),
    ),
    (
        "terms of a column",
        Linear(((2.0, LevelPoints("c", (("red", 1.0),), 0.5)), (0.25, among("red")), (1.0, Missing("c"))), 1.0),
        Linear(((1.0, LevelPoints("c", (("red", 2.25),), 2.0)),), 1.0),
    ),
    (
        "terms of a column",
        Linear(((2.0, among("red", "blue")), (1.0, P), (2.0, Not(among("red", "blue", missing=True)))), 0.0),
        Linear(((2.0, Not(Missing("c"))), (1.0, P)), 0.0),
    ),
    ("terms of a column", Linear(((2.0, among("red")), (-2.0, among("red"))), 0.5), Linear((), 0.5)),
    (
        "terms of a column",
        LinearThreshold(((1.0, Step("x", (0.1, 2.0), (1.0, 2.0, 3.0), 4.0)), (-1.0, gt(2.0, True)), (0.5, P)), -2.0),
        LinearThreshold(((1.0, Step("x", (0.1,), (1.0, 2.0), 3.0)), (0.5, P)), -2.0),
    ),
    (
        "terms of a column",
        Linear(((1.0, Step("x", (1.0,), (0.0, 2.0), 0.0)), (2.0, Step("x", (0.5,), (1.0, 0.0), 0.0))), 0.0),
        Linear(((2.0, Or((le(0.5), gt(1.0)))),), 0.0),
    ),
    ("sure bits", Hidden("h", P, strength_of(1.0), 0.0), P),
    ("sure bits", Hidden("h", P, 0.0, strength_of(1.0)), Not(P)),
    ("sure bits", Hidden("h", P, 0.0, 0.0), FALSE),
    ("sure bits", bit("h", P, 0.3, 0.3), bit("h", TRUE, 0.3, 0.3)),
    ("sure bits", bit("h", FALSE, 0.3, 0.2), bit("h", TRUE, 0.2, 0.2)),
    ("conditions", And((P, bit("h", Q, 0.5), R)), And((And((P, R)), bit("h", Q, 0.5)))),
    (
        "random flattening",
        Or((bit("1", P, 0.25), Or((bit("2", Q, 0.5), bit("3", R, 0.5))))),
        Or((bit("1", P, 0.25), bit("2", Q, 0.5), bit("3", R, 0.5))),
    ),
    ("odd", Odd((bit("1", P, 0.25), Q, bit("1", P, 0.25))), Q),
    ("constants", Odd((bit("1", P, 0.25), TRUE, FALSE)), Odd((bit("1", P, 0.25), TRUE))),
    ("random at least", AtLeast(1, (bit("1", P, 0.25), bit("2", Q, 0.5))), Or((bit("1", P, 0.25), bit("2", Q, 0.5)))),
    ("random at least", AtLeast(2, (bit("1", P, 0.25), bit("2", Q, 0.5))), And((bit("1", P, 0.25), bit("2", Q, 0.5)))),
    (
        "merged bits",
        Or((bit("1", P, 0.5), bit("2", Q, 0.5), bit("3", P, 0.5, 0.25))),
        Or((Hidden("1+3", P, 2 * strength_of(0.5), strength_of(0.25)), bit("2", Q, 0.5))),
    ),
    ("merged bits", And((bit("1", P, 0.5), bit("3", P, 0.5, 0.25))), bit("1+3", P, 0.25, 0.0)),
    (
        "merged bits",
        Or((bit("1", gt(1.0), 0.5), bit("2", le(1.0, True), 0.25))),
        Hidden("1+2", gt(1.0), strength_of(0.5), strength_of(0.25)),
    ),
]


@pytest.mark.parametrize(("name", "before", "after"), LAWS, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(LAWS)])
def test_the_law_holds_on_every_cell_and_gives_the_expected_form(name, before, after):
    actual, old, new = apply(name, before)
    if BY_NAME[name].random == "rounded":
        np.testing.assert_allclose(new, old, rtol=1e-15)
    else:
        np.testing.assert_array_equal(new, old)
    assert actual is after


def test_every_pass_has_a_proved_law():
    assert {name for name, _, _ in LAWS} == set(BY_NAME)


UNTOUCHED = [
    ("columns", And((gt(1.0), le(3.0)))),
    ("columns", Not(Missing("x"))),
    ("constants", TRUE),
    ("columns", Not(IsTrue("b"))),
    ("columns", Or((gt(16777216.0, name="y"), P))),
    ("dead terms", Linear(((0.1, P), (0.2, TRUE)), 0.0)),
    ("merged bits", Or((bit("1", P, 0.5), bit("2", Q, 0.5)))),
    ("linear thresholds", LinearThreshold(((3.0, P), (2.0, Q), (2.0, R), (1.0, IsTrue("b"))), -4.0)),
    # Ten times 0.1 is not 1.
    ("linear thresholds", LinearThreshold((*((0.1, gt(float(i))) for i in range(12)), (0.1, P)), -1.0)),
    ("sure bits", bit("h", P, 0.9, 0.1)),
]


@pytest.mark.parametrize(("name", "node"), UNTOUCHED)
def test_what_the_law_does_not_cover_stays(name, node):
    assert apply(name, node)[0] is node


def test_bits_that_stand_elsewhere_are_not_merged():
    one, two = bit("1", P, 0.5), bit("2", P, 0.5)
    node = And((Or((one, two)), Or((one, bit("3", Q, 0.5)))))
    assert apply("merged bits", node)[0] is node


@pytest.mark.parametrize("form", [And, Or])
def test_missing_flags_of_a_pair_of_comparisons_exhaustively(form):
    """All 2 x 2 x 2 x 2 x 2 pairs of comparisons with all missing flags, over and under one another."""
    for op1, op2, m1, m2, (v, w) in itertools.product(
        ("<=", ">"), ("<=", ">"), (False, True), (False, True), ((1.0, 2.0), (2.0, 1.0), (1.0, 1.0))
    ):
        node = form((Compare("x", op1, v, m1), Compare("x", op2, w, m2)))
        _, old, new = apply("columns", node)
        np.testing.assert_array_equal(old, new)


def test_level_sets_of_a_column_exhaustively():
    """Every pair of level sets of three levels with every pair of flags."""
    subsets = [s for k in range(4) for s in itertools.combinations(("red", "green", "blue"), k)]
    for one, other in itertools.product(subsets, subsets):
        for m, u in itertools.product((False, True), repeat=2):
            node = And((Among("c", one, m, u), Not(Among("c", other, u, m))))
            _, old, new = apply("columns", node)
            np.testing.assert_array_equal(old, new)


# Terms of a sum over one column: joined on a grid on every cell, and left alone where a sum may round


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
    before = Linear(terms, bias)
    context = context_of(MIXED, [before])
    after = join_terms(before, context)
    values = evaluate_nodes((before, after), cell_rows((before, after), MIXED, 1 << 20))
    assert np.array_equal(values[before], values[after])
    assert context.literals(after) <= context.literals(before)
    assert join_terms(after, context) is after


def test_a_sum_that_may_round_keeps_its_terms():
    """0.1 + 0.2 + 0.3 hangs on its order."""
    terms = ((0.1, Among("unseen", ("red",))), (0.2, IsTrue("b")), (0.3, Among("unseen", ("blue",))))
    score = Linear(terms, 0.0)
    assert join_terms(score, context_of(MIXED, [score])) is score


def test_two_comparisons_are_not_made_the_three_segments_of_a_step_function():
    score = Linear(((1.0, Compare("x", ">", 0.1)), (2.0, Compare("x", ">", 2.0))), 0.0)
    assert join_terms(score, context_of(MIXED, [score])) is score
