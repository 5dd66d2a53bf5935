"""All that is explained of a row, as plain sentences that a letter can be written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rulekit.audit.explaining.nearest_rules import SURELY, NearRule
from rulekit.audit.explaining.phrases import Phrases, unknown
from rulekit.audit.explaining.why import Why
from rulekit.audit.nearest_change.nearest import ColumnChange, NearestChange
from rulekit.audit.nearest_change.wishes import ANY
from rulekit.graph.language.readable import counted, listed, share
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import column_title, printable

if TYPE_CHECKING:
    from rulekit.audit.explaining.options import ExplainOptions


def sentences_of_rows(
    graph: RuleGraph,
    phrases: Phrases,
    rows: Sequence[Mapping[str, Any]],
    near: Sequence[tuple[NearRule, ...]],
    changes: Sequence[NearestChange] | None,
    asked: ExplainOptions,
) -> list[list[str]]:
    """The sentences of each row [n], of what `explain` found of it."""
    why = Why.of(graph.underlying, phrases)
    classes = {repr(label): k for k, label in enumerate(graph.classes)}
    found = []
    for i, row in enumerate(rows):
        if i >= SURELY and asked.deadline.over:
            found.append([f"This row has no sentences: {asked.deadline.reason}."])
            continue
        asked.deadline.tell("sentences", i / len(rows))
        said = [_decision(graph, row, classes[repr(row["label"])])]
        said += _sentences(why, row, classes[repr(row.get("beneath", row["label"]))], near[i], i)
        if changes is not None:
            said.append(change_sentence(graph, changes[i], asked.wishes != ANY))
        if "reasons" in row:
            said += _reasons(row)
        found.append([printable(sentence) for sentence in said])
    return found


def _sentences(why: Why, row: Mapping[str, Any], label: int, near: Sequence[NearRule], i: int) -> Iterator[str]:
    if missing := unknown(why.phrases, i):
        yield f"Not known of this row: {listed(missing)}."
    yield from override_sentences(row)
    yield from why.sentences(row, label, i)
    for rule in near:
        yield from _nearest(why, rule)
    if near and near[0].alike:
        yield f"{counted(near[0].alike, 'more rule')} with as few conditions in the way."


def _decision(graph: RuleGraph, row: Mapping[str, Any], label: int) -> str:
    said = f"The decision is {quoted(graph.classes[label])}"
    if not graph.probability:
        return f"{said}."
    return f"{said}; its reported probability is {share(row['probabilities'][label])}."


def _nearest(why: Why, near: NearRule) -> Iterator[str]:
    many = counted(len(near.in_the_way), "condition")
    words = why.class_words(near.rule.class_index)
    yield f"Rule {near.rule.id} for {words} lacks {many}: {'; '.join(near.in_the_way)}."
    if near.holding:
        yield f"Its other conditions hold: {'; '.join(near.holding)}."


def _reasons(row: Mapping[str, Any]) -> Iterator[str]:
    for reason in row["reasons"]:
        yield f"Reason {reason['code']}: {reason['text']} ({listed([column_title(c) for c in reason['columns']])})."
    counting = row["counting"]
    if not row["reasons"]:
        columns = listed([column_title(column) for column in counting["columns"]])
        if columns:
            yield f"No reason of the catalogue applies; what counts is {columns}."
        elif counting["complete"]:
            yield "No reason applies: no change of values turns the decision."
        else:
            yield "We could not find out which columns matter for this row (search limit reached)."
            return
    if not counting["complete"]:
        yield "Not every smallest change could be looked at, so that more columns may count."


def override_sentences(row: Mapping[str, Any]) -> Iterator[str]:
    """Of the rules of an explained row those with `override` (author, date, expires, reason), in their order.

    The first of them decides. `beneath` of the row is what would be decided without them.
    """
    said = [view for view in row["rules"] if "override" in view]
    for place, view in enumerate(said):
        signed = view["override"]
        until = f" until {signed['expires']}" if signed.get("expires") else ""
        verb = "decides" if place == 0 else "holds as well, and would decide"
        reason = signed["reason"].rstrip(".")
        by = f"by {signed['author']}, since {signed['date']}{until}"
        yield f"Override {view['id']} {verb} {quoted(view['class'])}, where {view['text']} ({by}): {reason}."
    if said and "beneath" in row:
        yield f"Without overrides the decision would be {quoted(row['beneath'])}."


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
