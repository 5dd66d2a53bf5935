"""The engines in which queries are tested."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from rulekit_exporters.sql import SERVER, absent


@pytest.fixture(params=["sqlite", "duckdb", "postgresql"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that is here; the others are skipped with the reason."""
    name = str(request.param)
    reason = request.getfixturevalue("server") if name == "postgresql" else ""
    if reason := reason or absent(name):
        pytest.skip(reason)
    return name


@pytest.fixture
def execute(engine: str) -> Iterator[Callable[..., list[tuple[Any, ...]]]]:
    """Runs statements, with `?` for values, in one session of an engine; what they make is gone afterwards."""
    schema = "CREATE SCHEMA for_a_test; SET search_path = for_a_test, public"
    if engine == "sqlite":
        connection: Any = sqlite3.connect(":memory:", isolation_level=None)
    elif engine == "duckdb":
        import duckdb

        connection = duckdb.connect(":memory:")
    else:
        import psycopg

        connection = psycopg.connect(os.environ[SERVER], autocommit=True)
        connection.execute(schema)

    def run(statement: str, *values: Any) -> list[tuple[Any, ...]]:
        if engine == "postgresql":
            statement = statement.replace("?", "%s") if values else statement
        found = connection.execute(statement, values) if values else connection.execute(statement)
        return list(found.fetchall()) if found.description else []

    yield run
    if engine == "postgresql":
        connection.execute("DROP SCHEMA for_a_test CASCADE")
    connection.close()
