"""Nested models as outlines: every condition once, in its place, with its weight."""

from __future__ import annotations

import numpy as np
import pytest
from rulekit_exporters.text import TARGET, show

from rulekit.conformance.models import random_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.language.words import name
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.names import printable
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.shown.rule_rows import Line, Row, Words, outline
from rulekit.shown.sections import Section, legend_of

SCHEMA = Schema(
    (
        Feature("gain"),
        Feature("loss"),
        Feature("relationship", "categorical", ("Husband", "Own-child", "Wife")),
        Feature("home", "boolean"),
    ),
    target="colour",
)


def lines_of(node: rg.Node, words: Words) -> list[Line]:
    return list(outline(node, words))


def bit(called: str, cause: rg.Node, on: float, off: float = 0.0) -> rg.Hidden:
    return rg.Hidden(called, cause, strength_of(on), strength_of(off))


GAIN = bit("H1", rg.Compare("gain", ">", 5100.0), 0.95, 0.24)
LOSS = bit("H2", rg.Compare("loss", ">", 1820.0), 0.6543, 0.04)
PAIR = bit("H3", rg.Among("relationship", ("Husband", "Wife")), 0.9995730657396404, 0.54)
NESTED = rg.And((rg.Or((GAIN, LOSS)), PAIR))


def noisy(formula: rg.Node, **changes: object) -> RuleGraph:
    return RuleGraph(SCHEMA, ("white", "red"), Fires(rg.Above(rg.Probability(formula), 0.5))).with_(**changes)


def test_a_nested_model_is_an_indented_outline() -> None:
    """It was one text of nested parentheses."""
    graph = noisy(NESTED)
    first, second = (rule.id for rule in rules_of(graph))

    assert show(graph, 100).splitlines() == [
        'colour is "red" when the probability that all of these hold exceeds 0.5',
        f"  {first}  any of",
        f"  {'':7}    0.95 (else 0.24)   gain > 5100",
        f"  {'':7}    0.654 (else 0.04)  loss > 1820",
        f"  {second}  0.9996 (else 0.54)  relationship in {{Husband, Wife}}",
        'otherwise "white".   Missing: a condition on gain, loss or relationship fails.',
        "0.95 (else 0.24): true with probability 0.95 where the condition holds, else with 0.24.",
    ]


def test_conditions_that_must_all_hold_cover_no_rows() -> None:
    """A part of a conjunction said "covers 100.0 %, right 38.0 %", as if it were a rule."""
    graph = noisy(NESTED)
    entries = [{"id": rule.id, "n": 9, "coverage": 1.0, "precision": 0.38} for rule in rules_of(graph)]
    for form in ("show", "c50", "table", "rules"):
        text = TARGET.emit(graph.with_(statistics={"rules": entries}), {"format": form}).main.decode()
        assert "38" not in text
        assert "100.0 %" not in text
    either = noisy(rg.Or((NESTED, LOSS)))
    entries = [{"id": rule.id, "n": 50, "coverage": 1.0, "precision": 0.38} for rule in rules_of(either)]
    assert "right 38.0 % of 50 rows, 26 to 52" in show(either.with_(statistics={"rules": entries}), 100)


def test_every_connective_has_words_and_conditions_stand_before_the_lists_beside_them() -> None:
    lines = lines_of(rg.AtLeast(2, (rg.Not(GAIN), rg.Or((LOSS, rg.IsTrue("home"))), PAIR)), Words(SCHEMA))
    assert [(line.depth, line.text) for line in lines] == [
        (0, "at least 2 of"),
        (1, "relationship in {Husband, Wife}"),
        (1, "not"),
        (2, "gain > 5100"),
        (1, "any of"),
        (2, "loss > 1820"),
        (2, "home"),
    ]


def test_a_bit_with_a_long_cause_opens_a_list_of_its_own() -> None:
    """The bit of a default class, which fires where no other rule does, was one line as long as all rules."""
    rules = [rg.And((rg.Compare("gain", ">", float(k)), rg.IsTrue("home"))) for k in range(4)]
    lines = lines_of(bit("rest", rg.Not(rg.Or(rules)), 0.51), Words(SCHEMA))

    assert [(line.depth, line.weight, line.text) for line in lines] == [
        (0, "0.51", "none of"),
        *((1, "", f"gain > {k} and home") for k in range(4)),
    ]
    assert lines_of(rg.Not(rg.And((GAIN, LOSS))), Words(SCHEMA))[0].text == "not all of"


def test_constants_that_say_nothing_are_left_out() -> None:
    assert lines_of(rg.Or((GAIN, rg.FALSE)), Words(SCHEMA)) == lines_of(rg.Or((GAIN,)), Words(SCHEMA))
    assert lines_of(rg.And((GAIN, rg.TRUE)), Words(SCHEMA)) == lines_of(rg.And((GAIN,)), Words(SCHEMA))
    assert "always" in [line.text for line in lines_of(rg.Or((GAIN, rg.TRUE)), Words(SCHEMA))]


def test_a_shared_part_is_said_once_and_a_shared_bit_by_name() -> None:
    shared = rg.Or((GAIN, LOSS))
    texts = [
        line.text for line in lines_of(rg.Or((rg.And((shared, PAIR)), rg.And((shared, rg.Not(PAIR))))), Words(SCHEMA))
    ]
    called = f"$r{shared.digest.hex()[:6]}"

    assert texts.count(called) == 2
    assert f"{called}: any of" in texts
    assert sum("gain > 5100" in text for text in texts) == 1
    assert sum(text == "relationship in {Husband, Wife} (bit H3)" for text in texts) == 2


def test_an_outline_grows_with_the_graph_and_a_very_deep_one_keeps_to_the_page() -> None:
    node: rg.Node = rg.Or((GAIN, LOSS))
    for _ in range(60):
        node = rg.Or((rg.And((node, PAIR)), rg.And((PAIR, node))))
    assert len(lines_of(node, Words(SCHEMA))) < 1000
    for i in range(3000):
        node = (rg.And if i % 2 else rg.Or)((node, bit(f"B{i}", rg.IsTrue("home"), 0.5)))
    assert max(map(len, show(noisy(node), 100).splitlines())) <= 100


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("width", [40, 80])
def test_outlines_of_random_graphs_name_every_column_and_keep_to_the_width(seed: int, width: int) -> None:
    graph = random_graph(np.random.default_rng(seed))
    text = show(graph, width, full=True)

    for line in text.splitlines():
        assert len(line) <= width or len(line.split()) <= 3
    for rule in rules_of(graph):
        words = " ".join(line.text for line in lines_of(rule.node, Words(graph.schema)))
        features = {getattr(node, "feature", "") for node in rg.topological([rule.node])} - {""}
        assert all(printable(name(feature)) in words for feature in features)


def test_several_classes_say_what_the_largest_is_of() -> None:
    scores = tuple(rg.Probability(part) for part in (rg.Or((GAIN, LOSS)), rg.Or((PAIR,)), rg.And((GAIN, PAIR))))
    graph = RuleGraph(SCHEMA, ("a", "b", "c"), ArgMax(scores, (0.5, 0.5, 0.5), (2, 0, 1)), default=1)
    text = show(graph, 120)
    for label, what in (("a", "any of these holds"), ("b", "this rule holds"), ("c", "all of these hold")):
        assert f'colour is "{label}" when the probability that {what} is the largest\n' in text
    order = 'of equal ones the first of "c", "a", "b"; otherwise "b".'
    assert f"\nthe largest of these above 0.5 decides, {order}" in text


def test_a_long_nested_boolean_rule_is_an_outline_and_a_short_one_a_line() -> None:
    home, gain = rg.IsTrue("home"), rg.Compare("gain", ">", 1.0)
    either = [rg.Or((home, rg.Compare("loss", ">", float(k)))) for k in range(5)]
    long = RuleGraph(SCHEMA, (0, 1), Fires(rg.And((gain, *either))))
    short = RuleGraph(SCHEMA, (0, 1), Fires(rg.And((gain, either[0]))))

    assert "all of" in show(long, 100)
    assert "gain > 1 and (home or loss > 0)" in show(short, 100)


def test_the_legend_takes_the_shortest_example() -> None:
    for weights, said in (
        ((), ""),
        (("0.5", "0.999 (else 0.0072)", "0.95 (else 0.3)"), "0.95 (else 0.3): true with probability 0.95"),
        (("0.5",), "0.5: true with probability 0.5 where the condition holds."),
    ):
        row = Row("", 0, (), outline=tuple(Line(0, "", weight) for weight in weights))
        assert legend_of([Section("", (row,))])[: len(said) or None] == said
