"""The rules of a model as a frame, one row a rule."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.language.figures import LARGEST_EXACT_INTEGER, TABLES, RuleFigures, rule_figures
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import label_text
from rulekit.shown.sections import sections

LIBRARIES = ("polars", "pandas")
_NOTHING = RuleFigures("", 0)


def rules_frame(graph: RuleGraph, library: str = "polars") -> Any:
    """Give the rules as a frame, one row a rule.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    library : "polars" or "pandas"
        Whose frame.

    Returns
    -------
    DataFrame
        id, class, rule, literals, weight, then of the training rows: rows, right, low, high, base_rate, and of
        held-out rows the same under held_out_rows, ... (rulekit.notebook.frames).

    """
    if library not in LIBRARIES:
        raise InputError(f"library is {library!r}", where="to_frame", fix=" or ".join(LIBRARIES))
    if find_spec(library) is None:
        raise InputError(f"{library} is not installed", where="to_frame", fix=f"pip install {library}")
    columns = _columns(graph)
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    import polars

    return polars.DataFrame(columns, schema=_types(columns))


def _columns(graph: RuleGraph) -> dict[str, list[Any]]:
    rules, figures = rules_of(graph), rule_figures(graph)
    texts = {(row.class_index, row.id): row.text for part in sections(graph, full=True) for row in part.rows}
    found: dict[str, list[Any]] = {
        "id": [rule.id for rule in rules],
        "class": [label_text(graph.classes[rule.class_index]) for rule in rules],
        "rule": [texts[rule.class_index, rule.id] for rule in rules],
        "literals": [min(rule.literals, LARGEST_EXACT_INTEGER) for rule in rules],
        "weight": [rule.weight if rule.connective == "sum" else None for rule in rules],
    }
    for title, prefix in ((TABLES["train"], ""), (TABLES["held_out"], "held_out_")):
        of = [
            next((f for f in figures.get((rule.class_index, rule.id), ()) if f.table == title), None) for rule in rules
        ]
        found[f"{prefix}rows"] = [None if f is None else f.n for f in of]
        for name, column in (("share", "right"), ("low", "low"), ("high", "high"), ("base_rate", "base_rate")):
            found[f"{prefix}{column}"] = [getattr(f or _NOTHING, name) for f in of]
    return found


def _types(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """The types of polars, which a column of nulls alone does not tell."""
    import polars

    texts, counts = {"id", "class", "rule"}, {"literals", "rows", "held_out_rows"}
    return {
        name: polars.String if name in texts else polars.Int64 if name in counts else polars.Float64 for name in columns
    }
