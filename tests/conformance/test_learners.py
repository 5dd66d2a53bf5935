"""check_learner: every installed learner passes it, and it sees a learner that does not."""

from __future__ import annotations

from typing import Any

import pytest

from rulekit import CNLLClassifier
from rulekit.conformance import learners
from rulekit.conformance.learners import check_learner, learner_checks
from rulekit.conformance.targets import Check
from rulekit.errors import InputError
from rulekit.learners.contract import find_estimator, find_learner, learner_names, refuse_unable

SMALL: dict[str, dict[str, Any]] = {
    "additive": {"max_rules": 3, "n_folds": 2},
    "adaboost": {"n_estimators": 8, "n_folds": 2},
    "cnll": {"n_units": 3, "n_folds": 2},
    "ltu-tree": {"max_nodes": 3, "n_starts": 1},
    "mada-winnow": {"shape": "small", "n_passes": 2, "n_networks": 2},
    "madaline": {"shape": "small", "n_passes": 2, "n_networks": 2},
    "noisy-or": {"max_causes": 4, "n_folds": 2},
}
CHECKS = [
    (name, check)
    for name in learner_names()
    for check in learner_checks(find_estimator(name), SMALL.get(name, {}), sklearn=False)
]


@pytest.mark.parametrize(("name", "check"), CHECKS, ids=[f"{name}: {check}" for name, check in CHECKS])
def test_every_learner_passes(name: str, check: Check) -> None:
    check.run()


def test_a_learner_that_breaks_its_promises_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(CNLLClassifier):
        """Learns from the first rows only, and swallows Ctrl-C."""

        word = "forgetful"

        def learn(self, question: Any) -> Any:
            rows = slice(0, len(question.problem.labels) // 3)
            from dataclasses import replace

            import numpy as np

            some = np.arange(len(question.problem.labels))[rows]
            yield from super().learn(replace(question, problem=question.problem.take(some)))
            return None

    asked = ("two classes: shuffled rows", "two classes: weights 0 and 2", "parameters are named")
    checks = [check for check in learner_checks(Forgetful, SMALL["cnll"], sklearn=False) if check.name in asked]
    monkeypatch.setattr(learners, "learner_checks", lambda *_, **__: checks)
    with pytest.raises(AssertionError) as caught:
        check_learner(Forgetful, SMALL["cnll"], sklearn=False)
    faults = str(caught.value)
    assert "forgetful, two classes: shuffled rows: AssertionError: another model" in faults
    assert "two classes: weights 0 and 2" in faults
    assert "parameters are named" not in faults


def test_a_learner_that_is_not_there_gets_the_nearest_name() -> None:
    assert "cnll" in learner_names()
    with pytest.raises(InputError, match="no learner 'cnl'; did you mean cnll"):
        find_learner("cnl")


def test_what_a_learner_cannot_is_refused_by_the_name_of_the_option() -> None:
    """It once was an internal error, after the table was read."""

    class Plain(CNLLClassifier):
        word = "plain"
        abilities = frozenset({"several"})

    for option, value in (("start", "rules.txt"), ("memory", "1GB"), ("ordered", "a,b")):
        with pytest.raises(InputError, match=f"--{option}: plain "):
            refuse_unable(Plain, {option: value, "target": "y"}, "--")
    with pytest.raises(InputError, match="memory: plain learns in memory only"):
        Plain(memory="1GB").fit(None, None)
    with pytest.raises(InputError, match="Plain takes no missing values"):
        Plain().fit([[1.0], [None]] * 5, [0, 1] * 5)
