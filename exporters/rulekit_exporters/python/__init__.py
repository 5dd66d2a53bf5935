"""The Python target: one readable module that needs the standard library only."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import option
from rulekit.verification.proof.respelling import text_target
from rulekit_exporters.python.assembly import TITLE_OF_TESTS, module_source
from rulekit_exporters.python.running import RUNTIMES

__all__ = ["TARGET"]


_HEAD = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""\n', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PythonOptions:
    self_test: bool = option(False, "the module carries rows and answers for its --self-test")
    counts: bool = option(False, "a function `count_rules`: on how many rows each rule holds")


def write(graph: RuleGraph, options: PythonOptions) -> Iterable[str]:
    """The module of a graph; raises Unsupported for a node type that it cannot write."""
    yield module_source(graph, options.self_test, options.counts)


def code(text: str) -> str:
    """A module without the text at its head, which may be another than the exporter's."""
    head = _HEAD.match(text)
    return text[head.end() :] if head else text


TARGET = text_target(
    "python",
    "one readable Python module that needs the standard library only",
    (".py",),
    "#",
    write,
    RUNTIMES,
    options=PythonOptions,
    noun="module",
    summary=lambda options: "standard library only",
    stated=lambda text: PythonOptions(f"\n{TITLE_OF_TESTS}\n" in text, "\ndef count_rules(" in text),
    stamp='DIGEST = "{}"',
    code=code,
)
