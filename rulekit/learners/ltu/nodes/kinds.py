"""The ways to fit a unit by their names, and the best of several (Sahami's proposal at the end of the section)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.ltu.growing import Node
from rulekit.learners.ltu.nodes.backprop import Backprop
from rulekit.learners.ltu.nodes.perceptron import Perceptron
from rulekit.learners.ltu.nodes.statistical import LogisticRegression, NaiveBayes

NodeKind = Literal["backprop", "perceptron", "logistic", "naive-bayes", "best"]


@dataclass(frozen=True, slots=True)
class Best:
    """The unit that errs least on the rows, of those that several ways fit; the first of equal ones."""

    nodes: tuple[Node, ...]

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        def wrong(found: tuple[Floats, float]) -> float:
            fires = inputs @ found[0] + found[1] >= 0.0
            return float(weights[fires != labels].sum())

        return min((node(inputs, labels, weights, rng) for node in self.nodes), key=wrong)


def node_of(kind: NodeKind, epochs: int = 5) -> Node:
    """The way to fit a unit of a name; epochs: passes over the rows of those that take one row at a time."""
    return KINDS[kind](epochs)


KINDS: Mapping[NodeKind, Callable[[int], Node]] = {
    "backprop": Backprop,
    "perceptron": Perceptron,
    "logistic": lambda epochs: LogisticRegression(),
    "naive-bayes": lambda epochs: NaiveBayes(),
    "best": lambda epochs: Best((Backprop(epochs), Perceptron(epochs), LogisticRegression(), NaiveBayes())),
}
