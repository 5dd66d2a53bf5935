"""What a table of predictions says beside labels: what explains each row, and what the ids of rules stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rulekit.audit.explaining.noisy_formulas import has_conditions
from rulekit.graph.nodes import And, Hidden, Node, Not, Or, with_children
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import CONTRARY, rules_of
from rulekit.graph.traversal import fold
from rulekit.names import label_text, printable
from rulekit.shown.score_cards import has_scores


@dataclass(frozen=True, slots=True)
class RuleMeaning:
    """What the id of a rule stands for: the class that it speaks for or against, and its condition.

    weight: its part of a sum, else None; a rule whose weight is negative speaks against the class, as does one that
    inhibits others. nested: its conditions count by strengths, which the condition leaves out. signed: of an override
    who answers for it, and why.
    """

    id: str
    class_label: ClassLabel
    condition: str
    weight: float | None = None
    nested: bool = False
    inhibits: bool = False
    signed: str = ""

    def __str__(self) -> str:
        against = "against " if self.inhibits or (self.weight is not None and self.weight < 0) else ""
        part = "" if self.weight is None else f" by {abs(self.weight):.4g}"
        signed = f" (override, {self.signed})" if self.signed else ""
        return printable(f"{self.id}  {against}{label_text(self.class_label)}{part}: {self.condition}{signed}")


def meanings_of(graph: RuleGraph) -> tuple[RuleMeaning, ...]:
    """What the ids of all rules of a model stand for."""
    from rulekit.graph.language.text import print_node
    from rulekit.shown.sections import signature

    signed = {override.id: signature(override) for override in graph.overrides}
    return tuple(
        RuleMeaning(
            rule.id,
            graph.classes[rule.class_index],
            print_node(without_strengths(rule.node) if rule.nested else rule.node, graph.schema),
            rule.weight if rule.connective == "sum" else None,
            rule.nested,
            rule.connective in CONTRARY,
            signed.get(rule.id, ""),
        )
        for rule in rules_of(graph)
    )


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


def explanation_columns(graph: RuleGraph, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """By column of a table of predictions what `explain` says of its rows, in the order of `explanation_names`.

    `rules` holds ids with a blank between them (`r1 r2`), and a plus between those that are enough only together.
    `conditions` says with each condition what the probability would lose without it: `sex in {female} 0.41`. Of sums
    there are totals, `points` (`income <= 25000: +0.77; amount <= 8000: -0.33`) and `change` (`income: 30000 -> 1`).
    """
    from rulekit.shown.score_cards import total_names

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
    from rulekit.shown.score_cards import total_names

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
