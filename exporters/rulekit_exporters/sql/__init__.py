"""SQL: a model as one SELECT, for SQLite, DuckDB and PostgreSQL, and the engines in which it runs.

Rows are inserted in order into a table of its own, in memory or temporary, and come back in order: engines run with one
thread. A query may read that table and nothing else. The server is named by the environment variable
RULEKIT_POSTGRESQL, a connection string.
"""

from __future__ import annotations

import importlib.util
import os
import sqlite3
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from rulekit.errors import FormatError, InputError
from rulekit.graph.language.parsing import decoded
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.naming import label_texts
from rulekit.tables.table import Table
from rulekit.targets import Outcome, Runtime
from rulekit.verification.proof.respelling import stated_options, text_target
from rulekit.verification.rows import raw_columns
from rulekit_exporters.sql.dialects import quoted
from rulekit_exporters.sql.query import SqlOptions, row_by_row, select

SERVER = "RULEKIT_POSTGRESQL"
SECONDS = 600
INSTEAD_OF_NUL = "\ufffd"
ROWS = "rows"
"""The table on which queries are run, whatever theirs is."""
Rows = Sequence[Sequence[Any]]
Types = Mapping[str, str]
Cells = Mapping[str, Sequence[Any]]


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """Labels and probabilities by the engine of the query's dialect; raises InputError where it is not installed."""
    text = decoded(artifact)
    options = stated_options(text, "--", SqlOptions)
    text = text.replace(f"FROM {options.source} AS", f"FROM {quoted(ROWS)} AS")
    n_rows, kept = len(next(iter(columns.values()), ())), len(options.kept)
    used = {name: columns[name] for name in graph.used_features}
    if options.dialect == "sqlite":  # the query refuses a text with a NUL
        used |= {name: _without_nul(cells) for name, cells in used.items() if graph.schema[name].kind == "text"}
    used |= {name: np.arange(n_rows) for name in options.kept if name not in used}
    cells = used or {"no column": np.zeros(n_rows)}
    rows = run_in(options.dialect, row_by_row(text) if options.counts else text, ROWS, cells)
    if options.counts:
        _check_counts(run_in(options.dialect, text, ROWS, cells), rows, label_texts(graph))
    index = {name: k for k, name in enumerate(label_texts(graph))}
    labels = np.array([index.get(str(row[kept]), -1) for row in rows], dtype=np.int64)
    numbers = [row[kept + 1 : kept + 1 + len(graph.classes)] for row in rows]
    return Outcome(labels, np.array(numbers, dtype=np.float64).reshape(len(rows), len(graph.classes)))


def _check_counts(counts: Rows, rows: Rows, labels: Sequence[str]) -> None:
    """Raises FormatError unless the counts of a query are those of its rows."""
    found = [int(count) for _, _, count in counts]
    flags = [sum(column) for column in list(zip(*rows, strict=True))[1 + len(labels) :]]
    texts = [str(row[0]) for row in rows]
    expected = [len(rows), *(flags if rows else [0] * (len(found) - 1 - len(labels))), *map(texts.count, labels)]
    if found != expected:
        raise FormatError("the counts of the query are not those of its rows", fix="export the model again")


def _without_nul(cells: Any) -> Any:
    texts = np.empty(len(cells), dtype=object)
    texts[:] = [cell.replace("\0", INSTEAD_OF_NUL) if isinstance(cell, str) else cell for cell in cells.tolist()]
    return texts


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """As run_raw, for encoded rows."""
    return run_raw(artifact, graph, raw_columns(table))


def run_in(engine: str, query: str, table: str, columns: Mapping[str, Any]) -> Rows:
    """The rows of the result. columns: by name, arrays of numbers (NaN is NULL) or of objects.

    Raises InputError where the engine is not here, FormatError with the engine's own words where it refuses the query.
    """
    if missing := absent(engine):
        raise InputError(f"{engine} cannot be run here: {missing}", where="sql", fix=f"install it, or set {SERVER}")
    run, text, number = ENGINES[engine]
    cells = {name: [None if v is None or v != v else v for v in np.asarray(c).tolist()] for name, c in columns.items()}
    cells = cells or {"no column": []}
    types = {name: _type(values, text, number) for name, values in cells.items()}
    try:
        return run(query, quoted(table), types, cells)
    except Exception as error:  # each engine has errors of its own
        raise FormatError(f"{engine} refused the query: {str(error).strip().splitlines()[0][:300]}") from None


def absent(engine: str) -> str:
    """Why an engine cannot be run here, "" where it can."""
    for module in {"duckdb": ("duckdb", "pyarrow"), "postgresql": ("psycopg",)}.get(engine, ()):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return f"{SERVER} names no server" if engine == "postgresql" and not os.environ.get(SERVER) else ""


def _sqlite(query: str, table: str, types: Types, cells: Cells) -> Rows:
    until = time.monotonic() + SECONDS
    allowed = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE {table} ({_declared(types)})")
        places = ", ".join("?" * len(cells))
        connection.executemany(f"INSERT INTO {table} VALUES ({places})", zip(*cells.values(), strict=True))
        connection.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in allowed else sqlite3.SQLITE_DENY)
        connection.set_progress_handler(lambda: int(time.monotonic() > until), 1_000_000)
        return connection.execute(query).fetchall()


def _duckdb(query: str, table: str, types: Types, cells: Cells) -> Rows:
    import duckdb
    import pyarrow

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute(f"CREATE TABLE {table} ({_declared(types)})")
        places = [f"c{i}" for i in range(len(cells))]
        connection.register("given", pyarrow.table(dict(zip(places, map(pyarrow.array, cells.values()), strict=True))))
        connection.execute(f"INSERT INTO {table} SELECT * FROM given")
        connection.unregister("given")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        timer = threading.Timer(SECONDS, connection.interrupt)
        timer.start()
        try:
            rows: Rows = connection.execute(query).fetchall()
        finally:
            timer.cancel()
        return rows


def _postgresql(query: str, table: str, types: Types, cells: Cells) -> Rows:
    """Its text holds no NUL, so that a text with one, which is no level, becomes another that is none."""
    import psycopg

    with psycopg.connect(os.environ[SERVER]) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TEMPORARY TABLE {table} ({_declared(types)}) ON COMMIT DROP")
        with cursor.copy(f"COPY {table} FROM STDIN") as copy:
            for row in zip(*cells.values(), strict=True):
                copy.write_row([v.replace("\0", INSTEAD_OF_NUL) if isinstance(v, str) else v for v in row])
        for name, value in (("statement_timeout", f"'{SECONDS}s'"), ("max_parallel_workers_per_gather", "0")):
            cursor.execute(f"SET LOCAL {name} = {value}")
        cursor.execute("SET TRANSACTION READ ONLY")
        rows: Rows = cursor.execute(query).fetchall()
        connection.rollback()
        return rows


def _type(values: Sequence[Any], text: str, number: str) -> str:
    kinds = {type(value) for value in values if value is not None}
    return text if str in kinds else "boolean" if kinds == {bool} else "bigint" if kinds == {int} else number


def _declared(types: Types) -> str:
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())


ENGINES = {
    "sqlite": (_sqlite, "", ""),
    "duckdb": (_duckdb, "VARCHAR", "DOUBLE"),
    "postgresql": (_postgresql, "text", "float8"),
}


TARGET = text_target(
    "sql",
    "one SELECT for SQLite, DuckDB or PostgreSQL",
    (".sql",),
    "--",
    select,
    (Runtime("the engine of its dialect", run, run_raw),),
    options=SqlOptions,
    noun="query",
    summary=lambda options: f"{options.dialect}, one SELECT from {options.table}",
    rules_first=True,  # so that the query may stand in brackets, or before further words
)
