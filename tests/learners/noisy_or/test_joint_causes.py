"""The search for joint causes: what it finds is what it says, and the best where it looks at all."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.data.binning import NO_BOUNDS, BinnedColumn, MemoryCodes
from rulekit.learners.data.problem import Problem
from rulekit.learners.noisy_or.causes import TRIED, JointCause, JointSearch, causes_of, gains
from rulekit.learners.papers.noisy_or.gated import log_likelihoods
from rulekit.schema import Feature

COLUMNS = (
    BinnedColumn(Feature("x", "numeric"), 0, 5, NO_BOUNDS, NO_BOUNDS),
    BinnedColumn(Feature("b", "boolean"), 1, 3, NO_BOUNDS, NO_BOUNDS),
    BinnedColumn(Feature("k", "categorical", levels=("u", "v")), 2, 4, NO_BOUNDS, NO_BOUNDS),
)


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
@settings(max_examples=25)
def test_no_pair_of_conditions_gains_more(seed: int, gated: bool, missing: bool) -> None:
    """All pairs one by one, by the likelihood itself; the order of the rows does not matter."""
    rng = np.random.default_rng(seed)
    n = 30
    codes = MemoryCodes(tuple(rng.integers(0, column.n_codes, n).astype(np.uint8) for column in COLUMNS))
    problem = Problem(COLUMNS, codes, rng.integers(0, 2, n), rng.integers(1, 4, n), 1.0)
    usable = np.full(3, missing)
    causes = causes_of(COLUMNS, general=True, missing=usable, flipped=False)
    pairs_of = JointSearch(causes, 0.5, 1, 2.0, literals=2, width=10_000)
    s, h = rng.random(n) + 0.01, rng.random(n)
    positive = problem.labels == 1
    weights = problem.weights.astype(np.float64)

    def raised(own: np.ndarray, other: np.ndarray, yes: np.ndarray, t: float) -> np.ndarray:
        return log_likelihoods(own, other + t, yes) if gated else log_likelihoods(own + t, other, yes)

    def search(rows: np.ndarray) -> tuple[float, JointCause] | None:
        own, other, yes = s[rows], h[rows], positive[rows]
        return pairs_of.best(problem.take(rows), lambda t: raised(own, other, yes, t), weights[rows])

    each_row = gains(lambda t: raised(s, h, positive, t), TRIED)

    def worth(cause: JointCause) -> float:
        held = cause.holds(codes)
        if weights[held].sum() < 2.0:
            return -np.inf
        return float((each_row[held].T @ weights[held] - 0.5 * TRIED).max())

    every = [JointCause((each.cause(place),)) for each in causes for place in range(each.n_conditions)]
    pairs = [a.narrowed(b.parts[0]) for a, b in combinations(every, 2)]
    cost = np.log(len(every))
    alone = max((worth(cause) for cause in every), default=-np.inf)
    together = max((worth(c) - cost for c in pairs if pairs_of.further(c) == 1), default=-np.inf)
    found, turned = search(np.arange(n)), search(rng.permutation(n))
    assert (found is None) == (turned is None)
    if found is None:
        assert max(alone, together) < 1e-9
        return
    assert turned is not None
    assert found[0] == turned[0]
    assert found[1].key == turned[1].key
    assert abs(found[0] - max(alone, together)) < 1e-9  # gains are added on a grid


def test_columns_that_are_kept_apart_meet_in_no_cause() -> None:
    rng = np.random.default_rng(0)
    x, b = rng.integers(1, 5, 400).astype(np.uint8), rng.integers(1, 3, 400).astype(np.uint8)
    labels = ((x > 2) & (b == 2)).astype(np.int64)
    problem = Problem(COLUMNS[:2], MemoryCodes((x, b)), labels, np.ones(400, dtype=np.int64), 1.0)
    causes = causes_of(COLUMNS[:2], general=True, missing=np.zeros(2, dtype=bool), flipped=False)
    nothing, yes = np.zeros(400), labels == 1
    for apart, columns in ((False, 2), (True, 1)):
        search = JointSearch(causes, 1.0, 1, 1.0, apart=np.array([[False, apart], [apart, False]]))
        found = search.best(problem, lambda t: log_likelihoods(np.full(400, 0.1 + t), nothing, yes), np.ones(400))
        assert found is not None
        assert len(found[1].parts) == columns
