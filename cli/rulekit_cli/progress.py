"""Progress of learning on standard error: a bar on a terminal, nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from rulekit.graph.rule_graph import RuleGraph


@dataclass(slots=True)
class LearningProgress:
    """Shows the steps of a learner."""

    learner: str
    bar: Progress | None = None
    tasks: dict[str, TaskID] = field(default_factory=dict)

    def step(self, event: Mapping[str, Any]) -> bool:
        """Take a learner's report; never cancels."""
        if self.bar is not None:
            name = str(event.get("class", ""))
            if name not in self.tasks:
                self.tasks[name] = self.bar.add_task(self.learner, total=event["n_units"], note="")
            error = event.get("error")
            note = f"{event['unit']} units" + ("" if error is None else f", training error {error:.3f}")
            self.bar.update(self.tasks[name], completed=event["unit"], note=note)
        return False

    def summary(self, graph: RuleGraph, seconds: float) -> str:
        """One line when it is done: how many units, what stopped it, how long it took."""
        units = graph.provenance.get("units", [])
        total = units if isinstance(units, int) else " + ".join(map(str, units))
        stopped = graph.provenance.get("stopped")
        folds = graph.provenance.get("parameters", {}).get("n_folds")
        chosen = graph.provenance.get("parameters", {}).get("stopping") == "cv"
        why = f"stopped early ({stopped}): the best so far" if stopped else ""
        if not why and chosen:
            why = f"stopped by {folds}-fold cross-validation"
        return f"{self.learner}   {total} units{', ' + why if why else ''}   {seconds:.1f} s"


@contextmanager
def learning_progress(learner: str, quiet: bool) -> Iterator[LearningProgress]:
    """A progress display while learning."""
    if quiet or not sys.stderr.isatty():
        yield LearningProgress(learner)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield LearningProgress(learner, bar)
