"""The table of the pages on targets: what a cell of each sort is in a column of each kind, by all cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulekit.conformance.cells import NAME, cells, expected, model_of
from rulekit.schema import Feature
from rulekit.tables.raw.sources import is_missing, sort_of

_SORTS = {"truth": "truth value", "moment": "date", "span": "span of time", "integer": "number", "number": "number"}


def sort_shown(cell: Any) -> str:
    """What a cell is, as the page on generated modules lists it."""
    sort = sort_of(type(cell))
    if sort is None:
        return "bytes" if isinstance(cell, bytes) else "time of day, fraction, complex number, list, any other object"
    if is_missing(cell):
        return "None, NaN, NaT, NA, the empty text"
    if sort == "integer" and abs(int(cell)) > 2**53:
        return "integer beyond 2^53"
    return _SORTS.get(sort, "Decimal, by its text" if sort == "decimal" else "text")


def may_hold(holds: Callable[[Feature, Any], str] = lambda feature, cell: "") -> list[str]:
    """A table in Markdown: what a cell of each sort is in a column of each kind, by all cells of the table.

    holds: as in `rulekit.targets.Feed`. A cell without a place has a dash, and a sort without any place no line.
    """
    kinds = ("float32", "boolean", "date", "datetime", "category", "text")
    found: dict[str, list[set[str]]] = {}
    for place, cell in enumerate(cells()):
        row = found.setdefault(sort_shown(cell), [set() for _ in kinds])
        for said, kind in zip(row, kinds, strict=True):
            answer, graph = expected(kind)[place], model_of(kind)
            missing = not isinstance(answer, str) and graph.classes[answer[0]] == "gone"
            if not holds(graph.schema[NAME], cell):
                said.add("refused" if isinstance(answer, str) else "missing" if missing else "read")
    order = ("read", "missing", "refused")
    lines = ["| a cell | number | truth value | date | moment | category | text |", "|---|---|---|---|---|---|---|"]
    for name, row in found.items():
        if any(row):
            lines.append(
                f"| {name} | {' | '.join(' or '.join(w for w in order if w in said) or '-' for said in row)} |"
            )
    return lines
