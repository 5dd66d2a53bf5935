"""Learning a model again from halves of its table, to see what comes back.

Halves are complementary (R. Shah and R. Samworth, Variable selection with error control, 2013; half samples as in
N. Meinshausen and P. Buehlmann, Stability selection, 2010): a table is parted into two halves, both are learned from,
and this is repeated. A bootstrap would draw rows twice, and a row that stands in a training fold and in a held-out one
makes the cross-validation that chooses the size of a model believe in noise.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.errors import Cancelled, InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.contract import find_learner, learner_names
from rulekit.tables.labels import LabelledTable, parse_cost
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.splitting import held_out, lacking
from rulekit.work import learning
from rulekit.work.evaluating import labelled_rows
from rulekit.work.outputs import check_outputs
from rulekit.work.progress import Finishing, Learning, Noticed, Progress, Resample, unseen

RESAMPLES = 20
_NOT_REPEATED = {
    *("callback", "verbose", "memory", "n_threads", "time_limit", "random_state", "target", "positive", "ordered"),
    *("start", "freeze", "types", "missing", "units", "roles", "unseen", "precision", "cost"),
}
"""Parameters that the table and its schema say, or that are no part of the model."""


@dataclass(frozen=True, slots=True)
class StabilityRequest:
    """A model, the table that it was learned from, and how many halves of that are learned from.

    reading: label column, weights, groups and costs, as they were given in training. output: a JSON file to write.
    """

    model: Path
    data: Path
    resamples: int = RESAMPLES
    seed: int = 0
    time_limit: float | None = None
    reading: ReadingOptions = DEFAULT_OPTIONS
    output: Path | None = None


def stability(request: StabilityRequest, progress: Progress = unseen) -> dict[str, Any]:
    """What comes back, as JSON values.

    Raises InputError where the model does not say how it was learned, or cannot be learned again. An interruption and
    the end of the time keep what is done, where that is two models or more.
    """
    from rulekit.audit.stability import stability_of

    models, rows, stopped = learned_again(request, progress)
    progress(Finishing("comparing"))
    stable = stability_of(
        load(request.model),
        models,
        rows.table,
        halves=[(first, first + 1) for first in range(0, len(models) - 1, 2)],
        wanted=request.resamples,
        seed=request.seed,
        stopped=stopped,
    )
    if request.output is not None:
        content = json.dumps(stable, indent=2, ensure_ascii=False) + "\n"
        write_atomically(request.output, content.encode())
    return stable


def learned_again(request: StabilityRequest, progress: Progress = unseen) -> tuple[list[RuleGraph], LabelledTable, str]:
    """The models of the halves (two at least), the rows, and why there are fewer models than asked for, "" for none.

    Models with even numbers and those after them are of two halves of one table. Raises as `stability`.
    """
    check_outputs([request.output], request.model, request.data)
    graph = load(request.model)
    name, parameters = how_learned(graph, str(request.model))
    rows = _rows(request, graph)
    for note in rows.notes:
        progress(Noticed(note))
    runs = _HalvesRun(request, name, parameters, rows, progress)
    models = list(runs.models())
    if len(models) < 2:
        if runs.stopped == "interrupted":
            raise KeyboardInterrupt
        if runs.stopped == "cancelled":
            raise Cancelled("learning from halves")
        raise InputError("fewer than two models were learned in the time", where="--time-limit", fix="give more time")
    return models, rows, runs.stopped


def how_learned(graph: RuleGraph, where: str = "") -> tuple[str, dict[str, Any]]:
    """The name of the learner of a model and its parameters, by its provenance.

    Raises InputError where that says nothing, names a learner that is not installed, or a start that is not at hand.
    """
    made, given = graph.provenance.get("learner"), graph.provenance.get("parameters")
    if not isinstance(made, str) or not isinstance(given, Mapping):
        fix = "a model that rulekit train wrote says it; one that was written or edited by hand does not"
        raise InputError("the model does not say how it was learned", where=where, fix=fix)
    if given.get("start") is not None:
        raise InputError("the model was grown from given rules, which it does not hold", where=where)
    name = next((name for name in learner_names() if _is(name, made)), None)
    if name is None:
        raise InputError(f"the learner {made!r} of the model is not installed", where=where)
    known = find_learner(name).parameters
    return name, {key: value for key, value in given.items() if key in known and key not in _NOT_REPEATED}


def _is(name: str, made: str) -> bool:
    with contextlib.suppress(Exception):  # another package's learner may raise anything
        return bool(find_learner(name).estimator_name() == made)
    return False


def _rows(request: StabilityRequest, graph: RuleGraph) -> LabelledTable:
    """The labelled rows, with every column of the training table, and what was noticed."""
    text = next((feature.name for feature in graph.schema if feature.kind == "text"), None)
    if text is not None:
        raise InputError(
            "a model holds the words of its own rules alone, so that it cannot be learned again from texts",
            where=f"column {text!r}",
        )
    reading = replace(request.reading, group=None, cost=None)
    found = labelled_rows(graph, request.data, reading, graph.schema.names)
    rows, group = found.rows, None
    if request.reading.group is not None:
        group = _groups(request, len(rows))
    cost = parse_cost(request.reading.cost, len(graph.classes))
    threshold = graph.provenance.get("threshold")
    notes = rows.notes
    if found.overlap is not None and found.overlap.sampled and found.overlap.seen < found.overlap.sampled:
        notes = (*notes, "these are not the rows that trained the model, or not those alone")
    if cost is None and threshold not in (None, 0.5):
        notes = (*notes, f"the model decides at {threshold:g}; give --cost where it was trained with costs")
    return replace(rows, group=group, cost=cost, notes=notes)


def _groups(request: StabilityRequest, n_rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    from rulekit.schema import require_column
    from rulekit.tables.raw.columns import factorize
    from rulekit.tables.reading import read_columns

    column = str(request.reading.group)
    raw = read_columns(request.data, request.reading, columns={column}, keep_text={column})
    require_column(column, raw.known_names, raw.source)
    if raw.n_rows != n_rows:
        raise InputError("rows without a label have groups, too", where="--group", fix="drop these rows from the file")
    return np.asarray(factorize(raw.columns[0])[1], dtype=np.int64)


@dataclass(slots=True, eq=False)
class _HalvesRun:
    request: StabilityRequest
    learner: str
    parameters: Mapping[str, Any]
    rows: LabelledTable
    progress: Progress
    stopped: str = ""

    def models(self) -> Iterator[RuleGraph]:
        """The models of the halves, two by two, until all are learned or the work is stopped."""
        request, began = self.request, time.monotonic()
        for number in range(request.resamples):
            left = None if request.time_limit is None else request.time_limit - (time.monotonic() - began)
            if left is not None and left <= 0.0:
                self.stopped = "time limit"
                return
            try:
                if self.progress(Resample(number + 1, request.resamples)):
                    self.stopped = "cancelled"
                    return
                model = self._model(number, left)
            except KeyboardInterrupt:
                self.stopped = "interrupted"
                return
            if model.provenance.get("stopped"):
                self.stopped = str(model.provenance["stopped"])
                return
            yield model

    def _model(self, number: int, left: float | None) -> RuleGraph:
        seed = self.request.seed + number // 2
        first = held_out(self.rows.table, self.rows.y, 0.5, group=self.rows.group, seed=seed)
        if lacking(first, self.rows.y):
            raise InputError("a half would lack a class", where="stability", fix="give more rows of each class")
        half = self.rows.take(first if number % 2 == 0 else ~first)
        learner = learning.fitted(
            self.learner,
            self.parameters,
            half,
            seed=self.request.seed + number,
            time_limit=left,
            memory=None,
            start=None,
            callback=lambda _, step: bool(self.progress(Learning(self.learner, step))),
        )
        learned: RuleGraph = learner.rule_graph_
        if learned.provenance.get("stopped"):
            return learned
        simpler: RuleGraph = learner.path_.simplified(learned)
        return simpler
