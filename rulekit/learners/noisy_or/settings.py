"""The parameters of NoisyOrClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.learners.contract import setting
from rulekit.learners.parameters import number, one_of, whole
from rulekit.learners.settings import SizeSettings

Family = Literal["auto", "or", "and", "add", "parity"]
Variant = Literal["general", "or", "dnf", "gated", "gated-dnf"]
Aim = Literal["half", "accuracy", "f1", "break-even"]


@dataclass(frozen=True)
class NoisyOrSettings(SizeSettings):
    """Which causes there are, how their strengths are fitted, and where it is decided; all else is shared."""

    max_causes: int = setting(20, whole(1), "most causes of a class")
    family: Family = setting(
        "auto",
        one_of("auto", "or", "and", "add", "parity"),
        "or: causes speak for the positive class (of ranked classes noisy-max); and: against it (noisy-min); "
        "auto: of two classes the better on held-out rows, else or; add: the class is how many causes act; "
        "parity: whether an odd number of them does",
    )
    variant: Variant = setting(
        "general",
        one_of("general", "or", "dnf", "gated", "gated-dnf"),
        "general: what is not so may be a cause too (`not smoker`); or: it may not; dnf: causes are conditions that "
        "hold together; gated: some conditions inhibit all causes; gated-dnf: both",
    )
    rule_length: int = setting(4, whole(1), "most literals of a cause of the variants dnf and gated-dnf")
    method: Literal["coordinate", "em"] = setting(
        "coordinate", one_of("coordinate", "em"), "how strengths are fitted: coordinate descent, or EM as in the paper"
    )
    n_iter: int = setting(200, whole(1), "most iterations of EM, or sweeps of coordinate descent")
    n_init: int = setting(1, whole(1), "starts of EM, of which the best is taken; all but the first are random")
    lam: float = setting(2.0, number(0), "prior against causes: as many rows more on which each cause did not act")
    least_gain: float = setting(
        0.0,
        number(0),
        "least expected information gain of a cause of the variants general and or, in nats: of a cut, a level or a "
        "word against all else (the paper takes .005; 0: any)",
    )
    threshold: Aim = setting(
        "half",
        one_of("half", "accuracy", "f1", "break-even"),
        "where it is decided: at a probability of 1/2, or where training rows have the best accuracy or F1 score, "
        "or equal precision and recall (of the last two, the size is the one of the least log loss)",
    )
    tuned_on: Literal["training", "held-out"] = setting(
        "training",
        one_of("training", "held-out"),
        "on which rows the threshold is tuned: those that causes were learned from, or folds that they were not",
    )
    missing_values: Literal["auto", "sum", "level", "always"] = setting(
        "auto",
        one_of("auto", "sum", "level", "always"),
        "sum: a missing cell is summed out (any value, as often as the column has it); level: that a cell is missing "
        "may be a cause; auto: of two classes the better on held-out rows, else sum; always: summed out, of columns "
        "that were never missing, too; causes of several conditions, add and parity sum nothing out",
    )
    max_bins: Any = setting(10, whole(2, optional=True), "bins of a numeric column (None: one for each value)")

    @property
    def gated(self) -> bool:
        """Whether conditions may inhibit the causes."""
        return self.variant in ("gated", "gated-dnf")

    @property
    def joint_literals(self) -> int | None:
        """The most literals of a cause that is found as a joint one; None where causes are found one by one."""
        return {"dnf": self.rule_length, "gated-dnf": self.rule_length, "gated": 1}.get(self.variant)
