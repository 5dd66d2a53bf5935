"""Figures by group: counted again by hand, and the groups of each kind of column."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.audit.figures.rates import MEASURES, Grouping, grouping_of, parity
from rulekit.errors import InputError
from rulekit.schema import Feature


def _by_hand(is_label: list[bool], decided: list[bool], weight: list[float]) -> dict[str, float]:
    rows = list(zip(is_label, decided, weight, strict=True))

    def share(part: list[float], whole: list[float]) -> float:
        return sum(part) / sum(whole) if sum(whole) else float("nan")

    every = [w for _, _, w in rows]
    return {
        "selection rate": share([w for _, d, w in rows if d], every),
        "true positive rate": share([w for y, d, w in rows if y and d], [w for y, _, w in rows if y]),
        "false positive rate": share([w for y, d, w in rows if d and not y], [w for y, _, w in rows if not y]),
        "accuracy": share([w for y, d, w in rows if y == d], every),
        "precision": share([w for y, d, w in rows if y and d], [w for _, d, w in rows if d]),
    }


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.sampled_from([0.5, 1.0, 3.0]))))
def test_rates_are_those_of_the_rows_of_each_group(rows: list[tuple[int, bool, bool, float]]) -> None:
    rows = [*rows, (0, True, True, 1.0)]
    codes, y, decided, weight = (np.array(part) for part in zip(*rows, strict=True))
    found = parity(Grouping("g", ("a", "b", "c"), codes.astype(np.int64)), "yes", y, decided, weight.astype(float))
    for k, group in enumerate(found.groups):
        own = [row for row in rows if row[0] == k]
        expected = _by_hand([r[1] for r in own], [r[2] for r in own], [r[3] for r in own])
        assert group.rows == len(own)
        for measure in MEASURES:
            share = group.rate(measure).share
            assert (np.nan if share is None else share) == pytest.approx(expected[measure], nan_ok=True)
            compared = group.rate(measure).difference
            reference = next(g for g in found.groups if g.name == found.reference).rate(measure).share
            if compared is not None and share is not None and reference is not None:
                assert compared.value == pytest.approx(share - reference)
                assert compared.low is not None
                assert compared.low <= compared.value + 1e-12
        assert (group.rates[0].difference is None) == (group.name == found.reference)


def test_the_reference_is_the_largest_group() -> None:
    groups = Grouping("g", ("a", "b"), np.array([0, 1, 1]))
    yes = np.array([True, False, True])
    assert parity(groups, "yes", yes, yes).reference == "b"


def test_a_category_has_its_levels_the_most_frequent_first_and_missing_last() -> None:
    feature = Feature("c", "categorical", ("x", "y", "z"))
    found = grouping_of(feature, np.array([0, 1, 3, 3, 2, 0], dtype=np.int32))
    assert found.names == ("y", "x", "(missing)", "(new level)")
    assert found.codes.tolist() == [2, 3, 0, 0, 1, 2]


def test_many_levels_are_put_together() -> None:
    levels = tuple(f"level {k}" for k in range(40))
    found = grouping_of(Feature("c", "categorical", levels), np.repeat(np.arange(40) + 2, 2).astype(np.int32))
    assert len(found.names) == 12
    assert found.names[-1] == "(the other 29)"
    assert np.bincount(found.codes)[-1] == 58


def test_numbers_are_parted_at_values_of_their_own() -> None:
    ages = np.array([20, 30, 40, 50, 60, 70, 80, np.nan], dtype=np.float32)
    found = grouping_of(Feature("age", unit="years"), ages)
    assert found.names == ("up to 30 years", "above 30 years up to 50 years", "above 50 years up to 70 years",
                           "above 70 years", "(missing)")  # fmt: skip
    assert found.codes.tolist() == [0, 0, 1, 1, 2, 2, 3, 4]
    assert grouping_of(Feature("n"), np.array([1, 2, 2], dtype=np.float32)).names == ("1", "2")
    assert grouping_of(Feature("b", "boolean"), np.array([1, 0, np.nan], dtype=np.float32)).names == (
        "false", "true", "(missing)")  # fmt: skip


def test_a_text_has_no_groups() -> None:
    with pytest.raises(InputError, match="a text has no groups"):
        grouping_of(Feature("t", "text"), None)
