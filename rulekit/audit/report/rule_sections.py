"""The rules of a model with what each table of rows says of them: counts, precision and lift with exact intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from rulekit.audit.figures.intervals import exact_bounds
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Heading,
    Line,
    ReportSection,
    ReportTable,
    ScoringForm,
    ShareBar,
    TableColumn,
    Text,
    table,
)
from rulekit.audit.report.subject import MeasuredRows, Subject
from rulekit.errors import InputError, Unsupported
from rulekit.graph.language.figures import (
    RuleFigures,
    bounded_share,
    finite,
    interval_text,
    rows_text,
    rule_figures,
    share_text,
)
from rulekit.graph.language.words import counted, quoted, weight
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import counts, rules_of
from rulekit.names import label_text
from rulekit.schema import Feature
from rulekit.shown.outline import legend
from rulekit.shown.rule_rows import SEVERAL, Row, marks_of
from rulekit.shown.score_cards import total_table
from rulekit.shown.sections import Section, closing, links, reported
from rulekit.shown.table_figures import tables_of
from rulekit.targets import find_target

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
    graph, size, parts = subject.measured, counts(subject.measured), subject.parts
    by_key = {(entry.id, entry.label): entry for entry in entries}
    blocks: list[Block] = [Text(f"{size}, over {len(graph.used_features)} of {len(graph.schema)} columns.")]
    if over := len(graph.overrides):
        wins = "wins" if over == 1 else "win"
        blocks.append(
            Text(f"{counted(over, 'override')} of a person {wins} over what was learned: see History.", "note")
        )
    blocks += [block for part in parts if part.rows for block in _part(part, by_key, graph)]
    blocks += [Text(part.heading) for part in parts if not part.rows]
    blocks.append(Text(closing(graph)))
    if any(figure.effective_n != figure.covered for entry in entries for figure in entry.figures):
        blocks.append(Text(WEIGHTED, "quiet"))
    if totals := total_table(graph):
        names, texts = zip(*totals.lines, strict=True)
        columns = [TableColumn(name, "number") for name in names]
        blocks += [Heading(totals.title), table("", columns, zip(*texts, strict=True))]
    blocks += _meaning(parts)
    if any(part.rows and not part.decides for part in reported(graph)):
        said = "These rules decide. Other conditions predict the probability: see Predicted probability."
        blocks.append(Text(said, "quiet"))
    data = {
        "size": asdict(size),
        "decides": [part.heading for part in parts],
        "otherwise": closing(graph),
        "rules": [asdict(entry) for entry in entries],
    }
    return ReportSection("rules", "Rules", blocks, data)


def rule_entries(subject: Subject) -> tuple[RuleEntry, ...]:
    """The rules in their order, each with what every table says of it."""
    graph = subject.measured
    figures, tables = rule_figures(graph), {known.name: known for known in tables_of(graph)}
    effective = {name: known.effective_rows for name, known in tables.items()}
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
    share, base = figure.share, figure.base_rate
    effective = float(figure.n if known is None or known > figure.n else known)
    low, high = (None, None) if share is None else (finite(float(end)) for end in exact_bounds(share, effective))
    by_base = [None if value is None or not base else value / base for value in (share, low, high)]
    return RuleOnRows(figure.table, figure.n, of_rows, effective, figure.coverage, share, low, high, base, *by_base)


def _part(part: Section, entries: Mapping[tuple[str, ClassLabel], RuleEntry], graph: RuleGraph) -> list[Block]:
    """The rules of one class as one table: the condition, and beside it what each table of rows says of the rule."""
    blocks: list[Block] = [Heading(part.heading)]
    blocks += [Text(part.signs, "quiet")] if part.signs else []
    found = [(row, entries.get((row.id, graph.classes[row.class_index]))) for row in part.rows]
    points = any(row.weight is not None for row in part.rows)
    measured = [figure for _, entry in found if entry is not None for figure in entry.figures]
    tables = list(dict.fromkeys(figure.table for figure in measured))
    lines: list[Line] = []
    for row, entry in found:
        own = {} if entry is None else {figure.table: figure for figure in entry.figures}
        head = Cell(row.id, marks=() if entry is None else entry.marks)
        lines.append((head, *[_points(row)] * points, _condition(row), *(_figures(own.get(name)) for name in tables)))
    titles: list[str | TableColumn] = [
        TableColumn("rule", "id"),
        *["points#"] * points,
        TableColumn("condition", "rule"),
    ]
    titles += [TableColumn(name, "figures") for name in tables]
    blocks.append(table("", titles, lines, _legend(measured, points) if measured else ""))
    return blocks


def _points(row: Row) -> str:
    return "" if row.weight is None else f"{'+' if row.weight > 0 else ''}{weight(row.weight)}"


def _condition(row: Row) -> Cell:
    if row.outline:
        return Cell(lines=[(line.depth, "  ".join(filter(None, (line.weight, line.text)))) for line in row.outline])
    prefix = f"{row.group}: " if row.under and row.group not in ("", SEVERAL) else ""
    return Cell(prefix + " and ".join(row.under or row.conditions))


def _figures(figure: RuleOnRows | None) -> Cell:
    """What a table of rows says of a rule: its precision, its rows and its lift, a line each."""
    if figure is None:
        return Cell()
    covered = rows_text(figure.covered) + (f" of {rows_text(figure.of_rows)}" if figure.of_rows else "")
    if figure.coverage is not None:
        covered += f" ({share_text(figure.coverage)})"
    share, low, high = figure.precision, figure.precision_low, figure.precision_high
    seen = [bounded_share(share, low, high), covered]
    if figure.effective_n != figure.covered:
        seen.append(f"like {rows_text(round(figure.effective_n, 1))} of equal weight")
    if figure.lift is not None:
        within = interval_text(figure.lift_low, figure.lift_high, 1.0, 2) if figure.lift_low is not None else ""
        seen.append(f"lift {figure.lift:.2f}" + (f" ({within})" if within else ""))
    bar = None if share is None else ShareBar(share, low, high, figure.base_rate)
    return Cell(lines=[(0, line) for line in seen], bar=bar)


def _legend(measured: Sequence[RuleOnRows], points: bool) -> str:
    where = "on which a line holds" if points else "that a rule covers"
    rates = {figure.table: figure.base_rate for figure in measured if figure.base_rate is not None}
    told = f" ({', '.join(f'{name} {share_text(rate)}' for name, rate in rates.items())})" if rates else ""
    return (
        f"First the precision, the share of the class among the rows {where}; the tick is the base rate, its share "
        f"among all rows{told}. Then these rows, and the lift, precision by base rate. In brackets intervals of 95 %."
    )


def _meaning(parts: Sequence[Section]) -> list[Block]:
    """What the weights of the outlines mean."""
    said = legend([line.weight for part in parts for row in part.rows for line in row.outline if line.weight])
    return [Text(said, "quiet")] if said else []


def probability_section(subject: Subject) -> ReportSection:
    """How the model predicts probabilities: the link from a score that decides, or what predicts them beside it."""
    graph, said = subject.measured, links(subject.measured)
    parts = [part for part in reported(graph) if not part.decides and part.rows]
    blocks: list[Block] = [Text(f"Predicted {said}.")] if said else []
    if parts:
        blocks.append(Text("What stands here predicts the probability. It decides nothing.", "note"))
    elif not said:
        blocks.append(Text("The model predicts no probability beside its decision."))
    blocks += [*(block for part in parts for block in _part(part, {}, graph)), *_meaning(parts)]
    told = [
        {
            "heading": part.heading,
            "rules": [{"id": row.id, "text": row.text, "points": row.weight} for row in part.rows],
        }
        for part in parts
    ]
    return ReportSection("probability", "Predicted probability", blocks, {"parts": told, "link": said})


# Coverage ------------------------------------------------------------------------------------------------------------

MOST_PAIRS = 2_000
MOST_SHOWN = 20
_MOST_COUNTED = 8


@dataclass(frozen=True, slots=True)
class Pair:
    """Two rules: on how many rows both hold, and on how many of those each holds alone against the other.

    of_first, of_second: the share of the rows of the one on which the other holds too. same_class: whether they speak
    for one class.
    """

    first: str
    second: str
    together: int
    of_first: float
    of_second: float
    same_class: bool


def coverage_section(subject: Subject) -> ReportSection:
    """How many rows have no rule, one, or several, and how many rows each pair covers together."""
    rows, rules, title = subject.rows, subject.rules, "Coverage and overlaps"
    if rows is None or not rules:
        why = "No labelled rows were given, so it is not counted which rules hold together." if rules else ""
        return ReportSection("coverage", title, [Text(why or "The model has no rules.", "note")])
    held = np.bincount(rows.fired.sum(axis=1)).tolist()
    pairs = pairs_of(subject, rows)
    meeting = [pair for pair in pairs if pair.together]
    blocks: list[Block] = [
        Text(f"On {rows_text(len(rows))} rows of {rows.name}; a row counts once, whatever it weighs."),
        _held_table(held, len(rows)),
    ]
    if len(rules) > 1:
        none = f"{len(pairs) - len(meeting)} of {len(pairs)} pairs of rules hold on no row together."
        some = "Every pair of rules holds together on some row."
        blocks.append(Text(none if len(pairs) > len(meeting) else some))
    if meeting:
        blocks.append(_pairs_table(subject, meeting))
    data = {
        "rows": len(rows),
        "rows_by_number_of_rules": held,
        "pairs": [asdict(pair) for pair in meeting],
        "pairs_looked_at": len(pairs),
    }
    return ReportSection("coverage", title, blocks, data)


def pairs_of(subject: Subject, rows: MeasuredRows) -> list[Pair]:
    """The pairs of the first rules, those that meet most often first."""
    rules = subject.rules[: int((2 * MOST_PAIRS) ** 0.5)]
    active = rows.fired[:, : len(rules)].astype(np.float32)
    both = np.rint(active.T @ active).astype(np.int64)
    found = []
    for i, j in zip(*(part.tolist() for part in np.triu_indices(len(rules), 1)), strict=True):
        of_first, of_second = (float(both[i, j] / max(1, both[k, k])) for k in (i, j))
        alike = rules[i].class_index == rules[j].class_index
        found.append(Pair(rules[i].id, rules[j].id, int(both[i, j]), of_first, of_second, alike))
    return sorted(found, key=lambda pair: -pair.together)


def _held_table(counts: list[int], n_rows: int) -> ReportTable:
    last = _MOST_COUNTED - 1
    names = ["no rule", "one rule", *(f"{k} rules" for k in range(2, len(counts)))]
    if len(counts) > _MOST_COUNTED:
        counts, names = [*counts[:last], sum(counts[last:])], [*names[:last], f"{last} rules or more"]
    lines = [(name, rows_text(n), share_text(n / n_rows)) for name, n in zip(names, counts, strict=False)]
    return table("Rules that hold on a row", ("rows on which hold", "rows#", "share#"), lines)


def _pairs_table(subject: Subject, meeting: list[Pair]) -> ReportTable:
    labels = {rule.id: quoted(subject.graph.classes[rule.class_index]) for rule in subject.rules}
    said = {rule: f"{rule} ({label})" if len({*labels.values()}) > 1 else rule for rule, label in labels.items()}
    lines = []
    for pair in meeting[:MOST_SHOWN]:
        shares = map(share_text, (pair.of_first, pair.of_second))
        lines.append((said[pair.first], said[pair.second], rows_text(pair.together), *shares))
    ids = (TableColumn("rule", "id"), TableColumn("and rule", "id"))
    more = len(meeting) - MOST_SHOWN
    below = f"and {more} pairs with fewer rows" if more > 0 else ""
    titles = (*ids, "rows of both#", "of the first's#", "of the second's#")
    return table("Pairs of rules that hold together", titles, lines, below)


# The form that scores a row ------------------------------------------------------------------------------------------

LARGEST_CODE = 2_000_000
SAID = (
    "Type the values of a row; an empty field is a missing value. The page runs the very steps of the model, so it "
    "decides as the model does. Nothing that is typed leaves it."
)


def score_section(subject: Subject) -> ReportSection:
    """The form with the model, or why there is none.

    The target is asked for by its name, so that nothing here knows an exporter; without it the page says so.
    """
    texts = {row.id: row.text for part in subject.parts for row in part.rows}
    try:
        fields, code = row_form(subject.graph, texts)
    except (Unsupported, InputError) as error:
        return ReportSection("score", "Score a row", [Text(f"The page cannot run this model: {error}.", "note")])
    return ReportSection("score", "Score a row", [Text(SAID), ScoringForm(fields, code)], {"form": fields})


def row_form(graph: RuleGraph, texts: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """Fields, classes and rules as JSON values, and the code of the module, without its comments.

    texts: of the rules, by id. The code has no tag of HTML: its texts are escaped, all else is written by the target.
    Raises Unsupported for a node that JavaScript has no steps for, or code that is too large; InputError without the
    target.
    """
    module = find_target("javascript").emit(graph).main.decode()
    code = "\n".join(line for line in module.split("\n") if not line.lstrip().startswith("//"))
    if len(code) > LARGEST_CODE:
        raise Unsupported(f"a module of {len(code)} characters", "a page", "score rows with the model itself")
    rules = [
        {
            "id": rule.id,
            "class": quoted(graph.classes[rule.class_index]),
            "text": texts.get(rule.id, ""),
            "points": rule.weight if rule.connective == "sum" else None,
        }
        for rule in rules_of(graph)
    ]
    fields = {
        "target": graph.schema.target,
        "classes": [label_text(label) for label in graph.classes],
        "columns": [_field(graph.schema[name]) for name in graph.used_features],
        "rules": rules,
    }
    return fields, code


def _field(feature: Feature) -> dict[str, Any]:
    """What the field of a column shows."""
    own: dict[str, Any] = {"name": feature.name, "kind": feature.kind, "unit": feature.unit}
    if feature.kind == "numeric":
        own["display"] = feature.display if feature.display in ("date", "datetime") else "number"
    if feature.kind == "categorical":
        own |= {"levels": list(feature.levels), "missing": list(feature.missing_tokens)}
    return own
