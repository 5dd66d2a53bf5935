"""How units are strengthened and weakened: by a fixed increment, or by factors as in Winnow.

N. Littlestone, Learning quickly when irrelevant attributes abound, 1988: the weights of the inputs that are 1 are
multiplied. All weights then are start * alpha ** a * beta ** b, which the numbers a and b keep without rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rulekit.errors import InputError
from rulekit.learners.sums_of_rows.histograms import Floats

_LARGEST = 1e60
"""No factor of a weight is larger, nor is one smaller than its inverse: sums must stay finite."""


@dataclass(frozen=True, slots=True)
class FixedIncrement:
    """w + x or w - x; conditions are 1 and -1, there is a bias, all weights begin at 0."""


@dataclass(frozen=True, slots=True)
class Winnow:
    """w * alpha or w * beta where x is 1; conditions are 1 and 0, with their complements; all weights begin at 1.

    A unit fires where its sum is at least `threshold` (None: the number of conditions, without the complements). It can
    be "at least r of k" if threshold / weight lies between r - 1 and r for some weight, which alpha <= r / (r - 1)
    makes sure of; alpha = 2 with a threshold that is a power of two does for r = 1, 2, 4, 8. The paper has 2, .5 and 4.
    Raises InputError for factors that are none.
    """

    alpha: float = 1.25
    beta: float | None = None
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not 1.0 < self.alpha < math.inf:
            raise InputError(
                f"it strengthens, so that it is above 1, not {self.alpha:g}", where="alpha", fix="take 1.25"
            )
        if self.beta is not None and not 0.0 < self.beta < 1.0:
            raise InputError(
                f"it weakens, so that it lies between 0 and 1, not {self.beta:g}", where="beta", fix="leave it out"
            )
        if self.threshold is not None and not 0.0 < self.threshold < math.inf:
            raise InputError(f"it is above 0, not {self.threshold:g}", where="threshold", fix="leave it out")

    @property
    def cancels(self) -> bool:
        """Whether one step down undoes one step up."""
        return self.beta is None or self.alpha * self.beta == 1.0

    @property
    def rises(self) -> Floats:
        """The factor alpha to the power of 0, 1, 2 and so on."""
        return _powers(self.alpha, self.alpha)

    @property
    def falls(self) -> Floats:
        """The factor beta to the power of 0, 1, 2 and so on."""
        if self.beta is None or self.cancels:
            return 1.0 / _powers(self.alpha, self.alpha)
        return _powers(self.beta, 1.0 / self.beta)

    def threshold_of(self, n_conditions: int) -> float:
        """The threshold of units over so many conditions."""
        return float(n_conditions) if self.threshold is None else self.threshold


Rule = FixedIncrement | Winnow


def _powers(base: float, growth: float) -> Floats:
    """The powers of a base, as many as stay within bounds; growth: by which factor they come nearer to them."""
    return np.asarray(base ** np.arange(int(math.log(_LARGEST) / math.log(growth)) + 1, dtype=np.float64))
