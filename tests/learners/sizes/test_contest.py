"""The contest of two models on held-out rows: the mean difference and its standard error."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rulekit.learners.sizes.choice import Contest, of_rate


def test_all_ways_to_count_agree_where_they_say_the_same() -> None:
    rng = np.random.default_rng(0)
    one, other, times = rng.random(40) < 0.3, rng.random(40) < 0.2, rng.integers(1, 4, 40)
    more = one.astype(np.float64) - other
    rows = Contest.over_rows(more, times.astype(np.float64))
    repeated = np.repeat(more, times)

    assert (rows.more, rows.error) == pytest.approx((repeated.mean(), repeated.std() / math.sqrt(len(repeated))))
    alone = Contest.over_distinct(repeated, np.ones(len(repeated)), np.arange(len(repeated)))
    assert (alone.more, alone.error) == pytest.approx((rows.more, rows.error))
    decided = Contest.of_decisions(rows.more, float(times @ (one != other)) / times.sum(), float(times.sum()))
    assert (decided.more, decided.error) == pytest.approx((rows.more, rows.error))
    folds = Contest.over_folds(repeated, np.ones(len(repeated)))
    assert folds.error == pytest.approx(repeated.std(ddof=1) / math.sqrt(len(repeated)))


def test_equal_rows_are_one_exception() -> None:
    more, unit = np.array([1.0] * 9 + [0.0] * 9), np.array([0] * 9 + [*range(1, 10)])
    assert not Contest.over_rows(more, np.ones(18)).within(3.0)
    assert Contest.over_distinct(more, np.ones(18), unit).within(3.0)


def test_a_difference_is_within_so_many_standard_errors() -> None:
    assert [Contest(0.2, 0.1).within(margin) for margin in (1.9, 2.0, 2.1)] == [False, True, True]
    assert Contest(0.0, 0.0).within(0.0)
    assert not Contest(1e-6, 0.0).within(9.0)
    assert Contest(-1.0, 0.0).within(0.0)
    assert Contest.of_counts(100.0, 70.0).within(3.0)
    assert of_rate(0.5, 100.0) == pytest.approx(0.05)
