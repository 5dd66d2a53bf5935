"""Madaline and Mada-winnow: the paper's updates, what they learn, and what is the same however rows are given."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.learners.ltu.growing import grow_tree
from rulekit.learners.ltu.madaline import SHAPES, best_of_several, network_of_tree, shape_named
from rulekit.learners.ltu.network.backprop import NetworkBackprop, train_whole
from rulekit.learners.ltu.network.networks import Network
from rulekit.learners.ltu.network.pruning import pruned, useless_parting, useless_unit, without_useless
from rulekit.learners.ltu.network.rules import FixedIncrement, Winnow
from rulekit.learners.ltu.network.training import Training, train, train_in_order
from rulekit.learners.ltu.nodes.kinds import node_of
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree
from rulekit.synthetic import five_bits

RULES = {"fixed": FixedIncrement(), "winnow": Winnow(), "paper": Winnow(2.0, 0.5, 4.0), "uneven": Winnow(1.5, 0.6)}


def bits_of(n, d, seed=0):
    rows, labels = five_bits(n, d, seed)
    return rows, labels == 1, np.ones(n)


def trained(rule, shape="small", n=500, d=6, seed=0, **training):
    rows, labels, weights = bits_of(n, d, seed)
    network = Network.new(rule, SHAPES[shape], np.ones(d, dtype=bool))
    return train(network, rows, labels, weights, np.random.default_rng(seed), Training(**training)), rows, labels


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
    found = train_in_order(
        network, rows, labels, weights, order[None], Training(choice=choice, prune="never")
    ).network.state
    expected = by_hand(RULES[rule], shape, rows, labels, order, choice == "least")
    own = found.weights if rule != "fixed" else np.hstack([found.weights, found.biases[:, None]])
    assert np.allclose(own, expected, rtol=1e-9)


@pytest.mark.parametrize("rule", ["fixed", "winnow"])
@pytest.mark.parametrize("shape", SHAPES)
def test_five_passes_learn_the_papers_function(rule, shape):
    found, rows, labels = trained(RULES[rule], shape, n=1500, d=12, passes=5)
    assert np.mean(found.tree.decides(rows) != labels) < 0.02
    assert [one.number for one in found.history] == [1, 2, 3, 4, 5]
    assert found.history[-1].error < 0.02


@pytest.mark.parametrize("rule", RULES)
def test_the_tree_decides_as_the_network(rule):
    found, rows, _ = trained(RULES[rule], "large", prune="never", passes=1)
    network = found.network
    of_network = network.shape.decides(network.fires(network.seen(rows)))
    assert found.tree.decides(rows).tolist() == of_network.tolist()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("keep", ["last", "averaged", "pocket"])
def test_the_interpreter_trains_the_same_network(rule, keep, monkeypatch):
    compiled = trained(RULES[rule], "large", n=80, d=5, passes=2, keep=keep)[0]
    monkeypatch.setitem(os.environ, "RULEKIT_NO_NUMBA", "1")
    interpreted = trained(RULES[rule], "large", n=80, d=5, passes=2, keep=keep)[0]
    assert interpreted.tree.weights.tolist() == compiled.tree.weights.tolist()
    assert interpreted.tree.biases.tolist() == compiled.tree.biases.tolist()
    assert interpreted.history == compiled.history


@pytest.mark.parametrize("rule", ["fixed", "winnow"])
def test_training_in_two_parts_is_training_at_once(rule):
    rows, labels, weights = bits_of(400, 6)
    orders = np.array([np.random.default_rng(k).permutation(400) for k in range(4)])
    network = Network.new(RULES[rule], SHAPES["large"], np.ones(6, dtype=bool))
    options = Training(prune="after", keep="averaged")
    at_once = train_in_order(network, rows, labels, weights, orders, options)
    first = train_in_order(network, rows, labels, weights, orders[:2], options)
    then = train_in_order(first.network, rows, labels, weights, orders[2:], options)
    assert then.network.state.weights.tolist() == at_once.network.state.weights.tolist()
    assert np.allclose(then.tree.weights, at_once.tree.weights)
    assert first.network.shown == 800  # what was trained first is as it was


@pytest.mark.parametrize("rule", RULES)
def test_a_row_of_weight_two_counts_as_two_rows(rule):
    rows, labels, _ = bits_of(120, 5)
    times = np.random.default_rng(2).integers(1, 4, 120)
    network = Network.new(RULES[rule], SHAPES["small"], np.ones(5, dtype=bool))
    rng = [np.random.default_rng(3) for _ in range(2)]
    weighed = train(network, rows, labels, times.astype(float), rng[0])
    repeated = train(network, np.repeat(rows, times, axis=0), labels.repeat(times), np.ones(times.sum()), rng[1])
    assert weighed.tree.weights.tolist() == repeated.tree.weights.tolist()


def test_averaged_weights_are_the_mean_of_all_that_rows_were_shown_to():
    rows, labels, weights = bits_of(60, 5)
    order = np.random.default_rng(0).permutation(60)
    network = Network.new(FixedIncrement(), SHAPES["small"], np.ones(5, dtype=bool))
    options = Training(prune="never", keep="averaged")
    seen = [
        train_in_order(network, rows, labels, weights, order[None, : n + 1], options).network.tree for n in range(60)
    ]
    found = train_in_order(network, rows, labels, weights, order[None], options).tree
    # The change of the last row comes after all that were shown.
    shown = [network.tree.weights, *(one.weights for one in seen[:-1])]
    assert np.allclose(found.weights, np.mean(shown, axis=0))


def test_the_pocket_never_errs_more_on_the_training_rows_than_the_last_weights():
    for seed in range(5):
        rows, labels = five_bits(300, 8, seed, noise=0.1)
        network = Network.new(FixedIncrement(), SHAPES["small"], np.ones(8, dtype=bool))
        found = [
            train(network, rows, labels == 1, np.ones(300), np.random.default_rng(seed), Training(3, keep=keep)).tree
            for keep in ("pocket", "last")
        ]
        pocket, last = (np.mean(tree.decides(rows) != (labels == 1)) for tree in found)
        assert pocket <= last


@st.composite
def answers_of_units(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    size = draw(st.integers(1, 7))
    left, right = [NONE] * size, [NONE] * size
    for unit in range(1, size):
        free = [(side, k) for k in range(unit) for side in (left, right) if side[k] == NONE]
        side, parent = free[rng.integers(len(free))]
        side[parent] = unit
    fires = rng.random((draw(st.integers(1, 12)), size)) < 0.5
    labels = rng.random(len(fires)) < 0.5 if draw(st.booleans()) else Shape.of(left, right).decides(fires)
    return Shape.of(left, right), fires, labels


@given(answers_of_units())
@settings(deadline=None)
def test_leaving_out_useless_units_makes_no_error(drawn):
    shape, fires, labels = drawn
    weights = np.ones(len(fires))
    smaller, kept = without_useless(shape, fires, labels, weights)
    assert np.sum(smaller.decides(fires[:, kept]) != labels) <= np.sum(shape.decides(fires) != labels)
    assert useless_unit(smaller, fires[:, kept], labels, weights) is None


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
    during = [unit for one in found.history for unit in one.unused]
    assert set(during) <= set(found.unused)
    assert found.network.names.tolist() == [k for k in range(4) if k not in during]
    assert np.mean(found.tree.decides(rows) != labels) == found.history[-1].error


@pytest.mark.parametrize("judging", ["held-out", "cross-validation"])
def test_the_best_of_several_is_chosen_by_rows_not_shown(judging):
    rows, labels, weights = bits_of(600, 6)
    network = Network.new(Winnow(), SHAPES["small"], np.ones(6, dtype=bool))
    found = best_of_several(network, rows, labels, weights, np.random.default_rng(0), 4, judging, Training(1))
    assert found.errors.shape == (4,)
    assert found.number == found.errors.argmin()
    assert found.trained.network.shown == 480
    assert np.mean(found.trained.tree.decides(rows) != labels) < 0.2


def test_a_network_goes_on_from_a_tree():
    rows, labels, weights = bits_of(1500, 8)
    tree = grow_tree(rows, labels, weights, node_of("backprop", 10), np.random.default_rng(0))
    conditions = np.ones(8, dtype=bool)
    assert not network_of_tree(tree, FixedIncrement(), conditions).state.weights.any()
    begun = network_of_tree(tree, FixedIncrement(), conditions, rows)
    assert begun.tree.decides(rows).tolist() == tree.decides(rows).tolist()
    by_powers = network_of_tree(tree, Winnow(1.05), conditions, rows)
    assert np.mean(by_powers.tree.decides(rows) != tree.decides(rows)) < 0.1
    for network in (begun, by_powers):
        found = train(network, rows, labels, weights, np.random.default_rng(1), Training(3))
        assert np.mean(found.tree.decides(rows) != labels) < 0.03


@pytest.mark.parametrize("noise", [0.0, 0.45])
def test_what_training_began_with_stays_unless_a_network_clearly_beats_it(noise):
    """On heart the best network, which won by chance, made the tree worse."""
    begun, rows, labels = trained(FixedIncrement(), passes=20)
    rng = np.random.default_rng(2)
    told, ones, last = labels ^ (rng.random(len(rows)) < noise), np.ones(len(rows)), Training(1)
    kept = best_of_several(begun.network, rows, told, ones, rng, 3, training=last, as_begun=True).trained.tree
    assert kept.decides(rows).tolist() == begun.network.tree.decides(rows).tolist()
    other = best_of_several(begun.network, rows, ~labels, ones, rng, 3, training=Training(9), as_begun=True).trained
    assert np.mean(other.tree.decides(rows) != labels) > 0.9


def test_fixed_increments_take_numbers_and_winnow_says_what_to_do():
    rng = np.random.default_rng(0)
    rows = np.hstack([(rng.random((800, 2)) < 0.5).astype(float), rng.normal(size=(800, 2))])
    labels = (rows[:, 2] + rows[:, 0] > 1.0) | (rows[:, 3] - rows[:, 1] > 1.0)
    conditions = np.array([True, True, False, False])
    network = Network.new(FixedIncrement(), SHAPES["small"], conditions)
    found = train(network, rows, labels, np.ones(800), rng, Training(20))
    assert np.mean(found.tree.decides(rows) != labels) < 0.05
    with pytest.raises(InputError, match="2 inputs are numbers; cut them into conditions"):
        Network.new(Winnow(), SHAPES["small"], conditions)
    with pytest.raises(InputError, match="the network has 4 inputs and the rows have 2"):
        train(network, rows[:, :2], labels, np.ones(800), rng)
    with pytest.raises(InputError, match="conditions are 0 or 1"):
        train(network, rows[:, ::-1], labels, np.ones(800), rng)


@pytest.mark.parametrize("shape", SHAPES)
def test_back_propagation_through_the_whole_network_learns_five_bits(shape):
    rows, labels, weights = bits_of(800, 5)
    errors = []
    for seed in range(3):  # it stays in a minimum at times, as the paper says
        tree = train_whole(SHAPES[shape], rows, labels, weights, np.random.default_rng(seed), NetworkBackprop(25))
        errors.append(np.mean(tree.decides(rows) != labels))
    assert min(errors) < 0.01


def test_the_gradient_of_the_whole_network_is_right(monkeypatch):
    """One step from the start moves every weight by the slope of half the squared error."""
    from rulekit.learners.ltu.network import backprop

    monkeypatch.setenv("RULEKIT_NO_NUMBA", "1")
    rng = np.random.default_rng(0)
    shape, x, target, gain = SHAPES["large"], rng.random((1, 5)), np.array([1.0]), 2.0
    units, biases = rng.normal(size=(4, 5)), rng.normal(size=4)

    def loss(units, biases):
        answers = 1.0 / (1.0 + np.exp(-(units @ x[0] + biases)))
        return 0.5 * (target[0] - backprop._answer(answers, shape.gates, gain, np.zeros(3))) ** 2

    moved, moved_biases = units.copy(), biases.copy()
    backprop.descend_together(x, target, np.array([0]), shape.gates, 1.0, 0.5, gain, moved, moved_biases)
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
        shape_named("xor-2")


@pytest.mark.parametrize("wrong", [{"alpha": 1.0}, {"beta": 1.5}, {"threshold": 0.0}, {"alpha": float("nan")}])
def test_factors_that_are_none_are_refused(wrong):
    with pytest.raises(InputError, match="not"):
        Winnow(**wrong)


@pytest.mark.parametrize("seed", range(6))
def test_a_pocket_is_never_worse_than_what_training_began_with(seed):
    """With begin=tree the last weights answered, and made the tree three times as bad on a table of loans."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 3))
    labels = (rows @ [2.0, -1.0, 0.5] > 0.3) ^ (rng.random(200) < 0.15)
    tree = LTUTree(Shape.chain(1, by_left=True), np.array([[2.0, -1.0, 0.5]]), np.array([-0.3]))
    began = network_of_tree(tree, FixedIncrement(), np.zeros(3, dtype=bool), rows)
    least = (tree.decides(rows) != labels).mean()

    kept = train(began, rows, labels, np.ones(200), np.random.default_rng(seed), Training(5, keep="pocket")).tree

    assert (kept.decides(rows) != labels).mean() <= least
