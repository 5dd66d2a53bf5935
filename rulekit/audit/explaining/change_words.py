"""The nearest change of a row as a sentence."""

from __future__ import annotations

from rulekit.audit.nearest_change.nearest import ColumnChange, NearestChange
from rulekit.graph.language.readable import counted, listed
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import column_title


def change_sentence(graph: RuleGraph, change: NearestChange, wished: bool = False) -> str:
    """What turns a decision, how far that is, and whether no smaller change does; wished: only some were allowed."""
    allowed = "allowed " if wished else ""
    if change.class_index is None:
        if change.proved:
            return f"No {allowed}change of values turns the decision; that is proved."
        return f"No {allowed}change was found that turns the decision: {change}."
    label = quoted(graph.classes[change.class_index])
    if not change.columns:
        return f"The decision is {label} already, so that nothing need change."
    moves = listed([_move(graph, moved) for moved in change.columns])
    n = len(change.columns)
    far = counted(n, "column")
    if _has_distance(graph, change):
        far += f", {change.distance:.2g} of {'its spread' if n == 1 else 'their spreads, added up'}"
    proved = f"Proved: no smaller {allowed}change does." if change.proved else "Not proved: a smaller one may do."
    if change.stopped:
        proved = f"Not proved, as {change.stopped}: a smaller one may do."
    return f"The smallest {allowed}change that turns it to {label}: {moves} ({far}). {proved}"


def _has_distance(graph: RuleGraph, change: NearestChange) -> bool:
    """Whether some number changes that was known; of all else the distance is the number of columns."""
    known = [moved.column for moved in change.columns if moved.before is not None]
    return any(column in graph.schema and graph.schema[column].kind == "numeric" for column in known)


def _move(graph: RuleGraph, moved: ColumnChange) -> str:
    """`income from 21000 to above 24900`; a word of a text would have to come or go."""
    text, contains, word = moved.column.partition(" contains ")
    if moved.column not in graph.schema and contains:
        return f"{column_title(text)} {'with' if moved.after else 'without'} the word {quoted(word)}"
    if moved.column not in graph.schema:
        return f"{column_title(moved.column.removesuffix(' is missing'))} that is not missing"
    before, _, after = moved.text.removeprefix(f"{moved.column}: ").partition(" -> ")
    return f"{column_title(moved.column)} from {before} to {after}"
