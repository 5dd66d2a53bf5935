"""The table of a score card: from each total that a row can have to its decision and its probability, in words too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulekit.cells.totals import attainable_totals
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.words import counted, number, quoted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Above, Linear, Node, fold, with_children
from rulekit.graph.rule_graph import RuleGraph
from rulekit.shown.lines import wrapped
from rulekit.shown.score_cards.cards import card_of
from rulekit.shown.table_figures import training_of
from rulekit.tables.table import Table


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


def _rows(graph: RuleGraph) -> tuple[ScoreRow, ...]:
    total = total_of(graph)
    card = None if total is None else card_of(total, graph.schema)
    return (score_table(graph) or ()) if card is not None and card.whole else ()


def total_table(graph: RuleGraph) -> TotalTable | None:
    """The table of a model of two classes that adds up whole points; None of any other, and of too many totals."""
    rows = _rows(graph)
    if not rows:
        return None
    label = quoted(graph.classes[1])
    lines = [("total", tuple(number(row.total) for row in rows))]
    lines.append((f"probability of {label} in %", tuple(_percent(row.probability) for row in rows)))
    if any(row.share is not None for row in rows):
        weighted = "effective_rows" in graph.statistics
        lines.append((f"{'weight of ' * weighted}training rows in %", tuple(_known(row.share) for row in rows)))
        lines.append((f"{label} among them in %", tuple(_known(row.observed) for row in rows)))
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


def _percent(share: float) -> str:
    text = f"{100.0 * share:.1f}"
    if text == "0.0" and share > 0.0:
        return "<0.1"
    return ">99.9" if text == "100.0" and share < 1.0 else text


def _known(share: float | None) -> str:
    return "-" if share is None else _percent(share)
