"""How models and fits look to a person who runs Python: lower rooms ask here, and the notebook room answers.

No room imports the notebook. The face of the package, `rulekit/__init__.py`, says which module answers; it is
imported with the first object that is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast


class Notebook(Protocol):
    """What the module that answers has: the HTML of an object, and a bar that is moved by the steps of a fit."""

    def html_of(self, thing: Any) -> str: ...

    def bar_of(self, learner: str) -> AbstractContextManager[Callable[[Mapping[str, Any]], None]]: ...


_answering: list[Callable[[], Any]] = []


def answered_by(module: Callable[[], Any]) -> None:
    """Name the module that answers, by a function that imports it."""
    _answering[:] = [module]


def notebook() -> Notebook:
    """The module that answers."""
    return cast(Notebook, _answering[-1]())
