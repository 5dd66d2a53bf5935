"""The database: SQLite by default, PostgreSQL for more than one machine. Every write is one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, text
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from rulekit.errors import InputError
from rulekit_serve.failures import unavailable

_WAIT = 5.0
"""Seconds that a write waits for another process."""
_WRITES = {"rulekit_writes": True}


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
    def read(self) -> Iterator[Connection]:
        """A connection that sees one state."""
        with _told(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction that is committed at the end; SQLite lets in one writer at a time."""
        with _told(), self.engine.connect() as connection:
            connection = connection.execution_options(**_WRITES)
            with connection.begin():
                yield connection

    def alone(self, connection: Connection) -> None:
        """Let no other transaction that asks for this go on before this one ends."""
        if not self.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(7239)"))

    def ensure(self) -> None:
        """Make the tables of a new database; raises InputError where an old one needs a migration."""
        with self.engine.connect() as connection:
            version = MigrationContext.configure(connection).get_current_revision()
        if version is None:
            self.migrate()
        elif version != _head():
            what = f"the database has version {version}, and this rulekit needs {_head()}"
            raise InputError(
                what, where="--database", fix="stop the service, keep a copy, then rulekit serve --migrate"
            )

    def migrate(self) -> None:
        """Bring the tables to the version of this rulekit."""
        with self.write() as connection:
            self.alone(connection)
            config = _config()
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    return config


def _head() -> str | None:
    return ScriptDirectory.from_config(_config()).get_current_head()


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        raise unavailable(f"the database does not answer: {str(error.orig).splitlines()[0][:200]}") from error
    except SQLAlchemyError as error:
        raise unavailable(f"the database does not answer: {type(error).__name__}") from error


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # `_begin` says how a transaction begins
    for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("rulekit_writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
