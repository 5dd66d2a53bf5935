"""A generated module read back without being run: the rules that it carries, and whether all else follows from them.

Only the text at the head and statistics behind the rules, which are no code, may be others than the exporter's.
"""

from __future__ import annotations

import re

from rulekit.errors import FormatError
from rulekit.graph.language.comments import decoded, from_comments, without_rules
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import Reading
from rulekit.verification.proof.respelling import respelled
from rulekit_exporters.python.assembly import TITLE_OF_TESTS, module_source

_DIGEST = re.compile(r'^DIGEST = "([0-9a-f]{64})"$', re.MULTILINE)
_HEAD = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""\n', re.DOTALL)


def read(artifact: bytes) -> RuleGraph:
    """The graph of a generated module; raises FormatError where it carries none or another than its digest says."""
    text = decoded(artifact)
    graph = from_comments(text, "#")
    stated = _DIGEST.search(text)
    if stated is None or stated[1] != graph.digest:
        raise FormatError("the rules do not have the digest that the module states", fix="export the model again")
    return graph


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the module decides, where it is what the exporter writes for the rules that it carries; else the reason."""
    carried, text = read(artifact), decoded(artifact)
    written = module_source(carried, f"\n{TITLE_OF_TESTS}\n" in text)
    return respelled(carried, graph, _code(text), _code(written))


def _code(text: str) -> str:
    """A module without the text at its head and without its rules."""
    head = _HEAD.match(text)
    return without_rules(text[head.end() :] if head else text, "#")
