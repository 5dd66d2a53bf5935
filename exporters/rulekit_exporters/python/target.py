"""What the registry of export targets knows about Python modules."""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, Target, option
from rulekit_exporters.python.assembly import module_source
from rulekit_exporters.python.reading import inspect, read
from rulekit_exporters.python.running import RUNTIMES


@dataclass(frozen=True, slots=True)
class Options:
    self_test: bool = option(True, "the module carries rows and answers for its --self-test")


def write(graph: RuleGraph, options: Options) -> Artifact:
    """The module of a graph; raises Unsupported for a node type that it cannot write."""
    source = module_source(graph, options.self_test).encode("utf-8")
    columns = ", ".join(graph.used_features) or "no column"
    return Artifact({"": source}, graph.digest, summary=f"standard library only, reads {columns}")


TARGET = Target(
    name="python",
    description="one readable Python module that needs the standard library only",
    suffixes=(".py",),
    write=write,
    runs=RUNTIMES,
    read=read,
    inspect=inspect,
    options=Options,
)
