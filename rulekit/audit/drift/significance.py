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
    down = _tail(k, rows, both, total, -1)
    up = _tail(k, rows, both, total, 1)
    return min(1.0, 2.0 * min(down, up))


def _tail(k: int, rows: int, marked: int, total: int, step: int) -> float:
    """The probability of k, and of all counts beyond it in the direction of the step."""
    low, high = max(0, rows + marked - total), min(rows, marked)
    if not low <= k <= high:
        return 1.0
    term = math.exp(_choose(marked, k) + _choose(total - marked, rows - k) - _choose(total, rows))
    first, sum_ = term, 0.0
    while low <= k <= high and term > max(sum_ * 1e-16, 0.0):
        sum_ += term
        if step > 0:
            term *= (marked - k) * (rows - k) / ((k + 1) * (total - marked - rows + k + 1))
        else:
            term *= k * (total - marked - rows + k) / ((marked - k + 1) * (rows - k + 1))
        k += step
    return min(1.0, max(sum_, first))


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
    statistic = 0.0
    for own, all_ in merged:
        expected = all_ * n / total
        statistic += (own - expected) ** 2 * (1.0 / expected + 1.0 / (all_ - expected))
    return chi_square_tail(statistic, len(merged) - 1)


def chi_square_tail(statistic: float, degrees: int) -> float:
    """The probability of a larger chi-square: the regularised incomplete gamma function Q(degrees / 2, statistic / 2).

    By its series, or its continued fraction (W. Gautschi, 1979), to 14 digits.
    """
    a, x = degrees / 2.0, statistic / 2.0
    if x <= 0.0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1.0:
        term = total = 1.0 / a
        k = a
        while term > total * 1e-16:
            k += 1.0
            term *= x / k
            total += term
        return max(0.0, 1.0 - scale * total)
    b, c, d = x + 1.0 - a, 1e300, 1.0 / (x + 1.0 - a)
    result = d
    for k in range(1, 10_000):
        b += 2.0
        factor = -k * (k - a)
        d = 1.0 / (factor * d + b)
        c = b + factor / c
        result *= c * d
        if abs(c * d - 1.0) < 1e-15:
            break
    return min(1.0, scale * result)


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
