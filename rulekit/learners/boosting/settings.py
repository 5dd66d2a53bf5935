"""The parameters of AdaBoostStumpClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rulekit.learners.contract import setting
from rulekit.learners.fitting.parameters import number, or_automatic, whole
from rulekit.learners.fitting.settings import SizeSettings


@dataclass(frozen=True)
class AdaBoostSettings(SizeSettings):
    """Rounds and their conditions; all else is shared by every learner."""

    n_units: int = setting(100, whole(1), "most rounds, each of which adds one condition")
    min_rows: Any = setting(
        "auto", or_automatic(number(0)), "least weight of rows on either side of a cut (auto: 5, of few rows less)"
    )
