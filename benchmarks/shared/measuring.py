"""Measuring a call in a process of its own: wall and processor seconds, rise of peak memory; medians and ranges.

A measured function lives in a module of `benchmarks`, takes JSON values and returns them. `in_process` runs it in a
new Python, so that nothing that ran before warms or loads it, and stops it at a time limit.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import psutil

_INTERVAL = 0.002
_CLEAR_PEAK = "5"


class ProcessFailedError(Exception):
    """A measured process that ended with an error, or that was stopped at its time limit (`late`)."""

    def __init__(self, message: str, *, late: bool = False) -> None:
        super().__init__(message)
        self.late = late


@dataclass(frozen=True, slots=True)
class Spread:
    """Median and range of some values."""

    median: float
    low: float
    high: float
    count: int

    def text(self, digits: int = 2) -> str:
        """`1.23 (1.20-1.31)`, of one value `1.23`."""
        if self.count == 1:
            return f"{self.median:.{digits}f}"
        return f"{self.median:.{digits}f} ({self.low:.{digits}f}-{self.high:.{digits}f})"


def spread(values: Iterable[float]) -> Spread:
    """Median and range; raises ValueError where there is no value."""
    found = sorted(values)
    if not found:
        raise ValueError("no value to take a median of")
    return Spread(statistics.median(found), found[0], found[-1], len(found))


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> Spread:
    """Ours over theirs, round by round: what one round slows down, it slows down in both."""
    return spread(a / b for a, b in zip(ours, theirs, strict=False))


@dataclass(slots=True)
class Cost:
    """What a `with Watch() as watch` block cost.

    seconds: wall time; processor: seconds of all threads; memory: bytes by which the peak of the resident set rose
    above what was resident at the start; others: share of the machine's processor time that other processes took.
    """

    seconds: float = 0.0
    processor: float = 0.0
    memory: int = 0
    others: float = 0.0


class Watch:
    """Measures the block that it is the context of; `cost` is complete after the block."""

    def __init__(self) -> None:
        self.cost = Cost()
        self._process = psutil.Process()

    def __enter__(self) -> Self:
        self._peak = _peak_of(self._process)
        self._base = self._process.memory_info().rss
        self._busy = _busy_seconds()
        self._processor = time.process_time()
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._begun
        processor = time.process_time() - self._processor
        busy = _busy_seconds() - self._busy
        others = max(0.0, busy - processor) / (seconds * (os.cpu_count() or 1)) if seconds > 0 else 0.0
        self.cost = Cost(seconds, processor, max(0, self._peak.end() - self._base), others)


def _busy_seconds() -> float:
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


class _KernelPeak:
    """The kernel's own high-water mark, which Linux lets a process set back to what is resident now."""

    def __init__(self) -> None:
        Path("/proc/self/clear_refs").write_text(_CLEAR_PEAK)

    def end(self) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])


class _SampledPeak:
    """A thread that looks every two milliseconds: what is there where the kernel keeps no such mark."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self._highest = process.memory_info().rss
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._ended.wait(_INTERVAL):
            self._highest = max(self._highest, self._process.memory_info().rss)

    def end(self) -> int:
        self._ended.set()
        self._thread.join()
        return max(self._highest, self._process.memory_info().rss)


def _peak_of(process: psutil.Process) -> _KernelPeak | _SampledPeak:
    try:
        return _KernelPeak()
    except OSError:
        return _SampledPeak(process)


def cost_of(watch: Watch) -> dict[str, float]:
    """The cost of a finished block as JSON values."""
    return asdict(watch.cost)


# Processes of their own ----------------------------------------------------------------------------------------------


def in_process(
    function: str,
    arguments: Mapping[str, Any],
    *,
    limit: float = 600.0,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> Any:
    """The JSON value of `function` ("module:name") called with keyword arguments in a new process.

    Raises ProcessFailedError with the last line that the process said, or where it was stopped after `limit` seconds.
    """
    command = [python, "-m", "benchmarks.shared.measuring", function, json.dumps(arguments)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=limit,
            env={**os.environ, **(environment or {})},
            cwd=Path(__file__).parents[2],
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ProcessFailedError(f"stopped after {limit:g} s", late=True) from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ProcessFailedError(lines[-1] if lines else f"exit status {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Call the named function with the given arguments and print its answer as the last line."""
    module, _, name = sys.argv[1].partition(":")
    answer = getattr(importlib.import_module(module), name)(**json.loads(sys.argv[2]))
    print(f"\n{json.dumps(answer)}")


if __name__ == "__main__":
    main()
