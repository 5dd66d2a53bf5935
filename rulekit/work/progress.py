"""What long work says of itself while it runs: events, for a callback that shows or logs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from rulekit.limits import Deadline
from rulekit.names import printable
from rulekit.shown.lines import wrapped
from rulekit.work.course import LearningCourse, Standing

if TYPE_CHECKING:
    from rulekit.audit.table_summary import TableSummary


MOST_LINES = 5
"""Lines of notes before anything is learned."""


@dataclass(frozen=True, slots=True)
class ReadingShare:
    """The share of the file that was read, from 0 to 1; only said of files that are read in blocks."""

    share: float


@dataclass(frozen=True, slots=True)
class Read:
    """The table was read: what was noticed, and what it holds; shows: a command that tells the notes `others` too."""

    notes: tuple[str, ...]
    summary: TableSummary
    others: tuple[str, ...] = ()
    shows: str = ""

    def lines(self, width: int) -> list[str]:
        """The notes, of the others those that have room in five lines with them, options first, and the summary."""

        def height(note: str) -> int:
            return len(wrapped(printable(f"note: {note}"), width, "  "))

        found, left = list(self.notes), 0
        room = MOST_LINES - sum(map(height, found))
        room -= sum(map(height, self.others)) > room  # the line that says how many are left out
        for note in sorted(self.others, key=lambda note: "--" not in note):
            if (lines := height(note)) <= room:
                found, room = [*found, note], room - lines
            else:
                left += 1
        found += [f"{self.shows} shows {left} more note{'s' * (left > 1)}"] if left else []
        return [*(f"note: {note}" for note in found), *self.summary.lines(width)]


@dataclass(frozen=True, slots=True)
class Noticed:
    """Something that was not quite as asked for."""

    note: str


@dataclass(frozen=True, slots=True)
class Learning:
    """A step of a learner, as the learner itself reports it."""

    learner: str
    step: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finishing:
    """What is done with a learned model: `simplifying`, `measuring`, ..."""

    what: str


@dataclass(frozen=True, slots=True)
class Searching:
    """What a search looks for, and the share of it that is done, from 0 to 1."""

    what: str
    share: float


@dataclass(frozen=True, slots=True)
class Resample:
    """The n-th of several trainings begins, from 1."""

    number: int
    total: int


Event = ReadingShare | Read | Noticed | Learning | Finishing | Searching | Resample
Progress = Callable[[Event], object]


def unseen(event: Event) -> None:
    """The callback that shows nothing."""


def deadline_of(seconds: float | None, progress: Progress = unseen) -> Deadline:
    """A limit of time whose searches tell the callback how far they are."""
    return Deadline(seconds, lambda what, share: progress(Searching(what, share)))


def end_for_time() -> NoReturn:
    """End what runs past its limit of time; called by an alarm, wherever the work is."""
    from rulekit.learners.contract import OutOfTimeError

    raise OutOfTimeError


_READ, _PREPARED, _LEARNED = 0.1, 0.15, 0.95
_SAYABLE = 0.05
_FIRST_SECOND = 1.0


@dataclass(slots=True, eq=False)
class RunProgress:
    """How far a whole run has come, by its events: reading, learning (as `Course` tells it), finishing.

    The share never falls. What a part of a run takes is not known before; each has the share that it mostly has.
    """

    time_limit: float | None = None
    clock: Callable[[], float] = time.monotonic
    label: str = "reading"
    share: float = 0.0
    _began: float = field(init=False)
    _course: LearningCourse | None = None
    _part: Resample = field(default_factory=lambda: Resample(1, 1))

    def __post_init__(self) -> None:
        self._began = self.clock()

    def take(self, event: Event) -> Standing:
        """The standing after the next event."""
        if isinstance(event, Searching):  # one search after the other, each with a bar of its own
            self.label, self.share = event.what, min(event.share, 1.0)
            return Standing(self.label, self.share)
        if isinstance(event, Resample):
            self._part, self._course = event, None
            self._reach("learning", 0.0)
        elif isinstance(event, ReadingShare):
            self._reach("reading", _READ * event.share)
        elif isinstance(event, Read):
            self._reach("learning", _READ)
        elif isinstance(event, Finishing):
            self._reach(event.what, _LEARNED if self._part.total > 1 else max(_LEARNED, (self.share + 1.0) / 2))
        elif isinstance(event, Learning):
            self._course = self._course or LearningCourse(event.learner, self.clock)
            now = self._course.after(event.step)
            first, last = (_READ, _PREPARED) if "stage" in event.step else (_PREPARED, _LEARNED)
            self._reach(now.label, first + (last - first) * (now.share or 0.0))
        return Standing(self.label, self.share, self._seconds_left())

    def _reach(self, label: str, share: float) -> None:
        part = self._part
        if part.total > 1:
            label = f"{part.number} of {part.total}: {label}"
        self.label, self.share = label, max(self.share, (part.number - 1 + min(share, 1.0)) / part.total)

    def _seconds_left(self) -> float | None:
        """How long the rest takes, by how long it took so far; None while that is too early to say."""
        passed = self.clock() - self._began
        if self.share < _SAYABLE or passed < _FIRST_SECOND:
            return None
        left = passed * (1.0 - self.share) / self.share
        return left if self.time_limit is None else min(left, max(0.0, self.time_limit - passed))
