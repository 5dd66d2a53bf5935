"""EM with missing cells summed out, against the general E-step by the hidden-variable factorisation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.learners.noisy_or.factorised import UNKNOWN, Influences, by_max, em_step
from rulekit.learners.noisy_or.fitting.incidence import Incidence
from rulekit.learners.noisy_or.fitting.row_cells import RowCells
from rulekit.learners.noisy_or.fitting.strengths import Strengths, log_likelihood
from rulekit.learners.noisy_or.fitting.summed_out import Unknown, summed_out


@given(seed=st.integers(0, 2**32), iterations=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_it_is_em_of_the_joint_model(seed: int, iterations: int) -> None:
    """Every level of every column is a cause, and the leak is a column that is always 1."""
    rng = np.random.default_rng(seed)
    n, k, levels = 60, int(rng.integers(1, 4)), 3
    codes = rng.integers(UNKNOWN, levels, size=(n, k))
    labels = rng.integers(0, 2, n)
    labels[0] = 1
    p, leak = rng.uniform(0.05, 0.6, size=(k, levels)), 0.1
    share = rng.dirichlet(np.ones(levels), size=k)

    held = [codes[:, j] == v for j in range(k) for v in range(levels)]
    cells = np.stack([*held, *(codes[:, j] == UNKNOWN for j in range(k))], axis=1)
    indptr = np.concatenate([[0], np.cumsum(cells.sum(axis=1))]).astype(np.int64)
    rows = RowCells(indptr, np.nonzero(cells)[1].astype(np.int32), np.arange(cells.shape[1], dtype=np.int32))
    of_causes = [j for j in range(k) for _ in range(levels)]
    conditions = [np.arange(levels) == v for _ in range(k) for v in range(levels)]
    unknown = Unknown.of(of_causes, conditions, range(k), lambda j: share[j])
    incidence = Incidence.of(rows, labels)
    start = Strengths(np.append(-np.log1p(-p).ravel(), np.zeros(k)), None, float(-np.log1p(-leak)))
    found = summed_out(incidence, unknown, start, 0.0, iterations, settled=-np.inf)

    tables = np.zeros((k + 1, levels, 2))
    tables[:k, :, 1], tables[k, :, 1] = p, leak
    tables[:, :, 0] = 1.0 - tables[:, :, 1]
    prior = np.concatenate([share, [[1.0, 0.0, 0.0]]])
    model = Influences(by_max(k + 1, 2), tables, prior)
    own = np.column_stack([codes, np.zeros(n, dtype=np.int64)])
    for _ in range(iterations):
        model = Influences(model.family, em_step(model, own, labels).tables, prior)
    seen = np.array(
        [np.any(codes[:, j] == v) or np.any(codes[:, j] == UNKNOWN) for j in range(k) for v in range(levels)]
    )
    learned = -np.expm1(-found.present[: k * levels])
    assert learned[seen] == pytest.approx(model.tables[:k, :, 1].ravel()[seen], abs=1e-9)
    assert -np.expm1(-found.leak) == pytest.approx(model.tables[k, 0, 1], abs=1e-9)
    assert log_likelihood(incidence, found) == pytest.approx(model.log_likelihood(own, labels), abs=1e-6)
