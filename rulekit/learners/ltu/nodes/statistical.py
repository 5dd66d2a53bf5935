"""Units by statistics of all rows at once: logistic regression and naive Bayes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.ltu.nodes.conditions import are_conditions


@dataclass(frozen=True, slots=True)
class LogisticRegression:
    """The least mean log loss + l2 / 2 times the squared weights of inputs that are scaled alike; the bias is free."""

    l2: float = 1e-4
    iterations: int = 100

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        if labels.all() or not labels.any():  # no finite bias would do
            return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
        from scipy.optimize import minimize

        shares = weights / weights.sum()
        means = shares @ inputs
        deviations = np.sqrt(shares @ (inputs - means) ** 2)
        scales = np.where(deviations > 0.0, deviations, 1.0)
        seen = (inputs - means) / scales
        signs = np.where(labels, 1.0, -1.0)

        def loss(at: Floats) -> tuple[float, Floats]:
            margins = signs * (seen @ at[:-1] + at[-1])
            missed = 1.0 / (1.0 + np.exp(np.clip(margins, -500.0, 500.0)))
            slopes = -shares * signs * missed
            value = float(shares @ np.logaddexp(0.0, -margins)) + 0.5 * self.l2 * float(at[:-1] @ at[:-1])
            return value, np.append(slopes @ seen + self.l2 * at[:-1], slopes.sum())

        start = np.zeros(inputs.shape[1] + 1)
        found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": self.iterations}).x
        own = found[:-1] / scales
        return own, float(found[-1] - own @ means)


@dataclass(frozen=True, slots=True)
class NaiveBayes:
    """The logarithm of the odds of the classes, as if the inputs were independent in each.

    Conditions by their shares, each count one half larger (P. Langley, Induction of Recursive Bayesian Classifiers,
    1993, has them at the nodes of a tree); numbers as normal with a variance of both classes together.
    """

    def __call__(
        self, inputs: Floats, labels: Bools, weights: Floats, rng: np.random.Generator
    ) -> tuple[Floats, float]:
        if labels.all() or not labels.any():
            return np.zeros(inputs.shape[1]), 1.0 if labels.all() else -1.0
        conditions = are_conditions(inputs)
        classes = np.stack([weights * ~labels, weights * labels])
        totals = classes.sum(axis=1)
        sums = classes @ inputs
        shares = (sums[:, conditions] + 0.5) / (totals[:, None] + 1.0)
        own, bias = np.zeros(inputs.shape[1]), float(np.log(totals[1] / totals[0]))
        odds = np.log(shares / (1.0 - shares))
        own[conditions] = odds[1] - odds[0]
        absent = np.log1p(-shares)
        bias += float((absent[1] - absent[0]).sum())
        means = sums[:, ~conditions] / totals[:, None]
        numbers = inputs[:, ~conditions]
        squares = sum(of @ (numbers - mean) ** 2 for of, mean in zip(classes, means, strict=True))
        varies = np.asarray(squares) > 0.0
        variances = np.where(varies, squares / totals.sum(), 1.0)
        apart = np.where(varies, (means[1] - means[0]) / variances, 0.0)
        own[~conditions] = apart
        return own, bias - float(apart @ (means[1] + means[0]) / 2.0)
