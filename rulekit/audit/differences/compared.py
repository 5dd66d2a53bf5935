"""Comparing two models: `compare` (docs/compare.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from rulekit.audit.checks.findings import row_as_json, said_of_value, shown_row, table_of
from rulekit.audit.differences.declared import Declared, declared
from rulekit.audit.differences.differing import Differing, WayFound
from rulekit.audit.differences.joint import Joint, decide_by_same_rules, joint
from rulekit.audit.differences.region_words import Region, regions
from rulekit.audit.differences.row_flips import RowFlips, row_flips
from rulekit.audit.differences.rule_changes import RuleChanges, rule_changes
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.names import printable
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Table
from rulekit.verification.rows.adversarial import raw_columns


@dataclass(frozen=True, slots=True)
class Witness:
    """A row, by column its raw value (None: missing), and what each model decides for it.

    data_row: its number in the table that was given, from 1; 0 of a row that was made. new: columns whose value is a
    level that neither model knows.
    """

    row: Mapping[str, Any]
    before: ClassLabel
    after: ClassLabel
    text: str
    data_row: int = 0
    new: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values; an infinity is a text."""
        found = {"row": row_as_json(self.row), "before": self.before, "after": self.after}
        return (
            found
            | ({"data_row": self.data_row} if self.data_row else {})
            | ({"new_levels": list(self.new)} if self.new else {})
        )


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


Outcome = Literal["equal", "different", "open"]


@dataclass(frozen=True, slots=True)
class FlipSaid:
    """A way in which two models differ: what each decides, a row that shows it, and where.

    rows: of the table, None without one; cells: how many, where all were run. complete: whether the regions are all
    there is. among: where there are no regions, what the rows of the table that flip have in common, in words.
    """

    before: ClassLabel
    after: ClassLabel
    rows: int | None
    cells: int | None
    witness: Witness | None
    regions: tuple[Region, ...] = ()
    complete: bool = False
    among: str = ""

    def as_dict(self, n_rows: int | None) -> dict[str, Any]:
        """JSON values."""
        found: dict[str, Any] = {"before": self.before, "after": self.after}
        found |= {} if self.rows is None else {"rows": self.rows}
        found |= {} if self.cells is None else {"cells": self.cells}
        found |= {"witness": None if self.witness is None else self.witness.as_dict()}
        where = [region.as_dict(n_rows) for region in self.regions]
        return found | {"where": where, "where_is_complete": self.complete, "among": self.among}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compared:
    """How two models differ.

    outcome: "equal" where it is proved that every row is decided alike, "different" where a row shows that it is not,
    else "open", for the reason given. proved_by: "rules" (they are the same), "cells" (all were run), "logic", or ""
    where nothing is proved of all rows. cells: how many combinations of cells there are, 0 where the rules are the
    same. faults: why an artifact may not decide as the rules that it
    carries, which leaves the outcome open at best. gap: the largest difference of a reported probability on the rows
    of the table, None where that was not asked.
    """

    models: tuple[RuleGraph, RuleGraph]
    outcome: Outcome
    proved_by: Literal["rules", "cells", "logic", ""]
    cells: int
    flips: tuple[FlipSaid, ...]
    rules: RuleChanges
    declared: tuple[Declared, ...]
    rows: RowFlips | None = None
    reason: str = ""
    gap: float | None = None
    faults: tuple[str, ...] = ()
    names: tuple[str, str] = ("A", "B")
    classes: tuple[ClassLabel, ...] = field(default=())

    @property
    def equal(self) -> bool:
        return self.outcome == "equal"

    def with_faults(self, faults: Sequence[str]) -> Compared:
        """The same, where artifacts were found not to decide, or not proved to decide, as the rules that they carry."""
        if not faults:
            return self
        outcome: Outcome = "open" if self.equal else self.outcome
        return replace(self, outcome=outcome, faults=tuple(faults), reason=self.reason or faults[0])

    def as_dict(self) -> dict[str, Any]:
        """JSON values, for continuous integration and for reports."""
        rows = self.rows
        n_rows = None if rows is None else rows.n
        groups = () if rows is None else rows.groups
        found: dict[str, Any] = {
            "outcome": self.outcome,
            "equal": self.equal,
            "proved_by": self.proved_by,
            "reason": self.reason,
            "cells": self.cells,
            "models": [
                {"name": name, "digest": graph.digest} for name, graph in zip(self.names, self.models, strict=True)
            ],
            "classes": list(self.classes),
            "flips": [flip.as_dict(n_rows) for flip in self.flips],
            "rules": {"same": self.rules.same, "changes": [change.as_dict() for change in self.rules.changes]},
            "declared": [one.as_dict() for one in self.declared],
        }
        if rows is not None:
            found["rows"] = {
                "source": rows.source,
                "n": rows.n,
                "changed": rows.changed,
                "share": rows.changed / rows.n,
            }
            found["largest_gap_of_probabilities"] = self.gap
        if groups:
            found["groups"] = [
                {
                    "column": group.column,
                    "group": group.group,
                    "n": group.n,
                    "changed": group.changed,
                    "flips": [{"before": f.before, "after": f.after, "rows": f.n} for f in group.flips],
                    "decided": {"A": list(group.decided[0]), "B": list(group.decided[1])},
                }
                for group in groups
            ]
        return found | ({"faults": list(self.faults)} if self.faults else {})

    def __str__(self) -> str:
        from rulekit.audit.differences.difference_lines import difference_lines

        return "\n".join(f"{word:<13}{text}" for word, text in difference_lines(self))

    def __repr__(self) -> str:
        return f"<Compared: {self.outcome}, {len(self.flips)} ways to differ, {len(self.rules.changes)} rules changed>"


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
