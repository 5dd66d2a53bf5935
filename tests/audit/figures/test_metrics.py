"""Figures of merit against counts made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.audit.figures.metrics import figures


def test_two_classes_by_hand() -> None:
    y, guess = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 0])
    p = np.array([0.1, 0.2, 0.8, 0.9, 0.3])
    found = figures(y, guess, np.stack([1 - p, p], axis=1), ("no", "yes"))
    assert found.accuracy == pytest.approx(0.6)
    assert found.majority == pytest.approx(0.6)
    assert found.accuracy_error == pytest.approx((0.6 * 0.4 / 5) ** 0.5)
    assert found.confusion == ((2.0, 1.0), (1.0, 1.0))
    assert (found.classes[1].precision, found.classes[1].recall, found.classes[1].f1) == (0.5, 0.5, 0.5)
    assert found.auc == pytest.approx(5 / 6)
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.8, 0.2, 0.9, 0.3]).mean())


def test_weights_count_as_rows() -> None:
    y, guess, p = np.array([0, 1]), np.array([0, 0]), np.array([0.2, 0.4])
    twice = figures(
        np.repeat(y, [1, 3]), np.repeat(guess, [1, 3]), np.stack([1 - p, p], axis=1)[[0, 1, 1, 1]], ("a", "b")
    )
    weighed = figures(y, guess, np.stack([1 - p, p], axis=1), ("a", "b"), np.array([1.0, 3.0]))
    assert weighed.accuracy == twice.accuracy
    assert weighed.log_loss == pytest.approx(twice.log_loss)
    assert weighed.confusion == twice.confusion


def test_a_class_that_does_not_occur_leaves_no_hole() -> None:
    found = figures(np.array([0, 0]), np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), ("a", "b"))
    assert found.auc is None
    assert found.accuracy == 1.0
    assert found.log_loss == pytest.approx(0.0, abs=1e-12)
