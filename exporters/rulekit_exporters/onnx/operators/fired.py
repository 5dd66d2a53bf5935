"""The optional output of fired rules, as `rulekit.graph.rules.fired` defines it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rulekit.graph.nodes import Family, Probability
from rulekit.graph.rules import Rule, rules_of
from rulekit_exporters.onnx.builder import Truth

if TYPE_CHECKING:
    from rulekit_exporters.onnx.operators.emitter import Emitter


def emit_fired(emitter: Emitter) -> str:
    """The tensor [N, rules] bool of the rules that fired."""
    builder = emitter.builder
    rules = rules_of(emitter.graph)
    if not rules:
        rows = builder.operate("Transpose", emitter.inputs.fill(False), perm=[1, 0])
        nothing = builder.constant([], np.int64)
        return builder.operate("Gather", rows, nothing, axis=1)
    values = [truth_of(emitter, rule) for rule in rules]
    stacked = builder.operate("Concat", *map(emitter.row, values), axis=0)
    return builder.operate("Transpose", stacked, perm=[1, 0])


def truth_of(emitter: Emitter, rule: Rule) -> Truth:
    """A Boolean rule where it is true, a random one where its probability is above 1/2, a number where it is not 0."""
    builder = emitter.builder
    if rule.nested:
        return builder.above(emitter.number(Probability(rule.node)), 0.5)
    if rule.node.family is Family.BOOLEAN:
        return emitter.truth(rule.node)
    number = emitter.number(rule.node)
    if not isinstance(number, str):
        return number != 0.0
    return builder.operate("Not", builder.operate("Equal", number, builder.double(0.0)))
