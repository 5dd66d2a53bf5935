"""Comparing two models: `compare` (docs/compare.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.audit.checks.findings import said_of_value, shown_row, table_of
from rulekit.audit.differences.declared import declared
from rulekit.audit.differences.differing import Differing, WayFound
from rulekit.audit.differences.joint import Joint, decide_by_same_rules, joint
from rulekit.audit.differences.region_words import regions
from rulekit.audit.differences.results import Compared, FlipSaid, Outcome, Witness
from rulekit.audit.differences.row_flips import RowFlips, row_flips
from rulekit.audit.differences.rule_changes import RuleChanges, rule_changes
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.names import printable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table
from rulekit.verification.rows.adversarial import raw_columns


def witness_of_data(joint: Joint, rows: Table, number: int) -> Witness | None:
    """A row of a table, from 0; None where the models do not differ on it."""
    values = _plain(raw_columns(rows.take(np.array([number])).select(joint.columns)))
    return _run(joint, values, number + 1)


def witness_of(differing: Differing, found: WayFound) -> Witness | None:
    """The row that shows a way in which models differ; None where they do not differ on it."""
    joint = differing.joint
    empty = dict.fromkeys(joint.columns)
    if found.cells is not None:
        shown = shown_row(differing.search, found.cells)
        return _run(joint, {**empty, **shown.row}, 0, shown.new)
    assert differing.made is not None
    assert found.row is not None
    columns = raw_columns(differing.made.take(np.array([found.row])))
    words = differing.search.words
    return _run(joint, {**empty, **_plain(columns if words is None else words.texts(columns))})


def _plain(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The one value of each column as a plain one; None of what is missing."""
    found: dict[str, Any] = {}
    for column, values in columns.items():
        value = values[0].item() if hasattr(values[0], "item") else values[0]
        found[column] = None if isinstance(value, float) and math.isnan(value) else value
    return found


def _run(joint: Joint, row: dict[str, Any], data_row: int = 0, new: tuple[str, ...] = ()) -> Witness | None:
    for feature in joint.schema:
        if feature.kind == "boolean" and row.get(feature.name) is not None:
            row[feature.name] = bool(row[feature.name] > 0.5)
    decided = [graph.classes[int(graph.decide(table_of(row, graph))[0])] for graph in joint.models]
    if decided[0] == decided[1]:
        return None
    said = [
        f"{column} a new level" if column in new else said_of_value(joint.schema[column], value)
        for column, value in row.items()
    ]
    return Witness(row, decided[0], decided[1], printable(", ".join(said) or "any row"), data_row, new)


def compare(
    first: RuleGraph,
    second: RuleGraph,
    data: Any = None,
    by: Sequence[str] = (),
    *,
    names: tuple[str, str] = ("A", "B"),
    most_run: int = RUN_CELLS,
    deadline: Deadline = NO_LIMIT,
) -> Compared:
    """Tell two models apart, or prove that they decide every row alike.

    Parameters
    ----------
    first : RuleGraph
        The old model.
    second : RuleGraph
        The new model, of any kind, with at least one class in common.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table, or None
        Rows that both decide; columns that neither reads may be among them.
    by : sequence of str
        Columns of the data by whose values flips are counted as well.
    names : pair of str
        How the text calls the two models.
    most_run : int
        The number of cells of the columns up to which all are run.
    deadline : Deadline
        What is not settled by then is open.

    Returns
    -------
    Compared
        `equal`, `outcome`, `flips` (each with a row and the conditions), `rules`, `declared`; printed, it is what
        `rulekit compare` prints (rulekit.audit.differences.compared).

    Raises
    ------
    InputError
        Where no row means the same to both, no class is common, or the data cannot be read.

    """
    both = joint(first, second)
    rows = None if data is None else row_flips(both, raw_table(data), by)
    same = first.digest == second.digest or decide_by_same_rules(both)
    differing = None if same else Differing(both, None if rows is None else rows.joint, most_run, deadline)
    flips = () if differing is None else _flips(both, differing, rows)
    settled = differing is None or differing.settled
    outcome: Outcome = "different" if any(flip.witness for flip in flips) else "equal" if settled else "open"
    reason = "" if outcome == "equal" or differing is None else differing.open
    if outcome == "equal" and flips:
        outcome, reason = "open", "the rows that were found do not show a difference"
    deadline.tell("which rules changed", 0.95)
    return Compared(
        (first, second),
        outcome,
        "" if not settled else "rules" if differing is None else "cells" if differing.run else "logic",
        0 if differing is None else differing.size,
        flips,
        rule_changes(both, deadline) if first.digest != second.digest else RuleChanges((), len(rules_of(first))),
        declared(first, second),
        rows,
        reason,
        None if rows is None else _gap(both, data),
        names=names,
        classes=both.classes,
    )


def _flips(both: Joint, differing: Differing, rows: RowFlips | None) -> tuple[FlipSaid, ...]:
    """The ways in which the models differ, those of most rows first."""
    of_rows = {} if rows is None else {(flip.before, flip.after): flip for flip in rows.flips}
    found: dict[tuple[ClassLabel, ClassLabel], WayFound | None] = {
        (both.classes[one.way[0]], both.classes[one.way[1]]): one for one in differing.found
    }
    said = []
    for way in dict.fromkeys((*found, *of_rows)):
        one, counted = found.get(way), of_rows.get(way)
        witness = None
        if rows is not None and counted is not None:
            witness = witness_of_data(both, rows.joint, counted.first_row - 1)
        if witness is None and one is not None:
            witness = witness_of(differing, one)
        n_rows = None if rows is None else counted.n if counted is not None else 0
        where = () if one is None else regions(differing, one)
        n_cells = None if one is None else one.n_cells
        complete = one is not None and one.boxes.complete
        among = "" if where or rows is None else rows.in_common(both, way)
        said.append(FlipSaid(*way, n_rows, n_cells, witness, where, complete, among))
    return tuple(sorted(said, key=lambda flip: (-(flip.rows or 0), -(flip.cells or 0))))


def _gap(both: Joint, data: Any) -> float | None:
    """The largest difference of a reported probability of the same class on some rows."""
    raw = raw_table(data)
    if len(both.classes) != len(both.models[0].classes) or len(both.classes) != len(both.models[1].classes):
        return None
    first, second = (graph.predict_proba(raw) for graph in both.models)
    order = np.argsort(both.places[1])
    return float(np.abs(first - second[:, order]).max(initial=0.0))
