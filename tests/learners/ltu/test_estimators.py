"""ltu-tree as a user runs it, and scikit-learn's own checks."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit import LTUTreeClassifier
from rulekit.conformance.learners import learner_checks
from rulekit.graph.nodes import AtLeast
from rulekit.synthetic import five_bits


@pytest.mark.long
def test_scikit_learns_own_checks_pass() -> None:
    next(iter(learner_checks(LTUTreeClassifier, {"n_starts": 1, "max_nodes": 3}))).run()


def test_the_five_bits_read_as_two_counts() -> None:
    """The paper's function, its columns in any order: at least four hold, or at least four do not."""
    X, y = five_bits(600, 12, seed=3)
    order = np.random.default_rng(0).permutation(12)
    model = LTUTreeClassifier(random_state=0).fit(X[:, order].astype(float), y)
    units = [node for node in model.rule_graph_.nodes() if isinstance(node, AtLeast)]
    assert sorted((unit.k, len(unit.children)) for unit in units) == [(4, 5), (4, 5)]
    test, truth = five_bits(2000, 12, seed=4)
    assert (model.predict(test[:, order].astype(float)) == truth).all()


def test_several_classes_are_rules_unless_sums_err_less() -> None:
    """Three directions in a plane: each class is one side of a line, and what no line holds goes to the nearest."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(600, 2))
    angle = np.arctan2(points[:, 1], points[:, 0])
    sectors = np.digitize(angle, [-np.pi / 3, np.pi / 3])
    compared = LTUTreeClassifier(max_nodes=1, n_starts=1, random_state=0).fit(points, sectors).rule_graph_
    assert not compared.decision.rule_sets
    assert (compared.predict(points) == sectors).mean() > 0.93  # what no line holds

    stripes = np.digitize(points[:, 0], [-0.5, 0.5])
    stripes[stripes == 1] = 0
    stripes[points[:, 1] > 1.0] = 1
    ruled = LTUTreeClassifier(n_starts=1, random_state=0).fit(points, stripes).rule_graph_
    assert ruled.decision.rule_sets
    assert (ruled.predict(points) == stripes).mean() > 0.97


def test_a_category_of_many_levels_counts_each() -> None:
    """With eight rows a level, levels of fewer than ten were one bin, and the tree as good as none."""
    rng = np.random.default_rng(3)
    worth, city, age = rng.normal(size=60), rng.integers(0, 60, 800), rng.normal(size=800)
    label = (2.0 * worth[city] + age > 0.0).astype(int)
    rows = {"city": [f"C{k}" for k in city], "age": age}
    train, test = (
        {name: list(np.asarray(values)[part]) for name, values in rows.items()}
        for part in (slice(480), slice(480, None))
    )
    model = LTUTreeClassifier(random_state=0).fit(train, label[:480])
    assert model.score(test, label[480:]) > 0.85
