"""Oblique trees of others: Householder CART (scikit-obliquetree) and random sparse projections (treeple)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learning.peers.definitions import OBLIQUE, Peer, Size
from benchmarks.learning.peers.scikit_learn import tree_size


class Householder:
    """Householder CART (D. Wickramarachchi and others, HHCART, 2016) over standardised columns, as a classifier."""

    def __init__(self, **parameters: Any) -> None:
        self.parameters = parameters
        self.model: Any = None

    def fit(self, X: npt.NDArray[np.float64], labels: npt.NDArray[np.int8]) -> Householder:
        """A tree of means, whose impurity is the squared error."""
        from scikit_obliquetree.HHCART import HouseHolderCART
        from scikit_obliquetree.segmentor import MSE, MeanSegmentor
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        tree = HouseHolderCART(MSE(), MeanSegmentor(), **self.parameters)
        self.model = make_pipeline(StandardScaler(), tree).fit(X, labels.astype(np.float64))
        return self

    def scores(self, X: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The mean label of the leaf of each row [n]."""
        return np.asarray(self.model.predict(X), dtype=np.float64)


def householder(parameters: Mapping[str, Any]) -> Householder:
    return Householder(**parameters)


def decided(model: Householder, inputs: Any) -> tuple[Any, Any]:
    """Decisions and scores [n]."""
    scores = model.scores(inputs)
    return (scores > 0.5).astype(np.int8), scores


def unknown_size(model: Any) -> Size:
    """Not counted: its nodes are all columns at once."""
    return Size(0, 0)


def projections(parameters: Mapping[str, Any]) -> Any:
    from treeple.tree import ObliqueDecisionTreeClassifier

    return ObliqueDecisionTreeClassifier(**parameters)


ENTRIES = (
    Peer(
        "HHCART depth 4",
        householder,
        unknown_size,
        {"max_depth": 4},
        ("scikit_obliquetree.HHCART", "sklearn.pipeline"),
        environment=OBLIQUE,
        predict=decided,
    ),
    Peer(
        "treeple oblique depth 4",
        projections,
        tree_size,
        {"max_depth": 4, "random_state": 0},
        ("treeple.tree",),
        environment=OBLIQUE,
    ),
)
