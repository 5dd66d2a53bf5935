"""The engines in which queries are tested; a PostgreSQL server is started where its programs are installed."""

from __future__ import annotations

import getpass
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rulekit_exporters.sql import SERVER, absent


def _programs() -> Path | None:
    """The folder of the server's programs."""
    found = [Path(p).parent for p in (shutil.which("initdb"),) if p]
    found += [path.parent for path in sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))]
    return found[-1] if found else None


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Why there is no server, "" where one is named by the environment variable or was started."""
    programs = _programs()
    if os.environ.get(SERVER) or programs is None:
        yield "" if os.environ.get(SERVER) else "PostgreSQL is not installed"
        return
    folder = Path(tempfile.mkdtemp(prefix="rulekit-server-"))
    user: list[str] = []
    if getpass.getuser() == "root":  # which the server refuses to be
        user = ["runuser", "-u", "postgres", "--"]
        shutil.chown(folder, "postgres")
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    make = [*user, str(programs / "initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "rulekit", "-E", "UTF8"]
    control = [*user, str(programs / "pg_ctl"), "-D", str(folder / "data"), "-w"]
    try:
        subprocess.run(make, check=True, capture_output=True, cwd=folder)
        start = [*control, "-o", options, "-l", str(folder / "log"), "start"]
        subprocess.run(start, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
    except (subprocess.CalledProcessError, OSError) as error:
        yield f"PostgreSQL could not be started: {error}"
        return
    os.environ[SERVER] = f"host={folder} user=rulekit dbname=postgres"
    yield ""
    del os.environ[SERVER]
    subprocess.run([*control, "-m", "immediate", "stop"], check=False, capture_output=True, cwd=folder)
    shutil.rmtree(folder, ignore_errors=True)


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
