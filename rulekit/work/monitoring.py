"""Rows of today beside those that trained a model: all of it, and the one line that scoring and measuring print."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.audit.drift.comparing import compare, compare_counts, read_counts
from rulekit.audit.drift.findings import Drift, drift_line
from rulekit.audit.drift.observed import NewLevels, new_levels
from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import MISSING_CODE, UNSEEN_CODE, require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.labels import label_for_model
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import RawTable
from rulekit.tables.reading import read_columns
from rulekit.work.outputs import check_outputs

if TYPE_CHECKING:
    from rulekit.tables.labels import LabelledTable
    from rulekit.tables.table import Table

_LOGGER = logging.getLogger(__name__)

LOOKED_AT = 1 << 14
"""Of about so many rows distributions are counted where a table is only glanced at."""

_PSI = re.compile(r"psi[=>]([0-9]*[.]?[0-9]+)")  # an unquoted > would be for the shell
_WHAT = ("any", "columns", "rules", "classes")


@dataclass(frozen=True, slots=True)
class MonitoringRequest:
    """Rows of `data`, or counts of rules that an artifact made of them (counts), beside those that trained a model.

    fail_on: "any", "columns", "rules", "classes" or "psi=NUMBER" (an index above it), several with commas between them.
    output: where the result is written as JSON.
    """

    model: Path
    data: Path
    counts: bool = False
    fail_on: str | None = None
    output: Path | None = None
    reading: ReadingOptions = DEFAULT_OPTIONS


@dataclass(frozen=True, slots=True)
class Monitored:
    """What was found, which of the conditions of the request hold, and what was noticed in the rows."""

    drift: Drift
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {**self.drift.as_dict(), "failed": list(self.failed)}


def monitor(request: MonitoringRequest) -> Monitored:
    """Compare; raises InputError for a model without statistics, and for data that it cannot read."""
    conditions = conditions_of(request.fail_on)
    check_outputs([request.output], request.model, request.data)
    graph = load(request.model)
    notes: tuple[str, ...] = ()
    if request.counts:
        text = request.data.read_text(encoding="utf-8-sig")
        drift = compare_counts(graph, read_counts(text, graph, str(request.data)))
    else:
        raw, reading = _read(graph, request)
        table = encode(raw, graph.schema, graph.used_features)
        labelled, notes = _labelled(raw, graph, reading)
        y, weight = (None, None) if labelled is None else (labelled.y, labelled.weight)
        drift = compare(graph, table, y=y, weight=weight, new=new_levels(raw, table, graph.schema, graph.used_features))
    if drift is None:
        fix = "rulekit refit MODEL DATA counts them on the training rows"
        raise InputError("the model does not say what trained it", where=str(request.model), fix=fix)
    failed = tuple(condition for condition in conditions if _holds(condition, drift))
    done = Monitored(drift, failed, notes)
    if request.output is not None:
        text = json.dumps(done.as_dict(), indent=2, ensure_ascii=False)
        write_atomically(request.output, f"{text}\n".encode())
    return done


def conditions_of(fail_on: str | None) -> tuple[str, ...]:
    """The conditions of `fail_on`; raises InputError for one that there is not."""
    conditions = tuple(part.strip().replace(" ", "") for part in (fail_on or "").split(",") if part.strip())
    for condition in conditions:
        if condition not in _WHAT and not _PSI.fullmatch(condition):
            fix = f"one of {', '.join(_WHAT)}, or psi=0.25 (an index above it)"
            raise InputError(f"{condition!r} is nothing to fail on", where="--fail-on", fix=fix)
    return conditions


def _holds(condition: str, drift: Drift) -> bool:
    found = {what for what, _ in drift.found()}
    if (limit := _PSI.fullmatch(condition)) is not None:
        return any(column.psi > float(limit[1]) for column in drift.columns)
    return (
        bool(found)
        if condition == "any"
        else {"columns": "column", "rules": "rule", "classes": "class"}[condition] in found
    )


def _read(graph: RuleGraph, request: MonitoringRequest) -> tuple[RawTable, ReadingOptions]:
    """The raw columns that the model reads, with labels and weights where they are there."""
    reading = replace(request.reading, target=request.reading.target or graph.schema.target)
    further = {*reading.label_columns()}
    raw = read_columns(
        request.data,
        reading,
        columns={*graph.used_features, *further},
        keep_text={*further} - {reading.weight},
        schema=graph.schema,
    )
    for name in (request.reading.target, reading.weight):
        if name is not None:
            require_column(name, raw.known_names, raw.source)
    return raw, reading


def _labelled(raw: RawTable, graph: RuleGraph, reading: ReadingOptions) -> tuple[LabelledTable | None, tuple[str, ...]]:
    """The rows with their classes, where each has one; else why they are not compared."""
    if reading.target not in raw.names:
        if reading.weight is not None:
            raise InputError("weights count with labels only", where="--weight", fix="give the label column too")
        return None, ()
    separator = graph.provenance.get("label_separator")
    if reading.label_separator is None and isinstance(separator, str):
        reading = replace(reading, label_separator=separator)
    try:
        return label_for_model(raw, graph.schema, graph.classes, reading, used=graph.used_features), ()
    except InputError as error:
        if reading.weight is not None:
            raise
        return None, (f"the classes of the rows are not compared: {error}",)


def glance(graph: RuleGraph, table: Table, raw: RawTable | None = None, **known: Any) -> Drift | None:
    """How rows differ from those of training, looked at quickly; None where the model says nothing of these.

    raw: the rows before they were encoded, for the names of new levels. known: what else `compare` takes. A fault of
    this comparison is logged and never raised, since the rows were already scored or measured.
    """
    try:
        if raw is not None:
            known["new"] = new_levels(raw, table, graph.schema, graph.used_features)
        return compare(graph, table, most=LOOKED_AT, **known)
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
        _LOGGER.warning("rulekit could not compare these rows with those of training: %s", fault)
        return None


def levels_of_file(graph: RuleGraph, table: Table, data: Path, reading: ReadingOptions) -> NewLevels:
    """The new levels of a table that was read from a file, by name: their columns are read once more."""
    odd = [name for name in graph.used_features if _may_have_new(graph, table, name)]
    if not odd or not data.is_file():  # a pipe cannot be read again
        return {}
    raw = read_columns(data, reading, columns=odd, keep_text=odd)
    if raw.n_rows != table.n_rows:  # rows without a label were left out
        return {}
    return new_levels(raw, table, graph.schema, tuple(odd))


def _may_have_new(graph: RuleGraph, table: Table, name: str) -> bool:
    feature = graph.schema[name]
    if feature.kind != "categorical":
        return False
    code = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
    return bool((table.array(name) == code).any())


def notice(drift: Drift | None, model: Path, data: Path) -> str:
    """The one line on rows that are not like those of training, "" where there is nothing to say."""
    return "" if drift is None else drift_line(drift, f"rulekit monitor {model} {data}")
