"""The parts of training rows on Dask workers: in a trip each worker gets one errand, and answers for all of its parts.

The driver sends the errands of all workers to one worker. Each worker passes the errands of up to ten others on, and
adds their answers to its own. So a trip takes the time of a few messages, and the driver gets one sum, however many
workers there are. A worker may die or join at any time: the driver then assigns the parts to the living workers, and
repeats the question for the parts without an answer. `rulekit.distributed.orders` explains why the answers stay equal.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4
from weakref import WeakSet

from distributed.protocol.pickle import dumps, loads

from rulekit.distributed.meeting import Ended, Meeting
from rulekit.distributed.orders import (
    Answers,
    Call,
    Errand,
    Load,
    Order,
    StateChain,
    Talk,
    dask_setup,
    forget,
    versions,
    work,
)
from rulekit.errors import InputError
from rulekit.learners.data.parts import Answer, Function, Rows
from rulekit.learners.data.training_part import ByPart, View

if TYPE_CHECKING:
    from distributed import Client

NO_WORKER = 60.0
"""Seconds without a worker after which a training ends."""
MOST_DEATHS = 3
PASSED = 10
"""Errands that a worker passes on."""
_POLL, _LOOK = 0.5, 2.0  # seconds until it is seen that a worker has died, or joined


@dataclass(slots=True)
class Traffic:
    """What the trips of a training came to.

    orders: one for each worker and trip; bytes_in: of answers that reach the driver; bytes_out: of the orders of all
    workers; replayed: parts that were told all their history again.
    """

    trips: int = 0
    orders: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    replayed: int = 0


class _History:
    """What was told, and the digest of each state; sure: how many messages all parts know already."""

    def __init__(self, *begin: Any) -> None:
        self.digests, self.messages, self.sure = [_digest(dumps(begin))], list[Any](), 0

    def add(self, message: Any, by_part: bool = False) -> None:
        pickled = dumps(message)
        self.digests.append(_digest(self.digests[-1] + pickled))
        self.messages.append(message if by_part else pickled)

    def by_part(self, whole: bool) -> bool:
        """Whether some of what is to be told belongs to some parts alone."""
        return not all(isinstance(each, bytes) for each in self.messages[0 if whole else self.sure :])

    def chain(self, parts: Sequence[int], whole: bool) -> StateChain:
        first = 0 if whole else self.sure
        news = [each if isinstance(each, bytes) else dumps(_within(each, parts)) for each in self.messages[first:]]
        return StateChain(tuple(self.digests[first:]), tuple(news), first == 0)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()[:16]


def _within(value: Any, parts: Sequence[int]) -> Any:
    """A message with what belongs to some parts alone."""
    if isinstance(value, ByPart):
        return ByPart({number: value.values[number] for number in parts})
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

    @property
    def by_part(self) -> bool:
        """Whether some of it belongs to some parts alone."""
        return self.call is not None and any(isinstance(each, ByPart) for each in self.call.arguments)


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
        self.threads, self.silent, self.looked = dict[str, int](), set[str](), -_LOOK
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
            try:
                return _Trip(self, questions, lambda: wanted() and not self.closed).made()
            finally:
                self.traffic.trips += 1

    def workers(self, look: bool = False) -> Mapping[str, int]:
        """Return the threads of each living worker; waits for the first, and assigns the parts when workers change.

        A worker that did not answer gets no part until the scheduler sees that it is dead, if others live.
        """
        begun = time.monotonic()
        while look or not self.threads or time.monotonic() > self.looked + _LOOK:
            known = self.client.scheduler_info(n_workers=-1)["workers"] if self.client.status == "running" else {}
            alive = {at: int(own["nthreads"]) for at, own in known.items() if own["status"] in ("running", "paused")}
            self.silent &= alive.keys()
            found = {at: own for at, own in alive.items() if at not in self.silent} or alive
            self.looked = time.monotonic()
            if found:
                self.owner = self.owner if found == self.threads else dealt(self.owner, self.sizes, found)
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


def dealt(owner: Mapping[int, str], sizes: Sequence[int], threads: Mapping[str, int]) -> dict[int, str]:
    """Return the worker of each part: the same as before if it lives and is within its share, else the least busy one.

    sizes: rows of each part; threads: of each worker that lives, whose share is as large.
    """
    share, load, found = sum(sizes) / sum(threads.values()), dict.fromkeys(threads, 0), dict[int, str]()
    ordered = sorted(range(len(sizes)), key=lambda part: (-sizes[part], part))
    for stays in (True, False):
        for part in ordered:
            at = owner.get(part, "")
            if part in found or (stays and (at not in threads or load[at] >= share * threads[at])):
                continue
            if not stays:
                at = min(threads, key=lambda at: (load[at] + sizes[part]) / threads[at])
            found[part] = at
            load[at] += sizes[part]
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


def sent(client: Client, at: str, errand: bytes) -> Future[dict[str, Any]]:
    """What comes of an errand to a worker: by its address the answer, or an error.

    Nobody cancels it, as a timeout or Ctrl-C would in the functions of the client: all its later ones would then fail.
    """
    given: dict[str, Any] = {"workers": [at], "on_error": "return", "asynchronous": True}
    return asyncio.run_coroutine_threadsafe(client.run(work, versions(), errand, **given), client.loop.asyncio_loop)


@dataclass(slots=True, eq=False)
class _Trip:
    """Questions on their way, which the driver repeats until all parts have answered.

    deaths: how many workers died with each part; anew: workers that need the whole history; orders: those made so far.
    """

    parts: DaskParts
    questions: Sequence[_Question]
    wanted: Callable[[], bool]
    deaths: Counter[int] = field(default_factory=Counter)
    anew: set[str] = field(default_factory=set)
    orders: dict[tuple[bool, tuple[int, ...]], bytes] = field(default_factory=dict)

    def made(self) -> list[Any]:
        parts, found, look = self.parts, Answers(), False
        while waiting := set(range(len(parts.specs))).difference(found.parts):
            parts.workers(look)
            own = dict[str, list[int]]()
            for part in sorted(waiting):
                own.setdefault(parts.owner[part], []).append(part)
            # a part over which a worker died is asked alone, so that it is known
            asked = {at: [n for n in each if not self.deaths[n]] or each[:1] for at, each in own.items()}
            answers = self._answers(asked)
            self._look(asked, answers)
            parts.knows.update({part: parts.owner[part] for part in answers.parts})
            self.anew.update(answers.unknown)
            found, look = found + answers, bool(answers.lost)
        for history in (parts.told, *(each.talk.history for each in self.questions if each.talk is not None)):
            history.sure = len(history.messages)
        return [
            each if question.summed else [each.values[part] for part in range(len(parts.specs))]
            for question, each in zip(self.questions, found.found, strict=True)
        ]

    def _answers(self, asked: Mapping[str, Sequence[int]]) -> Answers:
        """Return the answers of workers for their parts; `lost` names the workers that are dead."""
        parts, traffic, first, *others = self.parts, self.parts.traffic, *asked
        arriving = sent(parts.client, first, self._errand(asked, first, others))
        while not wait([arriving], _POLL).done:
            if not self.wanted():
                raise Ended
            if dead := [at for at in asked if at not in parts.workers(look=True)]:
                return Answers(lost=tuple(dead))
        try:
            said = arriving.result()[first]
        except OSError as error:
            said = error
        if isinstance(said, OSError):
            return Answers(lost=(first,))
        if isinstance(said, Exception):
            return Answers(failed=(-1, said))
        traffic.bytes_in += len(said)
        return cast(Answers, loads(said))

    def _errand(self, asked: Mapping[str, Sequence[int]], at: str, others: Sequence[str]) -> bytes:
        """The errand of a worker, with those of others."""
        parts, traffic, own = self.parts, self.parts.traffic, asked[at]
        whole = at in self.anew or any(parts.knows.get(part) != at for part in own)
        traffic.replayed += sum(part in parts.knows for part in own) if whole else 0
        order = self._order(own, whole)
        traffic.orders, traffic.bytes_out = traffic.orders + 1, traffic.bytes_out + len(order)
        groups = [others[k::PASSED] for k in range(min(PASSED, len(others)))]
        passed = tuple((each[0], self._errand(asked, each[0], each[1:])) for each in groups)
        held = tuple(part for part, owner in parts.owner.items() if owner == at)
        specs = dumps({part: parts.specs[part] for part in own}) if whole else None
        return bytes(dumps(Errand(order, tuple(own), held, specs, passed)))

    def _order(self, own: Sequence[int], whole: bool) -> bytes:
        """Return the pickled order for some parts; one order serves all workers if it names no single part."""
        parts = self.parts
        by_part = any(each.by_part for each in self.questions) or parts.told.by_part(whole)
        if (key := (whole, tuple(own) if by_part else ())) not in self.orders:
            live = tuple(each.number for each in parts.conversations)
            told, questions = parts.told.chain(own, whole), tuple(each.of(own, whole) for each in self.questions)
            content = dumps(Order(parts.job, parts.load, live, told, questions))
            self.orders[key] = zlib.compress(content, 1)  # the learners' messages are alike
        return self.orders[key]

    def _look(self, asked: Mapping[str, Sequence[int]], answers: Answers) -> None:
        """Raise what went wrong on a worker, and InputError for a part over which one died again and again."""
        if answers.failed is not None:
            number, error = answers.failed
            if isinstance(error, ImportError):
                what, fix = f"cannot read an order: {error}", "install the same version of rulekit everywhere"
                raise InputError(what, where="a worker", fix=fix) from None
            if number >= 0 and not isinstance(error, InputError):
                error.add_note(f"{self.parts.name(number)}, on worker {self.parts.owner[number]}")
            raise error
        self.parts.silent.update(answers.lost)
        time.sleep(_POLL if answers.lost else 0.0)
        for part in (part for at in answers.lost for part in asked[at]):
            self.deaths[part] += 1
            if self.deaths[part] == MOST_DEATHS:
                what = f"lost {MOST_DEATHS} times: it may need more memory than a worker has"
                fix = "write smaller row groups, or give the workers more memory"
                raise InputError(what, where=self.parts.name(part), fix=fix)


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
