"""Overrides and rules that were changed by hand are shown as such."""

from __future__ import annotations

import numpy as np
import pytest
from overridden_models import overridden, two_rules, winners

from rulekit import rules_frame
from rulekit.audit.explaining.explanations import explain, explanation_columns, meanings_of
from rulekit.audit.threshold import settled_chances
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rules import counts, rules_of
from rulekit.notebook.display import graph_html
from rulekit.shown.rule_rows import HandEdit, hand_made
from rulekit.shown.sections import sections
from rulekit.shown.statistics import rule_statistics
from rulekit.shown.view import show
from rulekit.tables.table import Table

GRAPH = two_rules()
ROWS = Table(GRAPH.schema.features, tuple(np.array(a, dtype=np.float32) for a in ([2, 2, 0], [2, 0, 2])), 3)


def test_overrides_stand_before_all_rules_with_who_signed_them():
    assert [rule.id for rule in rules_of(GRAPH)][:2] == ["o1", "o2"]
    assert (counts(GRAPH).rules, counts(GRAPH.underlying).rules) == (3, 1)
    assert [section.heading for section in sections(GRAPH)] == [
        'override, which wins over all rules below: target is "yes" when this holds',
        'override, where none above holds: target is "no" when this holds',
        'target is "yes" when this holds',
    ]
    shown = show(GRAPH, 100)
    assert 'by A. Jones on 2026-11-25 until 2037-01-01: the branch\\nasked "twice"' in shown
    assert "A. Jones" in graph_html(GRAPH)
    assert rules_frame(GRAPH)["id"].to_list()[:2] == ["o1", "o2"]
    assert "(override, by A. Jones on 2026-11-25" in str(meanings_of(GRAPH)[0])


def test_an_explanation_names_the_override_and_what_lies_beneath():
    rows = explain(GRAPH, ROWS)
    signed = {"author": "A. Jones", "date": "2026-11-25", "expires": None, "reason": 'the branch\nasked "twice"'}
    assert rows[0]["rules"][0]["override"] == signed
    said = [(row["label"], row["beneath"], row["rules"][0]["id"]) for row in rows]
    assert said == [("yes", "yes", "o1"), ("no", "yes", "o2"), ("yes", "no", "o1")]


@pytest.mark.long_from("seed", 12)
@pytest.mark.parametrize("seed", range(25))
def test_explanations_and_statistics_of_any_model(seed):
    graph, over, table = overridden(seed)
    won = winners(over.overrides, table)
    labels = decide(over, table)
    rows = explain(over, table)
    assert [row["label"] for row in rows] == [over.classes[k] for k in labels]
    assert all(("beneath" in row) == (k >= 0) for row, k in zip(rows, won, strict=True))
    explanation_columns(over, rows)
    show(over)
    entries = rule_statistics(over, table, labels)["rules"]
    for entry, override in zip(entries, over.overrides, strict=False):
        holds = winners((override,), table) >= 0
        assert (entry["id"], entry["n"]) == (override.id, int(holds.sum()))
        right = (labels[holds] == override.class_index).mean() if holds.any() else None
        assert entry["precision"] == pytest.approx(right)
    if len(graph.classes) == 2:
        chances = settled_chances(over, table)
        assert set(chances[won >= 0]) <= {0.0, 1.0}
        assert (chances[won < 0] == probabilities(graph, table)[won < 0, 1]).all()


def test_rules_changed_by_hand_are_marked_until_they_are_removed():
    rule = rules_of(GRAPH)[-1].id
    note = {"author": "C. Clerk", "date": "2026-11-25", "reason": "policy 7", "added": [rule + "0"], "removed": []}
    marked = GRAPH.with_(provenance={"edits": [note]})
    assert hand_made(marked) == {rule: HandEdit("C. Clerk", "2026-11-25", "policy 7")}
    assert "changed by hand by C. Clerk on 2026-11-25: policy 7" in show(marked)
    again = {"added": [], "removed": [rule]}
    assert hand_made(GRAPH.with_(provenance={"edits": [note, again]})) == {}
    assert hand_made(GRAPH.with_(provenance={"edits": [{"added": ["o1"], "override": True}]})) == {}
    strange = [{"added": 3}, {"added": [3, ""]}, {"added": [rule], "author": 7}]
    assert hand_made(GRAPH.with_(provenance={"edits": strange})) == {rule: HandEdit("7")}
