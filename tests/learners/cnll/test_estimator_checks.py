"""CNLLClassifier passes scikit-learn's own checks, none of them expected to fail."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import check_estimator

from rulekit import CNLLClassifier


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(CNLLClassifier(), marks=pytest.mark.long),
        CNLLClassifier(4, n_folds=2),
        CNLLClassifier(4, n_folds=2, algorithm="tree", objective="brier", ridge=1.0, refit=1, backfit=4, max_bins=32),
        CNLLClassifier(4, algorithm="I", weak="llr", stopping="none"),
    ],
    ids=["default", "small", "tree", "one"],
)
def test_check_estimator(estimator: CNLLClassifier) -> None:
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [(r["check_name"], repr(r["exception"])) for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    assert len(results) > 50
