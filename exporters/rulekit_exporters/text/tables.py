"""Rules as rows: a markdown table, CSV, and a form like that of C5.0."""

from __future__ import annotations

import csv
import io

from rulekit.audit.sections import Row, closing, missing_note, quoted, reported, sections
from rulekit.audit.view import outlined
from rulekit.graph.language.readable import percent
from rulekit.graph.language.words import label, number
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable

COLUMNS = ("class", "rule", "conditions", "weight", "n", "coverage", "precision")


def markdown(graph: RuleGraph) -> str:
    """One table for each section under its heading; figures in per cent."""
    lines: list[str] = []
    for part in (*sections(graph, full=True), *reported(graph)):
        lines += [f"{_plain(part.heading)}", "", _line(COLUMNS), _line(["---"] * len(COLUMNS))]
        lines += [_line(_cells(row, graph, readable=True)) for row in part.rows]
        lines.append("")
    return "\n".join([*lines, *filter(None, (_plain(closing(graph)), _plain(missing_note(graph))))]) + "\n"


def comma_separated(graph: RuleGraph) -> str:
    """One line for each deciding rule, in the order of the model, below a header."""
    sink = io.StringIO()
    writer = csv.writer(sink, lineterminator="\n")
    writer.writerow(COLUMNS)
    for part in sections(graph, full=True):
        writer.writerows(_cells(row, graph, readable=False) for row in part.rows)
    return sink.getvalue()


def c50(graph: RuleGraph, width: int = 100) -> str:
    """Numbered rules with one condition a line, coverage, lift and precision, and the default class."""
    lines: list[str] = []
    counter = 0
    for part in sections(graph, full=True):
        lines += [f"{part.heading}:", ""]
        for row in part.rows:
            counter += 1
            facts = ", ".join(filter(None, [row.id, *_facts(row)]))
            lines.append(f"Rule {counter}: ({facts})" if facts else f"Rule {counter}:")
            body = outlined(row.outline, width) if row.outline else row.conditions
            lines += [f"    {condition}" for condition in body]
            precision = f"  [{row.precision:.3f}]" if row.precision is not None else ""
            weight = f"  weight {number(row.weight)}" if row.weight is not None else ""
            against = "against " if row.weight is not None and row.weight < 0 else ""
            lines += [f"    ->  {against}class {quoted(graph.classes[row.class_index])}{weight}{precision}", ""]
    lines.append(f"Default class: {quoted(graph.classes[graph.default])}")
    return "\n".join(lines) + "\n"


def _facts(row: Row) -> list[str]:
    facts = [str(row.n)] if row.n is not None else []
    facts += [f"covers {percent(row.coverage)}"] if row.coverage is not None else []
    return facts + ([f"lift {row.lift:.1f}"] if row.lift is not None else [])


def _cells(row: Row, graph: RuleGraph, readable: bool) -> list[str]:
    def share(value: float | None) -> str:
        if value is None:
            return ""
        return percent(value) if readable else repr(value)

    weight = number(row.weight) if row.weight is not None else ""
    n = str(row.n) if row.n is not None else ""
    value = graph.classes[row.class_index]
    written = value if isinstance(value, str) else label(value)
    return [written, row.id, row.text, weight, n, share(row.coverage), share(row.precision)]


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
