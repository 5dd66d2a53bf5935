"""Tree, network and DNF: the same decisions there and back (Sahami, Figures 1 to 4)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltu_cases import shape_of

from rulekit.errors import GraphError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import And, Column, Compare, IsTrue, LinearThreshold, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.ltu.forms import dnf_of_paths, nested, shape_of_gates, tree_of_formula
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.verification.proof.prove import prove, reading_of_graph

FIGURE_4 = Shape.of([1, 3, NONE, NONE], [2, NONE, NONE, NONE])
BITS = [IsTrue(f"x{i}") for i in range(12)]


@st.composite
def shapes(draw, most=9):
    return shape_of(np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.integers(1, most)))


def random_units(rng, size, n_columns):
    """Units of small whole numbers over numbers, so that many rows lie exactly on a plane."""
    columns = [Column(f"x{i}", 0.0, -4.0, 4.0, 1.0) for i in range(n_columns)]
    return [
        LinearThreshold(
            list(zip(rng.integers(-2, 3, n_columns).astype(float), columns, strict=True)), float(rng.integers(-2, 3))
        )
        for _ in range(size)
    ]


def differences(rng, n_trees, n_rows, n_columns=6):
    """Rows that some form of random trees answers otherwise than the tree; a third of them lie near the planes."""
    schema = Schema(tuple(Feature(f"x{i}") for i in range(n_columns)))
    wrong = 0
    for _ in range(n_trees):
        shape = shape_of(rng, int(rng.integers(1, 16)))
        units = random_units(rng, shape.size, n_columns)
        rows = rng.integers(-4, 5, (n_rows, n_columns)).astype(float)
        rows[: n_rows // 3] *= rng.random((n_rows // 3, 1)) < 0.5
        rows[n_rows // 3 : n_rows // 2] += rng.choice([-0.5, 0.5], (n_rows // 2 - n_rows // 3, n_columns))
        table = encode({f"x{i}": rows[:, i] for i in range(n_columns)}, schema)
        dnf, along = dnf_of_paths(shape, units), nested(shape, units)
        again, kept = tree_of_formula(dnf)
        deeper, also_kept = tree_of_formula(along)
        answers = evaluate_nodes([*units, dnf, along], table)
        fires = np.stack([answers[unit] for unit in units], axis=1).astype(bool)
        expected = shape.decides(fires)
        back, places = shape_of_gates(shape.gates)
        gates = ((fires[:, None, :] == (shape.gates > 0)) | (shape.gates == 0)).all(axis=2)
        for found in (
            answers[dnf].astype(bool),
            answers[along].astype(bool),
            again.decides(np.stack([answers[unit] for unit in kept], axis=1).astype(bool)),
            deeper.decides(np.stack([answers[unit] for unit in also_kept], axis=1).astype(bool)),
            back.decides(fires[:, places]),
            gates.sum(axis=1) == 1,
            gates.any(axis=1),
        ):
            wrong += int((found != expected).sum())
    return wrong


def test_five_hundred_random_trees_on_a_million_rows_decide_alike_in_every_form():
    assert differences(np.random.default_rng(1), 500, 2000) == 0


@given(shapes())
def test_the_gates_of_a_shape_give_it_back(shape):
    found, columns = shape_of_gates(shape.gates)
    assert columns.tolist() == list(range(shape.size))
    assert (found.left.tolist(), found.right.tolist()) == (shape.left.tolist(), shape.right.tolist())


@given(shapes(), st.randoms(use_true_random=False))
def test_shuffled_gates_and_columns_give_an_equivalent_tree(shape, random):
    """Of a conjunction any unit may be the root, so that the shape may be another one."""
    rows = random.sample(range(len(shape.gates)), len(shape.gates))
    columns = random.sample(range(shape.size), shape.size)
    found, order = shape_of_gates(shape.gates[rows][:, columns])
    every = (np.arange(2**shape.size)[:, None] >> np.arange(shape.size)) % 2 == 1
    assert found.decides(every[:, columns][:, order]).tolist() == shape.decides(every).tolist()


@given(shapes())
def test_every_form_is_proved_to_be_the_tree(shape):
    units = BITS[: shape.size]
    schema = Schema(tuple(Feature(f"x{i}", "boolean") for i in range(len(BITS))))
    dnf, along = (RuleGraph(schema, ("no", "yes"), Fires(form(shape, units))) for form in (dnf_of_paths, nested))
    again, kept = tree_of_formula(along.decision.formula)
    there = RuleGraph(schema, ("no", "yes"), Fires(dnf_of_paths(again, kept)))
    for other in (along, there):
        proof = prove(dnf, reading_of_graph(other, dnf), lambda columns, table: False)
        assert proof.proved, proof.reason


def test_units_over_numbers_are_proved_too():
    schema = Schema(tuple(Feature(f"x{i}") for i in range(3)))
    units = random_units(np.random.default_rng(4), 4, 3)
    dnf, along = (RuleGraph(schema, ("no", "yes"), Fires(form(FIGURE_4, units))) for form in (dnf_of_paths, nested))
    assert prove(dnf, reading_of_graph(along, dnf), lambda columns, table: False).proved


def test_figure_4_reads_as_its_gates():
    one, two, three, four = BITS[:4]
    assert dnf_of_paths(FIGURE_4, BITS[:4]) is Or(
        [And([Not(one), two]), And([one, three]), And([Not(one), Not(two), four])]
    )
    assert nested(FIGURE_4, BITS[:4]) is Or([And([one, three]), And([Not(one), Or([two, four])])])


def test_units_that_are_logic_themselves_are_named():
    units = [And(BITS[:2]), Not(BITS[2]), Or(BITS[3:5])]
    shape = Shape.of([1, NONE, NONE], [2, NONE, NONE])
    for form in (dnf_of_paths, nested):
        found, kept = tree_of_formula(form(shape, units), units)
        assert dnf_of_paths(found, kept) in (dnf_of_paths(shape, units), Or(dnf_of_paths(shape, units).children[::-1]))


def test_one_unit_may_stand_in_two_places():
    shape, units = Shape.of([1, NONE, NONE], [2, NONE, NONE]), [BITS[0], BITS[1], BITS[1]]
    assert nested(*tree_of_formula(nested(shape, units))) is nested(shape, units)


def test_a_long_chain_needs_no_recursion():
    shape = Shape.chain(600)
    units = [Compare("x0", ">", float(i)) for i in range(600)]
    found, kept = tree_of_formula(nested(shape, units))
    assert found.left.tolist() == shape.left.tolist()
    assert kept == units


@pytest.mark.parametrize(
    "formula",
    [
        Or([And([BITS[0], BITS[1]]), And([Not(BITS[0]), Not(BITS[1])])]),  # ends on a contrary
        Or([And([BITS[0], BITS[1]]), BITS[2]]),
        And([Or([BITS[0], BITS[1]]), BITS[2]]),
        Not(BITS[0]),
        Or([]),
    ],
)
def test_what_is_no_tree_is_refused(formula):
    with pytest.raises(GraphError, match="no tree of units"):
        tree_of_formula(formula)


@pytest.mark.parametrize("gates", [[[1, 0], [0, 1]], [[-1]], [[1, 0], [1, 1]], [[0]], [[1, -1]]])
def test_gates_of_no_tree_are_refused(gates):
    with pytest.raises(GraphError, match="no paths of a tree"):
        shape_of_gates(np.array(gates))
