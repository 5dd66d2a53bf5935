"""What long work says of itself while it runs: events, for a callback that shows or logs them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from rulekit.limits import Deadline
from rulekit.names import printable, wrapped

if TYPE_CHECKING:
    from rulekit.audit.training_lines import TableSummary


MOST_LINES = 5
"""Lines of notes before anything is learned."""


@dataclass(frozen=True, slots=True)
class Noticed:
    """What was not quite as asked for; with a summary the table was read, and that is what it holds.

    shows: a command that tells the notes `others` too.
    """

    notes: tuple[str, ...]
    summary: TableSummary | None = None
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
        return [*(f"note: {note}" for note in found), *([] if self.summary is None else self.summary.lines(width))]


@dataclass(frozen=True, slots=True)
class Stage:
    """What is done now. share: how much of it, 0 to 1, in a file or a search; None: a step after learning."""

    what: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Learning:
    """A step of a learner, as the learner itself reports it."""

    learner: str
    step: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Resample:
    """The n-th of several trainings begins, from 1."""

    number: int
    total: int


Event = Noticed | Stage | Learning | Resample
Progress = Callable[[Event], object]


def unseen(event: Event) -> None:
    """The callback that shows nothing."""


def deadline_of(seconds: float | None, progress: Progress = unseen) -> Deadline:
    """A limit of time whose searches tell the callback how far they are."""
    return Deadline(seconds, lambda what, share: progress(Stage(what, share)))


def end_for_time() -> NoReturn:
    """End what runs past its limit of time; called by an alarm, wherever the work is."""
    from rulekit.learners.contract import OutOfTimeError

    raise OutOfTimeError


# How far a run has come -----------------------------------------------------------------------------------------------

_LEAST_SHARE = 0.05
"""Before so much is done nothing is said of what remains."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is done now, in words; the share of the run from 0 to 1; seconds that remain (None: not known)."""

    label: str
    share: float = 0.0
    seconds: float | None = None

    @property
    def remaining(self) -> str:
        """`about 4 s left`, or "" where that is not known."""
        if self.seconds is None:
            return ""
        if self.seconds < 100:
            return f"about {max(1, round(self.seconds))} s left"
        minutes = round(self.seconds / 60)
        return f"about {minutes} min left" if minutes < 100 else f"about {round(minutes / 60)} h left"


READ, PREPARED, LEARNED = 0.1, 0.15, 0.95
"""The shares of a run at which the file is mostly read, the rows are ready, a model is learned."""
_FIRST_SECOND = 1.0


@dataclass(slots=True, eq=False)
class RunProgress:
    """How far a run has come, by its events; parts: the shares at which a file is read, rows are ready, all is learned.

    The share never falls. A question (a class against the rest) is grown beside its first fold, which are two parts of
    equal work, and then each further fold is one more; questions that end before their largest size make it jump.
    """

    time_limit: float | None = None
    clock: Callable[[], float] = time.monotonic
    parts: tuple[float, float, float] = (READ, PREPARED, LEARNED)
    label: str = "reading"
    share: float = 0.0
    _began: float = field(init=False)
    _done: dict[Any, float] = field(default_factory=dict)
    _part: Resample = field(default_factory=lambda: Resample(1, 1))

    def __post_init__(self) -> None:
        self._began = self.clock()

    def take(self, event: Event) -> Standing:
        """The standing after the next event."""
        read, _, learned = self.parts
        if isinstance(event, Resample):
            self._part, self._done = event, {}
            self._reach("learning", 0.0)
        elif isinstance(event, Learning):
            self._learning(event.learner, event.step)
        elif isinstance(event, Noticed):
            if event.summary is not None:
                self._reach("learning", read)
        elif event.what == "reading":
            self._reach("reading", read * (event.share or 0.0))
        elif event.share is None:
            self._reach(event.what, learned if self._part.total > 1 else max(learned, (self.share + 1.0) / 2))
        else:  # one search after the other, each with a bar of its own
            self.label, self.share = event.what, min(event.share, 1.0)
            return Standing(self.label, self.share)
        return Standing(self.label, self.share, self._seconds_left())

    def _learning(self, learner: str, step: Mapping[str, Any]) -> None:
        read, prepared, learned = self.parts
        if "stage" in step:
            share = min(step["done"] / step["total"], 1.0) if step.get("total") else 0.0
            self._reach(f"{learner}: {step['stage']} the rows", read + (prepared - read) * share)
            return
        folds, questions = int(step.get("folds", 0)), int(step.get("questions", 1))
        about = f" for {step['class']}" if questions > 1 else ""
        if "fold" in step:
            done = int(step["fold"])
            self._done[step["class"]] = (1 + done) / (1 + max(folds, done))
            label = f"{learner}: fold {done} of {max(folds, done)} checked{about}"
        else:
            grown = min(int(step["unit"]) / max(int(step["n_units"]), 1), 1.0)
            self._done[step["class"]] = grown * (2 / (1 + folds) if folds else 1.0)
            label = f"{learner}: size {step['unit']} of at most {step['n_units']}{about}"
        share = min(sum(self._done.values()) / max(questions, len(self._done)), 1.0)
        self._reach(label, prepared + (learned - prepared) * share)

    def _reach(self, label: str, share: float) -> None:
        part = self._part
        self.label = f"{part.number} of {part.total}: {label}" if part.total > 1 else label
        self.share = max(self.share, (part.number - 1 + min(share, 1.0)) / part.total)

    def _seconds_left(self) -> float | None:
        """How long the rest takes, by how long it took so far; None while that is too early to say."""
        passed = self.clock() - self._began
        if self.share < _LEAST_SHARE or passed < _FIRST_SECOND:
            return None
        left = passed * (1.0 - self.share) / self.share
        return left if self.time_limit is None else min(left, max(0.0, self.time_limit - passed))
