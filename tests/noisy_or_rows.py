"""Rows for the tests of the noisy-or, drawn from known models, and what models say of their causes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from rulekit.graph.nodes import Hidden, Not
from rulekit.learners.noisy_or.likelihood import cells_held

Array = npt.NDArray[Any]


def drawn(seed: int, n: int = 200, k: int = 8, share: float = 0.4) -> tuple[Array, Array]:
    """Words [n, k] and labels [n] of a noisy-or of which some strengths are 0; both labels occur."""
    rng = np.random.default_rng(seed)
    words = rng.random((n, k)) < share
    strengths = np.where(rng.random(k) < 0.5, rng.exponential(1.0, k), 0.0)
    labels = (rng.random(n) < -np.expm1(-0.1 - words @ strengths)).astype(np.int64)
    labels[:2] = 0, 1
    return words, labels


def cells_of(words: Array) -> csr_array:
    """The rows as cells: a word that is there."""
    return cells_held(list(words.T > 0), len(words))


def general(words: Array) -> csr_array:
    """The same with a further cell for each word, that it is absent."""
    return cells_of(np.column_stack([words > 0, words == 0]))


def rows(n: int, p: tuple[float, ...], leak: float, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Boolean columns, of which the first ones cause "yes" with these probabilities, and three that do not."""
    rng = np.random.default_rng(seed)
    data = {f"a{j}": rng.random(n) < 0.4 for j in range(len(p) + 3)}
    dark = (1.0 - leak) * np.prod([np.where(data[f"a{j}"], 1.0 - q, 1.0) for j, q in enumerate(p)], axis=0)
    return data, np.where(rng.random(n) < 1.0 - dark, "yes", "no")


def bits(model: Any) -> dict[Any, float]:
    """By cause the probability with which it acts."""
    formula = model.rule_graph_.probability[0].formula
    formula = formula.child if isinstance(formula, Not) else formula
    return {bit.cause: bit.probability_on for bit in formula.children if isinstance(bit, Hidden)}
