"""check_node: what every part of the library owes to a node of the vocabulary."""

from __future__ import annotations

from collections.abc import Collection

from rulekit.conformance.random_graphs import graph_of
from rulekit.conformance.targets import decides_alike, require
from rulekit.errors import Unsupported
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.file_format import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph
from rulekit.graph.nodes import Family, Node, Not
from rulekit.schema import Schema
from rulekit.simplification.passes import simplify
from rulekit.targets import Target
from rulekit.verification.parity import verify_evaluators
from rulekit.verification.rows.adversarial import adversarial_rows


def check_node(node: Node, schema: Schema, targets: Collection[Target] = (), *, rows: int = 500, seed: int = 0) -> None:
    """Raises AssertionError where a part of the library reads the node otherwise than the oracle does.

    Checks, files, rule texts, the evaluators, negation and the simplifier; every target must decide alike or refuse
    the node by name.
    """
    graph = graph_of(node, schema)
    check(graph)
    require(from_json(to_json(graph)).digest == graph.digest, "a model file does not give the node back")
    require(parse_graph(print_graph(graph)).digest == graph.digest, "its rule text does not give the node back")
    report = verify_evaluators(graph, rows=rows, seed=seed)
    require(report.ok, f"numpy and the oracle differ: {report}")
    table = adversarial_rows(graph, rows, seed).table
    labels = decide(graph, table)
    require(bool((decide(simplify(graph), table) == labels).all()), "the simplified model decides otherwise")
    if node.family is Family.BOOLEAN:
        require(
            bool((decide(graph_of(Not(node), schema), table) == 1 - labels).all()), "its negation is not its contrary"
        )
    for target in targets:
        try:
            decides_alike(target, {}, graph, rows=rows, seed=seed)
        except Unsupported:
            continue
