"""What long work says of itself while it runs: events, for a callback that shows or logs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rulekit.audit.table_summary import TableSummary


@dataclass(frozen=True, slots=True)
class Reading:
    """The share of the file that was read, from 0 to 1; only said of files that are read in blocks."""

    share: float


@dataclass(frozen=True, slots=True)
class Read:
    """The table was read: what was noticed, and what it holds."""

    notes: tuple[str, ...]
    summary: TableSummary


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that was not quite as asked for."""

    note: str


@dataclass(frozen=True, slots=True)
class Learning:
    """A step of a learner, as the learner itself reports it, of `questions` that it learns in all (one a class)."""

    learner: str
    step: Mapping[str, Any]
    questions: int = 1


@dataclass(frozen=True, slots=True)
class Finishing:
    """What is done with a learned model: `simplifying`, `measuring`, ..."""

    what: str


Event = Reading | Read | Noticed | Learning | Finishing
Progress = Callable[[Event], object]


def unseen(event: Event) -> None:
    """The callback that shows nothing."""


_READ, _PREPARED, _GROWN, _CHECKED = 0.1, 0.15, 0.6, 0.95
_FOLDS = 5
_SAYABLE = 0.05
_FIRST_SECOND = 1.0


@dataclass(slots=True, eq=False)
class RunProgress:
    """How far a whole run has come, by its events: what is being done, which share is done, how long the rest takes.

    The share never falls. What a part of a run takes is not known before; each has the share that it has mostly, and a
    part that ends early is passed over.
    """

    time_limit: float | None = None
    clock: Callable[[], float] = time.monotonic
    label: str = "reading"
    note: str = ""
    share: float = 0.0
    _began: float = field(init=False)
    _units: dict[str, float] = field(default_factory=dict)
    _folds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def take(self, event: Event) -> None:
        """Take the next event."""
        if isinstance(event, Reading):
            self._reach("reading", _READ * event.share)
        elif isinstance(event, Read):
            self._reach("learning", _READ)
        elif isinstance(event, Finishing):
            self._reach(event.what, max(_CHECKED, self.share + (1.0 - self.share) / 2))
        elif isinstance(event, Learning):
            self._learn(event.step, event.questions)

    def _learn(self, step: Mapping[str, Any], questions: int) -> None:
        if "stage" in step:
            self._reach(step["stage"], _READ + (_PREPARED - _READ) * step["done"] / max(1, step["total"]))
            return
        which = str(step.get("class", ""))
        if "fold" in step:
            self._folds[which] = min(1.0, step["fold"] / _FOLDS)
            done = sum(self._folds.values()) / max(questions, len(self._folds))
            self._reach("checking sizes on held-out rows", _GROWN + (_CHECKED - _GROWN) * done)
            return
        self._units[which] = min(1.0, step["unit"] / max(1, step["n_units"]))
        done = sum(self._units.values()) / max(questions, len(self._units))
        of_class = f"class {which}, " if questions > 1 else ""
        error = "" if step.get("error") is None else f", training error {step['error']:.3f}"
        self._reach("learning", _PREPARED + (_GROWN - _PREPARED) * done, f"{of_class}size {step['unit']}{error}")

    def _reach(self, label: str, share: float, note: str = "") -> None:
        self.label, self.note, self.share = label, note, max(self.share, min(share, 1.0))

    @property
    def seconds_left(self) -> float | None:
        """How long the rest takes, by how long it took so far; None while that is too early to say."""
        passed = self.clock() - self._began
        if self.share < _SAYABLE or passed < _FIRST_SECOND:
            return None
        left = passed * (1.0 - self.share) / self.share
        return left if self.time_limit is None else min(left, max(0.0, self.time_limit - passed))

    @property
    def rest(self) -> str:
        """`about 20 s left`; "" while that is too early to say."""
        left = self.seconds_left
        if left is None:
            return ""
        if left < 60:
            step = 1 if left < 10 else 5
            return f"about {max(step, step * round(left / step))} s left"
        minutes = round(left / 60)
        return f"about {minutes} min left" if minutes < 90 else f"about {minutes / 60:.0f} h left"
