"""From binned columns to a network and a tree, and back to weights of the columns as they are."""

import numpy as np
import pytest
from ltu_cases import matrix_of

from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.papers.ltu_trees import PaperLTUTreeClassifier, fit_of, grow_tree, random_orders
from rulekit.learners.papers.madaline import SHAPES, MadalineClassifier
from rulekit.learners.papers.madaline_networks import FixedIncrement, Network, NetworkTraining, train
from rulekit.tables.kinds.inference import infer


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    n = 600
    columns = {
        "size": rng.normal(100.0, 20.0, n).round(1),
        "flag": rng.integers(0, 2, n).astype(float),
        "colour": rng.choice(["red", "green", "blue"], n),
    }
    labels = (columns["size"] + 20.0 * columns["flag"] > 125.0) | (columns["colour"] == "red")
    table = infer(columns)
    weights = np.ones(n, dtype=np.int64)
    binned, codes = bin_table(table, weights, None)
    return Problem(binned, codes, labels.astype(np.int64), weights, 1.0)


def test_plain_conditions_are_0_and_1_and_numbers_standardised(problem):
    inputs = Inputs.of(problem, only_numbers=True)
    rows = inputs.standardised(problem.codes, len(problem.labels))
    numbers = inputs.are_numbers
    assert numbers.any()
    assert not numbers.all()
    assert set(np.unique(rows[:, ~numbers])) == {0.0, 1.0}
    assert np.allclose(rows[:, numbers].mean(axis=0), 0.0)
    assert np.allclose(rows[:, numbers].std(axis=0), 1.0)


@pytest.mark.parametrize("way", ["network", "tree"])
def test_weights_are_read_in_the_units_of_the_columns(problem, way):
    inputs = Inputs.of(problem, only_numbers=True)
    n = len(problem.labels)
    rows, labels, rng = inputs.standardised(problem.codes, n), problem.labels == 1, np.random.default_rng(1)
    if way == "network":
        began = Network.new(FixedIncrement(), SHAPES["small"], ~inputs.are_numbers)
        tree = train(began, rows, labels, np.ones(n), random_orders(np.ones(n), 20, rng), NetworkTraining()).tree
    else:
        tree = grow_tree(rows, labels, np.ones(n), fit_of("backprop", 20), rng)
    assert np.mean(tree.decides(rows) != labels) < 0.03
    weights, biases = inputs.unscaled(tree.weights, tree.biases)
    as_they_are = matrix_of(inputs, problem.codes, n)
    assert np.allclose(as_they_are @ weights.T + biases, tree.margins(rows))


def test_rows_that_weigh_a_fraction_are_shown_as_often_as_they_weigh(monkeypatch):
    """Their weights are whole multiples of a tiny unit, which once were taken as that many rows each."""
    from rulekit.learners.papers import ltu_trees

    shown = []

    def shown_times(weights):
        shown.append(weights.sum())
        return found(weights)

    found = ltu_trees.shown_times
    monkeypatch.setattr(ltu_trees, "shown_times", shown_times)
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (80, 4)).astype(float)
    weights = rng.random(80) + 0.5
    for learner in (MadalineClassifier(), PaperLTUTreeClassifier()):
        learner.fit(rows, rows[:, 0] + rows[:, 1] > 0, sample_weight=weights)
    assert shown
    assert max(shown) <= weights.sum() + 1e-6
