"""How the model came about: the sizes of its training, and what was done since: edits, thresholds, overrides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from rulekit.audit.figures.kept_figures import kept_baselines
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Heading,
    Items,
    ReportSection,
    ReportTable,
    TableColumn,
    Text,
    cells,
    columns,
)
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import UNKNOWN, rows_text
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, quoted
from rulekit.graph.overrides import Override
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.variants import added_rules
from rulekit.shown.boosting_rounds import WORDS, rounds_tables
from rulekit.shown.hand_made import edits_of, is_learned
from rulekit.shown.sections import sections


def sizes_section(subject: Subject) -> ReportSection:
    """The ladder and the baselines in one table, by their cross-validated error."""
    ladder, baselines = subject.graph.ladder, kept_baselines(subject.graph)
    data: dict[str, Any] = {"ladder": None, "baselines": None if baselines is None else asdict(baselines)}
    blocks: list[Block] = []
    lines = []
    for model in () if baselines is None else baselines.models:
        error = _error(model.error, model.standard_error)
        lines.append(cells(model.name, "", "", error, f"{model.macro_f1:.3f}", ""))
    if ladder is not None:
        data["ladder"] = {
            "chosen": ladder.chosen,
            "smallest": ladder.smallest,
            "why": ladder.why,
            "rows": [
                {n: getattr(rung, n) for n in ("size", "error", "standard_error", "macro_f1", "rules", "literals")}
                for rung in ladder.rungs
            ],
        }
        for rung, added in zip(ladder.rungs, added_rules(ladder), strict=True):
            marks = [("this model", rung.size == ladder.chosen), ("smallest as good", rung.size == ladder.smallest)]
            texts = {row.id: row.text for part in sections(rung.model) for row in part.rows}
            said = tuple((0, texts[rule.id]) for rule in added if rule.id in texts)
            lines.append(
                cells(
                    Cell(f"size {rung.size}", marks=tuple(word for word, so in marks if so)),
                    str(rung.rules),
                    str(rung.literals),
                    _error(rung.error, rung.standard_error),
                    UNKNOWN if rung.macro_f1 is None else f"{rung.macro_f1:.3f}",
                    Cell(lines=said),
                )
            )
        if ladder.why:
            blocks.append(Text(f"This size was taken: {ladder.why}."))
    if lines:
        titles = columns("model", "rules#", "literals#", "error %#", "mean F1#", TableColumn("adds", "rule"))
        below = "The error is cross-validated on the training rows, with its standard error over the folds."
        if baselines is not None and baselines.rows < baselines.of_rows:
            below += f" The baselines saw {rows_text(baselines.rows)} of {rows_text(baselines.of_rows)} rows."
        if baselines is not None and baselines.left_out:
            below += f" No time was left for {', '.join(baselines.left_out)}."
        blocks.append(ReportTable("", titles, tuple(lines), below))
    else:
        blocks.append(Text("The model file holds no other sizes and no baselines.", "note"))
    return ReportSection("sizes", "Other sizes and baselines", tuple(blocks), data)


def _error(error: float | None, deviation: float | None) -> str:
    if error is None:
        return UNKNOWN
    return f"{100 * error:.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")


MARKED = "Rules that were written or changed by hand are marked in the table of rules."


def history_section(subject: Subject) -> ReportSection:
    """Each event that the provenance holds, in its order, then the overrides."""
    graph = subject.graph
    events, edits = _events(subject), edits_of(graph)
    blocks: list[Block] = [Items(tuple(events))]
    if edits:
        blocks += [Heading("Edits by hand"), _edits_table(edits), Text(MARKED, "quiet")]
    overrides = [_override(each, graph) for each in graph.overrides]
    if overrides:
        keys = ("id", "class", "text", "author", "date", "reason", "expires")
        titles = tuple(map(TableColumn, ("rule", "decides", "where", *keys[3:])))
        lines = tuple(cells(*(_said(each.get(key)) for key in keys)) for each in overrides)
        blocks += [Heading("Overrides: rules that win over the learned ones"), ReportTable("", titles, lines)]
    for each, margins in rounds_tables(graph):
        names, texts = zip(*each.lines, strict=True)
        lines = tuple(cells(*line) for line in zip(*texts, strict=True))
        below = ReportTable("", tuple(TableColumn(name, "number") for name in names), lines, f"{WORDS}.")
        blocks += [Heading("Rounds of boosting"), Text(f"{each.title}; {margins}."), below]
    rounds = [{name: [*map(float, texts)] for name, texts in each.lines} for each, _ in rounds_tables(graph, full=True)]
    data: dict[str, Any] = {
        "learned": is_learned(graph),
        "edits": [dict(edit) for edit in edits],
        "refitted": graph.provenance.get("refitted"),
        "threshold": graph.provenance.get("threshold"),
        "simplified": graph.provenance.get("simplified"),
        "overrides": overrides,
        "rounds": rounds,
    }
    return ReportSection("history", "History", tuple(blocks), data)


def _events(subject: Subject) -> list[str]:
    provenance = subject.graph.provenance
    found = []
    if is_learned(subject.graph):
        rows = provenance.get("rows")
        on = f" from {rows_text(rows)} rows" if type(rows) is int else ""
        found.append(f"Learned by {provenance['learner']}{on}.")
    else:
        found.append("Not learned, or its record was lost: a rule text that is imported without its base has none.")
    if "simplified" in provenance:
        found.append("Simplified: fewer literals, the same decisions.")
    ladder = subject.graph.ladder
    if ladder is not None and ladder.why == "asked for":
        found.append(f"Another size of the same training was taken: {ladder.chosen}.")
    edits = len(edits_of(subject.graph))
    if edits:
        found.append(f"Edited by hand {'once' if edits == 1 else f'{edits} times'}, as listed below.")
    if isinstance(note := provenance.get("refitted"), Mapping):
        rows = note.get("rows")
        on = f" to {rows_text(rows)} rows" if type(rows) is int else ""
        found.append(f"Its probabilities were fitted anew{on} (digest {str(note.get('data'))[:12]}).")
    if provenance.get("threshold") is not None:
        found.append(f"It decides above the threshold {provenance['threshold']}.")
    if overrides := subject.graph.overrides:
        count = len(overrides)
        found.append(f"{counted(count, 'rule')} of a person {'wins' if count == 1 else 'win'} over what was learned.")
    return found


def _edits_table(edits: Sequence[Mapping[str, Any]]) -> ReportTable:
    titles = columns(
        "date",
        "author",
        "reason",
        TableColumn("added", "id"),
        TableColumn("removed", "id"),
        "rows changed#",
        "the rest",
    )
    lines = tuple(
        cells(
            _said(edit.get("date")),
            _said(edit.get("author")),
            _said(edit.get("reason")),
            _ids(edit.get("added")),
            _ids(edit.get("removed")),
            f"{_said(edit.get('rows_changed'))} of {_said(edit.get('rows'))}",
            "proved unchanged" if edit.get("rest_proved") is True else "not proved unchanged",
        )
        for edit in edits
    )
    return ReportTable("", titles, lines)


def _said(value: Any) -> str:
    return "–" if value is None or value == "" else str(value)


def _ids(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) and value else "–"


def _override(override: Override, graph: RuleGraph) -> dict[str, Any]:
    """An override as JSON values, with its condition in words."""
    given = {item.name: getattr(override, item.name) for item in fields(override) if item.name != "condition"}
    label = quoted(graph.classes[override.class_index])
    return {**given, "text": print_node(override.condition, graph.schema), "class": label}
