"""The rules with what each table of rows says of them, the form that scores a row, and the columns that rules read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from rulekit.audit.checks.kept_promises import only_statements, statements
from rulekit.audit.report.blocks import Block, Cell, Line, ReportSection, ReportTable, ScoringForm, Text, table
from rulekit.audit.report.subject import Subject
from rulekit.errors import InputError, Unsupported
from rulekit.graph.files.safe_files import mapping
from rulekit.graph.language.figures import UNKNOWN, bounded_share, interval_text, rows_text, share_text
from rulekit.graph.language.words import amount, counted, name, quoted, weight
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import columns_of, counts, rules_of
from rulekit.names import label_text, printable
from rulekit.schema import Feature
from rulekit.shown.rule_rows import SEVERAL, Row
from rulekit.shown.score_cards import total_table
from rulekit.shown.sections import Section, closing, legend_of, links, missing_note, reported
from rulekit.shown.table_figures import ColumnFigures, known_columns, tables_of
from rulekit.targets import find_target

FEW_ROWS = 30
WEIGHTED = (
    "The rows have weights: shares are of their weight, and intervals take them for as many rows of equal weight as "
    "say as much, (sum of weights)² / sum of squared weights."
)


def rules_section(subject: Subject) -> ReportSection:
    """The rules that decide, with the figures of each beside it."""
    graph, size, parts, entries = subject.measured, counts(subject.measured), subject.parts, subject.entries
    blocks: list[Block] = [Text(f"{size}, over {len(graph.used_features)} of {len(graph.schema)} columns.")]
    if over := len(graph.overrides):
        wins = f"{counted(over, 'override')} of a person {'wins' if over == 1 else 'win'} over what was learned"
        blocks.append(Text(f"{wins}: see History.", "note"))
    blocks += [block for part in parts if part.rows for block in _part(part, entries, graph)]
    blocks += [Text(part.heading) for part in parts if not part.rows]
    blocks.append(Text(closing(graph)))
    if any(figure["effective_n"] != figure["covered"] for entry in entries for figure in entry["figures"]):
        blocks.append(Text(WEIGHTED, "quiet"))
    if totals := total_table(graph):
        names, texts = zip(*totals.lines, strict=True)
        shown = table("", [(name_, "number") for name_ in names], zip(*texts, strict=True))
        blocks += [Text(totals.title, "heading"), shown]
    if meaning := legend_of(parts):
        blocks.append(Text(meaning, "quiet"))
    if any(part.rows for part in reported(graph)):
        also = "These rules decide. Other conditions predict the probability: see Predicted probability."
        blocks.append(Text(also, "quiet"))
    data = {"size": asdict(size), "decides": [part.heading for part in parts], "otherwise": closing(graph)}
    return ReportSection("rules", "Rules", blocks, data | {"rules": entries})


def _part(part: Section, entries: Sequence[Mapping[str, Any]], graph: RuleGraph) -> list[Block]:
    """The rules of one class as one table: the condition, and beside it what each table of rows says of the rule."""
    by_key = {(entry["id"], entry["label"]): entry for entry in entries}
    found = [(row, by_key.get((row.id, graph.classes[row.class_index]), _NOTHING)) for row in part.rows]
    points = any(row.weight is not None for row in part.rows)
    measured = [figure for _, entry in found for figure in entry["figures"]]
    tables = list(dict.fromkeys(figure["table"] for figure in measured))
    lines: list[Line] = []
    for row, entry in found:
        own = {figure["table"]: _figures(figure) for figure in entry["figures"]}
        head: Line = [Cell(row.id, marks=entry["marks"]), *[_points(row)] * points, _condition(row)]
        lines.append([*head, *(own.get(title, Cell()) for title in tables)])
    titles = [("rule", "id"), *[("points", "number")] * points, ("condition", "rule")]
    shown = table("", [*titles, *((title, "figures") for title in tables)], lines, _legend(measured, points))
    return [Text(part.heading, "heading"), *[Text(part.signs, "quiet")] * bool(part.signs), shown]


_NOTHING: Mapping[str, Any] = {"figures": (), "marks": ()}


def _points(row: Row) -> str:
    return "" if row.weight is None else f"{'+' if row.weight > 0 else ''}{weight(row.weight)}"


def _condition(row: Row) -> Cell:
    if row.outline:
        return Cell(lines=[(line.depth, "  ".join(filter(None, (line.weight, line.text)))) for line in row.outline])
    prefix = f"{row.group}: " if row.under and row.group not in ("", SEVERAL) else ""
    return Cell(prefix + " and ".join(row.under or row.conditions))


def _figures(figure: Mapping[str, Any]) -> Cell:
    """What a table of rows says of a rule: its precision, its rows and its lift, a line each."""
    covered = rows_text(figure["covered"]) + (f" of {rows_text(figure['of_rows'])}" if figure["of_rows"] else "")
    if figure["coverage"] is not None:
        covered += f" ({share_text(figure['coverage'])})"
    share, low, high = (figure[key] for key in ("precision", "precision_low", "precision_high"))
    seen = [bounded_share(share, low, high), covered]
    if figure["effective_n"] != figure["covered"]:
        seen.append(f"like {rows_text(round(figure['effective_n'], 1))} of equal weight")
    if figure["lift"] is not None:
        ends = figure["lift_low"], figure["lift_high"]
        within = f" ({interval_text(*ends, 1.0, 2)})" if ends[0] is not None else ""
        seen.append(f"lift {figure['lift']:.2f}{within}")
    bar = None if share is None else (share, low, high, figure["base_rate"])
    return Cell(lines=[(0, line) for line in seen], bar=bar)


def _legend(measured: Sequence[Mapping[str, Any]], points: bool) -> str:
    if not measured:
        return ""
    where = "on which a line holds" if points else "that a rule covers"
    rates = {figure["table"]: figure["base_rate"] for figure in measured if figure["base_rate"] is not None}
    told = f" ({', '.join(f'{title} {share_text(rate)}' for title, rate in rates.items())})" if rates else ""
    return (
        f"First the precision, the share of the class among the rows {where}; the tick is the base rate, its share "
        f"among all rows{told}. Then these rows, and the lift, precision by base rate. In brackets intervals of 95 %."
    )


def probability_section(subject: Subject) -> ReportSection:
    """How the model predicts probabilities: the link from a score that decides, or what predicts them beside it."""
    graph, said = subject.measured, links(subject.measured)
    parts = [part for part in reported(graph) if part.rows]
    blocks: list[Block] = [Text(f"Predicted {said}.")] if said else []
    if parts:
        blocks.append(Text("What stands here predicts the probability. It decides nothing.", "note"))
    elif not said:
        blocks.append(Text("The model predicts no probability beside its decision."))
    blocks += [block for part in parts for block in _part(part, [], graph)]
    if meaning := legend_of(parts):
        blocks.append(Text(meaning, "quiet"))
    rules = [[{"id": row.id, "text": row.text, "points": row.weight} for row in part.rows] for part in parts]
    told = [{"heading": part.heading, "rules": own} for part, own in zip(parts, rules, strict=True)]
    return ReportSection("probability", "Predicted probability", blocks, {"parts": told, "link": said})


# Coverage ------------------------------------------------------------------------------------------------------------

MOST_PAIRS = 2_000
MOST_SHOWN = 20
_MOST_COUNTED = 8


def coverage_section(subject: Subject) -> ReportSection:
    """How many rows have no rule, one, or several, and how many rows each pair covers together.

    Of a pair stand the rows of both, and their share of the rows of the one and of the other.
    """
    rows, rules, title = subject.rows, subject.rules, "Coverage and overlaps"
    if rows is None or not rules:
        why = "No labelled rows were given, so it is not counted which rules hold together." if rules else ""
        return ReportSection("coverage", title, [Text(why or "The model has no rules.", "note")])
    held = np.bincount(rows.fired.sum(axis=1)).tolist()
    looked_at = rules[: int((2 * MOST_PAIRS) ** 0.5)]
    active = rows.fired[:, : len(looked_at)].astype(np.float32)
    both = np.rint(active.T @ active).astype(np.int64)
    meeting: list[dict[str, Any]] = []
    for (i, one), (j, other) in combinations(enumerate(looked_at), 2):
        if n := int(both[i, j]):
            shares = {"of_first": float(n / both[i, i]), "of_second": float(n / both[j, j])}
            same = one.class_index == other.class_index
            meeting.append({"first": one.id, "second": other.id, "together": n, **shares, "same_class": same})
    meeting.sort(key=lambda pair: -pair["together"])
    pairs = len(looked_at) * (len(looked_at) - 1) // 2
    blocks: list[Block] = [
        Text(f"On {rows_text(len(rows))} rows of {rows.name}; a row counts once, whatever it weighs."),
        _held_table(held, len(rows)),
    ]
    if len(rules) > 1:
        none = f"{pairs - len(meeting)} of {pairs} pairs of rules hold on no row together."
        blocks.append(Text(none if pairs > len(meeting) else "Every pair of rules holds together on some row."))
    if meeting:
        blocks.append(_pairs_table(subject, meeting))
    data = {"rows": len(rows), "rows_by_number_of_rules": held, "pairs": meeting, "pairs_looked_at": pairs}
    return ReportSection("coverage", title, blocks, data)


def _held_table(counts: list[int], n_rows: int) -> ReportTable:
    last = _MOST_COUNTED - 1
    names = ["no rule", "one rule", *(f"{k} rules" for k in range(2, len(counts)))]
    if len(counts) > _MOST_COUNTED:
        counts, names = [*counts[:last], sum(counts[last:])], [*names[:last], f"{last} rules or more"]
    lines = [(name_, rows_text(n), share_text(n / n_rows)) for name_, n in zip(names, counts, strict=False)]
    return table("Rules that hold on a row", ("rows on which hold", "rows#", "share#"), lines)


def _pairs_table(subject: Subject, meeting: Sequence[Mapping[str, Any]]) -> ReportTable:
    labels = {rule.id: quoted(subject.graph.classes[rule.class_index]) for rule in subject.rules}
    said = {rule: f"{rule} ({label})" if len({*labels.values()}) > 1 else rule for rule, label in labels.items()}
    lines = []
    for p in meeting[:MOST_SHOWN]:
        shares = share_text(p["of_first"]), share_text(p["of_second"])
        lines.append((said[p["first"]], said[p["second"]], rows_text(p["together"]), *shares))
    more = len(meeting) - MOST_SHOWN
    below = f"and {more} pairs with fewer rows" if more > 0 else ""
    titles = (("rule", "id"), ("and rule", "id"), "rows of both#", "of the first's#", "of the second's#")
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
    rules = []
    for rule in rules_of(graph):
        about = {"id": rule.id, "class": quoted(graph.classes[rule.class_index]), "text": texts.get(rule.id, "")}
        rules.append(about | {"points": rule.weight if rule.connective == "sum" else None})
    columns = []
    for feature in map(graph.schema.__getitem__, graph.used_features):
        own = {"name": feature.name, "kind": feature.kind, "unit": feature.unit}
        if feature.kind == "numeric":
            own["display"] = feature.display if feature.display in ("date", "datetime") else "number"
        levels = {"levels": list(feature.levels), "missing": list(feature.missing_tokens)}
        columns.append(own | (levels if feature.kind == "categorical" else {}))
    classes = list(map(label_text, graph.classes))
    return {"target": graph.schema.target, "classes": classes, "columns": columns, "rules": rules}, code


# Columns -------------------------------------------------------------------------------------------------------------

MOST_LEVELS = 12
_MARKS = {"audit": "for audit only", "forbidden": "forbidden", 1: "increasing", -1: "decreasing"}


def columns_section(subject: Subject) -> ReportSection:
    """Columns that rules read, with their values in training; then the others, which decide nothing."""
    graph, schema = subject.measured, subject.measured.schema
    rules: dict[str, list[str]] = {column: [] for column in schema.names}
    for rule in subject.rules:
        for column in columns_of(rule.node):
            rules[column].append(rule.id)
    training = known_columns(graph.statistics)
    given = {} if subject.rows is None else known_columns(mapping(graph.statistics.get(subject.name_of_rows)))
    used = [schema[column] for column in graph.used_features]
    unused = [feature for feature in schema if feature not in used]
    lines: list[Line] = []
    data = []
    for feature in used:
        known, later, own = training.get(feature.name), given.get(feature.name), rules[feature.name]
        found = [_range(feature, known), share_text(None if known is None else known.missing)]
        found += [_range(feature, later)] * bool(given)
        lines.append((*_named(feature), *found, ", ".join(own) or "in a sum"))
        entry = {key: getattr(feature, key) for key in ("kind", "role", "unit", "ordered", "monotone")}
        entry |= {"missing_tokens": list(feature.missing_tokens), "rules": own}
        entry |= {key: each and each.entry for key, each in (("training", known), ("given", later))}
        data.append({"column": feature.name} | entry)
    blocks: list[Block] = [Text(f"{counted(len(used), 'column')} of {len(schema)} decide.")]
    if lines:
        beside = [(f"in {subject.rows.name}", "text")] if given and subject.rows else []
        titles: list[str | tuple[str, str]] = ["column", "kind", "in training", "missing#", *beside, ("rules", "id")]
        blocks.append(table("Columns that decide", titles, lines))
    if unused:
        blocks.append(table("Columns that the model does not read", ("column", "kind"), map(_named, unused)))
    rest = [{"column": feature.name, "kind": feature.kind, "role": feature.role} for feature in unused]
    return ReportSection("columns", "Columns", blocks, {"used": data, "unused": rest})


def _named(feature: Feature) -> tuple[Cell, str]:
    kind: str = feature.display if feature.display not in ("plain", "integer", "count") else feature.kind
    kind = "ordered category" if feature.ordered else kind
    marks = [_MARKS[mark] for mark in (feature.role, feature.monotone) if mark in _MARKS]
    return Cell(name(feature.name), marks=marks), f"{kind}, in {printable(feature.unit)}" if feature.unit else kind


def _range(feature: Feature, known: ColumnFigures | None) -> str:
    """From the least to the largest number, or the levels with their shares."""
    shares = None if known is None else known.levels
    if known is not None and shares is not None:
        shown = list(shares) if feature.ordered else sorted(shares, key=lambda level: -shares[level])
        said = ", ".join(f"{name(level)} {share_text(shares[level])}" for level in shown[:MOST_LEVELS])
        said += f" and {len(shown) - MOST_LEVELS} more" if len(shown) > MOST_LEVELS else ""
        return said + (f"; new levels {share_text(known.unseen)}" if known.unseen else "")
    if known is not None and known.range is not None:
        low, high = known.range
        if feature.kind == "boolean":
            return "true and false" if low < high else ("true" if high else "false")
        return f"{amount(low, feature)} to {amount(high, feature)}"
    return "text" if feature.kind == "text" else UNKNOWN


_POLICIES = {
    "unseen": "belongs to no set, but where a rule names unseen levels",
    "missing": "is taken for missing",
    "error": "is refused with an error",
}


def missing_section(subject: Subject) -> ReportSection:
    """What the rules say of missing values, and of each column how often they occurred."""
    graph, schema, used = subject.measured, subject.measured.schema, subject.measured.used_features
    note, satisfied = missing_note(graph), _satisfied(subject)
    shares = {title: known for title, block in tables_of(graph).items() if (known := known_columns(block))}
    undecided = [left.text for left in subject.checked.open if left.kind == "missing"]
    blocks: list[Block] = [Text(note or "No column is read, so nothing can be missing.")]
    whole = all(map(only_statements, graph.decision.parts))
    if satisfied is not None and whole and not any(satisfied.values()) and not undecided:
        blocks.append(Text("Proved: no missing or new value satisfies a rule.", "good"))
    if undecided:
        blocks.append(Text(f"Not decided of every rule: {undecided[0]}.", "note"))
    levels = any(schema[column].kind == "categorical" for column in used)
    lines, data = [], {}
    for column in used:
        feature = schema[column]
        missing = {title: known[column].missing if column in known else None for title, known in shares.items()}
        rules = None if satisfied is None else satisfied[column]
        policy = feature.unseen if feature.kind == "categorical" else None
        data[column] = {"rules_satisfied": rules, "new_level": policy, "missing": missing}
        said = [] if rules is None else [", ".join(rules) or ("none found" if undecided else "none")]
        new = ["" if policy is None else _POLICIES[policy]] * levels
        lines.append((name(column), *said, *new, *map(share_text, missing.values())))
    if lines:
        often = "how often values are missing"
        title = f"Which rules a missing or new value satisfies, and {often}"
        titles = [("input", "text"), *[("rules satisfied", "id")] * (satisfied is not None)]
        titles += [("a new level", "text")] * levels + [(f"missing, {each}", "number") for each in shares]
        blocks.append(table(often.capitalize() if satisfied is None else title, titles, lines))
    content = {"note": note, "not_decided": undecided, "columns": data}
    return ReportSection("missing", "When an input is missing", blocks, content)


def _satisfied(subject: Subject) -> dict[str, list[str]] | None:
    """By column the rules that a missing or new value satisfies; None where no rule decides by itself, as in a sum."""
    if not statements(subject.graph):
        return None
    found: dict[str, list[str]] = {column: [] for column in subject.graph.used_features}
    for finding in subject.checked.findings:
        if finding.kind == "missing":
            own = found.setdefault(finding.column, [])
            own += [rule for rule in finding.ids if rule not in own]
    return found
