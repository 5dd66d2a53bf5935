"""Queries that count give one row for each rule and class, as rulekit counts, and are proved as others are."""

from __future__ import annotations

import numpy as np
import pytest
from generated import counts_of
from rulekit_exporters.sql import run_in
from rulekit_exporters.sql.query import MARK, MOST

from rulekit.conformance.models import NODES
from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify
from rulekit.verification.rows import adversarial_rows, raw_columns

SQL = find_target("sql")
FEW = sorted(NODES)[::4]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", FEW)
def test_rules_are_counted_as_rulekit_does(engine: str, name: str) -> None:
    graph = NODES[name]()
    table = adversarial_rows(graph, 60).table
    query = SQL.emit(graph, {"dialect": engine, "counts": True}).main.decode()
    cells = {key: values for key, values in raw_columns(table).items() if key in graph.used_features}
    rows = run_in(engine, query, "rows", cells or {"no column": np.zeros(table.n_rows)})
    rules, classes = counts_of(graph, table)
    expected = [("rows", "", table.n_rows), *(("rule", *pair) for pair in rules.items())]
    expected += [("class", *pair) for pair in classes.items()]
    assert [(what, key, int(n)) for what, key, n in rows] == expected


GRAPH = RuleGraph(
    Schema((Feature("x"),), "y"), ("no", "yes"), Fires(Or((Compare("x", ">", 3.0), Compare("x", "<=", 1.0))))
)


def test_a_query_that_counts_is_verified_and_a_changed_one_is_not(engine: str) -> None:
    query = SQL.emit(GRAPH, {"dialect": engine, "counts": True}).main
    report = verify(GRAPH, query, target=SQL, rows=100)
    assert report.ok
    assert report.proof is not None
    assert SQL.inspect is not None
    assert SQL.inspect(query, GRAPH).as_written
    lied = query.replace(b"THEN 1 ELSE 0 END), 0) AS c0", b"THEN 2 ELSE 0 END), 0) AS c0")
    assert not SQL.inspect(lied, GRAPH).as_written
    with pytest.raises(FormatError, match="the counts of the query are not those of its rows"):
        SQL.run(lied, GRAPH, GRAPH.table({"x": [0.0, 2.0, 5.0]}))
    with pytest.raises(FormatError, match="does not count as its options say"):
        SQL.run(query.replace(MARK.encode(), b"--"), GRAPH, GRAPH.table({"x": [0.0]}))


def test_no_rows_are_counted_as_none(engine: str) -> None:
    query = SQL.emit(GRAPH, {"dialect": engine, "counts": True}).main.decode()
    rows = run_in(engine, query, "rows", {"x": np.zeros(0)})
    assert [int(row[2]) for row in rows] == [0] * 5


def test_what_does_not_go_together_is_refused() -> None:
    for other in ({"fired": True}, {"digest": True}, {"keep": "id"}):
        with pytest.raises(InputError, match="leave out keep, fired and digest"):
            SQL.emit(GRAPH, {"counts": True, **other})
    rules = Or([Compare("x", ">", float(k)) for k in range(MOST)])
    with pytest.raises(InputError, match="are to be counted"):
        SQL.emit(GRAPH.with_(decision=Fires(rules)), {"counts": True})
