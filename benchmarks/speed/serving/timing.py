"""Ways to call that are timed in turn: thread CPU time, random order, new inputs for each call, medians.

One round calls every way once, in an order drawn anew. A sample is a number of calls, each on inputs that the way has
not seen for as long as its pool of rows allows: on inputs that come again soon, the branch predictor learns the answers
by heart, and trees look two to three times faster than they are. The loop around the calls is timed as well and taken
off. Before and after each sample runs a fixed loop; where that is much slower than usual, something else held the core
back, and the sample is taken again (not one so long that the loops beside it say little).
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.shared.measuring import Spread

SLOW = 1.15  # times the usual time of the fixed loop
TRIES = 4
LONG = 0.1  # seconds
_SPIN = 3000
_LATEST = 64  # loops by which the usual time is known
_FEWEST = 16


@dataclass(frozen=True, slots=True)
class Way:
    """What is called: `run(input)` for each input of `inputs()`, which are made before the clock starts.

    rows: the rows of one call, for the time a row.
    """

    run: Callable[[Any], Any]
    inputs: Callable[[], Sequence[Any]]
    rows: int = 1


@dataclass(slots=True)
class Times:
    """Seconds of one call by way and round; how many samples there were, were taken again, and stayed slow.

    rows: of one call, by way; spins: seconds of the fixed loop beside each sample.
    """

    calls: dict[str, list[float]]
    rows: dict[str, int]
    samples: int = 0
    again: int = 0
    slow: int = 0
    spins: list[float] = field(default_factory=list)

    def __contains__(self, way: str) -> bool:
        return way in self.calls

    def call(self, way: str, unit: float = 1e-6) -> Spread:
        """Time of a call in `unit` seconds."""
        return quartiles([seconds / unit for seconds in self.calls[way]])

    def row(self, way: str, unit: float = 1e-9) -> Spread:
        """Time of a row in `unit` seconds."""
        return quartiles([seconds / unit / self.rows[way] for seconds in self.calls[way]])

    def ratio(self, way: str, base: str) -> Spread:
        """Time a row of `way` over that of `base`, round by round."""
        pairs = zip(self.calls[way], self.calls[base], strict=True)
        each = self.rows[base] / self.rows[way]
        return quartiles([each * seconds / other for seconds, other in pairs])


def quartiles(values: Sequence[float]) -> Spread:
    """Median, and the quartiles as low and high."""
    low, middle, high = np.percentile(values, (25, 50, 75)).tolist()
    return Spread(middle, low, high, len(values))


def measure(ways: Mapping[str, Way], rounds: int, seed: int = 0) -> Times:
    """Time all ways, `rounds` times each, after one sample of each that does not count."""
    rng = np.random.default_rng(seed)
    names = list(ways)
    times = Times({name: [] for name in names}, {name: way.rows for name, way in ways.items()})
    for way in ways.values():
        _sample(way)
    for _ in range(rounds):
        for place in rng.permutation(len(names)).tolist():
            times.calls[names[place]].append(_quiet_sample(ways[names[place]], times))
    return times


def _quiet_sample(way: Way, times: Times) -> float:
    """Seconds of one call, from the first sample beside which nothing held the core back, or from the best."""
    times.samples += 1
    found = []
    for attempt in range(TRIES):
        times.again += attempt == 1
        before = _spin()
        seconds, whole = _sample(way)
        slowest = max(before, _spin())
        times.spins.append(slowest)
        if whole > LONG or slowest <= SLOW * _usual(times.spins):
            return seconds
        found.append((slowest, seconds))
    times.slow += 1
    return min(found)[1]


def _usual(spins: Sequence[float]) -> float:
    """The lower quartile of the latest loops; infinity as long as there are few."""
    return float(np.percentile(spins[-_LATEST:], 25)) if len(spins) >= _FEWEST else float("inf")


def _sample(way: Way) -> tuple[float, float]:
    """Seconds of one call, the mean over the inputs of one sample, and of the whole sample."""
    inputs, run = way.inputs(), way.run
    was = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time_ns()
        for each in inputs:
            run(each)
        middle = time.thread_time_ns()
        for _ in inputs:
            pass
        ended = time.thread_time_ns()
    finally:
        if was:
            gc.enable()
    calls = max(1, (middle - begun) - (ended - middle))
    return 1e-9 * calls / len(inputs), 1e-9 * (ended - begun)


def _spin() -> float:
    begun = time.thread_time_ns()
    total = 0
    for k in range(_SPIN):
        total += k & 7
    return 1e-9 * (time.thread_time_ns() - begun)
