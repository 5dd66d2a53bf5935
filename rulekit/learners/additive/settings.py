"""The parameters of AdditiveRulesClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rulekit.learners.contract import setting
from rulekit.learners.fitting.parameters import number, or_automatic, whole, words_or_list
from rulekit.learners.fitting.settings import PointSettings, StartSettings


@dataclass(frozen=True)
class AdditiveRulesSettings(PointSettings, StartSettings):
    """How many rules there are, how long they may be, and how hard is looked for them; all else is shared."""

    max_rules: int = setting(20, whole(1), "most rules of a class")
    rule_length: Any = setting(
        "auto", or_automatic(whole(1)), "most literals of a rule (auto: the best of 1, 2 and 4 on held-out rows)"
    )
    ridge: Any = setting(
        "auto",
        or_automatic(number(0)),
        "penalty of large weights, in rows (auto: 5, and 0.3 for bold rules)",
    )
    beam: int = setting(5, whole(1), "rules that are kept while one more literal is looked for")
    polish: int = setting(2, whole(0), "times that all rules are looked at once more when the last one is found")
    max_bins: Any = setting(128, whole(2, optional=True), "bins of a numeric column (None: one for each value)")
    freeze: Any = setting(
        "all",
        words_or_list("all", "none"),
        "which of its rules stay word for word, their weights fitted anew: all, none, or their ids",
    )
    n_folds: int = setting(3, whole(2), "folds of the cross-validation, inside the training rows")
