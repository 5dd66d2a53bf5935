"""What follows learning: shorter rules, statistics, figures, baselines, files. None of it may lose the model.

The model is written before it is measured. What stops a step (the limit of time, Ctrl-C, SIGTERM, a callback that
answers true, an error) ends the steps that are left; the model stays, and a note says what it lacks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.audit.figures.baselines import Baselines, Measure, reported, sample_of
from rulekit.audit.figures.metrics import Figures, class_indices, measured
from rulekit.errors import InputError
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline, OutOfTime
from rulekit.shown.statistics import Distributions, rule_statistics
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.work.changes.hand_edits import with_edits_of
from rulekit.work.kept import KeptOverrides
from rulekit.work.progress import Finishing, Progress

if TYPE_CHECKING:
    from rulekit.work.kept import GivenStart
    from rulekit.work.learning import TrainingRequest

TRAINING_ROWS = "the training rows, so flattering; --holdout measures honestly"
_SAMPLE = 20_000
"""Rows that are measured where the work was stopped."""


def test_reading(request: TrainingRequest) -> ReadingOptions:
    """How the rows of --test are read: what concerns the learning alone is left out."""
    return replace(request.reading, target=None, group=None, time=None, ordered=(), cost=None, positive=None)


@dataclass(slots=True, eq=False)
class Finish:
    """The steps after learning; stopped: what ended them early, "" if nothing. notes: what they noticed."""

    request: TrainingRequest
    learner: Any
    training: LabelledTable
    held: LabelledTable | None
    start: GivenStart | None
    kept: KeptOverrides
    deadline: Deadline
    progress: Progress
    stopped: str = ""
    notes: list[str] = field(default_factory=list)
    _done: dict[tuple[str, str], RuleGraph] = field(default_factory=dict)
    _of_rows: tuple[Distributions, Distributions | None] | None = None
    _together: float = 1.0

    def model(self) -> RuleGraph:
        """The learned model with its ladder; each size simplified within the limits, with statistics of its rules.

        The fitted size comes first, so that it is finished where there is no time for all. Overrides are put on what
        was learned and simplified.
        """
        self.begin("simplifying")
        self._finished(self.learner.rule_graph_)
        ladder = self.learner.path_.ladder(self._finished)
        if self.stopped:
            self.notes.append(f"stopped ({self.stopped}) after learning: rules may be longer, or lack statistics")
        chosen: RuleGraph = ladder.at(ladder.chosen).model
        return chosen.with_(ladder=ladder)

    def begin(self, what: str) -> None:
        """Tell the callback of a step, which may end all that follow."""
        if self.progress(Finishing(what)):
            self.stopped = self.stopped or "cancelled"

    def attempt(self, step: Callable[[], Any], otherwise: Any) -> Any:
        """What a step gives, or `otherwise` where the work is stopped before or within it."""
        if not self.stopped and self.deadline.over:
            self.stopped = "time limit"
        if self.stopped:
            return otherwise
        try:
            return step()
        except (KeyboardInterrupt, OutOfTime) as stop:
            self.stopped = "interrupted" if isinstance(stop, KeyboardInterrupt) else "time limit"
            return otherwise

    def figures(self, model: RuleGraph) -> tuple[Figures, str]:
        """Figures, and of which rows; of a sample of the training rows where nothing else can be measured."""
        measure = {True: self._of_held, False: self._of_test}[self.held is not None]
        found: tuple[Figures, str] | None = None
        try:
            found = self.attempt(lambda: measure(model), None)
        except InputError as error:
            self.notes.append(f"the model was written, and the test rows could not be measured: {error}")
        if found is not None:
            return found
        rows = self.training if self.held is None else self.held
        which = TRAINING_ROWS if self.held is None else f"{counted(len(rows), 'row')} held out"
        if self.stopped and len(rows) > _SAMPLE:
            rows = rows.take(np.arange(0, len(rows), -(-len(rows) // _SAMPLE)))
            which = f"{counted(len(rows), 'row')} of {which}"
        return measured(model, rows), which

    def on_training_rows(self, model: RuleGraph) -> Figures | None:
        """Those of the training rows, where others were measured and no row weighs more than another."""
        if self.training.weight is not None or (self.held is None and self.request.test is None):
            return None
        found: Figures | None = self.attempt(lambda: measured(model, self.training), None)
        return found

    def _of_held(self, model: RuleGraph) -> tuple[Figures, str]:
        assert self.held is not None
        return measured(model, self.held), f"{counted(len(self.held), 'row')} held out"

    def _of_test(self, model: RuleGraph) -> tuple[Figures, str]:
        if self.request.test is None:
            return measured(model, self.training), TRAINING_ROWS
        from rulekit.work.evaluating import labelled_rows

        test = labelled_rows(model, self.request.test, test_reading(self.request))
        self.notes += test.notes
        return measured(model, test.rows), f"{self.request.test.name}: {len(test.rows)} rows"

    def _finished(self, learned: RuleGraph) -> RuleGraph:
        key = learned.digest, str(learned.provenance.get("units"))
        if key not in self._done:
            simpler = self.attempt(lambda: self.learner.path_.simplified(learned, self.deadline), learned)
            model = self._declared(simpler if self.request.simplified else learned)
            self._done[key] = self.attempt(lambda: self._with_statistics(model), model)
        return self._done[key]

    def _declared(self, model: RuleGraph) -> RuleGraph:
        separator = self.request.reading.label_separator
        if separator is not None:
            model = model.with_(provenance={**model.provenance, "label_separator": separator})
        return self.kept.onto(model if self.start is None else with_edits_of(model, self.start.graph.underlying))

    def _with_statistics(self, model: RuleGraph) -> RuleGraph:
        rows, held = self.training, self.held
        if self._of_rows is None:
            of_held = None if held is None else Distributions(held.table, held.weight, bins=False)
            self._of_rows = Distributions(rows.table, rows.weight), of_held
            if held is not None:
                from rulekit.tables.splitting import rows_together

                self._together = rows_together(rows.table, rows.y, rows.group)
        statistics = rule_statistics(model, rows.table, class_indices(model, rows), rows.weight, self._of_rows[0])
        if held is not None:
            further = rule_statistics(model, held.table, class_indices(model, held), held.weight, self._of_rows[1])
            statistics = {**statistics, "rows_together": self._together, "held_out": further}
        return model.with_(statistics=statistics)


_LEAST_SECONDS, _SHARE, _BESIDE = 0.5, 0.25, 2.0
_SMALL = 100_000  # cells


@dataclass(slots=True, eq=False)
class TrainingBaselines:
    """Baselines on the rows and folds of a learner; measure: begins to measure; begun: when learning did (monotonic).

    They take two seconds beside the learning from a small table, about a quarter of its time after others, and keep to
    what is left of a time limit.
    """

    measure: Measure
    rows: LabelledTable
    parameters: Mapping[str, Any]
    deadline: Deadline
    begun: float = field(default_factory=time.monotonic)
    _wait: Callable[[Deadline], Baselines | None] | None = None

    def meanwhile(self, learner: Any) -> None:
        """Begin, where the table is small and the folds are dealt."""
        small = len(self.rows) * len(self.rows.table.features) <= _SMALL
        if small and self._wait is None and learner.folds_ is not None:
            self._begin(learner, _BESIDE)

    def after(self, learner: Any) -> None:
        """Begin, where that has not been done."""
        if self._wait is None:
            self._begin(learner, max(_LEAST_SECONDS, _SHARE * (time.monotonic() - self.begun)))

    def found(self) -> Baselines | None:
        """Wait for them; None where the learner dealt no folds, or no time was left."""
        return None if self._wait is None else self._wait(self.deadline)

    def _begin(self, learner: Any, seconds: float) -> None:
        seconds = min(seconds, self.deadline.left)
        self._wait = _compared(learner, self.rows, self.parameters, seconds, self.measure)


def _compared(
    learner: Any, rows: LabelledTable, parameters: Mapping[str, Any], seconds: float, measure: Measure
) -> Callable[[Deadline], Baselines | None]:
    fold = learner.folds_
    if fold is None or seconds <= 0.0 or int(fold.max()) == 0:
        return lambda deadline: None
    weight = np.ones(len(rows)) if rows.weight is None else np.array(rows.weight)
    table, y = rows.table, rows.y
    if not weight.all():
        table, y, weight = table.take(weight > 0), y[weight > 0], weight[weight > 0]
    factors = np.ones(len(rows.classes)) if rows.cost is None else np.array(rows.cost)
    by_class = parameters.get("class_weight")
    if by_class == "balanced":
        totals = np.bincount(y, weight, len(factors))
        factors = factors * totals.sum() / (len(totals) * np.maximum(totals, 1e-300))
    elif by_class is not None:
        factors = factors * [float(by_class.get(label, 1.0)) for label in rows.classes]
    weight = weight * factors[y]
    sample = sample_of(table, y, weight, fold)
    wait = measure(sample, seconds)
    return lambda deadline: reported(wait(deadline), sample, y, weight, rows.classes)
