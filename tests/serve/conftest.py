"""The service of the tests here."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from rulekit_exporters.sql import SERVER
from serving import Running, running


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Running]:
    """On SQLite."""
    yield from running(tmp_path)


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same for all tests of a module that leave nothing which another one of them sees: it takes time to start."""
    yield from running(tmp_path_factory.mktemp("standing"))


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, "" for SQLite in the folder of the service."""
    if request.param == "sqlite":
        return ""
    if why := request.getfixturevalue("server"):
        pytest.skip(why)
    import psycopg

    name = f"service_{uuid.uuid4().hex}"
    with psycopg.connect(os.environ[SERVER], autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        info = connection.info
        return f"postgresql://{info.user}@/{name}?host={info.host}"


@pytest.fixture
def on_each(tmp_path: Path, database: str) -> Iterator[Running]:
    """On each database."""
    yield from running(tmp_path, database)
