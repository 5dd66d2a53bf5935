"""How likely a difference between the training rows and other rows is by chance alone.

All of these take both for samples of the same rows: under that hypothesis every division of all rows into the two is
equally likely, and a probability is that of a division at least as extreme. Weighted rows enter as so many rows of
equal weight as say as much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rulekit.arrays import Floats

LEAST_EXPECTED = 5.0
"""Below so many expected rows the chi-square distribution is no good approximation (W. Cochran, 1954)."""


def all_in_one(marked: int, n: float, total: float) -> float:
    """The probability that so many marked rows of all are all among n of them."""
    if marked > n:
        return 0.0
    return math.exp(min(0.0, _falling(n, marked) - _falling(total, marked)))


def _falling(n: float, k: int) -> float:
    """The logarithm of n (n - 1) ... (n - k + 1)."""
    return math.lgamma(n + 1.0) - math.lgamma(n - k + 1.0)


def at_least(count: int, mean: float) -> float:
    """The probability that a Poisson number of this mean is at least `count`."""
    if count <= 0:
        return 1.0
    term = math.exp(count * math.log(mean) - mean - math.lgamma(count + 1.0)) if mean > 0.0 else 0.0
    total, k = 0.0, count
    while term > total * 1e-16:
        total += term
        k += 1
        term *= mean / k
    return min(1.0, total)


def share_test(marked: float, n: float, known_marked: float, known: float) -> float:
    """Two-sided probability that `marked` of n rows and `known_marked` of `known` have one share.

    Twice the smaller tail of the hypergeometric distribution (R. Fisher's exact test), at most 1.
    """
    k, rows, both = round(marked), max(round(n), 1), round(marked) + round(known_marked)
    total = rows + max(round(known), round(known_marked), 1)
    # so many rows are marked, or more, where so many are not marked, or fewer
    tails = _at_most(k, rows, both, total), _at_most(rows - k, rows, total - both, total)
    return min(1.0, 2.0 * min(tails))


def _at_most(k: int, rows: int, marked: int, total: int) -> float:
    """The probability that at most k of the marked rows of all are among so many rows."""
    low = max(0, rows + marked - total)
    if not low <= k <= min(rows, marked):
        return 1.0
    term = math.exp(_choose(marked, k) + _choose(total - marked, rows - k) - _choose(total, rows))
    sum_ = 0.0
    while k >= low and term > sum_ * 1e-16:
        sum_ += term
        term *= k * (total - marked - rows + k) / ((marked - k + 1) * (rows - k + 1))
        k -= 1
    return min(1.0, sum_)


def _choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


def homogeneity(counts: Floats, known: Floats, *, in_order: bool) -> float:
    """The probability that two rows of counts [m] come from one distribution (Pearson's chi-square of two samples).

    Cells of too few expected rows are merged: with the next one where the cells are in order, else the rarest together.
    """
    both, n = counts + known, counts.sum()
    total = both.sum()
    if n <= 0 or total <= n:
        return 1.0
    order = np.arange(len(both)) if in_order else np.argsort(both, kind="stable")
    least = LEAST_EXPECTED * total / min(n, total - n)
    groups: list[list[int]] = [[]]
    for cell in order.tolist():
        groups[-1].append(cell)
        if both[groups[-1]].sum() >= least:
            groups.append([])
    rest = groups.pop()
    if rest and groups:
        groups[-1] += rest  # too few rows for a cell of their own
    merged = [(counts[group].sum(), both[group].sum()) for group in groups]
    if len(merged) < 2:
        return 1.0
    own, all_ = np.array(merged).T
    expected = all_ * n / total
    statistic = float(((own - expected) ** 2 * (1.0 / expected + 1.0 / (all_ - expected))).sum())
    return chi_square_tail(statistic, len(merged) - 1)


def chi_square_tail(statistic: float, degrees: int) -> float:
    """The probability of a larger chi-square: the regularised incomplete gamma function Q(degrees / 2, statistic / 2).

    As the degrees are whole, it is the sum of exp(-x) x^a / gamma(a + 1) over a = 0, 1, ... below degrees / 2; of odd
    degrees over a = 1/2, 3/2, ..., beside erfc(sqrt(x)).
    """
    x, half = statistic / 2.0, degrees % 2 / 2.0
    if x <= 0.0:
        return 1.0
    terms = (math.exp((k + half) * math.log(x) - x - math.lgamma(k + half + 1.0)) for k in range(degrees // 2))
    return min(1.0, (math.erfc(math.sqrt(x)) if half else 0.0) + sum(terms))


def rejected(chances: Sequence[float], rate: float) -> list[bool]:
    """Which hypotheses are rejected so that one that is true is with at most this probability (S. Holm, 1979)."""
    order = sorted(range(len(chances)), key=chances.__getitem__)
    found = [False] * len(chances)
    for k, index in enumerate(order):
        if chances[index] > rate / (len(chances) - k):
            break
        found[index] = True
    return found


def stability_index(counts: Floats, known: Floats) -> float:
    """The population stability index of two rows of counts [m]: the sum of (q - p) ln(q / p), half a row added to each.

    Below 0.1 two distributions are taken for alike, from 0.25 on for different (N. Siddiqi, Credit Risk Scorecards).
    """
    q, p = ((part + 0.5) / (part.sum() + 0.5 * len(part)) for part in (counts, known))
    return float(((q - p) * np.log(q / p)).sum())
