"""Every name in a query is bound to its column or refused; queries stand in views, tables and further queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rulekit_exporters.sql.query import source_of

from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import find_target
from rulekit.verification.parity import verify

SQL = find_target("sql")
Execute = Callable[..., list[tuple[Any, ...]]]


def _model(column: str = "k", classes: str = "no, yes") -> RuleGraph:
    """A category and a number whose missing and unseen values are decided too, so that no column would decide."""
    first, second = classes.split(", ")
    return parse_graph(
        f'rulekit rules 1\ncolumn "{column}": categorical {{car, bus}}\ncolumn x: numeric\n'
        f"label y: {{{first}, {second}}}\n"
        f'default {first}\ndecide {second} when any of (("{column}" in {{car}} or unseen), x > 5)\n'
    )


def _query(engine: str, graph: RuleGraph, **options: Any) -> str:
    return SQL.emit(graph, {"dialect": engine, **options}).main.decode()


MEANT = ("k", "xmin", "ctid", "tableoid", "cmin", "rows", "t", "count")
FUNCTIONS = ("row_to_json", "pg_typeof", "array_agg", "to_json")
HIDDEN = ("rowid", "oid", "_rowid_", "ROWID")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*MEANT, *FUNCTIONS, *HIDDEN])
def test_a_column_that_the_table_lacks_is_an_error(engine: str, execute: Execute, name: str) -> None:
    """SQLite takes "k" for a text; PostgreSQL a table's name for its rows, "rows"."count" for a function of them."""
    execute("CREATE TABLE t (x integer, other text)")
    execute("INSERT INTO t VALUES (1, 'car')")
    if engine == "sqlite" and name in HIDDEN:
        with pytest.raises(InputError, match="has a hidden column"):
            _query(engine, _model(name), table="t")
        return
    query = _query(engine, _model(name), table="t")
    execute("CREATE VIEW seen AS SELECT x, other AS renamed FROM t")
    for table in ("t", "seen"):
        with pytest.raises(Exception, match=f"(?i){name}"):
            execute(query.replace('FROM "t" AS', f'FROM "{table}" AS'))


@pytest.mark.parametrize("name", ["nosuch", "rows", "t", "count", "xmin"])
def test_a_column_to_keep_that_the_table_lacks_is_an_error(execute: Execute, engine: str, name: str) -> None:
    execute("CREATE TABLE t (x integer, k text)")
    with pytest.raises(Exception, match=name):
        execute(_query(engine, _model(), table="t", keep=name))
    if engine == "duckdb":  # which reads "rows"."k" as a field of a column `rows`
        execute("CREATE TABLE fields AS SELECT 1 AS x, {'k': 'car'} AS rows")
        with pytest.raises(Exception, match='"k" not found'):
            execute(_query(engine, _model(), table="fields"))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "name", ["label", "rows", "given", "cells", "stage1", "count", "select", "a b", 'q"', "é", "{x}"]
)
def test_a_column_may_have_any_other_name(execute: Execute, engine: str, name: str) -> None:
    """What the query itself names (stages, results) is none of the table's."""
    written = name.replace('"', '""')
    graph = parse_graph(
        f"rulekit rules 1\ncolumn {name if name.isalnum() and name.isascii() and name != 'label' else _quoted(name)}: "
        "categorical {car}\nlabel y: {no, yes}\ndefault no\n"
        f"decide yes when {_quoted(name)} in {{car}}\n"
    )
    execute(f'CREATE TABLE cells ("{written}" text)')
    execute("INSERT INTO cells VALUES ('car'), ('x'), (NULL)")
    found = execute(_query(engine, graph, table="cells"))
    assert [row[0] for row in found] == ["yes", "no", "no"]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '\\"') + '"'


def test_names_that_an_engine_does_not_tell_apart_are_refused(engine: str) -> None:
    """A column `label` of the table vanished behind the prediction, and `verify` died of a wrong shape."""
    folds = engine != "postgresql"
    for keep in ("label", "probability(yes)", "rules", "digest", *("LABEL", "Rules", "K", "X") * folds):
        with pytest.raises(InputError, match="does not tell two columns"):
            _query(engine, _model(), keep=keep, fired=True, digest=True)
    with pytest.raises(InputError, match="columns that are read"):
        _query(engine, _model(), keep="id,ID" if folds else f"{'i' * 63}a,{'i' * 63}b")
    if folds:
        with pytest.raises(InputError, match="columns of the result"):
            _query(engine, _model(classes="Yes, yes"))
    for keep in ("id,id", "k,x", "rules"):
        assert verify(_model(), SQL.emit(_model(), {"dialect": engine, "keep": keep}), target=SQL, rows=50).ok


CONTAINERS = (
    "CREATE VIEW v AS {}",
    "CREATE TABLE v AS {}",
    "CREATE VIEW v AS WITH m AS ({}) SELECT * FROM m",
    "CREATE VIEW v AS SELECT * FROM ({}) AS q WHERE 1 = 1",
    "CREATE TABLE v AS (\n    {}\n  )",
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("options", [{}, {"keep": "id", "fired": True, "digest": True}, {"counts": True}])
def test_a_query_stands_in_what_databases_make_of_one(
    execute: Execute, engine: str, container: str, options: dict[str, Any]
) -> None:
    """A semicolon, or a comment behind the query, broke every one of them; dbt writes the last."""
    execute("CREATE TABLE loans (id integer, k text, x text)")
    execute("INSERT INTO loans VALUES (7, 'car', '1'), (8, 'bus', '5.5'), (9, 'bus', NULL)")
    query = _query(engine, _model(), table="loans", **options)
    alone = execute(query)
    if container.startswith("CREATE TABLE v AS (") and engine == "sqlite":
        container = CONTAINERS[1]
    execute(container.format(query.strip()))
    assert execute("SELECT * FROM v") == alone
    assert ";" not in query.rpartition("-- This query")[2]


def test_a_table_may_have_a_schema_and_dots_in_its_name(execute: Execute, engine: str) -> None:
    schema = {"sqlite": "main", "duckdb": "main", "postgresql": "for_a_test"}[engine]
    for table, written in ((f"{schema}.plain", "plain"), (f'{schema}."a.b ""c"""', '"a.b ""c"""')):
        execute(f"CREATE TABLE {written} (k text, x real)")
        execute(f"INSERT INTO {written} VALUES ('car', 1.0)")
        assert execute(_query(engine, _model(), table=table))[0][0] == "yes"
        assert verify(_model(), SQL.emit(_model(), {"dialect": engine, "table": table}), target=SQL, rows=50).ok


def test_a_reference_of_dbt_stands_as_it_is(engine: str) -> None:
    artifact = SQL.emit(_model(), {"dialect": engine, "table": "{{ ref('loans') }}"})
    assert "FROM {{ ref('loans') }} AS \"rows\"" in artifact.main.decode()
    report = verify(_model(), artifact, target=SQL, rows=50)
    assert (report.ok, report.proof) == (True, "proved")
    braces = _model("a {% b %}")
    with pytest.raises(InputError, match="dbt"):
        SQL.emit(braces, {"dialect": engine, "table": "{{ ref('loans') }}"})


def test_names_of_tables() -> None:
    assert source_of('my "rows"') == '"my ""rows"""'
    assert source_of('a."b.c"."d"') == '"a"."b.c"."d"'
    for wrong in ("", ".", "a.", ".a", 'a."b', '"a"b', "a..b", "{{ }", '""'):
        with pytest.raises(InputError, match="no name of a table"):
            source_of(wrong)
