"""Kernels: numba compiles them where it is there, else the interpreter runs the same source to the same bits.

The compiled code holds no interpreter lock, keeps every operation on doubles as it is written (no fast mathematics,
no contraction), and is kept in the user's cache folder. Where it is not there yet, the log says so (a warning). On
several cores the answers do not depend on how many.

Compiling all kernels takes longer than learning from many small tables with whole arrays. So the kernels of the default
learner have an equivalent of whole arrays, to the same bits, which works where nothing is compiled yet, until it has
taken as long, in this process, as compiling its kernel.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache, wraps
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import Any, TypeVar

_DISABLE = "RULEKIT_NO_NUMBA"
_LOG = logging.getLogger(__name__)
_FOLDER_IS_SET = Lock()

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def numba_runs() -> bool:
    """Whether kernels are compiled: numba is there and is not switched off (RULEKIT_NO_NUMBA=1)."""
    return os.environ.get(_DISABLE, "") in ("", "0") and _has_numba()


@cache
def _has_numba() -> bool:
    return importlib.util.find_spec("numba") is not None


def compiled(kernel: Kernel) -> Kernel:
    """A kernel that is compiled when it is first called, where `numba_runs`."""

    @wraps(kernel)
    def run(*arguments: Any) -> Any:
        return (_compile(kernel) if numba_runs() else kernel)(*arguments)

    return run  # type: ignore[return-value]


_COMPILING = 2.0
"""The seconds of the processor that an equivalent works before its kernel is compiled."""


def _time_of(file: str) -> float:
    """When a file was last written; 0 where there is none, as in an archive."""
    try:
        return Path(file).stat().st_mtime
    except OSError:
        return 0.0


def compiled_unless(quick: Callable[..., Any]) -> Callable[[Kernel], Kernel]:
    """A kernel that is compiled where that pays; until then, and without numba, `quick` does the same to the same bits.

    It pays where the code is kept, or `quick` has worked for as long as compiling takes. RULEKIT_NO_NUMBA=0 compiles at
    once.
    """

    def decorate(kernel: Kernel) -> Kernel:
        worked = 0.0

        @wraps(kernel)
        def run(*arguments: Any) -> Any:
            nonlocal worked
            switch = os.environ.get(_DISABLE, "")  # which costs more than all else here
            pays = switch == "0" or (not switch and (worked > _COMPILING or _is_kept(kernel)))
            if pays and _has_numba():
                return _compile(kernel)(*arguments)
            begun = time.thread_time()
            found = quick(*arguments)
            worked += time.thread_time() - begun
            return found

        return run  # type: ignore[return-value]

    return decorate


@cache
def _is_kept(kernel: Callable[..., Any]) -> bool:
    """Whether the code of a kernel is kept from an earlier process, which numba does in files of such names."""
    assert isinstance(kernel, FunctionType)
    source, line = Path(kernel.__code__.co_filename), kernel.__code__.co_firstlineno
    folder = f"{source.parent.name}_{hashlib.sha1(str(source.parent).encode()).hexdigest()}"
    name = f"{source.stem}.{kernel.__qualname__}-{line}.py{sys.version_info.major}{sys.version_info.minor}"
    kept = Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder() / "numba") / folder
    written = (_time_of(str(index)) for index in kept.glob(f"{name}*.nbi"))
    return max(written, default=0.0) > _time_of(str(source))


@contextmanager
def _signals_held_back() -> Iterator[None]:
    """Ctrl-C and SIGTERM come when the work is done: numba's import and its compiler cannot be interrupted.

    An import that breaks off cannot be begun again, and the compiler's own callbacks swallow an interrupt.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    held: list[int] = []
    before = {sent: handler for sent in (signal.SIGINT, signal.SIGTERM) if (handler := signal.getsignal(sent))}
    for sent in before:
        signal.signal(sent, lambda number, frame: held.append(number))
    try:
        yield
    finally:
        for sent, handler in before.items():
            signal.signal(sent, handler)
        for number in held[:1]:
            signal.raise_signal(number)


def _numba_compiled(kernel: Callable[..., Any], **options: Any) -> Any:
    import numba

    dispatcher = numba.njit(nogil=True, fastmath=False, **options)(kernel)
    compile_for = dispatcher.compile

    @wraps(compile_for)
    def undisturbed(*arguments: Any) -> Any:
        with _signals_held_back():
            return compile_for(*arguments)

    dispatcher.compile = undisturbed
    return dispatcher


@cache
def _compile(kernel: Callable[..., Any]) -> Callable[..., Any]:
    with _signals_held_back():
        from numba.core import config

    _watch_compiler()
    for part in _parts(kernel):
        _shared(part)
    # The cache must never land beside the installed files, which may be read-only or shared. numba looks at the setting
    # of the process twice, and a folder of no name is that where the program was started: one thread at a time.
    with _FOLDER_IS_SET:
        chosen = config.CACHE_DIR
        try:
            folder = Path(chosen or cache_folder() / "numba")
            folder.mkdir(parents=True, exist_ok=True)
            config.CACHE_DIR = str(folder)
            return _numba_compiled(kernel, cache=True)  # type: ignore[no-any-return]
        except (OSError, RuntimeError):
            return _numba_compiled(kernel)  # type: ignore[no-any-return]
        finally:
            config.CACHE_DIR = chosen


def _parts(kernel: Callable[..., Any]) -> list[FunctionType]:
    """The functions of its own file that a kernel calls, itself or through others.

    Those of other files would not do: a kernel is compiled anew when its own file has changed, and only then.
    """
    assert isinstance(kernel, FunctionType)
    found = [kernel]
    for function in found:  # which grows
        for name in function.__code__.co_names:
            part = function.__globals__.get(name)
            if isinstance(part, FunctionType) and part.__module__ == kernel.__module__ and part not in found:
                found.append(part)
    return found[1:]


@cache
def _shared(part: Callable[..., Any]) -> None:
    """Let kernels call a function, which is compiled with them; to Python it stays what it was."""
    from numba.extending import register_jitable

    register_jitable(part)


@cache
def _watch_compiler() -> None:
    """Log, once in a process, that kernels are being compiled; numba tells where it finds none."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        logged = False

        def on_start(self, happening: Any) -> None:
            kernel = happening.data["dispatcher"]
            if not self.logged and kernel.py_func.__module__.startswith("rulekit."):
                self.logged = True
                often = "in each run: no folder can be written to keep it in"
                often = often if kernel.stats.cache_path is None else "once"
                _LOG.warning("compiling for this machine, which takes seconds, %s", often)

        def on_end(self, happening: Any) -> None:
            pass

    event.register("numba:compile", Watch())


def cache_folder() -> Path:
    """The folder of this user for compiled code."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "rulekit" if base else Path.home() / "AppData" / "Local" / "rulekit"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rulekit"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "rulekit" if base else Path.home() / ".cache" / "rulekit"


Item = TypeVar("Item")
Answer = TypeVar("Answer")


def available_threads(asked: int | None = None) -> int:
    """As many threads as asked, or else one for each core that this process may use."""
    if asked is not None:
        return asked
    cores = getattr(os, "sched_getaffinity", None)
    return len(cores(0)) if cores else os.cpu_count() or 1


def run_threads(task: Callable[[Item], Answer], items: Iterable[Item], n_threads: int) -> list[Answer]:
    """The answers to all items, in their order; each thread takes every n-th item.

    The task must release the interpreter lock where it works, and the answers must not depend on each other.
    """
    waiting = list(items)
    n = min(n_threads, len(waiting))
    if n <= 1:
        return [task(item) for item in waiting]

    def share(first: int) -> list[Answer]:
        return [task(item) for item in waiting[first::n]]

    # The calling thread works too: one hand-over less for each share.
    others = [_pool(n_threads).submit(share, i) for i in range(1, n)]
    shares = [share(0), *(other.result() for other in others)]
    return [shares[i % n][i // n] for i in range(len(waiting))]


@cache
def _pool(n_threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(n_threads, thread_name_prefix="rulekit")


if hasattr(os, "register_at_fork"):
    # A forked process has the pool but none of its threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def one_blas_thread() -> AbstractContextManager[Any]:
    """While it lasts, numpy and scipy compute products on one thread."""
    limit: AbstractContextManager[Any] = _libraries().limit(limits=1)
    return limit


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
