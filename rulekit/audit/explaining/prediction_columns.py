"""What is explained of rows as columns of a table of predictions."""

from __future__ import annotations

from typing import Any

from rulekit.audit.explaining.noisy_formulas import has_conditions
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.shown.score_cards.row_points import has_scores


def explanation_columns(graph: RuleGraph, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """By column of a table of predictions what `explain` says of its rows, in the order of `explanation_names`.

    `rules` holds ids with a blank between them (`r1 r2`), and a plus between those that are enough only together.
    `conditions` says with each condition what the probability would lose without it: `sex in {female} 0.41`. Of sums
    there are totals, `points` (`income <= 25000: +0.77; amount <= 8000: -0.33`) and `change` (`income: 30000 -> 1`).
    """
    from rulekit.shown.score_cards.row_points import total_names

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


def explanation_names(graph: RuleGraph) -> list[str]:
    """The columns of `explanation_columns`."""
    from rulekit.shown.score_cards.row_points import total_names

    sums = [*total_names(graph), "points", "change"] if has_scores(graph) else []
    return ["rules", *["conditions"] * has_conditions(graph), *sums]


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
