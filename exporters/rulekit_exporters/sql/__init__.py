"""SQL: a model as one SELECT, for SQLite, DuckDB and PostgreSQL."""

from rulekit_exporters.sql.target import TARGET

__all__ = ["TARGET"]
