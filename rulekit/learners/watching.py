"""What a user sees of a fit while it runs: the bar of `verbose`, beside the callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

Callback = Callable[[Mapping[str, Any]], object] | None


@contextmanager
def watched(learner: str, verbose: bool | int, callback: Callback) -> Iterator[Callback]:
    """The callback, called after a bar was moved where one was asked for; the bar goes when the work ends."""
    if not verbose:
        yield callback
        return
    from rulekit.notebook.bars import bar
    from rulekit.work.progress import LearningCourse

    course = LearningCourse(learner)
    with bar() as show:

        def tell(step: Mapping[str, Any]) -> object:
            standing = course.after(step)
            show(standing.label, standing.share, standing.remaining)
            return None if callback is None else callback(step)

        show(f"{learner}: reading the rows", None, "")
        yield tell
