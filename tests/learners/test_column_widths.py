"""Columns of every width side by side: the same model in memory and on disk, with numba and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import CNLLClassifier
from rulekit.learners.data.binning import bin_table
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier
from rulekit.schema import Feature
from rulekit.tables.table import Table

WIDTHS = (2, 253, 254, 255, 256, 300)


def made(levels: tuple[int, ...], numbers: int, seed: int, n: int = 400) -> tuple[Table, np.ndarray]:
    """Categories with so many levels, each in some row, and numeric columns; a label that depends on all of them."""
    rng = np.random.default_rng(seed)
    features = [Feature(f"c{k}", "categorical", tuple(f"v{i}" for i in range(w))) for k, w in enumerate(levels)]
    arrays: list[Any] = [2 + rng.permutation(np.arange(n) % w).astype(np.int32) for w in levels]
    features += [Feature(f"x{k}") for k in range(numbers)]
    arrays += [rng.normal(size=n).astype(np.float32) for _ in range(numbers)]
    score = sum((array - array.mean()) / array.std() for array in arrays)
    return Table(tuple(features), tuple(arrays), n), (score + rng.normal(size=n) > 0).astype(int)


@settings(max_examples=4, deadline=None)
@given(
    st.permutations(WIDTHS).flatmap(lambda order: st.integers(1, 3).map(lambda k: tuple(order[:k]))),
    st.integers(0, 3),
    st.sampled_from(({}, {"brier": 1.0}, {"weak": "pairs"}, {"ridge": 2.0})),
    st.integers(0, 9),
)
def test_every_mixture_of_widths_is_learned_alike(
    levels: tuple[int, ...], numbers: int, how: dict[str, Any], seed: int
) -> None:
    """Training once crashed on a category of 255 to 300 levels beside numeric columns."""
    table, y = made(levels, numbers, seed)
    kind = CNLLPaperClassifier if {"brier", "weak"} & how.keys() else CNLLClassifier
    learner = kind(2, min_level_rows=1, stopping="none", **how)
    expected = learner.fit(table, y).rule_graph_.digest
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RULEKIT_NO_NUMBA", "1")
        assert learner.fit(table, y).rule_graph_.digest == expected
    if "memory" in kind.abilities:
        assert learner.set_params(memory="2GB").fit(table, y).rule_graph_.digest == expected


@pytest.mark.parametrize("max_bins", [None, 16, 64, 255, 300])
def test_codes_lie_together(max_bins: int | None) -> None:
    table, _ = made((300, 5), 2, 0)
    _, codes = bin_table(table, np.ones(table.n_rows, dtype=np.int64), max_bins)
    for some in (codes, codes.take(np.arange(0, 400, 3)), next(codes.parts(400))[1]):
        columns = [some[i] for i in range(len(some))]
        assert some.matrix is not None or all(column.flags.c_contiguous for column in columns)
