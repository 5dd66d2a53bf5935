"""What parameters may be."""

from __future__ import annotations

from typing import Any

import pytest

from rulekit import AdaBoostStumpClassifier, CNLLClassifier
from rulekit.errors import InputError
from rulekit.learners.parameters import MOST

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
