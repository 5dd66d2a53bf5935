"""Comparing two models: `compare` (docs/compare.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.audit.checks.findings import said_of_value, shown_row, table_of
from rulekit.audit.differences.joint import Joint, decide_by_same_rules, joint
from rulekit.audit.differences.results import Compared, FlipSaid, Outcome, Witness, declared
from rulekit.audit.differences.row_flips import RowFlips, row_flips
from rulekit.audit.differences.rule_changes import RuleChanges, rule_changes
from rulekit.audit.differences.ways import Differing, WayFound, regions
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.names import printable
from rulekit.tables.raw.sources import raw_table
from rulekit.verification.rows import raw_columns


def _witness_of(differing: Differing, found: WayFound) -> Witness | None:
    """The row that shows a way in which models differ; None where they do not differ on it."""
    joint = differing.joint
    empty = dict.fromkeys(joint.columns)
    if found.cells is not None:
        row, new, _ = shown_row(differing.search, found.cells)
        return _run(joint, {**empty, **row}, 0, new)
    assert differing.made is not None
    assert found.row is not None
    columns = raw_columns(differing.made.take(np.array([found.row])))
    words = differing.search.words
    return _run(joint, {**empty, **_plain(columns if words is None else words.texts(columns))})


def _plain(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The one value of each column as a plain one; None of what is missing."""
    values = {column: getattr(value[0], "item", lambda own=value[0]: own)() for column, value in columns.items()}
    return {column: None if value != value else value for column, value in values.items()}


def _run(joint: Joint, row: dict[str, Any], data_row: int = 0, new: tuple[str, ...] = ()) -> Witness | None:
    for column, value in row.items():
        if joint.schema[column].kind == "boolean" and value is not None:
            row[column] = bool(value > 0.5)
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
    searched = {(both.classes[one.way[0]], both.classes[one.way[1]]): one for one in differing.found}
    said = []
    for way in dict.fromkeys((*searched, *of_rows)):
        one, counted = searched.get(way), of_rows.get(way)
        witness, among, n_rows = None, "", None
        where = () if one is None else regions(differing, one)
        if rows is not None:
            n_rows = 0 if counted is None else counted.n
            among = "" if where else rows.in_common(both, way)
        if rows is not None and counted is not None:
            columns = raw_columns(rows.joint.take(np.array([counted.first_row - 1])).select(both.columns))
            witness = _run(both, _plain(columns), counted.first_row)
        if one is None:
            said.append(FlipSaid(*way, n_rows, None, witness, where, False, among))
        else:
            witness = witness or _witness_of(differing, one)
            said.append(FlipSaid(*way, n_rows, one.n_cells, witness, where, one.boxes.complete, among))
    return tuple(sorted(said, key=lambda flip: (-(flip.rows or 0), -(flip.cells or 0))))


def _gap(both: Joint, data: Any) -> float | None:
    """The largest difference of a reported probability of the same class on some rows."""
    if any(len(graph.classes) != len(both.classes) for graph in both.models):
        return None
    raw = raw_table(data)
    first, second = (graph.predict_proba(raw) for graph in both.models)
    return float(np.abs(first - second[:, np.argsort(both.places[1])]).max(initial=0.0))
