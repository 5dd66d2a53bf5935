"""The table of a score card: from each total that a row can have to its decision and its reported probability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rulekit.cells.totals import attainable_totals
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Above, Linear, Node, with_children
from rulekit.graph.traversal import fold
from rulekit.tables.table import Table

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


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
    known = _shares(graph)
    nothing = (0.0 if known else None, None)
    return tuple(
        ScoreRow(value, probability, bool(decided), *known.get(value, nothing))
        for value, (decided, probability) in zip(totals, values, strict=True)
    )


def _shares(graph: RuleGraph) -> dict[float, tuple[float | None, float | None]]:
    """By total the share of the training rows, and that of the positive class among them, as far as they are said."""
    entries = graph.statistics.get("totals")
    found: dict[float, tuple[float | None, float | None]] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            total, share, observed = (_number(entry.get(name)) for name in ("total", "share", "observed"))
            if total is not None and share is not None:
                found[total] = share, observed
    return found


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


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
