"""The sentences about a row: what they say of each form of decision, and that they name the values of the row."""

from __future__ import annotations

import numpy as np
import pytest
from random_tables import random_table

from rulekit.audit.explaining.explanations import ExplainOptions, explain
from rulekit.audit.explaining.phrases import Phrases, conditions, relation
from rulekit.audit.explaining.sentences import nearest_rules, override_sentences
from rulekit.conformance.models import MODELS, random_legal_graph
from rulekit.graph.decisions import ArgMax, Median
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.parsing import parse_condition, parse_graph
from rulekit.graph.nodes import Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, rules_of
from rulekit.schema import Feature, Schema
from rulekit.search.moves import Wishes
from rulekit.verification.rows import adversarial_rows

LOANS = parse_graph(
    """rulekit rules 1
    column income: numeric, money
    column late: numeric, integer
    column owner: boolean
    column purpose: categorical {car, gambling, home}
    label "default": {no, yes}
    default no
    decide yes when any of (
      income <= 24900 and late > 2,
      (not owner or missing) and purpose in {gambling},
    )
    """
)
ROWS = (
    {"income": 21000.0, "late": 3, "owner": True, "purpose": "car"},
    {"income": 30000.0, "late": 5, "owner": True, "purpose": "gambling"},
    {"income": None, "late": 1, "owner": None, "purpose": "boat"},
)


def sentences(text: str, row: dict[str, object]) -> list[str]:
    (explained,) = explain(parse_graph("rulekit rules 1\n" + text), [row])
    found: list[str] = explained["sentences"]
    return found


def test_rules_that_hold_and_that_are_near_stand_with_the_values_of_the_row() -> None:
    fired_, near, unknown = (row["sentences"] for row in explain(LOANS, list(ROWS)))
    first, second = (rule.id for rule in rules_of(LOANS))
    assert fired_ == [
        'The decision is "yes".',
        f'Rule {first} for "yes" holds: income is 21,000, which is at most 24,900; late is 3, which is above 2.',
        'The smallest change that turns it to "no": income from 21,000 to above 24,900 (1 column, 0.16 of its spread). '
        "Proved: no smaller change does.",
    ]
    assert near[:4] == [
        'The decision is "no".',
        'No rule for "yes" holds, and so the decision is "no".',
        f'Rule {first} for "yes" does not apply: income is 30,000, and the rule requires at most 24,900.',
        "Its other conditions hold: late is 5, which is above 2.",
    ]
    assert f'Rule {second} for "yes" does not apply: owner is true, and the rule requires false or missing.' in near
    said = "Not known of this row: income is missing, owner is missing and purpose is a level never seen in training."
    assert said in unknown
    assert "Its other conditions hold: owner is missing, which is taken too." in unknown


def test_wishes_are_kept_and_said() -> None:
    table = LOANS.table(list(ROWS[:1]))
    (kept,) = explain(LOANS, table, ExplainOptions(Wishes(frozenset({"late"}), {"income": "down"})))
    assert kept["sentences"][-1] == "No allowed change of values turns the decision; that is proved."
    (already,) = explain(LOANS, table, ExplainOptions(to=1))
    assert already["sentences"][-1] == 'The decision is "yes" already, so that nothing need change.'


def test_a_card_says_its_total_and_every_line() -> None:
    said = sentences(
        """column income: numeric
        column owner: boolean
        label d: {no, yes}
        default no
        decide yes when sum(-1, 2.5 if income <= 10, 1 if owner) exceeds score 0
        """,
        {"income": 3, "owner": True},
    )
    assert said[1:5] == [
        'The points add up to 2.5; the decision is "yes" where the total exceeds 0.',
        "-1 for every row.",
        "+2.5: income is 3, which is at most 10.",
        "+1: owner is true.",
    ]


def test_a_formula_says_its_probability_and_what_counts_most() -> None:
    said = sentences(
        """column story: text {corn, wheat}
        column x: numeric
        label d: {no, yes}
        default no
        decide yes when probability of any of (
          H1 fires with probability 0.9 when story contains wheat,
          H2 fires with probability 0.2 when x > 3,
        ) exceeds probability 0.5
        """,
        {"story": "wheat and corn", "x": 1},
    )
    assert said[1] == 'The probability of the rules for "yes" is 0.9, which exceeds 0.5.'
    assert said[2].endswith(' for "yes" is true with probability 0.9: story contains wheat.')
    assert "story contains wheat (0.9)" in said[3]
    assert said[-1].startswith('The smallest change that turns it to "no": story without the word "wheat" (1 column).')


def test_ranks_and_lists_say_what_is_decided_first() -> None:
    schema = Schema((Feature("x"), Feature("y")))
    low, high = Compare("x", ">", 1.0), Compare("y", ">", 5.0)
    ranks = RuleGraph(schema, ("low", "mid", "high"), Median((low, high)))
    first, second = (rule.id for rule in rules_of(ranks))
    (said,) = (row["sentences"] for row in explain(ranks, [{"x": 2.0, "y": 3.0}]))
    assert said[1:4] == [
        f'Rule {first} for "mid" or higher holds: x is 2, which is above 1.',
        'No rule for "high" holds.',
        f'Rule {second} for "high" does not apply: y is 3, and the rule requires more than 5.',
    ]
    listed = RuleGraph(schema, ("a", "b", "c"), ArgMax.first_of({1: high, 0: low}, 3), (), 2)
    both, none = (row["sentences"] for row in explain(listed, [{"x": 2.0, "y": 9.0}, {"x": 0.0, "y": None}]))
    assert both[1:3] == [
        f'Rule {second} for "b" holds: y is 9, which is above 5.',
        f'Rule {first} for "a" holds as well, but "b" is decided first.',
    ]
    assert none[2] == 'No rule of any class holds, and so the decision is "c", the default.'
    assert f'Rule {second} for "b" does not apply: y is missing, and the rule requires more than 5.' in none


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x <= 2", "at most 2"),
        ("(x > 2 or missing)", "above 2 or missing"),
        ("1 < x <= 2", "above 1 and at most 2"),
        ("not x > 2", "at most 2 or missing"),
        ("x is missing", "missing"),
        ("not x is missing", "known"),
        ("day > 2020-03-05", "after 2020-03-05"),
        ("b", "true"),
        ("not b", "false"),
        ("c in {u}", "u"),
        ("c in {u, v}", "one of {u, v}"),
        ("c not in {u}", "not u"),
        ("(c in {u} or unseen)", "u or a level never seen"),
        ("(c in {u, v} or unseen)", "not w"),
        ("x > 2 and b", None),
    ],
)
def test_what_a_condition_asks_of_a_value(text: str, said: str | None) -> None:
    levels = Feature("c", "categorical", ("u", "v", "w"))
    schema = Schema((Feature("x"), Feature("day", display="date"), Feature("b", "boolean"), levels))
    assert relation(parse_condition(text, schema), schema) == said


@pytest.mark.parametrize("seed", range(40))
def test_every_form_of_decision_is_explained(seed: int) -> None:
    """Sentences for rows of random models; a rule that is near lacks what its conditions say, and would change."""
    graph = random_legal_graph(seed)
    table = random_table(np.random.default_rng(seed), graph.schema, 5)
    labels, rules = decide(graph, table), rules_of(graph)
    for row, label in zip(explain(graph, table), labels, strict=True):
        assert row["sentences"][0].startswith("The decision is ")
        assert row["label"] == graph.classes[label]
    phrases, holding = Phrases(graph, table), fired(graph, table)
    places = {(graph.classes[rule.class_index], rule.id): k for k, rule in enumerate(rules)}
    for i, (near, _) in enumerate(nearest_rules(graph, table, labels, phrases)):
        for place, rule in ((places[rule["class"], rule["id"]], rule) for rule in near):
            lacks = sum(not phrases.holds(part, i) for part in conditions(rules[place].node))
            assert len(rule["in_the_way"]) == lacks > 0
            assert not holding[i, place]


@pytest.mark.parametrize("name", sorted(MODELS)[::4])
def test_every_conformance_model_is_explained(name: str) -> None:
    graph = MODELS[name]()
    for row in explain(graph, adversarial_rows(graph, 8).table, ExplainOptions(changes=False)):
        assert all(sentence.isprintable() and sentence.endswith(".") for sentence in row["sentences"])


def test_overrides_are_named_with_who_answers_for_them() -> None:
    signed = {"author": "A. Smith", "date": "2026-01-02", "expires": "2026-12-31", "reason": "court order 7"}
    view = {"id": "o1", "class": "no", "text": "age > 90", "override": signed}
    row = {"rules": [view, {"id": "r1", "class": "yes", "text": "late > 2"}], "beneath": "yes"}
    assert list(override_sentences(row)) == [
        'Override o1 decides "no", where age > 90 (by A. Smith, since 2026-01-02 until 2026-12-31): court order 7.',
        'Without overrides the decision would be "yes".',
    ]
