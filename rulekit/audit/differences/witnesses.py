"""Rows on which two models differ, in values that a person reads; both models are run on each before it is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.audit.checks.checked_rows import said_of_value, shown_row, table_of
from rulekit.audit.differences.differing import Differing, Found
from rulekit.audit.differences.joint import Joint
from rulekit.graph.rule_graph import ClassLabel
from rulekit.names import printable
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
        shown = {
            column: repr(value) if isinstance(value, float) and math.isinf(value) else value
            for column, value in self.row.items()
        }
        found = {"row": shown, "before": self.before, "after": self.after}
        return (
            found
            | ({"data_row": self.data_row} if self.data_row else {})
            | ({"new_levels": list(self.new)} if self.new else {})
        )


def witness_of_data(joint: Joint, rows: Table, number: int) -> Witness | None:
    """A row of a table, from 0; None where the models do not differ on it."""
    values = _plain(raw_columns(rows.take(np.array([number])).select(joint.columns)))
    return _run(joint, values, number + 1)


def witness_of(differing: Differing, found: Found) -> Witness | None:
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
