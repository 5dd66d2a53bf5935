"""A weighted sum of features as a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rulekit.graph.evaluation.structures import unpacked
from rulekit.graph.language.sentences import Sentence
from rulekit.graph.nodes import Linear, Logistic
from rulekit.learners.binned.codes import Codes
from rulekit.learners.contract import Frame, Score
from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.gramression.atoms import Atoms


@dataclass(frozen=True, slots=True, eq=False)
class WeightedFeatures:
    """The bias and the weights of the features that are true are added up, exactly; yes above 0.

    offered: by rule of the grammar, how many features it made, how many of them were new, and how many are in the sum.
    bound: how many features the vocabulary could have, where it had so many; else 0.
    """

    atoms: Atoms
    features: tuple[Sentence, ...]
    weights: tuple[float, ...]
    bias: float
    offered: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    bound: int = 0

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        rows, total = self.atoms.structures(codes, n_rows), np.full(n_rows, self.bias)
        for feature, weight in zip(self.features, self.weights, strict=True):
            total += weight * unpacked(rows.holds(feature), n_rows)
        return total

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose sum is above 0."""
        return np.asarray(self.scores(codes, n_rows) > 0.0)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum, and 1 / (1 + exp(-sum)) as the probability."""
        nodes = [self.atoms.node(feature, frame.columns) for feature in self.features]
        total = Linear(list(zip(self.weights, nodes, strict=True)), self.bias)
        return Score(total, probability=Logistic(total), silent=not nodes and self.bias <= 0.0)
