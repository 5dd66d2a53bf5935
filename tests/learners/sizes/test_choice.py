"""Inner folds, the sizes that held-out rows choose, and the contest of two models on them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from cnll_cases import learned, problem_of

from rulekit import CNLLClassifier
from rulekit.learners import learning
from rulekit.learners.cnll.formula_on_cells import GrowthSettings
from rulekit.learners.data.folds import fold_of_rows
from rulekit.learners.sizes.choice import Contest, Curve, cheapest, held_out_errors, of_rate, settled, smoothed


def rows(seed: int, n: int = 200, values: int = 5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, values, (n, 3)).astype(np.float64)
    return X, ((X[:, 0] > 2) ^ (rng.random(n) < 0.2)).astype(np.int64)


@pytest.mark.parametrize("seed", range(3))
def test_folds_depend_on_the_distinct_rows_alone(seed: int) -> None:
    """Rows that are equal or of one group share a fold, in any order; a row of weight 2 is two rows."""
    X, y = rows(seed)
    rng = np.random.default_rng(seed)
    order, repeats, groups = rng.permutation(len(y)), rng.integers(1, 4, len(y)), rng.integers(0, 30, len(y))
    fold = fold_of_rows(problem_of(X, y, repeats), 5, None, 7)
    grouped = fold_of_rows(problem_of(X, y), 5, groups, 7)
    for row in np.unique(X, axis=0):
        equal = (row == X).all(axis=1)
        assert len(set(fold[equal])) == len(set(grouped[equal])) == 1
    assert all(len(set(grouped[groups == g])) == 1 for g in range(30))
    assert set(fold) == {0, 1, 2, 3, 4}
    assert np.array_equal(fold_of_rows(problem_of(X[order], y[order], repeats[order]), 5, None, 7), fold[order])
    twice = fold_of_rows(problem_of(np.repeat(X, repeats, axis=0), np.repeat(y, repeats)), 5, None, 7)
    assert np.array_equal(np.repeat(fold, repeats), twice)


def test_classes_are_spread_evenly() -> None:
    X, y = np.random.default_rng(0).random((400, 2)), (np.arange(400) % 10 == 0).astype(np.int64)
    fold = fold_of_rows(problem_of(X, y), 5, None, 0)
    assert (np.bincount(fold[y == 1]).tolist(), np.bincount(fold).tolist()) == ([8] * 5, [80] * 5)


def test_of_a_rare_class_most_is_found_where_errors_are_nearly_alike() -> None:
    """10,000 held-out rows, 300 of them of the rare class: no rule errs on 300, and a standard error is 17 rows."""
    nothing, weights = np.full(5, 60.0), np.full(5, 2000.0)
    wrong, f1 = np.array([[59.0, 61.0, 62.0, 90.0]] * 5), np.array([0.52, 0.65, 0.64, 0.8])
    curve = Curve(wrong, weights, nothing=nothing, macro_f1=f1, rare=True)
    assert curve.finds_most() == (2, 0.65)
    assert curve.taken(4, 0.0, all_stay=True) == 2
    assert Curve(wrong, weights, nothing=nothing, macro_f1=f1).taken(4, 0.0, all_stay=True) == 1  # least error counts
    apart = Curve(wrong[:, 3:], weights, nothing=nothing, macro_f1=f1[3:], rare=True)
    assert apart.finds_most() == (0, pytest.approx(0.97 / 1.97))
    assert apart.taken(1, 0.0, all_stay=True) == 0
    better = Curve(wrong[:, :1], weights, 1, nothing=nothing, macro_f1=f1[:1], rare=True)
    assert cheapest([better, curve]) is curve


def test_three_folds_are_enough_where_rows_are_plenty(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows(2, n=300)
    found = []
    for plenty in (120.0, 1e9):
        monkeypatch.setattr(learning, "_PLENTY", plenty)
        model = CNLLClassifier(3, random_state=0).fit(X, y)
        found.append((model.curve_[0].folds, model.path_.choice))
    assert found == [(3, "3 of 5 folds"), (5, "5-fold cross-validation")]


def test_smoothing_looks_ahead() -> None:
    assert smoothed(np.array([0.4, 0.0, 0.2, 0.0])).tolist() == pytest.approx([0.25, 0.05, 0.1, 0.0])
    assert Curve(np.array([[30.0, 10.0, 0.0, 0.0, 0.0]]), np.array([100.0])).best() == 3


def test_parsimony_is_in_standard_errors_of_the_difference() -> None:
    """A fold that is hard for all sizes says nothing about which is better."""
    wrong = np.array([[30.0, 13, 11, 11, 11], [70, 52, 51, 50, 50], [50, 31, 32, 30, 30]])
    curve = Curve(wrong, np.full(3, 100.0))
    assert curve.error.tolist() == pytest.approx((wrong.sum(axis=0) / 300.0).tolist())  # that of all held-out rows
    difference = smoothed(wrong / 100)[:, :3] - smoothed(wrong / 100)[:, [3]]
    ratio = difference.mean(axis=0) / (difference.std(axis=0, ddof=1) / np.sqrt(3))
    assert ratio.tolist() == pytest.approx([42.0, 13.0, np.sqrt(3)])
    assert [curve.best(p) for p in (0.0, 1.7, 1.8, 12.9, 13.1, 43.0)] == [4, 4, 3, 3, 2, 1]
    assert curve.standard_error[0] == pytest.approx(0.2 / np.sqrt(3))
    assert Curve(wrong[:1], np.full(1, 100.0)).best(9.0) == 3


def test_sizes_may_be_taken_by_their_loss() -> None:
    """The first value is that without any rule."""
    wrong, weights = np.array([[1.0, 5.0, 9.0], [1.0, 5.0, 9.0]]), np.full(2, 100.0)
    lost = np.array([[9.0, 8.0, 6.0, 7.0], [9.0, 8.0, 5.0, 7.0]])
    curve = Curve(wrong, weights, lost=lost)
    assert (curve.best(), curve.taken(3, 0.0, all_stay=True), curve.best(9.0)) == (2, 2, 1)
    assert Curve(wrong, weights, lost=lost[:, [2, 1, 0, 3]]).taken(3, 0.0, all_stay=True) == 0


def test_a_rare_class_gets_its_units() -> None:
    """Its held-out error is flat for two bits, and growth was once stuck at three and the first was taken."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1500, 6)).astype(np.float64)
    y = (X[:, :4] == 0).all(axis=1).astype(np.int64)
    problem = problem_of(X, y)
    settings = GrowthSettings(0.0, 10)
    curve = learned(problem, settings, 5)[0].curve
    assert curve is not None
    assert curve.error[0] == pytest.approx(y.mean())
    assert curve.best() >= 4
    assert curve.error[curve.best() - 1] == 0.0


def test_values_that_only_held_out_rows_have_take_a_side() -> None:
    """Every value is a bin of its own here; those that a fold did not train on once fell outside every condition."""
    X = np.random.default_rng(0).normal(size=(300, 2))
    problem = problem_of(X, (X[:, 0] > 0.3).astype(int))
    fold = fold_of_rows(problem, 5, None, 0)
    training, held = problem.take(fold != 0), problem.take(fold == 0)
    run, _ = learned(training, GrowthSettings(0.0, 2))
    assert held_out_errors(run.path, training, held, 1).sum() / held.total < 0.04


def test_the_curve_is_that_of_held_out_rows() -> None:
    """A rule that the other folds do not hold cannot be learned: memorising is punished."""
    rng = np.random.default_rng(9)
    X, y = rng.random((120, 2)), rng.integers(0, 2, 120)
    settings = GrowthSettings(0.0, 12)
    curve = learned(problem_of(X, y), settings, 5)[0].curve
    assert curve is not None
    assert curve.folds == 5
    assert 0.35 < curve.error.min() < 0.65


def test_too_few_distinct_rows_have_no_curve() -> None:
    settings = GrowthSettings(0.0, 3)
    assert learned(problem_of(np.ones((9, 1)), np.arange(9) % 2), settings, 5)[0].curve is None


def test_a_fold_may_cancel() -> None:
    X, y = rows(0)
    settings = GrowthSettings(0.0, 3)
    run, stopped = learned(problem_of(X, y), settings, 5, lambda event: event.get("fold") == 2)
    assert run.curve is not None
    assert (run.curve.folds, stopped) == (2, "cancelled")


def test_of_variants_the_least_error_and_cost_is_taken() -> None:
    weights = np.full(3, 100.0)
    short = Curve(np.array([[20.0, 12], [30, 21], [26, 15]]), weights, cost=np.full(2, 0.001))
    long = Curve(np.array([[20.0, 11], [30, 21], [26, 15]]), weights, variant=1, cost=np.full(2, 0.005))
    better = Curve(np.array([[20.0, 7], [30, 17], [26, 12]]), weights, variant=2, cost=np.full(2, 0.005))
    assert cheapest([short, long]) is short
    assert cheapest([short, long, better]) is better


def test_a_smaller_size_is_as_good_where_it_errs_no_more_and_has_nearly_all_of_the_gain_in_loss() -> None:
    loss, wrong = np.array([100.0, 60.0, 54.0, 51.0, 50.0]), np.array([40.0, 10.0, 8.0, 8.0, 8.0])
    assert settled(loss, wrong, 4) == 2  # 54 is 50 and less than a tenth of what rules gain
    assert settled(loss, np.array([40.0, 10.0, 9.0, 8.0, 8.0]), 4) == 3
    assert settled(np.array([100.0, 60.0, 56.0, 51.0, 50.0]), wrong, 4) == 3
    assert settled(loss, wrong, 1) == 1


def by_loss(*lost: list[float]) -> Curve:
    """Of folds of 1,000 rows, in which no rule changes a decision."""
    places = len(lost[0]) - 1
    return Curve(np.full((len(lost), places), 30.0), np.full(len(lost), 1000.0), lost=np.array(lost))


def test_by_loss_all_rules_stay_unless_a_smaller_size_is_surely_better() -> None:
    """Three folds of a rare class hardly tell sizes apart; the errors of all are those of no rule."""
    unsure = by_loss([100.0, 90.0, 91.0], [100.0, 90.0, 89.5], [100.0, 90.0, 91.0])
    assert (unsure.best(), unsure.taken(2, 0.0, all_stay=True)) == (1, 2)
    surely = by_loss([100.0, 90.0, 91.0], [100.0, 90.0, 91.1], [100.0, 90.0, 91.0])
    assert surely.taken(2, 0.0, all_stay=True) == 1
    longer = by_loss([100.0, 90.0, 80.0], [100.0, 90.0, 80.0])
    assert longer.taken(5, 0.0, all_stay=True) == 5  # all rows may carry more rules than those of the folds
    assert longer.taken(5, 9.0, all_stay=True) == 2


def test_a_sum_that_is_no_better_than_none_does_not_stay() -> None:
    alone = by_loss([100.0, 99.0, 90.0], [100.0, 99.0, 120.0])
    assert alone.taken(2, 0.0, all_stay=True) == 1
    assert by_loss([100.0, 101.0], [100.0, 101.0]).taken(1, 0.0, all_stay=True) == 0


def test_of_sizes_that_stay_training_rows_take_the_first_that_is_as_good() -> None:
    curve = by_loss([100.0, 95.0, 90.0, 80.0], [100.0, 95.0, 90.0, 80.0])
    training = np.array([[300.0, 250.0, 205.0, 200.0], [90.0, 90.0, 90.0, 90.0]])
    assert curve.taken(3, 0.0, all_stay=True, training=training) == 2
    assert curve.lost is not None
    alone = replace(curve, nothing=curve.wrong[:, 0], lost=curve.lost - [[0.0, 0.0, 9.0, 0.0]])
    assert alone.taken(3, 0.0, all_stay=True) == 2  # the held-out rows say it, where no training rows are known


def test_folds_may_find_longer_paths_than_all_rows() -> None:
    """The place that held-out rows choose was looked up on a training path that ends before it: an IndexError."""
    lost = np.tile([80.0, 60.0, 50.0, 40.0, 30.0, 20.0], (2, 1))
    wrong = np.tile([40.0, 30.0, 20.0, 10.0, 5.0], (2, 1))
    curve = Curve(wrong, np.full(2, 1000.0), nothing=np.full(2, 300.0), lost=lost)
    training = np.array([[9.0, 8.0, 7.0], [0.1, 0.04, 0.03]])
    assert curve.taken(2, 0.0, all_stay=True, training=training) <= 2
    assert curve.taken(1, 0.0, all_stay=True) <= 1


# The contest of two models ---------------------------------------------------------------------------------------


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
