"""Overrides win, change nothing else, and come off again as the same nodes."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from overridden_models import SCHEMA, X, Y, overridden, override, two_rules, winners
from table_rows import row_of

from rulekit.errors import FormatError, GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import FALSE, Above, Column, Hidden, Linear, Logistic, Not, Or, Probability, Strength
from rulekit.graph.overrides import MAX_OVERRIDES
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.variants import with_overrides
from rulekit.tables.table import Table

SEEDS = st.integers(0, 2**32 - 1)
HEAD = "rulekit rules 1\ncolumn x: numeric\nlabel y: {no, yes}\ndecide yes when x > 1\n"
SAID = 'override o1 by "A" on 2026-11-25 because "b": x <= 0 -> yes\n'


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_an_override_wins_and_all_other_rows_are_decided_as_before(seed):
    graph, over, table = overridden(seed)
    check(over)
    won = winners(over.overrides, table)
    expected = np.where(won >= 0, won, decide(graph, table))
    assert decide(over, table).tolist() == expected.tolist()
    rows = [evaluate_row(over, row_of(table, i)) for i in range(8)]
    assert [label for label, _ in rows] == expected[:8].tolist()
    np.testing.assert_allclose(probabilities(over, table)[:8], [shares for _, shares in rows], rtol=0, atol=1e-14)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_probability_stands_on_the_side_of_an_override_and_stays_elsewhere(seed):
    graph, over, table = overridden(seed)
    won = winners(over.overrides, table)
    shares, before = probabilities(over, table), probabilities(over.underlying, table)
    held = np.flatnonzero(won >= 0)
    assert (shares[held].argmax(axis=1) == won[held]).all()
    largest = np.partition(shares, -2, axis=1)[:, -2:]
    assert (largest[held, 0] < largest[held, 1]).all()
    decided = decide(over, table) == decide(over.underlying, table)
    same = np.flatnonzero((won < 0) & decided)
    if isinstance(graph.decision, Fires):  # where label and probability agree, but for the gap around the threshold
        agree = (before.argmax(axis=1) == decide(over, table)) & (np.abs(before[:, 1] - 0.5) > 0.001)
        same = same[agree[same]]
    assert (shares[same] == before[same]).all()
    assert (before == probabilities(graph, table)).all()


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_what_was_put_on_comes_off_as_the_same_nodes_and_again_on(seed):
    graph, over, _ = overridden(seed)
    bare = over.underlying
    assert bare.overrides == ()
    assert bare.default == graph.default
    if not isinstance(graph.decision, ArgMax):
        assert bare.decision == graph.decision
    assert bare.probability == graph.probability
    assert with_overrides(bare, over.overrides) == over
    assert with_overrides(over, over.overrides) == over
    assert with_overrides(over, ()) == bare


def test_every_form_of_decision_is_drawn():
    forms = Counter(type(overridden(seed)[1].decision) for seed in range(40))
    assert set(forms) == {Fires, ArgMax, Median}


def test_the_first_override_that_holds_wins():
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(FALSE))
    over = with_overrides(graph, (override("o1", 0, X), override("o2", 1, Y)))
    table = Table(SCHEMA.features, tuple(np.array(a, dtype=np.float32) for a in ([2, 2, 0, 0], [2, 0, 2, 0])), 4)
    assert decide(over, table).tolist() == [0, 0, 1, 0]


def sums(*scores, thresholds=(-math.inf,) * 3):
    return RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(tuple(scores), thresholds, (0, 1, 2)))


def test_a_sum_is_outweighed_by_one_more_term_and_stays_exact():
    column = Column("x", 0.0, -50.0, 50.0, 0.25)
    graph = sums(Linear([(2.0, column)], 1.0), Linear([(1.0, column)], 0.0), Linear((), 0.5))
    over = with_overrides(graph, (override("o1", 2, Y),))
    assert over.decision.roots[2] == Linear([(256.0, Y)], 0.5)
    assert over.decision.roots[0] == Linear([(2.0, column), (-256.0, Y)], 1.0)


def test_a_score_without_bounds_and_a_threshold_above_all_are_refused():
    endless = Strength(Or([Hidden("h", X, math.inf)]))
    with pytest.raises(GraphError, match="no bounds"):
        with_overrides(sums(endless, endless, endless), (override("o1", 0),))
    with pytest.raises(GraphError, match="cannot be decided"):
        with_overrides(sums(X, Y, FALSE, thresholds=(0.5, 1.0, 0.5)), (override("o1", 1),))


def test_two_classes_keep_the_threshold_that_they_were_given():
    score = Linear([(1.0, X), (1.0, Y)], -1.0)
    graph = RuleGraph(
        SCHEMA, ("no", "yes"), Fires(Above(score, 1.0)), (Logistic(score),), provenance={"threshold": 0.7}
    )
    over = with_overrides(graph, (override("o1", 1, Not(X)),))
    assert over.underlying.probability[0].probability == Logistic(score)
    assert (over.probability[0].above, over.probability[0].below) == (0.7006, 0.6994)
    rules = RuleGraph(SCHEMA, ("no", "yes"), Fires(X), (Probability(X),))
    sure = with_overrides(rules, (override("o1", 0, Y),))
    assert sure.probability == (Probability(sure.decision.roots[0]),)


def test_a_file_cannot_claim_an_override_that_does_not_decide():
    data = json.loads(to_json(two_rules()))
    plain = json.loads(to_json(two_rules().underlying))
    data["decision"], data["nodes"] = plain["decision"], [*data["nodes"]]
    with pytest.raises(FormatError, match="not that of its overrides"):
        from_json(json.dumps(data), verify=False)
    data = json.loads(to_json(two_rules()))
    data["overrides"] = data["overrides"] * MAX_OVERRIDES
    with pytest.raises(FormatError, match="more than the"):
        from_json(json.dumps(data), verify=False)


def test_a_changed_author_is_another_model():
    graph = two_rules()
    other = replace(graph, overrides=(replace(graph.overrides[0], author="B. Smith"), graph.overrides[1]))
    assert other.digest != graph.digest
    data = json.loads(to_json(graph))
    data["overrides"][0]["author"] = "B. Smith"
    with pytest.raises(FormatError, match="digest"):
        from_json(json.dumps(data))


def test_a_decision_cannot_be_changed_under_its_overrides():
    with pytest.raises(GraphError, match="not that of its overrides"):
        two_rules().with_(decision=Fires(X))


def test_a_statement_that_is_added_by_hand_decides():
    graph = parse_graph(HEAD + SAID + "override o2 by B on 2026-11-26 until 2037-01-01 because c: x > 5 -> no\n")
    assert [(each.id, each.class_index, each.expires) for each in graph.overrides] == [
        ("o1", 1, None),
        ("o2", 0, "2037-01-01"),
    ]
    assert graph.predict({"x": [0.0, 0.5, 2.0, 6.0]}).tolist() == ["yes", "no", "yes", "no"]
    assert graph.underlying == parse_graph(HEAD)
