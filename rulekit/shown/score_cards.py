"""A sum as a score card: which points each value of a column, and each condition on several columns, brings to a total.

A card has a line for every piece of every term: of a step function one for each interval and one for missing, of other
terms the term itself. The total of a row is the bias and the points of all lines that hold for it. Beside the card
stand its table, from each total that a row can have to its decision and its probability, and the points of single rows.

A sum of votes stands with AdaBoost's theorem and the margins of the training rows in words, from the rounds that a
model file says of itself. A file may have brought the note, so that what is none, or is of another model, is taken for
none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.cells.sums import attainable_totals
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Median, Part
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, number, quoted
from rulekit.graph.leaves import column_of, levels_of_leaf, readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import inner_sum, rules_of, segments
from rulekit.names import wrapped
from rulekit.schema import Schema
from rulekit.shown.table_figures import totals_of
from rulekit.tables.table import Table

ALWAYS, UNSEEN = "always", "a level never seen"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a card: its points, and the condition for which they count; a number counts `points` times."""

    points: float
    node: rg.Node


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
    """A sum by columns, those first that can move the total most."""

    bias: float
    groups: tuple[PointGroup, ...]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(entry for group in self.groups for entry in group.entries)

    @cached_property
    def whole(self) -> bool:
        numbers = [entry for entry in self.entries if entry.node.family is not rg.Family.BOOLEAN]
        return not numbers and all(v.is_integer() for v in (self.bias, *(entry.points for entry in self.entries)))

    def least_above(self, threshold: float) -> float | None:
        """The least whole total above a threshold; None where totals are no whole numbers."""
        return math.floor(threshold) + 1.0 if self.whole and math.isfinite(threshold) else None


def card_of(score: rg.Node, schema: Schema) -> Card | None:
    """The card of a sum, or of the logistic of one or of some times one; None of any other score."""
    while isinstance(score, rg.Sided | rg.Logistic | rg.Rescaled):
        score = next(inner_sum(child) if isinstance(child, rg.Linear) else child for child in score.children)
    if score.family is not rg.Family.REAL or isinstance(score, rg.Strength):
        return None
    terms = score.terms if isinstance(score, rg.Linear) else ((1.0, score),)
    by_column: dict[str, list[tuple[float, rg.Node]]] = {}
    for weight, node in terms:
        if weight != 0:
            columns = list(readers([node]))
            by_column.setdefault(columns[0] if len(columns) == 1 else "", []).append((weight, node))
    groups = []
    for column, own in by_column.items():
        entries = [entry for weight, node in own for entry in _entries(weight, node, schema)]
        entries.sort(key=_by_value(schema, column) if column else lambda entry: -abs(entry.points))
        reaches = [_reach(weight, node) for weight, node in own]
        groups.append(PointGroup(column, tuple(entries), sum(reaches) if column else max(reaches)))
    groups.sort(key=lambda group: (not group.column, -group.reach))
    return Card(score.bias if isinstance(score, rg.Linear) else 0.0, tuple(groups))


def _entries(weight: float, node: rg.Node, schema: Schema) -> list[Entry]:
    """The lines of a term; points of what is missing or unseen only where they are some."""
    lines: list[tuple[float, rg.Node]] = [(1.0, node)]
    if isinstance(node, rg.LevelPoints):
        lines = [(points, rg.Among(node.feature, levels)) for points, levels in node.groups]
    elif isinstance(node, rg.Step):
        lines = list(zip(node.values, segments(node), strict=True))
    if isinstance(node, rg.LevelPoints | rg.Step) and node.missing != 0:
        lines.append((node.missing, rg.Missing(node.feature)))
    if isinstance(node, rg.LevelPoints) and node.unseen != 0 and schema[node.feature].unseen == "unseen":
        lines.append((node.unseen, rg.Among(node.feature, (), False, True)))
    return [Entry(weight * points, part) for points, part in lines]


def _reach(weight: float, node: rg.Node) -> float:
    values: Sequence[float] = (0.0, 1.0)
    if isinstance(node, rg.Step):
        values = (*node.values, node.missing)
    elif isinstance(node, rg.LevelPoints):
        values = (0.0, *(value for _, value in node.points), node.missing, node.unseen)
    elif isinstance(node, rg.Column):
        values = (node.low, node.high, node.missing)
    return abs(weight) * (max(values) - min(values))


def _by_value(schema: Schema, column: str) -> Callable[[Entry], tuple[float, float, float]]:
    """The order of lines on a column: of numbers and ranks from below, of levels by points; missing comes last."""
    feature = schema[column]

    def key(entry: Entry) -> tuple[float, float, float]:
        node = entry.node
        if isinstance(node, rg.Missing):
            return 2.0, 0.0, 0.0
        parts = node.children if isinstance(node, rg.And) else (node,)
        bounds = [part for part in parts if isinstance(part, rg.Compare)]
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
    totals = None if total is None or len(graph.probability) != 1 else attainable_totals(total, graph.schema)
    if totals is None:
        return None
    known, rows = totals_of(graph.statistics), []
    for value in totals:
        given = rg.Linear((), value)
        at = rg.fold(graph.roots, lambda node, below: given if node is total else rg.with_children(node, below))  # noqa: B023
        roots = [at[node] for node in graph.roots]
        if readers(roots):
            return None
        decided, probability = (float(evaluate_nodes(roots, Table((), (), 1))[node][0]) for node in roots)
        rows.append(ScoreRow(value, probability, bool(decided), *known.get(value, (0.0 if known else None, None))))
    return tuple(rows)


def total_of(graph: RuleGraph) -> rg.Linear | None:
    """The sum by whose size two classes are decided, where no override does; None where the model decides otherwise."""
    root, *others = graph.underlying.decision.roots
    return root.score if not others and isinstance(root, rg.Above) and isinstance(root.score, rg.Linear) else None


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
    percents: dict[str, list[float | None]] = {f"probability of {label} in %": [row.probability for row in rows]}
    if any(row.share is not None for row in rows):
        weighted = "weight of " * ("effective_rows" in graph.statistics)
        percents[f"{weighted}training rows in %"] = [row.share for row in rows]
        percents[f"{label} among them in %"] = [row.observed for row in rows]
    lines = [("total", tuple(number(row.total) for row in rows))]
    lines += [(name, tuple(map(_percent, shares))) for name, shares in percents.items()]
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


def is_unseen(node: rg.Node) -> bool:
    """Whether a condition holds for levels that training never saw, and nothing else."""
    return isinstance(node, rg.Among) and not node.levels and node.unseen and not node.missing


def row_scores(graph: RuleGraph, table: Table) -> list[list[dict[str, Any]]]:
    """The scores of each row [n] as JSON values, one for each sum that decides; none where no sum decides.

    class: for which (of ranks: for it or a higher one); total; threshold: what the total must exceed, None where it is
    compared with the totals of other classes, or a probability made of it decides; points: the lines that hold, the
    largest first, each with the id of its rule ("" of none).
    """
    names = {(rule.class_index, rule.node): rule.id for rule in rules_of(graph.underlying)}
    scores = [_scores(graph.underlying, part, card, table, names) for part, card in cards_of(graph)]
    return [[own[i] for own in scores] for i in range(table.n_rows)]


def cards_of(graph: RuleGraph) -> list[tuple[Part, Card]]:
    """The parts of a decision, beneath the overrides, that are sums, each with its card."""
    made = ((part, card_of(part.score, graph.schema)) for part in graph.underlying.decision.parts)
    return [(part, card) for part, card in made if card is not None]


def has_scores(graph: RuleGraph) -> bool:
    """Whether sums decide, so that a row has points and totals."""
    cards = cards_of(graph)
    return len(cards) == len(graph.underlying.decision.parts) and any(card.groups for _, card in cards)


def sum_of(score: rg.Node) -> rg.Node:
    """The sum below a score that is a probability made of one."""
    while isinstance(score, rg.Logistic | rg.Rescaled):
        (score,) = score.children
    return score


def total_names(graph: RuleGraph) -> list[str]:
    """The columns that hold totals: `total`, of several sums `total(label)`; none where no sum decides."""
    cards = cards_of(graph)
    return ["total"] if len(cards) == 1 else [f"total({graph.classes[part.class_index]})" for part, _ in cards]


def threshold_words(graph: RuleGraph) -> str:
    """`"yes" where the total exceeds 0` for the reader of a table of totals; "" where they are compared otherwise."""
    part, *others = graph.underlying.decision.parts
    threshold, card = _threshold(graph.underlying, part), card_of(part.score, graph.schema)
    if others or card is None or threshold is None:
        return ""
    least = card.least_above(threshold)
    test = f"exceeds {number(threshold)}" if least is None else f"is {number(least)} or more"
    return f"{quoted(graph.classes[part.class_index])} where the total {test}"


def _threshold(graph: RuleGraph, part: Part) -> float | None:
    return part.threshold if part.score.family is rg.Family.REAL and not graph.decision.ranked else None


def _scores(
    graph: RuleGraph, part: Part, card: Card, table: Table, names: Mapping[tuple[int, rg.Node], str]
) -> list[dict[str, Any]]:
    score, k = sum_of(part.score), part.class_index
    nodes = [entry.node for entry in card.entries]
    values = evaluate_nodes(list(dict.fromkeys([score, *nodes])), table)
    brought = np.array([entry.points * values[entry.node] for entry in card.entries]).reshape(len(nodes), table.n_rows)
    texts = [f"{column_of(node)} is {UNSEEN}" if is_unseen(node) else print_node(node, graph.schema) for node in nodes]
    always: list[dict[str, Any]] = [{"id": "", "text": ALWAYS, "points": card.bias}] * (card.bias != 0)
    found = []
    for i, total in enumerate(values[score].tolist()):
        own = [
            {"id": names.get((k, nodes[j]), ""), "text": texts[j], "points": float(brought[j, i])}
            for j in np.flatnonzero(brought[:, i])
        ]
        points = sorted([*always, *own], key=lambda line: -abs(line["points"]))
        about = {"class": graph.classes[k], "total": float(total), "threshold": _threshold(graph, part)}
        found.append(about | {"points": points})
    return found


# Rounds of boosting --------------------------------------------------------------------------------------------------

ABOUT_ROUNDS = (
    "edge: how much better than guessing a round is; Z: by what it changes the sum of the weights; bound: the product "
    "of all Z; edge bound: exp(-2 * the sum of all squared edges); margin: votes for a row's class less those against "
    "it, over all votes"
)
_MOST_ROUNDS, _ROUNDS = 100_000, {1, 2, 5, 10, 20, 50}
_MARGINS = ("least", "5 %", "25 %", "50 %", "75 %", "95 %", "largest")


def rounds_tables(graph: RuleGraph, full: bool = False) -> list[tuple[TotalTable, str]]:
    """For each question the theorem with a table of rounds, and the margins; full: of all, not a few and the last.

    Empty where the provenance says nothing of this very model.
    """
    if graph.provenance.get("rounds_of") != graph.digest:
        return []
    which = " or higher" if isinstance(graph.decision, Median) else " against the rest"
    labels = [quoted(graph.classes[part.class_index]) for part in graph.decision.parts]
    about = [f" for {label}{which}" if len(graph.classes) > 2 else "" for label in labels]
    try:
        both = zip(about, graph.provenance["rounds"], graph.provenance["units"], strict=True)
        return [_rounds(name, said, n, full) for name, said, n in both if n != 0]
    except (KeyError, TypeError, ValueError):
        return []


@np.errstate(all="ignore")  # what is no number of a round is refused below
def _rounds(about: str, said: Any, n: Any, full: bool) -> tuple[TotalTable, str]:
    """Those of one question; raises KeyError, TypeError or ValueError for what AdaBoost does not do."""
    edge, z, error = np.array([said[name][:n] for name in ("edge", "z", "error")])
    bound, edge_bound, found = np.cumprod(z), np.exp(-2.0 * np.cumsum(edge * edge)), np.array(said["margins"][str(n)])
    possible = (np.abs(edge) <= 0.5) & (z >= 0.0) & (z <= 1.001) & (error >= 0.0) & (error <= bound + 1e-6)
    shapes = edge.shape, found.shape
    if shapes != ((min(n, _MOST_ROUNDS),), (len(_MARGINS),)) or not possible.all() or not (np.abs(found) <= 1.0).all():
        raise ValueError("no rounds of AdaBoost")
    kept = [t for t in range(n) if full or t + 1 in _ROUNDS or t + 1 == n]
    lines = [("round", tuple(str(t + 1) for t in kept))]
    lines += [(name, tuple(f"{value:.4f}" for value in each[kept])) for name, each in (("edge", edge), ("Z", z))]
    for name, each in (("bound", bound), ("edge bound", edge_bound), ("wrong", error)):
        percents = np.ceil(1e4 * each[kept] - 1e-6) / 100.0 + 0.0  # up: a bound stays one, 0.00 is none, and no -0
        lines.append((f"{name} in %", tuple(f"{percent:.2f}" for percent in percents)))
    most, wrong = lines[3][1][-1], lines[5][1][-1]
    rows = f"{'the weight of ' if said['weighted'] is True else ''}the training rows"
    theorem = f"AdaBoost's theorem{about}: after {counted(n, 'round')} at most {most} % of {rows} can be wrong"
    margins = ", ".join(f"{name} {margin:.3f}" for name, margin in zip(_MARGINS, found, strict=True))
    return TotalTable(f"{theorem}; {wrong} % are", (), tuple(lines)), f"margins: {margins}"


def rounds_lines(graph: RuleGraph, width: int, full: bool = False) -> list[str]:
    """The theorem in lines of so many columns; full: all rounds, of several classes too."""
    tables, lines = rounds_tables(graph, full), list[str]()
    for table, margins in tables:
        lines += ["", *(table_lines(table, width) if full or len(tables) == 1 else wrapped(table.title, width, "  "))]
        lines += wrapped(f"  {margins}", width, "    ")
    return [*lines, *wrapped(f"  ({ABOUT_ROUNDS})", width, "   ")] if lines else []
