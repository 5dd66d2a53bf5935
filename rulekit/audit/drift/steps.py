"""Whether the numbers of a column are rounded more, or less, than those of training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from rulekit.audit.drift.distributions import UNITS_OF_GRIDS, on_grid
from rulekit.audit.drift.known import Known, KnownNumbers
from rulekit.audit.drift.significance import share_test

Floats = npt.NDArray[Any]

_KNOWN_ROWS = 2048  # at least so many of the training rows were looked at, where there were as many
_LEAST_CHANGE = 0.2
_MOST_VALUES = 1 << 12


@dataclass(frozen=True, slots=True)
class GridChange:
    """The share of the values that are multiples of a unit, then and now, and the probability of such a change."""

    unit: float
    then: float
    now: float
    chance: float


def grid_change(known: KnownNumbers, values: Floats, rows: Known) -> GridChange | None:
    """The largest unit of which much more, or much fewer, values are multiples; None where there is none.

    The probability is that of any of the units.
    """
    some = values[:: max(1, len(values) // _MOST_VALUES)]
    then_rows = min(_KNOWN_ROWS, rows.rows * (1.0 - known.missing))
    finest = min(known.grid, default=0.0)
    for unit in UNITS_OF_GRIDS if len(some) else ():
        then = known.grid.get(unit, 1.0 if unit < finest else 0.0)
        now = float(on_grid(some, unit).mean())
        if abs(now - then) >= _LEAST_CHANGE:
            chance = share_test(now * len(some), len(some), then * then_rows, then_rows)
            return GridChange(unit, then, now, min(1.0, chance * len(UNITS_OF_GRIDS)))
    return None
