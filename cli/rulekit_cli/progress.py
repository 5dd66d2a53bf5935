"""Progress of learning on standard error: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rulekit.graph.rule_graph import RuleGraph


@dataclass(slots=True)
class LearningProgress:
    """Shows the steps of a learner."""

    learner: str
    bar: Progress | None = None
    tasks: dict[str, TaskID] = field(default_factory=dict)

    def read(self, share: float) -> None:
        """Take a reader's report: the share of the file that was read."""
        self._stage("reading", round(100 * share), 100)

    def _stage(self, name: str, done: int, total: int | None) -> None:
        if self.bar is not None:
            if name not in self.tasks:
                self.tasks[name] = self.bar.add_task(name, total=total, note="")
            self.bar.update(self.tasks[name], completed=done)

    def step(self, event: Mapping[str, Any]) -> bool:
        """Take a learner's report; never cancels."""
        if "stage" in event:
            self._stage(event["stage"], event["done"], event["total"])
        elif self.bar is not None:
            name = str(event.get("class", ""))
            if name not in self.tasks:
                self.tasks[name] = self.bar.add_task(self.learner, total=event["n_units"], note="")
            error = event.get("error")
            note = f"{event['unit']} units" + ("" if error is None else f", training error {error:.3f}")
            self.bar.update(self.tasks[name], completed=event["unit"], note=note)
        return False

    def summary(self, graph: RuleGraph, seconds: float) -> str:
        """One line when it is done: how many units, what stopped it, how long it took."""
        units = np.atleast_1d(graph.provenance.get("units", [])).tolist()
        parameters = graph.provenance.get("parameters", {})
        stopped = graph.provenance.get("stopped")
        shown = units if len(units) <= 8 else [*units[:7], "..."]
        plain = parameters.get("form") == "dnf"
        noun = "clause" if plain else "unit"
        total = f"{' + '.join(map(str, shown))} {noun if units == [1] else noun + 's'}"
        why = ""
        if stopped:
            why = f", stopped early ({stopped}): the best so far"
        elif parameters.get("stopping") == "cv" and not (plain and not parameters.get("parsimony")):
            most = parameters.get("n_units")
            folds = f"{parameters.get('n_folds')}-fold cross-validation"
            why = f", as many as allowed ({folds} would take more)" if units == [most] else f", chosen by {folds}"
        return f"{self.learner}   {total}{why}   {seconds:.1f} s"


class _Shown(logging.Handler):
    """Lines of a log above the bars."""

    def __init__(self, bar: Progress) -> None:
        super().__init__()
        self._bar = bar

    def emit(self, record: logging.LogRecord) -> None:
        self._bar.console.print(record.getMessage(), markup=False, highlight=False)


@contextmanager
def _compiling_shown(bar: Progress) -> Iterator[None]:
    """Say that kernels are compiled, where they are."""
    logger, handler = logging.getLogger("rulekit.learners.counting.compiling"), _Shown(bar)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)


@contextmanager
def learning_progress(learner: str, quiet: bool) -> Iterator[LearningProgress]:
    """A progress display while learning."""
    if quiet or not sys.stderr.isatty():
        yield LearningProgress(learner)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar, _compiling_shown(bar):
        yield LearningProgress(learner, bar)
