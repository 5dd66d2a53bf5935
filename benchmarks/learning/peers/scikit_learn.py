"""Peers of scikit-learn: boosted histograms, a shallow tree, boosted stumps, logistic regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.learning.peers.columns import Part
from benchmarks.learning.peers.definitions import Peer, Size, same


class Typed(NamedTuple):
    """Typed columns as numbers: levels by their code, and which columns are levels."""

    levels: tuple[tuple[str, ...] | None, ...]
    columns: tuple[npt.NDArray[Any], ...]


def boosted(parameters: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(**parameters)


def tree(parameters: Mapping[str, Any]) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(**parameters)


def stumps(parameters: Mapping[str, Any]) -> Any:
    from sklearn.ensemble import AdaBoostClassifier

    return AdaBoostClassifier(**parameters)


def logistic(parameters: Mapping[str, Any]) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), LogisticRegression(**parameters))


class NativeBoosting:
    """HistGradientBoosting that is told which columns are levels; a level never seen is missing."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters
        self.model: Any = None
        self.levels: dict[str, npt.NDArray[Any]] = {}

    def fit(self, part: Part, labels: npt.NDArray[np.int8]) -> NativeBoosting:
        """Codes for the levels, then the fit."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        self.levels = {n: np.unique(c[c != ""])[:254] for n, c in part.typed.items() if c.dtype.kind == "U"}
        self.model = HistGradientBoostingClassifier(categorical_features=part.nominal, **self.parameters)
        self.model.fit(self._codes(part), labels)
        return self

    def predict(self, part: Part) -> Any:
        """Decisions [n]."""
        return self.model.predict(self._codes(part))

    def predict_proba(self, part: Part) -> Any:
        """Probabilities [n, 2]."""
        return self.model.predict_proba(self._codes(part))

    def _codes(self, part: Part) -> npt.NDArray[np.float64]:
        return np.column_stack([self._code(name, column) for name, column in part.typed.items()])

    def _code(self, name: str, column: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        levels = self.levels.get(name)
        if levels is None:
            return column.astype(np.float64)
        if not len(levels):
            return np.full(len(column), np.nan)
        found = np.minimum(np.searchsorted(levels, column), len(levels) - 1)
        return np.where(levels[found] == column, found, np.nan)


def native(parameters: Mapping[str, Any]) -> Any:
    return NativeBoosting(**parameters)


def boosted_size(model: Any) -> Size:
    """Leaves are rules and splits literals."""
    model = getattr(model, "model", model)
    leaves = [grown.get_n_leaf_nodes() for stage in model._predictors for grown in stage]
    return Size(sum(leaves), sum(leaves) - len(leaves))


def tree_size(model: Any) -> Size:
    """Leaves of the positive class are rules, the tests on the way to them literals."""
    grown = model.tree_
    depth = np.zeros(grown.node_count, dtype=np.int64)
    for node in range(grown.node_count):
        for child in (grown.children_left[node], grown.children_right[node]):
            if child >= 0:
                depth[child] = depth[node] + 1
    value = grown.value[:, 0, :]
    positive = (grown.children_left < 0) & (value.argmax(axis=1) == int(np.argmax(model.classes_ == 1)))
    return Size(int(positive.sum()), int(depth[positive].sum()))


def stumps_size(model: Any) -> Size:
    """A stump is a rule; equal tests are one literal."""
    tests = {(int(one.tree_.feature[0]), float(one.tree_.threshold[0])) for one in model.estimators_}
    return Size(len(model.estimators_), len(tests))


def logistic_size(model: Any) -> Size:
    """One rule; its coefficients are literals."""
    return Size(1, int(np.count_nonzero(model[-1].coef_)))


def stumps_path(model: Any, inputs: Any) -> list[npt.NDArray[Any]]:
    """The decisions [n] of the first 1, 2, ... stumps: those of a model of so many rounds, whose draws are the same."""
    return [np.asarray(decided) for decided in model.staged_predict(inputs)]


MODULES = ("sklearn.ensemble", "sklearn.tree", "sklearn.linear_model", "sklearn.pipeline")
_CART = Peer("CART depth 4", tree, tree_size, {"max_depth": 4, "random_state": 0}, MODULES, limits=(20,))
_ADABOOST = Peer(
    "AdaBoost 20", stumps, stumps_size, {"n_estimators": 20, "random_state": 0}, MODULES, limits=(20,), path=stumps_path
)
ENTRIES = (
    Peer("HistGB 100", boosted, boosted_size, {"random_state": 0}, MODULES),
    Peer("HistGB 100, native levels", native, boosted_size, {"random_state": 0}, MODULES, inputs=same),
    _CART,
    _CART.changed("CART depth 2", {"max_depth": 2}),
    _CART.changed("CART 8 leaves", {"max_depth": None, "max_leaf_nodes": 8}, 8),
    _ADABOOST,
    _ADABOOST.changed("AdaBoost 8", {"n_estimators": 8}, 8),
    Peer("logistic", logistic, logistic_size, {"max_iter": 1000}, MODULES),
)
