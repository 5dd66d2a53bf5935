"""What is found about rules, what could not be decided of them, and rows that show it.

Rows are in values that a person reads, each decided by the model before it is shown.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from rulekit.cells.space import Axis
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.words import amount, name, quoted
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.names import printable
from rulekit.schema import Feature, Schema
from rulekit.search.row_search import RowSearch
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table

_MOST_DIGITS = 17


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of some JSON values that say something: none that is None, an empty text or an empty list."""
    return {key: value for key, value in values.items() if value is not None and value != "" and value != []}


@dataclass(frozen=True, slots=True)
class Example:
    """A row, by column its raw value (None: missing), and the class that the model decides for it.

    new: columns whose value is a level that training never saw. text: the row and its decision in words.
    """

    row: Mapping[str, Any]
    decision: ClassLabel
    new: tuple[str, ...] = ()
    text: str = ""

    def as_dict(self) -> dict[str, Any]:
        return given({"row": row_as_json(self.row), "decision": self.decision, "new_levels": list(self.new)})


def row_as_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON values; an infinity is a text."""
    return {
        column: repr(value) if isinstance(value, float) and math.isinf(value) else value
        for column, value in row.items()
    }


def examples(graph: RuleGraph, search: RowSearch, places: Sequence[tuple[int, ...]]) -> tuple[Example, ...]:
    """The rows of these cells; columns of the model that the space does not have are missing."""
    found = []
    for cells in places:
        shown, new, text = shown_row(search, cells)
        row = {**dict.fromkeys(graph.used_features), **shown}
        decision = graph.classes[int(graph.decide(table_of(row, graph))[0])]
        found.append(Example(row, decision, new, printable(f"{text}: decided {quoted(decision)}")))
    return tuple(found)


def shown_row(search: RowSearch, cells: tuple[int, ...]) -> tuple[dict[str, Any], tuple[str, ...], str]:
    """The plainest row of some cells, the columns whose value is a level that training never saw, the row in words.

    It has the columns of the search, texts with the words that they must have.
    """
    places = [(axis, cell) for axis, cell in zip(search.space.axes, cells, strict=True)]
    row: dict[str, Any] = {}
    if search.words is not None:
        own = {axis.feature.name: axis.encoded[[cell], 0] for axis, cell in places}
        held = search.words.texts({name: value for name, value in own.items() if name not in search.words.schema})
        row = {text: held[text][0] for text in search.words.columns if text in held}
        places = [(axis, cell) for axis, cell in places if axis.feature.name in search.words.schema]
    said = [
        f"{name(text)} missing" if text_ is None else f"{name(text)} = {quoted(text_)}" for text, text_ in row.items()
    ]
    row |= {axis.feature.name: _value(axis, cell) for axis, cell in places}
    new = [axis.feature.name for axis, cell in places if not (axis.known[cell] or axis.missing[cell])]
    for axis, _ in places:
        own_name = axis.feature.name
        said.append(f"{name(own_name)} a new level" if own_name in new else said_of_value(axis.feature, row[own_name]))
    return row, tuple(new), ", ".join(said) or "any row"


def said_of_value(feature: Feature, value: Any) -> str:
    """A column and its raw value in words."""
    if value is None:
        return f"{name(feature.name)} missing"
    if feature.kind == "numeric":
        return f"{name(feature.name)} = {amount(value, feature)}"
    if feature.kind == "boolean":
        return f"{name(feature.name)} {'true' if value else 'false'}"
    return f"{name(feature.name)} = {name(value)}"


def table_of(row: Mapping[str, Any], graph: RuleGraph) -> Table:
    """One row of raw values, encoded for a model."""
    columns = {}
    for column, value in row.items():
        columns[column] = np.empty(1, dtype=object)
        columns[column][0] = float(value) if isinstance(value, bool) else value
    return encode(columns, graph.schema, graph.used_features)


def _value(axis: Axis, cell: int) -> Any:
    """A raw value of a cell: None, a truth value, a level, or the plainest number that every node reads alike."""
    if axis.missing[cell]:
        return None
    first, kind = axis.values[cell, 0], axis.feature.kind
    if kind in ("categorical", "boolean"):
        return bool(first > 0.5) if kind == "boolean" else first
    if axis.whole:  # else two numbers of one cell may be decided differently
        values = [float(value) for value in axis.values[cell]]
        for value in (*_plain_numbers(min(values), max(values)), *values):
            table = encode({axis.feature.name: np.array([value])}, Schema((axis.feature,)))
            if np.isnan(table.arrays[0][0]):  # taken for missing
                continue
            found = evaluate_nodes(list(axis.readings), table)
            if all(found[node][0] == reading[cell] for node, reading in axis.readings.items()):
                return value
    return float(first)


def _plain_numbers(low: float, high: float) -> list[float]:
    """A number of few digits from low to high."""
    finite = [bound for bound in (low, high) if math.isfinite(bound)]
    if len(finite) < 2:
        return [float(math.floor(bound) if bound == high else math.ceil(bound)) for bound in finite] or [0.0]
    middle = low + (high - low) / 2
    found = (round(value, digits) for digits in range(_MOST_DIGITS) for value in (middle, high, low))
    return [value for value in found if low <= value <= high][:1]


CatalogueKind = Literal[
    "unknown column", "unknown class", "duplicate code", "cannot count", "never given", "no reason", "cannot turn"
]
FindingKind = Literal["unreachable", "shadowed", "gap", "overlap", "contradiction", "missing", "size"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about rules, or a catalogue of reasons, that is proved or shown by rows.

    ids: of rules, or codes of reasons; column: the one that it is about. classes: of an overlap those of the two rules,
    where an order decides the one that wins first; ordered: whether one does.
    """

    kind: FindingKind | CatalogueKind
    text: str
    ids: tuple[str, ...] = ()
    rows: tuple[Example, ...] = ()
    column: str = ""
    classes: tuple[ClassLabel, ...] = ()
    ordered: bool = False

    def as_dict(self) -> dict[str, Any]:
        more = {
            "column": self.column,
            "classes": list(self.classes),
            "order_decides": self.ordered if self.classes else None,
            "rows": [row.as_dict() for row in self.rows],
        }
        ids = "codes" if self.kind in get_args(CatalogueKind) else "rules"
        return {"kind": self.kind, "text": self.text, ids: list(self.ids), **given(more)}


@dataclass(frozen=True, slots=True)
class Open:
    """What could not be decided, as a question or as what was not looked at, and why.

    many: whether it stands for all that a limit of time left out.
    """

    kind: FindingKind | CatalogueKind
    question: str
    reason: str = ""
    many: bool = False

    @property
    def text(self) -> str:
        return f"{self.question}: {self.reason}" if self.reason else self.question
