"""A model of what a training on workers takes, of measured runs of one worker and of trips without rows."""

from __future__ import annotations

import statistics
import time
from typing import Any

from rulekit.distributed.engine import PASSED

Run = dict[str, Any]
"""A run of `benchmarks.speed.training_engines.on_workers`, or trips without rows."""


class Cost:
    """Seconds of a training, of what was measured with one worker on two numbers of rows, and of trips without rows.

    reading, counting: seconds of a core a row, the second with all trips of the learner; sent, driver: seconds a row
    that do not divide by workers, and end where folds are dealt by hash; fixed: of the driver for any number of rows.
    each: seconds of a trip a worker, where they share this machine; passed, next: where each has its own, those that a
    worker computes for an errand that it passes on, and those until the answer to the first of them.
    """

    def __init__(self, runs: dict[int, Run], trips: dict[int, Run]) -> None:
        (few, small), (many, large) = sorted(runs.items())
        near, far = min(trips), max(trips)
        self.each = (trips[far]["trip"] - trips[near]["trip"]) / (far - near)
        self.passed = (trips[far]["root"] - trips[near]["root"]) / (far - near)
        self.next = trips[2]["trip"] - trips[1]["trip"]
        self.once = trips[near]["trip"] - self.each * near
        self.byte = statistics.median(own["byte"] for own in trips.values())
        self.trips, self.first = large["trips"], large["first"]
        self.rounds = sum(name == large["rounds"] for name, *_ in self.trips)
        self.reading = (large["reading"] - small["reading"]) / (many - few)
        of = {rows: self._split(run) for rows, run in runs.items()}
        self.counting, self.sent, self.driver = (max(0.0, of[many][k] - of[few][k]) / (many - few) for k in range(3))
        rest = large["reading"] - self.reading * many - large["first"] * self.trip(1)
        rest += of[many][0] - self.counting * many + of[many][1] - self.sent * many
        self.fixed = max(0.0, rest) + of[many][2] - self.driver * many

    def trip(self, workers: int) -> float:
        """Seconds of an empty one."""
        return self.once + self.each * workers

    def _split(self, run: Run) -> tuple[float, float, float]:
        """Seconds of the workers, of rows that are sent to be dealt to folds, and of the driver."""
        work, sent = 0.0, 0.0
        for name, _, seconds, inward, _ in run["trips"]:
            own = max(0.0, seconds - self.trip(1) - self.byte * inward)
            work, sent = (work, sent + seconds - self.trip(1)) if name == "hashed" else (work + own, sent)
        return work, sent, run["seconds"] - run["reading"] - sum(trip[2] for trip in run["trips"])

    def parts(self, rows: int, workers: int, cores: int, *, far: bool = False) -> dict[str, float]:
        """Seconds of a training by what takes them; cores: of all workers; far: each worker has its own machine."""
        trip, received = self.trip(1 if far else workers), 1 if far else workers
        others = workers - 1 if far else 0
        while others:
            passed = min(PASSED, others)
            trip, received = trip + self.next + (passed - 1) * self.passed, received + passed
            others = -(-others // PASSED) - 1
        sent = sum(inward for name, _, _, inward, _ in self.trips if name != "hashed")
        return {
            "rows": rows * (self.reading + self.counting) / cores,
            "trips": (len(self.trips) + self.first) * trip,
            "bytes": sent * received * self.byte,
            "folds": 0.0 if rows >= 1 << 24 else (self.sent + self.driver) * rows,
            "driver": self.fixed,
        }


def zeros(part: Any, size: int) -> list[Any]:
    """An answer of so many numbers, for no work."""
    import numpy as np

    return [np.zeros(size, dtype=np.int64)]


def empty_trips(workers: int) -> Run:
    """Of a trip that asks nothing: seconds, median of 40, and those of the first worker's processor; of a byte too."""
    from rulekit.distributed.engine import DaskParts, local_cluster
    from rulekit.distributed.training import SourcePart

    numbers = 1 << 17
    with local_cluster(workers) as client, DaskParts(client, SourcePart, list(range(workers))) as parts:

        def seconds(size: int) -> float:
            times = list[float]()
            for _ in range(42):
                begun = time.perf_counter()
                parts.sum(zeros, size)
                times.append(time.perf_counter() - begun)
            return statistics.median(times[2:])

        seconds(0)

        def used() -> float:
            found: float = client.run(time.process_time, workers=[parts.owner[0]])[parts.owner[0]]
            return found

        before, empty, after = used(), seconds(0), used()
        byte = max(0.0, seconds(numbers) - empty) / (numbers * 8 * workers)
        return {"trip": empty, "root": (after - before) / 42, "byte": byte}
