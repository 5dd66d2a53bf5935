"""The peer of fasterrisk: risk scores, so many indicators with whole points each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learning.peers.columns import Part
from benchmarks.learning.peers.definitions import FASTERRISK, Peer, Size, same

Bits = npt.NDArray[np.float64]
MOST_THRESHOLDS = 100


class Indicators:
    """The indicators of a training part, as the authors' own binariser makes them from numbers.

    Of a number `x <= t` at every value but the largest, at 100 values drawn with a seed where there are more; missing
    is an indicator of its own, and no threshold holds. Of text one indicator a level, missing among them.
    """

    def __init__(self, part: Part) -> None:
        random = np.random.default_rng(0)
        self.levels = {name: np.unique(column) for name, column in part.typed.items() if column.dtype.kind == "U"}
        self.cuts = {
            name: _cuts(column.astype(np.float64), random)
            for name, column in part.typed.items()
            if column.dtype.kind != "U"
        }

    def of(self, part: Part) -> Bits:
        """The indicators of other rows [n, m]: 0 or 1."""
        columns = [self._of(name, column) for name, column in part.typed.items()]
        return np.concatenate(columns, axis=1).astype(np.float64)

    def _of(self, name: str, column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        if name in self.levels:
            return np.asarray(column[:, None] == self.levels[name], dtype=np.bool_)
        cuts = self.cuts[name]
        # NaN stands for the question whether the number is missing.
        return np.where(np.isnan(cuts), np.isnan(column.astype(np.float64))[:, None], column[:, None] <= cuts)


def _cuts(column: npt.NDArray[np.float64], random: np.random.Generator) -> npt.NDArray[np.float64]:
    missing = np.isnan(column)
    values = np.unique(column[~missing])
    room = MOST_THRESHOLDS - int(missing.any())
    if len(values) > room:
        values = np.sort(random.choice(values, room, replace=False))
    return np.append(values[:-1], [np.nan] * int(missing.any()))


class RiskScore:
    """A risk score of `k` indicators with points from -`points` to `points`: of the pool that is found the one of
    least log loss on the training rows, which is the first. `search`: what is not at its authors' default.
    """

    def __init__(self, k: int, points: int, **search: int) -> None:
        self.k = k
        self.points = points
        self.search = search
        self.indicators: Indicators | None = None
        self.model: Any = None

    def fit(self, part: Part, labels: npt.NDArray[np.int8]) -> RiskScore:
        """Indicators, then the search."""
        from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

        self.indicators = Indicators(part)
        signs = 2.0 * labels - 1
        bounds = {"lb": -self.points, "ub": self.points}
        search = RiskScoreOptimizer(self.indicators.of(part), signs, self.k, **bounds, **self.search)
        search.optimize()
        self.model = RiskScoreClassifier(*search.get_models(model_index=0))
        return self

    def predict(self, part: Part) -> npt.NDArray[np.int8]:
        """Decisions [n]: 1 where the score is above its threshold."""
        assert self.indicators is not None
        return np.asarray(self.model.predict(self.indicators.of(part)) > 0, dtype=np.int8)

    def predict_proba(self, part: Part) -> npt.NDArray[np.float64]:
        """Probabilities [n, 2]."""
        assert self.indicators is not None
        positive = self.model.predict_prob(self.indicators.of(part))
        return np.column_stack([1 - positive, positive])


def risk_score(parameters: Mapping[str, Any]) -> Any:
    return RiskScore(**parameters)


def size(model: Any) -> Size:
    """An indicator that has points is a rule of one literal."""
    used = int(np.count_nonzero(model.model.coefficients))
    return Size(used, used)


_TEN = Peer(
    "FasterRisk 10",
    risk_score,
    size,
    {"k": 10, "points": 5},
    ("fasterrisk.fasterrisk",),
    FASTERRISK,
    inputs=same,
    limits=(20,),
)
ENTRIES = (
    _TEN.changed("FasterRisk 5", {"k": 5}, 8),
    _TEN,
    # At the defaults 20 indicators take 45 CPU seconds on 800 rows: here one set is grown, without a pool of exchanges.
    _TEN.changed(
        "FasterRisk 20, greedy", {"k": 20, "points": 10, "parent_size": 1, "maxAttempts": 1, "select_top_m": 5}, 20
    ),
)
