"""What a peer is, and the list of all: how each is built, what it gets, and how its rules and literals are counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.learning.peers.columns import Part

# Where a learner is installed. FasterRisk asks for libraries of 2022, and oblique trees for an older scikit-learn, with
# which the others do not run.
OURS, PEERS, FASTERRISK, OBLIQUE = "ours", "peers", "fasterrisk", "oblique"


class Size(NamedTuple):
    """How large a model is for a reader."""

    rules: int
    literals: int


def matrix_of(part: Part) -> Any:
    """The one-hot columns and numbers without gaps."""
    return part.matrix


def same(part: Part) -> Part:
    """The part itself: typed columns with their gaps."""
    return part


def fit_labels(model: Any, inputs: Any, labels: npt.NDArray[np.int8]) -> Any:
    """Fit as scikit-learn does."""
    return model.fit(inputs, labels)


def labels_and_scores(model: Any, inputs: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The decision and the probability of the positive class [n] as scikit-learn gives them."""
    return np.asarray(model.predict(inputs)), np.asarray(model.predict_proba(inputs))[:, 1]


@dataclass(frozen=True, slots=True)
class Peer:
    """One learner with its settings.

    `build` makes an unfitted model of `about.parameters`; `inputs` turns a part into what it takes (not timed);
    `fit` is timed; `predict` gives decisions and scores; `size` counts. `environment` is ours (where rulekit is
    installed) or one of the peers' own. `modules` are loaded before the clock starts; a peer that `compiles` is fitted
    once on a few rows before. `limits`: of how many rules it is a small model, 8 or 20 or both. `path`: the decisions
    [n] of the models of 1, 2, ... units that the fit passed through.
    """

    name: str
    build: Callable[[Mapping[str, Any]], Any]
    size: Callable[[Any], Size]
    parameters: Mapping[str, Any]
    modules: tuple[str, ...]
    environment: str = OURS
    inputs: Callable[[Part], Any] = matrix_of
    fit: Callable[[Any, Any, npt.NDArray[np.int8]], Any] = fit_labels
    predict: Callable[[Any, Any], tuple[npt.NDArray[Any], npt.NDArray[Any]]] = labels_and_scores
    compiles: bool = False
    limits: tuple[int, ...] = ()
    path: Callable[[Any, Any], list[npt.NDArray[Any]]] | None = None

    def changed(self, name: str, parameters: Mapping[str, Any], *limits: int) -> Peer:
        """The same peer with some parameters set otherwise."""
        return replace(self, name=name, parameters={**self.parameters, **parameters}, limits=limits)
