"""A text artifact read back without being run: what its exporter writes for the rules that it carries, or not.

What the exporter does not write, the reader does not read: the rules are lowered and spelled again, and the same code
must come out, byte for byte. Then the program that was spelled is what the artifact computes.
"""

from __future__ import annotations

from itertools import zip_longest

from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower
from rulekit.targets import Reading
from rulekit.verification.proof.prove import leaves_below


def respelled(carried: RuleGraph, graph: RuleGraph, code: str, written: str) -> Reading:
    """What an artifact decides. carried: its rules; graph: the model; code, written: its text and the exporter's."""
    if carried.schema.features != graph.schema.features or carried.classes != graph.classes:
        return Reading(None, reason="it has other columns or classes than the model")
    difference = first_difference(code, written)
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


def first_difference(found: str, written: str) -> str:
    """Where a text is not what the exporter writes, in words; "" where it is."""
    if found == written:
        return ""
    for line, expected in zip_longest(found.split("\n"), written.split("\n"), fillvalue=""):
        if line != expected:
            shown = [repr(text.strip()[:100]) for text in (line, expected)]
            return f"it is not what rulekit writes for its rules: {shown[0]} stands for {shown[1]}"
    return "it is not what rulekit writes for its rules"
