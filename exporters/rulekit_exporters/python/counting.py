"""The functions of a generated module that count on how many rows each rule holds."""

from __future__ import annotations

from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.fired import firing_steps
from rulekit.program.naming import Context
from rulekit_exporters.python.functions import body_of, function
from rulekit_exporters.python.names import literal

OF_ROW = "Whether each of RULES holds on a row; the row as for `decide`."
COUNT = "Rows, and how many have each rule and each class; data as for `predict_many`, errors as of `predict`."
COUNTED = """\
    return counts_of(
        rows_of(data), lambda row: cells(row, len(COLUMNS), USED), decide, rules_of_row, RULES, CLASS_NAMES
    )
"""


def counting_functions(graph: RuleGraph, context: Context) -> list[list[str]]:
    """The lines of `rules_of_row` and of `count_rules`; raises Unsupported for a rule that has no steps."""
    steps = tuple(firing_steps(graph).values())
    names = {name: literal(name) for name in graph.used_features}
    body = body_of(context, steps, names, context.briefs)
    body.put("chosen: list[Any] = []")
    for step in steps:
        body.say("chosen.append(", body.expression(step), ")")
    body.put("return chosen")
    return [
        function("rules_of_row", ["row: Any"], "list[Any]", OF_ROW, body.lines),
        function("count_rules", ["data: Any"], "dict[str, Any]", COUNT, COUNTED.splitlines()),
    ]
