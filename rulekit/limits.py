"""The limits of a search: of time, a moment of the monotonic clock that is handed to all parts of a command; of cells.

The object that limits the time hears how far the work has come, so that whatever may end by it also shows progress.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from rulekit.errors import BudgetError

FEW_CELLS = 1 << 17
"""Combinations of cells that are all run, whatever else would answer a question."""
RUN_CELLS = 1 << 20
"""Combinations that are all run where their results are kept and asked for again and again."""
MANY_CELLS = 1 << 21
"""Combinations that are all run where nothing else answers a question."""
BLOCK_CELLS = 1 << 16
"""Combinations that are run together."""


class OutOfTime(BudgetError):  # noqa: N818
    """A search reached the limit of time before it had an answer: what it was asked stays open."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A limit of time that begins when the object is made.

    seconds: how long the work may take; None: no limit. tell: is called with what is being done and how much of it is
    done, 0 to 1. Frozen, so that every part of a command shares one.
    """

    seconds: float | None = None
    tell: Callable[[str, float], object] = lambda what, share: None
    until: float = field(init=False)
    """The last moment, of `time.monotonic`; infinite without a limit."""

    def __post_init__(self) -> None:
        seconds = math.inf if self.seconds is None else self.seconds
        object.__setattr__(self, "until", time.monotonic() + seconds)

    @property
    def left(self) -> float:
        """The seconds that are left, at least 0; infinite without a limit."""
        return max(0.0, self.until - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether the time has run out."""
        return time.monotonic() >= self.until

    def check(self) -> None:
        """Go on, or raise OutOfTime."""
        if self.over:
            raise OutOfTime(self.reason)

    @property
    def reason(self) -> str:
        """Why something is open that the limit ended, with the option that gives more time."""
        return f"the limit of {self.seconds:g} seconds was reached (--time-limit)"

    def within(self, seconds: float) -> Deadline:
        """The limit of a part: `seconds` from now, or what is left of this one if that is less."""
        part = Deadline(seconds if self.seconds is None else self.seconds, self.tell)
        object.__setattr__(part, "until", min(self.until, time.monotonic() + seconds))
        return part


NO_LIMIT = Deadline()
