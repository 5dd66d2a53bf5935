"""Units that decide nothing: whose answer could be the same for all rows, and every row would be answered as it is."""

from __future__ import annotations

import numpy as np

from rulekit.learners.counting.histograms import Bools, Ints
from rulekit.learners.ltu.shape import Shape


def idle_unit(shape: Shape, fires: Bools, among: Ints | None = None) -> tuple[int, bool] | None:
    """The last unit that decides nothing and can be left out, and what it may always answer; fires [n, m].

    among: the units that may be it, all unless given. None where each decides something.
    """
    answers = shape.decides(fires)
    for unit in reversed(range(shape.size) if among is None else among.tolist()):
        for answer in (False, True):
            if shape.passing(unit, answer) is None:
                continue
            always = fires.copy()
            always[:, unit] = answer
            if np.array_equal(shape.decides(always), answers):
                return unit, answer
    return None


def without_idle(shape: Shape, fires: Bools, among: Ints | None = None) -> tuple[Shape, Ints]:
    """The shape without the units that decide nothing, one after the other, and the units [k] that are left.

    among: the units that may be left out, all unless given.
    """
    kept = np.arange(shape.size)
    while True:
        eligible = None if among is None else np.flatnonzero(np.isin(kept, among))
        found = idle_unit(shape, fires[:, kept], eligible)
        passed = None if found is None else shape.passing(*found)
        if passed is None:
            return shape, kept
        shape, kept = passed[0], kept[passed[1]]
