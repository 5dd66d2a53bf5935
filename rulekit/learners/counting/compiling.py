"""Compiled kernels: numba compiles them where it is there, else the interpreter runs the same source to the same bits.

The compiled code holds no interpreter lock, keeps every operation on doubles as it is written (no fast mathematics,
no contraction), and is kept in the user's cache folder. Where it is not there yet, the log says so (INFO).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
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
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def compiled(kernel: Kernel) -> Kernel:
    """A kernel that is compiled when it is first called, where `numba_runs`."""

    @wraps(kernel)
    def run(*given: Any) -> Any:
        return (_compile(kernel) if numba_runs() else kernel)(*given)

    return run  # type: ignore[return-value]


@cache
def _compile(kernel: Callable[..., Any]) -> Callable[..., Any]:
    import numba
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
            return numba.njit(cache=True, nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
        except (OSError, RuntimeError):
            return numba.njit(nogil=True, fastmath=False)(kernel)  # type: ignore[no-any-return]
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
    """Log, once in a process, that kernels are being compiled, which takes seconds; numba tells where it finds none."""
    from numba.core import event

    class Watch(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, happening: Any) -> None:
            kernel = happening.data["dispatcher"]
            if not self.told and kernel.py_func.__module__.startswith("rulekit."):
                self.told = True
                _log_compiling(kept=kernel.stats.cache_path is not None)

        def on_end(self, happening: Any) -> None:
            pass

    event.register("numba:compile", Watch())


def _log_compiling(*, kept: bool) -> None:
    _LOG.info(
        "compiling for this machine, %s", "once" if kept else "in each run: no folder can be written to keep it in"
    )


def cache_folder() -> Path:
    """The folder of this user for compiled code."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA")
        return Path(base) / "rulekit" if base else Path.home() / "AppData" / "Local" / "rulekit"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "rulekit"
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "rulekit" if base else Path.home() / ".cache" / "rulekit"
