"""The parameters of RulesClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.learners.contract import setting
from rulekit.learners.fitting.parameters import one_of, whole
from rulekit.learners.fitting.settings import StartSettings


@dataclass(frozen=True)
class RulesSettings(StartSettings):
    """How many rules there are, and what predicts the probability; all else is shared."""

    max_rules: int = setting(8, whole(1), "most rules of a class")
    report: Literal["rules", "all", "rates"] = setting(
        "rules",
        one_of("rules", "all", "rates"),
        "the probability is a score card over the columns of the rules, over all columns, or a rate for each rule",
    )
    max_bins: Any = setting(128, whole(2, optional=True), "bins of a numeric column (None: one for each value)")
