"""Rows in parts: what a learner decides from is a sum of integers, to which every part of the rows adds its own.

A learner states a function of a part that answers messages, one after the other: a generator which yields integers and
is sent the next message. What it knows of its rows depends on the part and on the messages before alone. So whoever
holds a part may lose it, make it again from its source, and tell it the same history.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any, Protocol

from rulekit.arrays import Array
from rulekit.learners.data.problem import Problem
from rulekit.learners.sums_of_rows.kernels import run_threads

Answer = list[Array]
Function = Callable[[Problem], Generator[Answer, Any, None]]

_WORTH_A_PART = 1 << 16


class Rows(Protocol):
    """Rows in parts, wherever they are."""

    def ask(self, function: Function, history: Sequence[Any]) -> Answer:
        """The sums of what the parts answer after the last message of a history, which grows from call to call."""

    def each(self, function: Function, history: Sequence[Any]) -> list[Answer]:
        """What each part answers, in the order of the rows."""


@dataclass(slots=True, eq=False)
class LocalRows:
    """Parts that are here; each is asked by a thread."""

    parts: Sequence[Problem]
    n_threads: int = 1
    _begun: dict[Function, tuple[Sequence[Any], list[Generator[Answer, Any, None]], int]] = field(default_factory=dict)

    def ask(self, function: Function, history: Sequence[Any]) -> Answer:
        return reduce(added, self.each(function, history))

    def each(self, function: Function, history: Sequence[Any]) -> list[Answer]:
        of, asked, told = self._begun.get(function, (None, [], 0))
        if of is not history or told >= len(history):
            asked, told = [function(part) for part in self.parts], -1
        news = (None, *history)[told + 1 :]

        def answer(part: Generator[Answer, Any, None]) -> Answer:
            return [part.send(message) for message in news][-1]

        found = run_threads(answer, asked, self.n_threads)
        self._begun[function] = history, asked, len(history)
        return found


def rows_of(problem: Problem, n_threads: int) -> Rows:
    """The rows of a problem in parts: where they are, or one for each thread."""
    n = len(problem.labels)
    if problem.elsewhere is not None:
        found: Rows = problem.elsewhere.rows()
        return found
    n_parts = max(1, min(n_threads, n // _WORTH_A_PART))
    if n_parts == 1:
        return LocalRows([problem])
    cuts = [n * k // n_parts for k in range(n_parts + 1)]
    return LocalRows([problem.take(slice(a, b)) for a, b in pairwise(cuts)], n_threads)


def added(some: Any, others: Any) -> Any:
    """The sum of two answers, number by number."""
    if isinstance(some, dict):
        return {key: added(value, others[key]) for key, value in some.items()}
    if isinstance(some, list | tuple):
        return type(some)(map(added, some, others))
    return some + others
