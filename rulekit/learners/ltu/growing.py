"""Trees of units grown from the root down, by any way to fit one unit (Sahami, "The LTU Tree Algorithm").

A unit is fitted to the rows that come to it. Where too many of those on one of its sides are wrong, the unit has a
child on that side, which is fitted to them. Units are numbered level by level, so that a limit of units cuts the lowest
levels and not the right ones.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree

Node = Callable[[Floats, Bools, Floats, np.random.Generator], tuple[Floats, float]]
"""How one unit is fitted: inputs [n, d], labels [n], weights [n], a generator -> weights [d] of the unit, its bias.

The unit fires where bias + weights @ inputs >= 0, which is to be the rows whose label is true.
"""

PAPER_TOLERANCES = ((25.0, 0.25), (100.0, 0.12), (float("inf"), 0.06))


@dataclass(frozen=True, slots=True)
class Growth:
    """When a side of a unit has a child.

    depth: the most units that a row comes to; tolerances: pairs (n, share), the first whose n is at least the weight of
    a side says which share of it may be wrong; most_units: of the whole tree; again: whether a unit with all its rows
    on one side may have a child, which sees the very same rows and so is of use only where fitting is random.
    """

    depth: int = 10
    tolerances: tuple[tuple[float, float], ...] = PAPER_TOLERANCES
    most_units: int | None = None
    again: bool = True

    def tolerates(self, wrong: float, total: float) -> bool:
        """Whether a side that weighs `total`, of which `wrong` is answered wrongly, needs no child."""
        share = next((share for n, share in self.tolerances if total <= n), self.tolerances[-1][1])
        return wrong <= share * total


PAPER_GROWTH = Growth()


def grow_tree(
    inputs: Floats,
    labels: Bools,
    weights: Floats,
    node: Node,
    rng: np.random.Generator,
    growth: Growth = PAPER_GROWTH,
    check: Callable[[], None] | None = None,
) -> LTUTree:
    """The tree whose units are fitted by `node` to rows of inputs [n, d], labels [n] and positive weights [n].

    Weights count rows: a tolerance is of their sum. check: called before each unit, which may raise to stop.
    """
    left, right = list[int](), list[int]()
    fitted, biases = list[Floats](), list[float]()
    waiting = deque[tuple[Ints, int, bool, int]]([(np.arange(len(labels)), NONE, False, 1)])
    while waiting and (growth.most_units is None or len(left) < growth.most_units):
        rows, parent, on_right, depth = waiting.popleft()
        if check is not None:
            check()
        own_inputs, own_labels, own_weights = inputs[rows], labels[rows], weights[rows]
        of_unit, bias = node(own_inputs, own_labels, own_weights, rng)
        unit = len(left)
        if parent != NONE:
            (right if on_right else left)[parent] = unit
        left.append(NONE)
        right.append(NONE)
        fitted.append(of_unit)
        biases.append(bias)
        fires = own_inputs @ of_unit + bias >= 0.0
        if depth == growth.depth or (not growth.again and (fires.all() or not fires.any())):
            continue
        for side, answer in ((~fires, False), (fires, True)):
            total = float(own_weights[side].sum())
            wrong = float(own_weights[side & (own_labels != answer)].sum())
            if total > 0.0 and not growth.tolerates(wrong, total):
                waiting.append((rows[side], unit, answer, depth + 1))
    return LTUTree(Shape.of(left, right), np.array(fitted), np.array(biases))
