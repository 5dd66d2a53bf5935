"""Moments see quadratic parts, cuts are the best ones, and a unit is chosen by the entropy of its split."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.ltu.growing import (
    LTUTreeSettings,
    best_cuts,
    best_unit,
    directions,
    entropies,
    grown,
    ranked,
    split_entropy,
    tolerated,
)
from rulekit.learners.ltu.loss import FitRows, TreeTraining


def test_the_papers_function_is_seen_parted_and_grown() -> None:
    """5 bits of which at most one or at least four are 1: the first moment is noise, and no convex loss has a unit."""
    bits = np.random.default_rng(0).integers(0, 2, (2000, 30))
    sums = bits[:, :5].sum(axis=1)
    rows = FitRows(2.0 * bits - 1.0, ((sums <= 1) | (sums >= 4)).astype(float), np.ones(2000))
    along = directions(rows, 1)
    assert np.abs(along[0, :5]).sum() < 1.5  # noise
    assert (np.abs(along[1, :5]) > 0.4).all()
    assert np.abs(along[1, 5:]).max() < 0.2
    assert sorted(ranked(rows)[:5].tolist()) == [0, 1, 2, 3, 4]
    few, training = rows.of(np.arange(20)), TreeTraining(1e-4)
    unit = best_unit(few, training, lambda: None)
    assert unit is not None
    fires = few.inputs @ unit[:-1] + unit[-1] >= 0.0
    assert np.array_equal(fires, sums >= 4) or np.array_equal(fires, sums <= 1)
    tree = grown(few, few, LTUTreeSettings(), training, lambda: None)
    assert tree is not None
    assert few.wrong(tree.decides(few.inputs)) == 0.0
    assert tree.size == 2


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 10**6), st.integers(4, 40))
def test_no_cut_between_bins_is_better(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.permutation(512)[:n].astype(float)
    values[:2] = 0.0, 511.0
    rows = FitRows(values[:, None], rng.integers(0, 2, n).astype(float), rng.integers(1, 3, n).astype(float))
    cuts, signs = best_cuts(rows, values[None])
    ordered = np.unique(values)
    every = np.array([values >= (a + b) / 2 for a, b in pairwise(ordered)])
    assert np.isclose(split_entropy(rows, values[None] >= cuts[:, None])[0], split_entropy(rows, every).min())
    above = rows.at(values >= cuts[0])
    assert above.share == rows.share or (above.share > rows.share) == (signs[0] > 0)


def test_groups_of_one_label_have_no_entropy() -> None:
    assert entropies(np.array([3.0, 0.0, 1.0]), np.array([0.0, 0.0, 1.0])).tolist() == [0.0, 0.0, 2 * np.log(2)]


def test_rows_that_are_all_the_same_have_no_unit() -> None:
    same = FitRows(np.zeros((4, 2)), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    assert best_unit(same, TreeTraining(1e-4), lambda: None) is None
    assert grown(same, same, LTUTreeSettings(), TreeTraining(1e-4), lambda: None) is None


@pytest.mark.parametrize(
    ("wrong", "total", "enough"),
    [(6, 25, True), (7, 25, False), (12, 100, True), (13, 100, False), (6, 101, True), (7, 101, False), (0, 5, True)],
)
def test_tolerances_are_the_papers(wrong: int, total: int, enough: bool) -> None:
    assert tolerated(wrong, total) is enough
