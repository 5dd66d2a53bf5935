"""Madaline and Mada-winnow: the paper's updates, what they learn, and what is the same however rows are given."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ltu_cases import matrix_of, shape_of

from rulekit import MadalineClassifier, MadaWinnowClassifier
from rulekit.conformance.learners import learner_checks
from rulekit.errors import InputError
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.ltu.inputs import Inputs
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.papers.ltu_trees import PaperLTUTreeClassifier, fit_of, grow_tree, random_orders
from rulekit.learners.papers.madaline import SHAPES, shape_named
from rulekit.learners.papers.madaline_networks import (
    FixedIncrement,
    Network,
    NetworkTraining,
    Winnow,
    best_of_several,
    pruned,
    train,
    useless_parting,
    without_useless,
)
from rulekit.learners.papers.madaline_steps import train_whole
from rulekit.synthetic import five_bits
from rulekit.tables.kinds.inference import infer

RULES = {"fixed": FixedIncrement(), "winnow": Winnow(), "paper": Winnow(2.0, 0.5, 4.0), "uneven": Winnow(1.5, 0.6)}


def bits_of(n, d, seed=0):
    rows, labels = five_bits(n, d, seed)
    return rows, labels == 1, np.ones(n)


def trained(rule, shape="small", n=500, d=6, seed=0, **training):
    rows, labels, weights = bits_of(n, d, seed)
    network = Network.new(rule, SHAPES[shape], np.ones(d, dtype=bool))
    return shown(network, rows, labels, weights, seed, **training), rows, labels


def shown(network, rows, labels, weights, seed=0, passes=5, **training):
    orders = random_orders(weights, passes, np.random.default_rng(seed))
    return train(network, rows, labels, weights, orders, NetworkTraining(passes, **training))


def by_hand(rule, shape, rows, labels, order, least):
    """The pseudo-code of the update, line by line, with whole rows."""
    winnow = isinstance(rule, Winnow)
    seen = np.hstack([rows, 1.0 - rows]) if winnow else np.hstack([2.0 * rows - 1.0, np.ones((len(rows), 1))])
    theta = rule.threshold_of(rows.shape[1]) if winnow else 0.0
    w = np.full((shape.size, seen.shape[1]), 1.0 if winnow else 0.0)

    def move(k, x, up):
        if not winnow:
            w[k] += x if up else -x
        else:
            w[k] *= (rule.alpha if up else rule.beta or 1.0 / rule.alpha) ** x

    for row in order:
        x, z = seen[row], w @ seen[row] - theta
        end, answer = shape.ends(z[None] >= 0.0)
        if answer[0] and not labels[row]:
            move(end[0], x, False)
        elif labels[row] and not answer[0]:
            costs = {}
            for leaf in np.flatnonzero(shape.right == NONE):
                ways = shape.ways[leaf]
                wrong = [k for k in np.flatnonzero(ways) if (ways[k] > 0) != (z[k] >= 0.0)]
                costs[leaf] = max(0.0, -z[leaf]) + abs(z[wrong]).sum() if least else abs(z[leaf])
            leaf = min(costs, key=costs.get)
            ways = shape.ways[leaf]
            for k in np.flatnonzero(ways):
                if (ways[k] > 0) != (z[k] >= 0.0):
                    move(k, x, ways[k] > 0)
            move(leaf, x, True)
    return w


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("choice", ["least", "closest"])
@pytest.mark.parametrize("shape", [*SHAPES.values(), Shape.of([1, NONE, 4, NONE, NONE], [2, 3, NONE, NONE, NONE])])
def test_the_kernel_does_what_the_pseudo_code_says(rule, choice, shape):
    rows, labels, weights = bits_of(300, 6)
    order = np.random.default_rng(1).permutation(300)
    network = Network.new(RULES[rule], shape, np.ones(6, dtype=bool))
    training = NetworkTraining(choice=choice, prune="never")
    found = train(network, rows, labels, weights, order[None], training).network.state
    expected = by_hand(RULES[rule], shape, rows, labels, order, choice == "least")
    own = found.weights if rule != "fixed" else np.hstack([found.weights, found.biases[:, None]])
    assert np.allclose(own, expected, rtol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_the_tree_decides_as_the_network(rule):
    found, rows, _ = trained(RULES[rule], "large", prune="never", passes=1)
    network = found.network
    of_network = network.shape.decides(network.fires(network.seen(rows)))
    assert found.tree.decides(rows).tolist() == of_network.tolist()


@pytest.mark.parametrize("rule", ["fixed", "winnow"])
def test_training_in_two_parts_is_training_at_once(rule):
    rows, labels, weights = bits_of(400, 6)
    orders = np.array([np.random.default_rng(k).permutation(400) for k in range(4)])
    network = Network.new(RULES[rule], SHAPES["large"], np.ones(6, dtype=bool))
    options = NetworkTraining(prune="after")
    at_once = train(network, rows, labels, weights, orders, options)
    first = train(network, rows, labels, weights, orders[:2], options)
    then = train(first.network, rows, labels, weights, orders[2:], options)
    assert then.network.state.weights.tolist() == at_once.network.state.weights.tolist()
    assert np.array_equal(then.tree.weights, at_once.tree.weights)
    again = train(network, rows, labels, weights, orders[:2], options).network  # what was trained first is as it was
    assert first.network.state.weights.tolist() == again.state.weights.tolist()


@st.composite
def answers_of_units(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = shape_of(rng, draw(st.integers(1, 7)))
    fires = rng.random((draw(st.integers(1, 12)), shape.size)) < 0.5
    labels = rng.random(len(fires)) < 0.5 if draw(st.booleans()) else shape.decides(fires)
    return shape, fires, labels


@given(answers_of_units())
@settings(deadline=None)
def test_leaving_out_useless_units_makes_no_error(drawn):
    shape, fires, labels = drawn
    weights = np.ones(len(fires))
    smaller, kept = without_useless(shape, fires, labels, weights)
    assert np.sum(smaller.decides(fires[:, kept]) != labels) <= np.sum(shape.decides(fires) != labels)
    assert without_useless(smaller, fires[:, kept], labels, weights)[0] is smaller


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_a_unit_that_only_parts_two_planes_is_of_no_use(seed):
    """Its children would be asked in turn to the same effect, whatever hangs below them."""
    rng = np.random.default_rng(seed)
    shape = Shape.of([1, NONE, 3, 4, NONE, NONE], [2, 5, NONE, NONE, NONE, NONE])
    fires = rng.random((40, 6)) < 0.5
    below = (fires[:, 2] | fires[:, 3] | fires[:, 4], fires[:, 1] & fires[:, 5])
    fires[:, 0] = np.where(below[0], True, np.where(below[1], False, fires[:, 0]))
    labels = shape.decides(fires)
    found = useless_parting(shape, fires, labels, np.ones(40))
    assert found is not None
    assert sorted(found[1].tolist()) == [1, 2, 3, 4, 5]
    assert found[0].decides(fires[:, found[1]]).tolist() == labels.tolist()


@given(st.integers(0, 2**32))
@settings(deadline=None)
def test_a_pruned_tree_errs_no_more_and_has_no_constant_unit_left(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (30, 3)).astype(float)
    shape = Shape.of([1, 3, 5, NONE, NONE, NONE], [2, 4, NONE, NONE, NONE, NONE])
    tree = LTUTree(shape, rng.integers(-2, 3, (6, 3)).astype(float), rng.integers(-2, 3, 6).astype(float))
    labels = tree.decides(rows) ^ (rng.random(30) < 0.2 * rng.integers(0, 2))
    smaller, kept = pruned(tree, rows, labels, np.ones(30))
    assert np.sum(smaller.decides(rows) != labels) <= np.sum(tree.decides(rows) != labels)
    assert smaller.size == len(kept)
    fires = smaller.margins(rows) >= 0.0
    if smaller.size > 1:
        assert (fires.any(axis=0) & ~fires.all(axis=0)).all()


def test_units_of_no_use_are_left_out_and_named():
    """The larger network of the paper leaves units unused, which it found by looking at the weights."""
    found, rows, labels = trained(FixedIncrement(), "large", n=3000, d=8, passes=6)
    assert found.tree.size == 2
    assert len(found.unused) == 2
    during = [unit for one in found.passes for unit in one["unused"]]
    assert set(during) <= set(found.unused)
    assert found.network.names.tolist() == [k for k in range(4) if k not in during]
    assert np.mean(found.tree.decides(rows) != labels) == found.passes[-1]["error"]


@pytest.mark.parametrize("by_turns", [False, True])
def test_the_best_of_several_is_chosen_by_rows_not_shown(by_turns):
    rows, labels, weights = bits_of(600, 6)
    network = Network.new(Winnow(), SHAPES["small"], np.ones(6, dtype=bool))
    rng, once = np.random.default_rng(0), NetworkTraining(1)
    found, errors = best_of_several(network, rows, labels, weights, rng, 4, training=once, by_turns=by_turns)
    assert errors.shape == (4,)
    assert errors.min() < 0.2
    assert np.mean(found.tree.decides(rows) != labels) < 0.2


@pytest.mark.parametrize("shape", SHAPES)
def test_back_propagation_through_the_whole_network_learns_five_bits(shape):
    rows, labels, weights = bits_of(800, 5)
    errors = []
    for seed in range(3):  # it stays in a minimum at times, as the paper says
        tree = train_whole(SHAPES[shape], rows, labels, weights, np.random.default_rng(seed), 25)
        errors.append(np.mean(tree.decides(rows) != labels))
    assert min(errors) < 0.01


def test_the_gradient_of_the_whole_network_is_right(monkeypatch):
    """One step from the start moves every weight by the slope of half the squared error."""
    from rulekit.learners.papers import madaline_steps as backprop

    monkeypatch.setenv("RULEKIT_NO_NUMBA", "1")
    rng = np.random.default_rng(0)
    shape, x, target, gain = SHAPES["large"], rng.random((1, 5)), np.array([1.0]), 2.0
    units, biases = rng.normal(size=(4, 5)), rng.normal(size=4)

    def loss(units, biases):
        answers = 1.0 / (1.0 + np.exp(-(units @ x[0] + biases)))
        return 0.5 * (target[0] - backprop._answer(answers, shape.gates, gain, np.zeros(3))) ** 2

    moved, moved_biases = units.copy(), biases.copy()
    backprop.descend_together(x, target, np.array([0]), shape.gates, (1.0, 0.5, gain), moved, moved_biases)
    for k in range(4):
        for i in range(5):
            near = [units.copy() for _ in range(2)]
            near[0][k, i] += 1e-5
            near[1][k, i] -= 1e-5
            slope = (loss(near[0], biases) - loss(near[1], biases)) / 2e-5
            assert np.isclose(moved[k, i] - units[k, i], -slope, rtol=1e-3, atol=1e-9)


def test_shapes_have_names():
    assert shape_named("or-3").left.tolist() == [1, 2, NONE]
    assert shape_named("and-2").right.tolist() == [1, NONE]
    assert shape_named("large").gates.tolist() == [[-1, 1, 0, 0], [1, 0, 1, 0], [-1, -1, 0, 1]]
    with pytest.raises(InputError, match="no network of the shape 'xor-2'"):
        MadalineClassifier(shape="xor-2").fit([[0], [1]], [0, 1])


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"beta": 1.5}, {"threshold": 0.0}, {"alpha": float("nan")}])
def test_factors_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match="not"):
        Winnow(**wrong)


@pytest.mark.long
@pytest.mark.parametrize("learner", [MadalineClassifier, MadaWinnowClassifier])
def test_scikit_learns_own_checks_pass(learner):
    next(iter(learner_checks(learner, {"shape": "small", "n_networks": 2}))).run()


@pytest.mark.parametrize("learner", [MadalineClassifier, MadaWinnowClassifier])
@pytest.mark.parametrize("shape", SHAPES)
def test_networks_learn_the_five_bits_and_name_what_is_unused(learner, shape):
    X, y = five_bits(1500, 8, seed=5)
    model = learner(shape=shape, random_state=0).fit(X, y)
    test, truth = five_bits(2000, 8, seed=6)
    assert (model.predict(test) != truth).mean() < 0.03
    (record,) = model.history_
    assert record["unit"] + len(record["unused"]) == SHAPES[shape].size
    assert [one["pass"] for one in record["passes"]] == [1, 2, 3, 4, 5]
    assert record["passes"][-1]["error"] < 0.03


# From binned columns to a network or a tree, and back to weights of the columns as they are ---------------------------


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
