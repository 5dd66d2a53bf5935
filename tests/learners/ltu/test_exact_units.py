"""Exact units decide as the real ones do on the rows of training, and as their nodes do everywhere."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ltu_cases import booleans, elsewhere, matrix_of, mixed, problem_of, tree_over
from table_rows import row_of

from rulekit.exactness import DOUBLE_BITS, SINGLE_BITS, span_of_sum
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.evaluation.oracle import evaluate_node
from rulekit.graph.nodes import Column, Compare, LinearThreshold
from rulekit.learners.ltu.exact_units import exact_units
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.learner import fires_of, unit_node
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_units_are_exact_and_decide_as_their_tree_and_their_nodes(seed):
    """As the sum and as what is read of it, by evaluator and oracle, with rows of training in any order and others."""
    rng = np.random.default_rng(seed)
    table = mixed(rng, int(rng.choice([12, 60, 300])))
    problem, schema, n = problem_of(table), Schema(table.features), table.n_rows
    inputs = Inputs.of(problem)
    tree = tree_over(rng, inputs)
    units = exact_units(tree, inputs, problem.codes, n)
    fires = fires_of(units, problem.codes, n)
    rows = matrix_of(inputs, problem.codes, n)
    clear = (np.abs(tree.margins(rows)) > 1e-9).all(axis=1)
    assert np.array_equal(tree.shape.decides(fires)[clear], tree.decides(rows)[clear])

    sums = [unit.node(problem.columns) for unit in units]
    read = [unit_node(unit, problem.columns, schema) for unit in units]
    values = evaluate_nodes([*sums, *read], table)
    for k, (node, short) in enumerate(zip(sums, read, strict=True)):
        span = span_of_sum(node)
        assert span is not None
        assert span.fits()
        assert np.array_equal(values[node], fires[:, k])
        assert np.array_equal(values[short], fires[:, k])
        for i in range(0, n, 17):
            assert evaluate_node(short, schema, row_of(table, i)) == fires[i, k]
    values = evaluate_nodes([*sums, *read], elsewhere(np.random.default_rng(seed), table))
    for node, short in zip(sums, read, strict=True):
        assert np.array_equal(values[node], values[short])
    again = exact_units(tree, inputs, problem.codes.take(rng.permutation(n)), n)
    assert [unit.node(problem.columns) for unit in again] == sums


def unit_of(columns, weights, bias):
    """The exact unit over columns with these weights of inputs as they are, its node and the columns."""
    features = tuple(Feature(name, "numeric" if name[0] == "x" else "boolean") for name in columns)
    arrays = tuple(np.asarray(array, dtype=np.float32) for array in columns.values())
    problem = problem_of(Table(features, arrays, len(arrays[0])))
    inputs = Inputs.of(problem)
    tree = LTUTree(Shape.chain(1), np.array([weights]), np.array([bias]))
    (unit,) = exact_units(tree, inputs, problem.codes, len(arrays[0]))
    return unit, unit_node(unit, problem.columns, Schema(features)), problem


def test_weights_of_numbers_are_small_whole_ones():
    """0.3 * age + 0.2 * visits >= 14 is 3 * age + 2 * visits, and rows on the plane fire."""
    age, visits = (grid.ravel() for grid in np.meshgrid(np.arange(18, 60), np.arange(20)))
    unit, node, problem = unit_of({"x_age": age, "x_visits": visits}, [0.3, 0.2], -14.0)
    assert isinstance(node, LinearThreshold)
    assert node.weights == (3.0, 2.0)
    assert [child.step for child in node.children] == [1.0, 1.0]
    assert node.bias == -139.5
    assert np.array_equal(unit.sums(problem.codes, len(age)) >= 0.0, 3 * age + 2 * visits >= 140)


@pytest.mark.parametrize(("missing", "weights", "holds"), [((), [-0.5], True), ((np.nan,), [-0.5, -9.0], False)])
def test_a_unit_of_one_number_is_a_comparison(missing, weights, holds):
    """A missing number is taken for the mean, 3.75, or says on which side it is where training has one."""
    _, node, _ = unit_of({"x": [1.0, 2.0, 4.0, 8.0, *missing]}, weights, 1.9)
    assert node is Compare("x", "<=", 3.0, holds)


def test_what_is_missing_is_a_value_of_its_column_where_there_is_such_a_one():
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 20, (2, 400)).astype(float)
    x[::7] = np.nan
    mean = float(np.nanmean(x))
    weights = [1.0, 15.0 - mean, 1.0]  # of x, of x being missing, of z
    _, node, _ = unit_of({"x": x, "x2": z}, weights, -20.0)
    assert node.children[0].missing == 15.0
    _, node, _ = unit_of({"x": x, "x2": z}, [1.0, 60.0, 1.0], -20.0)
    assert len(node.children) == 3


def test_columns_are_clipped_to_what_training_has_and_rounded_as_coarsely_as_it_allows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 200)).astype(np.float32)
    x = x[:, np.abs(x[0] + x[1] - 0.25) > 0.25]
    _, node, _ = unit_of({"x1": x[0], "x2": x[1]}, [1.0, 1.0], -0.25)
    assert node.weights == (1.0, 1.0)
    for child, values in zip(node.children, x, strict=True):
        assert isinstance(child, Column)
        assert child.step == 2.0**-5
        assert child.low == np.rint(values.min() * 32) / 32
        assert child.high == np.rint(values.max() * 32) / 32


def test_a_unit_that_no_row_divides_keeps_its_plane():
    """It is met by no row of one side, and stays where it was as far as that can be said by few bits."""
    table = booleans(np.random.default_rng(0), 200, 12)
    problem = problem_of(table)
    inputs = Inputs.of(problem)
    weights = np.array([np.ones(12), np.ones(12)])
    tree = LTUTree(Shape.chain(2), weights, np.array([0.5, -6.0]))  # the first fires always
    units = exact_units(tree, inputs, problem.codes, table.n_rows)
    sums = matrix_of(inputs, problem.codes, table.n_rows).sum(axis=1)
    fires = fires_of(units, problem.codes, table.n_rows)
    assert fires[:, 0].all()
    assert np.array_equal(fires[:, 1], sums >= 6)


def test_rows_that_do_not_come_to_a_unit_do_not_hold_it():
    """The second unit sees only rows above the first plane, so that one weight will do for it."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 40, (2, 500)).astype(np.float32)
    table = Table((Feature("x1"), Feature("x2")), tuple(x), 500)
    problem = problem_of(table)
    inputs = Inputs.of(problem)
    weights, biases = np.array([[1.0, 1.0], [1.0, 1.04]]), np.array([-70.0, -73.0])
    tree = LTUTree(Shape.chain(2, by_left=False), weights, biases)
    first, second = exact_units(tree, inputs, problem.codes, 500)
    assert [term.weight for term in first.terms] == [1.0, 1.0]
    assert [term.weight for term in second.terms] == [1.0, 1.0]


@pytest.mark.parametrize("missing", [False, True])
def test_a_negative_weight_stands_on_the_contrary(missing):
    """Where no row of training is missing, it does not hold of a missing cell; else it adds as much there as before."""
    rng = np.random.default_rng(0)
    b = rng.integers(0, 2, (3, 100)).astype(np.float32)
    if missing:
        b[0, :9] = np.nan
    weights = [-1.0, *([2.0] if missing else []), 1.0, 1.0]  # 2 where the first is missing
    unit, _, problem = unit_of({"b1": b[0], "b2": b[1], "b3": b[2]}, weights, -1.5)
    own = [term for term in unit.terms if term.column == 0]
    assert all(term.number is None for term in own)
    assert [term.weight > 0 for term in own] == [True] * len(own)
    assert not own[-1].values[0]
    real = 1.0 * np.nan_to_num(b[1] + b[2]) - np.nan_to_num(b[0]) + 2.0 * np.isnan(b[0]) >= 1.5
    assert np.array_equal(unit.sums(problem.codes, 100) >= 0.0, real)


@pytest.mark.parametrize(
    ("start", "spread", "bits", "wrong"), [(1.5e9, 1e6, SINGLE_BITS, 0.0), (1e15, 1e3, DOUBLE_BITS, 0.1)]
)
def test_numbers_far_from_zero_are_rounded_to_a_part_of_their_spread(start, spread, bits, wrong):
    """Seconds since 1970 leave few bits for anything else; where no grid of a double parts the rows, most are right."""
    rng = np.random.default_rng(0)
    arrays = (start + rng.random(500) * spread, rng.normal(size=500))
    table = Table((Feature("at", precision="float64"), Feature("x", precision="float64")), arrays, 500)
    problem = problem_of(table)
    inputs = Inputs.of(problem)
    tree = LTUTree(Shape.chain(1), *inputs.unscaled(np.array([[1.0, -0.7]]), np.array([0.1])))
    (unit,) = exact_units(tree, inputs, problem.codes, 500)
    real = tree.decides(matrix_of(inputs, problem.codes, 500))
    assert ((unit.sums(problem.codes, 500) >= 0.0) != real).mean() <= wrong
    assert unit.fits(bits)
