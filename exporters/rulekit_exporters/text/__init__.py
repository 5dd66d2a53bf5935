"""The text target: the rule language, tables of rules, and the view for people (`show`)."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from rulekit.errors import FormatError, GraphError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.figures import worded
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.language.text import print_graph, promises
from rulekit.graph.language.words import counted, label, number, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable, wrapped
from rulekit.shown.rule_rows import Row
from rulekit.shown.score_cards import table_lines, total_table
from rulekit.shown.sections import closing, missing_note, reported, sections
from rulekit.shown.view import outlined, show
from rulekit.tables.table import Table
from rulekit.targets import Artifact, Outcome, Reading, Runtime, Target, option
from rulekit.verification.proof.prove import reading_of_graph

RULE = ("class", "rule", "conditions", "weight")
_ESCAPED = str.maketrans({"<": "&lt;", **{sign: f"\\{sign}" for sign in "\\`*_"}})
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
            body = [text for pieces in outlined(row.outline, width - 4) for text in pieces] or row.conditions
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
    return printable(text).translate(_ESCAPED)


__all__ = ["TARGET", "show"]


MAX_BYTES = 64 * 2**20

FORMATS: Mapping[str, Callable[[RuleGraph, int], str]] = {
    "rules": lambda graph, _: print_graph(graph),
    "show": lambda graph, width: show(graph, width),
    "full": lambda graph, width: show(graph, width, full=True),
    "table": lambda graph, _: markdown(graph),
    "csv": lambda graph, _: comma_separated(graph),
    "c50": lambda graph, width: c50(graph, width),
}


@dataclass(frozen=True, slots=True)
class TextOptions:
    format: str = option("rules", "rules (the rule language, can be read back), or a form for people", tuple(FORMATS))
    width: int = option(100, "columns of text of show, full and c50")


def write(graph: RuleGraph, options: TextOptions) -> Artifact:
    """The text of a graph in the format that the options name."""
    form = options.format
    text = FORMATS[form](graph, options.width)
    warnings = () if form == "rules" else (f"the format {form} cannot be read back; `rules` can",)
    return Artifact(
        {"": text.encode("utf-8")}, graph.digest, warnings, f"{form}, {counted(text.count(chr(10)), 'line')}"
    )


@lru_cache(maxsize=1)  # a verification asks several times
def read(artifact: bytes) -> RuleGraph:
    """The graph of a text in the rule language; raises FormatError for anything else."""
    if len(artifact) > MAX_BYTES:
        raise FormatError(f"{len(artifact)} bytes, more than the {MAX_BYTES} that are read")
    try:
        return parse_graph(artifact.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte {error.start}") from None


def run(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """Labels and probabilities by the graph that the text says; raises FormatError, GraphError."""
    parsed = read(artifact)
    if parsed.schema.features != graph.schema.features or parsed.classes != graph.classes:
        raise GraphError("the text has other columns or classes than the model", fix="export the model again")
    return Outcome(decide(parsed, table), probabilities(parsed, table))


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the text says, parsed: nothing of it is run."""
    return reading_of_graph(read(artifact), graph)


TARGET = Target(
    name="text",
    description="the rule language, tables of rules, and forms for people",
    suffixes=(".txt", ".rules"),
    write=write,
    runs=(Runtime("rulekit", run),),
    read=read,
    inspect=inspect,
    options=TextOptions,
)
