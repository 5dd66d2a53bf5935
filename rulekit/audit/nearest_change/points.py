"""The nearest change where each term of a sum reads one column: a small knapsack of points against distances.

It is exact: which columns go to which cells is chosen with the fewest columns, and of these the nearest (`cheapest`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.audit.nearest_change.moves import Moves
from rulekit.audit.reason_codes.gains import may_round
from rulekit.cells.space import product
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Family
from rulekit.shown.score_cards.cards import Card, card_of
from rulekit.tables.table import Array, Table

MOST_STATES = 20_000


@dataclass(frozen=True, slots=True)
class Option:
    """What an option gains and costs; of a group, one may be chosen."""

    gain: float
    cost: float
    what: Any


@dataclass(frozen=True, slots=True)
class Chosen:
    """The options that were chosen, as few as can be, and of those the cheapest; exact: whether that is proved."""

    chosen: tuple[Any, ...]
    cost: float
    exact: bool = True


def cheapest(groups: Sequence[Sequence[Option]], needed: float, strict: bool) -> Chosen | None:
    """The options whose gains add up to `needed` (strict: to more), from the fewest groups, then at the least cost.

    Partial choices that another one beats in both gain and cost are dropped, and those that no rest can complete; so
    nothing is lost, unless more than `MOST_STATES` are left. None where all gains together are too few; nothing is
    chosen where none is needed.
    """

    def enough(gain: float) -> bool:
        return gain > needed if strict else gain >= needed

    order = sorted(groups, key=lambda group: -max(option.gain for option in group))
    largest = [max(option.gain for option in group) for group in order]
    sums = list(accumulate(largest, initial=0.0))
    k = next((k for k, gain in enumerate(sums) if enough(gain)), None)
    if k is None:
        return None
    if k == 0:
        return Chosen((), 0.0)
    exact = True
    states: list[list[Option]] = [[Option(0.0, 0.0, ())], *([] for _ in range(k))]
    for place, group in enumerate(order):
        for size in range(min(k - 1, place), -1, -1):
            rest = k - size - 1  # groups that may follow, at best the next ones
            follow = sums[min(place + 1 + rest, len(order))] - sums[place + 1]
            further = [
                Option(state.gain + option.gain, state.cost + option.cost, (*state.what, option.what))
                for state in states[size]
                for option in _undominated(group)
                if enough(state.gain + option.gain + follow)
            ]
            if further:
                kept = _undominated([*states[size + 1], *further])
                exact = exact and len(kept) <= MOST_STATES
                states[size + 1] = kept[:MOST_STATES]
    best = min((state for state in states[k] if enough(state.gain)), key=lambda state: state.cost, default=None)
    return None if best is None else Chosen(best.what, best.cost, exact)


def _undominated(options: Sequence[Option]) -> list[Option]:
    """The options that no other one beats in both gain and cost, the largest gain first."""
    kept: list[Option] = []
    for option in sorted(options, key=lambda option: (-option.gain, option.cost)):
        if not kept or option.cost < kept[-1].cost:
            kept.append(option)
    return kept


if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph


_NEAR = 1e-9  # of the numbers of a sum: more than their roundings


def separate_cards(graph: RuleGraph, to: int | None) -> list[Card] | None:
    """The cards of the sums that decide, where a knapsack finds the nearest change; None where it does not.

    It does where each term reads one column, all classes have one threshold, and one sum that rises is enough.
    """
    decision = graph.decision
    cards = [card_of(part.score, graph.schema) for part in decision.parts]
    known = [card for card in cards if card is not None]
    if len(known) < len(cards) or any(part.score.family is not Family.REAL for part in decision.parts):
        return None
    nodes = [node for card in known for _, node in card.terms]
    one = all(len(readers([node])) == 1 and not has_column(node) for node in nodes)
    alike = not decision.ranked or len({threshold for _, _, threshold in decision.ranked}) == 1
    free = to is None or len(graph.classes) == 2
    return known if one and alike and free and nodes else None


@dataclass(frozen=True)
class PointSearch:
    """The knapsacks of some rows: what each score gains by each column [parts, n, cells], and the scores [n, parts].

    distances: by column how far each cell is [n, cells], infinite where it may not be gone to. slack [n]: what may be
    lacking to a goal that the graph, which rounds in its own order, still reaches; 0 where no sum rounds.
    """

    graph: RuleGraph
    gained: dict[str, Array]
    totals: Array
    distances: dict[str, Array]
    slack: Array

    def best(self, i: int, label: int) -> list[Chosen]:
        """The cheapest choice of cells (column, cell) for each way to turn a row that is decided as a class.

        It may be one that does not turn the row, where a sum is within its slack of the goal.
        """
        found = []
        for by_part, needed, strict in self._goals(label, self.totals[i]):
            groups = []
            for column, far in self.distances.items():
                gains = by_part @ self.gained[column][:, i, :]
                places = np.flatnonzero((gains > 0.0) & np.isfinite(far[i]))
                if len(places):
                    groups.append([Option(float(gains[j]), float(far[i, j]), (column, j)) for j in places.tolist()])
            slack = float(self.slack[i])
            cheap = cheapest(groups, needed - slack, strict and not slack)
            if cheap is not None:
                found.append(cheap)
        return found

    def _goals(self, label: int, totals: Array) -> Iterator[tuple[Array, float, bool]]:
        """What turns a decision: a sum of the scores must rise by so much, or (strict) by more."""
        decision = self.graph.decision
        unit = np.eye(len(totals))
        if not decision.ranked:
            for j, part in enumerate(decision.parts):
                assert part.threshold is not None
                short = float(part.threshold - totals[j])
                yield (-unit[j], -short, False) if totals[j] > part.threshold else (unit[j], short, True)
            return
        order = [k for k, _, _ in decision.ranked]
        threshold = decision.ranked[0][2]
        if not totals[label] > threshold:  # the default: no class is above its threshold
            yield from ((unit[k], float(threshold - totals[k]), True) for k in order if k != label)
            return
        if label != self.graph.default and threshold > -np.inf:
            yield -unit[label], float(totals[label] - threshold), False
        for k in order:
            if k != label:
                strict = order.index(label) < order.index(k)
                yield unit[k] - unit[label], float(totals[label] - totals[k]), strict


def point_search(
    graph: RuleGraph, cards: Sequence[Card], table: Table, moves: dict[str, Moves], distances: dict[str, Array]
) -> PointSearch:
    """The knapsacks of the rows of a table."""
    gained, largest = {}, np.zeros(table.n_rows)
    for column, own_moves in moves.items():
        one = product([own_moves.feature], [own_moves.shown])
        gains = []
        for card in cards:
            own = [(weight, node) for weight, node in card.terms if column in readers([node])]
            at = evaluate_nodes(list({node for _, node in own}), one) if own else {}
            now = evaluate_nodes(list({node for _, node in own}), table) if own else {}
            then = sum((weight * at[node].astype(np.float64) for weight, node in own), np.zeros(one.n_rows))
            here = sum((weight * now[node].astype(np.float64) for weight, node in own), np.zeros(table.n_rows))
            gains.append(then[None, : len(own_moves)] - here[:, None])
            largest += np.abs(here) + np.abs(then[: len(own_moves)]).max(initial=0.0)
        gained[column] = np.stack(gains)
    parts = graph.decision.parts
    scores = [part.score for part in parts]
    values = evaluate_nodes(list(dict.fromkeys(scores)), table)
    totals = np.column_stack([values[score] for score in scores])
    limits = [0.0 if part.threshold is None or np.isinf(part.threshold) else part.threshold for part in parts]
    rounds = any(may_round(part.score, limit) for part, limit in zip(parts, limits, strict=True))
    slack = _NEAR * (1.0 + largest + np.abs(totals).sum(axis=1)) * rounds
    return PointSearch(graph, gained, totals, distances, slack)
