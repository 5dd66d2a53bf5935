"""All that is explained of a row, as plain sentences that a letter can be written from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rulekit.audit.explaining.change_words import change_sentence
from rulekit.audit.explaining.nearest_rules import SURELY, NearRule
from rulekit.audit.explaining.override_words import override_sentences
from rulekit.audit.explaining.phrases import Phrases, unknown
from rulekit.audit.explaining.why import Why
from rulekit.audit.nearest_change.nearest import NearestChange
from rulekit.audit.nearest_change.wishes import ANY
from rulekit.graph.language.readable import counted, listed, share
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import column_title, printable

if TYPE_CHECKING:
    from rulekit.audit.explaining.explanations import Asked


def sentences_of_rows(
    graph: RuleGraph,
    phrases: Phrases,
    rows: Sequence[Mapping[str, Any]],
    near: Sequence[tuple[NearRule, ...]],
    changes: Sequence[NearestChange] | None,
    asked: Asked,
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
