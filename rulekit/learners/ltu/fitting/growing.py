"""A tree grown from the root: each side of a unit that errs too often gets a unit of its own (Sahami, section 3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.ltu.fitting.options import FitOptions
from rulekit.learners.ltu.fitting.refining import Training
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.fitting.unit import best_unit
from rulekit.learners.ltu.shape import NONE, Shape
from rulekit.learners.ltu.trees import LTUTree

TOLERANCES = ((25.0, 0.25), (100.0, 0.12), (np.inf, 0.06))
"""Up to so many rows, the share of wrong ones that is left alone; above 100 rows 6 %."""


def tolerated(n_rows: float, wrong: float) -> bool:
    """Whether a side with so many rows and wrong ones among them is left alone."""
    return wrong <= n_rows * next(share for most, share in TOLERANCES if n_rows <= most)


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Rows without a unit yet, below `parent` on its right or left side; the number of units above."""

    at: Bools
    parent: int
    right: bool
    depth: int


def grown(rows: Rows, options: FitOptions, training: Training, check: Callable[[], None]) -> LTUTree | None:
    """The grown tree; None where no unit splits the rows."""
    units, left, right = list[Floats](), list[int](), list[int]()
    waiting = [_Side(np.ones(len(rows.targets), dtype=bool), NONE, False, 0)]
    while waiting and len(units) < options.max_nodes:
        side = waiting.pop(0)
        own = rows.at(side.at)
        unit = best_unit(own, options.directions, training, check)
        if unit is None:
            continue
        number = len(units)
        units.append(unit)
        left.append(NONE)
        right.append(NONE)
        if side.parent != NONE:
            (right if side.right else left)[side.parent] = number
        fires = rows.inputs @ unit[:-1] + unit[-1] >= 0.0
        for yes in (True, False):
            at = side.at & (fires == yes)
            here = rows.at(at)
            enough = side.depth + 1 < options.max_depth and 0.0 < here.share < 1.0
            if enough and not tolerated(here.total, here.wrong(np.full(len(here.targets), yes))):
                waiting.append(_Side(at, number, yes, side.depth + 1))
    if not units:
        return None
    found = np.array(units)
    return LTUTree(Shape.of(left, right), found[:, :-1], found[:, -1])
