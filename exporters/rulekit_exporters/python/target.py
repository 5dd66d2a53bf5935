"""What the registry of export targets knows about Python modules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rulekit.errors import InputError
from rulekit.graph.nodes import Vocabulary
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Artifact, Target
from rulekit_exporters.python.assembly import module_source
from rulekit_exporters.python.reading import inspect, read
from rulekit_exporters.python.running import run, run_raw

OPTIONS = {"self_test": "true (default) or false: whether the module carries rows and answers for its --self-test"}


def emit(graph: RuleGraph, options: Mapping[str, Any]) -> Artifact:
    """The module of a graph. Raises Unsupported for a node type that it cannot write, InputError for an option."""
    for name in options:
        if name not in OPTIONS:
            raise InputError(f"no option {name!r}", where="python", fix=f"the option is {', '.join(OPTIONS)}")
    given = options.get("self_test", True)
    with_self_test = {"true": True, "1": True, "false": False, "0": False}.get(str(given).lower())
    if with_self_test is None:
        raise InputError(f"self_test is {given!r}", where="python", fix="true or false")
    source = module_source(graph, with_self_test).encode("utf-8")
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
    inspect=inspect,
    options=OPTIONS,
    expresses=frozenset(Vocabulary.TYPES),
)
