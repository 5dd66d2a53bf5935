"""Figures of the service for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counters of this process."""

    def __init__(self) -> None:
        self._own = CollectorRegistry()
        self._models: dict[str, Counter] = {}
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._decisions = Counter("rulekit_decisions", "Decisions that were answered.", ["model"], registry=self._own)
        self._calls = Counter("rulekit_calls", "Calls by their status.", ["path", "status"], registry=self._own)
        self._seconds = Histogram(
            "rulekit_seconds", "Seconds of a call.", ["path"], registry=self._own, buckets=_SECONDS
        )
        self._waiting = Gauge("rulekit_waiting", "Calls whose decisions are not committed yet.", registry=self._own)

    def decided(self, model: str, n: int) -> None:
        found = self._models.get(model)
        if found is None:
            found = self._models[model] = self._decisions.labels(model)
        found.inc(n)

    def called(self, path: str, status: int, seconds: float) -> None:
        found = self._known.get((path, status))
        if found is None:
            found = self._known[path, status] = self._calls.labels(path, str(status)), self._seconds.labels(path)
        found[0].inc()
        found[1].observe(seconds)

    def watch(self, waiting: Callable[[], float]) -> None:
        """Ask this for the number of calls that wait."""
        self._waiting.set_function(waiting)

    def text(self) -> bytes:
        """All figures, as Prometheus reads them."""
        return generate_latest(self._own)
