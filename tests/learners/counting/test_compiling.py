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
from typing import Any

import numpy as np
import pytest

from rulekit.learners.cnll.formula.read_once import Move, ReadOnceTree
from rulekit.learners.cnll.formula.tree_kernels import flatten
from rulekit.learners.cnll.search import refit_kernels
from rulekit.learners.cnll.search.refit_kernels import best_strengths_of_bit, give_strengths, line_of_bit, sweep_squares
from rulekit.learners.counting.compiling import _compile, _parts, _watch_compiler, cache_folder, compiled

with_numba = pytest.mark.skipif(compiled(give_strengths) is None, reason="numba is not installed")


def names(functions: list[Any]) -> list[str]:
    return [function.__name__ for function in functions]


def test_the_parts_of_a_kernel_are_the_functions_of_its_file_that_it_calls() -> None:
    assert names(_parts(sweep_squares)) == ["_slope_of_bit", "_give"]
    assert names(_parts(give_strengths)) == ["_give", "_errors"]
    assert _parts(refit_kernels._errors) == []


def _through(x: Any) -> Any:
    return _outer(x)


def _outer(x: Any) -> Any:
    return _inner(x) + len(names([]))


def _inner(x: Any) -> Any:
    return _inner(x - 1) if x else 0


def test_parts_of_parts_are_parts_and_a_part_that_calls_itself_is_one() -> None:
    assert names(_parts(_through)) == ["_outer", "_inner", "names"]


def tree() -> ReadOnceTree:
    """(b0 or b2) and (b1 or b3 and b4)."""
    made = ReadOnceTree()
    moves = [Move("bit", -1), Move("and", 0), Move("or", 0), Move("or", 1), Move("and", 5)]
    for bit, move in enumerate(moves):
        made.join(move, bit)
    return made


def results(way: Callable[[Any], Any], seed: int) -> list[Any]:
    """What every kernel of the refits returns and writes, on a tree and cells of that seed."""
    rng = np.random.default_rng(seed)
    flat, cells, bits = flatten(tree()), 40, 5
    holds = rng.random((bits, cells)) < 0.5
    counts = rng.integers(0, 9, (cells, 2))
    alpha, beta = rng.uniform(0.3, 1.0, bits), rng.uniform(0.0, 0.3, bits)
    p = tree().probabilities(np.where(holds, alpha[:, None], beta[:, None]))
    leaf = np.array([tree().node_of_bit(i) for i in range(bits)])
    gates = flat.operator, flat.starts, flat.children, flat.parent, flat.root
    fixed = np.arange(bits) == 3
    changed = way(sweep_squares)(
        *gates, leaf, alpha, beta, np.zeros(bits), fixed, holds, counts, 1.0, 0.5, False, 1e-9, p
    )
    u, v, slope, curvature, squares = np.empty((5, cells))
    first = way(line_of_bit)(*gates, leaf[2], holds[2], counts, p, u, v, slope, curvature)
    strengths = way(best_strengths_of_bit)(
        u, v, holds[2], counts, 1.0, 2.0, 3.0, 4.0, 1.0, 0.5, 0.0, False, False, squares
    )
    after = np.empty(cells)
    wrong = way(give_strengths)(*gates, leaf[2], holds[2], *strengths[:2], counts, p, after)
    return [bool(changed), alpha, beta, first, u, v, slope, curvature, strengths, squares, wrong, after, p]


@with_numba
@pytest.mark.parametrize("seed", range(3))
def test_kernels_with_parts_do_what_they_do_as_plain_functions(seed: int) -> None:
    as_compiled, plain = results(lambda kernel: compiled(kernel), seed), results(lambda kernel: kernel, seed)
    for one, other in zip(as_compiled, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    strengths, squares, wrong, after = plain[8:12]
    assert wrong == strengths[2]
    np.testing.assert_allclose(after, squares, rtol=1e-12)


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
    caplog.set_level("INFO")
    _watch_compiler.__wrapped__()
    assert compiling(numba.njit(names)) == []  # not ours
    assert compiling(compiled(give_strengths)) == ["compiling for this machine, once"]
    assert compiling(compiled(sweep_squares)) == ["compiling for this machine, once"]
    caplog.clear()
    _watch_compiler.__wrapped__()
    said = "compiling for this machine, in each run: no folder can be written to keep it in"
    assert compiling(numba.njit(give_strengths)) == [said]


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
            return kernel

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
from rulekit.learners.counting.compiling import compiled
from rulekit.learners.cnll.search.refit_kernels import _errors
compiled(_errors)(np.array([0.25]), np.array([[1, 2]]), np.empty(1))
"""


@with_numba
@pytest.mark.full
def test_compiling_is_logged_only_where_it_happens(tmp_path: Path) -> None:
    """The first training on a machine was silent for seconds."""

    def log(cache: Path) -> str:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
        return subprocess.run(
            [sys.executable, "-c", LOGGED], capture_output=True, text=True, check=True, env=environment
        ).stderr

    assert log(tmp_path / "kept") == "compiling for this machine, once\n"
    assert log(tmp_path / "kept") == ""
    (tmp_path / "file").touch()
    assert log(tmp_path / "file").startswith("compiling for this machine, in each run")
