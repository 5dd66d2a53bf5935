"""The parameters of LTUTreeClassifier and MadalineClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.learners.contract import setting
from rulekit.learners.parameters import TEXT, TRUTH, number, one_of, whole
from rulekit.learners.settings import SizeSettings

NodeKind = Literal["moments", "backprop", "perceptron", "logistic", "naive-bayes", "best"]
Form = Literal["nested", "paths"]


@dataclass(frozen=True)
class UnitSettings(SizeSettings):
    """What every learner of units takes."""

    max_bins: Any = setting(None, whole(3, optional=True), "bins of a numeric column (None: its values as they are)")
    min_level_rows: float | None = setting(
        2.0, number(0, optional=True), "rarer levels are one bin (None: 10 rows, or a hundredth of them, but 2)"
    )
    exact: bool = setting(
        True, TRUTH, "round weights and values so that every sum is exact; False: as fitted, tested and not proved"
    )
    form: Form = setting(
        "nested", one_of("nested", "paths"), "how the rule is written: as the tree is, or as one rule for each path"
    )
    stopping: Literal["cv", "none"] = setting(
        "none",
        one_of("cv", "none"),
        "what chooses the size: cross-validation (cv), or the learner alone (none), on a quarter of the rows",
    )


@dataclass(frozen=True)
class LTUTreeSettings(UnitSettings):
    """How the tree is fitted; all else is shared by every learner."""

    max_nodes: int = setting(40, whole(1, 1000), "most units of a class")
    max_depth: int = setting(10, whole(1, 100), "most units that a row comes to")
    node: NodeKind = setting(
        "moments",
        one_of("moments", "backprop", "perceptron", "logistic", "naive-bayes", "best"),
        "how units are fitted: from moments of the rows, then all together (moments); or one by one, by "
        "back-propagation as in the paper, a perceptron, logistic regression, naive Bayes, or the best of them",
    )
    inner: Literal["units", "single"] = setting(
        "units", one_of("units", "single"), "single: units stand at the ends alone, and single conditions before them"
    )
    margin: float = setting(
        1.0,
        number(0),
        "how readily a smaller tree is taken: 1: where it errs no more by one and a half standard errors of the "
        "difference on held-out rows (of weights two); 0: never where it errs more",
    )
    n_starts: int = setting(6, whole(1, 1000), "random starts of each chain of units")
    n_epochs: int = setting(5, whole(1), "times that back-propagation and perceptrons see each row")


@dataclass(frozen=True)
class MadalineSettings(UnitSettings):
    """The network, and how its units are changed; all else is shared by every learner."""

    shape: Any = setting(
        "auto",
        TEXT,
        "the tree of units: auto: that of an LTU tree; small, large: "
        "the paper's two; or-3, and-3: so many units joined by or, or by and",
    )
    begin: Literal["nothing", "tree"] = setting(
        "nothing", one_of("nothing", "tree"), "the weights that training begins with: none, or those of the LTU tree"
    )
    method: Literal["madaline", "backprop"] = setting(
        "madaline",
        one_of("madaline", "backprop"),
        "how all units are trained: by the paper's rule, or by back-propagation",
    )
    n_passes: int = setting(5, whole(1), "times that each row is seen")
    n_networks: int = setting(5, whole(1), "networks of different orders of the rows, of which the best is kept")
    choice: Literal["auto", "least", "closest"] = setting(
        "auto",
        one_of("auto", "least", "closest"),
        "which unit learns to say yes: least: the one for which least has to change; closest: the one whose sum is "
        "nearest to its threshold, as in the paper; auto: least, of Winnow closest",
    )
    keep: Literal["auto", "last", "averaged", "pocket"] = setting(
        "auto",
        one_of("auto", "last", "averaged", "pocket"),
        "which weights answer: the last, the mean of all that there were, or those that erred least (pocket); auto: "
        "with begin=tree the pocket, if it beats the tree on held-out rows, else the last, as in the paper",
    )
    prune: Literal["during", "after", "never"] = setting(
        "during", one_of("during", "after", "never"), "when units that decide nothing are left out"
    )
    gain: float = setting(3.0, number(0), "slope of the gates, with method=backprop")


@dataclass(frozen=True)
class MadaWinnowSettings(MadalineSettings):
    """The same with weights that are multiplied (N. Littlestone's Winnow, 1988)."""

    max_bins: Any = setting(8, whole(2), "bins of a numeric column, at whose borders conditions are made of it")
    alpha: float = setting(1.25, number(1), "factor of the weights of a unit that should have fired")
    beta: float | None = setting(None, number(0, optional=True), "factor where it should not have (None: 1 / alpha)")
    threshold: float | None = setting(
        None, number(0, optional=True), "sum at which a unit fires (None: the number of conditions)"
    )
