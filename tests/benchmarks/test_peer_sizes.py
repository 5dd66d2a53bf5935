"""Rules and literals of models whose size is known."""

from __future__ import annotations

from types import SimpleNamespace as Made

import numpy as np

from benchmarks.learning.peers import ours, scikit_learn
from benchmarks.learning.peers.catalogue import ENTRIES, sized
from benchmarks.learning.peers.columns import Part
from benchmarks.learning.peers.definitions import Size
from benchmarks.learning.peers.environment import PLACES
from benchmarks.learning.peers.fasterrisk_peers import MOST_THRESHOLDS, Indicators
from benchmarks.learning.peers.fasterrisk_peers import size as risk_score_size
from benchmarks.learning.peers.imodels_peers import figs_size, rule_fit_size
from benchmarks.learning.peers.wittgenstein_peers import size as ripper_size

BITS = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 25, dtype=np.float64)
BOTH = (BITS[:, 0] * BITS[:, 1]).astype(np.int8)


def test_scikit_learns_models_count_leaves_tests_and_rounds() -> None:
    for labels, size in ((BOTH, Size(1, 2)), (1 - BOTH, Size(2, 3))):  # a tree's leaves of the positive class
        tree = scikit_learn.tree({"max_depth": 4, "random_state": 0}).fit(BITS, labels)
        assert scikit_learn.tree_size(tree) == size
    stumps = scikit_learn.stumps({"n_estimators": 7, "random_state": 0}).fit(BITS, BOTH)
    assert scikit_learn.stumps_size(stumps) == Size(len(stumps.estimators_), 2)
    assert scikit_learn.logistic_size(scikit_learn.logistic({}).fit(BITS, BOTH)) == Size(1, 2)
    boosted = scikit_learn.boosted({"max_iter": 3, "min_samples_leaf": 1}).fit(BITS, BOTH)
    assert scikit_learn.boosted_size(boosted) == Size(9, 6)


def test_native_levels_decide_and_levels_never_seen_are_missing() -> None:
    colours = np.array(["red", "green", "", "blue"] * 25)
    part = Part({"c": colours, "x": np.arange(100.0)}, BITS, (colours == "red").astype(np.int8))
    model = scikit_learn.native({"min_samples_leaf": 5}).fit(part, part.labels)
    assert model.predict(part).tolist() == part.labels.tolist()
    unseen = Part({"c": np.array(["mauve", ""]), "x": np.array([1.0, 1.0])}, BITS[:2], part.labels[:2])
    assert len(set(model.predict_proba(unseen)[:, 1].tolist())) == 1


def test_other_models_count_leaves_terms_conditions_and_points() -> None:
    leaf = Made(left=None, right=None)
    stump = Made(left=leaf, right=leaf)
    assert figs_size(Made(trees_=[Made(left=stump, right=leaf), stump])) == Size(5, 2 + 2 + 1 + 1 + 1)
    rules = [Made(agg_dict={"a": 1, "b": 2}, conds=[1, 2]), Made(agg_dict={"c": 1}, conds=[1])]
    linear = {"include_linear": True, "n_features_": 3, "coef": [0.0, 0.5, -1.0, 2.0, 3.0]}
    assert rule_fit_size(Made(**linear, rules_without_feature_names_=rules)) == Size(4, 5)
    assert ripper_size(Made(ruleset_=Made(rules=rules))) == Size(2, 3)
    assert risk_score_size(Made(model=Made(coefficients=np.array([0.0, 3.0, -1.0, 0.0])))) == Size(2, 2)


def test_indicators_come_from_training_rows_and_a_missing_number_has_one_of_its_own() -> None:
    part = Part(
        {"c": np.array(["a", "", "b", "a"]), "x": np.array([1.0, np.nan, 2.0, 3.0]), "n": np.array([5, 5, 5, 5])},
        BITS[:4],
        BOTH[:4],
    )
    found = Indicators(part)
    # Of c missing, a, b; of x at most 1, at most 2, missing; n has one value and gives nothing.
    assert found.of(part).tolist() == [[0, 1, 0, 1, 1, 0], [1, 0, 0, 0, 0, 1], [0, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0]]
    other = Part({"c": np.array(["mauve"]), "x": np.array([9.0]), "n": np.array([7])}, BITS[:1], BOTH[:1])
    assert found.of(other).tolist() == [[0, 0, 0, 0, 0, 0]]
    # A number of many values has a hundred of them as thresholds.
    many = Part({"x": np.arange(1000)}, BITS, BOTH)
    bits = Indicators(many).of(many)
    assert bits.shape == (1000, MOST_THRESHOLDS - 1)
    assert (np.diff(bits.sum(axis=0)) > 0).all()


def test_ours_finds_two_rules_of_two_literals() -> None:
    bits = np.random.RandomState(0).randint(0, 2, (2000, 8))
    labels = ((bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])).astype(np.int8)
    part = Part({f"h{j}": bits[:, j] for j in range(8)}, bits.astype(np.float64), labels)
    model = ours.build({**ours.SMALL, "n_units": 4}).fit(ours.table_of(part), labels)
    assert ours.size(model) == Size(2, 4)
    decided, scores = ours.predict(model, ours.table_of(part))
    assert decided.tolist() == labels.tolist()
    assert scores[labels == 1].min() > scores[labels == 0].max()
    # Missing cells stay missing.
    table = ours.table_of(Part({"c": np.array(["a", ""]), "x": np.array([np.nan, 1.0])}, BITS[:2], BOTH[:2]))
    assert [feature.name for feature in table.features] == ["c", "x"]
    assert "" not in (table.features[0].levels or ())


def test_every_entry_builds_or_belongs_to_an_environment_of_peers() -> None:
    for peer in ENTRIES.values():
        assert peer.environment == "ours" or peer.environment in PLACES
        if peer.environment == "ours" and "form" not in peer.parameters:
            peer.build(peer.parameters)


def test_families_for_curves_change_only_the_size() -> None:
    assert sized("rulekit", 7).parameters == {**ours.SMALL, "n_units": 7}
    assert sized("FIGS", 5).parameters == {**ENTRIES["FIGS"].parameters, "max_rules": 5}
    assert sized("CART", 1).parameters["max_leaf_nodes"] == 2  # one split
    assert sized("AdaBoost", 3).name == "AdaBoost 3"


def test_the_first_stumps_of_adaboost_are_the_model_of_so_many_rounds() -> None:
    """Curves fit the largest model only."""
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 6))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int8)
    path = scikit_learn.stumps_path(scikit_learn.stumps({"n_estimators": 9, "random_state": 0}).fit(X, y), X)
    for size in (1, 4, 9):
        few = scikit_learn.stumps({"n_estimators": size, "random_state": 0}).fit(X, y)
        assert path[size - 1].tolist() == few.predict(X).tolist()
