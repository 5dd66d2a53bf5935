"""Small models of every kind for the golden files and the tests of the text and Python targets."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of

GOLDEN = Path(__file__).parent / "golden" / "exports"


def _read(name: str) -> RuleGraph:
    return parse_graph((GOLDEN / f"{name}_rules.txt").read_text(encoding="utf-8"))


def income() -> RuleGraph:
    """A deterministic decision with figures, and the weighted rules behind its probability."""
    graph = _read("income")
    shares = ((0.041, 0.986), (0.11, 0.732))
    entries = [
        {"id": rule.id, "n": round(1000 * c), "coverage": c, "precision": p}
        for rule, (c, p) in zip(rules_of(graph), shares, strict=True)
    ]
    return graph.with_(statistics={"rules": entries})


# A boosted score: merged stumps, a clipped column, Boolean and categorical terms, a logistic report.
score = partial(_read, "score")
# Three classes with a rule set each.
grades = partial(_read, "grades")
# Three ordered classes by the median of two noisy decisions.
ranks = partial(_read, "ranks")
# A score card: points by level, a step, rules with points, a threshold of its own, a logistic of the total.
card = partial(_read, "card")

INCOME = income().schema
MODELS = {"income": income, "score": score, "grades": grades, "ranks": ranks, "card": card}
