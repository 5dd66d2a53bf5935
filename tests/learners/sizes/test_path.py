"""One fit is the models of all its sizes, with what training and held-out rows say of each."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from cnll_cases import TREE, loan_rows

from rulekit import CNLLClassifier, RulesClassifier
from rulekit.errors import InputError
from rulekit.graph.check import check

KIND = {**TREE, "backfit": 2}


@pytest.fixture(scope="module")
def model() -> CNLLClassifier:
    return CNLLClassifier(6, positive="yes", **KIND).fit(*loan_rows(400))


def test_the_model_is_on_its_path(model: CNLLClassifier) -> None:
    (chosen,) = model.path_.chosen
    assert model.path_.graph_at(chosen) == model.rule_graph_
    assert model.path_.graph_at(chosen).provenance == model.rule_graph_.provenance
    assert [point.size for point in model.path_.points if point.chosen] == [chosen]


@pytest.mark.parametrize("size", [1, 3, 6])
def test_a_size_of_the_path_is_a_fit_of_that_size(model: CNLLClassifier, size: int) -> None:
    X, y = loan_rows(400)
    alone = CNLLClassifier(size, positive="yes", stopping="none", **KIND).fit(X, y)
    graph = model.path_.graph_at(size)
    check(graph)
    assert graph == alone.rule_graph_
    point = model.path_.points[size - 1]
    assert point.units == size == graph.provenance["units"][0]
    assert point.training_error == pytest.approx(np.mean(graph.predict(X) != y), abs=1e-12)


def test_the_path_goes_down(model: CNLLClassifier) -> None:
    objectives = [point.objective for point in model.path_.points]
    assert len(model.path_) == len(list(model.path_)) == 6
    assert objectives == sorted(objectives, reverse=True)


def test_the_points_say_what_the_curve_says(model: CNLLClassifier) -> None:
    (curve,) = model.curve_
    assert curve is not None
    assert [point.held_out_error for point in model.path_.points] == curve.error.tolist()
    assert [point.standard_error for point in model.path_.points] == curve.standard_error.tolist()
    assert curve.by_fold.shape == (5, 6)
    assert (model.curve_[0].standard_error > 0).any()


def test_without_cross_validation_held_out_rows_say_nothing() -> None:
    path = CNLLClassifier(3, stopping="none").fit(*loan_rows(200)).path_
    assert {(point.held_out_error, point.standard_error, point.smoothed) for point in path.points} == {(None,) * 3}


def test_several_classes_but_the_default_have_a_path_each() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 3))
    y = np.where(X[:, 0] > 0.7, "c", np.where(X[:, 1] > 0.6, "b", "a"))
    model = RulesClassifier(3, stopping="none").fit(X, y)
    assert {point.label for point in model.path_.points} == {"b", "c"}  # the default is where no rule holds
    assert model.path_.graph_at(1).provenance["units"] == [0, 1, 1]


@pytest.mark.parametrize("size", [0, 7, -1])
def test_a_size_that_is_not_there_is_named(model: CNLLClassifier, size: int) -> None:
    with pytest.raises(InputError, match=f"no model of size {size}"):
        model.path_.graph_at(size)


def test_a_path_can_be_copied(model: CNLLClassifier) -> None:
    for again in (copy.deepcopy(model.path_), pickle.loads(pickle.dumps(model.path_))):
        assert again.graph_at(2) == model.path_.graph_at(2)


def test_the_smallest_that_is_not_worse_is_not_larger() -> None:
    best, small = (CNLLClassifier(10, positive="yes", parsimony=p, **KIND).fit(*loan_rows(300, 3)) for p in (0.0, 1.0))
    assert small.path_.chosen[0] <= best.path_.chosen[0]
