"""The points of a row: the lines of a score card that hold for it, their total, and what that is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.decisions import Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import number, quoted
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import Family, Logistic, Node, Rescaled
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.shown.outline import ALWAYS
from rulekit.shown.score_cards.cards import card_of
from rulekit.shown.score_cards.rule_rows import UNSEEN, is_unseen
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True)
class Points:
    """A line that holds for a row: the id of its rule ("" of none), its condition and what it brings."""

    id: str
    text: str
    points: float


@dataclass(frozen=True, slots=True)
class RowScore:
    """The score of a row for a class (of ranks: for it or a higher one).

    points: the largest first, whatever their sign. threshold: what the total must exceed; None where it is compared
    with the totals of other classes, or a probability made of it decides.
    """

    class_label: ClassLabel
    total: float
    threshold: float | None
    points: tuple[Points, ...]

    def as_dict(self) -> dict[str, Any]:
        points = [{"id": p.id, "text": p.text, "points": p.points} for p in self.points]
        return {"class": self.class_label, "total": self.total, "threshold": self.threshold, "points": points}


def row_scores(graph: RuleGraph, table: Table) -> list[tuple[RowScore, ...]]:
    """The scores of each row [n], one for each sum that decides; none where no sum decides."""
    graph = graph.underlying
    names = {(rule.class_index, rule.node): rule.id for rule in rules_of(graph)}
    by_part = [_scores(graph, part, table, names) for part in graph.decision.parts]
    return [tuple(score for scores in by_part if scores for score in [scores[i]]) for i in range(table.n_rows)]


def has_scores(graph: RuleGraph) -> bool:
    """Whether sums decide, so that a row has points and totals."""
    cards = [card_of(part.score, graph.schema) for part in graph.underlying.decision.parts]
    return None not in cards and any(card is not None and card.terms for card in cards)


def sum_of(score: Node) -> Node:
    """The sum below a score that is a probability made of one."""
    while isinstance(score, Logistic | Rescaled):
        (score,) = score.children
    return score


def total_names(graph: RuleGraph) -> list[str]:
    """The columns that hold totals: `total`, of several sums `total(label)`; none where no sum decides."""
    sums = [part for part in graph.underlying.decision.parts if card_of(part.score, graph.schema) is not None]
    return ["total"] if len(sums) == 1 else [f"total({graph.classes[part.class_index]})" for part in sums]


def threshold_words(graph: RuleGraph) -> str:
    """`"yes" where the total exceeds 0` for the reader of a table of totals; "" where they are compared otherwise."""
    graph = graph.underlying
    parts = graph.decision.parts
    card = card_of(parts[0].score, graph.schema)
    if len(parts) > 1 or card is None or (threshold := _threshold(graph, parts[0])) is None:
        return ""
    least = card.least_above(threshold)
    test = f"exceeds {number(threshold)}" if least is None else f"is {number(least)} or more"
    return f"{quoted(graph.classes[parts[0].class_index])} where the total {test}"


def _threshold(graph: RuleGraph, part: Part) -> float | None:
    return part.threshold if part.score.family is Family.REAL and not graph.decision.ranked else None


def _said(node: Node, graph: RuleGraph) -> str:
    return f"{column_of(node)} is {UNSEEN}" if is_unseen(node) else print_node(node, graph.schema)


def _scores(graph: RuleGraph, part: Part, table: Table, names: dict[tuple[int, Node], str]) -> list[RowScore] | None:
    card = card_of(part.score, graph.schema)
    if card is None:
        return None
    score = sum_of(part.score)
    nodes = list(dict.fromkeys([score, *(entry.node for entry in card.entries)]))
    values = evaluate_nodes(nodes, table)
    k, threshold = part.class_index, _threshold(graph, part)
    weights = np.array([entry.points for entry in card.entries])
    brought = np.column_stack([values[entry.node] for entry in card.entries]) * weights if len(weights) else None
    known = [(names.get((k, entry.node), ""), _said(entry.node, graph)) for entry in card.entries]
    always = [Points("", ALWAYS, card.bias)] * (card.bias != 0)
    found = []
    for i, total in enumerate(values[score].tolist()):
        own = [] if brought is None else [Points(*known[j], float(brought[i, j])) for j in np.flatnonzero(brought[i])]
        points = tuple(sorted([*always, *own], key=lambda line: -abs(line.points)))
        found.append(RowScore(graph.classes[k], float(total), threshold, points))
    return found
