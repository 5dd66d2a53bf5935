"""Rules as rows: a markdown table, CSV, and a form like that of C5.0."""

from __future__ import annotations

import csv
import io

from rulekit.graph.language.figures import worded
from rulekit.graph.language.words import label, number, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.shown.lines import wrapped
from rulekit.shown.promises import promises
from rulekit.shown.rule_rows import Row
from rulekit.shown.score_cards import table_lines, total_table
from rulekit.shown.sections import closing, missing_note, reported, sections
from rulekit.shown.view import outlined

RULE = ("class", "rule", "conditions", "weight")
FIGURES = ("table", "n", "coverage", "share", "low", "high", "base_rate")


def markdown(graph: RuleGraph) -> str:
    """One table for each section under its heading and the base rates of its class."""
    lines: list[str] = []
    header = [*RULE, "figures"]
    for part in (*sections(graph, full=True), *reported(graph)):
        lines += [_plain(part.heading), *([f"({_plain(part.base_rates)})"] if part.base_rates else []), ""]
        lines += [_line(header), _line(["---"] * len(header))]
        lines += [
            _line([*_rule(row, graph), "; ".join(filter(None, [row.signed, *worded(row.figures)]))])
            for row in part.rows
        ]
        lines.append("")
    lines += filter(None, (_plain(closing(graph)), _plain(missing_note(graph))))
    totals = total_table(graph)
    if totals is not None:
        (name, first), *rest = totals.lines
        lines += ["", f"{_plain(totals.title)}:", "", _line([name, *(other for other, _ in rest)])]
        lines += [_line(["---"] * len(totals.lines))]
        lines += [_line(cells) for cells in zip(first, *(texts for _, texts in rest), strict=True)]
    stated = [f"- {_plain(promise.text)}" for promise in promises(graph)]
    return "\n".join([*lines, *["", "Promised:", ""] * bool(stated), *stated]) + "\n"


def comma_separated(graph: RuleGraph) -> str:
    """One line for each deciding rule and each table that says something of it, in the order of the model."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow([*RULE, *FIGURES])
    for part in sections(graph, full=True):
        for row in part.rows:
            for figures in row.figures or (None,):
                values = [None if figures is None else getattr(figures, name) for name in FIGURES]
                cells = ["" if value is None else value if isinstance(value, str) else repr(value) for value in values]
                writer.writerow([*_rule(row, graph), *cells])
    return sink.getvalue()


def c50(graph: RuleGraph, width: int = 100) -> str:
    """Numbered rules with one condition a line, coverage, lift and precision, and the default class."""
    lines: list[str] = []
    counter = 0
    for part in sections(graph, full=True):
        lines += [*wrapped(f"{part.heading}:", width, "    "), ""]
        for row in part.rows:
            counter += 1
            facts = ", ".join(filter(None, [row.id, *_facts(row)]))
            lines += wrapped(f"Rule {counter}: ({facts})" if facts else f"Rule {counter}:", width, "        ")
            lines += wrapped(f"    # {printable(row.signed)}", width, "    #   ") if row.signed else []
            body = outlined(row.outline, width - 4) if row.outline else row.conditions
            lines += [line for condition in body for line in wrapped(f"    {condition}", width, "        ")]
            known = row.weight is None and row.figures and row.figures[-1].share is not None
            precision = f"  [{row.figures[-1].share:.3f}]" if known else ""
            weight = f"  weight {number(row.weight)}" if row.weight is not None else ""
            against = "against " if row.inhibits or (row.weight is not None and row.weight < 0) else ""
            lines += [f"    ->  {against}class {quoted(graph.classes[row.class_index])}{weight}{precision}", ""]
    lines.append(f"Default class: {quoted(graph.classes[graph.default])}")
    totals = total_table(graph)
    if totals is not None:
        lines += ["", *table_lines(totals, width)]
    lines += [f"Promised: {promise.text}" for promise in promises(graph)]
    return "\n".join(lines) + "\n"


def _facts(row: Row) -> list[str]:
    if not row.figures:
        return []
    lift = row.figures[-1].lift
    return [*worded(row.figures), *([f"lift {lift:.1f}"] if lift is not None else [])]


def _rule(row: Row, graph: RuleGraph) -> list[str]:
    weight = number(row.weight) if row.weight is not None else ""
    value = graph.classes[row.class_index]
    return [value if isinstance(value, str) else label(value), row.id, row.text, weight]


def _line(cells: list[str] | tuple[str, ...]) -> str:
    return "| " + " | ".join(_plain(cell).replace("|", "\\|") for cell in cells) + " |"


def _plain(text: str) -> str:
    """Text that markdown shows as it is: no markup, no line ends."""
    return (
        printable(text)
        .replace("\\", "\\\\")
        .replace("<", "&lt;")
        .replace("`", "\\`")
        .replace("*", "\\*")
        .replace("_", "\\_")
    )
