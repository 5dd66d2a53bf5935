"""Which of several variants of a learner may be the best one, by their losses on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Floats, Ints, exact_sum

_CLEARLY = 0.05
"""By what share of the loss a bold variant must be better; errors over rows leave out the chance in growing rules."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Of held-out rows: the loss [n] by variant (none where it was not asked for), the weight, which are identical.

    bold: the variants that are taken only where they are clearly better than all others.
    """

    by_variant: tuple[Floats, ...]
    weights: Floats
    unit: Ints
    bold: frozenset[int] = frozenset()


def likely_best(folds: Sequence[Losses], errors: float = 1.5) -> list[int]:
    """The variants that may still be the best one.

    Left out are those not asked for in the last fold, and those whose mean is above the least one by more than so many
    standard errors of the difference; a bold one, unless its mean is below those of the others by one of them and by
    _CLEARLY, a share.
    """
    joined = _Joined.of(folds)
    careful = [v for v in joined.asked if v not in folds[-1].bold]
    if not careful:
        return joined.near(joined.asked, errors)
    own = min(careful, key=joined.loss)
    less, bold = (1.0 - _CLEARLY) * joined.loss(own), [v for v in joined.asked if v in folds[-1].bold]
    clear = [v for v in bold if joined.loss(v) <= less and joined.errors_above(own, v) > 1.0]
    return joined.near([*careful, *clear], errors)


def rivals(folds: Sequence[Losses], costs: Sequence[float]) -> list[int]:
    """Of the variants that may still be the best one, that of the least loss and the first of the least cost.

    Where a bold one has the least loss of all, which further rows may show to be clearly better, all of them.
    """
    joined = _Joined.of(folds)
    (best, *_), likely, least = likely_best(folds, errors=0.0), likely_best(folds), min(joined.asked, key=joined.loss)
    chosen = {best, min(likely, key=lambda v: costs[v])}
    return sorted(chosen if least in likely else {*likely, least})


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The losses of all folds together, of the variants that were asked for in the last one."""

    asked: list[int]
    rows: dict[int, Floats]
    weights: Floats
    unit: Ints

    @classmethod
    def of(cls, folds: Sequence[Losses]) -> _Joined:
        asked = [v for v, own in enumerate(folds[-1].by_variant) if len(own)]
        first = np.cumsum([0, *(int(each.unit.max(initial=-1)) + 1 for each in folds)])
        unit = np.concatenate([each.unit + begin for each, begin in zip(folds, first[:-1].tolist(), strict=True)])
        rows = {v: np.concatenate([each.by_variant[v] for each in folds]) for v in asked}
        return cls(asked, rows, np.concatenate([each.weights for each in folds]), unit)

    def loss(self, v: int) -> float:
        """The sum over all rows, exact in any order."""
        return exact_sum(self.weights * self.rows[v])

    def errors_above(self, v: int, other: int) -> float:
        """By how many standard errors of the difference the mean of a variant is above that of another.

        These are over distinct rows: many equal ones may all be an exception.
        """
        total, more = exact_sum(self.weights), self.weights * (self.rows[v] - self.rows[other])
        above = exact_sum(more)
        mean = above / total if total else 0.0
        # Equal rows have one loss for each label, so that their sums hardly depend on the order; a bit decides nothing.
        deviation = math.sqrt(exact_sum(np.bincount(self.unit, more - mean * self.weights) ** 2))
        return above / deviation if deviation else math.inf * above if above else 0.0

    def near(self, variants: Sequence[int], errors: float) -> list[int]:
        """Those that are above the least one by so many standard errors at most."""
        best = min(variants, key=self.loss)
        return [v for v in variants if self.errors_above(v, best) <= errors * (1.0 + 1e-9)]
