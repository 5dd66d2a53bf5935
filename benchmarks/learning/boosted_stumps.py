"""AdaBoost.M1 with stumps on rulekit's binned columns and counting kernels: the yardstick for the time of one unit.

Y. Freund and R. Schapire, A Decision-Theoretic Generalization of On-Line Learning, 1997. The weights are quantised
anew in each round, so that a stump is found from the same integer histograms as a unit of CNLL.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.binning import BinnedColumn, bin_table
from rulekit.learners.binned.codes import Codes
from rulekit.learners.counting.grouping import Grouped, group_rows
from rulekit.learners.counting.histograms import count
from rulekit.learners.counting.threads import available_threads, run_threads
from rulekit.tables.table import Table

Array = npt.NDArray[Any]

_LEAST_ERROR = 1e-12
_UNIT = 2.0**-40


@dataclass(frozen=True, slots=True, eq=False)
class Stump:
    """Codes of one column that vote for class 1 (the others for 0), and the weight of the vote."""

    column: int
    positive: npt.NDArray[np.bool_]
    vote: float


def boost(table: Table, labels: Array, rounds: int, max_bins: int) -> tuple[list[Stump], list[float]]:
    """The stumps, and the seconds that each round took; labels [n] of 0 and 1. Binning is not in the rounds."""
    n, threads = len(labels), available_threads()
    columns, codes = bin_table(table, np.broadcast_to(np.int64(1), n), max_bins, n_threads=threads)
    grouped = group_rows(np.zeros(n, dtype=np.int32), labels, 1)
    sign = 2.0 * labels - 1.0
    weights = np.full(n, 1.0 / n)
    stumps: list[Stump] = []
    seconds = []
    for _ in range(rounds):
        begun = time.perf_counter()
        stump, error = best_stump(columns, codes, grouped, np.rint(weights / _UNIT).astype(np.int64), threads)
        stumps.append(stump)
        agreed = np.where(stump.positive[codes[stump.column]], sign, -sign)
        weights *= np.exp(-stump.vote * agreed)
        weights /= weights.sum()
        seconds.append(time.perf_counter() - begun)
        if error <= _LEAST_ERROR:
            break
    return stumps, seconds


def best_stump(
    columns: tuple[BinnedColumn, ...], codes: Codes, grouped: Grouped, weights: Array, threads: int = 1
) -> tuple[Stump, float]:
    """The stump of the smallest weighted error, and that error; the codes of a column in their order.

    grouped: the rows by label; weights [n]: of int64.
    """
    total, positives = int(weights.sum()), int(weights[grouped.rows[grouped.starts[1] :]].sum())

    def search(j: int) -> tuple[int, int, int, bool]:
        n_codes = columns[j].n_codes
        histogram = count(codes[j], grouped, weights, n_codes)
        code = np.repeat(np.arange(n_codes), np.diff(histogram.starts))
        signed = np.where(histogram.keys == 1, histogram.weights, -histogram.weights)
        left = np.cumsum(np.bincount(code, signed, n_codes)).astype(np.int64)
        # Errors of "the codes up to here vote 1": their negatives, and the positives of the others.
        errors = positives - left
        low, high = int(np.argmin(errors)), int(np.argmax(errors))
        first = errors[low] <= total - errors[high]
        return (int(errors[low]), j, low, True) if first else (total - int(errors[high]), j, high, False)

    error, j, at, first = min(run_threads(search, range(len(columns)), threads))
    positive = np.arange(columns[j].n_codes) <= at
    share = min(max(error / total, _LEAST_ERROR), 1.0 - _LEAST_ERROR)
    vote = 0.5 * float(np.log((1.0 - share) / share))
    return Stump(j, positive if first else ~positive, vote), error / total


def decide(stumps: list[Stump], codes: Codes) -> npt.NDArray[np.int64]:
    """Class 0 or 1 [n] by the weighted vote."""
    score = sum(stump.vote * np.where(stump.positive[codes[stump.column]], 1.0, -1.0) for stump in stumps)
    return (np.asarray(score) > 0).astype(np.int64)
