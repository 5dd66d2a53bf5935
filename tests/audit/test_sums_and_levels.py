"""What a reader is shown of terms of a sum, which decide nothing by themselves, and of long sets of levels."""

from __future__ import annotations

import numpy as np
import pytest
from rulekit_exporters.text import show

from rulekit.audit.explaining.explanations import meanings_of
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.language.figures import rule_figures
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Column, Compare, LevelPoints, Linear, LinearThreshold
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.shown.sections import missing_note
from rulekit.shown.statistics import rule_statistics

LEVELS = [f"level{i:02}" for i in range(30)]

SUM = """rulekit rules 1
column a: boolean
column b: boolean
label y: {no, yes}
default no
decide yes when sum(0, 1.5 if a, -2 if b) exceeds score 0
"""


def graph_with_figures() -> RuleGraph:
    graph = parse_graph(SUM)
    rows = graph.table({"a": [True, True, False, False], "b": [True, False, True, False]})
    return graph.with_(statistics=rule_statistics(graph, rows, np.array([0, 1, 0, 0])))


def test_a_term_of_a_sum_is_not_judged_as_a_rule() -> None:
    """A share of 0 % as "right" stood beside a negative weight; errors were computed as if terms were joined by or."""
    graph = graph_with_figures()
    for entry in graph.statistics["rules"]:
        assert entry["error"] is entry["cumulative_error"] is entry["cumulative_true_positive"] is None
    for text in (show(graph, 100), print_graph(graph)):
        assert "right" not in text
    assert '"yes" 50.0 % of 2 rows, 9 to 91' in show(graph, 100)
    assert show(graph, 100).startswith('y is "yes" when the points of all lines that hold add up to more than 0')


def test_a_term_with_a_negative_weight_speaks_against_its_class() -> None:
    """The legend of `predict --explain` said `yes: ...` of it."""
    said = [meaning.text for meaning in meanings_of(graph_with_figures())]
    assert said == ["yes by 1.5: a", "against yes by 2: b"]


def level_graph(*sets: list[str]) -> RuleGraph:
    rules = ", ".join(f"c in {{{', '.join(levels)}}}" for levels in sets)
    columns = f"column c: categorical {{{', '.join(LEVELS)}}}\n"
    return parse_graph(f"rulekit rules 1\n{columns}label y: {{no, yes}}\ndecide yes when any of ({rules})\n")


def test_every_level_stands_where_all_is_asked_for_and_two_sets_never_look_alike() -> None:
    """`and 12 more` stood even in --all; two long lists were cut after the same first levels."""
    graph = level_graph(LEVELS[:20])
    assert "and 12 more" in show(graph, 100)
    full = " ".join(show(graph, 100, full=True).split())
    assert all(level in full for level in LEVELS[:20])
    assert "more" not in full
    lines = show(level_graph(LEVELS[:14], [*LEVELS[:10], *LEVELS[14:18]]), 400).splitlines()[1:3]
    assert len({line.partition("c in ")[2] for line in lines}) == 2


@pytest.mark.parametrize("width", [50, 80, 100])
def test_figures_never_stand_inside_a_list(width: int) -> None:
    """`covers ... right ...` was printed in the middle of a wrapped level list."""
    text = (
        f"rulekit rules 1\ncolumn c: categorical {{{', '.join(LEVELS)}}}\ncolumn x: numeric\nlabel y: {{no, yes}}\n"
        "default no\ndecide yes when probability of any of (\n"
        f"  H1 fires with probability 0.9 (else 0.1) when c in {{{', '.join(LEVELS[:7])}}},\n"
        "  H2 fires with probability 0.8 when x > 3,\n) exceeds probability 0.5\n"
    )
    graph = parse_graph(text)
    table = graph.table({"c": LEVELS, "x": list(range(30))})
    graph = graph.with_(statistics=rule_statistics(graph, table, np.arange(30) % 2))
    for line in show(graph, width).splitlines():
        before = line.partition("covers")[0]
        assert "covers" not in line or before.count("{") <= before.count("}")


def test_a_condition_of_several_classes_has_the_figures_of_each() -> None:
    """They were listed one after the other, below every class and under the name of the last one."""
    x = np.random.default_rng(0).normal(size=300)
    scores = tuple(Linear([(weight, Compare("x", ">", 0.0))], 0.0) for weight in (1.0, 2.0, -1.0))
    graph = RuleGraph(Schema((Feature("x"),)), ("a", "b", "c"), ArgMax(scores, (0.0, 0.0, 0.0), (0, 1, 2)))
    y = np.where(x > 0.0, np.arange(300) % 2, 2)
    graph = graph.with_(statistics=rule_statistics(graph, graph.table({"x": x}), y))
    own = {k: figures for (k, _), figures in rule_figures(graph).items()}
    assert [[each.share for each in own[k]] for k in range(3)] == [[float(np.mean(y[x > 0] == k))] for k in range(3)]
    assert show(graph, 100).count("rows") == 3 + 3


def test_what_is_missing_in_the_sum_of_a_unit_is_said() -> None:
    schema = Schema((Feature("city", "categorical", ("a", "b", "c")), Feature("age")))
    points = LevelPoints("city", (("a", 2.0), ("b", 1.0)), 0.0, 0.0)
    unit = LinearThreshold([(1.0, points), (0.5, Column("age", 40.0, 18.0, 80.0, 1.0))], -30.0)
    note = missing_note(RuleGraph(schema, ("no", "yes"), Fires(unit)))
    assert "a missing city brings no points; in a sum a missing age counts as 40" in note
