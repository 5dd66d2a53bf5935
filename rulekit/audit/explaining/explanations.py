"""Why each row is decided as it is: the rules that fired, points, conditions, the nearest rules and the nearest change.

A formula of hidden bits can be more probable than its threshold though none of its rules is: then the fewest rules that
reach the threshold together are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.audit.explaining.noisy_formulas import conditions_of_rows, noisy_formulas, together, without_strengths
from rulekit.audit.explaining.sentences import SURELY, add_sentences
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.language.text import print_node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import CONTRARY, firing, rule_values, rules_of
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text, printable
from rulekit.search.moves import ANY, Wishes
from rulekit.search.nearest import NearestChange, nearest_changes
from rulekit.shown.score_cards import has_scores, row_scores, total_names
from rulekit.shown.sections import signature
from rulekit.tables.table import Table

if TYPE_CHECKING:
    from rulekit.audit.reason_codes.reasons import Reason


@dataclass(frozen=True, slots=True)
class ExplainOptions:
    """What is to be explained of rows.

    wishes, to: which changes count, and which class is wanted (its index; None: any other). changes, sentences: whether
    the nearest change is looked for, and whether all is said in sentences, which takes milliseconds a row. reasons: a
    catalogue's, for the adverse classes; most: how many of them a row gets. deadline: of the search for changes, which
    leaves some of it for the sentences of many rows; those that it ends say why they have none.
    """

    wishes: Wishes = ANY
    to: int | None = None
    changes: bool = True
    sentences: bool = True
    reasons: Sequence[Reason] = ()
    adverse: Sequence[int] = ()
    most: int = 4
    deadline: Deadline = NO_LIMIT


EVERYTHING = ExplainOptions()
SEARCHING = 0.6  # of a limit of time for many rows


def explain(graph: RuleGraph, data: Any, asked: ExplainOptions = EVERYTHING) -> list[dict[str, Any]]:
    """Say why rows are decided as they are.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table
        The rows; only the columns that the model reads must be there, in any order where they have names.
    asked : ExplainOptions
        What is to be explained.

    Returns
    -------
    list of dict
        For each row `label`, `probabilities` (K, in class order), `rules`, `nearest_rules`, `change`, `sentences` (all
        of it in words), where probabilities decide `conditions`, and where sums do `scores`.

    Notes
    -----
    `rules`: those that fired; where a probability decides for a class and none of its rules is above the threshold
    alone, the fewest that are so together, most probable first, each with `together`. Each has `id`, `class`, `text`,
    and where it applies `weight` (its part of a sum, the largest first), `probability` (that of a random rule for this
    row) and `against` (it keeps the rules of its class from acting).

    `conditions`: those that speak for the label in this row, the strongest first, but for those with less than a
    hundredth of the largest `change`, by which the probability of the formula would change if the condition went the
    other way; with `id` (the hidden bits that it causes), `class` of the formula, `text`, `holds` and `said` (the
    condition, or where it fails its contrary).

    `scores`: for each sum `class`, `total`, `threshold`, and `points`, each with `id`, `text` and `points`, the largest
    first. `nearest_rules`: of the plain rules of other classes that do not hold, those with the fewest conditions in
    the way: `id`, `class`, and with the values of the row those `in_the_way` and those `holding`.

    `change`: the nearest that turns the decision (rulekit.search.nearest): `to` (the class then), `columns` (each with
    `column`, `from`, `to`, None for missing), `distance`, `proved` (that no smaller one does it) and `text`. `reasons`,
    where a catalogue was given and the decision is adverse: `code`, `text`, `columns`.

    Where overrides hold, they stand before all other rules, the one that decides first, each with `override` (`author`,
    `date`, `expires`, `reason`); `beneath` is the label without them, of which all else is said.

    """
    table = data if isinstance(data, Table) else graph.table(data)
    labels, beneath = decide(graph, table), graph.underlying
    own = decide(beneath, table) if graph.overrides else labels
    facts: dict[str, Sequence[Any]] = {
        "label": [graph.classes[label] for label in labels.tolist()],
        "probabilities": probabilities(graph, table).tolist(),
        "rules": _fired_rules(beneath, table, own),
    }
    if has_scores(graph):
        facts["scores"] = row_scores(beneath, table)
    if noisy := noisy_formulas(graph):
        facts["conditions"] = conditions_of_rows(beneath, noisy, table, own)
    changes = None
    if asked.changes:
        deadline = asked.deadline
        if table.n_rows > SURELY and deadline.seconds is not None:
            deadline = deadline.within(SEARCHING * deadline.left)
        changes = nearest_changes(graph, table, asked.wishes, asked.to, deadline)
        facts["change"] = [as_json(graph, change) for change in changes]
    rows = [dict(zip(facts, values, strict=True)) for values in zip(*facts.values(), strict=True)]
    if graph.overrides:
        _add_overrides(graph, table, rows, own)
    if asked.reasons:
        _add_reasons(graph, table, rows, asked, changes)
    if asked.sentences:
        add_sentences(graph, table, rows, own, changes, asked.wishes != ANY, asked.deadline)
    return rows


def _fired_rules(graph: RuleGraph, table: Table, labels: Ints) -> list[list[dict[str, Any]]]:
    rules = rules_of(graph)
    views: list[dict[str, Any]] = []
    for rule in rules:
        view = {"id": rule.id, "class": graph.classes[rule.class_index], "text": print_node(rule.node, graph.schema)}
        summed = {"weight": rule.weight} if rule.connective == "sum" else {}
        views.append({**view, **summed, **({"against": True} if rule.connective in CONTRARY else {})})
    values = rule_values(rules, table)
    active = firing(rules, values, table.n_rows)
    joint = together(noisy_formulas(graph), rules, values, labels, graph.decision.ordered)
    rows: list[list[dict[str, Any]]] = []
    for i in range(table.n_rows):
        jointly = joint.get(i, [])
        named = []
        for j in [*(j for j in np.flatnonzero(active[i]).tolist() if j not in jointly), *jointly]:
            chance = {"probability": float(values[j][i])} if rules[j].nested or j in jointly else {}
            named.append({**views[j], **chance, **({"together": True} if j in jointly else {})})
        rows.append(sorted(named, key=lambda rule: -abs(rule.get("weight", 0.0))))
    return rows


def _add_reasons(
    graph: RuleGraph,
    table: Table,
    rows: list[dict[str, Any]],
    asked: ExplainOptions,
    changes: Sequence[NearestChange] | None,
) -> None:
    """Put the reasons, and the columns that count, into rows with an adverse decision."""
    from rulekit.audit.reason_codes.reasons import reasons_of

    ordering: Sequence[NearestChange | None] = changes or ()
    if changes is None or asked.wishes != ANY or asked.to is not None:
        adverse = np.flatnonzero(np.isin(decide(graph, table), list(asked.adverse)))
        free = nearest_changes(graph, table.take(adverse), deadline=asked.deadline)
        known = dict(zip(adverse.tolist(), free, strict=True))
        ordering = [known.get(i) for i in range(table.n_rows)]
    found = reasons_of(graph, table, asked.reasons, asked.adverse, changes=ordering, most=asked.most)
    for row, own in zip(rows, found, strict=True):
        row |= own


def as_json(graph: RuleGraph, change: NearestChange) -> dict[str, Any]:
    return {
        "to": None if change.class_index is None else graph.classes[change.class_index],
        "columns": [{"column": c.column, "from": c.before, "to": c.after} for c in change.columns],
        "distance": change.distance if change.columns else None,
        "proved": change.proved,
        "text": str(change),
    }


def _add_overrides(graph: RuleGraph, table: Table, rows: list[dict[str, Any]], beneath: Ints) -> None:
    """Put the overrides that hold before the `rules` of each row; beneath [n]: the classes without them."""
    views = [
        {
            "id": each.id,
            "class": graph.classes[each.class_index],
            "text": print_node(each.condition, graph.schema),
            "override": {key: getattr(each, key) for key in ("author", "date", "expires", "reason")},
        }
        for each in graph.overrides
    ]
    values = evaluate_nodes(list(dict.fromkeys(each.condition for each in graph.overrides)), table)
    holds = np.column_stack([values[each.condition] for each in graph.overrides])
    for i in np.flatnonzero(holds.any(axis=1)).tolist():
        own = [dict(views[j]) for j in np.flatnonzero(holds[i])]
        rows[i] |= {"beneath": graph.classes[int(beneath[i])], "rules": [*own, *rows[i]["rules"]]}


@dataclass(frozen=True, slots=True)
class RuleMeaning:
    """What the id of a rule stands for, in words; nested: its conditions count by strengths, which these leave out."""

    id: str
    text: str
    nested: bool = False

    def __str__(self) -> str:
        return printable(f"{self.id}  {self.text}")


def meanings_of(graph: RuleGraph) -> tuple[RuleMeaning, ...]:
    """What the ids of all rules of a model stand for: the class for or against which each speaks, and its condition.

    Of a sum also the weight; of an override who answers for it, and why.
    """
    signed = {override.id: f" (override, {signature(override)})" for override in graph.overrides}
    found = []
    for rule in rules_of(graph):
        summed = rule.connective == "sum"
        against = "against " * (rule.connective in CONTRARY or (summed and rule.weight < 0))
        part = f" by {abs(rule.weight):.4g}" if summed else ""
        condition = print_node(without_strengths(rule.node) if rule.nested else rule.node, graph.schema)
        label = label_text(graph.classes[rule.class_index])
        text = f"{against}{label}{part}: {condition}{signed.get(rule.id, '')}"
        found.append(RuleMeaning(rule.id, text, rule.nested))
    return tuple(found)


def explanation_columns(graph: RuleGraph, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """By column of a table of predictions what `explain` says of its rows, in the order of `explanation_names`.

    `rules` holds ids with a blank between them (`r1 r2`), and a plus between those that are enough only together.
    `conditions` says with each condition what the probability would lose without it: `sex in {female} 0.41`. Of sums
    there are totals, `points` (`income <= 25000: +0.77; amount <= 8000: -0.33`) and `change` (`income: 30000 -> 1`).
    """
    values: list[list[Any]] = [[_rule_ids(row["rules"]) or None for row in rows]]
    if noisy_formulas(graph):
        said = (((c["said"], c["change"]) for c in row["conditions"]) for row in rows)
        values.append(["; ".join(f"{words} {change:.2g}" for words, change in each) or None for each in said])
    if has_scores(graph):
        values += ([row["scores"][j]["total"] for row in rows] for j in range(len(total_names(graph))))
        values.append([_points_of(row) or None for row in rows])
        values.append([row["change"]["text"] for row in rows])
    return dict(zip(explanation_names(graph), values, strict=True))


def explanation_names(graph: RuleGraph) -> list[str]:
    """The columns of `explanation_columns`."""
    sums = [*total_names(graph), "points", "change"] if has_scores(graph) else []
    return ["rules", *["conditions"] * bool(noisy_formulas(graph)), *sums]


def reason_column(rows: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    """The codes of the reasons of each row under `reasons`, the most important first; None of rows without any."""
    return {"reasons": [" ".join(reason["code"] for reason in row.get("reasons", ())) or None for row in rows]}


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
