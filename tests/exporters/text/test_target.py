"""The text target: the rule language back and forth, tables, and the view for people.

How the example models are shown in each format is in tests/golden/exports.
"""

from __future__ import annotations

import numpy as np
import pytest
from golden_graphs import MODELS, income
from random_tables import random_table
from rulekit_exporters.text import TARGET, show

from rulekit.conformance.models import random_graph
from rulekit.errors import FormatError, GraphError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.nodes import FALSE, Among, And, Compare, IsTrue, Missing, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.schema import Feature, Schema

PEOPLE = Schema((Feature("sex", "categorical", ("female", "male")), Feature("age"), Feature("home", "boolean")))
FORMATS = ("rules", "show", "full", "table", "csv", "c50")


@pytest.mark.parametrize("seed", range(40))
def test_random_graphs_in_every_format(seed):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, plain=seed % 2 == 0)
    texts = {form: TARGET.emit(graph, {"format": form}).main for form in FORMATS}
    table = random_table(rng, graph.schema, 50)
    outcome = TARGET.run(texts["rules"], graph, table)
    assert TARGET.read(texts["rules"]) == graph
    assert (outcome.labels == decide(graph, table)).all()
    assert (outcome.probabilities == probabilities(graph, table)).all()
    for rule in rules_of(graph):
        assert all(rule.id.encode() in texts[form] for form in ("show", "table", "csv", "c50"))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_lines_keep_to_the_width(name, width):
    """Only a single word that is longer than the line may stand out."""
    for line in show(MODELS[name](), width).splitlines():
        assert len(line) <= width or len(line.split()) <= 2


def test_hostile_names_stay_on_their_line():
    names = ("a\nb", "\x1b[31mred", "\u202eabc", "|", "`x`")
    schema = Schema((*(Feature(n) for n in names), Feature("c", "categorical", names)), target="t\n")
    formula = Or((And(tuple(Compare(n, ">", 0.5) for n in names)), Among("c", names)))
    graph = RuleGraph(schema, ("a\nb", "\x1b"), Fires(formula))
    for form in ("show", "table", "c50"):
        text = TARGET.emit(graph, {"format": form}).main.decode()
        assert all(line.isprintable() for line in text.split("\n")), form
    rows = [line for line in TARGET.emit(graph, {"format": "table"}).main.decode().splitlines() if line[:1] == "|"]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1


def test_what_held_out_rows_say_stands_below_what_training_rows_say():
    graph = income()
    rules = [{"id": rule.id, "n": 75, "precision": 0.88, "base_rate": 0.25} for rule in rules_of(graph)]
    said = show(graph.with_(statistics={"rules": rules, "held_out": {"rules": rules}}), 100).splitlines()
    assert said[1] == '  (">50K" is 25.0 % of the training rows, 25.0 % of the held-out rows)'
    assert said[2].endswith("training: right 88.0 % of 75 rows, 79 to 94")
    assert said[3].endswith("held out: right 88.0 % of 75 rows, 79 to 94")


@pytest.mark.parametrize(
    "statistics",
    [{"rules": "x"}, {"rules": [1, {"id": 3}]}, {"a": [], "rules": [{"id": "r0fcc97", "n": 3, "precision": "x"}]}],
)
def test_strange_statistics_do_no_harm(statistics):
    assert "r0fcc97" in show(income().with_(statistics=statistics), 100)


def test_other_texts_are_refused_by_name():
    for text in (b"", b"\xff\xfe", b"class,rule\n", TARGET.emit(income(), {"format": "c50"}).main):
        with pytest.raises(FormatError):
            TARGET.read(text)
    with pytest.raises(InputError, match="one of rules, show"):
        TARGET.emit(income(), {"format": "pdf"})
    with pytest.raises(InputError, match="no option 'colour'"):
        TARGET.emit(income(), {"colour": 1})


def test_rules_over_other_columns_are_not_run():
    graph = income()
    other = RuleGraph(Schema((Feature("x"),)), (0, 1), Fires(Compare("x", ">", 1.0)))
    table = random_table(np.random.default_rng(0), graph.schema, 3)
    with pytest.raises(GraphError, match="other columns"):
        TARGET.run(TARGET.emit(other, {}).main, graph, table)


def test_lift_is_the_share_of_the_class_over_the_coverage():
    """Of 1,000 rows 41 are covered, 40 of them of the class, which has 200 rows: 40 / 41 against 200 / 1000."""
    graph = income()
    entry = {"id": "r0fcc97", "n": 41, "coverage": 0.041, "precision": 40 / 41, "base_rate": 0.2}
    text = TARGET.emit(graph.with_(statistics={"rules": [entry]}), {"format": "c50"}).main.decode()
    assert "Rule 1: (r0fcc97, right 97.6 % of 41 rows, 87 to 99.6, lift 4.9)" in text


@pytest.mark.parametrize(
    ("conditions", "said"),
    [
        ((Among("sex", ("female",)),), "a missing sex satisfies no rule."),
        ((Among("sex", ("female",)), Compare("age", ">", 30.0)), "a missing sex or age satisfies no rule."),
        (
            (Among("sex", ("female",)), Compare("age", ">", 30.0, True)),
            "a missing sex satisfies no rule; a missing age can satisfy a rule.",
        ),
        # `not homeowner`, false where homeowner is missing, was said to hold there.
        ((Not(IsTrue("home", missing=True)),), "a missing home satisfies no rule."),
        ((Not(IsTrue("home")),), "a missing home can satisfy a rule."),
        ((Not(Missing("home")),), "a missing home satisfies no rule."),
        ((Missing("home"),), "a missing home can satisfy a rule."),
    ],
)
def test_what_a_missing_cell_satisfies_is_said(conditions, said):
    graph = RuleGraph(PEOPLE, ("no", "yes"), Fires(Or(conditions)))
    assert show(graph, 200).splitlines()[-1].partition("Missing: ")[2] == said


def test_a_negated_literal_stands_without_parentheses():
    graph = RuleGraph(PEOPLE, (0, 1), Fires(And((Compare("age", ">", 30.0), Not(IsTrue("home", missing=True))))))
    assert "age > 30 and not home" in show(graph, 100)


def test_a_class_without_a_rule_is_never_decided():
    schema = Schema((Feature("x"),), target="y")
    graph = RuleGraph(schema, (False, True), Fires(FALSE))
    assert show(graph).splitlines()[0] == "y is never true (no rule)"
