"""Evaluating a model on labelled rows, and moving its decision threshold there."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rulekit.audit.metrics import Figures, measured
from rulekit.audit.statistics import rule_statistics
from rulekit.audit.threshold import Choice, Purpose, choose_threshold, with_threshold
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import load
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Counts, counts
from rulekit.tables.labels import LabelledTable, read_for_model
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.outputs import check_model_ending, check_outputs


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Figures of a model on labelled rows, its size and digest, and what was noticed in the rows."""

    figures: Figures
    size: Counts
    digest: str
    notes: tuple[str, ...] = ()


def evaluate(model: Path, data: Path, reading: ReadingOptions = DEFAULT_OPTIONS) -> Evaluation:
    """Measure a model on the labelled rows of a file; the label column is the model's where the options name none."""
    graph = load(model)
    rows = labelled_rows(graph, data, reading)
    return Evaluation(measured(graph, rows), counts(graph), graph.digest, rows.notes)


def labelled_rows(graph: RuleGraph, data: Path, reading: ReadingOptions) -> LabelledTable:
    """The rows of a file, encoded for a model, with their labels."""
    return read_for_model(data, graph.schema, graph.classes, reading, used=graph.used_features)


@dataclass(frozen=True, slots=True, eq=False)
class MovedThreshold:
    """The model that decides at the chosen threshold, the choice with its neighbours, and on how many rows."""

    model: RuleGraph
    choice: Choice
    n_rows: int


def move_threshold(
    model: Path, data: Path, purpose: Purpose, output: Path | None = None, reading: ReadingOptions = DEFAULT_OPTIONS
) -> MovedThreshold:
    """The same model at the threshold that serves the purpose on the rows; it is written where `output` says.

    Raises InputError where the model has no threshold, was edited so that its rules do not follow from its probability,
    or can serve the purpose only by deciding every row positive.
    """
    check_outputs([output], data)
    if output is not None:
        check_model_ending(output)
    graph = load(model)
    if len(graph.classes) != 2 or len(graph.probability) != 1:
        raise InputError(
            "this model has no threshold to choose",
            where=str(model),
            fix="a two-class model that reports a probability has one",
        )
    current = float(graph.provenance.get("threshold", 0.5))
    rows = labelled_rows(graph, data, reading)
    chances = probabilities(graph, rows.table)[:, 1]
    apart = np.abs(chances - current) > 1e-12  # what is nearer may be rounded to either side
    if ((chances > current) != (decide(graph, rows.table) == 1))[apart].any():
        raise InputError(
            f"the rules of this model do not say that its probability is above {current:g}: they were edited",
            where=str(model),
            fix="train anew, or edit the rules further; a new threshold would drop the edit",
        )
    choice = choose_threshold(rows.y == 1, chances, purpose, rows.weight)
    moved = with_threshold(graph, choice.chosen.threshold)
    statistics = rule_statistics(moved, rows.table, rows.y, rows.weight)
    moved = moved.with_(statistics={**moved.statistics, **statistics})
    if output is not None:
        moved.save(output)
    return MovedThreshold(moved, choice, len(rows))
