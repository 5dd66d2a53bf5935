"""The report of a model: its sections in their order, among them those that look at the others.

These are the first page, what the model does and how well, and the last, what it must not be used for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.audit.figures.metrics import kept_figures
from rulekit.audit.figures.rates import SMALL, calibration, happened_where_reported
from rulekit.audit.report import evidence, measured_sections, origins, rule_sections
from rulekit.audit.report.blocks import Cell, Facts, Items, ReportSection, Text, table
from rulekit.audit.report.subject import Subject
from rulekit.graph.language.figures import bounded_share, number_text, rows_text, share_text
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.model_parts import RARE
from rulekit.graph.rules import counts
from rulekit.schema import UNSEEN_CODE
from rulekit.shown.rule_rows import edits_of, is_learned
from rulekit.shown.table_figures import known_columns

FORMAT, VERSION = "rulekit report", 1


@dataclass(frozen=True)
class Document:
    """A title, what stands under it, and sections; every layout shows these."""

    title: str
    subtitle: str
    sections: tuple[ReportSection, ...]
    digest: str

    @cached_property
    def data(self) -> dict[str, Any]:
        contents: Mapping[str, Any] = {section.id: dict(section.data) for section in self.sections}
        return {"format": FORMAT, "version": VERSION, "title": self.title, "digest": self.digest, **contents}

    def section(self, section_id: str) -> ReportSection:
        return next(section for section in self.sections if section.id == section_id)


def document(subject: Subject) -> Document:
    """The report of a subject."""
    graph, said = subject.graph, subject.said
    limits = sorted(_limits(subject), key=lambda limit: not limit.serious)
    lines = [(Cell(limit.kind, tone="bad" if limit.serious else "plain"), limit.text) for limit in limits]
    shown, performance = table("", ("of", "limit"), lines), measured_sections.performance_section(subject)
    sections = [
        _summary(subject, performance.data, [limit.text for limit in limits if limit.serious]),
        origins.purpose_section(subject),
        rule_sections.rules_section(subject),
        rule_sections.score_section(subject),
        rule_sections.missing_section(subject),
        rule_sections.coverage_section(subject),
        performance,
        measured_sections.bounds_section(subject),
        measured_sections.groups_section(subject),
        rule_sections.columns_section(subject),
        evidence.checks_section(subject),
        evidence.verification_section(subject),
        rule_sections.probability_section(subject),
        origins.sizes_section(subject),
        origins.history_section(subject),
        *(evidence.attached_section(subject, kind) for kind in evidence.KINDS),
        ReportSection("limits", "Limits", [shown, *map(Text, ALWAYS)], {"limits": list(map(asdict, limits))}),
    ]
    sections.append(origins.annex_section({section.id: section.title for section in sections}))
    title = said.title or f"Rules for {name(graph.schema.target)}"
    subtitle = ", ".join([*filter(None, (said.author, said.date)), f"model {graph.digest[:12]}"])
    return Document(title, subtitle, tuple(sections), graph.digest)


def json_text(document: Document) -> str:
    """The content as JSON text; the same for the same subject."""
    return json.dumps(document.data, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


# The first page ------------------------------------------------------------------------------------------------------


def _summary(subject: Subject, performance: Mapping[str, Any], serious: list[str]) -> ReportSection:
    graph, n, groups = subject.graph, len(subject.graph.classes), subject.parities
    pairs = [
        ("decides", f"{name(graph.schema.target)}: {', '.join([*map(quoted, graph.classes[:6]), '...'][:n])}"),
        ("rules", f"{counts(graph)}, over {len(graph.used_features)} of {counted(len(graph.schema), 'column')}"),
    ]
    measured = performance.get("given") or performance.get("in_training")
    if measured:
        said = f"{bounded_share(measured['accuracy'], *measured['accuracy_interval'])} on {measured['rows_of']}"
        majority = share_text(measured["majority_class_accuracy"])
        pairs.append(("accuracy", f"{said}; the most frequent class alone {majority}"))
        pairs.append(("area under the curve", number_text(measured["auc"], 3)))
    pairs += [("promises", _promises(subject)), ("artifacts", _artifacts(subject))]
    if groups:
        worst = max(groups, key=lambda found: found.spread["selection rate"] or 0.0)
        spread, by = worst.spread["selection rate"], ", ".join(dict.fromkeys(name(found.column) for found in groups))
        most = "" if spread is None else f"{100 * spread:.1f} points (by {name(worst.column)})"
        pairs.append(("groups", f"by {by}" + (f"; selection rates differ by at most {most}" if most else "")))
    known = [Text("To know before anything else", "heading"), Items(serious)]
    blocks = [Facts(pairs), *(known if serious else [_nothing_serious(subject)])]
    return ReportSection("summary", "In short", blocks, {"facts": dict(pairs), "to_know": serious})


def _nothing_serious(subject: Subject) -> Text:
    """What was checked, where nothing serious was found; a report that checked nothing claims nothing."""
    checks = ["no promise is broken"] * bool(subject.checked.verdicts)
    checks += ["no verified artifact decides otherwise than the model"] * bool(subject.verifications)
    if not checks:
        return Text("The model declares no promise, and no artifact was verified. Limits says what bounds it.", "note")
    said = " and ".join(checks)
    return Text(f"{said[:1].upper()}{said[1:]}. Limits says what bounds the model.", "good")


def _promises(subject: Subject) -> str:
    outcomes = [verdict.outcome for verdict in subject.checked.verdicts]
    proved, broken = outcomes.count("proved"), outcomes.count("fails")
    found = {"proved": proved, "broken": broken, "not proved": len(outcomes) - proved - broken}
    said = [f"{n} {what}" for what, n in found.items() if n or what == "proved"]
    return ", ".join(said) if outcomes else "none declared"


def _artifacts(subject: Subject) -> str:
    parts = []
    for here, words in ((True, "verified"), (False, "verified as a file says, which was not repeated here")):
        some = [content for name, content in subject.verifications.items() if (name in subject.verified) is here]
        ok = [each for each in some if not evidence.foreign(each, subject.graph.digest) and each.get("ok") is True]
        proved = sum(content.get("proof") == "proved" for content in ok)
        parts += [f"{len(ok)} of {len(some)} {words}, {proved} proved equal on every row"] * bool(some)
    return "; ".join(parts) or "none verified here"


# Limits --------------------------------------------------------------------------------------------------------------

_FEW_OF_CLASS = 100
_MISCALIBRATED = 0.05
_MOST_NAMED = 8
_MANY_STRANGE = 0.01
_ELSEWHERE = (
    "Outside the ranges and levels of the training table (section Columns) a rule decides all the same, though nothing "
    "was learned of such rows."
)
ALWAYS = (
    "The rules say what went together in the training table. They do not say why: a change of an input need not change "
    "what happens.",
    "What the rows cannot show, the report cannot: rows that never came into the table, and labels that were wrong.",
)


@dataclass(frozen=True, slots=True)
class ModelLimit:
    """A limit in one sentence; kind: what it is of. serious: something is wrong or unknown, not merely bounded."""

    kind: str
    text: str
    serious: bool = False


def _limits(subject: Subject) -> Iterator[ModelLimit]:
    yield from _of_figures(subject)
    yield ModelLimit("rows", _ELSEWHERE)
    yield from _of_rows(subject)
    yield from _of_classes(subject)
    firsts = [(entry["id"], figure) for entry in subject.entries for figure in entry["figures"][:1]]
    few = [
        f"{id_} ({counted(f['covered'], 'row')} of {f['table']})"
        for id_, f in firsts
        if f["covered"] < rule_sections.FEW_ROWS
    ]
    if few:
        yield ModelLimit("rules", f"Rules that rest on fewer than {rule_sections.FEW_ROWS} rows: {_named(few)}.")
    for found in subject.parities:
        small = [f"{group.name} ({counted(group.rows, 'row')})" for group in found.groups if group.effective_n < SMALL]
        if small:
            yield ModelLimit("groups", f"Too few rows to say much of {_named(small)} by {name(found.column)}.")
    yield from _of_proofs(subject)
    for kind, files in subject.attachments.items():
        for file, content in files:
            if isinstance(content, dict) and not evidence.of_this_model(kind, content, subject.graph):
                yield ModelLimit(kind, f"{file} is of another model.", True)
            elif isinstance(content, dict) and kind == "drift" and content.get("alike") is False:
                yield ModelLimit("rows", f"{file}: later rows are not like those of training.", True)
    yield from _of_hands(subject)


def _of_figures(subject: Subject) -> Iterator[ModelLimit]:
    rows = subject.rows
    if rows is None:
        kept = kept_figures(subject.graph)
        if kept is None:
            yield ModelLimit("figures", "The model was not measured on any rows here.", True)
        elif "training rows" in kept.measured_on:
            yield ModelLimit("figures", f"The figures are of {kept.measured_on}.", True)
        return
    known = rows.overlap
    if known is None:
        yield ModelLimit("figures", "It is not known whether these rows equal training rows.", True)
    elif known.seen:
        many = known.seen > _MANY_STRANGE * known.sampled  # few equal others by chance
        yield ModelLimit("figures", f"Some of the rows equal training rows: {known}.", many)
    if not subject.graph.probability:
        yield ModelLimit("probabilities", "The model reports no probabilities but 0 and 1.")
        return
    happened, reported, what = happened_where_reported(rows.y, rows.chances, subject.graph.classes)
    error = calibration(happened, reported, rows.weight).error
    if error > _MISCALIBRATED:
        said = f"The reported probability of {what} is off by {100 * error:.1f} percentage points in the mean."
        yield ModelLimit("probabilities", f"{said} Do not take it for a frequency.")


def _of_rows(subject: Subject) -> Iterator[ModelLimit]:
    """Where the rows that were given are not like those of training."""
    graph, rows = subject.graph, subject.rows
    if rows is None:
        return
    strange, known = dict[str, int](), known_columns(graph.statistics)
    for column in graph.used_features:
        kind, array = graph.schema[column].kind, rows.rows.table.array(column)
        if column in known and kind == "categorical":
            strange[column] = int((array == UNSEEN_CODE).sum())
        elif column in known and kind != "text" and (ends := known[column].range) is not None:
            with np.errstate(invalid="ignore"):
                strange[column] = int(((array < ends[0]) | (array > ends[1])).sum())
    beyond = [f"{name(column)} ({counted(n, 'row')})" for column, n in strange.items() if n]
    if beyond:
        said = f"Values that training never saw stand in {_named(beyond)} of {rows.name}."
        yield ModelLimit("rows", said, max(strange.values()) > _MANY_STRANGE * len(rows))


def _of_classes(subject: Subject) -> Iterator[ModelLimit]:
    rows, kept, classes = subject.rows, kept_figures(subject.graph), subject.graph.classes
    support = counts = np.array([] if kept is None else [each.support for each in kept.figures.classes])
    if rows is not None:
        support, counts = np.bincount(rows.y, rows.mass, len(classes)), np.bincount(rows.y, minlength=len(classes))
    for label, mass, n in zip(classes, support, counts, strict=False):
        if mass < RARE * support.sum() or n < _FEW_OF_CLASS:
            share = share_text(float(mass / support.sum())) if support.sum() else "none"
            said = f"{quoted(label)} is rare: {rows_text(n)} rows, {share}; its rates are uncertain."
            yield ModelLimit("classes", said)


def _of_proofs(subject: Subject) -> Iterator[ModelLimit]:
    checked = subject.checked
    for verdict in checked.verdicts:
        if verdict.outcome == "fails":
            yield ModelLimit("promises", f"Broken: {verdict.promise.text}.", True)
        elif verdict.outcome != "proved":
            yield ModelLimit("promises", f"Not proved: {verdict.promise.text}: {verdict.reason}.", True)
    if checked.open:
        said = f"{counted(len(checked.open), 'question')} about the rules could not be decided, such as "
        yield ModelLimit("checks", f"{said}{checked.open[0].text}.")
    if not subject.verifications:
        yield ModelLimit("artifacts", "No artifact is shown to decide as the model does.")
    for file, content in subject.verifications.items():
        if evidence.foreign(content, subject.graph.digest):
            yield ModelLimit("artifacts", f"{file} verifies another model.", True)
        elif content.get("ok") is not True:
            yield ModelLimit("artifacts", f"{file}: the artifact was not shown to decide as the model does.", True)
        elif content.get("proof") != "proved":
            said = f"{file}: equality was tested on rows, not proved: {content.get('proof_reason')}."
            yield ModelLimit("artifacts", said)
        elif file not in subject.verified:
            said = f"{file} was written elsewhere, and what it says of an artifact was not repeated."
            yield ModelLimit("artifacts", said)


def _of_hands(subject: Subject) -> Iterator[ModelLimit]:
    graph, date = subject.graph, subject.said.date
    if not is_learned(graph):
        yield ModelLimit("history", "Nothing is known of how the rules came about.", True)
    if unproved := sum(edit.get("rest_proved") is not True for edit in edits_of(graph)):
        said = f"{counted(unproved, 'edit')} may change more than the rules that were edited."
        yield ModelLimit("history", said, True)
    if expired := [each.id for each in graph.overrides if date and each.expires and each.expires < date]:
        yield ModelLimit("history", f"Overrides that had expired on {date}: {_named(expired)}.", True)


def _named(items: Sequence[str]) -> str:
    more = len(items) - _MOST_NAMED
    return f"{', '.join(items[:_MOST_NAMED])} and {more} more" if more > 0 else listed(list(items))
