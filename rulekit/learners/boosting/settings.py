"""The parameters of AdaBoostStumpClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.learners.boosting.base_learners import BASE
from rulekit.learners.contract import setting
from rulekit.learners.parameters import TRUTH, number, one_of, or_automatic, whole
from rulekit.learners.settings import PointSettings

Vote = Literal["adaboost", "multiplicative", "accuracy", "majority"]


@dataclass(frozen=True)
class AdaBoostSettings(PointSettings):
    """Rounds and their conditions; all else is shared by every learner."""

    n_estimators: int = setting(100, whole(1), "most rounds; each adds one condition")
    base: Any = setting(
        "stump", BASE, "what votes: stump (one condition), or models of another learner, as cnll(size=1)"
    )
    weak: Literal["exact", "gini", "resampled"] = setting(
        "exact",
        one_of("exact", "gini", "resampled"),
        "exact: the least error, gini: the least impurity, of all rows by weight; resampled: of rows drawn by weight",
    )
    draws: int = setting(500, whole(1), "rows drawn in a round, with weak=resampled")
    vote: Vote = setting(
        "adaboost",
        one_of("adaboost", "multiplicative", "accuracy", "majority"),
        "how the conditions are joined: as AdaBoost does, or as one of the forms before it",
    )
    factor: float = setting(
        1.5, number(1), "by which a row's weight is multiplied or divided, with vote=multiplicative"
    )
    probability: Literal["sigmoid", "platt"] = setting(
        "sigmoid", one_of("sigmoid", "platt"), "the predicted probability: of twice the sum, or fitted to held-out rows"
    )
    early_stop: bool = setting(
        True, TRUTH, "end at the first condition that is no better than guessing; False: keep it"
    )
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a cut (auto: 5, of few rows less)"
    )
