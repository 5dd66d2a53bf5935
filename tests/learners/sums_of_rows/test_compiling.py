"""Compiled kernels: what they call of their own file is compiled with them, and the log says when that happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from cnll_cases import with_numba
from threadpoolctl import threadpool_info, threadpool_limits

from rulekit.learners.cnll.best_step import _slope_of_bit, sweep_squares
from rulekit.learners.sums_of_rows import kernels
from rulekit.learners.sums_of_rows.kernels import (
    _compile,
    _parts,
    _watch_compiler,
    cache_folder,
    compiled_unless,
    one_blas_thread,
)


def names(functions: list[Any]) -> list[str]:
    return [function.__name__ for function in functions]


def test_the_parts_of_a_kernel_are_the_functions_of_its_file_that_it_calls() -> None:
    assert names(_parts(sweep_squares.__wrapped__)) == ["_slope_of_bit", "_least_square", "_give", "_multiply"]
    assert names(_parts(_slope_of_bit)) == ["_multiply"]


def _through(x: Any) -> Any:
    return _outer(x)


def _outer(x: Any) -> Any:
    return _inner(x) + len(names([]))


def _inner(x: Any) -> Any:
    return _inner(x - 1) if x else 0


def test_parts_of_parts_are_parts_and_a_part_that_calls_itself_is_one() -> None:
    assert names(_parts(_through)) == ["_outer", "_inner", "names"]


@with_numba
def test_the_log_says_once_that_kernels_are_compiled(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    import numba
    from numba.core import event

    def compiling(kernel: Any) -> list[str]:
        with event.trigger_event("numba:compile", data={"dispatcher": kernel}):
            return caplog.messages

    monkeypatch.setattr(event, "_registered", defaultdict(list))
    caplog.set_level("WARNING")
    _watch_compiler.__wrapped__()
    assert compiling(numba.njit(names)) == []  # not ours
    assert compiling(_compile(_slope_of_bit)) == ["compiling for this machine, which takes seconds, once"]
    assert compiling(_compile(sweep_squares.__wrapped__)) == ["compiling for this machine, which takes seconds, once"]
    caplog.clear()
    _watch_compiler.__wrapped__()
    said = "compiling for this machine, which takes seconds, in each run: no folder can be written to keep it in"
    assert compiling(numba.njit(_slope_of_bit)) == [said]


@with_numba
def test_the_folder_of_compiled_code_is_there_while_another_thread_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A thread that took the setting back while another compiled once left a folder where the program was started."""
    import numba
    from numba.core import config

    seen = []

    def slow(**options: Any) -> Callable[[Any], Any]:
        def compile_(kernel: Any) -> Any:
            time.sleep(0.05 * (1 + len(seen)))
            seen.append(config.CACHE_DIR)
            return SimpleNamespace(compile=kernel)

        seen.append(config.CACHE_DIR)
        return compile_

    monkeypatch.setattr(numba, "njit", slow)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(_compile.__wrapped__, (_through, _outer, _inner)))

    assert set(seen) == {str(cache_folder() / "numba")}
    assert config.CACHE_DIR == ""


LOGGED = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
import numpy as np
from rulekit.learners.sums_of_rows.histograms import group_rows
group_rows(np.zeros(9, np.int32), np.zeros(9, np.int64), 2)
"""


@with_numba
def test_a_kernel_is_compiled_once_its_equivalent_has_worked_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    ran, clock, kept = [], [0.0], [False]

    def quick(seconds: float) -> None:
        ran.append("quick")
        clock[0] += seconds

    kernel = compiled_unless(quick)(_outer)
    monkeypatch.delenv("RULEKIT_NO_NUMBA", raising=False)
    monkeypatch.setattr(kernels, "_compile", lambda kernel: lambda x: ran.append("compiled"))
    monkeypatch.setattr(kernels.time, "thread_time", lambda: clock[0])
    monkeypatch.setattr(kernels, "_is_kept", lambda kernel: kept[0])
    kernel(0.7 * kernels._COMPILING)
    kernel(0.4 * kernels._COMPILING)
    assert ran == ["quick"] * 2
    kernel(0.0)
    assert ran[-1] == "compiled"
    monkeypatch.setenv("RULEKIT_NO_NUMBA", "1")
    kernel(0.0)
    assert ran[-1] == "quick"
    another = compiled_unless(quick)(_plus_one)
    monkeypatch.setenv("RULEKIT_NO_NUMBA", "0")
    another(0.0)
    assert ran[-1] == "compiled"
    monkeypatch.setenv("RULEKIT_NO_NUMBA", "")
    another(0.0)
    assert ran[-1] == "quick"
    kept[0] = True
    another(0.0)
    assert ran[-1] == "compiled"


def _plus_one(x: Any) -> Any:
    return x + 1


@with_numba
def test_code_that_is_kept_is_that_of_this_file_as_it_is_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Code of another installation, or of an older file, once counted as kept, and was then compiled on the spot."""
    import numba

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kept = kernels._is_kept.__wrapped__
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    assert not kept(_slope_of_bit)
    numba.njit(cache=True)(_plus_one)(0)
    assert kept(_plus_one)
    (index,) = tmp_path.glob("*/*.nbi")
    os.utime(index, (1, 1))
    assert not kept(_plus_one)
    index.touch()
    assert kept(_plus_one)
    index.parent.rename(tmp_path / "elsewhere")
    assert not kept(_plus_one)


@with_numba
@pytest.mark.long
def test_compiling_is_logged_only_where_it_happens(tmp_path: Path) -> None:
    """The first training on a machine was silent for seconds."""

    def log(cache: Path) -> str:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "RULEKIT_NO_NUMBA": "0"}
        return subprocess.run(
            [sys.executable, "-c", LOGGED], capture_output=True, text=True, check=True, env=environment
        ).stderr

    assert log(tmp_path / "kept") == "compiling for this machine, which takes seconds, once\n"
    assert log(tmp_path / "kept") == ""
    (tmp_path / "file").touch()
    assert log(tmp_path / "file").startswith("compiling for this machine, which takes seconds, in each run")


IMPORTING = """
import os, signal, sys
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.config" and not os.environ.pop("SENT", ""):
            os.environ["SENT"] = "1"
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Stop())
"""
COMPILING = """
import os, signal
from llvmlite.binding.executionengine import ExecutionEngine
find = ExecutionEngine._find_module_ptr
def interrupted(self, module):  # called where the compiler, in C, calls back
    os.kill(os.getpid(), signal.SIGINT)
    return find(self, module)
ExecutionEngine._find_module_ptr = interrupted
"""
INTERRUPTED = """
from rulekit.learners.sums_of_rows.kernels import compiled
@compiled
def one_more(x):
    return x + 1
try:
    one_more(1)
except KeyboardInterrupt:
    print("interrupted,", one_more(1))
"""


@with_numba
@pytest.mark.parametrize("meanwhile", [IMPORTING, COMPILING], ids=["import", "compiler"])
def test_an_interrupt_comes_when_numba_is_ready_for_it(meanwhile: str) -> None:
    """Ctrl-C at its import ended in "module 'numba' has no attribute 'core'", and in its compiler it was lost."""
    environment = {**os.environ, "RULEKIT_NO_NUMBA": "0"}
    done = subprocess.run(
        [sys.executable, "-c", meanwhile + INTERRUPTED], capture_output=True, text=True, env=environment
    )
    assert (done.returncode, done.stdout) == (0, "interrupted, 2\n"), done.stderr


# Products of matrices on one thread -----------------------------------------------------------------------------------


def threads() -> set[int]:
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_both_libraries_take_one_thread_and_then_as_many_as_before() -> None:
    with one_blas_thread():
        assert np.isfinite(np.ones((2, 2)) @ np.ones((2, 2))).all()
    with threadpool_limits(2):
        before = threads()
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == before
