"""Bounds on the error of a model, by labelled rows or by what its training measured."""

from __future__ import annotations

from pathlib import Path

from rulekit.audit.guarantees.bounds import ErrorBounds, bounds_of
from rulekit.audit.report.subject import MeasuredRows
from rulekit.graph.files.model_files import load
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.evaluating import labelled_rows


def error_bounds(
    model: Path,
    data: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    role: str = "",
    delta: float = 0.05,
    epsilon: float = 0.05,
) -> ErrorBounds:
    """What is known of the error of a model; the parameters are those of the command."""
    graph = load(model)
    if data is None:
        return bounds_of(graph, None, "", delta, epsilon)
    found = labelled_rows(graph, data, reading)
    rows = MeasuredRows(graph, found.rows, data.name, found.overlap)
    return bounds_of(graph, rows, role, delta, epsilon)
