"""Counting is exact, in any order and without numba; what attributes tell of the class follows from the counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from cnll_cases import grow, quantise, random_problem, with_numba
from hypothesis import given
from hypothesis import strategies as st

from rulekit.learners.cnll.formula_on_cells import GrowthSettings
from rulekit.learners.sums_of_rows import kernels
from rulekit.learners.sums_of_rows.histograms import count_cells, gain_of_each_class, information_gain, word_counts
from tests.tables.text.test_token_sets import SIZE, sets_from


def random_rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rng.integers(0, 7, n).astype(np.int32), rng.integers(0, 2, n), rng.integers(1, 2**20, n)


def test_whole_weights_stay_whole() -> None:
    quantised, unit = quantise([1.0, 2.0, 0.0, 5.0])
    assert (quantised * unit).tolist() == [1.0, 2.0, 0.0, 5.0]


def test_a_row_of_weight_two_counts_like_two_rows() -> None:
    once, unit = quantise([2.0, 3.0])
    apart, same = quantise([1.0, 1.0, 1.0, 2.0])
    assert unit == same
    assert once.tolist() == [apart[:2].sum(), apart[2:].sum()]


def test_fractions_keep_forty_bits() -> None:
    weights = 1 + np.random.default_rng(0).random(1000)
    quantised, unit = quantise(weights)
    assert np.abs(quantised * unit - weights).max() <= weights.sum() * 2.0**-39
    assert quantised.sum() < 2**53


def test_compiled_and_numpy_counts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, labels, weights = random_rows(np.random.default_rng(2), 300)
    weights[::7] = 0
    for each in (weights, np.broadcast_to(np.int64(3), weights.shape)):
        expected = np.zeros((7, 2), dtype=np.int64)
        np.add.at(expected, (cell, labels), each)
        for off in ("0", "1"):
            monkeypatch.setenv("RULEKIT_NO_NUMBA", off)
            assert np.array_equal(count_cells(cell, labels, each, 7), expected)


@with_numba
@pytest.mark.parametrize("seed", range(4))
def test_growth_is_the_same_bits_without_numba(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(np.random.default_rng(seed), n=300, values=6)
    settings = GrowthSettings((0.0, 8.0, 1.0, 12.0)[seed], 8, 1, 3, ridge_by_noise=seed == 3)
    found = []
    for off in "01":
        monkeypatch.setenv("RULEKIT_NO_NUMBA", off)
        found.append(
            [(s.claimed, s.bit.alpha, s.bit.beta, s.bit.column, s.move) for s in grow(problem, settings).steps]
        )
    assert found[0] == found[1]


def test_only_one_file_imports_numba() -> None:
    from pathlib import Path

    import rulekit

    found = [path.name for path in Path(rulekit.__file__).parent.rglob("*.py") if "import numba" in path.read_text()]
    assert found == ["kernels.py"]


def test_compiled_code_goes_to_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    monkeypatch.setattr("sys.platform", "linux")
    assert kernels.cache_folder().parts == ("somewhere", "rulekit")


# Information ----------------------------------------------------------------------------------------------------------


TABLES = st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=2, max_size=4)


def entropy(counts: list[float]) -> float:
    total = sum(counts)
    return -sum(n / total * math.log(n / total) for n in counts if n)


@given(TABLES)
def test_the_gain_is_entropy_less_mean_entropy(table: list[list[int]]) -> None:
    total = sum(map(sum, table))
    if not total:
        return
    before = entropy([sum(column) for column in zip(*table, strict=True)])
    after = sum(sum(row) / total * entropy(list(row)) for row in table if sum(row))
    found = float(information_gain(np.array(table)))
    assert math.isclose(found, max(before - after, 0.0), abs_tol=1e-12)
    each = gain_of_each_class(np.array(table))
    merged = [information_gain(np.array([[sum(r) - r[k], r[k]] for r in table])) for k in range(3)]
    assert np.allclose(each, merged, atol=1e-12)


@given(st.lists(st.tuples(st.one_of(st.none(), st.sets(st.integers(0, SIZE - 1))), st.integers(0, 2)), min_size=1))
def test_words_are_counted_by_class(rows: list[tuple[set[int] | None, int]]) -> None:
    sets, labels = sets_from([row for row, _ in rows]), np.array([label for _, label in rows])
    weights = np.arange(1.0, len(rows) + 1.0)
    counts = word_counts(sets, labels, 3, weights)
    for word in range(SIZE):
        for k in range(3):
            here = [w for (row, label), w in zip(rows, weights, strict=True) if label == k and word in (row or ())]
            every = [w for (_, label), w in zip(rows, weights, strict=True) if label == k]
            assert counts[word, :, k].tolist() == [sum(every) - sum(here), sum(here)]
