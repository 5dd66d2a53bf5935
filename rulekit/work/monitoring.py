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
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import MISSING_CODE, UNSEEN_CODE, require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.labels import label_for_model
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.reading import read_columns

if TYPE_CHECKING:
    from rulekit.tables.raw.columns import RawTable
    from rulekit.tables.table import Table

_LOGGER = logging.getLogger(__name__)

LOOKED_AT = 1 << 14
"""Of about so many rows distributions are counted where a table is only glanced at."""

_PSI = re.compile(r"psi[=>]([0-9]*[.]?[0-9]+)")  # an unquoted > would be for the shell
_WHAT = {"any": "", "columns": "column", "rules": "rule", "classes": "class"}


@dataclass(frozen=True, slots=True)
class Monitored:
    """What was found, which conditions that may fail hold, and what was noticed in the rows."""

    drift: Drift
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {**self.drift.as_dict(), "failed": list(self.failed)}


def monitor(
    model: Path,
    data: Path,
    *,
    counts: bool = False,
    fail_on: str = "",
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> Monitored:
    """Compare rows, or counts of rules that an artifact made of them (counts), with those that trained a model.

    fail_on: "any", "columns", "rules", "classes" or "psi=NUMBER" (an index above it), several with commas between them.
    output: where the result is written as JSON. Raises InputError for a model without statistics, and for data that it
    cannot read.
    """
    conditions = _conditions(fail_on)
    check_outputs([output], model, data)
    graph, notes = load(model), tuple[str, ...]()
    if counts:
        drift = compare_counts(graph, read_counts(data.read_text(encoding="utf-8-sig"), graph, str(data)))
    else:
        drift, notes = _compared(graph, data, reading)
    if drift is None:
        fix = "rulekit refit MODEL DATA counts them on the training rows"
        raise InputError("the model does not say what trained it", where=str(model), fix=fix)
    done = Monitored(drift, tuple(condition for condition in conditions if _holds(condition, drift)), notes)
    if output is not None:
        write_atomically(output, f"{json.dumps(done.as_dict(), indent=2, ensure_ascii=False)}\n".encode())
    return done


def _conditions(fail_on: str) -> list[str]:
    conditions = [part.replace(" ", "") for part in fail_on.split(",") if part.strip()]
    for condition in conditions:
        if condition not in _WHAT and not _PSI.fullmatch(condition):
            fix = f"one of {', '.join(_WHAT)}, or psi=0.25 (an index above it)"
            raise InputError(f"{condition!r} is nothing to fail on", where="--fail-on", fix=fix)
    return conditions


def _holds(condition: str, drift: Drift) -> bool:
    if (limit := _PSI.fullmatch(condition)) is not None:
        return any(column.psi > float(limit[1]) for column in drift.columns)
    return any(_WHAT[condition] in ("", what) for what, _ in drift.found())


def _compared(graph: RuleGraph, data: Path, asked: ReadingOptions) -> tuple[Drift | None, tuple[str, ...]]:
    """By columns and rules and, where each row has its class, by classes; else a note says why not by these."""
    reading = replace(asked, target=asked.target or graph.schema.target)
    labels, used = {*reading.label_columns()}, graph.used_features
    texts = labels - {reading.weight}
    raw = read_columns(data, reading, columns={*used, *labels}, keep_text=texts, schema=graph.schema)
    for name in filter(None, (asked.target, reading.weight)):
        require_column(name, raw.known_names, raw.source)
    table, notes, known = encode(raw, graph.schema, used), tuple[str, ...](), dict[str, Any]()
    if reading.target in raw.names:
        try:
            labelled = label_for_model(raw, graph.schema, graph.classes, separated(graph, reading), used=used)
            known = {"y": labelled.y, "weight": labelled.weight}
        except InputError as error:
            if reading.weight is not None:
                raise
            notes = (f"the classes of the rows are not compared: {error}",)
    elif reading.weight is not None:
        raise InputError("weights count with labels only", where="--weight", fix="give the label column too")
    return compare(graph, table, new=new_levels(raw, table, graph.schema, used), **known), notes


def separated(graph: RuleGraph, reading: ReadingOptions) -> ReadingOptions:
    """The options with what stands between the labels of a cell, as training was told."""
    known = graph.provenance.get("label_separator")
    return replace(reading, label_separator=reading.label_separator or known) if isinstance(known, str) else reading


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
    odd = []
    for feature in (graph.schema[name] for name in graph.used_features):
        code = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
        if feature.kind == "categorical" and (table.array(feature.name) == code).any():
            odd.append(feature.name)
    if not odd or not data.is_file():  # a pipe cannot be read again
        return {}
    raw = read_columns(data, reading, columns=odd, keep_text=odd)
    if raw.n_rows != table.n_rows:  # rows without a label were left out
        return {}
    return new_levels(raw, table, graph.schema, tuple(odd))


def notice(drift: Drift | None, model: Path, data: Path) -> list[str]:
    """The one line on rows that are not like those of training; none where there is nothing to say."""
    said = "" if drift is None else drift_line(drift, f"rulekit monitor {model} {data}")
    return [said] if said else []
