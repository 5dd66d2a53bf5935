"""What the model is for, where it comes from and what was done to it since; where a report answers what laws ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

from rulekit.audit.figures.metrics import kept_baselines
from rulekit.audit.report.blocks import Block, Cell, Facts, Items, Line, ReportSection, Text, table
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import UNKNOWN, rows_text
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, name, quoted
from rulekit.graph.rules import added_rules
from rulekit.names import printable
from rulekit.shown.rule_rows import edits_of, is_learned
from rulekit.shown.score_cards import ABOUT_ROUNDS, rounds_tables
from rulekit.shown.sections import sections

NOT_SAID = "not stated"
_MOST_TEXT = 400
_ELSEWHERE = ("row_hashes", "baselines", "measured", "edits", "fidelity")


def purpose_section(subject: Subject) -> ReportSection:
    """What its author says, what the model decides, and from what it was learned."""
    graph, said, rows = subject.graph, subject.said, subject.rows
    schema, provenance = graph.schema, graph.provenance
    labels = ", ".join(map(quoted, graph.classes))
    if schema.ordered_classes:
        labels += ", from low to high"
    elif subject.binary:
        labels += f"; {quoted(graph.classes[1])} is the positive one"
    versions, parameters = provenance.get("versions"), provenance.get("parameters")
    written = ", ".join(f"{k} {v}" for k, v in versions.items()) if isinstance(versions, Mapping) else NOT_SAID
    learned = [
        ("decides", f"{name(schema.target)}, as one of {labels}"),
        ("learner", _text(provenance.get("learner"))),
        ("training rows", rows_text(n) if type(n := provenance.get("rows")) is int else NOT_SAID),
        ("threshold", _text(provenance.get("threshold"), "as learned")),
        ("stopped early", _text(provenance.get("stopped"), "no")),
        ("learned with", written),
        ("report written by", f"rulekit {subject.version}"),
    ]
    digests = [("digest of the model", graph.digest), ("digest of the training table", _text(provenance.get("data")))]
    digests += [] if rows is None else [(f"digest of {rows.name}, as it was read", rows.digest)]
    blocks: list[Block] = [Facts([(what, getattr(said, what) or NOT_SAID) for what in ("purpose", "author", "date")])]
    if not is_learned(graph):
        note = "The model file has no record of learning: it was written, or read from a text."
        blocks.append(Text(note, "note"))
    blocks += [Facts(learned), Facts(digests, frozenset(dict(digests)))]
    if isinstance(parameters, Mapping) and parameters:
        given = {key: value for key, value in parameters.items() if value is not None}
        text = ", ".join(f"{printable(key)} {_short(_word(value))}" for key, value in given.items())
        rest = f"; {len(parameters) - len(given)} others none." if len(given) < len(parameters) else "."
        blocks.append(Text(f"Parameters as they were used: {text}{rest}", "quiet"))
    data: dict[str, Any] = asdict(said) | {"target": schema.target, "classes": list(graph.classes)}
    data |= {"ordered_classes": schema.ordered_classes, "default": graph.classes[graph.default]}
    data |= {"digest": graph.digest, "rulekit": subject.version}
    data["rows"] = None if rows is None else {"name": rows.name, "digest": rows.digest}
    data["provenance"] = {key: value for key, value in provenance.items() if key not in _ELSEWHERE}
    return ReportSection("purpose", "Purpose and provenance", blocks, data)


def _text(value: Any, otherwise: str = NOT_SAID) -> str:
    return otherwise if value is None or value == "" else _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else f"{text[:_MOST_TEXT]} …"


def _word(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


# Sizes and history ---------------------------------------------------------------------------------------------------


def sizes_section(subject: Subject) -> ReportSection:
    """The ladder and the baselines in one table, by their cross-validated error."""
    ladder, baselines = subject.graph.ladder, kept_baselines(subject.graph)
    data: dict[str, Any] = {"ladder": None, "baselines": None if baselines is None else asdict(baselines)}
    blocks: list[Block] = []
    lines: list[Line] = [
        (model.name, "", "", _error(model.error, model.standard_error), f"{model.macro_f1:.3f}", "")
        for model in (() if baselines is None else baselines.models)
    ]
    if ladder is not None:
        names = ("size", "error", "standard_error", "macro_f1", "rules", "literals")
        rungs = [{each: getattr(rung, each) for each in names} for rung in ladder.rungs]
        data["ladder"] = {"chosen": ladder.chosen, "smallest": ladder.smallest, "why": ladder.why, "rows": rungs}
        for rung, added in zip(ladder.rungs, added_rules(ladder), strict=True):
            marks = {"this model": ladder.chosen, "smallest as good": ladder.smallest}
            head = Cell(f"size {rung.size}", marks=[mark for mark, size in marks.items() if size == rung.size])
            texts = {row.id: row.text for part in sections(rung.model) for row in part.rows}
            said = Cell(lines=[(0, texts[rule.id]) for rule in added if rule.id in texts])
            f1 = UNKNOWN if rung.macro_f1 is None else f"{rung.macro_f1:.3f}"
            error = _error(rung.error, rung.standard_error)
            lines.append((head, str(rung.rules), str(rung.literals), error, f1, said))
        if ladder.why:
            blocks.append(Text(f"This size was taken: {ladder.why}."))
    if lines:
        titles = ("model", "rules#", "literals#", "error %#", "mean F1#", ("adds", "rule"))
        below = "The error is cross-validated on the training rows, with its standard error over the folds."
        if baselines is not None and baselines.rows < baselines.of_rows:
            below += f" The baselines saw {rows_text(baselines.rows)} of {rows_text(baselines.of_rows)} rows."
        if baselines is not None and baselines.left_out:
            below += f" No time was left for {', '.join(baselines.left_out)}."
        blocks.append(table("", titles, lines, below))
    else:
        blocks.append(Text("The model file holds no other sizes and no baselines.", "note"))
    return ReportSection("sizes", "Other sizes and baselines", blocks, data)


def _error(error: float | None, deviation: float | None) -> str:
    if error is None:
        return UNKNOWN
    return f"{100 * error:.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")


MARKED = "Rules that were written or changed by hand are marked in the table of rules."


def history_section(subject: Subject) -> ReportSection:
    """Each event that the provenance holds, in its order, then the overrides."""
    graph, edits = subject.graph, edits_of(subject.graph)
    blocks: list[Block] = [Items(_events(subject))]
    if edits:
        titles = ("date", "author", "reason", ("added", "id"), ("removed", "id"), "rows changed#", "the rest")
        shown = table("", titles, map(_edit, edits))
        blocks += [Text("Edits by hand", "heading"), shown, Text(MARKED, "quiet")]
    overrides = [
        {item.name: getattr(each, item.name) for item in fields(each) if item.name != "condition"}
        | {"text": print_node(each.condition, graph.schema), "class": quoted(graph.classes[each.class_index])}
        for each in graph.overrides
    ]
    if overrides:
        keys = ("id", "class", "text", "author", "date", "reason", "expires")
        lines = [[_said(each.get(key)) for key in keys] for each in overrides]
        blocks.append(Text("Overrides: rules that win over the learned ones", "heading"))
        blocks.append(table("", ("rule", "decides", "where", *keys[3:]), lines))
    for each, margins in rounds_tables(graph):
        names, texts = zip(*each.lines, strict=True)
        below = table("", [f"{name}#" for name in names], zip(*texts, strict=True), f"{ABOUT_ROUNDS}.")
        blocks += [Text("Rounds of boosting", "heading"), Text(f"{each.title}; {margins}."), below]
    data: dict[str, Any] = {"learned": is_learned(graph), "edits": [dict(edit) for edit in edits]}
    data |= {key: graph.provenance.get(key) for key in ("refitted", "threshold", "simplified")}
    rounds = [{name: [*map(float, texts)] for name, texts in each.lines} for each, _ in rounds_tables(graph, full=True)]
    return ReportSection("history", "History", blocks, data | {"overrides": overrides, "rounds": rounds})


def _events(subject: Subject) -> list[str]:
    graph, provenance = subject.graph, subject.graph.provenance
    found = ["Not learned, or its record was lost: a rule text that is imported without its base has none."]
    if is_learned(graph):
        found = [f"Learned by {provenance['learner']}{_many(provenance.get('rows'), ' from')}."]
    if "simplified" in provenance:
        found.append("Simplified: fewer literals, the same decisions.")
    if graph.ladder is not None and graph.ladder.why == "asked for":
        found.append(f"Another size of the same training was taken: {graph.ladder.chosen}.")
    if edits := len(edits_of(graph)):
        found.append(f"Edited by hand {'once' if edits == 1 else f'{edits} times'}, as listed below.")
    if isinstance(note := provenance.get("refitted"), Mapping):
        on = _many(note.get("rows"), " to")
        found.append(f"Its probabilities were fitted anew{on} (digest {str(note.get('data'))[:12]}).")
    if provenance.get("threshold") is not None:
        found.append(f"It decides above the threshold {provenance['threshold']}.")
    if count := len(graph.overrides):
        found.append(f"{counted(count, 'rule')} of a person {'wins' if count == 1 else 'win'} over what was learned.")
    return found


def _many(rows: Any, how: str) -> str:
    return f"{how} {rows_text(rows)} rows" if type(rows) is int else ""


def _edit(edit: Mapping[str, Any]) -> Line:
    ids = [each if isinstance(each := edit.get(key), list | tuple) else () for key in ("added", "removed")]
    rest = "proved unchanged" if edit.get("rest_proved") is True else "not proved unchanged"
    changed = f"{_said(edit.get('rows_changed'))} of {_said(edit.get('rows'))}"
    said = [_said(edit.get(key)) for key in ("date", "author", "reason")]
    return (*said, *(_said(", ".join(map(str, each))) for each in ids), changed, rest)


def _said(value: Any) -> str:
    return "–" if value is None or value == "" else str(value)


# What laws ask -------------------------------------------------------------------------------------------------------

SAID = (
    "The table says where this file answers what each text asks for; what it cannot know is left to its author. It is "
    "a guide for readers and no statement that the model, or this file, complies with anything."
)
BY_THE_AUTHOR, _TESTED = "by its author", "performance groups checks verification"
_ASKED = {
    "AI Act, Annex IV": (
        ("1", "general description: purpose, provider, version", "purpose summary"),
        ("2 (a)", "methods and steps of development", "purpose sizes history"),
        ("2 (b)", "general logic, design choices, what is optimised", "rules sizes"),
        ("2 (c)", "architecture: how components build on each other", ""),
        ("2 (d)", "data: provenance, scope, main characteristics", "purpose columns"),
        ("2 (e)", "human oversight, and what helps people to interpret", "rules score missing"),
        ("2 (f)", "changes that were determined beforehand", "history"),
        ("2 (g)", "validation and testing: data, metrics, discriminatory impacts", _TESTED),
        ("2 (h)", "cybersecurity", ""),
        ("3", "capabilities and limits, accuracy for groups of persons, input data", "limits groups missing columns"),
        ("4", "why the metrics are appropriate", "performance"),
        ("5", "risk management system", ""),
        ("6", "changes through the lifecycle", "history comparison"),
        ("7, 8", "standards applied, declaration of conformity", ""),
        ("9", "monitoring after it is placed on the market", "drift"),
    ),
    "SR 26-2": (
        ("development", "purpose, design, data, limitations", "purpose rules columns limits"),
        ("validation", "conceptual soundness, outcomes, benchmarks", "checks performance stability sizes"),
        ("implementation", "the model in use is the one that was validated", "verification"),
        ("monitoring", "ongoing monitoring, changes", "drift comparison history"),
        ("overrides", "expert judgement over the output of a model", "history rules"),
        ("governance", "roles, inventory, materiality, vendors", ""),
    ),
}
"""By text its points, what each asks for, and the ids of the sections that speak of it; none: left to the author."""


def annex_section(titles: Mapping[str, str]) -> ReportSection:
    """The table of what is asked and where it is answered; titles: of sections by id."""
    asked, tables = [], []
    for source, points in _ASKED.items():
        lines = []
        for point, what, ids in points:
            asked.append({"source": source, "point": point, "what": what, "sections": tuple(ids.split())})
            links = [(section, titles[section]) for section in ids.split() if section in titles]
            lines.append((point, what, Cell(links=links) if links else Cell(BY_THE_AUTHOR, tone="quiet")))
        tables.append(table(source, ("point", "asks for", ("answered in", "rule")), lines))
    return ReportSection("annex", "Where to find what Annex IV asks", [Text(SAID), *tables], {"asked": asked})
