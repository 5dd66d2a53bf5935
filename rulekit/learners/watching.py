"""What a user sees of a fit while it runs: the bar of `verbose`, beside the callback."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rulekit.views import notebook

Callback = Callable[[Mapping[str, Any]], object] | None


@contextmanager
def watched(learner: str, verbose: bool | int, callback: Callback) -> Iterator[Callback]:
    """The callback, called after a bar was moved where one was asked for; the bar goes when the work ends."""
    if not verbose:
        yield callback
        return
    with notebook().bar_of(learner) as show:

        def tell(step: Mapping[str, Any]) -> object:
            show(step)
            return None if callback is None else callback(step)

        yield tell
