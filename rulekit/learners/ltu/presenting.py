"""The order in which learners that take row by row are shown the rows: by chance, as often as a row weighs.

Rows must stand in an order of their own (not the user's), equal ones together, so that nothing depends on how a table
was sorted, and a row of weight 2 is shown as two rows are.
"""

from __future__ import annotations

import numpy as np

from rulekit.learners.sums_of_rows.histograms import Floats, Ints

_FEW, _TIMES, _MOST = 100_000, 8, 10_000_000
"""A pass shows 100,000 rows, or each row eight times, and at most 10 million; of more each in proportion."""


def shown_times(weights: Floats) -> Ints:
    """How often a pass shows each row [n] of positive weights [n], which are stated in rows.

    Whole weights are the numbers themselves. Others are rounded so that the rows up to any one are shown as often as
    they weigh together, within one; a pass shows as many rows as there are at least.
    """
    total = float(weights.sum())
    rows = len(weights)
    n = min(max(rows, round(total)), max(rows, _FEW, min(_TIMES * rows, _MOST)))
    upto = np.floor(np.cumsum(weights) * (n / total) + 0.5).astype(np.int64)
    return np.diff(upto, prepend=0)


def random_orders(weights: Floats, passes: int, rng: np.random.Generator) -> Ints:
    """The numbers of the rows as they are shown [passes, shown], each pass in an order of its own."""
    rows = np.repeat(np.arange(len(weights)), shown_times(weights))
    return np.array([rng.permutation(rows) for _ in range(passes)], dtype=np.int64).reshape(passes, len(rows))
