"""Bounds on the error of a model, by labelled rows or by what its training measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rulekit.audit.guarantees.bounds import ErrorBounds, bounds_of
from rulekit.audit.report.subject import MeasuredRows
from rulekit.graph.files.model_files import load
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.evaluating import labelled_rows


def error_bounds(
    model: Path, data: Path | None = None, reading: ReadingOptions = DEFAULT_OPTIONS, **how: Any
) -> ErrorBounds:
    """What is known of the error of a model; how: trained, delta and epsilon, as `bounds_of` takes them."""
    graph, rows = load(model), None
    if data is not None:
        found = labelled_rows(graph, data, reading)
        rows = MeasuredRows(graph, found.rows, data.name, found.overlap)
    return bounds_of(graph, rows, **how)
