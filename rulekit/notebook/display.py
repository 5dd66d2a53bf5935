"""How each object is shown, and a bar while an estimator learns: below the cell of a notebook, or on a terminal.

What `rulekit.views` asks.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from html import escape
from typing import Any, Protocol

from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.notebook.html import estimator_html, graph_html, ladder_html, path_html, report_html
from rulekit.shown import view
from rulekit.work.progress import Learning, RunProgress

__all__ = ["bar_of", "html_of", "show"]

_HTML: dict[str, Callable[[Any], str]] = {  # by name, so that nothing is imported to show another object
    "RuleGraph": graph_html,
    "Ladder": ladder_html,
    "RuleClassifier": estimator_html,
    "ModelPath": path_html,
    "Report": report_html,
}


def html_of(thing: Any) -> str:
    """The HTML of a model, a ladder, an estimator, a path of sizes or a report of a verification."""
    make = next(_HTML[cls.__name__] for cls in type(thing).__mro__ if cls.__name__ in _HTML)
    return make(thing)


def show(graph: RuleGraph, full: bool = False, width: int | None = None) -> None:
    """Show the rules to a person: as HTML in a notebook, else as text on standard output.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    full : bool
        With every level of every set, and the weighted rules behind reported probabilities.
    width : int or None
        Columns of text; None asks the terminal.

    """
    if shell() is None:
        print(view.show(graph, width, full), end="")
        return
    from IPython.display import HTML, display

    display(HTML(graph_html(graph, full)))


# A bar ----------------------------------------------------------------------------------------------------------------


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
    course = RunProgress(parts=(0.0, 0.1, 1.0))
    with bar() as show:

        def tell(step: Mapping[str, Any]) -> None:
            standing = course.take(Learning(learner, step))
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
