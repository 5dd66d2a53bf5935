"""Orders of codes, and the codes that training did not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rulekit.learners.cnll.split_search import code_orders
from rulekit.learners.data.binning import BinnedColumn, bin_column
from rulekit.learners.models.noisy_formulas import completed
from rulekit.schema import Feature


def column_and_codes(
    values: list[float], kind: Any = "numeric", levels: tuple[str, ...] = (), ordered: bool = False
) -> tuple[BinnedColumn, np.ndarray]:
    array = np.array(values, dtype=np.int32 if levels else np.float32)
    feature = Feature("x", kind, levels, ordered)
    return bin_column(feature, 0, array, np.ones(len(array), dtype=np.int64), None)


def column(*arguments: Any, **named: Any) -> BinnedColumn:
    return column_and_codes(*arguments, **named)[0]


def masks(*texts: str) -> list[np.ndarray]:
    return [np.array([c == "1" for c in text]) for text in texts]


def test_absent_values_go_with_the_nearer_neighbour() -> None:
    x = column([np.nan, 0, 1, 4, 9, 10])
    known, condition = completed(x, *masks("010001", "010000"))
    assert known.tolist() == [False, True, True, True, True, True]
    assert condition.astype(int).tolist() == [0, 1, 1, 1, 0, 0]  # 0, 1 and 4 are nearer to 0 than to 10
    _, turned = completed(x, *masks("010001", "000001"))
    assert turned.astype(int).tolist() == [0, 0, 0, 0, 1, 1]


def test_values_beyond_the_ends_and_infinities() -> None:
    x = column([-np.inf, 0, 1, np.inf])
    assert completed(x, *masks("00110", "00100"))[1].astype(int).tolist() == [0, 1, 1, 0, 0]
    assert completed(x, *masks("01001", "01000"))[1].astype(int).tolist() == [0, 1, 1, 1, 0]  # a tie goes below


def test_missing_that_did_not_occur_stays_outside() -> None:
    known, condition = completed(column([np.nan, 0, 1]), *masks("011", "010"))
    assert (known[0], condition[0]) == (False, False)


def test_levels_that_did_not_occur() -> None:
    ranks = column([2, 3, 4, 5], "categorical", ("a", "b", "c", "d"), ordered=True)
    assert completed(ranks, *masks("001001", "000001"))[1].astype(int).tolist() == [0, 0, 0, 0, 1, 1]
    names = column([2, 3, 4, 5], "categorical", ("a", "b", "c", "d"))
    known, condition = completed(names, *masks("001001", "000001"))
    assert known.astype(int).tolist() == [0, 0, 1, 0, 0, 1]
    assert condition.astype(int).tolist() == [0, 0, 0, 0, 0, 1]


def test_orders() -> None:
    x, codes = column_and_codes([np.nan, 1, 2, 2, 3, 1])
    assert [order.tolist() for order in code_orders(x, np.unique(codes))] == [[0, 1, 2, 3], [1, 2, 3, 0]]
    named, codes = column_and_codes([2, 3, 3, 2, 2, 3], "categorical", ("a", "b"))
    assert [order.tolist() for order in code_orders(named, np.unique(codes))] == [[2, 3]]


@pytest.mark.parametrize("values", [[1.0, 1.0], [np.nan, np.nan]])
def test_one_code_has_no_order(values: list[float]) -> None:
    x, codes = column_and_codes(values)
    assert code_orders(x, np.unique(codes)) == []
