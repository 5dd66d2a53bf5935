"""Whether rows of boxes may be decided as is wished: as another class than now, or as a certain one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.audit.nearest_change.reach import Reach, State
from rulekit.graph.decisions import Decision
from rulekit.graph.nodes import Linear, Node
from rulekit.tables.table import Array

_MOST_COMPARED = 8  # classes whose sums are compared pair by pair


@dataclass(frozen=True, slots=True)
class Goal:
    """own: the class that is decided now; to: the one that is wanted, None for any other one."""

    own: int
    to: int | None = None

    def met(self, labels: Any) -> Any:
        """Whether a class, or each of some [n], is what is wished."""
        return labels != self.own if self.to is None else labels == self.to


def differences(decision: Decision) -> dict[tuple[int, int], Node]:
    """Of an arg-max of sums, by pair of classes the first score less the second; what both have in common falls out."""
    ranked = decision.ranked
    if not 1 < len(ranked) <= _MOST_COMPARED or any(not isinstance(score, Linear) for _, score, _ in ranked):
        return {}
    scores = {k: score for k, score, _ in ranked if isinstance(score, Linear)}
    return {
        (i, j): Linear((*a.terms, *((-weight, child) for weight, child in b.terms)), a.bias - b.bias)
        for i, a in scores.items()
        for j, b in scores.items()
        if i < j
    }


def classes_within(
    decision: Decision, default: int, pairs: Mapping[tuple[int, int], Node], reach: Reach, state: State
) -> Array:
    """Which classes [K, n] the rows of each box may be decided as."""
    n = len(state.boxes)
    found = np.zeros((decision.n_classes, n), dtype=bool)
    if not decision.ranked:
        bounds = [reach.bounds(state, root) for root in decision.roots]
        least, most = (sum(bound[end].astype(np.int64) for bound in bounds) for end in (0, 1))
        for k in range(decision.n_classes):
            found[k] = (least <= k) & (k <= most)
        return found
    ranked = decision.ranked
    scores = {k: reach.number(state, score) for k, score, _ in ranked}
    in_part = {k: scores[k][0] > threshold for k, _, threshold in ranked}
    nobody = np.ones(n, dtype=bool)
    for place, (k, _, threshold) in enumerate(ranked):
        most = scores[k][1]
        may = most > threshold
        nobody &= scores[k][0] <= threshold
        for other_place, (j, _, _) in enumerate(ranked):
            if j == k:
                continue
            least = scores[j][0]
            beaten = (least > most) | ((least == most) & (other_place < place))
            pair = pairs.get((min(j, k), max(j, k)))
            if pair is not None:  # the first less the second
                low, high = reach.number(state, pair)
                beaten |= low > 0.0 if j < k else high < 0.0
            may &= ~(beaten & in_part[j])
        found[k] |= may
    found[default] |= nobody
    return found
