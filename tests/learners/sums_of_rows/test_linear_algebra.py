"""Products of matrices on one thread."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from rulekit.learners.sums_of_rows.kernels import one_blas_thread


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_both_libraries_take_one_thread_and_then_as_many_as_before() -> None:
    with one_blas_thread():
        assert np.isfinite(np.ones((2, 2)) @ np.ones((2, 2))).all()
    with threadpool_limits(2):
        before = threads()
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == before
