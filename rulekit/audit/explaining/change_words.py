"""The nearest change of a row as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.graph.language.readable import counted, listed
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import column_title


def change_sentence(graph: RuleGraph, change: Mapping[str, Any], wished: bool = False) -> str:
    """What turns a decision, how far that is, and whether no smaller change does; wished: only some were allowed."""
    allowed = "allowed " if wished else ""
    if not change["columns"]:
        if change["to"] is not None:
            return f"The decision is {quoted(change['to'])} already, so that nothing need change."
        if change["proved"]:
            return f"No {allowed}change of values turns the decision; that is proved."
        return f"No {allowed}change was found that turns the decision; {change['text']}."
    moves = listed([_move(text) for text in change["moves"]])
    n = len(change["columns"])
    far = f"{counted(n, 'column')}, {change['distance']:.2g} of {'its spread' if n == 1 else 'their spreads, added up'}"
    if not _has_distance(graph, change):
        far = counted(n, "column")
    proved = f"Proved: no smaller {allowed}change does." if change["proved"] else "Not proved: a smaller one may do."
    return f"The smallest {allowed}change that turns it to {quoted(change['to'])}: {moves} ({far}). {proved}"


def _has_distance(graph: RuleGraph, change: Mapping[str, Any]) -> bool:
    """Whether some number changes that was known; of all else the distance is the number of columns."""
    return any(
        moved["from"] is not None
        and moved["column"] in graph.schema
        and graph.schema[moved["column"]].kind == "numeric"
        for moved in change["columns"]
    )


def _move(text: str) -> str:
    """`income: 21000 -> above 24900` as words; of a word of a text that it would have to come or go."""
    column, _, rest = text.rpartition(": ")
    before, _, after = rest.partition(" -> ")
    if " contains " in column and (before, after) in (("false", "true"), ("true", "false")):
        text_column, _, word = column.partition(" contains ")
        return f"{column_title(text_column)} {'with' if after == 'true' else 'without'} the word {quoted(word)}"
    return f"{column} from {before} to {after}"
