"""The rule language: what is printed reads back with the same digest; what cannot be read is said in people's words."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from golden_pairs import check_pairs

from rulekit.errors import FormatError
from rulekit.graph import nodes as rg
from rulekit.graph.check import check
from rulekit.graph.decisions import Fires
from rulekit.graph.language.parsing import parse_condition, parse_graph
from rulekit.graph.language.text import print_graph, print_node, word
from rulekit.graph.language.wordings import ExactWording
from rulekit.graph.language.words import RESERVED
from rulekit.graph.nodes import FALSE, TRUE, Node, Vocabulary
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

DOCS = Path(__file__).parents[3] / "docs"
SCHEMA = Schema(
    (
        Feature("age"),
        Feature("job", "categorical", ("cook", "a clerk")),
        Feature("married", "boolean"),
        Feature("story", "text"),
    )
)
OLD, YOUNGER = rg.Compare("age", ">", 28.5), rg.Compare("age", "<=", 40.0)
COOK, MARRIED = rg.Among("job", ("cook",)), rg.IsTrue("married")
RYE = rg.Contains("story", ("rye",))
HEADER = """rulekit rules 1
column age: numeric
column job: categorical {cook, "a clerk"}
column married: boolean
label y: {no, yes}
"""


def fires(node: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(node))


def parsed(expression: str) -> Node:
    """The node that an expression means."""
    decision = parse_graph(f"{HEADER}column story: text\ndecide yes when {expression}").decision
    assert isinstance(decision, Fires)
    return decision.formula


# Words


@pytest.mark.parametrize(
    ("display", "text", "exact", "shown"),
    [
        ("integer", "n > 2 and n <= 3", "n = 3", "n = 3 years"),
        ("integer", "n <= 3 and n > 2", "n <= 3 and n > 2", "n = 3 years"),
        ("integer", "n > 2.5 and n <= 3.5", "2.5 < n <= 3.5", "n = 3 years"),
        ("integer", "n > 2 and n <= 5", "2 < n <= 5", "2 < n <= 5 years"),
        ("integer", "n > 5 and n <= 2", "n > 5 and n <= 2", "n > 5 years and n <= 2 years"),
        ("count", "n <= 0", "n = 0", "n = 0"),
        ("count", "n = 0", "n = 0", "n = 0"),
        ("count", "(n <= 0 or missing)", "(n = 0 or missing)", "(n = 0 or missing)"),
        ("count", "not n = 0", "not n = 0", "not n = 0"),
        ("count", "n <= 0.5", "n <= 0.5", "n = 0"),
        ("count", "n > 0", "n > 0", "n > 0"),
        ("count", "n <= 1", "n <= 1", "n <= 1"),
        ("count", "n <= -1", "n <= -1", "n <= -1"),
        ("count", "-1 < n <= 0", "-1 < n <= 0", "n = 0"),
        ("count", "n = 3", "n = 3", "n = 3"),
        ("count", "n = 0 or n = 3", "n = 0 or n = 3", "n = 0 or n = 3"),
        ("count", "-2 < n <= 0", "-2 < n <= 0", "-2 < n <= 0"),
    ],
)
def test_bounds_on_whole_numbers(display: Any, text: str, exact: str, shown: str) -> None:
    """A count of none is equal to 0: the bound that every artifact holds."""
    schema = Schema((Feature("n", display=display, unit="years" if display == "integer" else ""),))
    node = parse_condition(text, schema)

    assert word([node], schema=schema).full[node].words == exact
    assert print_node(node, schema) == shown
    assert parse_condition(exact, schema) == node


BANDS = ("100-109", "10-19", "20-29", "0-9", "unknown age", "90-99")


@pytest.mark.parametrize(
    ("levels", "ordered", "shown"),
    [
        (BANDS, False, '"unknown age", "0-9", "10-19", "20-29", "90-99", "100-109"'),
        (("low", "high", "medium"), False, "low, medium, high"),
        (("3", "12", "1"), False, '"1", "3", "12"'),
        (("gold", "bronze", "silver"), True, "gold, bronze, silver"),
        (("c", "a", "b"), False, "a, b, c"),
    ],
)
def test_levels_stand_in_their_order(levels: tuple[str, ...], ordered: bool, shown: str) -> None:
    """Bands were listed by their texts, `100-109` before `20-29`."""
    schema = Schema((Feature("c", "categorical", levels, ordered=ordered),), target="y")
    some = rg.Among("c", levels)
    points = rg.LevelPoints("c", tuple((level, 2.0) for level in levels))
    for node, text in (
        (some, f"c in {{{shown}}}"),
        (rg.Not(rg.Among("c", levels, True)), f"c not in {{{shown}}}"),
        (rg.Above(rg.Linear(((1.0, points),), 0.0), 0.5), f"points(c: 2 in {{{shown}}}, missing 0, unseen 0)"),
    ):
        graph = RuleGraph(schema, ("no", "yes"), Fires(node))
        assert text in print_graph(graph)
        assert parse_graph(print_graph(graph)) == graph
    assert print_node(some, schema) == f"c in {{{shown}}}"


def test_numbers_and_dates_mean_the_same_to_a_dated_column() -> None:
    """Texts written before dates were printed hold numbers."""
    schema = Schema((Feature("since", display="date"), Feature("seen", precision="float64", display="datetime")))
    for dated, *others in (
        ("since > 2019-03-01", "since > 17956"),
        ("seen <= 2019-03-01", "seen <= 2019-03-01T00:00", "seen <= 1551398400"),
    ):
        assert {parse_condition(text, schema) for text in others} == {parse_condition(dated, schema)}


def test_nested_parentheses_need_no_stack() -> None:
    assert parsed("(" * 5_000 + "married" + ")" * 5_000) is MARRIED


def test_the_size_of_a_text_is_bounded() -> None:
    with pytest.raises(FormatError, match="longer than"):
        parse_graph(" " * (8 * 2**20 + 1))


def test_print_node_of_a_shared_graph_stays_small() -> None:
    node: Node = OLD
    for _ in range(200):
        node = rg.And((node, node))

    assert len(print_node(node)) < 20_000
    assert "where $" in print_node(node)
    assert "\n" not in print_node(node)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (OLD, "age > 28.5"),
        (rg.Compare("age", "<=", 3.0, True), "(age <= 3 or missing)"),
        (rg.Among("job", ("cook", "a clerk")), 'job in {"a clerk", cook}'),
        (rg.Among("job", (), unseen=True), "(job in {} or unseen)"),
        (rg.Among("job", ("cook",), True, True), "(job in {cook} or missing or unseen)"),
        (MARRIED, "married"),
        (rg.IsTrue("married", True), "(married or missing)"),
        (rg.Missing("age"), "age is missing"),
        (rg.Not(rg.Missing("age")), "age is known"),
        (rg.Not(rg.Not(rg.Missing("job"))), "not job is known"),
        (TRUE, "true"),
        (FALSE, "false"),
        (rg.Not(rg.IsTrue("married", True)), "not married"),
        (rg.Not(MARRIED), "(not married or missing)"),
        (RYE, "story contains rye"),
        (rg.Contains("story", ("rye", "oats"), True), "(story contains any of {oats, rye} or missing)"),
        (rg.Not(rg.Contains("story", ("rye",), True)), "story lacks rye"),
        (rg.Not(RYE), "(story lacks rye or missing)"),
        (rg.Not(rg.Contains("story", ("rye", "oats"), True)), "story lacks all of {oats, rye}"),
        (rg.Contains("story", ("missing",)), 'story contains "missing"'),
        (rg.Not(rg.Contains("story", ())), "(story lacks all of {} or missing)"),
        (rg.Not(rg.Contains("story", ("lacks", "1987"))), '(story lacks all of {"1987", "lacks"} or missing)'),
        (rg.Not(rg.Not(RYE)), "not (story lacks rye or missing)"),
        (rg.Not(rg.Not(rg.Contains("story", ("rye",), True))), "not story lacks rye"),
        (rg.Not(rg.Among("job", ("cook",), True)), "job not in {cook}"),
        (rg.Not(COOK), "(job not in {cook} or missing)"),
        (rg.Not(rg.Among("job", ("cook",), False, True)), "not (job in {cook} or unseen)"),
        (rg.Not(rg.Among("job", ("cook",), True, True)), "not (job in {cook} or missing or unseen)"),
        (rg.And((rg.Not(rg.Among("job", ("cook",), True)), MARRIED)), "job not in {cook} and married"),
        (rg.Not(rg.And((OLD, MARRIED))), "not (age > 28.5 and married)"),
        (rg.And((OLD, YOUNGER, MARRIED)), "28.5 < age <= 40 and married"),
        (rg.And((OLD, MARRIED, rg.And((OLD, YOUNGER)))), "age > 28.5 and married and (28.5 < age <= 40)"),
        (rg.And((rg.Compare("age", ">", 2.0, True), rg.Compare("age", "<=", 3.0, True))), "(2 < age <= 3 or missing)"),
        (rg.Not(rg.And((OLD, YOUNGER))), "not (28.5 < age <= 40)"),
        (rg.Or((rg.And((OLD, YOUNGER)), MARRIED)), "28.5 < age <= 40 or married"),
        (rg.Not(rg.Not(MARRIED)), "not (not married or missing)"),
        (rg.Or((rg.And((OLD, MARRIED)), COOK)), "age > 28.5 and married or job in {cook}"),
        (rg.And((rg.Or((OLD, MARRIED)), COOK)), "(age > 28.5 or married) and job in {cook}"),
        (rg.And((OLD, rg.And((MARRIED, COOK)))), "age > 28.5 and (married and job in {cook})"),
        (rg.And(()), "all of ()"),
        (rg.Or(()), "any of ()"),
        (rg.And((OLD,)), "all of (age > 28.5)"),
        (rg.Or((OLD,)), "any of (age > 28.5)"),
        (
            rg.AtLeast(2, (OLD, MARRIED, rg.Or((COOK, OLD)))),
            "at least 2 of (age > 28.5, married, job in {cook} or age > 28.5)",
        ),
        (rg.AtLeast(-1, ()), "at least -1 of ()"),
        (rg.Odd((OLD, rg.Or((COOK, OLD)))), "odd of (age > 28.5, job in {cook} or age > 28.5)"),
        (
            rg.LinearThreshold(((0.5, OLD), (-1.0, MARRIED)), -0.25),
            "at least 0.25 points of (0.5 if age > 28.5, -1 if married)",
        ),
        (rg.Column("age", 3.0, 0.0, 99.0, 0.25), "clip(age, from 0 to 99, step 0.25, missing 3)"),
        (rg.Column("age", 3.0, 0.0, 99.0), "clip(age, from 0 to 99, missing 3)"),
        (
            rg.Step("age", (28.5, 40.0), (0.5, 1.0, 2.0), 0.0),
            "step(age: 0.5 up to 28.5, 1 up to 40, then 2, missing 0)",
        ),
        (rg.Step("age", (), (2.0,), 0.0), "step(age: then 2, missing 0)"),
        (rg.LevelPoints("job", (), 2.0, -1.5), "points(job: missing 2, unseen -1.5)"),
        (
            rg.LevelPoints("job", (("cook", -1.0), ("a clerk", 2.5))),
            'points(job: 2.5 in {"a clerk"}, -1 in {cook}, missing 0, unseen 0)',
        ),
        (rg.Linear((), 1.0), "sum(1)"),
        (rg.Linear(((2.0, rg.Linear(((0.5, COOK),), 0.0)),), 1.0), "sum(1, 2 * sum(0, 0.5 if job in {cook}))"),
        (rg.Logistic(rg.Linear((), 1.0)), "logistic of sum(1)"),
        (rg.Probability(rg.Or((OLD, COOK))), "probability of (age > 28.5 or job in {cook})"),
        (rg.Hidden("h", OLD, strength_of(0.93)), "h fires with probability 0.93 when age > 28.5"),
        (rg.Hidden("h", OLD, math.inf, strength_of(0.02)), "h fires with probability 1 (else 0.02) when age > 28.5"),
        (rg.Hidden("a b", OLD, 60.0, 61.0), '"a b" fires with strength 60 (else strength 61) when age > 28.5'),
        (
            rg.And((rg.Hidden("h", rg.Or((OLD, COOK)), strength_of(0.5)), MARRIED)),
            "(h fires with probability 0.5 when age > 28.5 or job in {cook}) and married",
        ),
    ],
)
def test_conditions_scores_and_hidden_bits_read_like_sentences(node: Node, text: str) -> None:
    assert print_node(node) == text
    assert parsed(text) is node


def test_every_node_type_has_words() -> None:
    assert set(ExactWording(None).table()) == set(Vocabulary.TYPES.values())


def test_reserved_words_are_those_of_the_grammar() -> None:
    grammar = (Path(sys.modules["rulekit.graph.language.text"].__file__ or "").parent / "rules.lark").read_text()
    keywords = set(re.findall(r'"([a-z]+)"', grammar))

    assert keywords == RESERVED


def test_extra_parentheses_commas_lines_and_comments_mean_nothing() -> None:
    assert parsed("not age is missing") is rg.Not(rg.Missing("age"))
    assert parsed("any of (\n (age > 28.5), # old\n ((married)),\n)") is rg.Or((OLD, MARRIED))


CUTS = [rg.Compare("age", ">", float(i)) for i in range(8)]
UNITS = [rg.LinearThreshold([(1.0 + (i % 3), cut) for i, cut in enumerate(CUTS)], bias) for bias in (-4.5, -6.5)]
BITS = [rg.Hidden(f"bit{i}", OLD, strength_of(0.5 + i / 100), strength_of(0.125)) for i in range(6)]
NESTED = rg.And((rg.Or((rg.And(BITS[:3]), BITS[3])), rg.And(BITS[4:])))


@pytest.mark.parametrize(
    ("formula", "reported", "lines"),
    [
        (rg.Above(rg.Probability(NESTED), 0.5), (), r"\n  any of \(  # r\w+\n    all of \(\n      bit0 fires"),
        (
            rg.Or(UNITS),
            (rg.Logistic(rg.Linear([(2.0, UNITS[0])], -1.0)),),
            r"\n  rule 1: at least 4.5 points of \(.*\n    1 if age > 0,\n",
        ),
    ],
)
def test_a_long_list_or_sum_in_a_list_is_broken_too(formula: Node, reported: tuple[Node, ...], lines: str) -> None:
    """A nested model was one line of any length."""
    graph = RuleGraph(Schema((Feature("age"),)), (0, 1), Fires(formula), reported)
    text = print_graph(graph)

    assert parse_graph(text) == graph
    assert max(map(len, text.splitlines()[3:])) <= 90
    assert re.search(lines, text)


def test_a_number_of_many_digits_on_a_grid_is_rounded_for_people() -> None:
    column = rg.Column("age", 38.171875, -0.33984375, 90.0, 2.0**-9)
    schema = Schema((Feature("age", unit="years"),))

    assert print_node(column) == "clip(age, from -0.3398 to 90, step 0.001953, missing 38.17)"
    assert print_node(column, schema).endswith("missing 38.17 years)")


# The printed model


def test_the_text_names_rules_by_their_ids_with_statistics() -> None:
    graph = fires(rg.Or((rg.And((OLD, COOK)), MARRIED)))
    rules = rules_of(graph)
    entries = [{"id": rule.id, "n": 12, "coverage": 0.041, "precision": 0.9863} for rule in rules]
    graph = graph.with_(statistics={"train": {"rules": entries}})

    text = print_graph(graph)

    for rule in rules:
        assert f"# {rule.id}  right 98.6 % of 12 rows, 74 to 99.9" in text
    assert text.count("\n  ") == 2
    assert parse_graph(text) == graph


def test_a_rule_that_is_used_twice_is_named_where_it_decides() -> None:
    clause = rg.And((OLD, COOK, rg.Compare("age", "<=", 90.0), rg.Not(rg.Missing("age"))))
    graph = RuleGraph(
        SCHEMA,
        ("no", "yes"),
        Fires(rg.Or((clause, MARRIED))),
        (rg.Probability(rg.Or((rg.Hidden("h1", clause, 2.0), rg.Hidden("h2", MARRIED, 1.0)))),),
    )
    text = print_graph(graph)

    assert "\n  rule 1: age > 28.5 and" in text
    assert "h1 fires with probability 0.8646647167633873 when rule 1," in text
    assert (text.count("age > 28.5"), text.count("married,")) == (1, 1)
    assert "let" not in text
    edited = parse_graph(text.replace("age > 28.5", "age > 30"))
    assert parse_graph(text) == graph
    check(edited)
    assert sum(isinstance(node, rg.Compare) and node.value == 30 for node in edited.nodes()) == 1


def test_an_edited_line_is_a_new_model_whatever_the_digest_comment_says() -> None:
    text = str(fires(OLD))

    assert text == print_graph(fires(OLD))
    assert parse_graph(text.replace("28.5", "30")) == fires(rg.Compare("age", ">", 30.0))


def test_lark_is_imported_only_when_a_text_is_read() -> None:
    code = "import sys, rulekit.graph.language.text; sys.exit('lark' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Faults


def fault(text: str) -> str:
    with pytest.raises(FormatError) as caught:
        parse_graph(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_faults_are_told_in_peoples_words() -> None:
    check_pairs("faults_of_rule_texts", lambda text: fault(text if text.startswith("rulekit") else HEADER + text))
    assert fault("") == "line 1, column 1: the text ends here; expected `rulekit rules 1`"
    assert fault("hello").startswith("line 1, column 1: `hello` cannot stand here; expected `rulekit rules 1`")
    assert "there is no `decide` statement" in fault(HEADER)
    assert "is not an integer, or is too long" in fault(f"{HEADER}decide yes when at least {'9' * 5000} of (married)")


# The reference page


def examples() -> list[str]:
    page = (DOCS / "rule-language.md").read_text(encoding="utf-8")
    return re.findall(r"^```rules\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)


def test_every_example_of_the_reference_is_a_legal_model_that_reads_back() -> None:
    assert len(examples()) >= 5
    for text in examples():
        graph = parse_graph(text)
        check(graph)
        assert parse_graph(print_graph(graph)) == graph


def test_the_reference_lists_the_reserved_words_and_shows_every_node_type() -> None:
    page = (DOCS / "rule-language.md").read_text(encoding="utf-8")
    listed = re.search(r"reserved: ([^.]*)\.", page)
    shown = {type(node) for text in examples() for node in parse_graph(text).nodes()}

    assert listed
    assert set(re.findall(r"`(\w+)`", listed.group(1))) == RESERVED
    assert shown == set(Vocabulary.TYPES.values())


def test_points_of_very_many_levels_are_cut_for_people() -> None:
    levels = tuple(f"c{k}" for k in range(40))
    points = rg.LevelPoints("city", tuple((level, float(40 - k)) for k, level in enumerate(levels)), 0.0, 0.0)
    unit = rg.LinearThreshold([(1.0, points)], -20.0)
    assert print_node(unit).endswith("33 if city in {c7}, 32 to 1 for 32 more levels of city)")
    assert "more levels" not in print_node(unit, most_levels=None)
