"""What the default learner of trees may be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FitOptions:
    """max_nodes, max_depth: of grown trees, before they are pruned; max_chain: the most units of a chain.

    l2: ridges to try for trees; logistic_l2: for a single unit of log loss. screens: how many inputs are kept, of
    those that tell most, each tried; all of them are tried too where there are no more than most_inputs.
    starts: random starts of each chain. directions: eigenvectors that a unit of a grown tree starts from.
    finalists: trees of each number of units whose weights are eliminated.
    select_margin, prune_margin, eliminate_margin: how many standard errors of the difference on held-out rows a smaller
    tree may err more. linear_margin: the same for the log loss of logistic regression with fewer weights; beat_margin:
    by how many another tree must err less than it.
    sample: rows that candidates are looked for on; what is chosen is fitted to all.
    heat_sample: rows that the first steps of random starts go on.
    """

    max_nodes: int = 40
    max_depth: int = 10
    max_chain: int = 4
    l2: tuple[float, ...] = (1e-3, 1e-4)
    logistic_l2: tuple[float, ...] = (1e-1, 3e-2, 1e-2, 1e-3, 1e-4)
    screens: tuple[int, ...] = (20, 60)
    most_inputs: int = 120
    starts: int = 6
    finalists: int = 2
    directions: int = 5
    select_margin: float = 1.5
    prune_margin: float = 1.5
    eliminate_margin: float = 2.0
    linear_margin: float = 0.0
    beat_margin: float = 1.5
    sample: int = 10_000
    heat_sample: int = 3_000
