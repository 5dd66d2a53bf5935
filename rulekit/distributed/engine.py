"""The parts of training rows on Dask workers: a trip is one task for each worker, which answers for all of its parts.

A worker may die or join at any time. The driver then deals the parts anew, and asks each part again that has not
answered. `rulekit.distributed.orders` says what a worker knows, and why the answers stay the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future as Arriving
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import reduce
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakSet

from distributed.protocol.pickle import dumps, loads

from rulekit.distributed.meeting import Ended, Meeting
from rulekit.distributed.orders import Call, Load, Order, StateChain, Talk, dask_setup, forget, versions, work
from rulekit.errors import InputError
from rulekit.learners.data.parts import Answer, Function, Rows, added
from rulekit.learners.data.training_part import ByPart, View

if TYPE_CHECKING:
    from distributed import Client, Future

NO_WORKER = 60.0
"""Seconds without a worker after which a training ends."""
MOST_DEATHS = 3
_POLL, _LOOK = 0.5, 2.0  # seconds until it is seen that a worker has died, or joined


@dataclass(slots=True)
class Traffic:
    """What the trips of a training came to.

    orders: tasks, one for each worker and trip; asked: parts, summed over the orders; bytes_in: of answers; bytes_out:
    of orders; largest_in, largest_out: of one; replayed: parts that were told all their history again.
    """

    trips: int = 0
    orders: int = 0
    asked: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    largest_in: int = 0
    largest_out: int = 0
    seconds: float = 0.0
    replayed: int = 0


class _History:
    """What was told, and the digest of each state; sure: how many messages all parts know already."""

    def __init__(self, *begin: Any) -> None:
        self.digests, self.messages, self.sure = [_digest(dumps(begin))], list[Any](), 0

    def add(self, message: Any, by_part: bool = False) -> None:
        pickled = dumps(message)
        self.digests.append(_digest(self.digests[-1] + pickled))
        self.messages.append(message if by_part else pickled)

    def chain(self, parts: Sequence[int], whole: bool) -> StateChain:
        first = 0 if whole else self.sure
        news = [each if isinstance(each, bytes) else dumps(_within(each, parts)) for each in self.messages[first:]]
        return StateChain(tuple(self.digests[first:]), tuple(news), first == 0)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]


def _within(value: Any, parts: Sequence[int]) -> Any:
    """A message with what belongs to some parts alone."""
    if isinstance(value, ByPart):
        return ByPart({number: value.values[number] for number in parts})  # type: ignore[arg-type]
    return tuple(_within(each, parts) for each in value) if isinstance(value, tuple) else value


@dataclass(eq=False)
class _Conversation:
    """What the rows of a view are asked: of a history of the learner that grows."""

    number: int
    function: Function
    view: View
    of: Sequence[Any]
    state: bytes
    history: _History


@dataclass(frozen=True, slots=True, eq=False)
class _Question:
    """A question in a trip; none of call and talk: the answer to what was told last."""

    call: Call | None = None
    talk: _Conversation | None = None
    summed: bool = False

    def of(self, parts: Sequence[int], whole: bool) -> Call | Talk:
        if self.talk is None:
            assert self.call is not None
            return Call(self.call.function, _within(self.call.arguments, parts), self.summed)
        talk = self.talk
        return Talk(talk.number, talk.view, talk.function, talk.history.chain(parts, whole), self.summed)

    def joined(self, found: Sequence[Any]) -> Any:
        """The answer, from those of some workers."""
        if self.summed:
            return reduce(added, found)
        by_part = {number: each for own in found for number, each in own.items()}
        return [by_part[number] for number in sorted(by_part)]


class DaskParts:
    """Parts of the rows on the workers of a Dask client, each loaded there from its spec.

    load: a function with a name, which makes a part of its spec and number; a spec: plain data, or a tuple in which
    there may be futures. rows: how many rows each part has, where that is known. `close` frees the workers.
    """

    def __init__(self, client: Client, load: Load, specs: Sequence[Any], rows: Sequence[int] | None = None) -> None:
        self.client, self.load, self.specs, self.job = client, load, list(specs), uuid4().hex
        self.sizes = [1] * len(self.specs) if rows is None else [max(1, each) for each in rows]
        self.traffic, self.told, self.conversations = Traffic(), _History(self.job), WeakSet[_Conversation]()
        self.owner, self.knows = dict[int, str](), dict[int, str]()
        self.checked, self.threads, self.looked = set[str](), dict[str, int](), -_LOOK
        self.lock, self.counted, self.closed = Lock(), 0, False
        self.meeting = Meeting(self._trip)

    def __enter__(self) -> DaskParts:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what still learns, and let the workers forget all."""
        self.closed = True
        self.meeting.close()
        with suppress(Exception):  # the cluster may be gone
            self.client.run(forget, self.job, on_error="ignore")

    def tell(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Let each part know more; what each answers, in the order of the rows."""
        self.told.add((function, arguments), any(isinstance(each, ByPart) for each in arguments))
        found: list[Any] = self.meeting.ask(_Question(Call(None)))
        return found

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What each part answers, in the order of the rows."""
        found: list[Any] = self.meeting.ask(_Question(Call(function, arguments)))
        return found

    def sum(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The sum of what the parts answer; see `added`."""
        return self.meeting.ask(_Question(Call(function, arguments), summed=True))

    def rows(self, view: View) -> Rows:
        """The rows of a view."""
        return _DaskRows(self, view)

    def alongside(self, learnings: Sequence[Iterator[Any]]) -> list[Iterator[Any]]:
        """The same learnings, each in a thread; they ask together."""
        return self.meeting.alongside(learnings)

    def talk(self, function: Function, view: View, history: Sequence[Any]) -> _Conversation:
        """Begin a conversation."""
        state = self.told.digests[-1]
        with self.lock:
            self.counted += 1
            own = _Conversation(self.counted, function, view, history, state, _History(state, view, function))
            self.conversations.add(own)
        return own

    def _trip(self, questions: Sequence[_Question], wanted: Callable[[], bool]) -> list[Any]:
        with self.lock:
            begun = time.perf_counter()
            try:
                return _Trip(self, questions, lambda: wanted() and not self.closed).made()
            finally:
                self.traffic.trips += 1
                self.traffic.seconds += time.perf_counter() - begun

    def workers(self, look: bool = False) -> Mapping[str, int]:
        """Count the threads of each living worker; wait for one, and deal the parts anew where others live."""
        begun = time.monotonic()
        while look or not self.threads or time.monotonic() > self.looked + _LOOK:
            known = self.client.scheduler_info(n_workers=-1)["workers"] if self.client.status == "running" else {}
            found = {at: int(own["nthreads"]) for at, own in known.items() if own["status"] in ("running", "paused")}
            self.looked = time.monotonic()
            if found:
                self.owner = dealt(self.owner, self.sizes, found, [at for at in found if at not in self.threads])
                self.threads, look = found, False
            elif self.closed:
                raise Ended
            elif self.looked > begun + NO_WORKER:
                what, fix = f"no worker for {NO_WORKER:g} seconds", "start workers of Dask for this scheduler"
                raise InputError(what, where="engine", fix=fix)
            else:
                self.threads = {}
                time.sleep(0.1)
        return self.threads

    def name(self, number: int) -> str:
        """A part in errors."""
        return f"part {number} of the rows ({self.specs[number]!r})"[:200]


def dealt(
    owner: Mapping[int, str], sizes: Sequence[int], threads: Mapping[str, int], joined: Sequence[str]
) -> dict[int, str]:
    """The worker of each part: as before where that lives; those that joined are given a fair share.

    sizes: rows of each part; threads: of each worker that lives, whose share is as large.
    """
    found = {part: at for part, at in owner.items() if at in threads}
    load = dict.fromkeys(threads, 0)
    for part, at in found.items():
        load[at] += sizes[part]

    def give(part: int, at: str) -> None:
        if part in found:
            load[found[part]] -= sizes[part]
        found[part] = at
        load[at] += sizes[part]

    def busy(at: str, more: int = 0) -> float:
        return (load[at] + more) / threads[at]

    for part in sorted(set(range(len(sizes))) - found.keys(), key=lambda part: (-sizes[part], part)):
        give(part, min(threads, key=lambda at: busy(at, sizes[part])))
    for new in joined:
        while (most := max(threads, key=busy)) != new:
            movable = [part for part, at in found.items() if at == most and busy(new, sizes[part]) < busy(most)]
            if not movable:
                break
            give(max(movable, key=lambda part: (sizes[part], part)), new)
    return found


@dataclass(slots=True, eq=False)
class _DaskRows:
    """The rows of a view on the workers."""

    parts: DaskParts
    view: View
    begun: dict[Function, _Conversation] = field(default_factory=dict)

    def ask(self, function: Function, history: Sequence[Any]) -> Answer:
        found: Answer = self.parts.meeting.ask(_Question(talk=self._talk(function, history), summed=True))
        return found

    def each(self, function: Function, history: Sequence[Any]) -> list[Answer]:
        found: list[Answer] = self.parts.meeting.ask(_Question(talk=self._talk(function, history)))
        return found

    def _talk(self, function: Function, history: Sequence[Any]) -> _Conversation:
        talk = self.begun.get(function)
        same = talk is not None and talk.of is history and talk.state == self.parts.told.digests[-1]
        if talk is None or not same or len(talk.history.messages) > len(history):
            talk = self.begun[function] = self.parts.talk(function, self.view, history)
        for message in history[len(talk.history.messages) :]:
            talk.history.add(message)
        return talk


def gathered(client: Client, futures: Iterable[Future]) -> Arriving[dict[int, bytes | None]]:
    """What comes of futures, by their places; None of those that fail, or that are released meanwhile.

    Nobody cancels it, as a timeout or Ctrl-C would in the functions of the client: all its later ones would then fail.
    """
    found = client.gather(dict(enumerate(futures)), "skip", asynchronous=True)
    return asyncio.run_coroutine_threadsafe(found, client.loop.asyncio_loop)


@dataclass(slots=True, eq=False)
class _Trip:
    """Questions on their way: asked again of the parts that have not answered, until all have.

    deaths: how often a worker died over each part; anew: the workers that need the whole history.
    """

    parts: DaskParts
    questions: Sequence[_Question]
    wanted: Callable[[], bool]
    waiting: set[int] = field(default_factory=set)
    running: dict[Future, tuple[str, list[int]]] = field(default_factory=dict)
    found: list[list[Any]] = field(default_factory=list)
    deaths: Counter[int] = field(default_factory=Counter)
    anew: set[str] = field(default_factory=set)
    look: bool = False
    arriving: tuple[list[Future], Arriving[dict[int, bytes | None]]] | None = None

    def made(self) -> list[Any]:
        parts = self.parts
        self.waiting, self.found = set(range(len(parts.specs))), [[] for _ in self.questions]
        try:
            while self.waiting or self.running:
                if not self.wanted():
                    raise Ended
                self._send(parts.workers(self.look))
                self._receive()
        finally:
            for future in self.running:
                future.release()
        for history in (parts.told, *(each.talk.history for each in self.questions if each.talk is not None)):
            history.sure = len(history.messages)
        return [each.joined(own) for each, own in zip(self.questions, self.found, strict=True)]

    def _send(self, threads: Mapping[str, int]) -> None:
        parts, traffic, self.look = self.parts, self.parts.traffic, False
        busy, own = {at for at, _ in self.running.values()}, dict[str, list[int]]()
        for part in sorted(self.waiting):
            own.setdefault(parts.owner[part], []).append(part)
        for at in own.keys() - busy:
            asked = [part for part in own[at] if not self.deaths[part]] or own[at][:1]  # alone, so that it is known
            whole = at in self.anew or any(parts.knows.get(part) != at for part in asked)
            traffic.replayed += sum(part in parts.knows for part in asked) if whole else 0
            order = self._order(at, asked, whole, threads[at])
            traffic.orders, traffic.asked = traffic.orders + 1, traffic.asked + len(asked)
            traffic.bytes_out, traffic.largest_out = (
                traffic.bytes_out + len(order),
                max(traffic.largest_out, len(order)),
            )
            specs = {part: parts.specs[part] for part in asked} if whole else None
            expected = None if at in parts.checked else versions()
            where = {"workers": [at], "allow_other_workers": False, "retries": 0, "pure": False}
            future = parts.client.submit(work, order, specs, expected, key=f"rulekit-{uuid4().hex}", **where)
            self.running[future] = at, asked
            self.waiting.difference_update(asked)

    def _order(self, at: str, asked: Sequence[int], whole: bool, n_threads: int) -> bytes:
        parts = self.parts
        held = tuple(part for part, owner in parts.owner.items() if owner == at)
        live = tuple(each.number for each in parts.conversations)
        told, questions = parts.told.chain(asked, whole), tuple(each.of(asked, whole) for each in self.questions)
        order = Order(parts.job, parts.load, tuple(asked), held, live, told, questions, n_threads)
        return zlib.compress(dumps(order), 1)  # the learners' messages are alike

    def _receive(self) -> None:
        """Take what has arrived, or look whose worker is dead."""
        if self.arriving is None:
            self.arriving = list(self.running), gathered(self.parts.client, self.running)
        asked, arriving = self.arriving
        try:
            found = arriving.result(_POLL)
        except TimeoutError:
            living = self.parts.workers(look=True)
            for future in list(self.running):
                if self.running[future][0] not in living:
                    self._lost(future)
            return
        self.arriving = None
        for number, future in enumerate(asked):
            if future not in self.running:
                continue
            if (answer := found[number]) is None:
                self._lost(future)
            else:
                self._take(*self.running.pop(future), answer)

    def _lost(self, future: Future) -> None:
        """Ask the parts of a worker again that died; raises InputError for one over which that happens again."""
        from distributed.scheduler import KilledWorker, NoValidWorkerError

        at, asked = self.running.pop(future)
        error = future.exception() if future.status == "error" else None
        future.release()
        if isinstance(cause := getattr(error, "__cause__", None) or error, ImportError):
            what, fix = f"cannot read a task: {cause}", "install the same version of rulekit everywhere"
            raise InputError(what, where=f"worker {at} or its scheduler", fix=fix)
        if error is not None and not isinstance(error, KilledWorker | NoValidWorkerError):
            raise error
        self.waiting.update(asked)
        self.look = True
        for part in asked:
            self.deaths[part] += 1
            if self.deaths[part] == MOST_DEATHS:
                what = f"lost {MOST_DEATHS} times: it may need more memory than a worker has"
                fix = "write smaller row groups, or give the workers more memory"
                raise InputError(what, where=self.parts.name(part), fix=fix)

    def _take(self, at: str, asked: list[int], answer: bytes) -> None:
        """What a worker says."""
        parts, traffic = self.parts, self.parts.traffic
        traffic.bytes_in, traffic.largest_in = traffic.bytes_in + len(answer), max(traffic.largest_in, len(answer))
        said, *more = loads(answer)
        if said == "versions":
            own, known = more[0], versions()
            name = next(name for name in known if own.get(name) != known[name])
            what, fix = f"has {name} {own.get(name)}, this process {known[name]}", "install one version everywhere"
            raise InputError(f"worker {at} {what}", where="engine", fix=fix)
        if said == "failed":
            number, error = more
            if not isinstance(error, InputError):
                error.add_note(f"{parts.name(number)}, on worker {at}")
            raise error
        if said == "unknown":
            self.anew.add(at)
            self.waiting.update(asked)
            return
        parts.checked.add(at)
        parts.knows.update(dict.fromkeys(asked, at))
        for own, each in zip(self.found, more[0], strict=True):
            own.append(each)


@contextmanager
def local_cluster(n_workers: int, n_threads: int = 1) -> Iterator[Client]:
    """Start workers on this machine, which end with the context."""
    import dask
    from distributed import Client, LocalCluster, Status

    kept = {"MALLOC_TRIM_THRESHOLD_": 2**30, "MALLOC_MMAP_THRESHOLD_": 2**30}  # workers are faster with their memory
    environ = {"POLARS_MAX_THREADS": n_threads, **kept}
    own: dict[str, Any] = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in environ.items()}
    own["distributed.deploy.lost-worker-timeout"] = "1000 days"  # Dask would end one that is just being restarted
    quiet = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
    options = {"memory_limit": 0, "silence_logs": logging.CRITICAL, "preload": [dask_setup.__module__]}
    with dask.config.set(own), tempfile.TemporaryDirectory(prefix="rulekit-dask-") as folder:
        options |= {"n_workers": n_workers, "threads_per_worker": n_threads, "local_directory": folder}
        cluster = LocalCluster(processes=True, scheduler_kwargs=quiet, **options)
        try:
            with Client(cluster) as client:
                yield client
        finally:
            try:
                cluster.close()
            except KeyError:  # all is closed, but Dask misses a worker that died before it was noted
                cluster.status = Status.closed
