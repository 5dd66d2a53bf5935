"""A bar while an estimator learns: below the cell of a notebook, or on a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol

from rulekit.names import printable
from rulekit.work.progress import TrainingCourse


def shell() -> Any:
    """The running notebook's shell, None where there is none: on a terminal, IPython's too, and in a script."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


_EVERY = 0.1
"""Seconds between two changes of a bar."""


class Bar(Protocol):
    """Shows what is done now, its share from 0 to 1 (None: not known), and what remains in words."""

    def __call__(self, label: str, share: float | None, remaining: str) -> None: ...


@contextmanager
def bar_of(learner: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A bar that is moved by each step of a fit, as a callback gets them."""
    course = TrainingCourse(learner)
    with bar() as show:

        def tell(step: Mapping[str, Any]) -> None:
            standing = course.after(step)
            show(standing.label, standing.share, standing.remaining)

        show(f"{learner}: reading the rows", None, "")
        yield tell


@contextmanager
def bar() -> Iterator[Bar]:
    """A bar for as long as something is under way; where output goes to a file, a line for each new label."""
    if shell() is not None:
        with _cell() as shown:
            yield shown
    elif sys.stderr.isatty():
        with _terminal() as shown:
            yield shown
    else:
        yield _Lines()


class _Lines:
    def __init__(self) -> None:
        self._last = ""

    def __call__(self, label: str, share: float | None, remaining: str) -> None:
        if label != self._last:
            print(printable(label), file=sys.stderr)
            self._last = label


@contextmanager
def _terminal() -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[remaining]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("learning", total=None, remaining="")

        def show(label: str, share: float | None, remaining: str) -> None:
            total = None if share is None else 1.0
            shown.update(task, description=printable(label), total=total, completed=share or 0.0, remaining=remaining)

        yield show


@contextmanager
def _cell() -> Iterator[Bar]:
    """One display below the cell, which is emptied at the end."""
    from IPython.display import HTML, display

    handle: Any = display(HTML(_line("learning", None, "")), display_id=True)
    last = 0.0

    def show(label: str, share: float | None, remaining: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            handle.update(HTML(_line(label, share, remaining)))

    try:
        yield show
    finally:
        handle.update(HTML(""))


def _line(label: str, share: float | None, remaining: str) -> str:
    value = "" if share is None else f' value="{share:.3f}"'
    return (
        '<div style="font: 13px system-ui, sans-serif; color: inherit">'
        f'<progress max="1"{value} style="width: 16em; vertical-align: middle"></progress> '
        f'{escape(printable(label))} <span style="opacity: .72">{escape(remaining)}</span></div>'
    )
