"""What the registry of export targets knows about SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.errors import FormatError
from rulekit.graph.language.comments import commented, decoded, from_comments, without_rules
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Outcome, Reading, Runtime, Target, option
from rulekit.verification.proof.respelling import respelled
from rulekit.verification.rows.adversarial import raw_columns
from rulekit_exporters.sql.dialects import DIALECTS
from rulekit_exporters.sql.engines import run_in
from rulekit_exporters.sql.query import label_texts, select

HEAD = "-- rulekit: "


@dataclass(frozen=True, slots=True)
class Options:
    dialect: str = option("sqlite", "the engine", tuple(DIALECTS))
    table: str = option("rows", "the table that holds the rows")
    keep: str = option("", "columns of the table that stand in the result too, such as a key, with commas between them")
    fired: bool = option(False, "a column `rules` with the ids of the rules that fired")

    @property
    def kept(self) -> list[str]:
        return [name.strip() for name in self.keep.split(",") if name.strip()]


def write(graph: RuleGraph, options: Options) -> Artifact:
    """The query of a graph. Raises Unsupported for a node that it cannot write, InputError for a name."""
    columns = ", ".join(graph.used_features) or "no column"
    summary = f"{options.dialect}, one SELECT from {options.table}, reads {columns}"
    return Artifact({"": _text(graph, options).encode("utf-8")}, graph.digest, summary=summary)


def _text(graph: RuleGraph, options: Options) -> str:
    """The file: what it is, the query, the rules as comments."""
    query = select(graph, options.dialect, options.table, options.kept, options.fired)
    head = [f"{HEAD}{json.dumps(asdict(options))}", f"-- digest {graph.digest}"]
    return "\n".join([*head, *query, "", *commented(graph, "--"), ""])


def read(artifact: bytes) -> RuleGraph:
    """The graph that a query carries; raises FormatError where it carries none."""
    return from_comments(decoded(artifact), "--")


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the query decides, where it is what the exporter writes for the rules that it carries; else the reason."""
    carried, text = read(artifact), decoded(artifact)
    written = _text(carried, _options(text))
    return respelled(carried, graph, without_rules(text, "--"), without_rules(written, "--"))


def _options(text: str) -> Options:
    """The options that a query states; raises FormatError where it states none."""
    try:
        options: Options = TARGET.parsed(json.loads(text.split("\n", 1)[0].removeprefix(HEAD)))
        return options
    except (ValueError, TypeError, AttributeError):
        raise FormatError("the first line does not state its options", fix="export the model again") from None


def run_raw(artifact: bytes, graph: RuleGraph, columns: Mapping[str, Any]) -> Outcome:
    """Labels and probabilities by the engine of the dialect; raises InputError where it is not installed."""
    text = decoded(artifact)
    options = _options(text)
    used = {name: columns[name] for name in graph.used_features}
    n_rows, kept = len(next(iter(columns.values()), ())), len(options.kept)
    used |= {name: np.arange(n_rows) for name in options.kept if name not in used}
    rows = run_in(options.dialect, text, options.table, used or {"no column": np.zeros(n_rows)})
    index = {name: k for k, name in enumerate(label_texts(graph))}
    labels = np.array([index.get(str(row[kept]), -1) for row in rows], dtype=np.int64)
    numbers = [row[kept + 1 : kept + 1 + len(graph.classes)] for row in rows]
    return Outcome(labels, np.array(numbers, dtype=np.float64).reshape(len(rows), len(graph.classes)))


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """As run_raw, for encoded rows."""
    return run_raw(artifact, graph, raw_columns(table))


TARGET = Target(
    name="sql",
    description="one SELECT for SQLite, DuckDB or PostgreSQL",
    suffixes=(".sql",),
    write=write,
    runs=(Runtime("the engine of its dialect", run, run_raw),),
    read=read,
    inspect=inspect,
    options=Options,
)
