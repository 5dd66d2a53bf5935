"""Progress on standard error: notes and what the table holds; on a terminal one bar for the whole run."""

from __future__ import annotations

import logging
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import current_thread, main_thread
from types import FrameType
from typing import TYPE_CHECKING

from rulekit.names import printable
from rulekit.work.progress import (
    Event,
    Finishing,
    Noticed,
    Progress,
    Read,
    RunProgress,
    Standing,
    deadline_of,
    end_for_time,
    unseen,
)
from rulekit_cli.console import log, logged_from, width

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    from rulekit.limits import Deadline

_BAR_WIDTH = 20


class _Display:
    """Shows events; the bar is taken away while lines are written."""

    def __init__(self, stack: ExitStack, time_limit: float | None) -> None:
        self._stack = stack
        self._run = RunProgress(time_limit)
        self._bar: tuple[Bars, TaskID] | None = None

    def __call__(self, event: Event) -> bool:
        """Take an event; never cancels."""
        standing = self._run.take(event)
        if isinstance(event, Read | Noticed):
            self._stack.close()
            self._bar = None
            for line in self._lines(event):
                log(line)
        if sys.stderr.isatty():
            self._move(standing)
        return False

    def _lines(self, event: Read | Noticed) -> list[str]:
        if isinstance(event, Noticed):
            return [f"note: {event.note}"]
        return event.lines(width())

    def _move(self, standing: Standing) -> None:
        if self._bar is None:
            bars = self._stack.enter_context(_bars())
            self._bar = bars, bars.add_task("", total=1.0, said="")
        bars, task = self._bar
        share = standing.share or 0.0
        said = "   ".join(filter(None, [f"{100 * share:.0f} %", standing.remaining]))
        room = max(10, width() - _BAR_WIDTH - len(said) - 6)
        shown = standing.label if len(standing.label) <= room else f"{standing.label[: room - 3]}..."
        bars.update(task, description=printable(shown), completed=share, said=said)


@contextmanager
def shown_progress(quiet: bool, time_limit: float | None = None) -> Iterator[Progress]:
    """A callback for long work that shows the events, unless quiet; time_limit: of the learning, in seconds."""
    if quiet:
        with logged_from(logging.ERROR):
            yield unseen
        return
    with ExitStack() as stack:
        yield _Display(stack, time_limit)


@contextmanager
def shown_search(time_limit: float) -> Iterator[Deadline]:
    """The limit of a command's searches, in seconds from now, which shows how far they are."""
    with shown_progress(False) as progress:
        yield deadline_of(time_limit, progress)


@contextmanager
def bounded(seconds: float | None, progress: Progress) -> Iterator[Progress]:
    """The callback of a training that may take so many seconds, after which it is stopped wherever it is.

    Most steps ask for the time themselves. An alarm stops those that do not, where the system has one; what is left
    once a model was learned is short.
    """
    if seconds is None or not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        yield progress
        return

    def over(number: int, frame: FrameType | None) -> None:
        while frame is not None:
            name = str(frame.f_globals.get("__name__", ""))
            if name.startswith(("importlib._bootstrap", "numba.", "llvmlite.")):
                return  # half a module or half a kernel would stay; the alarm comes again
            frame = frame.f_back
        end_for_time()

    def tell(event: Event) -> object:
        if event == Finishing("measuring"):
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        return progress(event)

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, 2.0 + 1.05 * seconds, 1.0)
    try:
        yield tell
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _bars() -> Iterator[Bars]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        BarColumn(_BAR_WIDTH, complete_style="blue", finished_style="blue"),
        TextColumn("{task.fields[said]}"),
        TextColumn("{task.description}", markup=False),
    )
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars
