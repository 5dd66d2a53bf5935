"""The rule graph back from a generated module: its rules stand in it as comments, and it is never executed."""

from __future__ import annotations

import re

from rulekit.errors import FormatError
from rulekit.graph.language.text import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit_exporters.python.assembly import BEGIN, END, MARK

MAX_BYTES = 64 * 2**20
_DIGEST = re.compile(r'^DIGEST = "([0-9a-f]{64})"$', re.MULTILINE)


def read(artifact: bytes) -> RuleGraph:
    """The graph of a generated module; raises FormatError where it carries none or another than its digest says."""
    if len(artifact) > MAX_BYTES:
        raise FormatError(f"{len(artifact)} bytes, more than the {MAX_BYTES} that are read")
    try:
        text = artifact.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}", fix="export the model again") from None
    graph = parse_graph(_rules(text))
    stated = _DIGEST.search(text)
    if stated is None or stated[1] != graph.digest:
        raise FormatError("the rules do not have the digest that the module states", fix="export the model again")
    return graph


def _rules(text: str) -> str:
    """The text between the markers, without the comment signs."""
    lines = text.split("\n")
    try:
        end = len(lines) - 1 - lines[::-1].index(END)
        begin = end - 1 - lines[:end][::-1].index(BEGIN)
    except ValueError:
        raise FormatError("this Python file carries no rules", fix="export the model again with rulekit") from None
    inside = lines[begin + 1 : end]
    bare = MARK.rstrip()
    if any(not line.startswith(bare) for line in inside):
        raise FormatError("a line among the rules is no comment", fix="export the model again")
    return "\n".join(line.removeprefix(bare).removeprefix(" ") for line in inside)
