"""The parameters of LTUTreeClassifier and MadalineClassifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from rulekit.learners.contract import setting
from rulekit.learners.fitting.parameters import TRUTH, number, one_of, whole
from rulekit.learners.fitting.settings import SizeSettings

NodeKind = Literal["moments", "backprop", "perceptron", "logistic", "naive-bayes", "best"]
Form = Literal["nested", "paths"]


@dataclass(frozen=True)
class UnitSettings(SizeSettings):
    """What every learner of units takes."""

    max_bins: Any = setting(None, whole(3, optional=True), "bins of a numeric column (None: its values as they are)")
    exact: bool = setting(
        True, TRUTH, "round weights and values so that every sum is exact; False: as fitted, tested and not proved"
    )
    form: Form = setting(
        "nested", one_of("nested", "paths"), "how the rule is written: as the tree is, or as one rule for each path"
    )
    stopping: Literal["cv", "none"] = setting(
        "none", one_of("cv", "none"), "none: the size is chosen on a quarter of the rows; cv: by cross-validation"
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
        0.5,
        number(0),
        "standard errors by which fewer weights may err more on held-out rows, and half of those by which fewer units "
        "may; 0: not at all",
    )
    n_starts: int = setting(6, whole(1, 1000), "random starts of each chain of units")
    n_epochs: int = setting(5, whole(1), "times that back-propagation and perceptrons see each row")


@dataclass(frozen=True)
class MadalineSettings(UnitSettings):
    """The network, and how its units are changed; all else is shared by every learner."""

    shape: Any = setting(
        "auto", one_of("auto", "small", "large"), "the tree of units: that of an LTU tree, or one of the paper's two"
    )
    start: Literal["zero", "tree"] = setting(
        "zero", one_of("zero", "tree"), "the weights that training begins with: none, or those of the LTU tree"
    )
    n_passes: int = setting(5, whole(1), "times that each row is seen")
    n_networks: int = setting(5, whole(1), "networks of different orders of the rows, of which the best is kept")
    leaf: Literal["auto", "nearest", "least-disturbance"] = setting(
        "auto",
        one_of("auto", "nearest", "least-disturbance"),
        "which unit learns to fire: the one whose sum is nearest to its threshold, or for which least has to change",
    )
    kept: Literal["last", "averaged", "pocket"] = setting(
        "last", one_of("last", "averaged", "pocket"), "which weights are kept of all that there were"
    )
