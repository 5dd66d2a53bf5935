"""Contains: what a node of the words of a text owes to every part of the library."""

import pytest

from rulekit.conformance.targets import check_node
from rulekit.errors import GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.oracle import evaluate_node
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import And, Compare, Contains, Hidden, Linear, Missing, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema

SCHEMA = Schema(
    (
        Feature("t", "text", ("1987", "corn", "käse", "wheat"), missing_tokens=("n/a",)),
        Feature("u", "text", ("missing",)),
        Feature("x"),
    )
)
HAS = [
    Contains("t", ("wheat",)),
    Contains("t", ("1987", "käse", "wheat"), True),
    Contains("t", ()),
    Contains("t", (), True),
    Contains("u", ("missing",)),
]


@pytest.mark.parametrize(
    "node",
    [
        *HAS,
        Missing("t"),
        Not(HAS[1]),
        And((HAS[0], Not(Contains("t", ("corn",), True)), Compare("x", ">", 1.0))),
        Or((HAS[0], Contains("t", ("corn",)), And((HAS[4], Missing("t"))))),
        Linear(((1.0, HAS[0]), (-2.5, HAS[1]), (0.5, HAS[4])), -0.25),
        Hidden("h", HAS[0], 0.5, 0.25),
    ],
    ids=repr,
)
def test_every_part_reads_it_as_the_oracle_does(node: Node) -> None:
    check_node(node, SCHEMA)


def test_a_text_has_one_of_the_tokens_or_is_missing() -> None:
    def holds(node: Node, cell: object) -> bool:
        return bool(evaluate_node(node, SCHEMA, {"t": cell}))

    assert holds(HAS[0], "U.S. Wheat, and rye")
    assert not holds(HAS[0], "wheaty buckwheat")
    assert holds(HAS[1], 1987.0)
    assert [holds(HAS[1], cell) for cell in (None, "", "n/a", "N/A")] == [True, True, True, False]
    assert not holds(HAS[0], None)


def test_the_vocabulary_of_a_model_is_what_its_nodes_name() -> None:
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(Or((HAS[0], Contains("t", ("rye",))))))
    assert [feature.levels for feature in graph.schema] == [("rye", "wheat"), (), ()]
    fewer = graph.with_(decision=Fires(HAS[0]))
    assert fewer.schema["t"].levels == ("wheat",)


@pytest.mark.parametrize("token", ["Wheat", "two words", "a", "", "u.s", "wheat "])
def test_what_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(GraphError, match="is no token"):
        Contains("t", (token,))


def test_a_rule_text_needs_no_list_of_words() -> None:
    rule = "t contains wheat and not t contains corn"
    graph = parse_graph(f"rulekit rules 1\ncolumn t: text\nlabel y: {{no, yes}}\ndecide yes when {rule}\n")
    assert graph.schema["t"].levels == ("corn", "wheat")


def test_a_category_contains_no_word() -> None:
    graph = RuleGraph(Schema((Feature("t", "categorical", ("wheat",)),)), ("no", "yes"), Fires(HAS[0]))
    with pytest.raises(GraphError, match="Contains reads text"):
        check(graph)
