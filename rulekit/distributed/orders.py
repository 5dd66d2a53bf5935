"""What a worker is asked of the parts of training rows that it holds, and how it answers.

What it knows of a part is a function of its spec and of what it was told since. A digest names that state, each one
made of the digest before and the message that came next. So messages go out once, an order that is repeated changes
nothing, and a worker that is not in the state that a message follows says so: told the whole history it comes there.

A worker passes the errands of others on to them, and adds their answers to its own.
"""

from __future__ import annotations

import asyncio
import signal
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from importlib.metadata import version
from threading import Lock
from typing import TYPE_CHECKING, Any

from distributed.client import Client, futures_of
from distributed.core import clean_exception
from distributed.protocol.pickle import dumps, loads

from rulekit.errors import InputError
from rulekit.learners.data.parts import Answer, Function, added
from rulekit.learners.data.training_part import ByPart, TrainingPart, View
from rulekit.learners.sums_of_rows.kernels import run_threads
from rulekit.version import __version__

if TYPE_CHECKING:
    from distributed import Worker

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
    """What workers are asked in a trip; live: the conversations that may go on."""

    job: str
    load: Load
    live: tuple[int, ...]
    told: StateChain
    asked: tuple[Call | Talk, ...]


@dataclass(frozen=True, slots=True)
class Errand:
    """An order for one worker, and the errands that it passes on, pickled, with the addresses of their workers.

    order: pickled and compressed; parts: those that answer; held: all that the worker is to keep; specs: of its parts,
    pickled, where they may have to be made anew.
    """

    order: bytes
    parts: tuple[int, ...]
    held: tuple[int, ...]
    specs: bytes | None
    passed: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Answers:
    """What workers say: the parts that answered, and what they answered to each question.

    unknown: the workers in another state; lost: those that did not answer; failed: what went wrong first, and the
    number of the part, or -1.
    """

    parts: tuple[int, ...] = ()
    found: tuple[Any, ...] = ()
    unknown: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    failed: tuple[int, Exception] | None = None

    def __add__(self, other: Answers) -> Answers:
        both = zip(self.found, other.found, strict=True)
        return Answers(
            self.parts + other.parts,
            tuple(map(_joined, *zip(*both, strict=True))) if self.found and other.found else self.found or other.found,
            self.unknown + other.unknown,
            self.lost + other.lost,
            self.failed or other.failed,
        )


def _joined(some: Any, others: Any) -> Any:
    return ByPart(dict(some.values) | dict(others.values)) if isinstance(some, ByPart) else added(some, others)


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


@lru_cache(1)
def versions() -> dict[str, str]:
    """What decides the last bit of a number."""
    return {"rulekit": __version__, **{name: version(name) for name in ("numpy", "numba", "polars")}}


async def work(expected: Mapping[str, str], errand: bytes, dask_worker: Worker) -> bytes:
    """Follow an errand, pass on those of other workers, and return pickled Answers; expected: the caller's versions."""
    at, own = dask_worker.address, versions()
    if name := next((name for name, known in expected.items() if own.get(name) != known), ""):
        what = f"worker {at} has {name} {own.get(name)}, the caller {expected[name]}"
        error = InputError(what, where="engine", fix="install one version everywhere")
        return bytes(dumps(Answers(failed=(-1, error))))
    read: Errand = loads(errand)

    async def passed(to: str, content: bytes) -> Answers:
        try:
            said = await dask_worker.rpc(to).run(function=dumps(work), args=dumps((expected, content)))
        except OSError:
            return Answers(lost=(to,))
        return loads(said["result"]) if said["status"] == "OK" else Answers(failed=(-1, clean_exception(**said)[1]))

    def mine() -> Answers:
        specs = {} if read.specs is None else loads(read.specs)
        if futures_of(specs):
            with Client(dask_worker.scheduler.address, security=dask_worker.security, set_as_default=False) as client:
                specs = client.submit(dict, specs, workers=[at], pure=False).result()
        return followed(read, at, specs, dask_worker.state.nthreads)

    found = await asyncio.gather(asyncio.to_thread(mine), *(passed(*each) for each in read.passed))
    return bytes(dumps(reduce(Answers.__add__, found)))


def followed(
    errand: Errand, at: str, specs: Mapping[int, Any], n_threads: int, jobs: dict[str, _Job] = _JOBS
) -> Answers:
    """Return the answers of the worker at an address for its own parts, or the error of one of them."""
    order: Order = loads(zlib.decompress(errand.order))
    job = jobs.setdefault(order.job, _Job())
    for old in list(jobs)[:-_KEPT_JOBS]:
        jobs.pop(old, None)
    known, parts = job.known, errand.parts
    with job.lock:  # an order of an earlier try may still be followed
        for number in set(known).difference(errand.held):
            del known[number]
        for each in known.values():
            each.keep(order.live)
        lost = [number for number in parts if number not in known or not known[number].can(order)]
        if not specs.keys() >= set(lost):
            return Answers(unknown=(at,))
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

        found = run_threads(lambda number: guarded(tell, number), parts, n_threads)
        if not any(found):
            held = {number: known[number] for number in parts}
            items = [(number, asked) for asked in order.asked for number in parts]
            found = run_threads(lambda item: guarded(lambda n, asked: held[n].ask(asked), *item), items, n_threads)
    if failed := next((each for each in found if isinstance(each, _Failed)), None):
        return Answers(failed=(failed.number, failed.error))
    answers, n = [], len(parts)
    for k, asked in enumerate(order.asked):
        own = found[k * n : (k + 1) * n]
        answers.append(reduce(added, own) if asked.summed else ByPart(dict(zip(parts, own, strict=True))))
    return Answers(parts, tuple(answers))


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
