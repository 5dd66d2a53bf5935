"""Learnings that run side by side, each in a thread, and ask together: one trip takes the questions of all."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field
from queue import SimpleQueue
from threading import RLock, Thread, local
from typing import Any


class Ended(BaseException):
    """Nobody waits for the answer."""


@dataclass(slots=True, eq=False)
class _Learning:
    """found: what the learning yielded, how it ended (or None), in their order; over: nobody takes more of it."""

    number: int
    found: SimpleQueue[tuple[Any, BaseException | None]] = field(default_factory=SimpleQueue)
    over: bool = False


@dataclass(slots=True, eq=False)
class Meeting:
    """Where learnings wait until all that run have a question.

    go: answers questions; it may ask whether anybody still waits for an answer.
    """

    go: Callable[[Sequence[Any], Callable[[], bool]], list[Any]]
    _lock: Any = field(default_factory=RLock)  # a generator that is dropped takes it wherever that happens
    _own: local = field(default_factory=local)
    _running: dict[_Learning, Thread] = field(default_factory=dict)
    _asked: dict[_Learning, tuple[Any, Future[Any]]] = field(default_factory=dict)

    def ask(self, question: Any) -> Any:
        """The answer; a learning waits for the others, whoever else asks does not."""
        learning: _Learning | None = getattr(self._own, "learning", None)
        if learning is None:
            return self.go([question], lambda: True)[0]
        future = Future[Any]()
        with self._lock:
            if learning.over:
                raise Ended
            self._asked[learning] = question, future
            asked = self._all_asked()
        self._answer(asked)
        return future.result()

    def _all_asked(self) -> dict[_Learning, tuple[Any, Future[Any]]]:
        """The questions, once every learning that runs has one; none before."""
        if len(self._asked) < len(self._running):
            return {}
        asked, self._asked = self._asked, {}
        return asked

    def _answer(self, asked: dict[_Learning, tuple[Any, Future[Any]]]) -> None:
        if not asked:
            return
        order = sorted(asked, key=lambda learning: learning.number)
        try:
            found = self.go([asked[each][0] for each in order], lambda: not all(each.over for each in order))
        except BaseException as error:
            for _, future in asked.values():
                future.set_exception(error)
        else:
            for each, answer in zip(order, found, strict=True):
                asked[each][1].set_result(answer)

    def alongside(self, learnings: Sequence[Iterator[Any]]) -> list[Iterator[Any]]:
        """The same learnings, under way; one that is closed, or that nobody holds, ends at its next question."""
        own = {}
        for number, learning in enumerate(learnings):
            given = (each := _Learning(number)), learning
            own[each] = Thread(target=copy_context().run, args=(self._learn, *given), daemon=True)
        found: list[Iterator[Any]] = [self._taken(each) for each in own]
        for taken in found:
            next(taken)  # it now waits at its first yield, so that closing it is noticed
        with self._lock:
            self._running |= own
        for thread in own.values():
            thread.start()
        return found

    def _learn(self, own: _Learning, learning: Iterator[Any]) -> None:
        self._own.learning = own
        try:
            while not own.over:
                own.found.put((next(learning), None))
        except BaseException as error:
            own.found.put((None, error))
        finally:
            with self._lock:
                del self._running[own]
                asked = self._all_asked()
            self._answer(asked)

    def _taken(self, own: _Learning) -> Generator[Any, None, Any]:
        try:
            yield
            while True:
                candidate, error = own.found.get()
                if isinstance(error, StopIteration):
                    return error.value
                if error is not None:
                    raise error
                yield candidate
        finally:
            self._end(own)

    def _end(self, own: _Learning) -> None:
        with self._lock:
            own.over = True
            _, future = self._asked.pop(own, (None, None))
        if future is not None:
            future.set_exception(Ended())

    def close(self) -> None:
        """End all learnings, and wait until they have."""
        for own, thread in list(self._running.items()):
            self._end(own)
            thread.join()
