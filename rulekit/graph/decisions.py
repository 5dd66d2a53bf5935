"""What decides the label: the decision root of a rule graph.

`probability` is what is reported and never decides; `decision` alone decides. Every form below is evaluated without
rounding differences on all targets: a Boolean formula; a score that is computed in double, element by element, in one
fixed order, against a threshold; the arg-max or the median of such scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from rulekit.errors import GraphError
from rulekit.graph.nodes import Node

Scale = Literal["probability", "log-complement", "score"]


@dataclass(frozen=True, slots=True)
class Fires:
    """Two classes: positive where the Boolean formula is true."""

    formula: Node

    @property
    def roots(self) -> tuple[Node, ...]:
        return (self.formula,)


@dataclass(frozen=True, slots=True)
class Exceeds:
    """Two classes: positive where the score is strictly above the threshold.

    scale says what the threshold means: "probability", with a Probability node as score; "score", with a Real node;
    "log-complement", with Probability(Or of hidden bits and Boolean nodes), where the sum of the strengths of the
    hidden bits, added in double from left to right, is compared with -log(1 - t), which is what is held.
    """

    score: Node
    threshold: float
    scale: Scale = "probability"

    def __post_init__(self) -> None:
        if isinstance(self.threshold, bool) or not math.isfinite(self.threshold):
            raise GraphError(f"a decision threshold is finite, not {self.threshold!r}")
        object.__setattr__(self, "threshold", float(self.threshold) + 0.0)

    @property
    def roots(self) -> tuple[Node, ...]:
        return (self.score,)


@dataclass(frozen=True, slots=True)
class ArgMax:
    """K classes: among the classes whose score is strictly above its threshold, the one with the largest score.

    scores: one node per class (Boolean counts as 0 and 1); thresholds: one per class (minus infinity: always takes
    part). Ties go to the class that stands first in `preference`, a permutation of the class indices. Where no class
    takes part, the graph's default decides.
    """

    scores: tuple[Node, ...]
    thresholds: tuple[float, ...]
    preference: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.thresholds) or sorted(self.preference) != list(range(len(self.scores))):
            raise GraphError("an arg-max needs one score, one threshold and one rank per class")
        if any(math.isnan(t) or t == math.inf for t in self.thresholds):
            raise GraphError("the threshold of an arg-max is a number below infinity")

    @property
    def roots(self) -> tuple[Node, ...]:
        return self.scores


@dataclass(frozen=True, slots=True)
class Median:
    """K ordered classes: the class whose index is the number of true `above` decisions.

    above[j] decides whether the label lies above class j (K - 1 binary decisions), so the class is the median of the
    cumulative distribution.
    """

    above: tuple[Fires | Exceeds, ...]

    @property
    def roots(self) -> tuple[Node, ...]:
        return tuple(root for part in self.above for root in part.roots)


Decision = Fires | Exceeds | ArgMax | Median
