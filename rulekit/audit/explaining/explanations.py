"""Why each row is decided as it is: the rules that fired, points, conditions, the nearest rules and the nearest change.

A formula of hidden bits can be more probable than its threshold though none of its rules is: then the fewest rules that
reach the threshold together are named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.audit.explaining.noisy_formulas import conditions_of_rows, noisy_formulas, together
from rulekit.audit.explaining.options import EVERYTHING, ExplainOptions
from rulekit.audit.overridden_rows import firing_overrides, override_view
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.text import print_node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import CONTRARY, firing, rule_values, rules_of
from rulekit.search.moves import ANY
from rulekit.search.nearest import NearestChange
from rulekit.shown.score_cards import has_scores, row_scores
from rulekit.tables.table import Table

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
        For each row `label`, `probabilities` (K, in class order), `rules` (those that fired), `nearest_rules`, `change`
        (the nearest that turns the decision), `sentences` (all of it in words), where probabilities decide
        `conditions`, and where sums do `scores`.

    Notes
    -----
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

    `nearest_rules`: of the plain rules of other classes that do not hold, those with the fewest conditions in the way
    (rulekit.audit.explaining.nearest_rules): `id`, `class`, and conditions with the values of the row: those
    `in_the_way` and those `holding`.

    `change` is the nearest change that turns the decision (rulekit.search.nearest): `to` (the class
    then), `columns` (each with `column`, `from`, `to`, None for missing), `distance`, `proved` (that no smaller one
    does it) and `text`. `reasons`, where a catalogue was given and the decision is adverse: `code`, `text`, `columns`.

    Where overrides hold, they stand before all other rules, the one that decides first, each with `override` (`author`,
    `date`, `expires`, `reason`), and `beneath` is the label that the model would have decided without them; of `rules`,
    `scores`, `conditions` and `nearest_rules` all else is what is said of the model beneath.
    """
    from rulekit.audit.explaining.nearest_rules import nearest_rules
    from rulekit.audit.explaining.phrases import Phrases
    from rulekit.audit.explaining.sentences import sentences_of_rows

    table = data if isinstance(data, Table) else graph.table(data)
    labels, chances = decide(graph, table), probabilities(graph, table)
    rows: list[dict[str, Any]] = [
        {"label": graph.classes[label], "probabilities": chance}
        for label, chance in zip(labels.tolist(), chances.tolist(), strict=True)
    ]
    beneath = graph.underlying
    own = decide(beneath, table) if graph.overrides else labels
    _add("rules", rows, _fired_rules(beneath, table, own))
    if graph.overrides:
        add_overrides(graph, table, rows, own)
    if has_scores(graph):
        _add("scores", rows, [[score.as_dict() for score in scores] for scores in row_scores(beneath, table)])
    if noisy := noisy_formulas(graph):
        _add("conditions", rows, conditions_of_rows(beneath, noisy, table, own))
    changes = _changes(graph, table, asked)
    if changes is not None:
        _add("change", rows, [as_json(graph, change) for change in changes])
    if asked.reasons:
        for row, reasons in zip(rows, _reasons(graph, table, asked, changes), strict=True):
            row |= reasons
    if asked.sentences:
        phrases = Phrases(beneath, table)
        near = nearest_rules(beneath, table, own, phrases, asked.deadline)
        _add("nearest_rules", rows, [[rule.as_dict(graph) for rule in nearest] for nearest in near])
        _add("sentences", rows, sentences_of_rows(graph, phrases, rows, near, changes, asked))
    return rows


def _add(key: str, rows: list[dict[str, Any]], values: Sequence[Any]) -> None:
    for row, value in zip(rows, values, strict=True):
        row[key] = value


def _fired_rules(graph: RuleGraph, table: Table, labels: Any) -> list[list[dict[str, Any]]]:
    from rulekit.graph.language.text import print_node

    rules = rules_of(graph)
    views: list[dict[str, Any]] = []
    for rule in rules:
        view = {"id": rule.id, "class": graph.classes[rule.class_index], "text": print_node(rule.node, graph.schema)}
        if rule.connective == "sum":
            view["weight"] = rule.weight
        if rule.connective in CONTRARY:
            view["against"] = True
        views.append(view)
    values = rule_values(rules, table)
    active = firing(rules, values, table.n_rows)
    joint = together(noisy_formulas(graph), rules, values, labels, graph.decision.ordered)
    rows: list[list[dict[str, Any]]] = []
    for i in range(table.n_rows):
        jointly = joint.get(i, [])
        named = [
            {**views[j], "probability": float(values[j][i])} if rules[j].nested else dict(views[j])
            for j in np.flatnonzero(active[i])
            if j not in jointly
        ]
        named += [{**views[j], "probability": float(values[j][i]), "together": True} for j in jointly]
        named.sort(key=lambda rule: -abs(rule.get("weight", 0.0)))
        rows.append(named)
    return rows


def _changes(graph: RuleGraph, table: Table, asked: ExplainOptions) -> list[NearestChange] | None:
    from rulekit.audit.explaining.nearest_rules import SURELY
    from rulekit.search.nearest import nearest_changes

    if not asked.changes:
        return None
    deadline = asked.deadline
    if table.n_rows > SURELY and deadline.seconds is not None:
        deadline = deadline.within(SEARCHING * deadline.left)
    return nearest_changes(graph, table, asked.wishes, asked.to, deadline)


def _reasons(
    graph: RuleGraph, table: Table, asked: ExplainOptions, changes: Sequence[NearestChange] | None
) -> list[dict[str, Any]]:
    """Of rows with an adverse decision the reasons, and the columns that count."""
    from rulekit.audit.reason_codes.giving import reasons_of
    from rulekit.search.nearest import nearest_changes

    ordering: list[NearestChange | None] = [None] * table.n_rows
    if changes is not None and asked.wishes == ANY and asked.to is None:
        ordering = list(changes)
    else:
        adverse = np.flatnonzero(np.isin(decide(graph, table), list(asked.adverse)))
        free = nearest_changes(graph, table.take(adverse), deadline=asked.deadline)
        for i, change in zip(adverse.tolist(), free, strict=True):
            ordering[i] = change
    found = reasons_of(graph, table, asked.reasons, asked.adverse, changes=ordering, most=asked.most)
    return [
        {
            "reasons": [given.as_dict() for given in own.given],
            "counting": {"columns": list(own.counting), "complete": own.exact},
        }
        if own.adverse
        else {}
        for own in found
    ]


def as_json(graph: RuleGraph, change: NearestChange) -> dict[str, Any]:
    """A nearest change as JSON values."""
    return {
        "to": None if change.class_index is None else graph.classes[change.class_index],
        "columns": [{"column": c.column, "from": c.before, "to": c.after} for c in change.columns],
        "distance": change.distance if change.columns else None,
        "proved": change.proved,
        "text": str(change),
    }


def add_overrides(graph: RuleGraph, table: Table, rows: list[dict[str, Any]], beneath: Ints) -> None:
    """Put the overrides that hold before the `rules` of each row; beneath [n]: the classes without them."""
    views = [
        {
            "id": override.id,
            "class": graph.classes[override.class_index],
            "text": print_node(override.condition, graph.schema),
            "override": override_view(override),
        }
        for override in graph.overrides
    ]
    for row, holds, label in zip(rows, firing_overrides(graph, table), beneath.tolist(), strict=True):
        if holds.any():
            row["beneath"] = graph.classes[label]
            row["rules"] = [*(dict(views[j]) for j in np.flatnonzero(holds)), *row["rules"]]
