"""Progress on standard error: notes and what the table holds; on a terminal a bar while a file is read or learned."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from rulekit.work.progress import Event, Learning, Noticed, Progress, Read, Reading, unseen
from rulekit_cli.console import log, logged_from, width

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


_COMPILING = "rulekit.learners.counting.kernels"  # says at the level of information that it compiles


class _Display:
    """Shows events; the bars stand only while something moves."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._bars: Bars | None = None
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> bool:
        """Take an event; never cancels."""
        if isinstance(event, Read):
            self._stack.close()
            self._bars, self._tasks = None, {}
            for line in (*(f"note: {note}" for note in event.notes), *event.summary.lines(width())):
                log(line)
            if sys.stderr.isatty():  # learning begins, and may have to compile before its first step
                self._open()
        elif isinstance(event, Noticed):
            log(f"note: {event.note}")
        elif sys.stderr.isatty():
            self._move(event)
        return False

    def _move(self, event: Reading | Learning) -> None:
        if isinstance(event, Reading):
            self._update("reading", "reading", 100, round(100 * event.share))
            return
        step = event.step
        if "stage" in step:
            self._update(step["stage"], step["stage"], step["total"], step["done"])
            return
        error = step.get("error")
        note = f"{step['unit']} unit{'' if step['unit'] == 1 else 's'}" + (
            "" if error is None else f", training error {error:.3f}"
        )
        self._update(str(step.get("class", "")), event.learner, step["n_units"], step["unit"], note)

    def _update(self, key: str, name: str, total: int | None, done: int, note: str = "") -> None:
        bars = self._bars or self._open()
        if key not in self._tasks:
            self._tasks[key] = bars.add_task(name, total=total, note="")
        bars.update(self._tasks[key], completed=done, note=note)

    def _open(self) -> Bars:
        self._bars = self._stack.enter_context(_bars())
        self._stack.enter_context(logged_from(logging.INFO, _COMPILING))
        return self._bars


@contextmanager
def shown_progress(quiet: bool) -> Iterator[Progress]:
    """A callback for long work that shows the events, unless quiet."""
    if quiet:
        with logged_from(logging.ERROR):
            yield unseen
        return
    with ExitStack() as stack:
        yield _Display(stack)


@contextmanager
def _bars() -> Iterator[Bars]:
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars
