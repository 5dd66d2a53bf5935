"""The paper's units, one by one, and the trees that grow of them."""

import os

import numpy as np
import pytest

from rulekit.learners.papers.ltu_trees import (
    KINDS,
    are_conditions,
    as_signs,
    best_single,
    fit_best,
    fit_of,
    grow_tree,
    of_complements,
    of_signs,
    shown_times,
    with_complements,
)


def rows_of(n, d, seed=0, numbers=0):
    rng = np.random.default_rng(seed)
    return np.hstack([(rng.random((n, d)) < 0.5).astype(float), rng.normal(size=(n, numbers))])


def fitted(kind, inputs, labels, weights=None, seed=0):
    weights = np.ones(len(labels)) if weights is None else weights
    return fit_of(kind, 10)(inputs, labels, weights, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_learns_a_majority_of_three_and_numbers_beside_conditions(kind):
    for rows, signs, least in ((rows_of(400, 8), [1, 1, 1], 2.0), (rows_of(600, 3, numbers=3), [1, 0, 0, 1, -1], 0.5)):
        labels = rows[:, : len(signs)] @ signs >= least
        unit, bias = fitted(kind, rows, labels)
        assert np.mean((rows @ unit + bias >= 0.0) == labels) > (0.97 if least == 2.0 else 0.9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answer", [False, True])
def test_rows_of_one_class_are_answered_by_it(kind, answer):
    rows = rows_of(50, 4)
    unit, bias = fitted(kind, rows, np.full(50, answer))
    assert np.mean((rows @ unit + bias >= 0.0) == answer) > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_of_weight_two_counts_as_two_rows(kind):
    rows = rows_of(60, 5)
    labels = rows[:, :3].sum(axis=1) >= 2
    weights = np.random.default_rng(1).integers(1, 4, 60)
    once = fitted(kind, np.repeat(rows, weights, axis=0), labels.repeat(weights))
    weighed = fitted(kind, rows, labels, weights.astype(float))
    assert np.allclose(once[0], weighed[0], atol=1e-5)
    assert np.isclose(once[1], weighed[1], atol=1e-5)


@pytest.mark.parametrize("kind", ["backprop", "perceptron"])
def test_the_interpreter_fits_the_same_unit(kind, monkeypatch):
    rows = rows_of(40, 4)
    labels = rows[:, :2].sum(axis=1) == 1
    compiled = fitted(kind, rows, labels)
    monkeypatch.setitem(os.environ, "RULEKIT_NO_NUMBA", "1")
    interpreted = fitted(kind, rows, labels)
    assert compiled[0].tolist() == interpreted[0].tolist()
    assert compiled[1] == interpreted[1]


def test_other_inputs_are_read_back_to_those_as_they_are():
    rows = rows_of(30, 3, numbers=2)
    conditions = are_conditions(rows)
    assert conditions.tolist() == [True, True, True, False, False]
    rng = np.random.default_rng(3)
    of_sign, doubled = rng.normal(size=5), rng.normal(size=8)
    unit, bias = of_signs(of_sign, 0.5, conditions)
    assert np.allclose(rows @ unit + bias, as_signs(rows, conditions) @ of_sign + 0.5)
    unit, bias = of_complements(doubled, 0.5, conditions)
    assert np.allclose(rows @ unit + bias, with_complements(rows, conditions) @ doubled + 0.5)


def test_the_best_of_several_errs_least():
    def never(inputs, labels, weights, rng):
        return np.zeros(inputs.shape[1]), -1.0

    def first(inputs, labels, weights, rng):
        return np.eye(inputs.shape[1])[0], -0.5

    rows = rows_of(40, 3)
    unit, _ = fit_best(rows, rows[:, 0] == 1.0, np.ones(40), np.random.default_rng(0), (never, first, never))
    assert unit.tolist() == [1.0, 0.0, 0.0]


def test_rows_are_shown_as_often_as_they_weigh():
    assert shown_times(np.array([1.0, 3.0, 2.0])).tolist() == [1, 3, 2]
    assert shown_times(np.full(4, 0.5)).tolist() == [1, 1, 1, 1]
    some = shown_times(np.array([0.5, 0.5, 3.0, 0.25, 0.75]))
    assert some.sum() == 5
    assert some[2] == 3


def test_one_value_of_one_input_parts_best():
    rows = np.array([[0.0, 3.0], [1.0, 5.0], [0.0, 7.0], [1.0, 9.0]])
    labels = np.array([False, False, True, True])
    assert best_single(rows, labels, np.ones(4)) == (1, 7.0)
    assert best_single(np.ones((4, 2)), labels, np.ones(4)) is None


@pytest.mark.parametrize("kind", ["perceptron", "logistic"])
def test_a_perceptron_tree_asks_for_one_input_and_decides_by_units(kind):
    """A multiplexer: the first input says which of two majorities counts."""
    rows = rows_of(800, 7)
    labels = np.where(rows[:, 0] == 1.0, rows[:, 1:4].sum(axis=1) >= 2, rows[:, 4:7].sum(axis=1) < 2)
    tree = grow_tree(rows, labels, np.ones(800), fit_of(kind, 10), np.random.default_rng(0), single=True)
    assert np.mean(tree.decides(rows) == labels) > 0.95
    inner = (tree.shape.left >= 0) | (tree.shape.right >= 0)
    assert inner.any()
    assert (np.count_nonzero(tree.weights[inner], axis=1) == 1).all()
    assert ((tree.shape.left >= 0) == (tree.shape.right >= 0)).all()


def test_a_perceptron_tree_keeps_its_limit_of_units():
    rows = rows_of(300, 6)
    labels = rows.sum(axis=1) % 2 == 1
    fit, rng = fit_of("logistic"), np.random.default_rng(0)
    tree = grow_tree(rows, labels, np.ones(300), fit, rng, most_units=5, single=True)
    assert tree.size <= 5


def test_the_papers_tree_learns_what_no_single_unit_can():
    rows = rows_of(1500, 8)
    counts = rows[:, :5].sum(axis=1)
    labels = (counts <= 1) | (counts >= 4)
    tree = grow_tree(rows, labels, np.ones(1500), fit_of("backprop", 25), np.random.default_rng(0))
    assert np.mean(tree.decides(rows) == labels) > 0.97
    assert 2 <= tree.size <= 5


# Growing a tree -------------------------------------------------------------------------------------------------------


RNG = np.random.default_rng(0)


def first_input(inputs, labels, weights, rng):
    """Fires where the first input that is not the same on all rows is 1."""
    varying = np.flatnonzero(inputs.min(axis=0) < inputs.max(axis=0))
    unit = np.zeros(inputs.shape[1])
    unit[varying[:1]] = 1.0
    return unit, -0.5


def both_of(n):
    rows = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * n)
    return rows, np.ones(len(rows))


def test_a_side_with_errors_has_a_child_and_the_tree_is_right():
    rows, weights = both_of(50)
    labels = (rows[:, 0] == 1.0) & (rows[:, 1] == 1.0)
    tree = grow_tree(rows, labels, weights, first_input, RNG)
    assert (tree.shape.left.tolist(), tree.shape.right.tolist()) == ([-1, -1], [1, -1])
    assert tree.decides(rows).tolist() == labels.tolist()


def never(inputs, labels, weights, rng):
    return np.zeros(inputs.shape[1]), -1.0


@pytest.mark.parametrize(("most", "size"), [(None, 10), (4, 4)])
def test_a_unit_that_parts_nothing_is_tried_again_down_to_the_depth_or_the_limit(most, size):
    rows, weights = both_of(10)
    assert grow_tree(rows, rows[:, 0] == 1.0, weights, never, RNG, most_units=most).size == size
