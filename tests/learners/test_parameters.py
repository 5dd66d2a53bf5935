"""What parameters may be."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import clone

from rulekit import AdaBoostStumpClassifier, CNLLClassifier, RulesClassifier
from rulekit.errors import InputError
from rulekit.learners.contract import find_estimator, learner_names
from rulekit.learners.parameters import MOST, RunSettings

X, Y = [[0.0], [1.0]] * 5, [0, 1] * 5


@pytest.mark.parametrize("learner", [CNLLClassifier, AdaBoostStumpClassifier])
def test_every_number_has_a_bound_and_what_is_within_it_is_learned_with(learner: Any) -> None:
    """Those beyond were internal errors: an integer too large to convert, or infinity."""
    for name in set(learner.parameters) - {"memory", "positive", "default"}:
        allowed = learner.parameters[name].allowed
        for value in filter(allowed.holds, (MOST, float(MOST))):
            assert not allowed.holds(value * 10**11)
            if name != learner.size_parameter:
                learner(**{learner.size_parameter: 2, "n_folds": 2, name: value}).fit(X, Y)
    with pytest.raises(
        InputError, match=rf"{learner.size_parameter} is 1000000000000.*a whole number from 1 to 1,000,000,000"
    ):
        learner(10**20).fit(X, Y)


@pytest.mark.parametrize("word", learner_names())
def test_a_learner_lists_its_own_parameters_and_five_groups(word: str) -> None:
    learner = find_estimator(word)
    listed = learner().get_params(deep=False)
    grouped = {name for name, parameter in learner.parameters.items() if parameter.group}

    assert set(listed) == set(learner.parameters) - grouped | set(learner.groups)
    assert [name for name, value in listed.items() if name in learner.groups and value is not None] == []
    assert len(listed) <= 24
    by_name = learner(time_limit=60, types={"x": "numeric"})
    in_groups = learner(run=RunSettings(time_limit=60), reading={"types": {"x": "numeric"}})
    assert by_name.given_parameters() == in_groups.given_parameters() == clone(in_groups).given_parameters()


def test_parameters_of_groups_are_set_one_by_one() -> None:
    model = RulesClassifier(run={"time_limit": 60})
    model.set_params(run__n_threads=2, cost="1:5", max_rules=3).set_params(time_limit=30)
    assert (model.run, model.labels, model.max_rules) == ({"time_limit": 30, "n_threads": 2}, {"cost": "1:5"}, 3)
    assert model.set_params(run=None).given_parameters()["time_limit"] is None
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(run__max_rules=3)
    with pytest.raises(TypeError, match="no parameter 'time'"):
        RulesClassifier(time=3)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (60, r"run is 60; None, RunSettings\(\.\.\.\), or a mapping of n_threads, memory"),
        ({"time": 60}, "run has no parameter 'time'; it has n_threads, memory, time_limit"),
        ({"time_limit": -1}, "time_limit is -1; None, or a number from 0"),
    ],
)
def test_a_wrong_group_is_refused_by_name(group: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        RulesClassifier(run=group).fit(X, Y)
