"""The rules of a model with what each table of rows says of them: counts, precision and lift with exact intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from rulekit.audit.figures.intervals import exact_bounds
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Heading,
    ReportSection,
    ReportTable,
    ShareBar,
    TableColumn,
    Text,
    cells,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import (
    RuleFigures,
    bounded_share,
    finite,
    interval_text,
    rows_text,
    rule_figures,
    share_text,
)
from rulekit.graph.language.words import counted, weight
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import counts
from rulekit.shown.hand_made import marks_of
from rulekit.shown.outline import legend
from rulekit.shown.score_cards.rule_rows import SEVERAL, Row
from rulekit.shown.score_cards.totals import total_table
from rulekit.shown.sections import Section, closing, links, reported
from rulekit.shown.table_figures import tables_of

FEW_ROWS = 30
WEIGHTED = (
    "The rows have weights: shares are of their weight, and intervals take them for as many rows of equal weight as "
    "say as much, (sum of weights)² / sum of squared weights."
)


@dataclass(frozen=True, slots=True)
class RuleOnRows:
    """What a table of rows says of a rule.

    rows: the name of the table; covered of of_rows: on how many rows the rule holds, effective_n: how many of equal
    weight say as much; coverage: their share. precision: the share of its class among them, with the exact interval of
    95 %; lift: precision by the base rate, whose interval takes the base rate for known. None where no row is covered.
    """

    table: str
    covered: int
    of_rows: int | None
    effective_n: float
    coverage: float | None
    precision: float | None
    precision_low: float | None
    precision_high: float | None
    base_rate: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None


@dataclass(frozen=True, slots=True)
class RuleEntry:
    """A rule: its id, the class that it speaks for, its conditions in words, its points in a sum, and its figures.

    marks: whether it was written or changed by hand, overrides others, ....
    """

    id: str
    label: ClassLabel
    text: str
    points: float | None
    literals: int
    marks: tuple[str, ...]
    figures: tuple[RuleOnRows, ...]


def rules_section(subject: Subject, entries: Sequence[RuleEntry]) -> ReportSection:
    """The rules that decide, with the figures of each beside it."""
    graph = subject.measured
    by_key = {(entry.id, entry.label): entry for entry in entries}
    size = counts(graph)
    parts = subject.parts
    blocks: list[Block] = [Text(f"{size}, over {len(graph.used_features)} of {len(graph.schema)} columns.")]
    if over := graph.overrides:
        said = (
            f"{counted(len(over), 'override')} of a person {'wins' if len(over) == 1 else 'win'} over what was learned"
        )
        blocks.append(Text(f"{said}: see History.", "note"))
    for part in parts:
        blocks += _part(part, by_key, graph) if part.rows else []
    blocks += [Text(part.heading) for part in parts if not part.rows]
    blocks += [Text(closing(graph))]
    blocks += [Text(WEIGHTED, "quiet")] if _weighted(entries) else []
    blocks += [*_totals(graph), *_meaning(parts)]
    if any(part.rows and not part.decides for part in reported(graph)):
        blocks.append(
            Text("These rules decide. Other conditions predict the probability: see Predicted probability.", "quiet")
        )
    data = {
        "size": asdict(size),
        "decides": [part.heading for part in parts],
        "otherwise": closing(graph),
        "rules": [asdict(entry) for entry in entries],
    }
    return ReportSection("rules", "Rules", tuple(blocks), data)


def rule_entries(subject: Subject) -> tuple[RuleEntry, ...]:
    """The rules in their order, each with what every table says of it."""
    graph = subject.measured
    figures, tables = rule_figures(graph), {table.name: table for table in tables_of(graph)}
    effective = {name: table.effective_rows for name, table in tables.items()}
    texts = {(row.class_index, row.id): row.text for part in subject.parts for row in part.rows}
    marks = marks_of(graph)
    return tuple(
        RuleEntry(
            rule.id,
            graph.classes[rule.class_index],
            texts.get((rule.class_index, rule.id), rule.id),
            rule.weight if rule.connective == "sum" else None,
            rule.literals,
            marks.get(rule.id, ()),
            tuple(
                _on_rows(figure, tables[figure.table].rows, effective[figure.table].get((rule.id, figure.n)))
                for figure in figures.get((rule.class_index, rule.id), ())
            ),
        )
        for rule in subject.rules
    )


def _on_rows(figure: RuleFigures, of_rows: int | None, known: float | None) -> RuleOnRows:
    effective = float(figure.n if known is None or known > figure.n else known)
    low, high = (finite(float(end)) for end in exact_bounds(figure.share or 0.0, effective))
    if figure.share is None:
        low = high = None
    base = figure.base_rate
    by_base = [None if value is None or not base else value / base for value in (figure.share, low, high)]
    return RuleOnRows(
        figure.table, figure.n, of_rows, effective, figure.coverage, figure.share, low, high, base, *by_base
    )


def _weighted(entries: Sequence[RuleEntry]) -> bool:
    return any(figure.effective_n != figure.covered for entry in entries for figure in entry.figures)


# What is shown --------------------------------------------------------------------------------------------------------


def _part(part: Section, entries: Mapping[tuple[str, ClassLabel], RuleEntry], graph: RuleGraph) -> list[Block]:
    """The rules of one class as one table: the condition, and beside it what each table of rows says of the rule."""
    blocks: list[Block] = [Heading(part.heading)]
    blocks += [Text(part.signs, "quiet")] if part.signs else []
    if not part.rows:
        return blocks
    found = [(row, entries.get((row.id, graph.classes[row.class_index]))) for row in part.rows]
    points = any(row.weight is not None for row in part.rows)
    measured = [figure for _, entry in found if entry is not None for figure in entry.figures]
    tables = list(dict.fromkeys(figure.table for figure in measured))
    titles = [
        TableColumn("rule", "id"),
        *([TableColumn("points", "number")] if points else []),
        TableColumn("condition", "rule"),
    ]
    lines = []
    for row, entry in found:
        own = {} if entry is None else {figure.table: figure for figure in entry.figures}
        lines.append(
            cells(
                Cell(row.id, marks=() if entry is None else entry.marks),
                *([_points(row)] if points else []),
                _condition(row),
                *(_figures(own.get(table)) for table in tables),
            )
        )
    below = _legend(measured, points) if measured else ""
    blocks.append(ReportTable("", (*titles, *(TableColumn(table, "figures") for table in tables)), tuple(lines), below))
    return blocks


def _points(row: Row) -> str:
    return "" if row.weight is None else f"{'+' if row.weight > 0 else ''}{weight(row.weight)}"


def _condition(row: Row) -> Cell:
    if row.outline:
        said = ((line.depth, f"{line.weight}  {line.text}" if line.weight else line.text) for line in row.outline)
        return Cell(lines=tuple(said))
    prefix = f"{row.group}: " if row.under and row.group not in ("", SEVERAL) else ""
    return Cell(prefix + " and ".join(row.under or row.conditions))


def _figures(figure: RuleOnRows | None) -> Cell:
    """What a table of rows says of a rule: its precision, its rows and its lift, a line each."""
    if figure is None:
        return Cell()
    covered = rows_text(figure.covered) + (f" of {rows_text(figure.of_rows)}" if figure.of_rows else "")
    if figure.coverage is not None:
        covered += f" ({share_text(figure.coverage)})"
    seen = [bounded_share(figure.precision, figure.precision_low, figure.precision_high), covered]
    if figure.effective_n != figure.covered:
        seen.append(f"like {rows_text(round(figure.effective_n, 1))} of equal weight")
    if figure.lift is not None:
        within = interval_text(figure.lift_low, figure.lift_high, 1.0, 2) if figure.lift_low is not None else ""
        seen.append(f"lift {figure.lift:.2f}" + (f" ({within})" if within else ""))
    bar = None
    if figure.precision is not None:
        bar = ShareBar(figure.precision, figure.precision_low, figure.precision_high, figure.base_rate)
    return Cell(lines=tuple((0, line) for line in seen), bar=bar)


def _legend(measured: Sequence[RuleOnRows], points: bool) -> str:
    where = "on which a line holds" if points else "that a rule covers"
    rates = {figure.table: figure.base_rate for figure in measured if figure.base_rate is not None}
    told = f" ({', '.join(f'{table} {share_text(rate)}' for table, rate in rates.items())})" if rates else ""
    return (
        f"First the precision, the share of the class among the rows {where}; the tick is the base rate, its share "
        f"among all rows{told}. Then these rows, and the lift, precision by base rate. In brackets intervals of 95 %."
    )


def _totals(graph: RuleGraph) -> list[Block]:
    table = total_table(graph)
    if table is None:
        return []
    titles = tuple(TableColumn(name, "number") for name, _ in table.lines)
    rows = tuple(cells(*(texts[k] for _, texts in table.lines)) for k in range(len(table.rows)))
    return [Heading(table.title), ReportTable("", titles, rows)]


def probability_section(subject: Subject) -> ReportSection:
    """How the model predicts probabilities: the link from a score that decides, or what predicts them beside it."""
    graph = subject.measured
    parts = [part for part in reported(graph) if not part.decides and part.rows]
    said = links(graph)
    blocks: list[Block] = [Text(f"Predicted {said}.")] if said else []
    if parts:
        blocks.append(Text("What stands here predicts the probability. It decides nothing.", "note"))
    elif not said:
        blocks.append(Text("The model predicts no probability beside its decision."))
    blocks += [block for part in parts for block in _part(part, {}, graph)]
    lines = [[{"id": row.id, "text": row.text, "points": row.weight} for row in part.rows] for part in parts]
    told = [{"heading": part.heading, "rules": own} for part, own in zip(parts, lines, strict=True)]
    return ReportSection(
        "probability", "Predicted probability", (*blocks, *_meaning(parts)), {"parts": told, "link": said}
    )


def _meaning(parts: Sequence[Section]) -> list[Block]:
    """What the weights of the outlines mean."""
    said = legend([line.weight for part in parts for row in part.rows for line in row.outline if line.weight])
    return [Text(said, "quiet")] if said else []
