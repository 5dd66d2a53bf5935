"""Hidden bits whose condition joins two: both hold, one of them holds, or exactly one of them (parity)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.learners.binned.codes import Codes
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.counting.histograms import Bools

Junction = Literal["and", "or", "xor"]

_HOLDS = np.array([False, True])


@dataclass(frozen=True, slots=True, eq=False)
class PairBit(Bit):
    """A bit over two conditions: that of the bit, and `other_condition` on the codes of column `other`."""

    other: int = -1
    other_condition: Bools = field(default_factory=lambda: _HOLDS)
    other_known: Bools = field(default_factory=lambda: _HOLDS)
    junction: Junction = "and"

    @property
    def columns(self) -> tuple[int, ...]:
        return self.column, self.other

    @property
    def literals(self) -> int:
        """How many literals its condition is written with."""
        return 4 if self.junction == "xor" else 2

    def seen(self, codes: Codes) -> tuple[npt.NDArray[Any], Bools]:
        """0 or 1 [n], whether both conditions together hold, and that 1 says so."""
        one, two = self.condition[codes[self.column]], self.other_condition[codes[self.other]]
        joined = one & two if self.junction == "and" else one | two if self.junction == "or" else one ^ two
        return joined.view(np.uint8), _HOLDS


def contrary(bit: PairBit) -> PairBit:
    """The bit whose condition holds where that of `bit` does not, over codes that have a side; strengths stay."""
    flipped = bit.other_known & ~bit.other_condition
    if bit.junction == "xor":
        return replace(bit, other_condition=flipped)
    junction: Junction = "or" if bit.junction == "and" else "and"
    return replace(bit, condition=bit.known & ~bit.condition, other_condition=flipped, junction=junction)
