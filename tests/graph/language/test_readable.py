"""Numbers as people read them: short, dated, with units, and never 0 or 1 where they are neither."""

from __future__ import annotations

import math

import pytest

from rulekit.graph.language.text import print_graph, print_node
from rulekit.graph.language.words import amount, chance, counted, level_set, listed, percent, share, weight
from rulekit.graph.nodes import Among, Column, Compare, Or, Step
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

DAY = Feature("since", display="date")
MOMENT = Feature("seen", precision="float64", display="datetime")
MONEY = Feature("gain", display="money", unit="EUR")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "0"),
        (1.0, "1"),
        (0.95, "0.95"),
        (0.23866, "0.239"),
        (0.0897, "0.09"),
        (4.32e-05, "0.000043"),
        (3e-9, "3e-09"),
        (0.9995730657396404, "0.9996"),  # was printed with all sixteen digits
        (0.9999740723192275, "0.99997"),
        (0.9996, "0.9996"),
        (1 - 1e-12, "0.999999999999"),
    ],
)
def test_probabilities_are_short(p: float, text: str) -> None:
    assert share(p) == text


@pytest.mark.parametrize("exponent", range(1, 17))
def test_a_probability_is_never_0_or_1_where_it_is_neither(exponent: int) -> None:
    for p in (10.0**-exponent, 1.0 - 10.0**-exponent, 1.0 - 4.9 * 10.0**-exponent):
        if 0.0 < p < 1.0:
            assert 0.0 < float(share(p)) < 1.0
            assert chance(strength_of(p)) not in ("0", "1")


def test_strengths_that_no_double_probability_tells_from_1() -> None:
    assert [chance(s) for s in (math.inf, 60.0, 20.0, 1e9)] == ["1", "1 - 9e-27", "1 - 2e-09", "almost 1"]


@pytest.mark.parametrize(
    ("value", "feature", "text"),
    [
        (18691.0, DAY, "2021-03-05"),
        (18691.5, DAY, "2021-03-05"),
        (-0.5, DAY, "1969-12-31"),
        (18691.25, DAY, "2021-03-05 06:00"),
        (1614902400.0, MOMENT, "2021-03-05 00:00"),
        (1614902407.5, MOMENT, "2021-03-05 00:00:07.500000"),
        (1 / 3, MOMENT, "0.3333333333333333"),
        (1e300, DAY, "1e+300"),
        (5100.0, MONEY, "5,100 EUR"),
        (-1234567.5, MONEY, "-1,234,567.5 EUR"),
        (0.1, Feature("x"), "0.1"),
        (0.10000000149011612, Feature("x"), "0.1"),
        (0.30000000000000004, Feature("x", precision="float64"), "0.30000000000000004"),
        (28.5, Feature("x", unit="years"), "28.5 years"),
        (4.5, Feature("x", unit="%"), "4.5 %"),
        (24850.0, Feature("x", unit="steps"), "24850 steps"),
    ],
)
def test_amounts_look_like_the_values_of_their_column(value: float, feature: Feature, text: str) -> None:
    assert amount(value, feature) == text


def test_print_node_shows_dates_and_money_and_the_language_keeps_dates() -> None:
    from rulekit.graph.decisions import Fires
    from rulekit.graph.rule_graph import RuleGraph

    schema = Schema((DAY, MONEY))
    assert print_node(Compare("since", ">", 18691.5), schema) == "since > 2021-03-05"
    assert print_node(Compare("gain", "<=", 5100.0, True), schema) == "(gain <= 5,100 EUR or missing)"
    assert print_node(Step("since", (18691.5,), (0.25, 1.0), 0.0), schema).startswith(
        "step(since: 0.25 up to 2021-03-05"
    )
    assert "to 5,100 EUR" in print_node(Column("gain", 0.0, 0.0, 5100.0), schema)
    rule = Or((Compare("since", ">", 18691.0), Compare("since", ">", 18691.5), Compare("gain", "<=", 24850.0)))
    text = print_graph(RuleGraph(schema, (0, 1), Fires(rule)))
    assert [line.split("  #")[0].strip(" ,") for line in text.splitlines()[-4:-1]] == [
        "since > 2021-03-05",
        "since > 2021-03-05T12:00",
        "gain <= 24850",
    ]


def test_long_level_sets_are_cut_or_said_by_the_levels_outside() -> None:
    levels = tuple(f"L{i:02}" for i in range(41))
    schema = Schema((Feature("job", "categorical", levels),))
    many = Among("job", levels[:38])

    assert level_set(levels) == "{L00, L01, L02, L03, L04, L05, L06, L07 and 33 more}"
    assert level_set(levels[:9]) == "{L00, L01, L02, L03, L04, L05, L06, L07, L08}"
    assert print_node(many, schema).endswith("L07 and 30 more}")
    assert print_node(Among("job", levels[:38], unseen=True), schema) == "job not in {L38, L39, L40}"
    assert print_node(Among("job", levels[:2], unseen=True), schema) == "(job in {L00, L01} or unseen)"


def test_counts_and_lists_are_grammatical() -> None:
    assert (counted(1, "rule"), counted(0, "rule"), counted(2, "line")) == ("1 rule", "0 rules", "2 lines")
    assert (listed([]), listed(["a"]), listed(["a", "b"], "or"), listed(["a", "b", "c"])) == (
        "",
        "a",
        "a or b",
        "a, b and c",
    )
    assert (percent(0.0), percent(0.041), percent(0.00015), percent(1.0)) == ("0.0 %", "4.1 %", "0.01 %", "100.0 %")
    assert (weight(0.1 + 0.2), weight(-0.25), weight(12345.0)) == ("0.3", "-0.25", "12345")
