"""What a round does to each row, in one pass over the rows and in place: weights, votes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.sums_of_rows.kernels import compiled, run_threads

_PART = 1 << 16
"""Rows that one thread takes at a time."""


def parts_of(n_rows: int) -> list[slice]:
    """All rows in their order, some at a time."""
    return [slice(start, min(start + _PART, n_rows)) for start in range(0, n_rows, _PART)]


def _each(task: Callable[[slice], None], n_rows: int, n_threads: int) -> None:
    run_threads(task, parts_of(n_rows), n_threads)


def weigh(rows: Ints, factors: Floats, scale: float, weights: Ints, n_threads: int) -> None:
    """Write the weights [n]: of each row its own times its factor, which is rounded to a whole number of 1 / scale."""
    one = rows.strides == (0,)

    def task(part: slice) -> None:
        _weigh(rows[:1].copy() if one else rows[part], factors[part], scale, weights[part])

    _each(task, len(rows), n_threads)


@compiled
def _weigh(rows: Any, factors: Any, scale: float, weights: Any) -> None:
    one = len(rows) < len(weights)
    for i in range(len(weights)):
        weights[i] = rows[0 if one else i] * np.int64(np.rint(factors[i] * scale))


def multiply(factors: Floats, labels: npt.NDArray[Any], codes: npt.NDArray[Any], by: Floats, n_threads: int) -> None:
    """Multiply the factor [n] of each row, in place, by that of its label and code [2, n_codes]."""
    _each(lambda part: _multiply(factors[part], labels[part], codes[part], by), len(factors), n_threads)


@compiled
def _multiply(factors: Any, labels: Any, codes: Any, by: Any) -> None:
    for i in range(len(factors)):
        factors[i] *= by[1 if labels[i] == 1 else 0, codes[i]]


def add_votes(
    sums: Floats,
    rounded: npt.NDArray[np.int32],
    codes: npt.NDArray[Any],
    votes: Floats,
    steps: npt.NDArray[np.int32] | None,
    n_threads: int,
) -> Bools:
    """Add to the sums [n], in place, the votes [n_codes] of their codes; says which are above 0.

    rounded [n]: to which the steps [n_codes] are added where there are any.
    """
    yes = np.empty(len(sums), dtype=bool)

    def task(part: slice) -> None:
        _add_votes(sums[part], codes[part], votes, yes[part])
        if steps is not None:
            _add_steps(rounded[part], codes[part], steps)

    _each(task, len(sums), n_threads)
    return yes


@compiled
def _add_votes(sums: Any, codes: Any, votes: Any, yes: Any) -> None:
    for i in range(len(sums)):
        sums[i] += votes[codes[i]]
        yes[i] = sums[i] > 0.0


@compiled
def _add_steps(rounded: Any, codes: Any, steps: Any) -> None:
    for i in range(len(rounded)):
        rounded[i] += steps[codes[i]]
