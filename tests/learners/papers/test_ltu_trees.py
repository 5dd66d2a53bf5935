"""Growing a tree: who gets a child, and that the tree decides as its growing has seen."""

import numpy as np
import pytest

from rulekit.learners.papers.ltu_trees import grow_tree

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


def test_a_weight_of_two_counts_as_two_rows():
    rows, weights = both_of(30)
    labels = (rows[:, 0] == 1.0) ^ (rows[:, 1] == 1.0)
    labels[:3] ^= True
    once = grow_tree(np.repeat(rows, 2, axis=0), labels.repeat(2), weights.repeat(2), first_input, RNG)
    twice = grow_tree(rows, labels, 2.0 * weights, first_input, RNG)
    assert once.shape.left.tolist() == twice.shape.left.tolist()
    assert once.weights.tolist() == twice.weights.tolist()


def never(inputs, labels, weights, rng):
    return np.zeros(inputs.shape[1]), -1.0


@pytest.mark.parametrize(("most", "size"), [(None, 10), (4, 4)])
def test_a_unit_that_parts_nothing_is_tried_again_down_to_the_depth_or_the_limit(most, size):
    rows, weights = both_of(10)
    assert grow_tree(rows, rows[:, 0] == 1.0, weights, never, RNG, most_units=most).size == size
