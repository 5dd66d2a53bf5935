"""A generated module read back without being run: the rules that it carries, and whether all else follows from them.

What the exporter does not write, the reader does not read: the rules are lowered and spelled again, and the whole text
must come out, byte for byte; only the text at the head and statistics behind the rules, which are no code, may differ.
Then the program that was spelled is what the module computes.
"""

from __future__ import annotations

import re
from itertools import zip_longest

from rulekit.errors import FormatError
from rulekit.graph.language.comments import decoded, from_comments, without_rules
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower
from rulekit.targets import Reading
from rulekit.verification.proof.prove import leaves_below
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
    carried = read(artifact)
    if carried.schema.features != graph.schema.features or carried.classes != graph.classes:
        return Reading(None, reason="it has other columns or classes than the model")
    text = decoded(artifact)
    difference = first_difference(_code(text), _code(module_source(carried, f"\n{TITLE_OF_TESTS}\n" in text)))
    if difference:
        return Reading(None, reason=difference)
    program = lower(carried)
    return Reading(
        leaves_below((program.label,)),
        program.decision,
        probability_leaves=leaves_below((program.label, *program.reported)),
        default=program.default,
        as_written=True,
    )


def _code(text: str) -> str:
    """A module without the text at its head and without its rules."""
    head = _HEAD.match(text)
    return without_rules(text[head.end() :] if head else text, "#")


def first_difference(found: str, written: str) -> str:
    """Where a text is not what the exporter writes, in words; "" where it is."""
    if found == written:
        return ""
    for line, expected in zip_longest(found.split("\n"), written.split("\n"), fillvalue=""):
        if line != expected:
            shown = [repr(text.strip()[:100]) for text in (line, expected)]
            return f"it is not what rulekit writes for its rules: {shown[0]} stands for {shown[1]}"
    return "it is not what rulekit writes for its rules"
