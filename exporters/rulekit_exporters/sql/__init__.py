"""SQL: a model as one SELECT, for SQLite, DuckDB and PostgreSQL."""

from rulekit.targets import Runtime
from rulekit.verification.proof.respelling import text_target
from rulekit_exporters.sql.engines import run, run_raw
from rulekit_exporters.sql.query import SqlOptions, select

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
