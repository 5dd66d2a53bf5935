"""CNLLClassifier passes scikit-learn's own checks, none of them expected to fail."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import check_estimator

from rulekit import CNLLClassifier
from rulekit.learners import rule_learner
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "first"),
    [
        (CNLLClassifier(), False),
        (CNLLClassifier(2, n_folds=2), True),
        (CNLLPaperClassifier(4, algorithm="I", weak="llr", stopping="none"), False),
    ],
    ids=["default", "small", "paper"],
)
def test_check_estimator(estimator: Any, first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """first: of two classes the first in sorted order is the positive one, whatever they are called."""
    if first:
        monkeypatch.setattr(rule_learner, "class_order", _first_is_positive)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [(r["check_name"], repr(r["exception"])) for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    assert len(results) > 50


def _first_is_positive(learner: str, classes: tuple[Any, ...], *others: Any) -> list[int]:
    return list(range(len(classes)))[::-1] if len(classes) == 2 else list(range(len(classes)))
