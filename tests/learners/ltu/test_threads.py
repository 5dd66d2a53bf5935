"""Models do not depend on how many threads multiply matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from rulekit import LTUTreeClassifier, MadalineClassifier, MadaWinnowClassifier
from rulekit.learners.ltu import inputs as ltu_inputs
from rulekit.learners.papers.ltu_trees import PaperLTUTreeClassifier

NETWORK = {"shape": "or-3", "n_networks": 1, "n_passes": 1}
LEARNERS: list[tuple[type[Any], int, dict[str, Any]]] = [
    # so many rows are added up on several threads
    (PaperLTUTreeClassifier, 20_000, {"node": "logistic", "max_nodes": 1}),
    (PaperLTUTreeClassifier, 20_000, {"node": "naive-bayes", "max_nodes": 1}),
    (LTUTreeClassifier, 300, {"n_starts": 1, "max_nodes": 1}),
    (MadalineClassifier, 300, NETWORK),
    (MadalineClassifier, 300, {**NETWORK, "method": "backprop"}),
    (MadaWinnowClassifier, 300, NETWORK),
]


@pytest.mark.parametrize(("learner", "n", "parameters"), LEARNERS)
def test_a_model_is_the_same_whatever_threads_there_are(
    learner: Any, n: int, parameters: dict[str, Any], monkeypatch: Any
) -> None:
    taken, hashes = set[int](), ltu_inputs.row_hashes

    def looking(*args: Any) -> Any:
        taken.update(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return hashes(*args)

    monkeypatch.setattr(ltu_inputs, "row_hashes", looking)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).round(3)
    y = (X.sum(axis=1) + rng.normal(size=n) > 0.0).astype(int)
    digests = set[str]()
    for threads in (1, 2):
        with threadpool_limits(threads):
            model = learner(random_state=0, **parameters).fit(X, y)
        digests.add(model.rule_graph_.digest)
    assert taken == {1}
    assert len(digests) == 1
