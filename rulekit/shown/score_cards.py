"""A sum as a score card: which points each value of a column, and each condition on several columns, brings to a total.

A card has a line for every piece of every term: of a step function one for each interval and one for missing, of other
terms the term itself. The total of a row is the bias and the points of all lines that hold for it. Beside the card
stand its table, from each total that a row can have to its decision and its probability, and the points of single rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.cells.sums import attainable_totals
from rulekit.graph.decisions import Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, number, quoted
from rulekit.graph.leaves import column_of, levels_of_leaf, readers
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    Column,
    Compare,
    Family,
    LevelPoints,
    Linear,
    Logistic,
    Missing,
    Node,
    Rescaled,
    Sided,
    Step,
    Strength,
    fold,
    with_children,
)
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import inner_sum, rules_of, segments
from rulekit.names import wrapped
from rulekit.schema import Schema
from rulekit.shown.outline import ALWAYS
from rulekit.shown.table_figures import training_of
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a card: its points, and the condition for which they count; a number counts `points` times."""

    points: float
    node: Node


@dataclass(frozen=True, slots=True)
class PointGroup:
    """The lines on one column in the order of its values, or ("") those on several columns, the largest points first.

    reach: the most by which the lines can move the total.
    """

    column: str
    entries: tuple[Entry, ...]
    reach: float


@dataclass(frozen=True)
class Card:
    """A sum by columns, those first that can move the total most.

    terms: the weighted parts of the sum as the graph has them, of which the lines are made.
    """

    bias: float
    terms: tuple[tuple[float, Node], ...]
    groups: tuple[PointGroup, ...]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for group in self.groups for entry in group.entries)

    @cached_property
    def whole(self) -> bool:
        """Whether every total is a whole number."""
        numbers = [entry for entry in self.entries if entry.node.family is not Family.BOOLEAN]
        return not numbers and all(v.is_integer() for v in (self.bias, *(entry.points for entry in self.entries)))

    def least_above(self, threshold: float) -> float | None:
        """The least whole total above a threshold; None where totals are no whole numbers."""
        return math.floor(threshold) + 1.0 if self.whole and math.isfinite(threshold) else None


def card_of(score: Node, schema: Schema) -> Card | None:
    """The card of a sum, or of the logistic of one or of some times one; None of any other score."""
    while isinstance(score, Sided | Logistic | Rescaled):
        score = next(inner_sum(child) if isinstance(child, Linear) else child for child in score.children)
    if score.family is not Family.REAL or isinstance(score, Strength):
        return None
    bias = score.bias if isinstance(score, Linear) else 0.0
    terms = score.terms if isinstance(score, Linear) else ((1.0, score),)
    live = tuple((weight, node) for weight, node in terms if weight != 0)
    return Card(bias, live, _groups(live, schema))


def _groups(terms: Sequence[tuple[float, Node]], schema: Schema) -> tuple[PointGroup, ...]:
    by_column: dict[str, list[tuple[float, Node]]] = {}
    for weight, node in terms:
        columns = list(readers([node]))
        by_column.setdefault(columns[0] if len(columns) == 1 else "", []).append((weight, node))
    found = []
    for column, own in by_column.items():
        entries = [entry for weight, node in own for entry in _entries(weight, node, schema)]
        order = sorted(entries, key=_by_value(schema, column) if column else lambda entry: -abs(entry.points))
        reaches = [_reach(weight, node) for weight, node in own]
        found.append(PointGroup(column, tuple(order), sum(reaches) if column else max(reaches)))
    return tuple(sorted(found, key=lambda group: (not group.column, -group.reach)))


def _entries(weight: float, node: Node, schema: Schema) -> list[Entry]:
    """The lines of a term; points of what is missing or unseen only where they are some."""
    if isinstance(node, LevelPoints):
        lines = [Entry(weight * points, Among(node.feature, levels)) for points, levels in node.groups]
        lines += [Entry(weight * node.missing, Missing(node.feature))] * (node.missing != 0)
        reached = node.unseen != 0 and schema[node.feature].unseen == "unseen"
        return lines + [Entry(weight * node.unseen, Among(node.feature, (), False, True))] * reached
    if not isinstance(node, Step):
        return [Entry(weight, node)]
    lines = [Entry(weight * v, segment) for segment, v in zip(segments(node), node.values, strict=True)]
    return lines + [Entry(weight * node.missing, Missing(node.feature))] * (node.missing != 0)


def _reach(weight: float, node: Node) -> float:
    """By how much a term can move a sum."""
    values: Sequence[float] = (0.0, 1.0)
    if isinstance(node, Step):
        values = (*node.values, node.missing)
    elif isinstance(node, LevelPoints):
        values = (0.0, *(value for _, value in node.points), node.missing, node.unseen)
    elif isinstance(node, Column):
        values = (node.low, node.high, node.missing)
    return abs(weight) * (max(values) - min(values))


def _by_value(schema: Schema, column: str) -> Callable[[Entry], tuple[float, float, float]]:
    """The order of lines on a column: of numbers and ranks from below, of levels by points; missing comes last."""
    feature = schema[column]

    def key(entry: Entry) -> tuple[float, float, float]:
        node = entry.node
        if isinstance(node, Missing):
            return 2.0, 0.0, 0.0
        parts = node.children if isinstance(node, And) else (node,)
        bounds = [part for part in parts if isinstance(part, Compare)]
        if bounds and len(bounds) == len(parts):
            low = max((bound.value for bound in bounds if bound.op == ">"), default=-math.inf)
            return 0.0, low, min((bound.value for bound in bounds if bound.op == "<="), default=math.inf)
        levels = levels_of_leaf(node)
        if feature.ordered and levels:
            return 0.0, float(feature.levels.index(levels[0])), float(len(levels))
        return 1.0, -entry.points, 0.0

    return key


# Totals --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """A total, what is reported of it and whether it is decided as the positive class.

    share: of the training rows, by weight, those with this total; observed: the share of the positive class among them.
    Both are None where the model has no statistics of totals, and observed where no training row has the total.
    """

    total: float
    probability: float
    positive: bool
    share: float | None = None
    observed: float | None = None


def score_table(graph: RuleGraph) -> tuple[ScoreRow, ...] | None:
    """A row for each total that a model of two classes can have, ascending, as it decides where no override holds.

    None where its probability is no function of one sum, or where there are too many totals (`attainable_totals`).
    """
    graph = graph.underlying
    total = total_of(graph)
    if total is None or len(graph.probability) != 1:
        return None
    totals = attainable_totals(total, graph.schema)
    values = None if totals is None else values_at(graph.roots, total, totals)
    if totals is None or values is None:
        return None
    known = training_of(graph).totals
    nothing = (0.0 if known else None, None)
    return tuple(
        ScoreRow(value, probability, bool(decided), *known.get(value, nothing))
        for value, (decided, probability) in zip(totals, values, strict=True)
    )


def total_of(graph: RuleGraph) -> Linear | None:
    """The sum by whose size two classes are decided, where no override does; None where the model decides otherwise."""
    roots = graph.underlying.decision.roots
    root = roots[0]
    if len(roots) == 1 and isinstance(root, Above) and isinstance(root.score, Linear):
        return root.score
    return None


def values_at(nodes: Sequence[Node], total: Linear, totals: Sequence[float]) -> list[list[float]] | None:
    """By total the values of nodes where a sum has that total; None where they depend on more than that sum."""
    found = []
    for value in totals:
        held = _held(nodes, total, value)
        if readers(held):
            return None
        values = evaluate_nodes(held, Table((), (), 1))
        found.append([float(values[node][0]) for node in held])
    return found


def _held(nodes: Sequence[Node], total: Linear, value: float) -> list[Node]:
    """The nodes where the sum has a value."""
    given = Linear((), value)
    at = fold(nodes, lambda node, children: given if node is total else with_children(node, children))
    return [at[node] for node in nodes]


_DIGITS = 6
_MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TotalTable:
    """The totals that rows can have, ascending, and what is said of each.

    title: in words what the table says. lines: each a name and a text by total; the totals first.
    """

    title: str
    rows: tuple[ScoreRow, ...]
    lines: tuple[tuple[str, tuple[str, ...]], ...]

    @property
    def pairs(self) -> list[tuple[float, float]]:
        """Totals and probabilities of six digits, which are the same on every machine."""
        return [(row.total, float(f"{row.probability:.{_DIGITS}g}")) for row in self.rows]


def total_table(graph: RuleGraph) -> TotalTable | None:
    """The table of a model of two classes that adds up whole points; None of any other, and of too many totals."""
    total = total_of(graph)
    card = None if total is None else card_of(total, graph.schema)
    rows = score_table(graph) if card is not None and card.whole else None
    if not rows:
        return None
    label = quoted(graph.classes[1])
    lines = [("total", tuple(number(row.total) for row in rows))]
    lines.append((f"probability of {label} in %", tuple(_percent(row.probability) for row in rows)))
    if any(row.share is not None for row in rows):
        weighted = "effective_rows" in graph.statistics
        lines.append((f"{'weight of ' * weighted}training rows in %", tuple(_percent(row.share) for row in rows)))
        lines.append((f"{label} among them in %", tuple(_percent(row.observed) for row in rows)))
    first = next((row.total for row in rows if row.positive), None)
    decided = f"; {label} from {number(first)} on" if first is not None else ""
    return TotalTable(f"{counted(len(rows), 'total')} that a row can have{decided}", rows, tuple(lines))


def table_lines(table: TotalTable, width: int, full: bool = True) -> list[str]:
    """The table in lines of at most `width` columns where these hold a name and a number: totals side by side.

    full: a long table too; otherwise a line says that there is one.
    """
    if not full and len(table.rows) > _MOST_SHOWN:
        return wrapped(f"{table.title}; rulekit show --all shows the probability of each", width, "  ")
    names = max(len(name) for name, _ in table.lines)
    cell = 2 + max(len(text) for _, texts in table.lines for text in texts)
    most = max(1, (width - 2 - names) // cell)
    found = wrapped(f"{table.title}:", width, "  ")
    for start in range(0, len(table.lines[0][1]), most):
        for name, texts in table.lines:
            found.append(f"  {name:{names}}" + "".join(f"{text:>{cell}}" for text in texts[start : start + most]))
        found.append("")
    return found[:-1]


def comment_lines(graph: RuleGraph, sign: str) -> list[str]:
    """The totals and their probabilities as comments of another text; none where there is no table."""
    table = total_table(graph)
    if table is None:
        return []
    head = f"{sign} Total of the points: probability of {quoted(graph.classes[1])}"
    return [head, *(f"{sign}   {number(total)}: {number(probability)}" for total, probability in table.pairs)]


def _percent(share: float | None) -> str:
    if share is None:
        return "-"
    text = f"{100.0 * share:.1f}"
    if text == "0.0" and share > 0.0:
        return "<0.1"
    return ">99.9" if text == "100.0" and share < 1.0 else text


# Points of rows ------------------------------------------------------------------------------------------------------

UNSEEN = "a level never seen"


def is_unseen(node: Node) -> bool:
    """Whether a condition holds for levels that training never saw, and nothing else."""
    return isinstance(node, Among) and not node.levels and node.unseen and not node.missing


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
    return None not in cards and any(card.terms for card in cards if card)


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
    known = [
        (
            names.get((k, node), ""),
            f"{column_of(node)} is {UNSEEN}" if is_unseen(node) else print_node(node, graph.schema),
        )
        for node in (entry.node for entry in card.entries)
    ]
    always = [Points("", ALWAYS, card.bias)] * (card.bias != 0)
    found = []
    for i, total in enumerate(values[score].tolist()):
        own = [] if brought is None else [Points(*known[j], float(brought[i, j])) for j in np.flatnonzero(brought[i])]
        points = tuple(sorted([*always, *own], key=lambda line: -abs(line.points)))
        found.append(RowScore(graph.classes[k], float(total), threshold, points))
    return found
