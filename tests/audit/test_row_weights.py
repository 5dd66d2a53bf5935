"""Exact sums of weights: rounded once, and the same in any order and in any blocks."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.shown.statistics import ExactWeights, rounded

WEIGHTS = st.lists(st.floats(0, 1e300) | st.sampled_from([0.1, 1.0, 5e-324, 1e16]), min_size=1, max_size=40)


@settings(max_examples=80, deadline=None)
@given(values=WEIGHTS, data=st.data())
def test_sums_are_those_of_fsum_in_any_blocks(values: list[float], data: st.DataObject) -> None:
    weights = np.array(values)
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))))
    whole = ExactWeights(weights, len(values))
    expected = [math.fsum(weights[codes == k].tolist()) for k in range(3)]
    assert [rounded(total) for total in whole.by(codes, 3)] == expected
    assert [whole.of(codes == k) for k in range(3)] == whole.by(codes, 3)
    assert rounded(whole.total()) == math.fsum(values)
    cut = data.draw(st.integers(0, len(values)))
    parts = [ExactWeights(part, len(part)).total() for part in (weights[:cut], weights[cut:]) if len(part)]
    assert sum(parts) == whole.total()


def test_rows_without_weights_count_one_each() -> None:
    truth = np.array([True, False, True])
    assert rounded(ExactWeights(None, 3).of(truth)) == 2.0
    assert rounded(ExactWeights(None, 3).total()) == 3.0
    assert ExactWeights(np.ones(3), 3).of(truth) == ExactWeights(None, 3).of(truth)
