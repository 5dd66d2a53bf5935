"""What the registry of export targets knows about Python modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.nodes import Vocabulary
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, Target
from rulekit_exporters.python.assembly import module_source
from rulekit_exporters.python.reading import read
from rulekit_exporters.python.running import run, run_raw


def emit(graph: RuleGraph, options: Mapping[str, Any]) -> Artifact:
    """The module of a graph; takes no options. Raises Unsupported for a node type that it cannot write."""
    if options:
        raise InputError(f"the python target has no option {next(iter(options))!r}", fix="leave it out")
    source = module_source(graph).encode("utf-8")
    columns = ", ".join(graph.used_features) or "no column"
    return Artifact({"": source}, graph.digest, summary=f"standard library only, reads {columns}")


TARGET = Target(
    name="python",
    description="one readable Python module that needs the standard library only",
    suffixes=(".py",),
    emit=emit,
    run=run,
    read=read,
    run_raw=run_raw,
    options={},
    expresses=frozenset(Vocabulary.TYPES),
)
