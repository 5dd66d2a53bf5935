"""Why each row is decided as it is: the rules that fired, and where probabilities decide the conditions that did it.

A formula of hidden bits can be more probable than its threshold though none of its rules is: then the fewest rules that
reach the threshold together are named. How much a condition counts for a row is how far the probability of the decided
class would fall if the condition went the other way, all else equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.condition_views import condition_views
from rulekit.audit.score_cards.cards import card_of
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.leaves import column_of
from rulekit.graph.nodes import TRUE, And, Family, Hidden, Missing, Node, Not, Or, Probability, Strength, with_children
from rulekit.graph.rules import INHIBITS, Rule, firing, rule_values, rules_of
from rulekit.graph.traversal import fold, topological
from rulekit.names import label_text, printable
from rulekit.numbers import probability_of

if TYPE_CHECKING:
    from rulekit.audit.nearest_change.nearest import NearestChange
    from rulekit.graph.rule_graph import ClassLabel, RuleGraph
    from rulekit.tables.table import Table

Doubles = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

_LEAST_SHARE = 0.01
_CONTRARY = (INHIBITS, "against")
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class _Noisy:
    """A random formula that decides: the class it speaks for, and the probability that it must exceed."""

    class_index: int
    formula: Node
    threshold: float


@dataclass(frozen=True, slots=True)
class _Turned:
    """How far the probability of a formula falls when each condition goes the other way, and whether it holds, [n, C].

    names, causes [C]: the conditions of its bits, each with the names of all the bits that it causes.
    """

    noisy: _Noisy
    names: tuple[str, ...]
    causes: tuple[Node, ...]
    fall: Doubles
    holds: npt.NDArray[np.bool_]


def explain(graph: RuleGraph, table: Table, changes: bool = True) -> list[dict[str, Any]]:
    """Per row: `label`, `probabilities` (K, in class order), `rules` and `change`.

    Where probabilities decide there are `conditions` too, and where sums decide `scores`.

    Rules: those that fired; where a probability decides for a class and none of its rules is above the threshold alone,
    the fewest that are so together, most probable first, each with `together`. Each rule has `id`, `class`, `text`, and
    where it applies `weight` (its part of a sum), `probability` (that of a random rule for this row) and `against` (it
    keeps the rules of its class from acting).

    Conditions: those that speak for the label in this row, the strongest first: `id` (the hidden bits that it causes),
    `class` of the formula, `text`, `holds`, `said` (the condition, or where it fails its contrary), and `change`, by
    how much the probability of the formula would change if the condition went the other way. Those with less than a
    hundredth of the largest change are left out.

    Where sums decide, `rules` are sorted by the size of their weights. `scores` has for each sum `class`, `total`,
    `threshold`, and `points`, each with `id`, `text` and `points`, the largest first.

    `change` is the nearest change that turns the decision (rulekit.audit.nearest_change.nearest): `to` (the class
    then), `columns` (each with `column`, `from`, `to`, None for missing), `distance`, `proved` (that no smaller one
    does it) and `text`. changes: whether it is looked for, which takes milliseconds a row.
    """
    from rulekit.audit.nearest_change.nearest import nearest_changes
    from rulekit.audit.score_cards.row_points import row_scores
    from rulekit.graph.language.text import print_node

    rules = rules_of(graph)
    views: list[dict[str, Any]] = []
    for rule in rules:
        view = {"id": rule.id, "class": graph.classes[rule.class_index], "text": print_node(rule.node, graph.schema)}
        if rule.connective == "sum":
            view["weight"] = rule.weight
        if rule.connective in _CONTRARY:
            view["against"] = True
        views.append(view)
    labels, chances = decide(graph, table), probabilities(graph, table)
    values = rule_values(rules, table)
    active = firing(rules, values, table.n_rows)
    noisy = _noisy_formulas(graph)
    joint = _together(noisy, rules, values, labels, graph.decision.ordered)
    rows: list[dict[str, Any]] = []
    for i in range(table.n_rows):
        jointly = joint.get(i, [])
        named = [
            {**views[j], "probability": float(values[j][i])} if rules[j].nested else dict(views[j])
            for j in np.flatnonzero(active[i])
            if j not in jointly
        ]
        named += [{**views[j], "probability": float(values[j][i]), "together": True} for j in jointly]
        named.sort(key=lambda rule: -abs(rule.get("weight", 0.0)))
        rows.append({"label": graph.classes[labels[i]], "probabilities": chances[i].tolist(), "rules": named})
    if has_scores(graph):
        for row, scores in zip(rows, row_scores(graph, table), strict=True):
            row["scores"] = [score.as_dict() for score in scores]
    if changes:
        for row, change in zip(rows, nearest_changes(graph, table), strict=True):
            row["change"] = as_json(graph, change)
    if noisy:
        for row, conditions in zip(rows, _conditions(graph, noisy, table, labels), strict=True):
            row["conditions"] = conditions
    return rows


def as_json(graph: RuleGraph, change: NearestChange) -> dict[str, Any]:
    """A nearest change as JSON values."""
    return {
        "to": None if change.class_index is None else graph.classes[change.class_index],
        "columns": [{"column": c.column, "from": c.before, "to": c.after} for c in change.columns],
        "distance": change.distance if change.columns else None,
        "proved": change.proved,
        "text": str(change),
    }


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the id of a rule stands for: the class that it speaks for or against, and its condition.

    weight: its part of a sum, else None; a rule whose weight is negative speaks against the class, as does one that
    inhibits others. nested: its conditions count by strengths, which the condition leaves out.
    """

    id: str
    class_label: ClassLabel
    condition: str
    weight: float | None = None
    nested: bool = False
    inhibits: bool = False

    def __str__(self) -> str:
        against = "against " if self.inhibits or (self.weight is not None and self.weight < 0) else ""
        part = "" if self.weight is None else f" by {abs(self.weight):.4g}"
        return printable(f"{self.id}  {against}{label_text(self.class_label)}{part}: {self.condition}")


def meanings_of(graph: RuleGraph) -> tuple[Meaning, ...]:
    """What the ids of all rules of a model stand for."""
    from rulekit.graph.language.text import print_node

    return tuple(
        Meaning(
            rule.id,
            graph.classes[rule.class_index],
            print_node(without_strengths(rule.node) if rule.nested else rule.node, graph.schema),
            rule.weight if rule.connective == "sum" else None,
            rule.nested,
            rule.connective in _CONTRARY,
        )
        for rule in rules_of(graph)
    )


def reasons(graph: RuleGraph, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """By column of a table of predictions what `explain` says of its rows, in the order of `reason_names`.

    `rules` holds ids with a blank between them (`r1 r2`), and a plus between those that are enough only together.
    `conditions` says with each condition what the probability would lose without it: `sex in {female} 0.41`. Of sums
    there are totals, `points` (`income <= 25000: +0.77; amount <= 8000: -0.33`) and `change` (`income: 30000 -> 1`).
    """
    from rulekit.audit.score_cards.row_points import total_names

    columns: dict[str, list[Any]] = {"rules": [_rule_ids(row["rules"]) or None for row in rows]}
    if has_conditions(graph):
        columns["conditions"] = [
            "; ".join(f"{condition['said']} {condition['change']:.2g}" for condition in row["conditions"]) or None
            for row in rows
        ]
    if has_scores(graph):
        for j, name in enumerate(total_names(graph)):
            columns[name] = [row["scores"][j]["total"] for row in rows]
        columns["points"] = [_points_of(row) or None for row in rows]
        columns["change"] = [row["change"]["text"] for row in rows]
    return columns


def reason_names(graph: RuleGraph) -> list[str]:
    """The columns of `reasons`."""
    from rulekit.audit.score_cards.row_points import total_names

    sums = [*total_names(graph), "points", "change"] if has_scores(graph) else []
    return ["rules", *["conditions"] * has_conditions(graph), *sums]


def _points_of(row: dict[str, Any]) -> str:
    """The points of a row on one line, of several sums those of its label."""
    scores = [score for score in row["scores"] if len(row["scores"]) == 1 or score["class"] == row["label"]]
    lines = [f"{line['text']}: {line['points']:+.6g}" for score in scores for line in score["points"]]
    return printable("; ".join(lines))


def _rule_ids(rules: list[dict[str, Any]]) -> str:
    words: dict[object, str] = {}
    for number, rule in enumerate(rules):
        joint = ("together", rule["class"]) if "together" in rule else number
        words[joint] = f"{words[joint]}+{rule['id']}" if joint in words else rule["id"]
    return " ".join(words.values())


def has_conditions(graph: RuleGraph) -> bool:
    """Whether probabilities decide, so that `explain` names conditions too."""
    return bool(_noisy_formulas(graph))


def has_scores(graph: RuleGraph) -> bool:
    """Whether sums decide, so that `explain` names points and totals."""
    cards = [card_of(part.score, graph.schema) for part in graph.decision.parts]
    return None not in cards and any(card is not None and card.terms for card in cards)


def without_strengths(rule: Node) -> Node:
    """The conditions of a random rule as plain logic: each hidden bit by what makes it more probable.

    That is its cause, or the contrary of its cause where the bit fires less often with it than without. Bits of one
    cause, whose strengths alone tell them apart, are one condition then.
    """

    def plain(node: Node, children: tuple[Node, ...]) -> Node:
        if isinstance(node, Hidden):
            return children[0] if node.on >= node.off else Not(children[0])
        if isinstance(node, And | Or):
            children = tuple(dict.fromkeys(children))
            return children[0] if len(children) == 1 else with_children(node, children)
        return with_children(node, children)

    return fold([rule], plain)[rule]


def _bits(formula: Node) -> tuple[Hidden, ...]:
    return tuple(node for node in topological([formula]) if isinstance(node, Hidden))


def _noisy_formulas(graph: RuleGraph) -> list[_Noisy]:
    """The random formulas that decide; none where Boolean rules or weights do."""
    found = []
    for part in graph.decision.parts:
        score, threshold = part.score, part.threshold
        if (
            isinstance(score, Probability | Strength)
            and threshold is not None
            and score.formula.family is Family.RANDOM
        ):
            if isinstance(score, Strength):
                threshold = probability_of(max(0.0, threshold))
            found.append(_Noisy(part.class_index, score.formula, threshold))
    return found


# Rules that reach a threshold together -----------------------------------------------------------------------------


def _together(
    noisy: list[_Noisy], rules: tuple[Rule, ...], values: list[npt.NDArray[Any]], labels: Indices, ranked: bool
) -> dict[int, list[int]]:
    """Per row of a class with no rule that is enough alone: the fewest that are together, most probable first.

    Of rules that are joined otherwise than by or: all that can fire.
    """
    found: dict[int, list[int]] = {}
    for part in noisy:
        own = [j for j, rule in enumerate(rules) if rule.class_index == part.class_index]
        mine = [j for j in own if rules[j].connective not in _CONTRARY]
        if not mine:
            continue
        chance = np.column_stack([values[j] for j in mine]).astype(np.float64)
        # What is left of a probability where nothing inhibits.
        spared = np.prod([1.0 - values[j] for j in own if rules[j].connective == INHIBITS], axis=0)
        decided = labels >= part.class_index if ranked else labels == part.class_index
        # a rule that fired says it all, unless the threshold is so high that it is not enough alone
        joined_by_or = rules[mine[0]].connective == "or"
        least = max(part.threshold, _HALF)
        alone = (
            (chance * np.reshape(spared, (-1, 1)) > least).any(axis=1) if joined_by_or else (chance > _HALF).all(axis=1)
        )
        rows = np.flatnonzero(decided & ~alone)
        order = np.argsort(-chance[rows], axis=1, kind="stable")
        ordered = np.take_along_axis(chance[rows], order, axis=1)
        count = np.count_nonzero(ordered > 0, axis=1)
        if joined_by_or:
            left = np.broadcast_to(spared, len(chance))[rows, np.newaxis]
            reached = (1.0 - np.cumprod(1.0 - ordered, axis=1)) * left > part.threshold
            count = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1, count)
        for i, first, many in zip(rows.tolist(), order.tolist(), count.tolist(), strict=True):
            found.setdefault(i, []).extend(mine[k] for k in first[:many])
    return found


# Conditions that count in a row ------------------------------------------------------------------------------------


def _conditions(graph: RuleGraph, noisy: list[_Noisy], table: Table, labels: Indices) -> list[list[dict[str, Any]]]:
    """Per row the conditions that speak for its label, the strongest first."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(table.n_rows)]
    for part in [_turned(part, table) for part in noisy]:
        sign = _direction(graph, part.noisy.class_index, labels)
        speaks = part.fall * sign[:, np.newaxis]
        label = graph.classes[part.noisy.class_index]
        named = zip(part.names, part.causes, strict=True)
        views = [condition_views(name, label, cause, graph.schema) for name, cause in named]
        states = np.where(part.holds, 1, 2 * _known(part.causes, table))
        for i, j in zip(*np.nonzero(speaks > 0), strict=True):
            found[i].append({**views[j][states[i, j]], "change": float(speaks[i, j])})
    return [_strongest(row) for row in found]


def _known(causes: tuple[Node, ...], table: Table) -> npt.NDArray[np.bool_]:
    """Whether the column of each leaf is known [n, C]; of other conditions it is not asked."""
    asked = [Missing(name) if (name := _column(cause)) is not None else TRUE for cause in causes]
    values = evaluate_nodes(list(dict.fromkeys(asked)), table)
    empty = np.empty((table.n_rows, 0), dtype=bool)
    return ~np.column_stack([values[node] for node in asked]) if asked else empty


def _column(cause: Node) -> str | None:
    return column_of(cause.child if isinstance(cause, Not) else cause)


def _strongest(row: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ordered = sorted(row, key=lambda entry: -entry["change"])
    return [entry for entry in ordered if entry["change"] >= _LEAST_SHARE * ordered[0]["change"]]


def _direction(graph: RuleGraph, class_index: int, labels: Indices) -> Doubles:
    """Per row 1 where the formula of a class speaks for the label, -1 where it speaks against it, else 0."""
    decision = graph.decision
    if decision.ordered:  # only the two cuts beside the label
        return np.where(labels == class_index, 1.0, np.where(labels == class_index - 1, -1.0, 0.0))
    against = 0.0 if len(decision.parts) > 1 else -1.0  # of several scores each speaks for its own class alone
    return np.where(labels == class_index, 1.0, against)


def _turned(noisy: _Noisy, table: Table) -> _Turned:
    bits: dict[Node, list[str]] = {}
    for bit in _bits(noisy.formula):
        bits.setdefault(bit.cause, []).append(bit.name)
    causes = tuple(bits)
    scores = [Probability(_with_turned(noisy.formula, cause)) for cause in causes]
    whole = Probability(noisy.formula)
    values = evaluate_nodes(list(dict.fromkeys([whole, *scores, *causes])), table)
    empty = np.empty((table.n_rows, 0))
    fall = np.column_stack([values[whole] - values[score] for score in scores]) if causes else empty
    holds = np.column_stack([values[cause] for cause in causes]) if causes else empty.astype(bool)
    return _Turned(noisy, tuple("+".join(names) for names in bits.values()), causes, fall, holds)


def _with_turned(formula: Node, cause: Node) -> Node:
    """The formula where one condition holds on exactly the other rows."""

    def rebuilt(node: Node, children: tuple[Node, ...]) -> Node:
        if isinstance(node, Hidden) and node.cause == cause:
            return Hidden(node.name, cause, node.off, node.on)
        return with_children(node, children)

    return fold([formula], rebuilt)[formula]
