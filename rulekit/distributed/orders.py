"""What a worker is asked of the parts of training rows that it holds, and how it answers.

What it knows of a part is a function of its spec and of what it was told since. A digest names that state, each one
made of the digest before and the message that came next. So messages go out once, a task that is repeated changes
nothing, and a worker that is not in the state that a message follows says so: told the whole history it comes there.
"""

from __future__ import annotations

import signal
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from importlib.metadata import version
from threading import Lock
from typing import Any

from distributed.protocol.pickle import dumps, loads

from rulekit.learners.data.parts import Answer, Function, added
from rulekit.learners.data.training_part import ByPart, TrainingPart, View
from rulekit.learners.sums_of_rows.kernels import run_threads
from rulekit.version import __version__

Load = Callable[[Any, int], TrainingPart]

_KEPT_JOBS = 2

# What travels ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StateChain:
    """States by their digests, up to the newest, and the messages between them, pickled; whole: from the first on."""

    digests: tuple[bytes, ...]
    messages: tuple[bytes, ...]
    whole: bool

    def after(self, digest: bytes) -> Iterator[tuple[bytes, Any]]:
        """The states that follow one, each with the message that leads to it."""
        first = self.digests.index(digest)
        for to, message in zip(self.digests[first + 1 :], self.messages[first:], strict=True):
            yield to, loads(message)


@dataclass(frozen=True, slots=True)
class Call:
    """A function that each part answers; none: what each answered to the newest that it was told."""

    function: Callable[..., Any] | None
    arguments: tuple[Any, ...] = ()
    summed: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation with the rows of a view; see `rulekit.learners.data.parts`."""

    number: int
    view: View
    function: Function
    chain: StateChain
    summed: bool


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker is asked in a trip.

    parts: those that answer; held: all that it is to keep; live: the conversations that may go on.
    """

    job: str
    load: Load
    parts: tuple[int, ...]
    held: tuple[int, ...]
    live: tuple[int, ...]
    told: StateChain
    asked: tuple[Call | Talk, ...]
    n_threads: int


# On a worker ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Talking:
    generator: Generator[Answer, Any, None]
    view: View
    digest: bytes
    answer: Answer


@dataclass(slots=True, eq=False)
class _HeldPart:
    """A part in the state of a digest, what it answered last, and the conversations with it."""

    part: TrainingPart
    digest: bytes
    answer: Any = None
    talks: dict[int, _Talking] = field(default_factory=dict)

    def keep(self, live: Collection[int]) -> None:
        self.talks = {number: talk for number, talk in self.talks.items() if number in live}
        views = {talk.view for talk in self.talks.values()}
        self.part.views = {view: rows for view, rows in self.part.views.items() if view in views}

    def tell(self, told: StateChain) -> None:
        for digest, (function, arguments) in told.after(self.digest):
            self.talks, self.part.views = {}, {}
            self.answer = function(self.part, *_own(arguments, self.part.number))
            self.digest = digest

    def ask(self, asked: Call | Talk) -> Any:
        if isinstance(asked, Call):
            own = _own(asked.arguments, self.part.number)
            return self.answer if asked.function is None else asked.function(self.part, *own)
        talk, chain = self.talks.pop(asked.number, None), asked.chain
        if talk is None or talk.digest not in chain.digests:
            generator = asked.function(self.part.view(asked.view))
            talk = _Talking(generator, asked.view, chain.digests[0], next(generator))
        for digest, message in chain.after(talk.digest):
            talk.answer, talk.digest = talk.generator.send(message), digest
        self.talks[asked.number] = talk
        return talk.answer

    def can(self, order: Order) -> bool:
        """Whether the state is one that the messages of an order follow."""
        asked = [each for each in order.asked if isinstance(each, Talk) and not each.chain.whole]
        talks = [(self.talks.get(each.number), each.chain.digests) for each in asked]
        return self.digest in order.told.digests and all(talk and talk.digest in digests for talk, digests in talks)


@dataclass(slots=True, eq=False)
class _Job:
    lock: Any = field(default_factory=Lock)
    known: dict[int, _HeldPart] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Failed:
    number: int
    error: Exception


_JOBS: dict[str, _Job] = {}


def versions() -> dict[str, str]:
    """What decides the last bit of a number."""
    return {"rulekit": __version__, **{name: version(name) for name in ("numpy", "numba", "polars")}}


def work(
    order: bytes,
    specs: Mapping[int, Any] | None = None,
    expected: Mapping[str, str] | None = None,
    jobs: dict[str, _Job] = _JOBS,
) -> bytes:
    """Follow an order; answers its questions, or that the state is unknown, the versions others, a part bad.

    specs: of its parts, where they may have to be made anew; expected: the versions of the driver.
    """
    if expected is not None and expected != versions():
        return bytes(dumps(("versions", versions())))
    read: Order = loads(zlib.decompress(order))
    job = jobs.setdefault(read.job, _Job())
    for old in list(jobs)[:-_KEPT_JOBS]:
        jobs.pop(old, None)
    with job.lock:  # a task of an earlier try may still run
        return bytes(dumps(_followed(read, specs or {}, job.known)))


def _followed(order: Order, specs: Mapping[int, Any], known: dict[int, _HeldPart]) -> tuple[Any, ...]:
    for number in set(known).difference(order.held):
        del known[number]
    for each in known.values():
        each.keep(order.live)
    lost = [number for number in order.parts if number not in known or not known[number].can(order)]
    if not specs.keys() >= set(lost):
        return ("unknown",)
    for number in lost:
        known.pop(number, None)  # so that its memory is free before it is made again

    def guarded(task: Callable[..., Any], number: int, *more: Any) -> Any:
        try:
            return task(number, *more)
        except Exception as error:
            known.pop(number, None)
            return _Failed(number, _travelling(error))

    def tell(number: int) -> None:
        if number not in known:
            known[number] = _HeldPart(order.load(specs[number], number), order.told.digests[0])
        known[number].tell(order.told)

    told = run_threads(lambda number: guarded(tell, number), order.parts, order.n_threads)
    found = [each for each in told if each is not None]
    if not found:
        held = {number: known[number] for number in order.parts}
        items = [(number, asked) for asked in order.asked for number in order.parts]

        def ask(number: int, asked: Call | Talk) -> Any:
            return held[number].ask(asked)

        found = run_threads(lambda item: guarded(ask, *item), items, order.n_threads)
    if failed := [each for each in found if isinstance(each, _Failed)]:
        return "failed", failed[0].number, failed[0].error
    answers, n = [], len(order.parts)
    for k, asked in enumerate(order.asked):
        own = found[k * n : (k + 1) * n]
        answers.append(reduce(added, own) if asked.summed else dict(zip(order.parts, own, strict=True)))
    return "answers", answers


def _own(arguments: Sequence[Any], number: int) -> list[Any]:
    return [each.values[number] if isinstance(each, ByPart) else each for each in arguments]


def _travelling(error: Exception) -> Exception:
    """An error, or what it says where it cannot be sent."""
    try:
        loads(dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def forget(job: str) -> None:
    """Drop all that is known of a job."""
    _JOBS.pop(job, None)


def dask_setup(_: Any) -> None:
    """Leave Ctrl-C to the driver: it is meant for that, and a terminal sends it to its workers too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
