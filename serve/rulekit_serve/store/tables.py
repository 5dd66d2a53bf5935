"""The tables of the database. Times are seconds since 1970; texts that hold objects are JSON."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

METADATA = MetaData()
_NAME, _DIGEST, _ID = String(64), String(64), String(120)
_NUMBER = BigInteger().with_variant(Integer, "sqlite")

models = Table(
    "models",
    METADATA,
    Column("name", _NAME),
    Column("digest", _DIGEST),
    Column("added", Double, nullable=False),
    Column("by", _NAME, nullable=False),
    Column("content", LargeBinary, nullable=False),  # the model file, as it came
    PrimaryKeyConstraint("name", "digest"),
)
aliases = Table(
    "aliases",
    METADATA,
    Column("name", _NAME),
    Column("alias", _NAME),
    Column("digest", _DIGEST, nullable=False),
    Column("event", _NUMBER, nullable=False),  # that set it
    PrimaryKeyConstraint("name", "alias"),
)
events = Table(
    "events",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=False),
    Column("time", Double, nullable=False),
    Column("model", _NAME, nullable=False, index=True),
    Column("kind", String(32), nullable=False),
    Column("by", _NAME, nullable=False),
    Column("body", Text, nullable=False),
    Column("before", _DIGEST, nullable=False),  # the hash of the event before
    Column("hash", _DIGEST, nullable=False),
)
proofs = Table(
    "proofs",
    METADATA,
    Column("digest", _DIGEST),
    Column("gate", String(32)),
    Column("beside", String(200)),  # what it was compared with: another digest, an upload
    Column("time", Double, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("digest", "gate", "beside"),
)
decisions = Table(
    "decisions",
    METADATA,
    Column("number", _NUMBER, primary_key=True, autoincrement=True),
    Column("id", _ID, nullable=False, unique=True),  # of the call, whose row i is the decision ID.i
    Column("time", Double, nullable=False),
    Column("model", _NAME, nullable=False),
    Column("digest", _DIGEST, nullable=False),
    Column("by", _NAME, nullable=False),
    Column("n", Integer, nullable=False),  # rows
    Column("labels", Text, nullable=False),  # those of all rows, and rules that fired, each between line breaks
    Column("rules", Text, nullable=False),
    Column("shadow", _DIGEST, nullable=False),  # the model that decided beside, or ""
    Column("differs", Boolean, nullable=False),  # whether it decided a row otherwise
    Column("body", Text, nullable=False),  # cells, and what is decided of each row
)
Index("decisions_of_model", decisions.c.model, decisions.c.time)
uploads = Table(
    "uploads",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("bytes", _NUMBER, nullable=False),
    Column("sha256", _DIGEST, nullable=False),
    Column("added", Double, nullable=False),
    Column("by", _NAME, nullable=False),
)
jobs = Table(
    "jobs",
    METADATA,
    Column("id", _ID, primary_key=True),
    Column("kind", String(32), nullable=False),
    Column("request", Text, nullable=False),
    Column("state", String(16), nullable=False, index=True),  # waiting, running, done, failed, cancelled
    Column("by", _NAME, nullable=False),
    Column("added", Double, nullable=False),
    Column("started", Double),
    Column("beat", Double),  # when its process last said that it lives
    Column("ended", Double),
    Column("cancel", Boolean, nullable=False, default=False),
    Column("message", Text, nullable=False, default=""),
    Column("result", Text, nullable=False, default="{}"),
)
job_events = Table(
    "job_events",
    METADATA,
    Column("job", _ID),
    Column("number", _NUMBER),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("job", "number"),
)
tokens = Table(
    "tokens",
    METADATA,
    Column("name", _NAME, primary_key=True),
    Column("sha256", _DIGEST, nullable=False, unique=True),
    Column("roles", String(200), nullable=False),
    Column("added", Double, nullable=False),
    Column("revoked", Double),
)
