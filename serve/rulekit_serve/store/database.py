"""The database: SQLite by default, PostgreSQL for more than one machine. Every write is one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Executable, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from rulekit.errors import InputError
from rulekit_serve.failures import unavailable

_WAIT = 5.0
"""Seconds that a write waits for another process."""


class Database:
    """Reads and writes; a Refusal of status 503 where the database does not answer."""

    def __init__(self, url: str) -> None:
        self.url, self.is_sqlite = url, url.startswith("sqlite")
        known: dict[str, Any] = {"timeout": _WAIT, "check_same_thread": False} if self.is_sqlite else {}
        if url.startswith("postgresql://"):
            url = url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            self.engine = create_engine(url, connect_args=known, pool_pre_ping=not self.is_sqlite)
        except (SQLAlchemyError, ImportError) as error:
            fix = "give sqlite:///FILE or postgresql://USER@HOST/NAME; PostgreSQL needs the extra postgres"
            raise InputError(f"this database cannot be opened: {error}", where="--database", fix=fix) from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _prepare)
            event.listen(self.engine, "begin", _begin)

    @contextmanager
    def read(self, **options: bool) -> Iterator[Connection]:
        """A connection that sees one state; any_text: texts of SQLite may be any bytes, as somebody changed them."""
        with _told(), self.engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection

    def write(self) -> AbstractContextManager[Connection]:
        """A transaction that is committed at the end; SQLite lets in one writer at a time."""
        return self.read(writes=True)

    @contextmanager
    def alone(self) -> Iterator[Connection]:
        """A transaction that writes; no other one of this kind goes on before it ends."""
        with self.write() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(7239)"))
            yield connection

    def rows(self, chosen: Executable) -> list[dict[str, Any]]:
        """The rows of a selection."""
        with self.read() as connection:
            return [dict(row) for row in connection.execute(chosen).mappings()]

    def first(self, chosen: Executable) -> dict[str, Any] | None:
        """The first row of a selection, None where it has none."""
        return next(iter(self.rows(chosen)), None)

    def change(self, statement: Executable) -> int:
        """Run one statement in a transaction of its own; how many rows it changed."""
        with self.write() as connection:
            return connection.execute(statement).rowcount

    def ensure(self) -> None:
        """Make the tables of a new database; raises InputError where an old one needs a migration."""
        with self.engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            self.migrate()
        elif version != (head := ScriptDirectory.from_config(_config()).get_current_head()):
            what = f"the database has version {version}, and this rulekit needs {head}"
            fix = "stop the service, keep a copy, then rulekit serve --migrate"
            raise InputError(what, where="--database", fix=fix)

    def migrate(self) -> None:
        """Bring the tables to the version of this rulekit."""
        with self.alone() as connection:
            command.upgrade(_config(connection=connection), "head")


def _config(**attributes: Any) -> Config:
    config = Config(attributes=attributes)
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except SQLAlchemyError as error:
        why = str(error.orig).splitlines()[0][:200] if isinstance(error, DBAPIError) else type(error).__name__
        raise unavailable(f"the database does not answer: {why}") from error


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # `_begin` says how a transaction begins
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    options, own = connection.get_execution_options(), connection.connection.driver_connection
    assert isinstance(own, sqlite3.Connection)
    own.text_factory = _any_text if options.get("any_text") else str
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("writes") else "BEGIN")


def _any_text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
